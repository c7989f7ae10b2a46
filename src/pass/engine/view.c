/* Views: atoms, and the orders of a value and its source. */
#include "pass/engine/view_int.h"

static hn_syms *view_syms(const hn_view *v) {
    return v->r->pass->model->syms;
}

hn_dim hn_dim_exact_div(hn_syms *s, hn_dim a, hn_dim b) {
    if (a == b && a != HN_DIM_UNKNOWN && a != 0)
        return 1;
    hn_dim q = hn_dim_floor_div(s, a, b);
    return q != HN_DIM_UNKNOWN && hn_dim_mul(s, q, b) == a ? q : HN_DIM_UNKNOWN;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

void hn_order_insert(hn_atom_order *o, uint32_t at, uint32_t atom, uint32_t axis) {
    for (uint32_t i = o->n; i > at; i--) {
        o->atom[i] = o->atom[i - 1];
        o->axis[i] = o->axis[i - 1];
    }
    o->atom[at] = (uint8_t)atom;
    o->axis[at] = (uint8_t)axis;
    o->n++;
}

void hn_order_push(hn_atom_order *o, uint32_t atom, uint32_t axis) {
    hn_order_insert(o, o->n, atom, axis);
}

/* The number of a new atom; HN_VIEW_ATOMS when there is no room. */
uint32_t hn_view_new_atom(hn_view *v, hn_dim size, hn_view_atom_kind kind, int64_t index) {
    if (v->n_atoms == HN_VIEW_ATOMS)
        return HN_VIEW_ATOMS;
    v->atoms[v->n_atoms] = (hn_view_atom){.size = size, .kind = kind, .index = index};
    return v->n_atoms++;
}

static void follow_split(hn_atom_order *o, uint32_t outer, uint32_t inner) {
    for (uint32_t i = 0; i < o->n; i++)
        if (o->atom[i] == outer)
            hn_order_insert(o, i + 1, inner, o->axis[i]);
}

/* Breaks an atom in two; a fixed one stays whole. */
static bool split_atom(hn_view *v, uint32_t atom, hn_dim outer, hn_dim inner) {
    hn_view_atom_kind kind = v->atoms[atom].kind;
    if (kind == HN_ATOM_FIXED)
        return false;
    uint32_t rest = hn_view_new_atom(v, inner, kind, 0);
    if (rest == HN_VIEW_ATOMS)
        return false;
    v->atoms[atom].size = outer;
    follow_split(&v->of_value, atom, rest);
    follow_split(&v->of_source, atom, rest);
    return true;
}

/* Takes atoms of `o` from *at on until their product is `size`, and gives them to `axis`. */
static bool take_atoms(hn_view *v, hn_atom_order *o, uint32_t *at, uint32_t axis, hn_dim size) {
    for (hn_dim rest = size; rest != 1; ++*at) {
        if (rest == HN_DIM_UNKNOWN || *at >= o->n)
            return false;
        uint32_t atom = o->atom[*at];
        hn_dim has = v->atoms[atom].size;
        hn_dim left = hn_dim_exact_div(view_syms(v), rest, has);
        if (left == HN_DIM_UNKNOWN) { /* the atom is larger than what is wanted */
            hn_dim inner = hn_dim_exact_div(view_syms(v), has, rest);
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
bool hn_view_regroup_order(hn_view *v, hn_atom_order *o, uint32_t rank, const hn_dim *dims) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!take_atoms(v, o, &at, i, dims[i]))
            return false;
    return at == o->n;
}

/* ---- beginning ------------------------------------------------------------------------------- */

bool hn_view_set_source(hn_view *v, hn_id source) {
    const hn_shape *s = hn_shape_of(v->r, source);
    if (!s || s->rank > HN_VIEW_RANK)
        return false;
    v->source = source;
    v->source_rank = (uint32_t)s->rank;
    for (uint32_t i = 0; i < v->source_rank; i++)
        v->source_dims[i] = s->dims[i];
    return true;
}

bool hn_view_begin(hn_view *v, hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    *v = (hn_view){.r = r, .value = value, .factor = 1};
    if (!hn_view_set_source(v, value))
        return false;
    for (int32_t i = 0; i < s->rank; i++) {
        if (s->dims[i] == 0)
            return false;
        if (s->dims[i] == 1)
            continue;
        uint32_t atom = hn_view_new_atom(v, s->dims[i], HN_ATOM_PLAIN, 0);
        hn_order_push(&v->of_value, atom, (uint32_t)i);
        hn_order_push(&v->of_source, atom, (uint32_t)i);
    }
    return true;
}

bool hn_view_regroup(hn_view *v, uint32_t rank, const hn_dim *dims) {
    hn_view before = *v;
    if (hn_view_regroup_order(v, &v->of_value, rank, dims))
        return true;
    *v = before;
    return false;
}

hn_atom_order hn_order_permuted(const hn_atom_order *o, uint32_t rank, const uint8_t *perm) {
    hn_atom_order out = {0};
    for (uint32_t axis = 0; axis < rank; axis++)
        for (uint32_t i = 0; i < o->n; i++)
            if (o->axis[i] == perm[axis])
                hn_order_push(&out, o->atom[i], axis);
    return out;
}

void hn_view_permute(hn_view *v, uint32_t rank, const uint8_t *perm) {
    v->of_value = hn_order_permuted(&v->of_value, rank, perm);
}

bool hn_view_rebase(hn_view *v, hn_id source, uint32_t rank, const hn_dim *dims,
                    const char *layout) {
    hn_atom_order moved = {0};
    if (!hn_view_regroup_order(v, &v->of_source, rank, dims))
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
        v->source_dims[to] = hn_dim_mul(view_syms(v), v->source_dims[to], dims[axis]);
        for (uint32_t i = 0; i < v->of_source.n; i++)
            if (v->of_source.axis[i] == axis)
                hn_order_push(&moved, v->of_source.atom[i], to);
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
uint32_t hn_order_axis_start(const hn_atom_order *o, uint32_t axis) {
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
        uint32_t atom = hn_view_new_atom(v, to->dims[axis], HN_ATOM_REPEAT, 0);
        if (atom == HN_VIEW_ATOMS)
            return false;
        hn_order_insert(&v->of_value, hn_order_axis_start(&v->of_value, axis), atom, axis);
    }
    return true;
}

hn_dim hn_view_axis_size(const hn_view *v, uint32_t axis, bool with_repeats) {
    hn_dim size = 1;
    for (uint32_t i = 0; i < v->of_value.n; i++) {
        const hn_view_atom *a = &v->atoms[v->of_value.atom[i]];
        if (v->of_value.axis[i] == axis && (with_repeats || a->kind != HN_ATOM_REPEAT))
            size = hn_dim_mul(view_syms(v), size, a->size);
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
    uint32_t start = hn_order_axis_start(&v->of_value, rank - 1),
             neighbour = is_inside ? at - 1 : at + 1;
    if (start == n || neighbour >= s->n ||
        s->atom[neighbour] != v->of_value.atom[is_inside ? n - 1 : start])
        return false;
    v->atoms[s->atom[at]].kind = HN_ATOM_PLAIN;
    hn_order_insert(&v->of_value, is_inside ? n : start, s->atom[at], rank - 1);
    return true;
}

bool hn_view_skip(hn_view *v, hn_id x) {
    return hn_same_shape(v->r, v->source, x) && hn_view_set_source(v, x);
}
