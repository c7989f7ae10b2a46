/* Fuses an activation into the convolution or Gemm before it, with the operators of onnxruntime,
 * which exist for float only. */
#include "pass/engine/pass_int.h"

/* The activation at the root, if operators of that kind take it, and its parameters. */
static bool activation_of(const hn_rule *r, hn_activation_users users,
                          const hn_activation_row **row, float params[2]) {
    *row = hn_activation_of(r, r->root);
    return *row && (*row)->users & users && hn_node_activation(r, r->root, *row, params);
}

/* The attributes of a node, with space for more. NULL: no memory. */
static hn_attr *copied_attrs(hn_rule *r, hn_id node, uint32_t n_more) {
    const hn_node *n = hn_at(r, node);
    hn_attr *attrs = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + n_more);
    for (uint32_t i = 0; attrs && i < n->n_attrs; i++)
        attrs[i] = n->attrs[i];
    return attrs;
}

/* `sum` is added before the activation; HN_NONE: nothing is. */
static hone_status write_fused_conv(hn_rule *r, hn_id conv, hn_id sum, const hn_activation_row *k,
                                    const float *params) {
    hn_attr *attrs = copied_attrs(r, conv, 2);
    uint32_t n_attrs = hn_at(r, conv)->n_attrs;
    HN_TRY_PTR(attrs);
    attrs[n_attrs++] = hn_new_s(r, "activation", k->name);
    if (k->n_params > 0)
        attrs[n_attrs++] = hn_new_floats(r, "activation_params", k->n_params, params);
    hn_id in[4] = {hn_in(r, conv, 0), hn_in(r, conv, 1), hn_in(r, conv, 2), sum};
    hn_rule_replace(r, hn_make1(r, "ms.FusedConv", 4, in, n_attrs, attrs));
    return HONE_OK;
}

static hone_status conv_activation(hn_rule *r) {
    const hn_activation_row *k;
    float params[2];
    hn_id conv = hn_cap_node(r, "conv");
    if (hn_elem_of(r, hn_cap(r, "conv")) != HN_F32 ||
        !activation_of(r, HN_ACT_FUSED_CONV, &k, params) || !hn_can_write(r, "ms.FusedConv"))
        return HONE_OK;
    return write_fused_conv(r, conv, HN_NONE, k, params);
}

/* For our own sessions only: onnxruntime computes convolutions in a blocked layout, and converts
 * the sum to it only where it fuses the addition itself. */
static hone_status conv_sum_activation(hn_rule *r) {
    const hn_activation_row *k;
    float params[2];
    hn_id conv = hn_cap_node(r, "conv"), sum = hn_cap(r, "z");
    if (r->pass->options->target != HN_TARGET_SESSION || hn_elem_of(r, sum) != HN_F32 ||
        !hn_same_shape(r, sum, hn_cap(r, "conv")) ||
        !activation_of(r, HN_ACT_FUSED_CONV, &k, params))
        return HONE_OK;
    return write_fused_conv(r, conv, sum, k, params);
}

static hone_status gemm_activation(hn_rule *r) {
    static const char *const names[] = {"activation_alpha", "activation_beta"};
    const hn_activation_row *k;
    float params[2];
    hn_id gemm = hn_cap_node(r, "gemm");
    if (hn_elem_of(r, hn_cap(r, "gemm")) != HN_F32 ||
        !activation_of(r, HN_ACT_FUSED_GEMM, &k, params) || hn_node_version(r, gemm) < 7 ||
        !hn_can_write(r, "ms.FusedGemm"))
        return HONE_OK;
    hn_attr *attrs = copied_attrs(r, gemm, 3);
    uint32_t n_attrs = hn_at(r, gemm)->n_attrs;
    HN_TRY_PTR(attrs);
    attrs[n_attrs++] = hn_new_s(r, "activation", k->name);
    for (uint32_t i = 0; i < k->n_params; i++)
        attrs[n_attrs++] = hn_new_f(r, names[i], params[i]);
    hn_id in[3] = {hn_in(r, gemm, 0), hn_in(r, gemm, 1), hn_in(r, gemm, 2)};
    hn_rule_replace(r, hn_make1(r, "ms.FusedGemm", 3, in, n_attrs, attrs));
    return HONE_OK;
}

hone_status hn_pass_fused_activations(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"conv-sum-activation",
         "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Clip(Add(Conv:conv, z), ...)",
         conv_sum_activation, false, NULL},
        {"conv-activation", "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Clip(Conv:conv, ...)",
         conv_activation, false, NULL},
        {"gemm-activation",
         "Relu|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Elu|Softplus|Softsign(Gemm:gemm)",
         gemm_activation, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
