/* What is done to the results of channels-last operators becomes part of them: a sum, an
 * activation. Both are applied while results are still in the cache. */
#include "cpu/passes/passes_cpu.h"

/* The name of the activation at the root, its row and its parameters. Operators of com.microsoft
 * are other names of standard ones. */
static const hn_activation_row *root_activation(const hn_rule *r, float params[2]) {
    if (hn_is_op(r, r->root, "ms.Gelu"))
        return hn_activation_at(HN_ACT_Gelu);
    if (hn_is_op(r, r->root, "ms.QuickGelu")) {
        params[0] = hn_node_f(r, r->root, "alpha", 1.702f);
        return hn_activation_at(HN_ACT_Swish);
    }
    if (hn_is_op(r, r->root, "Gelu") && hn_node_s_is(r, r->root, "approximate", "tanh"))
        return hn_activation_at(HN_ACT_Gelu_tanh);
    const hn_activation_row *row = hn_activation_of(r, r->root);
    bool is_possible =
        row && row->users & HN_ACT_NHWC && hn_node_activation(r, r->root, row, params);
    return is_possible ? row : NULL;
}

static hone_status add_activation(hn_rule *r) {
    float params[2];
    const hn_activation_row *row = root_activation(r, params);
    hn_id node = hn_cap_node(r, "x");
    const hn_node *n = hn_at(r, node);
    if (!row || hn_node_attr(n, "activation"))
        return HONE_OK;
    hn_attr attrs[2] = {hn_new_s(r, "activation", row->name)};
    uint32_t n_attrs = 1;
    if (row->n_params > 0)
        attrs[n_attrs++] = hn_new_floats(r, "activation_params", row->n_params, params);
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, n->n_inputs, n->inputs, n_attrs, attrs), 0));
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
