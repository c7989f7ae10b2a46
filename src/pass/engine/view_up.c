/* Views: following data that moves, node by node. */
#include "pass/rules/moves.h"
#include "pass/engine/view_int.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool up_reshape(hn_view *v, hn_id node) {
    const hn_shape *s = hn_shape_of(v->r, hn_in(v->r, node, 0));
    return s && s->rank <= HN_VIEW_RANK &&
           hn_view_regroup_order(v, &v->of_source, (uint32_t)s->rank, s->dims);
}

static bool is_permutation(const hn_perm *p) {
    uint32_t seen = 0;
    for (int32_t i = 0; i < p->rank; i++)
        seen |= p->at[i] < p->rank ? 1u << p->at[i] : 0;
    return seen == (1u << p->rank) - 1;
}

static bool up_transpose(hn_view *v, hn_id node) {
    hn_perm perm;
    if (!hn_perm_read(v->r, node, &perm) || perm.rank != (int32_t)v->source_rank ||
        !is_permutation(&perm))
        return false;
    hn_perm inverse = hn_perm_inverse(&perm);
    v->of_source = hn_order_permuted(&v->of_source, (uint32_t)perm.rank, inverse.at);
    return true;
}

/* The source's axis is elements [start, start + part) of one of `whole` elements. */
static bool up_part(hn_view *v, uint32_t axis, hn_dim whole, hn_dim part, int64_t start) {
    if (whole == part)
        return whole != HN_DIM_UNKNOWN;
    if (!hn_dim_is_known(whole) || !hn_dim_is_known(part) || part == 0 || whole % part != 0 ||
        start % part != 0 || start > whole - part)
        return false;
    uint32_t atom = hn_view_new_atom(v, whole / part, HN_ATOM_FIXED, start / part);
    if (atom == HN_VIEW_ATOMS)
        return false;
    hn_order_insert(&v->of_source, hn_order_axis_start(&v->of_source, axis), atom, axis);
    return true;
}

/* Every step-th element of the axis, from `start` on. */
static bool up_every(hn_view *v, uint32_t axis, hn_dim whole, hn_dim part, int64_t start,
                     int64_t step) {
    if (!hn_dim_is_known(whole) || step < 2 || whole % step != 0 || part != whole / step ||
        start >= step)
        return false;
    uint32_t atom = hn_view_new_atom(v, step, HN_ATOM_FIXED, start);
    if (atom == HN_VIEW_ATOMS)
        return false;
    hn_order_insert(&v->of_source, hn_order_axis_start(&v->of_source, axis + 1), atom, axis);
    return true;
}

static bool up_split(hn_view *v, hn_id node) {
    const hn_node *n = hn_at(v->r, node);
    hn_id x = hn_in(v->r, node, 0);
    int64_t axis = hn_node_i(v->r, node, "axis", 0), start = 0;
    if (!hn_axis_normalize(&axis, hn_rank_of(v->r, x)))
        return false;
    for (uint32_t i = 0; i < hn_value_at(v->r->g, v->source)->slot; i++) {
        hn_dim part = hn_dim_of(v->r, n->outputs[i], (int32_t)axis);
        if (!hn_dim_is_known(part) || !hn_add_i64(start, part, &start))
            return false;
    }
    return up_part(v, (uint32_t)axis, hn_dim_of(v->r, x, (int32_t)axis),
                   hn_dim_of(v->r, v->source, (int32_t)axis), start);
}

