/* Views: following data that moves, node by node. */
#include "pass/view.h"

#include "pass/moves.h"

static hn_syms *symbols(const hn_view *v) {
    return v->r->pass->model->syms;
}

hn_dim hn_dim_exact_div(hn_syms *s, hn_dim a, hn_dim b) {
    if (a == b && a != HN_DIM_UNKNOWN && a != 0)
        return 1;
    hn_dim q = hn_dim_floor_div(s, a, b);
    return q != HN_DIM_UNKNOWN && hn_dim_mul(s, q, b) == a ? q : HN_DIM_UNKNOWN;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static void order_insert(hn_atom_order *o, uint32_t at, uint32_t atom, uint32_t axis) {
    for (uint32_t i = o->n; i > at; i--) {
        o->atom[i] = o->atom[i - 1];
        o->axis[i] = o->axis[i - 1];
    }
    o->atom[at] = (uint8_t)atom;
    o->axis[at] = (uint8_t)axis;
    o->n++;
}

static void order_push(hn_atom_order *o, uint32_t atom, uint32_t axis) {
    order_insert(o, o->n, atom, axis);
}

/* The number of a new atom; HN_VIEW_ATOMS when there is no room. */
static uint32_t new_atom(hn_view *v, hn_dim size, hn_atom_kind kind, int64_t index) {
    if (v->n_atoms == HN_VIEW_ATOMS)
        return HN_VIEW_ATOMS;
    v->atoms[v->n_atoms] = (hn_atom){.size = size, .kind = kind, .index = index};
    return v->n_atoms++;
}

static void follow_split(hn_atom_order *o, uint32_t outer, uint32_t inner) {
    for (uint32_t i = 0; i < o->n; i++)
        if (o->atom[i] == outer)
            order_insert(o, i + 1, inner, o->axis[i]);
}

/* Breaks an atom in two; a fixed one stays whole. */
static bool split_atom(hn_view *v, uint32_t atom, hn_dim outer, hn_dim inner) {
    hn_atom_kind kind = v->atoms[atom].kind;
    if (kind == HN_ATOM_FIXED)
        return false;
    uint32_t rest = new_atom(v, inner, kind, 0);
    if (rest == HN_VIEW_ATOMS)
        return false;
    v->atoms[atom].size = outer;
    follow_split(&v->of_value, atom, rest);
    follow_split(&v->of_source, atom, rest);
    return true;
}

/* Takes atoms of `o` from *at on until their product is `size`, and gives them to `axis`. */
static bool take_axis(hn_view *v, hn_atom_order *o, uint32_t *at, uint32_t axis, hn_dim size) {
    for (hn_dim rest = size; rest != 1; ++*at) {
        if (rest == HN_DIM_UNKNOWN || *at >= o->n)
            return false;
        uint32_t atom = o->atom[*at];
        hn_dim has = v->atoms[atom].size;
        hn_dim left = hn_dim_exact_div(symbols(v), rest, has);
        if (left == HN_DIM_UNKNOWN) { /* the atom is larger than what is wanted */
            hn_dim inner = hn_dim_exact_div(symbols(v), has, rest);
            if (inner == HN_DIM_UNKNOWN || !split_atom(v, atom, rest, inner))
                return false;
            left = 1;
        }
        o->axis[*at] = (uint8_t)axis;
        rest = left;
    }
    return true;
}

/* Lets the atoms of an order make up axes of these sizes. */
static bool regroup(hn_view *v, hn_atom_order *o, uint32_t rank, const hn_dim *dims) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!take_axis(v, o, &at, i, dims[i]))
            return false;
    return at == o->n;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool set_source(hn_view *v, hn_id source) {
    const hn_shape *s = hn_shape_of(v->r, source);
    if (!s || s->rank > HN_VIEW_RANK)
        return false;
    v->source = source;
    v->source_rank = (uint32_t)s->rank;
    memcpy(v->source_dims, s->dims, v->source_rank * sizeof *s->dims);
    return true;
}

