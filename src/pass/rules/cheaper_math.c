/* Replaces arithmetic by cheaper operators with the same results. Runs last, because other rules
 * recognize formulas in their usual spelling. */
#include "pass/engine/pass_int.h"

#include <math.h>

static bool is_real_number(hn_dtype t) {
    return t == HN_F32 || t == HN_F64 || t == HN_F16 || t == HN_BF16;
}

/* True for a constant of one element that adds no axes to x. */
static bool is_number_for(const hn_rule *r, hn_id constant, hn_id x, double *out) {
    const hn_tensor *t = hn_const(r, constant);
    return t && t->n_elems == 1 && t->rank <= hn_rank_of(r, x) &&
           is_real_number(hn_elem_of(r, x)) && hn_tensor_get_f64(t, 0, out);
}

static hone_status square(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    double v;
    if (is_number_for(r, hn_cap(r, "c"), x, &v) && v == 2 && hn_rule_opset(r) >= 7)
        hn_rule_replace(r, hn_make1(r, "Mul", HN_VALUES(x, x), HN_NO_ATTRS));
    return HONE_OK;
}

/* The reciprocal of a power of two is exact. */
static hone_status divide_by_power(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    double v;
    int exponent;
    if (!is_number_for(r, hn_cap(r, "c"), x, &v) || hn_rule_opset(r) < 7)
        return HONE_OK;
    bool is_power = fabs(frexp(v, &exponent)) == 0.5 && exponent > -12 && exponent < 14;
    if (!is_power)
        return HONE_OK;
    hn_id factor = hn_new_const_f(r, "factor", hn_elem_of(r, x), 1 / v);
    hn_rule_replace(r, hn_make1(r, "Mul", HN_VALUES(x, factor), HN_NO_ATTRS));
    return HONE_OK;
}

static hone_status reciprocal(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    double v;
    if (is_number_for(r, hn_in(r, r->root, 0), x, &v) && v == 1 && hn_rule_opset(r) >= 6)
        hn_rule_replace(r, hn_make1(r, "Reciprocal", HN_VALUES(x), HN_NO_ATTRS));
    return HONE_OK;
}

hone_status hn_pass_cheaper_math(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "square", .pattern = "Pow(x, #c)", .fn = square},
        {.name = "power-of-two", .pattern = "Div(x, #c)", .fn = divide_by_power},
        {.name = "reciprocal", .pattern = "Div(1, x)", .fn = reciprocal},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
