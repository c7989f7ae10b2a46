/* Fuses an Add of a bias and a Gelu into BiasGelu or FastGelu of com.microsoft. */
#include "pass/engine/pass_int.h"

/* True for a rank-1 constant along the last axis of x that does not enlarge it. */
static bool is_bias_of(const hn_rule *r, hn_id bias, hn_id x) {
    hn_dim n = hn_dim_of(r, bias, 0);
    return hn_rank_of(r, bias) == 1 && hn_rank_of(r, x) >= 1 && hn_dim_is_known(n) &&
           n == hn_dim_of(r, x, -1);
}

static hone_status write_biased(hn_rule *r, const char *op) {
    hn_id x = hn_cap(r, "x"), bias = hn_cap(r, "bias");
    hn_dtype elem = hn_elem_of(r, x);
    if ((elem == HN_F32 || elem == HN_F16) && is_bias_of(r, bias, x) && hn_can_write(r, op))
        hn_rule_replace(r, hn_make1(r, op, HN_VALUES(x, bias), HN_NO_ATTRS));
    return HONE_OK;
}

static hone_status bias_gelu(hn_rule *r) {
    return write_biased(r, "ms.BiasGelu");
}

static hone_status fast_gelu(hn_rule *r) {
    return write_biased(r, "ms.FastGelu");
}

static const hn_rule_row bias_gelu_rules[] = {
    {"bias-gelu", "Gelu[approximate=none](Add(x, #bias))", bias_gelu, false, NULL},
    {"bias-gelu", "ms.Gelu(Add(x, #bias))", bias_gelu, false, NULL},
    {"fast-gelu", "Gelu[approximate=tanh](Add(x, #bias))", fast_gelu, false, NULL},
    {"fast-gelu", "ms.FastGelu(Add(x, #bias))", fast_gelu, false, NULL},
};

hone_status hn_pass_bias_gelu(hn_pass *p) {
    return hn_pass_rules(p, bias_gelu_rules, HN_COUNT(bias_gelu_rules));
}
