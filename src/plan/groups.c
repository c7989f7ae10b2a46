/* Steps that are too small to be cut run beside each other instead: neighbours of the main graph
 * are taken together when they fall into strands none of which reads what another one makes.
 *
 * What a step costs is estimated from its sizes alone, so that a plan is the same every time.
 *
 * Measured with two threads, whole models with groups against the same without: 32 heads of four
 * nodes each 1.6 x, blocks of four branches over maps of 8x8 1.5 x, a detector that looks at 90
 * classes 1.15 x, a recommender with 26 tables 1.06 x. */
#include "plan/plan_int.h"

#include <stdlib.h>

/* Sizes per nanosecond of one thread, where operands come from the second cache. */
#define MACS_PER_NS 50
#define BYTES_PER_NS 8
#define STEP_NS 300          /* of a step that has nothing to do */
#define DYNAMIC_STEP_NS 3000 /* of one whose shapes are found when it runs */
#define FORK_NS 2000         /* that it takes to begin and to end a group */
#define MOST_STEP_NS 10000   /* beyond that a step had better be cut by itself */
/* All that a group makes lives as long as the group: it should stay in the second cache. */
#define MOST_GROUP_BYTES ((uint64_t)2 << 20)
#define MOST_GROUP_STEPS 4096
#define MOST_IDLE_STEPS 48 /* in a row that spare nothing, before nothing more is expected */

/* The steps from `begin` on, sorted into strands while they are counted. */
typedef struct strand_search {
    hn_plan *plan;
    const hn_graph *g;
    const hn_step_list *list;
    const hn_type *const *types; /* by value, as far as they are known */
    uint32_t n_lanes;
    uint64_t *cost_ns;   /* by step; 0: it runs alone */
    uint32_t *leader;    /* by step: another of its strand, or itself */
    uint64_t *strand_ns; /* by step that leads: of its strand */
    uint32_t *place;     /* by step that leads: of its strand, in the group */
    uint32_t begin, n_strands;
    uint64_t total_ns, longest_ns, made_bytes;
} strand_search;

/* ---- costs ----------------------------------------------------------------------------------- */

/* Adds the bytes of a tensor; false where they are not known. */
static bool add_bytes(const strand_search *s, hn_id id, uint64_t *bytes) {
    const hn_type *t = id == HN_NONE ? NULL : s->plan->places[id].type;
    uint64_t n = 1, more = UINT32_MAX;
    bool fits = true;
    for (int32_t i = 0; t && i < t->shape.rank; i++)
        fits = fits && hn_mul_u64(n, (uint64_t)t->shape.dims[i], &n);
    if (t)
        *bytes += fits && hn_dtype_bytes(t->elem, n, &more) ? HN_MIN(more, UINT32_MAX) : UINT32_MAX;
    return id == HN_NONE || t;
}

/* What the step makes; false where that is not known. */
static bool add_made_bytes(const strand_search *s, const hn_step *step, uint64_t *bytes) {
    const hn_node *node = hn_node_at(s->g, step->node);
    bool all_known = true;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (step->wanted[i])
            all_known &= add_bytes(s, node->outputs[i], bytes);
    return all_known;
}

/* What it reads and makes. */
static bool add_moved_bytes(const strand_search *s, const hn_step *step, uint64_t *bytes) {
    const hn_node *node = hn_node_at(s->g, step->node);
    bool all_known = add_made_bytes(s, step, bytes);
    bool reads_part = step->op->impl->reads_part;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint64_t unread = 0;
        all_known &= add_bytes(s, node->inputs[i], i == 0 && reads_part ? &unread : bytes);
    }
    return all_known;
}

static bool is_plain_tensor(const strand_search *s, hn_id id) {
    const hn_type *t = id == HN_NONE ? NULL : s->types[id];
    return id == HN_NONE ||
           (t && t->kind == HN_TYPE_TENSOR && t->elem != HN_UNDEFINED && t->elem != HN_STRING);
}

/* Objects that are passed on have counts of references, which belong to one thread. */
static bool may_run_beside_others(const strand_search *s, const hn_step *step) {
    const hn_node *node = hn_node_at(s->g, step->node);
    if (step->has_body || step->op->impl->runs_alone)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!is_plain_tensor(s, node->inputs[i]))
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (step->wanted[i] && !is_plain_tensor(s, node->outputs[i]))
            return false;
    return true;
}

