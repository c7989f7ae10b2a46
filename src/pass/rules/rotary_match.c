/* Matches rotary embeddings in their spellings: x*cos + rotated(x)*sin, and pair by pair. */
#include "pass/rules/moves.h"
#include "pass/rules/rotary_site.h"

/* ---- parts of x ------------------------------------------------------------------------------ */

/* True when `value` is exactly the element `index` of each pair of x's last axis. */
static bool is_part(hn_rule *r, hn_id value, hn_id x, int64_t index, bool is_interleaved) {
    hn_view v;
    if (value == HN_NONE || !hn_view_begin(&v, r, value))
        return false;
    v.keeps_factor = true;
    while (v.source != x)
        if (!hn_view_up(&v))
            return false;
    for (uint32_t i = 0; i < v.n_atoms; i++)
        if (v.atoms[i].kind == HN_ATOM_FIXED && v.atoms[i].index != index)
            return false;
    hn_view_plan plan;
    if (!hn_view_join_pairs(&v, is_interleaved) || v.source_rank != 4 || hn_rank_of(r, value) != 4)
        return false;
    return hn_view_plan_write(&v, "0,1,2,3", &plan) && plan.n_nodes == 0;
}

/* Matches both elements of all pairs joined again: by a Concat of halves, or interleaved. */
static bool read_joined(const hn_rule *r, hn_id value, hn_id *first, hn_id *second,
                        bool *is_interleaved) {
    hn_id reshape = hn_maker(r, value, "Reshape|Flatten");
    hn_id joined = reshape == HN_NONE ? value : hn_in(r, reshape, 0);
    hn_id concat = hn_maker(r, joined, "Concat");
    int32_t rank = hn_rank_of(r, joined);
    if (concat == HN_NONE || hn_at(r, concat)->n_inputs != 2)
        return false;
    int64_t axis = hn_node_i(r, concat, "axis", 0);
    if (!hn_axis_normalize(&axis, rank) || axis != rank - 1)
        return false;
    *first = hn_in(r, concat, 0);
    *second = hn_in(r, concat, 1);
    *is_interleaved = reshape != HN_NONE;
    if (reshape == HN_NONE)
        return true;
    hn_id a = hn_maker(r, *first, "Unsqueeze|Reshape"),
          b = hn_maker(r, *second, "Unsqueeze|Reshape");
    if (a == HN_NONE || b == HN_NONE || hn_dim_of(r, *first, -1) != 1 ||
        hn_dim_of(r, *second, -1) != 1 || hn_rank_of(r, value) != rank - 1)
        return false;
    *first = hn_in(r, a, 0);
    *second = hn_in(r, b, 0);
    return hn_same_shape(r, *first, *second);
}

/* ---- x*cos + rotated(x)*sin
 * ------------------------------------------------------------------- */

/* (-second, first) of each pair of x. */
static bool is_rotated(hn_rule *r, hn_id value, hn_id x, bool *is_interleaved) {
    hn_id first, second;
    if (!read_joined(r, value, &first, &second, is_interleaved))
        return false;
    hn_id neg = hn_maker(r, first, "Neg");
    return neg != HN_NONE && is_part(r, hn_in(r, neg, 0), x, 1, *is_interleaved) &&
           is_part(r, second, x, 0, *is_interleaved);
}

static bool find_whole(hn_rope *p, hn_id plain, hn_id crossed) {
    for (uint32_t i = 0; i < 4; i++) {
        hn_id x = hn_in(p->r, plain, i & 1), rotated = hn_in(p->r, crossed, i >> 1);
        if (hn_const(p->r, x) || !is_rotated(p->r, rotated, x, &p->is_interleaved))
            continue;
        p->cos = hn_in(p->r, plain, 1 - (i & 1));
        p->sin = hn_in(p->r, crossed, 1 - (i >> 1));
        return hn_view_begin(&p->x, p->r, x);
    }
    return false;
}

/* ---- pair by pair ---------------------------------------------------------------------------- */

/* Matches Mul(a, b) in either order; *cache is the input that is not `part`. */
static bool is_scaled(const hn_rule *r, hn_id value, hn_id part, hn_id *cache) {
    hn_id mul = hn_maker(r, value, "Mul");
    if (mul == HN_NONE)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (hn_in(r, mul, i) == part && (*cache == HN_NONE || *cache == hn_in(r, mul, 1 - i))) {
            *cache = hn_in(r, mul, 1 - i);
            return true;
        }
    return false;
}

