/* Offsets for ranges of memory: large ones first, the small ones fill the gaps. */
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

/* Lowest gap between the ranges alive at the same time that are placed already. */
static uint64_t lowest_gap(hn_live_range *const *placed, uint32_t n_placed, const hn_live_range *r,
                           hn_live_range **alive) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_placed; i++)
        if (placed[i]->first <= r->last && r->first <= placed[i]->last)
            alive[n++] = placed[i];
    if (n)
        qsort(alive, n, sizeof *alive, lower_first);
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && at + r->bytes > alive[i]->offset; i++)
        at = HN_MAX(at, alive[i]->offset + alive[i]->bytes);
    return at;
}

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
    if (n)
        qsort(order, n, sizeof *order, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        order[i]->offset = lowest_gap(order, i, order[i], alive);
        uint64_t end = order[i]->offset + order[i]->bytes;
        if (end > UINT64_MAX / 4)
            return HONE_E_NOMEM;
        p->block_bytes = HN_MAX(p->block_bytes, end);
    }
    place_parts(p);
    return HONE_OK;
}
