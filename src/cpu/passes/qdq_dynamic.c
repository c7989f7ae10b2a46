/* Dynamically quantized convolutions: quantization of the input, ConvInteger, scales and bias
 * become one operator. */
#include "cpu/passes/qdq.h"
#include "pass/engine/weights.h"

/* Scales of the filters as [1] or [filters]: a constant that differs along the channels at most. */
static hn_id filter_scales(hn_rule *r, hn_id scale, int32_t rank, hn_dim filters) {
    double *numbers;
    const hn_tensor *t = hn_const(r, scale);
    if (!t || t->dtype != HN_F32 || !hn_dim_is_known(filters))
        return HN_NONE;
    if (t->n_elems == 1)
        return scale;
    return hn_channel_const(r, r->root, scale, rank, 1, (uint64_t)filters, &numbers)
               ? hn_new_const_f64s(r, "scale", HN_F32, 1, (int64_t[]){filters}, numbers)
               : HN_NONE;
}

/* Is the value an output of a DynamicQuantizeLinear? HN_NONE: no; else its node. */
static hn_id dynamic_quantizer_of(const hn_rule *r, hn_id value, uint32_t slot) {
    hn_id node = value == HN_NONE ? HN_NONE : hn_value_at(r->g, value)->producer;
    bool fits = node != HN_NONE && hn_is_op(r, node, "DynamicQuantizeLinear") &&
                hn_out(r, node, slot) == value;
    return fits ? node : HN_NONE;
}

/* Mul(Cast(ConvInteger), Mul(x_scale, w_scale)) */
hone_status hn_qdq_dynamic_conv(hn_rule *r) {
    hn_id conv = hn_cap_node(r, "conv"), w = hn_in(r, conv, 1);
    hn_id by_x = hn_cap(r, "s"), by_w = hn_cap(r, "t");
    hn_id quantizer = dynamic_quantizer_of(r, hn_in(r, conv, 0), 0);
    if (quantizer == HN_NONE || hn_node_i(r, hn_cap_node(r, "real"), "to", 0) != HN_F32)
        return HONE_OK;
    if (dynamic_quantizer_of(r, by_x, 1) != quantizer) { /* the factors occur in either order */
        by_x = hn_cap(r, "t");
        by_w = hn_cap(r, "s");
    }
    if (dynamic_quantizer_of(r, by_x, 1) != quantizer ||
        dynamic_quantizer_of(r, hn_in(r, conv, 2), 2) != quantizer)
        return hn_miss(r, "scale and zero point of its input come from elsewhere");
    if (!hn_const(r, w))
        return hn_miss(r, "its filters are not constant");
    by_w = filter_scales(r, by_w, hn_rank_of(r, w), hn_dim_of(r, w, 0));
    if (by_w == HN_NONE)
        return hn_miss(r, "the scales of its filters are not constant, or not one per filter");
    hn_id made = hn_make_own(r, conv, "DynamicConv",
                             HN_VALUES(hn_in(r, quantizer, 0), w, by_w, hn_in(r, conv, 3)),
                             HN_ATTRS(hn_new_i(r, "channels_first", 1)));
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}

/* A constant per filter. */
hone_status hn_qdq_dynamic_conv_bias(hn_rule *r) {
    hn_id node = hn_cap_node(r, "conv"), bias = hn_cap(r, "bias");
    hn_dim filters = hn_dim_of(r, hn_in(r, node, 1), 0);
    double *numbers;
    if (hn_in(r, node, 4) != HN_NONE || hn_node_attr(hn_at(r, node), "activation") ||
        hn_node_i(r, node, "channels_first", 0) == 0 || !hn_dim_is_known(filters) ||
        hn_elem_of(r, bias) != HN_F32 ||
        !hn_channel_const(r, r->root, bias, hn_rank_of(r, hn_cap(r, "conv")), 1, (uint64_t)filters,
                          &numbers))
        return HONE_OK;
    hn_id made = hn_make_like(
        r, node,
        HN_VALUES(hn_in(r, node, 0), hn_in(r, node, 1), hn_in(r, node, 2), hn_in(r, node, 3),
                  hn_new_const_f64s(r, "bias", HN_F32, 1, (int64_t[]){filters}, numbers)),
        HN_NO_ATTRS);
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}
