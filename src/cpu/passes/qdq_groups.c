/* Quantized models: what stands between DequantizeLinear and QuantizeLinear works on bytes. The
 * rules are those of qdq.h. */
#include "cpu/passes/qdq.h"

#define BYTE_MOVING_OPS                                                                      \
  "DepthToSpace|Expand|Flatten|Gather|GatherElements|GatherND|Identity|MaxPool|Pad|Reshape|" \
  "Resize|"                                                                                  \
  "Slice|SpaceToDepth|Squeeze|Tile|Transpose|Unsqueeze"

#define QDQ_MOST_ROUNDS 8

hone_status hn_pass_qdq_groups(hn_pass *p) {
    static const hn_rule_row moves[] = {
        {"constant", "QuantizeLinear(#x, #scale, ...)", hn_qdq_constant, true, NULL},
        {"cancel", "QuantizeLinear(DequantizeLinear, ...)", hn_qdq_cancel, true, NULL},
        {"never-nan", "Where(IsNaN(DequantizeLinear:d), _, d)", hn_qdq_never_nan, true, NULL},
        {"move", BYTE_MOVING_OPS "(DequantizeLinear, ...)", hn_qdq_move, true, NULL},
        {"split", "Split(DequantizeLinear, ...)", hn_qdq_split, true, NULL},
        {"quantize-first", "QuantizeLinear(" BYTE_MOVING_OPS ":moved, ...)", hn_qdq_quantize_first,
         false, NULL},
    };
    static const hn_rule_row groups[] = {
        {"conv", "Conv(DequantizeLinear, DequantizeLinear, ...)", hn_qdq_conv, true, NULL},
        {"fused-conv", "ms.FusedConv(DequantizeLinear, DequantizeLinear, ...)", hn_qdq_conv, true,
         NULL},
        {"qlinear-conv", "QLinearConv", hn_qdq_qlinear_conv, true, NULL},
        {"ms-qlinear-conv", "ms.QLinearConv", hn_qdq_qlinear_conv, true, NULL},
        {"matmul", "MatMul(DequantizeLinear, DequantizeLinear)", hn_qdq_matmul, true, NULL},
        {"matmul-bias", "Add(ms.MatMulIntegerToFloat:product, #bias)", hn_qdq_matmul_bias, false,
         NULL},
        {"gemm", "Gemm(DequantizeLinear, DequantizeLinear, ...)", hn_qdq_gemm, true, NULL},
        /* Before those of single operators: several of them may be one table. */
        {"table", "QuantizeLinear", hn_qdq_table, true, NULL},
        {"ms-table", "ms.QLinearAdd|ms.QLinearLeakyRelu|ms.QLinearMul|ms.QLinearSigmoid",
         hn_qdq_table, true, NULL},
        {"join-tables", "hone.ByteTable(hone.ByteTable:inner, #table)", hn_qdq_join_tables, false,
         NULL},
        {"binary", "QuantizeLinear(Add|Mul:y, ...)", hn_qdq_binary, false, NULL},
        {"softmax", "ms.QLinearSoftmax", hn_qdq_softmax, true, NULL},
        {"concat", "QuantizeLinear(Concat:y, ...)", hn_qdq_concat, false, NULL},
        {"pool", "QuantizeLinear(AveragePool|GlobalAveragePool|ReduceMean:y, ...)", hn_qdq_pool,
         false, NULL},
        {"dynamic-conv", "Mul(Cast(ConvInteger:conv):real, Mul(s, t))", hn_qdq_dynamic_conv, true,
         NULL},
        {"dynamic-conv-bias", "Add(hone.DynamicConv:conv, #bias)", hn_qdq_dynamic_conv_bias, false,
         NULL},
    };
    /* First the moves: a QuantizeLinear that can be brought to a product is part of its group. */
    for (uint32_t round = 0, before = UINT32_MAX;
         round < QDQ_MOST_ROUNDS && p->n_rewrites != before; round++) {
        before = p->n_rewrites;
        HN_TRY(hn_pass_rules(p, moves, HN_COUNT(moves)));
        HN_TRY(hn_pass_rules(p, groups, HN_COUNT(groups)));
    }
    return HONE_OK;
}