/* first*cos - second*sin and second*cos + first*sin */
static bool is_rotation(hn_rope *p, hn_id real, hn_id imag, hn_id first, hn_id second) {
    hn_rule *r = p->r;
    hn_id sub = hn_maker(r, real, "Sub"), add = hn_maker(r, imag, "Add");
    p->cos = p->sin = HN_NONE;
    if (sub == HN_NONE || add == HN_NONE || !is_scaled(r, hn_in(r, sub, 0), first, &p->cos) ||
        !is_scaled(r, hn_in(r, sub, 1), second, &p->sin))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (is_scaled(r, hn_in(r, add, i), second, &p->cos) &&
            is_scaled(r, hn_in(r, add, 1 - i), first, &p->sin))
            return true;
    return false;
}

/* The view of one element of all pairs, up to the node that selects it. */
static bool view_part(hn_rule *r, hn_id part, int64_t index, bool is_interleaved, hn_view *v) {
    if (!hn_view_begin(v, r, part))
        return false;
    v->keeps_factor = true;
    while (hn_view_up(v)) {
        for (uint32_t i = 0; i < v->n_atoms; i++)
            if (v->atoms[i].kind == HN_ATOM_FIXED)
                return v->atoms[i].index == index && hn_view_join_pairs(v, is_interleaved);
    }
    return false;
}

static bool are_orders_equal(const hn_atom_order *a, const hn_atom_order *b) {
    return a->n == b->n && memcmp(a->atom, b->atom, a->n) == 0 &&
           memcmp(a->axis, b->axis, a->n) == 0;
}

/* Finds x, of which `first` and `second` are the parts. Both are selected from one value in the
 * same way, so that their atoms have the same numbers. */
static bool find_paired_source(hn_rope *p, hn_id first, hn_id second) {
    hn_view other;
    return view_part(p->r, first, 0, p->is_interleaved, &p->x) &&
           view_part(p->r, second, 1, p->is_interleaved, &other) && p->x.source == other.source &&
           are_orders_equal(&p->x.of_value, &other.of_value) &&
           are_orders_equal(&p->x.of_source, &other.of_source);
}

static bool find_by_pair(hn_rope *p) {
    hn_id real, imag;
    p->is_by_pair = true;
    if (!read_joined(p->r, p->rotated, &real, &imag, &p->is_interleaved))
        return false;
    hn_id sub = hn_maker(p->r, real, "Sub");
    hn_id a = sub == HN_NONE ? HN_NONE : hn_maker(p->r, hn_in(p->r, sub, 0), "Mul");
    hn_id b = sub == HN_NONE ? HN_NONE : hn_maker(p->r, hn_in(p->r, sub, 1), "Mul");
    for (uint32_t i = 0; a != HN_NONE && b != HN_NONE && i < 4; i++) {
        hn_id first = hn_in(p->r, a, i & 1), second = hn_in(p->r, b, i >> 1);
        if (is_rotation(p, real, imag, first, second) && find_paired_source(p, first, second))
            return true;
    }
    return false;
}

/* ---- partial rotation ------------------------------------------------------------------------ */

/* Reads where a value starts on the last axis of the tensor it is sliced from. */
static bool read_cut(const hn_rule *r, hn_id value, hn_id *whole, int64_t *start) {
    const hn_value *v = hn_value_at(r->g, value);
    const int64_t *starts, *axes, *steps;
    uint32_t n, n_axes, n_steps;
    if (v->producer == HN_NONE || !hn_is_op(r, v->producer, "Slice|Split"))
        return false;
    *whole = hn_in(r, v->producer, 0);
    int32_t rank = hn_rank_of(r, *whole);
    int64_t axis = hn_node_i(r, v->producer, "axis", 0);
    *start = 0;
    if (hn_is_op(r, v->producer, "Slice")) {
        if (!hn_node_list(r, v->producer, "starts", 1, &n, &starts) || n != 1 ||
            !hn_node_list(r, v->producer, "axes", 3, &n_axes, &axes) || n_axes != 1)
            return false;
        if (hn_in(r, v->producer, 4) != HN_NONE &&
            (!hn_const_i64s(r, hn_in(r, v->producer, 4), &n_steps, &steps) || steps[0] != 1))
            return false;
        axis = axes[0];
        *start = starts[0];
    }
    for (uint32_t i = 0; i < v->slot; i++)
        *start += hn_dim_of(r, hn_at(r, v->producer)->outputs[i], -1);
    return hn_axis_normalize(&axis, rank) && axis == rank - 1 && *start >= 0;
}