bool hn_view_begin(hn_view *v, hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    *v = (hn_view){.r = r, .value = value, .factor = 1};
    if (!set_source(v, value))
        return false;
    for (int32_t i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0)
            return false;
        if (s->dims[i] == 1)
            continue;
        uint32_t atom = new_atom(v, s->dims[i], HN_ATOM_PLAIN, 0);
        order_push(&v->of_value, atom, (uint32_t)i);
        order_push(&v->of_source, atom, (uint32_t)i);
    }
    return true;
}

bool hn_view_regroup(hn_view *v, uint32_t rank, const hn_dim *dims) {
    hn_view before = *v;
    if (regroup(v, &v->of_value, rank, dims))
        return true;
    *v = before;
    return false;
}

static hn_atom_order permuted(const hn_atom_order *o, uint32_t rank, const uint8_t *perm) {
    hn_atom_order out = {0};
    for (uint32_t axis = 0; axis < rank; axis++)
        for (uint32_t i = 0; i < o->n; i++)
            if (o->axis[i] == perm[axis])
                order_push(&out, o->atom[i], axis);
    return out;
}

void hn_view_permute(hn_view *v, uint32_t rank, const uint8_t *perm) {
    v->of_value = permuted(&v->of_value, rank, perm);
}

bool hn_view_rebase(hn_view *v, hn_id source, uint32_t rank, const hn_dim *dims,
                    const char *layout) {
    hn_atom_order moved = {0};
    if (!regroup(v, &v->of_source, rank, dims))
        return false;
    v->source = source;
    v->source_rank = 0;
    v->source_dims[0] = 1;
    for (const char *at = layout; *at; at++) {
        if (*at == ',') {
            v->source_dims[++v->source_rank] = 1;
            continue;
        }
        uint32_t axis = (uint32_t)(*at - '0'), to = v->source_rank;
        v->source_dims[to] = hn_dim_mul(symbols(v), v->source_dims[to], dims[axis]);
        for (uint32_t i = 0; i < v->of_source.n; i++)
            if (v->of_source.axis[i] == axis)
                order_push(&moved, v->of_source.atom[i], to);
    }
    v->source_rank++;
    v->of_source = moved;
    return true;
}

static bool has_axis(const hn_atom_order *o, uint32_t axis) {
    for (uint32_t i = 0; i < o->n; i++)
        if (o->axis[i] == axis)
            return true;
    return false;
}

/* Where the atoms of an axis begin, or would. */
static uint32_t axis_start(const hn_atom_order *o, uint32_t axis) {
    uint32_t i = 0;
    while (i < o->n && o->axis[i] < axis)
        i++;
    return i;
}

bool hn_view_broadcast(hn_view *v, const hn_shape *to) {
    const hn_shape *s = hn_shape_of(v->r, v->value);
    int32_t shift = to->rank - s->rank;
    if (shift < 0)
        return false;
    for (uint32_t i = 0; i < v->of_value.n; i++) {
        v->of_value.axis[i] = (uint8_t)(v->of_value.axis[i] + shift);
        if (v->atoms[v->of_value.atom[i]].size != to->dims[v->of_value.axis[i]])
            return false;
    }
    for (uint32_t axis = 0; axis < (uint32_t)to->rank; axis++) {
        if (to->dims[axis] == 1 || has_axis(&v->of_value, axis))
            continue;
        uint32_t atom = new_atom(v, to->dims[axis], HN_ATOM_REPEAT, 0);
        if (atom == HN_VIEW_ATOMS)
            return false;
        order_insert(&v->of_value, axis_start(&v->of_value, axis), atom, axis);
    }
    return true;
}

hn_dim hn_view_axis_size(const hn_view *v, uint32_t axis, bool with_repeats) {
    hn_dim size = 1;
    for (uint32_t i = 0; i < v->of_value.n; i++) {
        const hn_atom *a = &v->atoms[v->of_value.atom[i]];
        if (v->of_value.axis[i] == axis && (with_repeats || a->kind != HN_ATOM_REPEAT))
            size = hn_dim_mul(symbols(v), size, a->size);
    }
    return size;
}

