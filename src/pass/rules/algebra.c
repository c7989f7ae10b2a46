/* Merges chains of Add, Sub, Mul, Div and Neg with constants: (x * 2 + 1) * 0.5 becomes x * 1 +
 * 0.5. Floating-point types only, because integers wrap around. */
#include "pass/engine/weights.h"

#include <float.h>
#include <math.h>

#define MAX_COMBINED_ELEMS 65536u

/* y = sign * x + c, or y = x * c, or y = x / c. A Neg is either of the first two, without a
 * constant. */
typedef struct const_step {
    enum { STEP_NONE, STEP_ADD, STEP_MUL } kind;
    hn_id x;
    hn_id constant; /* HN_NONE: 0 for STEP_ADD, -1 for STEP_MUL */
    double sign;    /* STEP_ADD: of x */
    bool is_minus;  /* STEP_ADD: the constant is subtracted */
    bool divides;   /* STEP_MUL */
} const_step;

static bool is_real(hn_dtype t) {
    return t == HN_F32 || t == HN_F64 || t == HN_F16 || t == HN_BF16;
}

static bool is_small_const(const hn_rule *r, hn_id value) {
    const hn_tensor *t = hn_const(r, value);
    return t && is_real(t->dtype) && t->n_elems <= MAX_COMBINED_ELEMS && t->data;
}

/* Reads a node as an operation on one value and a constant. Accepts only versions that broadcast
 * like NumPy. */
static const_step read_step(const hn_rule *r, hn_id node) {
    const_step s = {.kind = STEP_NONE, .constant = HN_NONE, .sign = 1};
    if (!hn_is_op(r, node, "Add|Sub|Mul|Div|Neg"))
        return s;
    s.x = hn_in(r, node, 0);
    if (hn_is_op(r, node, "Neg")) {
        s.kind = is_real(hn_elem_of(r, s.x)) ? STEP_MUL : STEP_NONE;
        return s;
    }
    bool is_second = is_small_const(r, hn_in(r, node, 1));
    if (hn_node_version(r, node) < 7 || (!is_second && !is_small_const(r, hn_in(r, node, 0))))
        return s;
    s.x = hn_in(r, node, is_second ? 0 : 1);
    s.constant = hn_in(r, node, is_second ? 1 : 0);
    if (!is_real(hn_elem_of(r, s.x)))
        return s;
    if (hn_is_op(r, node, "Add|Sub")) {
        bool is_sub = hn_is_op(r, node, "Sub");
        s.kind = STEP_ADD;
        s.is_minus = is_sub && is_second;
        s.sign = is_sub && !is_second ? -1 : 1;
    } else {
        s.divides = hn_is_op(r, node, "Div");
        s.kind = s.divides && !is_second ? STEP_NONE : STEP_MUL;
    }
    return s;
}

/* Next to an addition, a Neg counts as one. */
static void see_as_addition(const_step *s) {
    if (s->kind == STEP_MUL && s->constant == HN_NONE) {
        s->kind = STEP_ADD;
        s->sign = -1;
    }
}

/* ---- arithmetic on constants
 * ------------------------------------------------------------------ */

/* The elements of a constant that broadcasts. */
typedef struct const_grid {
    int32_t rank;
    int64_t dims[HN_MAX_RANK];
    uint64_t n;
    double *at;
} const_grid;

static bool read_grid(hn_rule *r, hn_id value, double fallback, const_grid *g) {
    const hn_tensor *t = value == HN_NONE ? NULL : hn_const(r, value);
    *g = (const_grid){.n = t ? t->n_elems : 1, .rank = t ? t->rank : 0};
    if (g->rank > HN_MAX_RANK)
        return false;
    for (int32_t i = 0; i < g->rank; i++)
        g->dims[i] = t->dims[i];
    g->at = t ? hn_const_f64s(r, t) : HN_NEW(r->pass->rule_scratch, double);
    if (!t && g->at)
        g->at[0] = fallback;
    return g->at != NULL;
}

static int64_t grid_dim(const const_grid *g, int32_t rank, int32_t axis) {
    int32_t own = axis - (rank - g->rank);
    return own < 0 ? 1 : g->dims[own];
}

