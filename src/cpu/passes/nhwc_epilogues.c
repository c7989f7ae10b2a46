/* What is done to the results of channels-last operators becomes part of them: a sum, an
 * activation. Both are applied while results are still in the cache. */
#include "cpu/passes/passes_cpu.h"
#include "cpu/passes/qdq.h"

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
    if (!row || hn_node_attr(n, "activation") || hn_elem_of(r, hn_cap(r, "x")) != HN_F32)
        return HONE_OK;
    hn_attr attrs[2] = {hn_new_s(r, "activation", row->name)};
    uint32_t n_attrs = 1;
    if (row->n_params > 0)
        attrs[n_attrs++] = hn_new_floats(r, "activation_params", row->n_params, params);
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, n->n_inputs, n->inputs, n_attrs, attrs), 0));
    return HONE_OK;
}

/* The sum is made before the activation, so there must be none yet. Z is the last input. */
static hone_status add_sum(hn_rule *r) {
    hn_id node = hn_cap_node(r, "x"), z = hn_cap(r, "z"), in[6];
    uint32_t slot = hn_is_own(r, node, "DynamicConv") ? 5 : 3;
    if (hn_node_attr(hn_at(r, node), "activation") || hn_in(r, node, slot) != HN_NONE ||
        hn_elem_of(r, z) != HN_F32)
        return HONE_OK;
    if (!hn_same_shape(r, z, hn_cap(r, "x")))
        return hn_miss(r, "the sum is spread over another shape");
    for (uint32_t i = 0; i < slot; i++)
        in[i] = hn_in(r, node, i);
    in[slot] = z;
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, slot + 1, in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

/* ---- of bytes -------------------------------------------------------------------------------- */

enum { BYTE_CONV_SCALE = 6, BYTE_CONV_BIAS = 8, BYTE_CONV_Z = 9, N_BYTE_CONV_INPUTS = 14 };

static bool same_number(const hn_rule *r, hn_id a, hn_id b) {
    return a == b || hn_param_at(r, a, 0) == hn_param_at(r, b, 0);
}

/* QLinearAdd of a quantized convolution, as operand 0 or 1. What the convolution rounds to before
 * the sum is kept: c_scale and c_zero. */
static hone_status join_byte_sum(hn_rule *r, uint32_t slot) {
    hn_id node = hn_cap_node(r, "x"), in[N_BYTE_CONV_INPUTS];
    const uint32_t mine = slot * 3, other = 3 - mine;
    if (hn_node_attr(hn_at(r, node), "activation") || hn_in(r, node, BYTE_CONV_SCALE) == HN_NONE ||
        hn_in(r, node, BYTE_CONV_Z) != HN_NONE ||
        !same_number(r, hn_in(r, node, BYTE_CONV_SCALE), hn_in(r, r->root, mine + 1)) ||
        !same_number(r, hn_in(r, node, BYTE_CONV_SCALE + 1), hn_in(r, r->root, mine + 2)))
        return HONE_OK;
    if (!hn_same_shape(r, hn_in(r, r->root, other), hn_cap(r, "x")))
        return hn_miss(r, "the sum is spread over another shape");
    if (hn_in(r, r->root, other + 2) == HN_NONE || hn_in(r, r->root, 7) == HN_NONE)
        return HONE_OK;
    for (uint32_t i = 0; i <= BYTE_CONV_BIAS; i++)
        in[i] = hn_in(r, node, i);
    in[BYTE_CONV_SCALE] = hn_in(r, r->root, 6);
    in[BYTE_CONV_SCALE + 1] = hn_in(r, r->root, 7);
    for (uint32_t i = 0; i < 3; i++)
        in[BYTE_CONV_Z + i] = hn_in(r, r->root, other + i);
    in[12] = hn_in(r, node, BYTE_CONV_SCALE);
    in[13] = hn_in(r, node, BYTE_CONV_SCALE + 1);
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, HN_COUNT(in), in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

static hone_status add_byte_sum(hn_rule *r) {
    return join_byte_sum(r, 0);
}
static hone_status add_byte_sum_second(hn_rule *r) {
    return join_byte_sum(r, 1);
}

/* Does the table limit bytes to a range, and do nothing else? */
static bool is_limit_table(const hn_tensor *t, int *least, int *most) {
    const uint8_t *table = t->data;
    int first = t->dtype == HN_I8 ? -128 : 0;
    *least = t->dtype == HN_I8 ? (int8_t)table[(uint8_t)first] : table[0];
    *most = t->dtype == HN_I8 ? (int8_t)table[127] : table[255];
    for (int i = first; i < first + 256; i++) {
        int v = t->dtype == HN_I8 ? (int8_t)table[(uint8_t)i] : table[i];
        if (v != HN_MIN(HN_MAX(i, *least), *most))
            return false;
    }
    return true;
}

/* A table that limits the results of a quantized convolution is a Clip of real numbers. */
static hone_status add_byte_limits(hn_rule *r) {
    hn_id node = hn_cap_node(r, "x");
    const hn_node *n = hn_at(r, node);
    const hn_tensor *t = hn_const(r, hn_cap(r, "table"));
    int least, most;
    if (hn_node_attr(n, "activation") || hn_in(r, node, BYTE_CONV_SCALE) == HN_NONE || !t ||
        t->n_elems != 256 || t->dtype != hn_elem_of(r, hn_cap(r, "x")) ||
        !is_limit_table(t, &least, &most))
        return HONE_OK;
    double scale = hn_param_at(r, hn_in(r, node, BYTE_CONV_SCALE), 0),
           zero = hn_param_at(r, hn_in(r, node, BYTE_CONV_SCALE + 1), 0);
    float limits[2] = {(float)((least - zero) * scale), (float)((most - zero) * scale)};
    hn_rule_replace(r,
                    hn_out(r,
                           hn_make_like(r, node, n->n_inputs, n->inputs,
                                        HN_ATTRS(hn_new_s(r, "activation", "Clip"),
                                                 hn_new_floats(r, "activation_params", 2, limits))),
                           0));
    return HONE_OK;
}

#define ENDED                                                      \
  "({hone.Conv:x | hone.NchwConv:x | hone.BatchNormalization:x | " \
  "hone.InstanceNormalization:x | hone.GroupNormalization:x | "    \
  "hone.DynamicConv:x | hone.QLinearConv:x}, ...)"

hone_status hn_pass_nhwc_epilogues(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"sum", "Add({hone.Conv:x | hone.NchwConv:x | hone.DynamicConv:x}, z)", add_sum, false,
         NULL},
        {"byte-sum", "ms.QLinearAdd(hone.QLinearConv:x, ...)", add_byte_sum, false, NULL},
        {"byte-sum-second", "ms.QLinearAdd(_, _, _, hone.QLinearConv:x, ...)", add_byte_sum_second,
         false, NULL},
        {"byte-limits", "hone.ByteTable(hone.QLinearConv:x, #table)", add_byte_limits, false, NULL},
        {"activation",
         "Clip|Elu|Gelu|HardSigmoid|HardSwish|LeakyRelu|Mish|Relu|Sigmoid|Softplus|Swish|"
         "Tanh" ENDED,
         add_activation, false, NULL},
        {"ms-activation", "ms.Gelu|ms.QuickGelu" ENDED, add_activation, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