bool hn_view_repeats_inside(const hn_view *v, uint32_t axis) {
    bool has_repeat = false;
    for (uint32_t i = 0; i < v->of_value.n; i++) {
        if (v->of_value.axis[i] != axis)
            continue;
        bool is_repeat = v->atoms[v->of_value.atom[i]].kind == HN_ATOM_REPEAT;
        if (has_repeat && !is_repeat)
            return false;
        has_repeat |= is_repeat;
    }
    return true;
}

/* The place of the only fixed atom in the source's order; HN_VIEW_ATOMS when there is not one. */
static uint32_t only_fixed(const hn_view *v) {
    uint32_t found = HN_VIEW_ATOMS;
    for (uint32_t i = 0; i < v->of_source.n; i++)
        if (v->atoms[v->of_source.atom[i]].kind == HN_ATOM_FIXED) {
            if (found != HN_VIEW_ATOMS)
                return HN_VIEW_ATOMS;
            found = i;
        }
    return found;
}

bool hn_view_join_pairs(hn_view *v, bool is_inside) {
    const hn_atom_order *s = &v->of_source;
    uint32_t rank = (uint32_t)hn_rank_of(v->r, v->value), at = only_fixed(v), n = v->of_value.n;
    if (at == HN_VIEW_ATOMS || v->atoms[s->atom[at]].size != 2 || n == 0 || rank == 0)
        return false;
    uint32_t start = axis_start(&v->of_value, rank - 1), neighbour = is_inside ? at - 1 : at + 1;
    if (start == n || neighbour >= s->n ||
        s->atom[neighbour] != v->of_value.atom[is_inside ? n - 1 : start])
        return false;
    v->atoms[s->atom[at]].kind = HN_ATOM_PLAIN;
    order_insert(&v->of_value, is_inside ? n : start, s->atom[at], rank - 1);
    return true;
}

/* ---- going up -------------------------------------------------------------------------------- */

static bool up_reshape(hn_view *v, hn_id node) {
    const hn_shape *s = hn_shape_of(v->r, hn_in(v->r, node, 0));
    return s && s->rank <= HN_VIEW_RANK && regroup(v, &v->of_source, (uint32_t)s->rank, s->dims);
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
    v->of_source = permuted(&v->of_source, (uint32_t)perm.rank, inverse.at);
    return true;
}

/* The source's axis is elements [start, start + part) of one of `whole` elements. */
static bool up_part(hn_view *v, uint32_t axis, hn_dim whole, hn_dim part, int64_t start) {
    if (whole == part)
        return whole != HN_DIM_UNKNOWN;
    if (!hn_dim_is_known(whole) || !hn_dim_is_known(part) || part == 0 || whole % part != 0 ||
        start % part != 0 || start > whole - part)
        return false;
    uint32_t atom = new_atom(v, whole / part, HN_ATOM_FIXED, start / part);
    if (atom == HN_VIEW_ATOMS)
        return false;
    order_insert(&v->of_source, axis_start(&v->of_source, axis), atom, axis);
    return true;
}

/* Every step-th element of the axis, from `start` on. */
static bool up_every(hn_view *v, uint32_t axis, hn_dim whole, hn_dim part, int64_t start,
                     int64_t step) {
    if (!hn_dim_is_known(whole) || step < 2 || whole % step != 0 || part != whole / step ||
        start >= step)
        return false;
    uint32_t atom = new_atom(v, step, HN_ATOM_FIXED, start);
    if (atom == HN_VIEW_ATOMS)
        return false;
    order_insert(&v->of_source, axis_start(&v->of_source, axis + 1), atom, axis);
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
            order_push(&kept, v->of_source.atom[i], v->of_source.axis[i]);
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
    if (!regroup(v, &v->of_source, (uint32_t)rank + 1, dims))
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
    if (node == HN_NONE || !up_through(v, node, &x) || x == HN_NONE || !set_source(v, x)) {
        *v = before;
        return false;
    }
    v->n_steps++;
    return true;
}

bool hn_view_skip(hn_view *v, hn_id x) {
    return hn_same_shape(v->r, v->source, x) && set_source(v, x);
}
