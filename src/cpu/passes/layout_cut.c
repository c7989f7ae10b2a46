/* Minimum cuts by maximum flows: levels from the source, then paths along them until none is left,
 * then levels anew. */
#include "cpu/passes/layout_cut.h"

#define NO_ARC UINT32_MAX
#define NO_LEVEL UINT32_MAX
#define MOST_WORK UINT64_C(50000000) /* arcs looked at; a tenth of a second */

void hn_cut_init(hn_cut *c, hn_arena *arena) {
    *c = (hn_cut){.arena = arena};
    hn_cut_vertex(c);
    hn_cut_vertex(c);
}

uint32_t hn_cut_vertex(hn_cut *c) {
    uint32_t none = NO_ARC;
    c->failed |= !HN_VEC_PUSH(c->arena, &c->first, none);
    return c->first.n - 1;
}

static void add_arc(hn_cut *c, uint32_t from, uint32_t to, int64_t room) {
    hn_cut_arc arc = {.to = to, .next = c->first.at[from], .room = room};
    if (HN_VEC_PUSH(c->arena, &c->arcs, arc))
        c->first.at[from] = c->arcs.n - 1;
    else
        c->failed = true;
}

void hn_cut_add(hn_cut *c, uint32_t from, uint32_t to, int64_t cost) {
    if (c->failed || from == to || cost <= 0)
        return;
    add_arc(c, from, to, HN_MIN(cost, HN_CUT_MOST));
    add_arc(c, to, from, 0);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Distances of the vertices that can still be reached; is the sink among them? */
static bool find_levels(hn_cut *c, uint32_t *queue, uint64_t *work) {
    uint32_t n_queued = 0;
    for (uint32_t i = 0; i < c->first.n; i++) {
        c->level[i] = NO_LEVEL;
        c->at[i] = c->first.at[i];
    }
    c->level[HN_CUT_SOURCE] = 0;
    queue[n_queued++] = HN_CUT_SOURCE;
    for (uint32_t i = 0; i < n_queued; i++)
        for (uint32_t a = c->first.at[queue[i]]; a != NO_ARC; a = c->arcs.at[a].next) {
            const hn_cut_arc *arc = &c->arcs.at[a];
            ++*work;
            if (arc->room == 0 || c->level[arc->to] != NO_LEVEL)
                continue;
            c->level[arc->to] = c->level[queue[i]] + 1;
            queue[n_queued++] = arc->to;
        }
    return c->level[HN_CUT_SINK] != NO_LEVEL;
}

/* The arc by which the path goes on from a vertex; NO_ARC: it is a dead end. */
static uint32_t next_arc(hn_cut *c, uint32_t from, uint64_t *work) {
    uint32_t *at = &c->at[from];
    for (; *at != NO_ARC; *at = c->arcs.at[*at].next) {
        const hn_cut_arc *arc = &c->arcs.at[*at];
        ++*work;
        if (arc->room > 0 && c->level[arc->to] == c->level[from] + 1)
            break;
    }
    return *at;
}

/* Sends along a path what its narrowest arc lets through; returns how much of it stays usable. */
static uint32_t send(hn_cut *c, const uint32_t *path, uint32_t n) {
    int64_t most = HN_CUT_MOST;
    uint32_t n_left = n;
    for (uint32_t i = 0; i < n; i++)
        most = HN_MIN(most, c->arcs.at[path[i]].room);
    for (uint32_t i = n; i-- > 0;) {
        c->arcs.at[path[i]].room -= most;
        c->arcs.at[path[i] ^ 1].room += most;
        n_left = c->arcs.at[path[i]].room == 0 ? i : n_left;
    }
    return n_left;
}

/* All paths along the levels. */
static void fill_levels(hn_cut *c, uint32_t *path, uint64_t *work) {
    uint32_t n = 0;
    while (*work < MOST_WORK) {
        uint32_t here = n > 0 ? c->arcs.at[path[n - 1]].to : HN_CUT_SOURCE;
        if (here == HN_CUT_SINK) {
            n = send(c, path, n);
            continue;
        }
        uint32_t arc = next_arc(c, here, work);
        if (arc != NO_ARC)
            path[n++] = arc;
        else if (n == 0)
            return;
        else /* not this way again */
            c->level[c->arcs.at[path[--n]].to] = NO_LEVEL;
    }
}

bool hn_cut_solve(hn_cut *c) {
    uint64_t work = 0;
    uint32_t *queue = HN_NEW_N(c->arena, uint32_t, c->first.n),
             *path = HN_NEW_N(c->arena, uint32_t, c->first.n);
    c->level = HN_NEW_N(c->arena, uint32_t, c->first.n);
    c->at = HN_NEW_N(c->arena, uint32_t, c->first.n);
    if (c->failed || !queue || !path || !c->level || !c->at)
        return false;
    while (find_levels(c, queue, &work)) {
        if (work >= MOST_WORK)
            return false;
        fill_levels(c, path, &work);
    }
    return true;
}

bool hn_cut_is_with_source(const hn_cut *c, uint32_t vertex) {
    return c->level[vertex] != NO_LEVEL;
}