static bool known_macs(const strand_search *s, const hn_step *step, uint64_t *macs) {
    const hn_node *node = hn_node_at(s->g, step->node);
    infer_job job = {.model = s->g->model, .work = s->plan->arena, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = s->g, .types = (const hn_type **)(uintptr_t)s->types};
    hn_infer c = {
        .scope = &scope, .id = step->node, .node = node, .op = step->op, .version = step->version};
    *macs = 0;
    if (!step->op->macs)
        return true;
    c.out = HN_NEW_N(s->plan->arena, const hn_type *, (size_t)node->n_outputs + 1);
    for (uint32_t i = 0; c.out && i < node->n_outputs; i++)
        c.out[i] = node->outputs[i] == HN_NONE ? NULL : s->types[node->outputs[i]];
    return c.out && step->op->macs(&c, macs);
}

/* 0: the step is not to stand in a group. */
static uint64_t cost_of_step(const strand_search *s, const hn_step *step) {
    uint64_t macs, bytes = 0;
    if (!may_run_beside_others(s, step) || !known_macs(s, step, &macs))
        return 0;
    bool is_dynamic = !add_moved_bytes(s, step, &bytes);
    if (!is_dynamic && step->op->impl->memory == HN_MEMORY_ALIAS)
        return STEP_NS;
    uint64_t ns = (is_dynamic ? DYNAMIC_STEP_NS : STEP_NS) + macs / MACS_PER_NS;
    ns += bytes / BYTES_PER_NS;
    return ns <= MOST_STEP_NS ? ns : 0;
}

/* ---- strands --------------------------------------------------------------------------------- */

static uint32_t leader_of(strand_search *s, uint32_t step) {
    while (s->leader[step] != step) {
        s->leader[step] = s->leader[s->leader[step]];
        step = s->leader[step];
    }
    return step;
}

static void tie_strands(strand_search *s, uint32_t a, uint32_t b) {
    a = leader_of(s, a);
    b = leader_of(s, b);
    if (a == b)
        return;
    s->leader[b] = a;
    s->strand_ns[a] += s->strand_ns[b];
    s->longest_ns = HN_MAX(s->longest_ns, s->strand_ns[a]);
    s->n_strands--;
}

static void begin_strands(strand_search *s, uint32_t begin) {
    s->begin = begin;
    s->n_strands = 0;
    s->total_ns = s->longest_ns = s->made_bytes = 0;
}

static void add_step(strand_search *s, uint32_t at) {
    const hn_step *step = &s->list->steps[at];
    const hn_node *node = hn_node_at(s->g, step->node);
    s->leader[at] = at;
    s->strand_ns[at] = s->cost_ns[at];
    s->longest_ns = HN_MAX(s->longest_ns, s->cost_ns[at]);
    s->total_ns += s->cost_ns[at];
    s->n_strands++;
    add_made_bytes(s, step, &s->made_bytes);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        hn_id id = node->inputs[i];
        hn_id producer = id == HN_NONE ? HN_NONE : hn_value_at(s->g, id)->producer;
        uint32_t made_at = producer == HN_NONE ? 0 : s->plan->program->position[producer];
        if (producer != HN_NONE && made_at >= s->begin)
            tie_strands(s, at, made_at);
    }
}

/* What running the strands beside each other spares; at least a quarter, or it is not worth it. */
static uint64_t saved_ns(const strand_search *s) {
    uint64_t least = HN_MAX(s->longest_ns, s->total_ns / s->n_lanes) + FORK_NS;
    uint64_t saved = s->total_ns - HN_MIN(s->total_ns, least);
    return saved >= s->total_ns / 4 ? saved : 0;
}

static bool may_go_on(const strand_search *s, uint32_t best, uint32_t end) {
    return end < s->list->n_steps && s->cost_ns[end] && end - s->begin < MOST_GROUP_STEPS &&
           end - best < MOST_IDLE_STEPS && s->made_bytes <= MOST_GROUP_BYTES;
}

