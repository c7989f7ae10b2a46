/* Writes models whose activations are quantized by the range that they have in each run, as
 * onnxruntime's quantize_dynamic does: one DynamicQuantizeLinear for all readers of a value, then
 * MatMulInteger or ConvInteger, whose sums are multiplied by both scales. */
#include "quant/writer.h"

/* ---- products -------------------------------------------------------------------------------- */

static bool is_stored_only(const hn_node_writer *n) {
    return !hn_dtype_is_byte(n->type.dtype);
}

/* Cast(sums) * (x_scale * w_scale) */
static hn_id scaled_sums(hn_node_writer *n, hn_id sums, hn_id x_scale, hn_id w_scale) {
    hn_attr to = hn_write_int_attr(n, "to", HN_F32);
    hn_id cast = hn_write_op(n, "", "Cast", 1, &sums, 1, 1, &to);
    hn_id scale = hn_write_op(n, "", "Mul", 2, (hn_id[]){x_scale, w_scale}, 1, 0, NULL);
    return hn_write_op(n, "", "Mul", 2, (hn_id[]){cast, scale}, 1, 0, NULL);
}

static hn_id write_integer_product(hn_node_writer *n, const hn_quant_weight *x,
                                   const hn_quant_weight *w) {
    hn_id sums =
        hn_write_op(n, "", "MatMulInteger", 4, (hn_id[]){x->q, w->q, x->zero, w->zero}, 1, 0, NULL);
    return scaled_sums(n, sums, x->scale, w->scale);
}

static hone_status write_matmul_of_activations(hn_node_writer *n) {
    hn_quant_weight a, b;
    if (hn_write_elem(n, hn_write_input(n, 1)) != HN_F32)
        return hn_write_skip(n, "its operands are not known to be float");
    HN_TRY(hn_write_activation(n, hn_write_input(n, 0), &a));
    HN_TRY(hn_write_activation(n, hn_write_input(n, 1), &b));
    hn_write_result(n, 0, write_integer_product(n, &a, &b));
    return HONE_OK;
}

static hone_status write_dynamic_matmul(hn_node_writer *n) {
    hn_id value;
    bool is_transposed;
    const hn_tensor *b = hn_write_matrix(n, 1, &value, &is_transposed);
    if (is_stored_only(n))
        return hn_write_stored_product(n);
    if (hn_write_elem(n, hn_write_input(n, 0)) != HN_F32)
        return hn_write_skip(n, "its activation is not known to be float");
    if (!b)
        return n->w->o->is_const_b_only ? hn_write_skip(n, "its right side is not constant")
                                        : write_matmul_of_activations(n);
    if (b->rank < 2)
        return hn_write_skip(n, "its right side is a vector");
    hn_quant_weight x, w;
    bool by_column = n->w->o->is_per_channel && b->rank == 2;
    hn_weight_form form = {.type = n->type, .axis = !by_column ? -1 : is_transposed ? 0 : 1};
    HN_TRY(hn_write_weight(n, value, &form, &w));
    if (is_transposed) /* of the integers, so that a table and its product share them */
        w.q = hn_write_op(n, "", "Transpose", 1, &w.q, 1, 0, NULL);
    HN_TRY(hn_write_activation(n, hn_write_input(n, 0), &x));
    hn_write_result(n, 0, write_integer_product(n, &x, &w));
    return HONE_OK;
}

/* beta * C is added behind, so it must be there as it is. */
static const char *why_gemm_stays(const hn_node_writer *n) {
    const hn_tensor *b = hn_write_const(n, 1);
    if (!b || b->rank != 2)
        return "its right side is not constant";
    if (hn_write_elem(n, hn_write_input(n, 0)) != HN_F32)
        return "its activation is not known to be float";
    if (hn_write_int(n, "transA", 0))
        return "its left side is transposed";
    if (hn_write_input(n, 2) != HN_NONE && hn_write_float(n, "beta", 1) != 1)
        return "its beta is not 1";
    return hn_write_float(n, "alpha", 1) > 0 ? NULL : "its alpha is not positive";
}

static hone_status write_dynamic_gemm(hn_node_writer *n) {
    if (is_stored_only(n))
        return hn_write_stored_product(n);
    const char *reason = why_gemm_stays(n);
    if (reason)
        return hn_write_skip(n, reason);
    hn_quant_weight x, w;
    bool is_transposed = hn_write_int(n, "transB", 0) != 0;
    hn_weight_form form = {.type = n->type,
                           .axis = !n->w->o->is_per_channel ? -1
                                   : is_transposed          ? 0
                                                            : 1,
                           .is_transposed = is_transposed,
                           .factor = hn_write_float(n, "alpha", 1)};
    HN_TRY(hn_write_weight(n, hn_write_input(n, 1), &form, &w));
    HN_TRY(hn_write_activation(n, hn_write_input(n, 0), &x));
    hn_id y = write_integer_product(n, &x, &w), c = hn_write_input(n, 2);
    if (c != HN_NONE)
        y = hn_write_op(n, "", "Add", 2, (hn_id[]){y, c}, 1, 0, NULL);
    hn_write_result(n, 0, y);
    return HONE_OK;
}

/* ---- convolution ----------------------------------------------------------------------------- */

#define MAX_CONV_RANK 8