/* Concat(rotated(x[:n]), x[n:]) */
static void widen_to_part(hn_rope *p) {
    hn_rule *r = p->r;
    hn_id concat = hn_only_reader(r, p->rotated), whole, other_whole;
    int64_t start, rest_start, axis;
    int32_t rank = hn_rank_of(r, p->rotated);
    if (concat == HN_NONE || !hn_is_op(r, concat, "Concat") || hn_at(r, concat)->n_inputs != 2 ||
        hn_in(r, concat, 0) != p->rotated || hn_at(r, concat)->block != hn_at(r, r->root)->block)
        return;
    axis = hn_node_i(r, concat, "axis", 0);
    if (!hn_axis_normalize(&axis, rank) || axis != rank - 1 || p->x.n_steps != 0 ||
        !read_cut(r, p->x.source, &whole, &start) || start != 0 ||
        !read_cut(r, hn_in(r, concat, 1), &other_whole, &rest_start) || other_whole != whole ||
        rest_start != p->n_rotated || !hn_same_shape(r, whole, hn_out(r, concat, 0)))
        return;
    if (hn_view_begin(&p->x, r, whole))
        p->rotated = hn_out(r, concat, 0);
}

bool hn_rope_find(hn_rope *p) {
    hn_rule *r = p->r;
    bool is_found = false;
    p->rotated = hn_out(r, r->root, 0);
    if (hn_is_op(r, r->root, "Add")) {
        hn_id a = hn_maker(r, hn_in(r, r->root, 0), "Mul"),
              b = hn_maker(r, hn_in(r, r->root, 1), "Mul");
        is_found = a != HN_NONE && b != HN_NONE && (find_whole(p, a, b) || find_whole(p, b, a));
    } else {
        is_found = find_by_pair(p);
    }
    p->n_rotated = is_found ? hn_dim_of(r, p->rotated, -1) : 0;
    if (!is_found || p->n_rotated < 2 || p->n_rotated % 2 != 0)
        return false;
    widen_to_part(p);
    return true;
}

/* ---- caches ---------------------------------------------------------------------------------- */

static bool is_paired_const(const hn_tensor *t, bool is_interleaved) {
    uint64_t n = t->rank > 0 ? (uint64_t)t->dims[t->rank - 1] : 1;
    double a, b;
    for (uint64_t row = 0; row + n <= t->n_elems; row += n)
        for (uint64_t i = 0; i < n / 2; i++) {
            uint64_t first = is_interleaved ? 2 * i : i,
                     second = is_interleaved ? first + 1 : i + n / 2;
            if (!hn_tensor_get_f64(t, row + first, &a) || !hn_tensor_get_f64(t, row + second, &b) ||
                a != b)
                return false;
        }
    return n % 2 == 0;
}

/* True when the last axis of the value repeats each element for a pair. */
static bool repeats_pairs(const hn_view *v, uint32_t last_axis, bool is_interleaved) {
    const hn_atom_order *o = &v->of_value;
    for (uint32_t i = 0; i < o->n; i++) {
        const hn_view_atom *a = &v->atoms[o->atom[i]];
        bool is_edge = is_interleaved ? i + 1 == o->n : i == 0 || o->axis[i - 1] != last_axis;
        if (o->axis[i] == last_axis && a->kind == HN_ATOM_REPEAT && a->size == 2 && is_edge)
            return true;
    }
    return false;
}

/* Skips one elementwise node, because equal elements stay equal. */
static bool skip_elementwise(hn_view *v) {
    hn_id node = hn_maker(v->r, v->source, "Cos|Sin|Cast|Neg|Mul|Div");
    double c;
    if (node == HN_NONE ||
        (hn_is_op(v->r, node, "Mul|Div") && !hn_const_f64(v->r, hn_in(v->r, node, 1), &c)))
        return false;
    return hn_view_skip(v, hn_in(v->r, node, 0));
}

/* True when the last axis of the value is also the last axis of the source. */
static bool keeps_last_axis(const hn_view *v, uint32_t last_axis) {
    const hn_atom_order *a = &v->of_value, *b = &v->of_source;
    return a->n > 0 && b->n > 0 && a->atom[a->n - 1] == b->atom[b->n - 1] &&
           a->axis[a->n - 1] == last_axis && b->axis[b->n - 1] == v->source_rank - 1 &&
           v->atoms[a->atom[a->n - 1]].size == v->source_dims[v->source_rank - 1];
}

bool hn_rope_is_paired(const hn_rope *p, hn_id cache) {
    hn_view v;
    if (!hn_view_begin(&v, p->r, cache) || v.source_rank == 0)
        return false;
    uint32_t last_axis = v.source_rank - 1;
    v.keeps_factor = true;
    do {
        hn_id table = hn_maker(p->r, v.source, "Gather"); /* rows of a table */
        const hn_tensor *t = hn_const(p->r, table == HN_NONE ? v.source : hn_in(p->r, table, 0));
        bool is_by_row = table == HN_NONE || hn_node_i(p->r, table, "axis", 0) == 0;
        if (t && is_by_row && keeps_last_axis(&v, last_axis))
            return is_paired_const(t, p->is_interleaved);
        if (repeats_pairs(&v, last_axis, p->is_interleaved))
            return true;
    } while (hn_view_up(&v) || skip_elementwise(&v));
    return false;
}