/* The end of the best group that begins here; `begin` itself when there is none. */
static uint32_t best_end(strand_search *s, uint32_t begin) {
    uint64_t most = 0;
    uint32_t best = begin;
    begin_strands(s, begin);
    for (uint32_t end = begin; may_go_on(s, best, end);) {
        add_step(s, end++);
        if (s->made_bytes <= MOST_GROUP_BYTES && saved_ns(s) > most) {
            most = saved_ns(s);
            best = end;
        }
    }
    return best;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct strand {
    uint32_t leader;
    uint64_t ns;
} strand;

static int longer_first(const void *a, const void *b) {
    const strand *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return x->leader < y->leader ? -1 : x->leader > y->leader;
}

/* A pool gives each of its threads the same number of neighbours: strands are dealt out by turns,
 * the longest first. */
static void deal_strands(strand_search *s, const strand *sorted, uint32_t n) {
    uint32_t at = 0;
    for (uint32_t lane = 0; lane < s->n_lanes; lane++)
        for (uint32_t i = lane; i < n; i += s->n_lanes)
            s->place[sorted[i].leader] = at++;
}

static uint32_t list_strands(strand_search *s, uint32_t end, strand *out) {
    uint32_t n = 0;
    for (uint32_t i = s->begin; i < end; i++)
        if (leader_of(s, i) == i)
            out[n++] = (strand){i, s->strand_ns[i]};
    return n;
}

/* Steps in the order of their strands, and of the program within a strand. */
static void fill_group(strand_search *s, const hn_group *group, uint32_t *starts, uint32_t *steps) {
    for (uint32_t i = group->begin; i < group->end; i++)
        starts[s->place[leader_of(s, i)] + 1]++;
    for (uint32_t k = 0; k < group->n_strands; k++)
        starts[k + 1] += starts[k];
    for (uint32_t i = group->begin; i < group->end; i++)
        steps[starts[s->place[leader_of(s, i)]]++] = i;
    for (uint32_t k = group->n_strands; k > 0; k--)
        starts[k] = starts[k - 1];
    starts[0] = 0;
}

static hone_status keep_group(strand_search *s, uint32_t begin, uint32_t end) {
    hn_arena *a = s->plan->arena;
    begin_strands(s, begin);
    for (uint32_t i = begin; i < end; i++)
        add_step(s, i);
    hn_group *group = &s->plan->groups[s->plan->n_groups++];
    *group = (hn_group){.begin = begin, .end = end, .n_strands = s->n_strands};
    strand *strands = HN_NEW_N(a, strand, s->n_strands);
    uint32_t *starts = HN_NEW_N(a, uint32_t, (size_t)s->n_strands + 1);
    uint32_t *steps = HN_NEW_N(a, uint32_t, end - begin);
    if (!strands || !starts || !steps)
        return HONE_E_NOMEM;
    uint32_t n = list_strands(s, end, strands);
    qsort(strands, n, sizeof *strands, longer_first);
    deal_strands(s, strands, n);
    fill_group(s, group, starts, steps);
    group->starts = starts;
    group->steps = steps;
    return HONE_OK;
}

static hone_status open_search(strand_search *s) {
    hn_plan *p = s->plan;
    size_t n = (size_t)s->list->n_steps + 1;
    s->cost_ns = HN_NEW_N(p->arena, uint64_t, n);
    s->strand_ns = HN_NEW_N(p->arena, uint64_t, n);
    s->leader = HN_NEW_N(p->arena, uint32_t, n);
    s->place = HN_NEW_N(p->arena, uint32_t, n);
    p->groups = HN_NEW_N(p->arena, hn_group, n / 2 + 1);
    if (!s->cost_ns || !s->strand_ns || !s->leader || !s->place || !p->groups)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < s->list->n_steps; i++)
        s->cost_ns[i] = cost_of_step(s, &s->list->steps[i]);
    return HONE_OK;
}

hone_status hn_plan_find_groups(hn_plan *p, const hn_type *const *types, int n_threads) {
    strand_search s = {.plan = p,
                       .g = p->program->model->graph,
                       .list = p->list,
                       .types = types,
                       .n_lanes = (uint32_t)n_threads};
    if (n_threads < 2)
        return HONE_OK;
    HN_TRY(open_search(&s));
    for (uint32_t at = 0; at < s.list->n_steps;) {
        uint32_t end = best_end(&s, at);
        if (end > at)
            HN_TRY(keep_group(&s, at, end));
        at = HN_MAX(end, at + 1);
    }
    return hn_arena_has_failed(p->arena) ? HONE_E_NOMEM : HONE_OK;
}