/* Computes the broadcast shape; false when it has more elements than either operand. */
static bool common_shape(const const_grid *a, const const_grid *b, const_grid *out) {
    out->rank = HN_MAX(a->rank, b->rank);
    out->n = 1;
    for (int32_t i = 0; i < out->rank; i++) {
        int64_t x = grid_dim(a, out->rank, i), y = grid_dim(b, out->rank, i);
        if (x != y && x != 1 && y != 1)
            return false;
        out->dims[i] = x == 1 ? y : x;
        out->n *= (uint64_t)out->dims[i];
    }
    return out->n <= HN_MAX(a->n, b->n);
}

static uint64_t grid_index(const const_grid *g, const const_grid *whole, uint64_t i) {
    uint64_t index = 0, stride = 1;
    for (int32_t axis = whole->rank - 1; axis >= 0; axis--) {
        uint64_t size = (uint64_t)whole->dims[axis];
        int64_t own = grid_dim(g, whole->rank, axis);
        if (own != 1)
            index += i % size * stride;
        stride *= (uint64_t)own;
        i /= size;
    }
    return index;
}

/* out = fa * a + fb * b, or a * b, elementwise. */
static bool combine_grids(hn_rule *r, const const_grid *a, double fa, const const_grid *b,
                          double fb, bool is_product, const_grid *out) {
    if (!common_shape(a, b, out))
        return false;
    out->at = HN_NEW_N(r->pass->rule_scratch, double, (size_t)out->n + 1);
    for (uint64_t i = 0; out->at && i < out->n; i++) {
        double x = a->at[grid_index(a, out, i)], y = b->at[grid_index(b, out, i)];
        out->at[i] = is_product ? x * y : fa * x + fb * y;
    }
    return out->at != NULL;
}

static void invert_grid(const_grid *g) {
    for (uint64_t i = 0; i < g->n; i++)
        g->at[i] = 1 / g->at[i];
}

/* Values that the type cannot hold at full precision would change more than the last digits. */
static bool grid_fits(const const_grid *g, hn_dtype elem, bool is_factor) {
    double least = elem == HN_F64 ? DBL_MIN : elem == HN_F16 ? 6.103515625e-05 : (double)FLT_MIN;
    for (uint64_t i = 0; i < g->n; i++)
        if (!isfinite(g->at[i]) || (is_factor && g->at[i] != 0 && fabs(g->at[i]) < least))
            return false;
    return true;
}

static hn_id make_grid(hn_rule *r, hn_dtype elem, const const_grid *g, bool is_factor) {
    if (!grid_fits(g, elem, is_factor))
        return HN_NONE;
    return hn_new_const_f64s(r, is_factor ? "factor" : "summand", elem, g->rank, g->dims, g->at);
}

