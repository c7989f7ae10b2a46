/* Fuses the sum before a normalization into SkipLayerNormalization and
 * SkipSimplifiedLayerNormalization of com.microsoft. */
#include "pass/engine/pass_int.h"

#define SKIP_SUM_OUTPUT 3

static bool normalizes_last_axis(const hn_rule *r, hn_id norm) {
    int64_t axis = hn_node_i(r, norm, "axis", -1);
    return axis == -1 || axis == hn_rank_of(r, hn_in(r, norm, 0)) - 1;
}

/* True when mean and deviation have no readers; the fused node does not make them. */
static bool is_result_alone(const hn_rule *r, hn_id norm) {
    for (uint32_t i = 1; i < hn_at(r, norm)->n_outputs; i++)
        if (hn_out(r, norm, i) != HN_NONE && hn_n_readers(r, hn_out(r, norm, i)) > 0)
            return false;
    return true;
}

static bool has_param_shape(const hn_rule *r, hn_id param, hn_id x) {
    return param == HN_NONE ||
           (hn_elem_of(r, param) == hn_elem_of(r, x) && hn_rank_of(r, param) == 1 &&
            hn_dim_is_known(hn_dim_of(r, param, 0)) &&
            hn_dim_of(r, param, 0) == hn_dim_of(r, x, -1));
}

/* Finds a constant bias in a sum that has no other reader, and sets *value to the other operand.
 * HN_NONE: there is none. */
static hn_id take_bias(const hn_rule *r, hn_id sum, hn_id *value) {
    hn_id add = hn_maker(r, *value, "Add");
    if (add == HN_NONE || hn_n_readers(r, *value) != 1)
        return HN_NONE;
    for (uint32_t i = 0; i < 2; i++) {
        hn_id bias = hn_in(r, add, i), x = hn_in(r, add, 1 - i);
        if (hn_const(r, bias) && has_param_shape(r, bias, sum) && hn_same_shape(r, x, sum)) {
            *value = x;
            return bias;
        }
    }
    return HN_NONE;
}

static bool can_skip(hn_rule *r, hn_id sum, hn_id a, hn_id b) {
    hn_dtype elem = hn_elem_of(r, sum);
    int32_t rank = hn_rank_of(r, sum);
    return (elem == HN_F32 || elem == HN_F16) && (rank == 2 || rank == 3) &&
           normalizes_last_axis(r, r->root) && is_result_alone(r, r->root) &&
           hn_same_shape(r, a, sum) && hn_same_shape(r, b, sum) &&
           has_param_shape(r, hn_cap(r, "gamma"), sum) &&
           has_param_shape(r, hn_cap(r, "beta"), sum) &&
           hn_at(r, hn_cap_node(r, "sum"))->block == hn_at(r, r->root)->block;
}

static hone_status write_skip(hn_rule *r, const char *op, bool has_beta) {
    hn_id sum = hn_cap(r, "sum"), a = hn_cap(r, "a"), b = hn_cap(r, "b");
    if (!can_skip(r, sum, a, b) || !hn_can_write(r, op))
        return HONE_OK;
    hn_id bias = take_bias(r, sum, &a);
    if (bias == HN_NONE)
        bias = take_bias(r, sum, &b);
    hn_id params[] = {hn_cap(r, "gamma"), has_beta ? hn_cap(r, "beta") : bias,
                      has_beta ? bias : HN_NONE};
    bool is_sum_read = hn_n_readers(r, sum) > 1;
    hn_attr epsilon = hn_new_f(r, "epsilon", hn_node_f(r, r->root, "epsilon", 1e-5f));
    hn_rule_before(r, hn_cap_node(r, "sum")); /* the sum has other readers */
    hn_id skip = hn_make(r, op, HN_VALUES(a, b, params[0], params[1], params[2]),
                         is_sum_read ? SKIP_SUM_OUTPUT + 1 : 1, 1, &epsilon);
    if (is_sum_read) {
        hn_make_no_output(r, skip, 1);
        hn_make_no_output(r, skip, 2);
        hn_rule_replace_value(r, sum, hn_out(r, skip, SKIP_SUM_OUTPUT));
    }
    hn_rule_replace(r, hn_out(r, skip, 0));
    return HONE_OK;
}

static hone_status skip_layer_norm(hn_rule *r) {
    return write_skip(r, "ms.SkipLayerNormalization", true);
}

static hone_status skip_rms_norm(hn_rule *r) {
    return write_skip(r, "ms.SkipSimplifiedLayerNormalization", false);
}

static const hn_rule_row skip_norm_rules[] = {
    {"skip-layer-norm", "LayerNormalization[stash_type=1](Add(a, b):sum, #gamma, #beta?)",
     skip_layer_norm, true, NULL},
    {"skip-rms-norm",
     "RMSNormalization|SimplifiedLayerNormalization[stash_type=1](Add(a, b):sum, #gamma)",
     skip_rms_norm, true, NULL},
};

hone_status hn_pass_skip_norm(hn_pass *p) {
    return hn_pass_rules(p, skip_norm_rules, HN_COUNT(skip_norm_rules));
}
