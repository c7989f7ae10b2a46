/* Quantized sums, products of elements, pools and Concat: DequantizeLinear before them and
 * QuantizeLinear behind become part of operators of com.microsoft. */
#include "cpu/passes/qdq.h"
#include "pass/rules/moves.h"

hone_status hn_qdq_binary(hn_rule *r) {
    hn_id node = hn_cap_node(r, "y");
    hn_dequantized a, b;
    hn_quantized q;
    if (!hn_quantized_read(r, r->root, &q) || !hn_dequantized_read(r, hn_in(r, node, 0), &a) ||
        !hn_dequantized_read(r, hn_in(r, node, 1), &b))
        return HONE_OK;
    if (a.axis >= 0 || b.axis >= 0)
        return hn_miss(r, "an operand has a scale per channel");
    if (a.elem != b.elem || a.elem != q.elem)
        return hn_miss(r, "operands and result have different types");
    hn_rule_replace(
        r, hn_make1(r, hn_is_op(r, node, "Add") ? "ms.QLinearAdd" : "ms.QLinearMul",
                    HN_VALUES(a.x, a.scale, hn_dequantized_zero(r, &a), b.x, b.scale,
                              hn_dequantized_zero(r, &b), q.scale, hn_quantized_zero(r, &q)),
                    HN_NO_ATTRS));
    return HONE_OK;
}

/* ---- Softmax --------------------------------------------------------------------------------- */

/* Of floats: it has a fast loop, and rounding is left to QuantizeLinear. */
hone_status hn_qdq_softmax(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    if (hn_node_i(r, r->root, "opset", 13) < 13 || hn_rule_opset(r) < 13)
        return HONE_OK;
    hn_id real = hn_make1(r, "DequantizeLinear",
                          HN_VALUES(x, hn_in(r, r->root, 1), hn_in(r, r->root, 2)), HN_NO_ATTRS);
    hn_id soft = hn_make1(r, "Softmax", HN_VALUES(real),
                          HN_ATTRS(hn_new_i(r, "axis", hn_node_i(r, r->root, "axis", -1))));
    hn_rule_replace(r, hn_make1(r, "QuantizeLinear",
                                HN_VALUES(soft, hn_in(r, r->root, 3), hn_in(r, r->root, 4)),
                                HN_NO_ATTRS));
    return HONE_OK;
}

/* ---- Concat ---------------------------------------------------------------------------------- */

hone_status hn_qdq_concat(hn_rule *r) {
    const hn_node *n = hn_at(r, hn_cap_node(r, "y"));
    hn_quantized q;
    hn_dequantized d;
    bool is_same = true;
    if (!hn_quantized_read(r, r->root, &q))
        return HONE_OK;
    hn_id *bytes = HN_NEW_N(r->pass->rule_scratch, hn_id, n->n_inputs),
          *in = HN_NEW_N(r->pass->rule_scratch, hn_id, (size_t)n->n_inputs * 3 + 2);
    HN_TRY_PTR(bytes && in);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (!hn_dequantized_read(r, n->inputs[i], &d) || d.elem != q.elem || d.axis >= 0)
            return hn_miss(r, "input %u is not of bytes with one scale, as the result is", i);
        bytes[i] = in[2 + 3 * i] = d.x;
        in[2 + 3 * i + 1] = d.scale;
        in[2 + 3 * i + 2] = hn_dequantized_zero(r, &d);
        is_same &= hn_same_bytes(r, &d, &q);
    }
    in[0] = q.scale;
    in[1] = hn_quantized_zero(r, &q);
    hn_id made =
        is_same
            ? hn_make_like(r, hn_cap_node(r, "y"), n->n_inputs, bytes, HN_NO_ATTRS)
            : hn_make(r, "ms.QLinearConcat", n->n_inputs * 3 + 2, in, 1,
                      HN_ATTRS(hn_new_i(r, "axis", hn_node_i(r, hn_cap_node(r, "y"), "axis", 0))));
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Attributes that QLinearAveragePool has, too. */
static hn_id write_average_pool(hn_rule *r, hn_id node, uint32_t n_in, const hn_id *in) {
    static const char *const known[] = {"auto_pad",     "ceil_mode", "count_include_pad",
                                        "kernel_shape", "pads",      "strides"};
    const hn_node *n = hn_at(r, node);
    hn_attr attrs[HN_COUNT(known)];
    uint32_t n_attrs = 0;
    for (size_t i = 0; i < HN_COUNT(known); i++)
        if (hn_node_attr(n, known[i]))
            attrs[n_attrs++] = *hn_node_attr(n, known[i]);
    return hn_make1(r, "ms.QLinearAveragePool", n_in, in, n_attrs, attrs);
}

/* A mean over all axes behind the channels. */
static bool is_spatial_mean(const hn_rule *r, hn_id node, int32_t rank) {
    const int64_t *axes;
    uint32_t n;
    if (rank < 3 || !hn_axes_read(r, node, 1, rank, &n, &axes) || n != (uint32_t)rank - 2)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (axes[i] < 2)
            return false;
    return true;
}

static bool has_dilations(const hn_rule *r, hn_id node) {
    const int64_t *dilations;
    uint32_t n;
    if (!hn_node_ints(r, node, "dilations", &n, &dilations))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (dilations[i] != 1)
            return true;
    return false;
}

hone_status hn_qdq_pool(hn_rule *r) {
    hn_id node = hn_cap_node(r, "y"), made;
    hn_dequantized x;
    hn_quantized q;
    if (!hn_quantized_read(r, r->root, &q) || !hn_dequantized_read(r, hn_in(r, node, 0), &x) ||
        x.axis >= 0)
        return HONE_OK;
    if (x.elem != q.elem)
        return hn_miss(r, "input and result have different types");
    bool is_pool = hn_is_op(r, node, "AveragePool"), is_mean = hn_is_op(r, node, "ReduceMean");
    if (is_pool && has_dilations(r, node))
        return hn_miss(r, "its window has dilations");
    if (is_mean && !is_spatial_mean(r, node, hn_rank_of(r, x.x)))
        return HONE_OK;
    hn_id in[5] = {x.x, x.scale, hn_dequantized_zero(r, &x), q.scale, hn_quantized_zero(r, &q)};
    if (is_pool) {
        made = write_average_pool(r, node, HN_COUNT(in), in);
    } else {
        made = hn_make1(r, "ms.QLinearGlobalAveragePool", HN_COUNT(in), in, HN_NO_ATTRS);
        if (is_mean && hn_node_i(r, node, "keepdims", 1) == 0)
            made = hn_make1(r, "Flatten", HN_VALUES(made), HN_NO_ATTRS);
    }
    hn_rule_replace(r, made);
    return HONE_OK;
}
