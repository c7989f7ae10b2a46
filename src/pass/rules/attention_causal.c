/* Attention: recognizes causal masks, constant or computed, and finds out whether masks may hide
 * every key from a query. */
#include "pass/rules/attention_site.h"

#include <math.h>

#define MAX_MASK_DEPTH 12

/* ---- constant masks -------------------------------------------------------------------------- */

/* Returns what an element of a constant mask adds to a score. */
static double added_by(const hn_attn_mask *m, const hn_tensor *t, uint64_t at) {
    double x = NAN;
    int64_t truth;
    if (m->kind == HN_MASK_SELECTED)
        x = !hn_tensor_get_i64(t, at, &truth) ? NAN : truth ? m->yes : m->no;
    else if (!hn_tensor_get_f64(t, at, &x))
        return NAN;
    return (m->kind == HN_MASK_SUBTRACTED ? -x : x) * m->factor;
}

static bool is_causal_const(const hn_attn *a, const hn_attn_mask *m, const hn_tensor *t) {
    uint64_t n = (uint64_t)a->n_keys;
    if (t->rank < 2 || !hn_dim_is_known(a->n_keys) || t->n_elems != n * n ||
        t->dims[t->rank - 1] != a->n_keys || t->dims[t->rank - 2] != a->n_keys)
        return false;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++) {
            double x = added_by(m, t, i * n + j);
            if (!(j <= i ? x == 0 : x <= HN_ATTN_HIDDEN))
                return false;
        }
    return true;
}

/* ---- computed masks -------------------------------------------------------------------------- */

/* True when an integer vector is 0, 1, 2, ... along `axis` (counted from the end) of the mask and
 * has size 1 along the other axis. */
static bool counts_along(const hn_attn *a, hn_id value, uint32_t axis) {
    hn_view v;
    if (!hn_view_begin(&v, a->r, value) || v.of_value.n != 1 ||
        v.source_rank - v.of_value.axis[0] != axis + 1)
        return false;
    do {
        hn_id cast = hn_maker(a->r, v.source, "Cast");
        hn_id range = hn_maker(a->r, cast == HN_NONE ? v.source : hn_in(a->r, cast, 0), "Range");
        double start, step;
        if (range != HN_NONE)
            return v.factor == 1 && hn_const_f64(a->r, hn_in(a->r, range, 0), &start) &&
                   hn_const_f64(a->r, hn_in(a->r, range, 2), &step) && start == 0 && step == 1;
    } while (hn_view_up(&v));
    return false;
}

/* Skips one node that does not change the last two axes; HN_NONE when there is none. */
static hn_id same_matrix_above(const hn_attn *a, hn_id value) {
    hn_id node = hn_maker(a->r, value, "Unsqueeze|Squeeze|Reshape|Expand|Cast|Identity");
    hn_id x = node == HN_NONE ? HN_NONE : hn_in(a->r, node, 0);
    bool fits = hn_dim_of(a->r, x, -1) == a->n_keys && hn_dim_of(a->r, x, -2) == a->n_queries;
    return fits ? x : HN_NONE;
}

/* True when a boolean value says that the key position is at most the query position. `negated`
 * asks for the opposite. */
static bool is_causal_test(const hn_attn *a, hn_id value, bool negated) {
    static const struct {
        const char *op;
        uint32_t query; /* which input holds the query positions */
        bool is_opposite;
    } tests[] = {{"GreaterOrEqual", 0, false},
                 {"LessOrEqual", 1, false},
                 {"Greater", 1, true},
                 {"Less", 0, true}};
    for (; value != HN_NONE; value = same_matrix_above(a, value)) {
        hn_id node = hn_maker(a->r, value, "Not");
        if (node != HN_NONE) {
            negated = !negated;
            value = hn_in(a->r, node, 0);
        }
        for (uint32_t i = 0; i < HN_COUNT(tests); i++) {
            node = hn_maker(a->r, value, tests[i].op);
            if (node != HN_NONE)
                return tests[i].is_opposite == negated &&
                       counts_along(a, hn_in(a->r, node, tests[i].query), 1) &&
                       counts_along(a, hn_in(a->r, node, 1 - tests[i].query), 0);
        }
    }
    return false;
}

/* True when all elements of a value are the same number, whichever node makes it. */
static bool is_filled(const hn_rule *r, hn_id value, double *number) {
    for (uint32_t i = 0; i < MAX_MASK_DEPTH; i++) {
        hn_id node = hn_maker(r, value, "ConstantOfShape");
        if (node != HN_NONE) {
            const hn_attr *fill = hn_node_attr(hn_at(r, node), "value");
            *number = 0;
            return !fill ||
                   (fill->kind == HN_ATTR_TENSOR && hn_tensor_get_f64(fill->v.tensor, 0, number));
        }
        if (hn_const_f64(r, value, number))
            return true;
        node = hn_maker(r, value, "Expand|Cast|Reshape|Unsqueeze|Squeeze|Tile");
        if (node == HN_NONE)
            return false;
        value = hn_in(r, node, 0);
    }
    return false;
}

