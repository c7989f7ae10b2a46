/* Quantized convolutions and products: what stands between DequantizeLinear and QuantizeLinear, or
 * behind DequantizeLinear alone, works on bytes. */
#include "cpu/passes/qdq.h"

#define NOT_BYTES "its operands are not 8-bit integers with constant scales of float32"

/* Data, scale and zero point of a quantized operand. */
static void put_operand(hn_rule *r, const hn_dequantized *d, hn_id *in) {
    in[0] = d->x;
    in[1] = d->scale;
    in[2] = hn_dequantized_zero(r, d);
}

/* Lets the quantized result take the place of what the QuantizeLinear made, or the float result
 * that of the root. */
static void replace_result(hn_rule *r, const hn_quantized *q, hn_id with) {
    if (q)
        hn_rule_replace_value(r, hn_out(r, q->node, 0), with);
    else
        hn_rule_replace(r, with);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Filters of constant bytes with one scale, or one for each. */
static hone_status check_filters(hn_rule *r, const hn_dequantized *x, const hn_dequantized *w,
                                 bool *fits) {
    *fits = false;
    if (x->axis >= 0)
        return hn_miss(r, "its input has a scale per channel");
    if (w->axis > 0)
        return hn_miss(r, "the scales of its filters belong to axis %d, not to the filters",
                       w->axis);
    if (!hn_const(r, w->x))
        return hn_miss(r, "its filters are not constant");
    *fits = true;
    return HONE_OK;
}

hone_status hn_qdq_conv(hn_rule *r) {
    hn_id y = hn_out(r, r->root, 0), in[9];
    hn_dequantized x, w;
    hn_quantized q;
    bool fits, is_bad;
    if (!hn_dequantized_read(r, hn_in(r, r->root, 0), &x) ||
        !hn_dequantized_read(r, hn_in(r, r->root, 1), &w) || hn_in(r, r->root, 3) != HN_NONE)
        return hn_miss(r, NOT_BYTES);
    HN_TRY(check_filters(r, &x, &w, &fits));
    if (!fits)
        return HONE_OK;
    hn_dim filters = hn_dim_of(r, w.x, 0);
    hn_id bias =
        hn_int32_bias(r, hn_in(r, r->root, 2), x.scales, w.scales, (uint64_t)filters, &is_bad);
    if (is_bad)
        return hn_miss(r, "its bias is not constant, or too large for int32");
    bool is_quantized = hn_quantized_reader(r, y, &q);
    put_operand(r, &x, in);
    put_operand(r, &w, in + 3);
    in[6] = is_quantized ? q.scale : HN_NONE;
    in[7] = is_quantized ? hn_quantized_zero(r, &q) : HN_NONE;
    in[8] = bias;
    hn_id made = hn_make_own(r, r->root, "QLinearConv", HN_COUNT(in), in,
                             HN_ATTRS(hn_new_i(r, "channels_first", 1)));
    replace_result(r, is_quantized ? &q : NULL, hn_out(r, made, 0));
    return HONE_OK;
}

/* QLinearConv of files. */
hone_status hn_qdq_qlinear_conv(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    bool is_last = hn_node_i(r, r->root, "channels_last", 0) != 0;
    hn_id made = hn_make_own(r, r->root, "QLinearConv", n->n_inputs, n->inputs,
                             HN_ATTRS(hn_new_i(r, "channels_first", !is_last)));
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

/* One scale, or one per column. */
static bool has_column_scales(const hn_rule *r, const hn_dequantized *b, bool is_transposed) {
    int32_t rank = hn_rank_of(r, b->x);
    return b->axis < 0 || (rank == 2 && b->axis == (is_transposed ? 0 : 1));
}

hone_status hn_qdq_matmul(hn_rule *r) {
    hn_dequantized a, b;
    hn_quantized q;
    hn_id in[8], made;
    if (!hn_dequantized_read(r, hn_in(r, r->root, 0), &a) ||
        !hn_dequantized_read(r, hn_in(r, r->root, 1), &b))
        return hn_miss(r, NOT_BYTES);
    if (a.axis >= 0 || !has_column_scales(r, &b, false))
        return hn_miss(r, "scales belong to neither a whole operand nor its columns");
    if (hn_rank_of(r, a.x) < 1 || hn_rank_of(r, b.x) < 2)
        return HONE_OK;
    put_operand(r, &a, in);
    put_operand(r, &b, in + 3);
    bool is_quantized = hn_quantized_reader(r, hn_out(r, r->root, 0), &q);
    if (is_quantized) {
        in[6] = q.scale;
        in[7] = hn_quantized_zero(r, &q);
        made = hn_make1(r, "QLinearMatMul", 8, in, HN_NO_ATTRS);
    } else {
        made = hn_make1(r, "ms.MatMulIntegerToFloat",
                        HN_VALUES(in[0], in[3], in[1], in[4], in[2], in[5]), HN_NO_ATTRS);
    }
    replace_result(r, is_quantized ? &q : NULL, made);
    return HONE_OK;
}

/* Floats, one per column. */
hone_status hn_qdq_matmul_bias(hn_rule *r) {
    hn_id node = hn_cap_node(r, "product"), bias = hn_cap(r, "bias"), in[7];
    hn_dim n = hn_dim_of(r, hn_in(r, node, 1), -1);
    if (hn_in(r, node, 6) != HN_NONE || hn_rank_of(r, bias) != 1 || !hn_dim_is_known(n) ||
        hn_dim_of(r, bias, 0) != n || hn_elem_of(r, bias) != HN_F32)
        return HONE_OK;
    for (uint32_t i = 0; i < 6; i++)
        in[i] = hn_in(r, node, i);
    in[6] = bias;
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, 7, in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

hone_status hn_qdq_gemm(hn_rule *r) {
    hn_dequantized a, b;
    hn_quantized q;
    bool is_bad, is_transposed = hn_node_i(r, r->root, "transB", 0) != 0;
    hn_id in[9], c = hn_in(r, r->root, 2);
    if (!hn_dequantized_read(r, hn_in(r, r->root, 0), &a) ||
        !hn_dequantized_read(r, hn_in(r, r->root, 1), &b))
        return hn_miss(r, NOT_BYTES);
    if (a.axis >= 0 || !has_column_scales(r, &b, is_transposed))
        return hn_miss(r, "scales belong to neither a whole operand nor its columns");
    if (hn_node_f(r, r->root, "alpha", 1) != 1 ||
        (c != HN_NONE && hn_node_f(r, r->root, "beta", 1) != 1))
        return hn_miss(r, "alpha or beta is not 1");
    hn_dim n = hn_dim_of(r, b.x, is_transposed ? 0 : 1);
    if (!hn_dim_is_known(n))
        return HONE_OK;
    put_operand(r, &a, in);
    put_operand(r, &b, in + 3);
    in[6] = hn_int32_bias(r, c, a.scales, b.scales, (uint64_t)n, &is_bad);
    if (is_bad)
        return hn_miss(r, "its bias is not one constant per column, or too large for int32");
    bool is_quantized = hn_quantized_reader(r, hn_out(r, r->root, 0), &q);
    in[7] = is_quantized ? q.scale : HN_NONE;
    in[8] = is_quantized ? hn_quantized_zero(r, &q) : HN_NONE;
    hn_id made = hn_make1(r, "ms.QGemm", HN_COUNT(in), in,
                          HN_ATTRS(hn_new_i(r, "transA", hn_node_i(r, r->root, "transA", 0)),
                                   hn_new_i(r, "transB", is_transposed)));
    replace_result(r, is_quantized ? &q : NULL, made);
    return HONE_OK;
}