static bool read_factor(hn_rule *r, const const_step *s, const_grid *g) {
    if (!read_grid(r, s->constant, -1, g))
        return false;
    if (s->divides)
        invert_grid(g);
    return true;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static hone_status miss_range(hn_rule *r) {
    return hn_miss(
        r, "the combined constant would be larger than either, or exceed the range of its type");
}

/* s2 (s1 x + c1) + c2 */
static hone_status merge_additions(hn_rule *r, const const_step *inner, const const_step *outer) {
    const_grid a, b, sum;
    hn_dtype elem = hn_elem_of(r, inner->x);
    if (!read_grid(r, inner->constant, 0, &a) || !read_grid(r, outer->constant, 0, &b))
        return HONE_E_NOMEM;
    double fa = outer->sign * (inner->is_minus ? -1 : 1), fb = outer->is_minus ? -1 : 1;
    hn_id c =
        combine_grids(r, &a, fa, &b, fb, false, &sum) ? make_grid(r, elem, &sum, false) : HN_NONE;
    if (c == HN_NONE)
        return miss_range(r);
    if (inner->sign * outer->sign > 0)
        hn_rule_replace(r, hn_make1(r, "Add", HN_VALUES(inner->x, c), HN_NO_ATTRS));
    else
        hn_rule_replace(r, hn_make1(r, "Sub", HN_VALUES(c, inner->x), HN_NO_ATTRS));
    return HONE_OK;
}

static hone_status merge_factors(hn_rule *r, const const_step *inner, const const_step *outer) {
    const_grid a, b, product;
    hn_dtype elem = hn_elem_of(r, inner->x);
    bool divides = inner->divides && outer->divides;
    if (!read_factor(r, inner, &a) || !read_factor(r, outer, &b))
        return HONE_E_NOMEM;
    if (divides) { /* x / a / b is x / (a b): multiply the constants as they are */
        invert_grid(&a);
        invert_grid(&b);
    }
    hn_id c = combine_grids(r, &a, 1, &b, 1, true, &product) ? make_grid(r, elem, &product, true)
                                                             : HN_NONE;
    if (c == HN_NONE)
        return miss_range(r);
    hn_rule_replace(r, hn_make1(r, divides ? "Div" : "Mul", HN_VALUES(inner->x, c), HN_NO_ATTRS));
    return HONE_OK;
}

/* The step that makes a value which only `reader` reads. */
static const_step step_behind(const hn_rule *r, hn_id value, hn_id reader) {
    hn_id node = hn_lone_maker(r, reader, value, "Add|Sub|Mul|Div|Neg");
    return node == HN_NONE ? (const_step){.kind = STEP_NONE} : read_step(r, node);
}

/* Merges two steps in a row when only the second reads the first. */
static hone_status merge_steps(hn_rule *r) {
    const_step outer = read_step(r, r->root), inner = {.kind = STEP_NONE};
    if (outer.kind != STEP_NONE)
        inner = step_behind(r, outer.x, r->root);
    if (inner.kind == STEP_NONE || (inner.constant == HN_NONE && outer.constant == HN_NONE))
        return HONE_OK;
    if (inner.kind == STEP_ADD)
        see_as_addition(&outer);
    else if (outer.kind == STEP_ADD)
        see_as_addition(&inner);
    if (inner.kind != outer.kind)
        return HONE_OK;
    return (inner.kind == STEP_ADD ? merge_additions : merge_factors)(r, &inner, &outer);
}

/* (x a + b) c becomes x (a c) + b c, which saves one step. */
static hone_status distribute(hn_rule *r) {
    const_step last = read_step(r, r->root), sum = {.kind = STEP_NONE}, first = sum;
    if (last.kind == STEP_MUL)
        sum = step_behind(r, last.x, r->root);
    if (sum.kind == STEP_ADD && sum.sign > 0)
        first = step_behind(r, sum.x, hn_value_at(r->g, last.x)->producer);
    if (first.kind != STEP_MUL)
        return HONE_OK;
    const_grid a, b, c, factor, summand;
    hn_dtype elem = hn_elem_of(r, first.x);
    if (!read_factor(r, &first, &a) || !read_grid(r, sum.constant, 0, &b) ||
        !read_factor(r, &last, &c))
        return HONE_E_NOMEM;
    for (uint64_t i = 0; sum.is_minus && i < b.n; i++)
        b.at[i] = -b.at[i];
    if (!combine_grids(r, &a, 1, &c, 1, true, &factor) ||
        !combine_grids(r, &b, 1, &c, 1, true, &summand))
        return miss_range(r);
    hn_id f = make_grid(r, elem, &factor, true), s = make_grid(r, elem, &summand, false);
    if (f == HN_NONE || s == HN_NONE)
        return miss_range(r);
    hn_id product = hn_make1(r, "Mul", HN_VALUES(first.x, f), HN_NO_ATTRS);
    hn_rule_replace(r, hn_make1(r, "Add", HN_VALUES(product, s), HN_NO_ATTRS));
    return HONE_OK;
}

/* 1 / x * y becomes y / x; the constant 1 must not add axes. */
static hone_status divide_once(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), one = hn_in(r, hn_cap_node(r, "quotient"), 0);
    bool is_plain = hn_node_version(r, r->root) >= 7 && is_real(hn_elem_of(r, x)) &&
                    hn_rank_of(r, one) >= 0 && hn_rank_of(r, one) <= hn_rank_of(r, x) &&
                    hn_const(r, one)->n_elems == 1;
    double v;
    if (is_plain && hn_const_f64(r, one, &v) && v == 1)
        hn_rule_replace(r, hn_make1(r, "Div", HN_VALUES(hn_cap(r, "y"), x), HN_NO_ATTRS));
    return HONE_OK;
}

hone_status hn_pass_algebra(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "two-steps", .pattern = "Add|Sub|Mul|Div|Neg", .fn = merge_steps},
        {.name = "distribute", .pattern = "Mul|Div", .fn = distribute},
        {.name = "divide-once", .pattern = "Mul(Div(1, x):quotient, y)", .fn = divide_once},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