/* Reads a Trilu of a filled matrix, which is 0 elsewhere: `*above` is the number above the
 * diagonal, `*below` the number in the rest. */
static bool read_triangle(const hn_rule *r, hn_id value, double *above, double *below) {
    hn_id cast = hn_maker(r, value, "Cast");
    hn_id node = hn_maker(r, cast == HN_NONE ? value : hn_in(r, cast, 0), "Trilu");
    int64_t k = 0;
    uint32_t n;
    const int64_t *ks;
    double number;
    if (node == HN_NONE || !is_filled(r, hn_in(r, node, 0), &number))
        return false;
    if (hn_in(r, node, 1) != HN_NONE) {
        if (!hn_const_i64s(r, hn_in(r, node, 1), &n, &ks) || n != 1)
            return false;
        k = ks[0];
    }
    bool is_upper = hn_node_i(r, node, "upper", 1) != 0;
    *above = is_upper ? number : 0;
    *below = is_upper ? 0 : number;
    return k == (is_upper ? 1 : 0);
}

static bool is_causal_triangle(const hn_attn *a, const hn_attn_mask *m) {
    double above, below;
    hn_id at = m->value;
    while (at != HN_NONE && !read_triangle(a->r, at, &above, &below))
        at = same_matrix_above(a, at);
    if (at == HN_NONE)
        return false;
    if (m->kind == HN_MASK_SELECTED) {
        above = above != 0 ? m->yes : m->no;
        below = below != 0 ? m->yes : m->no;
    }
    return m->kind != HN_MASK_SUBTRACTED && above * m->factor <= HN_ATTN_HIDDEN && below == 0;
}

/* True when the mask selects by comparing key positions with query positions. */
static bool is_causal_select(const hn_attn *a, const hn_attn_mask *m) {
    if (m->kind != HN_MASK_SELECTED)
        return false;
    bool keeps = m->yes == 0 && m->no * m->factor <= HN_ATTN_HIDDEN;
    bool drops = m->no == 0 && m->yes * m->factor <= HN_ATTN_HIDDEN;
    return (keeps || drops) && is_causal_test(a, m->value, drops);
}

static bool is_causal_mask(const hn_attn *a, const hn_attn_mask *m) {
    const hn_tensor *t = hn_const(a->r, m->value);
    return t ? is_causal_const(a, m, t) : is_causal_triangle(a, m) || is_causal_select(a, m);
}

/* Next to another mask, the causal mask stays a mask: a row that both hide depends on their sum. */
void hn_attn_find_causal(hn_attn *a) {
    if (a->n_masks == 1 && a->n_queries == a->n_keys && is_causal_mask(a, &a->masks[0])) {
        a->is_causal = true;
        a->n_masks = 0;
    }
}

/* ---- rows without keys ----------------------------------------------------------------------- */

/* True when some row of a constant mask is -inf throughout. */
static bool has_hidden_row(const hn_attn_mask *m, const hn_tensor *t) {
    uint64_t width = t->rank > 0 ? (uint64_t)t->dims[t->rank - 1] : 1, n_open = 1;
    for (uint64_t i = 0; i < t->n_elems; i++) {
        if (i % width == 0) {
            if (n_open == 0)
                return true;
            n_open = 0;
        }
        n_open += added_by(m, t, i) != -INFINITY;
    }
    return n_open == 0;
}

static bool has_infinity(const hn_rule *r, hn_id value, uint32_t depth, uint32_t *budget) {
    const hn_tensor *t = hn_const(r, value);
    double x;
    if (value == HN_NONE || depth == 0 || *budget == 0 || !hn_dtype_is_float(hn_elem_of(r, value)))
        return false;
    --*budget;
    for (uint64_t i = 0; t && i < t->n_elems; i++)
        if (hn_tensor_get_f64(t, i, &x) && isinf(x))
            return true;
    hn_id node = t ? HN_NONE : hn_value_at(r->g, value)->producer;
    if (node == HN_NONE)
        return false;
    if (hn_is_op(r, node, "Log|Reciprocal"))
        return true;
    double fill;
    if (hn_is_op(r, node, "ConstantOfShape"))
        return is_filled(r, value, &fill) && isinf(fill);
    for (uint32_t i = 0; i < hn_at(r, node)->n_inputs; i++)
        if (has_infinity(r, hn_in(r, node, i), depth - 1, budget))
            return true;
    return false;
}

bool hn_attn_may_hide_all(const hn_attn *a) {
    uint32_t budget = 64;
    for (uint32_t i = 0; i < a->n_masks; i++) {
        const hn_attn_mask *m = &a->masks[i];
        const hn_tensor *t = hn_const(a->r, m->value);
        bool may = m->kind == HN_MASK_SELECTED
                       ? isinf(m->yes) || isinf(m->no)
                       : has_infinity(a->r, m->value, MAX_MASK_DEPTH, &budget);
        if (may && !(t && a->n_masks == 1 && !has_hidden_row(m, t)))
            return true;
    }
    return false;
}