static bool up_slice(hn_view *v, hn_id node) {
    const int64_t *starts, *axes, *steps;
    uint32_t n, n_axes, n_steps = 0;
    hn_id x = hn_in(v->r, node, 0);
    if (!hn_node_list(v->r, node, "starts", 1, &n, &starts))
        return false;
    bool has_axes = hn_node_list(v->r, node, "axes", 3, &n_axes, &axes);
    bool has_steps = hn_const_i64s(v->r, hn_in(v->r, node, 4), &n_steps, &steps);
    if ((!has_axes && hn_in(v->r, node, 3) != HN_NONE) || (has_axes && n_axes != n) ||
        (!has_steps && hn_in(v->r, node, 4) != HN_NONE) || (has_steps && n_steps != n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t axis = has_axes ? axes[i] : i, start = starts[i], step = has_steps ? steps[i] : 1;
        if (!hn_axis_normalize(&axis, hn_rank_of(v->r, x)) || step < 1)
            return false;
        hn_dim whole = hn_dim_of(v->r, x, (int32_t)axis);
        hn_dim part = hn_dim_of(v->r, v->source, (int32_t)axis);
        start += start < 0 && hn_dim_is_known(whole) ? whole : 0;
        if (start < 0 || !(step == 1 ? up_part(v, (uint32_t)axis, whole, part, start)
                                     : up_every(v, (uint32_t)axis, whole, part, start, step)))
            return false;
    }
    return true;
}

/* One index of an axis: that axis is gone when the index has rank 0. */
static bool up_gather(hn_view *v, hn_id node) {
    const hn_tensor *index = hn_const(v->r, hn_in(v->r, node, 1));
    hn_id x = hn_in(v->r, node, 0);
    int64_t axis = hn_node_i(v->r, node, "axis", 0), at;
    hn_dim whole;
    if (!index || index->n_elems != 1 || index->rank > 1 || !hn_tensor_get_i64(index, 0, &at) ||
        !hn_axis_normalize(&axis, hn_rank_of(v->r, x)))
        return false;
    whole = hn_dim_of(v->r, x, (int32_t)axis);
    at += at < 0 && hn_dim_is_known(whole) ? whole : 0;
    for (uint32_t i = 0; index->rank == 0 && i < v->of_source.n; i++)
        v->of_source.axis[i] = (uint8_t)(v->of_source.axis[i] + (v->of_source.axis[i] >= axis));
    return at >= 0 && up_part(v, (uint32_t)axis, whole, 1, at);
}

/* The atoms of an axis are repeats of a source that has size 1 there. */
static void drop_axis(hn_view *v, uint32_t axis) {
    hn_atom_order kept = {0};
    for (uint32_t i = 0; i < v->of_source.n; i++)
        if (v->of_source.axis[i] != axis)
            hn_order_push(&kept, v->of_source.atom[i], v->of_source.axis[i]);
        else
            v->atoms[v->of_source.atom[i]].kind = HN_ATOM_REPEAT;
    v->of_source = kept;
}

static bool has_fixed(const hn_view *v, uint32_t axis) {
    for (uint32_t i = 0; i < v->of_source.n; i++)
        if (v->of_source.axis[i] == axis && v->atoms[v->of_source.atom[i]].kind == HN_ATOM_FIXED)
            return true;
    return false;
}

static bool up_expand(hn_view *v, hn_id node) {
    const hn_shape *from = hn_shape_of(v->r, hn_in(v->r, node, 0));
    const hn_shape *to = hn_shape_of(v->r, v->source);
    if (!from || !to || from->rank > to->rank)
        return false;
    uint32_t shift = (uint32_t)(to->rank - from->rank);
    for (uint32_t axis = 0; axis < (uint32_t)to->rank; axis++) {
        hn_dim size = axis < shift ? 1 : from->dims[axis - shift];
        if (size == to->dims[axis] && size != HN_DIM_UNKNOWN)
            continue;
        if (size != 1 || has_fixed(v, axis))
            return false;
        drop_axis(v, axis);
    }
    for (uint32_t i = 0; i < v->of_source.n; i++)
        v->of_source.axis[i] = (uint8_t)(v->of_source.axis[i] - shift);
    return true;
}

/* The axis holds the source's axis, of `size` elements, several times over. */
static bool up_copies(hn_view *v, hn_id x, uint32_t axis, int64_t n_copies) {
    hn_dim dims[HN_VIEW_RANK + 1];
    int32_t rank = hn_rank_of(v->r, x);
    if (n_copies == 1)
        return true;
    if (rank > HN_VIEW_RANK || has_fixed(v, axis))
        return false;
    for (uint32_t i = 0; i <= (uint32_t)rank; i++) /* the copies as an axis of their own */
        dims[i] = i == axis ? n_copies : hn_dim_of(v->r, x, (int32_t)(i - (i > axis)));
    if (!hn_view_regroup_order(v, &v->of_source, (uint32_t)rank + 1, dims))
        return false;
    drop_axis(v, axis);
    for (uint32_t i = 0; i < v->of_source.n; i++)
        v->of_source.axis[i] = (uint8_t)(v->of_source.axis[i] - (v->of_source.axis[i] > axis));
    return true;
}

static bool up_tile(hn_view *v, hn_id node) {
    const int64_t *repeats;
    uint32_t n;
    hn_id x = hn_in(v->r, node, 0);
    if (!hn_const_i64s(v->r, hn_in(v->r, node, 1), &n, &repeats) ||
        (int32_t)n != hn_rank_of(v->r, x))
        return false;
    for (uint32_t axis = 0; axis < n; axis++)
        if (repeats[axis] < 1 || !up_copies(v, x, axis, repeats[axis]))
            return false;
    return true;
}

static bool up_concat(hn_view *v, hn_id node) {
    const hn_node *n = hn_at(v->r, node);
    int64_t axis = hn_node_i(v->r, node, "axis", 0);
    for (uint32_t i = 1; i < n->n_inputs; i++)
        if (n->inputs[i] != n->inputs[0])
            return false;
    return hn_axis_normalize(&axis, hn_rank_of(v->r, n->inputs[0])) &&
           up_copies(v, n->inputs[0], (uint32_t)axis, n->n_inputs);
}

/* A constant factor; which input holds x goes to *x. */
static bool up_factor(hn_view *v, hn_id node, hn_id *x) {
    bool is_div = hn_is_op(v->r, node, "Div");
    for (uint32_t i = is_div; i < 2; i++) {
        double c;
        hn_id other = hn_in(v->r, node, 1 - i);
        if (hn_const_f64(v->r, hn_in(v->r, node, i), &c) && c != 0 &&
            hn_same_shape(v->r, other, v->source)) {
            v->factor *= is_div ? 1 / c : c;
            *x = other;
            return true;
        }
    }
    return false;
}

static bool up_same(hn_view *v, hn_id node) {
    return hn_same_shape(v->r, hn_in(v->r, node, 0), v->source);
}

typedef struct up_row {
    const char *ops;
    bool (*fn)(hn_view *v, hn_id node);
} up_row;

static const up_row up_rows[] = {
    {"Reshape|Squeeze|Unsqueeze|Flatten", up_reshape},
    {"Transpose", up_transpose},
    {"Split", up_split},
    {"Slice", up_slice},
    {"Gather", up_gather},
    {"Expand", up_expand},
    {"Tile", up_tile},
    {"Concat", up_concat},
    {"Identity", up_same},
};

static bool up_through(hn_view *v, hn_id node, hn_id *x) {
    if (hn_is_op(v->r, node, "Mul|Div"))
        return !v->keeps_factor && up_factor(v, node, x);
    *x = hn_in(v->r, node, 0);
    for (uint32_t i = 0; i < HN_COUNT(up_rows); i++)
        if (hn_is_op(v->r, node, up_rows[i].ops))
            return up_rows[i].fn(v, node);
    return false;
}

bool hn_view_up(hn_view *v) {
    hn_view before = *v;
    hn_id node = hn_value_at(v->r->g, v->source)->producer, x = HN_NONE;
    if (node == HN_NONE || !up_through(v, node, &x) || x == HN_NONE || !hn_view_set_source(v, x)) {
        *v = before;
        return false;
    }
    v->n_steps++;
    return true;
}
