/* Writes models whose weights are stored as integers or float8 and computed with as floats:
 * com.microsoft.MatMulNBits, or DequantizeLinear before the node. */
#include "quant/writer.h"

#define LEAST_BLOCK 16 /* of operators of com.microsoft, whose blocks are powers of 2 */

/* A weight that DequantizeLinear can give back in its own type. */
static bool is_stored_type(const hn_tensor *t) {
    return t && t->rank > 0 && (t->dtype == HN_F32 || t->dtype == HN_F16 || t->dtype == HN_BF16);
}

static const hn_tensor *stored_source(const hn_node_writer *n, uint32_t i) {
    const hn_tensor *t = hn_write_const(n, i);
    return is_stored_type(t) ? t : NULL;
}

/* Blocks along `k_axis`; a scale per channel where the blocks would be longer than that. */
static hn_weight_form stored_form(const hn_node_writer *n, const hn_tensor *t, int32_t k_axis,
                                  int32_t channel_axis) {
    hn_weight_form form = {.type = n->type, .axis = -1};
    if (n->w->o->block > 0 && t->dims[k_axis] >= n->w->o->block) {
        form.axis = k_axis;
        form.block = n->w->o->block;
    } else if (n->w->o->is_per_channel) {
        form.axis = channel_axis;
    }
    return form;
}

/* Input i reads a DequantizeLinear of its weight. */
static hone_status store_input(hn_node_writer *n, uint32_t i, const hn_weight_form *form) {
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, hn_write_input(n, i), form, &w));
    hn_write_beside(n, hn_write_input(n, i));
    hn_id floats = hn_write_dequantize(n, &w, w.q, form->axis, form->block);
    hn_write_beside(n, HN_NONE);
    hn_patch_set_input(n->patch, n->node, i, floats);
    return HONE_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

static bool is_power_of_two(int64_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

static bool suits_nbits(const hn_node_writer *n) {
    const hn_write_options *o = n->w->o;
    int bits = hn_dtype_bits(n->type.dtype);
    return o->uses_nbits && o->allows_ms && hn_dtype_is_int(n->type.dtype) && bits <= 8 &&
           o->block >= LEAST_BLOCK && is_power_of_two(o->block);
}

/* What MatMulNBits cannot say of a Gemm. */
static bool is_plain_product(const hn_node_writer *n) {
    return !hn_write_int(n, "transA", 0) && hn_write_float(n, "alpha", 1) == 1 &&
           (hn_write_input(n, 2) == HN_NONE || hn_write_float(n, "beta", 1) == 1);
}

/* Symmetric numbers need no zero points: the middle is implied. */
static hone_status write_nbits(hn_node_writer *n, hn_id value, const hn_tensor *b, int32_t k_axis) {
    const hn_write_options *o = n->w->o;
    hn_weight_form form = {.type = n->type, .axis = k_axis, .block = o->block, .is_nbits = true};
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, value, &form, &w));
    hn_attr attrs[5] = {hn_write_int_attr(n, "K", b->dims[k_axis]),
                        hn_write_int_attr(n, "N", b->dims[!k_axis]),
                        hn_write_int_attr(n, "bits", hn_dtype_bits(n->type.dtype)),
                        hn_write_int_attr(n, "block_size", o->block),
                        hn_write_int_attr(n, "accuracy_level", o->accuracy_level)};
    hn_id inputs[4] = {hn_write_input(n, 0), w.q, w.scale, w.zero}, c = hn_write_input(n, 2);
    hn_id y = hn_write_op(n, "com.microsoft", "MatMulNBits", n->type.is_symmetric ? 3 : 4, inputs,
                          1, o->accuracy_level ? 5 : 4, attrs);
    if (c != HN_NONE)
        y = hn_write_op(n, "", "Add", 2, (hn_id[]){y, c}, 1, 0, NULL);
    hn_write_result(n, 0, y);
    return HONE_OK;
}

/* The constant, not its Transpose, is dequantized. */
static hone_status store_transposed(hn_node_writer *n, hn_id value, const hn_weight_form *form) {
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, value, form, &w));
    hn_write_beside(n, value);
    hn_id floats = hn_write_dequantize(n, &w, w.q, form->axis, form->block);
    hn_id turned = hn_write_op(n, "", "Transpose", 1, &floats, 1, 0, NULL);
    hn_write_beside(n, HN_NONE);
    hn_patch_set_input(n->patch, n->node, 1, turned);
    return HONE_OK;
}

