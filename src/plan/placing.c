/* Offsets for ranges of memory: large ones first, the small ones fill the gaps. That is quadratic;
 * plans with thousands of ranges are placed in the order of time instead, which packs less well. */
#include "plan/plan_int.h"

#include <stdlib.h>

hn_part_range *hn_whole_range(const hn_placing *p, hn_part_range *r) {
    while (r->within)
        r = &p->ranges[r->within - 1];
    return r;
}

static int larger_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes < (*y)->bytes ? 1 : -1;
    return (*x)->first < (*y)->first ? -1 : (*x)->first > (*y)->first;
}

static int lower_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* ---- few ranges: each looks at all ----------------------------------------------------------- */

/* Lowest gap between the ranges alive at the same time that are placed already. */
static uint64_t lowest_gap(hn_live_range *const *placed, uint32_t n_placed, const hn_live_range *r,
                           hn_live_range **alive) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_placed; i++) {
        hn_count_decision(HN_DECISION_PLACE);
        if (placed[i]->first <= r->last && r->first <= placed[i]->last)
            alive[n++] = placed[i];
    }
    if (n)
        qsort(alive, n, sizeof *alive, lower_first);
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && at + r->bytes > alive[i]->offset; i++)
        at = HN_MAX(at, alive[i]->offset + alive[i]->bytes);
    return at;
}

static void place_by_size(hn_live_range **order, uint32_t n, hn_live_range **alive) {
    qsort(order, n, sizeof *order, larger_first);
    for (uint32_t i = 0; i < n; i++)
        order[i]->offset = lowest_gap(order, i, order[i], alive);
}

/* ---- many ranges: in the order of time, from a list of gaps ------------------------------------ */

#define MANY_RANGES 4096

typedef struct memory_gap {
    uint64_t begin, end;
} memory_gap;

typedef struct gap_list {
    memory_gap *at; /* in order of their places */
    uint32_t n;
} gap_list;

static int earlier_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    if ((*x)->first != (*y)->first)
        return (*x)->first < (*y)->first ? -1 : 1;
    return (*x)->value < (*y)->value ? -1 : (*x)->value > (*y)->value;
}

static int ended_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    return (*x)->last < (*y)->last ? -1 : (*x)->last > (*y)->last;
}

/* The first gap that ends behind this place. */
static uint32_t gap_behind(const gap_list *g, uint64_t place) {
    uint32_t low = 0, high = g->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->at[mid].end > place)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static uint64_t take_gap(gap_list *g, uint64_t bytes) {
    uint32_t i = 0;
    for (; g->at[i].end - g->at[i].begin < bytes; i++) /* the last one has no end */
        hn_count_decision(HN_DECISION_PLACE);
    uint64_t begin = g->at[i].begin;
    g->at[i].begin += bytes;
    if (g->at[i].begin == g->at[i].end)
        memmove(&g->at[i], &g->at[i + 1], (--g->n - i) * sizeof *g->at);
    return begin;
}

static void give_gap(gap_list *g, uint64_t begin, uint64_t end) {
    uint32_t i = gap_behind(g, begin);
    bool meets_next = g->at[i].begin == end, meets_last = i > 0 && g->at[i - 1].end == begin;
    if (meets_next && meets_last) {
        g->at[i - 1].end = g->at[i].end;
        memmove(&g->at[i], &g->at[i + 1], (--g->n - i) * sizeof *g->at);
    } else if (meets_next) {
        g->at[i].begin = begin;
    } else if (meets_last) {
        g->at[i - 1].end = end;
    } else {
        memmove(&g->at[i + 1], &g->at[i], (g->n++ - i) * sizeof *g->at);
        g->at[i] = (memory_gap){begin, end};
    }
}

static hone_status place_by_time(hn_arena *work, hn_live_range **order, uint32_t n,
                                 hn_live_range **by_end) {
    gap_list gaps = {.at = HN_NEW_N(work, memory_gap, (size_t)n + 2), .n = 1};
    uint32_t n_ended = 0;
    HN_TRY_PTR(gaps.at);
    gaps.at[0] = (memory_gap){0, UINT64_MAX};
    qsort(order, n, sizeof *order, earlier_first);
    memcpy(by_end, order, n * sizeof *order);
    qsort(by_end, n, sizeof *by_end, ended_first);
    for (uint32_t i = 0; i < n; i++) {
        for (; n_ended < n && by_end[n_ended]->last < order[i]->first; n_ended++)
            if (by_end[n_ended]->bytes)
                give_gap(&gaps, by_end[n_ended]->offset,
                         by_end[n_ended]->offset + by_end[n_ended]->bytes);
        if (order[i]->bytes > UINT64_MAX / 4)
            return HONE_E_NOMEM;
        order[i]->offset = order[i]->bytes ? take_gap(&gaps, order[i]->bytes) : 0;
        if (order[i]->offset > UINT64_MAX / 4)
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void place_parts(hn_placing *p) {
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        hn_part_range *r = &p->ranges[i];
        uint64_t shift = 0;
        for (; r->within; r = &p->ranges[r->within - 1])
            shift += r->shift;
        p->ranges[i].live.offset = r->live.offset + shift;
    }
}

hone_status hn_place_ranges(hn_arena *work, hn_placing *p) {
    hn_live_range **order = HN_NEW_N(work, hn_live_range *, (size_t)p->n_ranges + 1);
    hn_live_range **alive = HN_NEW_N(work, hn_live_range *, (size_t)p->n_ranges + 1);
    uint32_t n = 0;
    if (!order || !alive)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < p->n_ranges; i++)
        if (!p->ranges[i].within)
            order[n++] = &p->ranges[i].live;
    if (n > MANY_RANGES)
        HN_TRY(place_by_time(work, order, n, alive));
    else if (n)
        place_by_size(order, n, alive);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t end = order[i]->offset + order[i]->bytes;
        if (end > UINT64_MAX / 4)
            return HONE_E_NOMEM;
        p->block_bytes = HN_MAX(p->block_bytes, end);
    }
    place_parts(p);
    return HONE_OK;
}
