/* Fuses an activation into the convolution or Gemm before it, with the operators of onnxruntime,
 * which exist for float only. */
#include "pass/engine/pass_int.h"

#include <float.h>

/* Attributes of the activation that are its parameters, in the order of the fused operator. */
typedef struct activation_kind {
    const char *op;
    bool conv, gemm; /* the operators that support it */
    uint32_t n_params;
    const char *params[2];
    float defaults[2];
} activation_kind;

static const activation_kind activation_kinds[] = {
    {"Relu", true, true, 0, {NULL, NULL}, {0, 0}},
    {"Sigmoid", true, true, 0, {NULL, NULL}, {0, 0}},
    {"Tanh", true, true, 0, {NULL, NULL}, {0, 0}},
    {"LeakyRelu", true, true, 1, {"alpha", NULL}, {0.01f, 0}},
    {"HardSigmoid", true, true, 2, {"alpha", "beta"}, {0.2f, 0.5f}},
    {"Clip", true, false, 2, {"min", "max"}, {-FLT_MAX, FLT_MAX}},
    {"Elu", false, true, 1, {"alpha", NULL}, {1, 0}},
    {"Softplus", false, true, 0, {NULL, NULL}, {0, 0}},
    {"Softsign", false, true, 0, {NULL, NULL}, {0, 0}},
};

/* Reads the parameters of the root; since version 11, those of Clip are constant inputs. */
static bool activation_of(const hn_rule *r, bool is_conv, const activation_kind **kind,
                          float params[2]) {
    const activation_kind *k = NULL;
    for (uint32_t i = 0; i < HN_COUNT(activation_kinds); i++) {
        const activation_kind *each = &activation_kinds[i];
        if (hn_is_op(r, r->root, each->op) && (is_conv ? each->conv : each->gemm))
            k = each;
    }
    for (uint32_t i = 0; k && i < k->n_params; i++) {
        hn_id input = hn_in(r, r->root, i + 1);
        double v = (double)hn_node_f(r, r->root, k->params[i], k->defaults[i]);
        if (input != HN_NONE && !hn_const_f64(r, input, &v))
            return false;
        params[i] = (float)v;
    }
    *kind = k;
    return k != NULL;
}

/* Copies the attributes of a node, with space for more. NULL: out of memory. */
static hn_attr *copied_attrs(hn_rule *r, hn_id node, uint32_t n_more) {
    const hn_node *n = hn_at(r, node);
    hn_attr *attrs = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + n_more);
    for (uint32_t i = 0; attrs && i < n->n_attrs; i++)
        attrs[i] = n->attrs[i];
    return attrs;
}

/* `sum` is added before the activation; HN_NONE: no sum. */
static hone_status write_fused_conv(hn_rule *r, hn_id conv, hn_id sum, const activation_kind *k,
                                    const float *params) {
    hn_attr *attrs = copied_attrs(r, conv, 2);
    uint32_t n_attrs = hn_at(r, conv)->n_attrs;
    HN_TRY_PTR(attrs);
    attrs[n_attrs++] = hn_new_s(r, "activation", k->op);
    if (k->n_params > 0)
        attrs[n_attrs++] = hn_new_floats(r, "activation_params", k->n_params, params);
    hn_id in[4] = {hn_in(r, conv, 0), hn_in(r, conv, 1), hn_in(r, conv, 2), sum};
    hn_rule_replace(r, hn_make1(r, "ms.FusedConv", 4, in, n_attrs, attrs));
    return HONE_OK;
}

static hone_status conv_activation(hn_rule *r) {
    const activation_kind *k;
    float params[2];
    hn_id conv = hn_cap_node(r, "conv");
    if (hn_elem_of(r, hn_cap(r, "conv")) != HN_F32 || !activation_of(r, true, &k, params) ||
        !hn_can_write(r, "ms.FusedConv"))
        return HONE_OK;
    return write_fused_conv(r, conv, HN_NONE, k, params);
}

/* For our own sessions only: onnxruntime computes convolutions in a blocked layout, and converts
 * the sum to it only where it fuses the addition itself. */
static hone_status conv_sum_activation(hn_rule *r) {
    const activation_kind *k;
    float params[2];
    hn_id conv = hn_cap_node(r, "conv"), sum = hn_cap(r, "z");
    if (r->pass->options->target != HN_TARGET_SESSION || hn_elem_of(r, sum) != HN_F32 ||
        !hn_same_shape(r, sum, hn_cap(r, "conv")) || !activation_of(r, true, &k, params))
        return HONE_OK;
    return write_fused_conv(r, conv, sum, k, params);
}

static hone_status gemm_activation(hn_rule *r) {
    static const char *const names[] = {"activation_alpha", "activation_beta"};
    const activation_kind *k;
    float params[2];
    hn_id gemm = hn_cap_node(r, "gemm");
    if (hn_elem_of(r, hn_cap(r, "gemm")) != HN_F32 || !activation_of(r, false, &k, params) ||
        hn_node_version(r, gemm) < 7 || !hn_can_write(r, "ms.FusedGemm"))
        return HONE_OK;
    hn_attr *attrs = copied_attrs(r, gemm, 3);
    uint32_t n_attrs = hn_at(r, gemm)->n_attrs;
    HN_TRY_PTR(attrs);
    attrs[n_attrs++] = hn_new_s(r, "activation", k->op);
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