hone_status hn_write_stored_product(hn_node_writer *n) {
    hn_id value;
    bool is_transposed;
    const hn_tensor *b = hn_write_matrix(n, 1, &value, &is_transposed);
    if (!is_stored_type(b) || b->rank < 2)
        return hn_write_skip(n, "its right side is no constant matrix of floats");
    bool has_columns = is_transposed != (hn_write_int(n, "transB", 0) != 0);
    int32_t k_axis = has_columns ? b->rank - 1 : b->rank - 2;
    if (b->rank == 2 && suits_nbits(n) && is_plain_product(n))
        return write_nbits(n, value, b, k_axis);
    hn_weight_form form = stored_form(n, b, k_axis, has_columns ? b->rank - 2 : b->rank - 1);
    return is_transposed ? store_transposed(n, value, &form) : store_input(n, 1, &form);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool suits_gather_blocks(const hn_node_writer *n, const hn_weight_form *form) {
    int bits = hn_dtype_bits(n->type.dtype);
    return n->w->o->allows_ms && bits == 4 && hn_dtype_is_int(n->type.dtype) &&
           form->block >= LEAST_BLOCK && is_power_of_two(form->block);
}

static hone_status write_gather_blocks(hn_node_writer *n, const hn_weight_form *form) {
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, hn_write_input(n, 0), form, &w));
    hn_attr attrs[3] = {hn_write_int_attr(n, "block_size", form->block),
                        hn_write_int_attr(n, "gather_axis", 0),
                        hn_write_int_attr(n, "quantize_axis", 1)};
    hn_id inputs[4] = {w.q, hn_write_input(n, 1), w.scale, w.zero};
    hn_write_result(n, 0,
                    hn_write_op(n, "com.microsoft", "GatherBlockQuantized", 4, inputs, 1,
                                HN_COUNT(attrs), attrs));
    return HONE_OK;
}

/* Numbers, scales and zero points of the rows are looked up alike, and only those dequantized. */
static hone_status write_gathered_rows(hn_node_writer *n, const hn_weight_form *form) {
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, hn_write_input(n, 0), form, &w));
    hn_id indices = hn_write_input(n, 1), *parts[3] = {&w.q, &w.scale, &w.zero}, rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = hn_write_op(n, "", "Gather", 2, (hn_id[]){*parts[i], indices}, 1, 0, NULL);
    hn_id q = rows[0];
    w.scale = rows[1];
    w.zero = rows[2];
    hn_write_result(n, 0, hn_write_dequantize(n, &w, q, -1, form->block));
    return HONE_OK;
}

/* Is the table the weight of a product, too? */
static bool is_tied_table(const hn_node_writer *n, hn_id value) {
    const hn_value *v = hn_value_at(n->w->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node != HN_NONE &&
            hn_str_is(hn_node_at(n->w->g, v->uses.at[i].node)->op, "Transpose"))
            return true;
    return false;
}

/* A scale per row, as the product has it, looked up with the rows: Cast(q) * scale. */
static hone_status write_tied_rows(hn_node_writer *n, const hn_tensor *table, hn_id value) {
    hn_weight_form form = {.type = n->type, .axis = 0};
    hn_quant_weight w;
    HN_TRY(hn_write_weight(n, value, &form, &w));
    const hn_tensor *scale =
        hn_tensor_new(n->w->m->arena, w.tensors.scale->dtype, 2, (int64_t[]){table->dims[0], 1},
                      w.tensors.scale->data, true);
    hn_id indices = hn_write_input(n, 1), scales = hn_write_init(n, value, "_row_scale", scale);
    hn_attr to = hn_write_int_attr(n, "to", table->dtype);
    hn_id rows = hn_write_op(n, "", "Gather", 2, (hn_id[]){w.q, indices}, 1, 0, NULL);
    hn_id factors = hn_write_op(n, "", "Gather", 2, (hn_id[]){scales, indices}, 1, 0, NULL);
    hn_id floats = hn_write_op(n, "", "Cast", 1, &rows, 1, 1, &to);
    hn_write_result(n, 0, hn_write_op(n, "", "Mul", 2, (hn_id[]){floats, factors}, 1, 0, NULL));
    return HONE_OK;
}

