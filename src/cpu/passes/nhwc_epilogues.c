/* What is done to the results of channels-last operators becomes part of them: a sum, an
 * activation. Both are applied while results are still in the cache. */
#include "cpu/passes/passes_cpu.h"

#include <float.h>

/* Activations, and how the operators name them and their parameters. */
typedef struct end_kind {
    const char *op, *activation;
    uint32_t n_params;
    const char *params[2];
    float defaults[2];
} end_kind;

static const end_kind end_kinds[] = {
    {"Clip", "Clip", 2, {"min", "max"}, {-FLT_MAX, FLT_MAX}},
    {"Elu", "Elu", 1, {"alpha", NULL}, {1, 0}},
    {"Gelu", "Gelu", 0, {NULL, NULL}, {0, 0}},
    {"HardSigmoid", "HardSigmoid", 2, {"alpha", "beta"}, {0.2f, 0.5f}},
    {"HardSwish", "HardSwish", 0, {NULL, NULL}, {0, 0}},
    {"LeakyRelu", "LeakyRelu", 1, {"alpha", NULL}, {0.01f, 0}},
    {"Mish", "Mish", 0, {NULL, NULL}, {0, 0}},
    {"Relu", "Relu", 0, {NULL, NULL}, {0, 0}},
    {"Sigmoid", "Sigmoid", 0, {NULL, NULL}, {0, 0}},
    {"Softplus", "Softplus", 0, {NULL, NULL}, {0, 0}},
    {"Swish", "Swish", 1, {"alpha", NULL}, {1, 0}},
    {"Tanh", "Tanh", 0, {NULL, NULL}, {0, 0}},
    {"ms.Gelu", "Gelu", 0, {NULL, NULL}, {0, 0}},
    {"ms.QuickGelu", "Swish", 1, {"alpha", NULL}, {1.702f, 0}},
};

static const end_kind *find_end(const hn_rule *r) {
    for (size_t i = 0; i < HN_COUNT(end_kinds); i++)
        if (hn_is_op(r, r->root, end_kinds[i].op))
            return &end_kinds[i];
    return NULL;
}

/* Clip has its parameters as constant inputs since version 11. */
static bool read_params(const hn_rule *r, const end_kind *k, float *params) {
    for (uint32_t i = 0; i < k->n_params; i++) {
        hn_id input = hn_in(r, r->root, i + 1);
        double v = (double)hn_node_f(r, r->root, k->params[i], k->defaults[i]);
        if (input != HN_NONE && !hn_const_f64(r, input, &v))
            return false;
        params[i] = (float)v;
    }
    return true;
}

static hone_status add_activation(hn_rule *r) {
    const end_kind *k = find_end(r);
    hn_id node = hn_cap_node(r, "x");
    float params[2];
    const hn_node *n = hn_at(r, node);
    if (!k || hn_node_attr(n, "activation") || !read_params(r, k, params))
        return HONE_OK;
    bool is_tanh = strcmp(k->op, "Gelu") == 0 && hn_node_s_is(r, r->root, "approximate", "tanh");
    hn_attr attrs[2] = {hn_new_s(r, "activation", is_tanh ? "Gelu_tanh" : k->activation)};
    if (k->n_params > 0)
        attrs[1] = hn_new_floats(r, "activation_params", k->n_params, params);
    hn_rule_replace(
        r, hn_out(r, hn_make_like(r, node, n->n_inputs, n->inputs, k->n_params > 0 ? 2 : 1, attrs),
                  0));
    return HONE_OK;
}

/* The sum is made before the activation, so there must be none yet. */
static hone_status add_sum(hn_rule *r) {
    hn_id node = hn_cap_node(r, "x"), z = hn_cap(r, "z");
    const hn_node *n = hn_at(r, node);
    if (hn_node_attr(n, "activation") || hn_in(r, node, 3) != HN_NONE || hn_elem_of(r, z) != HN_F32)
        return HONE_OK;
    if (!hn_same_shape(r, z, hn_cap(r, "x")))
        return hn_miss(r, "the sum is spread over another shape");
    hn_rule_replace(r, hn_out(r,
                              hn_make_like(r, node,
                                           HN_VALUES(hn_in(r, node, 0), hn_in(r, node, 1),
                                                     hn_in(r, node, 2), z),
                                           HN_NO_ATTRS),
                              0));
    return HONE_OK;
}

#define ENDED                                                      \
  "({hone.Conv:x | hone.NchwConv:x | hone.BatchNormalization:x | " \
  "hone.InstanceNormalization:x | hone.GroupNormalization:x}, ...)"

hone_status hn_pass_nhwc_epilogues(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"sum", "Add({hone.Conv:x | hone.NchwConv:x}, z)", add_sum, false, NULL},
        {"activation",
         "Clip|Elu|Gelu|HardSigmoid|HardSwish|LeakyRelu|Mish|Relu|Sigmoid|Softplus|Swish|"
         "Tanh" ENDED,
         add_activation, false, NULL},
        {"ms-activation", "ms.Gelu|ms.QuickGelu" ENDED, add_activation, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