/* The bias with the rank of the result: [1, m, 1, 1]. */
static hn_id conv_bias(hn_node_writer *n, int32_t rank) {
    int64_t dims[MAX_CONV_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    hn_id bias = hn_write_input(n, 2);
    const hn_tensor *t = hn_write_const(n, 2);
    hn_arena *arena = n->w->m->arena;
    if (t && t->rank == 1) {
        dims[1] = t->dims[0];
        return hn_write_init(n, bias, "_reshaped",
                             hn_tensor_new(arena, t->dtype, rank, dims, t->data, true));
    }
    dims[1] = -1;
    int64_t n_dims = rank;
    hn_id shape =
        hn_write_init(n, bias, "_shape", hn_tensor_new(arena, HN_I64, 1, &n_dims, dims, false));
    return hn_write_op(n, "", "Reshape", 2, (hn_id[]){bias, shape}, 1, 0, NULL);
}

/* Runtimes have one zero point for all filters: per channel they are symmetric. */
static hone_status write_dynamic_conv(hn_node_writer *n) {
    const hn_tensor *filters = hn_write_const(n, 1);
    if (is_stored_only(n))
        return hn_write_stored_weights(n);
    if (!filters || filters->rank < 3 || filters->rank > MAX_CONV_RANK)
        return hn_write_skip(n, "its filters are not constant");
    if (hn_write_elem(n, hn_write_input(n, 0)) != HN_F32)
        return hn_write_skip(n, "its activation is not known to be float");
    hn_quant_weight x, w;
    hn_weight_form form = {.type = n->type,
                           .axis = n->w->o->is_per_channel ? 0 : -1,
                           .scale_rank = filters->rank,
                           .scale_axis = 1,
                           .has_one_zero = true};
    form.type.is_symmetric |= n->w->o->is_per_channel;
    HN_TRY(hn_write_weight(n, hn_write_input(n, 1), &form, &w));
    HN_TRY(hn_write_activation(n, hn_write_input(n, 0), &x));
    const hn_node *node = hn_node_at(n->w->g, n->node);
    hn_id sums = hn_write_op(n, "", "ConvInteger", 4, (hn_id[]){x.q, w.q, x.zero, w.zero}, 1,
                             node->n_attrs, node->attrs);
    hn_id y = scaled_sums(n, sums, x.scale, w.scale);
    if (hn_write_input(n, 2) != HN_NONE)
        y = hn_write_op(n, "", "Add", 2, (hn_id[]){y, conv_bias(n, filters->rank)}, 1, 0, NULL);
    hn_write_result(n, 0, y);
    return HONE_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows are looked up as integers. A scale per column serves all rows, whatever the indices. */
static hone_status write_dynamic_gather(hn_node_writer *n) {
    const hn_tensor *table = hn_write_const(n, 0);
    if (is_stored_only(n))
        return hn_write_stored_gather(n);
    if (!table || table->dtype != HN_F32 || table->rank < 1)
        return hn_write_skip(n, "its table is no constant of floats");
    return hn_write_gather_columns(n, table);
}

/* ---- attention ------------------------------------------------------------------------------- */

static const char *why_attention_stays(const hn_node_writer *n) {
    const hn_tensor *w = hn_write_const(n, 1);
    const hn_node *node = hn_node_at(n->w->g, n->node);
    if (!w || w->rank != 2)
        return "its weights are not constant";
    if (hn_write_elem(n, hn_write_input(n, 0)) != HN_F32)
        return "its activation is not known to be float";
    if (hn_write_input(n, 2) == HN_NONE)
        return "it has no bias";
    if (hn_node_attr(node, "qkv_hidden_sizes"))
        return "queries, keys and values have sizes of their own";
    if (hn_node_attr(node, "rotary_embedding_dim"))
        return "QAttention has no rotary_embedding_dim";
    for (uint32_t i = 5; i < node->n_inputs; i++)
        if (node->inputs[i] != HN_NONE)
            return "QAttention has no such inputs";
    return NULL;
}

/* com.microsoft.Attention: input, weights, bias, mask, past. */
static hone_status write_dynamic_attention(hn_node_writer *n) {
    const char *reason =
        is_stored_only(n) ? "its type must be int8 or uint8" : why_attention_stays(n);
    if (reason)
        return hn_write_skip(n, reason);
    hn_quant_weight x, w;
    hn_weight_form form = {.type = n->type, .axis = n->w->o->is_per_channel ? 1 : -1};
    HN_TRY(hn_write_weight(n, hn_write_input(n, 1), &form, &w));
    HN_TRY(hn_write_activation(n, hn_write_input(n, 0), &x));
    const hn_node *node = hn_node_at(n->w->g, n->node);
    hn_id inputs[9] = {x.q,    w.q,    hn_write_input(n, 2), x.scale, w.scale, hn_write_input(n, 3),
                       x.zero, w.zero, hn_write_input(n, 4)};
    hn_id y = hn_write_op(n, "com.microsoft", "QAttention", inputs[8] == HN_NONE ? 8 : 9, inputs,
                          node->n_outputs, node->n_attrs, node->attrs);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        hn_write_result(n, i, y == HN_NONE ? HN_NONE : y + i);
    return HONE_OK;
}

/* ---- the whole model ------------------------------------------------------------------------- */

static const hn_write_row dynamic_rows[] = {
    {"", "Conv", write_dynamic_conv},     {"", "GRU", hn_write_stored_weights},
    {"", "Gather", write_dynamic_gather}, {"", "Gemm", write_dynamic_gemm},
    {"", "LSTM", hn_write_dynamic_lstm},  {"", "MatMul", write_dynamic_matmul},
    {"", "RNN", hn_write_stored_weights}, {"com.microsoft", "Attention", write_dynamic_attention},
};

hone_status hn_quant_dynamic(hn_model *m, const hn_write_options *o, hone_error *err) {
    return hn_write_model(m, o, true, HN_COUNT(dynamic_rows), dynamic_rows, err);
}