hone_status hn_write_gather_columns(hn_node_writer *n, const hn_tensor *table) {
    bool by_column = n->w->o->is_per_channel && table->rank == 2 && hn_write_int(n, "axis", 0) == 0;
    bool has_no_zero = n->type.is_symmetric && n->type.dtype == HN_I8;
    if (by_column && has_no_zero && is_tied_table(n, hn_write_input(n, 0)))
        return write_tied_rows(n, table, hn_write_input(n, 0));
    hn_quant_weight w;
    hn_weight_form form = {.type = n->type, .axis = by_column ? 1 : -1};
    HN_TRY(hn_write_weight(n, hn_write_input(n, 0), &form, &w));
    const hn_node *node = hn_node_at(n->w->g, n->node);
    hn_id rows = hn_write_op(n, "", "Gather", 2, (hn_id[]){w.q, hn_write_input(n, 1)}, 1,
                             node->n_attrs, node->attrs);
    hn_write_result(n, 0, hn_write_dequantize(n, &w, rows, -1, 0));
    return HONE_OK;
}

hone_status hn_write_stored_gather(hn_node_writer *n) {
    const hn_tensor *table = stored_source(n, 0);
    bool is_8_bits = hn_dtype_is_byte(n->type.dtype);
    if (!table)
        return hn_write_skip(n, "its table is no constant of floats");
    if (is_8_bits && n->w->o->block == 0)
        return hn_write_gather_columns(n, table);
    hn_weight_form form = stored_form(n, table, table->rank - 1, 0);
    bool has_rows = table->rank == 2 && hn_write_int(n, "axis", 0) == 0;
    if (form.axis == 0 && has_rows && n->w->o->block > 0) /* a row is a block of its own */
        form = (hn_weight_form){.type = n->type, .axis = 1, .block = table->dims[1]};
    if (has_rows && form.block > 0 && suits_gather_blocks(n, &form))
        return write_gather_blocks(n, &form);
    if (has_rows && form.block > 0 && is_8_bits)
        return write_gathered_rows(n, &form);
    return store_input(n, 0, &form);
}

/* ---- others ---------------------------------------------------------------------------------- */

/* com.microsoft.Attention: its weights are the right side of a product. */
static hone_status write_stored_attention(hn_node_writer *n) {
    const hn_tensor *w = stored_source(n, 1);
    if (!w || w->rank != 2)
        return hn_write_skip(n, "its weights are no constant matrix of floats");
    hn_weight_form form = stored_form(n, w, 0, 1);
    return store_input(n, 1, &form);
}

/* Filters of few numbers are a small part of a model and a large one of its error. */
static void widen_small_filters(hn_node_writer *n, const hn_tensor *t) {
    bool is_small = t->n_elems / (uint64_t)HN_MAX(t->dims[0], 1) < LEAST_BLOCK;
    if (is_small && hn_dtype_is_int(n->type.dtype) && hn_dtype_bits(n->type.dtype) < 8)
        n->type.dtype = n->type.is_symmetric ? HN_I8 : HN_U8;
}

hone_status hn_write_stored_weights(hn_node_writer *n) {
    hn_str op = hn_node_at(n->w->g, n->node)->op;
    bool is_recurrent = hn_str_is(op, "LSTM") || hn_str_is(op, "GRU") || hn_str_is(op, "RNN");
    bool is_transposed = hn_str_is(op, "ConvTranspose");
    for (uint32_t i = 1; i <= (is_recurrent ? 2u : 1u); i++) {
        const hn_tensor *t = stored_source(n, i);
        if (!t || t->rank < 3)
            return hn_write_skip(n, "its weights are no constants of floats");
    }
    if (!is_recurrent)
        widen_small_filters(n, stored_source(n, 1));
    for (uint32_t i = 1; i <= (is_recurrent ? 2u : 1u); i++) {
        hn_weight_form form = stored_form(n, stored_source(n, i),
                                          is_recurrent    ? 2
                                          : is_transposed ? 0
                                                          : 1,
                                          is_recurrent || is_transposed ? 1 : 0);
        HN_TRY(store_input(n, i, &form));
    }
    return HONE_OK;
}

/* ---- the whole model ------------------------------------------------------------------------- */

static const hn_write_row stored_rows[] = {
    {"", "Conv", hn_write_stored_weights},
    {"", "ConvTranspose", hn_write_stored_weights},
    {"", "GRU", hn_write_stored_weights},
    {"", "Gather", hn_write_stored_gather},
    {"", "Gemm", hn_write_stored_product},
    {"", "LSTM", hn_write_stored_weights},
    {"", "MatMul", hn_write_stored_product},
    {"", "RNN", hn_write_stored_weights},
    {"com.microsoft", "Attention", write_stored_attention},
};

hone_status hn_quant_weight_only(hn_model *m, const hn_write_options *o, hone_error *err) {
    return hn_write_model(m, o, false, HN_COUNT(stored_rows), stored_rows, err);
}
