/* Reshapes of data whose axes stand in another order. */
#include "cpu/passes/layout.h"

/* Axes before and after that hold the same elements: all products of sizes up to them are equal. */
typedef struct axis_group {
    int32_t from, n_from, to, n_to;
    int32_t place; /* among the turned axes before: of its first axis larger than 1, or of one that
                      stays; -1: there is none */
} axis_group;

typedef struct axis_groups {
    const hn_shape *from, *to;
    int32_t n;
    axis_group at[2 * HN_MAX_RANK];
} axis_groups;

static bool grow_group(const hn_shape *s, int32_t first, int32_t *n, int64_t *product) {
    int32_t axis = first + *n;
    if (axis >= s->rank || !hn_dim_is_known(s->dims[axis]) || s->dims[axis] == 0 ||
        !hn_mul_i64(*product, s->dims[axis], product))
        return false;
    ++*n;
    return true;
}

/* The smallest group that begins with these axes. */
static bool next_group(const axis_groups *all, axis_group *g) {
    const hn_shape *from = all->from, *to = all->to;
    bool has_from = g->from < from->rank, has_to = g->to < to->rank;
    hn_dim a = has_from ? from->dims[g->from] : 0, b = has_to ? to->dims[g->to] : 0;
    int64_t before = 1, after = 1;
    g->n_from = g->n_to = 0;
    if (has_from && has_to && a == b && a != HN_DIM_UNKNOWN) {
        g->n_from = g->n_to = 1;
        return true;
    }
    if (a == 1 || b == 1) {
        g->n_from = a == 1;
        g->n_to = a != 1;
        return true;
    }
    if (!grow_group(from, g->from, &g->n_from, &before) || !grow_group(to, g->to, &g->n_to, &after))
        return false;
    while (before != after)
        if (!(before < after ? grow_group(from, g->from, &g->n_from, &before)
                             : grow_group(to, g->to, &g->n_to, &after)))
            return false;
    return true;
}

/* Where a group's axes stand when turned. Those larger than 1 must stay neighbours, in order. */
static bool place_group(const axis_groups *all, const hn_perm *in, axis_group *g) {
    hn_perm order = hn_perm_inverse(in); /* the axis that stands at each place */
    int32_t last = -1;
    g->place = g->n_from == 1 && g->n_to == 1 ? in->at[g->from] : -1;
    for (int32_t i = g->from; i < g->from + g->n_from; i++) {
        if (all->from->dims[i] == 1)
            continue;
        for (int32_t k = last + 1; last >= 0 && k < in->at[i]; k++)
            if (all->from->dims[order.at[k]] != 1)
                return false;
        if (in->at[i] < last)
            return false;
        g->place = g->place < 0 ? in->at[i] : g->place;
        last = in->at[i];
    }
    return true;
}

static bool find_axis_groups(axis_groups *all, const hn_perm *in) {
    axis_group g = {0};
    while (g.from < all->from->rank || g.to < all->to->rank) {
        if (!next_group(all, &g) || !place_group(all, in, &g))
            return false;
        all->at[all->n++] = g;
        g.from += g.n_from;
        g.to += g.n_to;
    }
    return true;
}

/* New axes of size 1 stand right before the next group, or behind all when there is none:
 * they get its place, or that of the group before. */
static void place_ones(axis_groups *all) {
    int32_t place = -1;
    for (int32_t i = all->n; i-- > 0;) {
        all->at[i].place = all->at[i].place < 0 ? place : all->at[i].place;
        place = all->at[i].place;
    }
    place = 0;
    for (int32_t i = 0; i < all->n; i++) {
        all->at[i].place = all->at[i].place < 0 ? place : all->at[i].place;
        place = all->at[i].place;
    }
}

bool hn_layout_reshape(const hn_rule *r, hn_id from, hn_id to, const hn_perm *in, hn_perm *out) {
    axis_groups all = {.from = hn_shape_of(r, from), .to = hn_shape_of(r, to)};
    uint8_t next = 0;
    if (!all.from || !all.to || all.from->rank != in->rank || all.to->rank > HN_MAX_RANK ||
        !find_axis_groups(&all, in))
        return false;
    place_ones(&all);
    *out = (hn_perm){.rank = all.to->rank};
    for (int32_t place = 0; place < in->rank; place++)
        for (int32_t i = 0; i < all.n; i++)
            for (int32_t k = 0; all.at[i].place == place && k < all.at[i].n_to; k++)
                out->at[all.at[i].to + k] = next++;
    return next == all.to->rank;
}
