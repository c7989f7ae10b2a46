/* LSTM with weights of 8 bits, as com.microsoft.DynamicQuantizeLSTM; other recurrent layers store
 * theirs (weight_only.c). */
#include "quant/writer.h"

enum { LSTM_W = 1, LSTM_R = 2, N_LSTM_INPUTS = 8, N_QUANTIZED_INPUTS = 12 };

static bool is_weight_of_lstm(const hn_node_writer *n, uint32_t i) {
    const hn_tensor *t = hn_write_const(n, i);
    return t && t->rank == 3 && t->dtype == HN_F32;
}

hone_status hn_write_dynamic_lstm(hn_node_writer *n) {
    bool is_8_bits = hn_dtype_is_byte(n->type.dtype);
    if (!is_weight_of_lstm(n, LSTM_W) || !is_weight_of_lstm(n, LSTM_R))
        return hn_write_skip(n, "its weights are not constant");
    if (!is_8_bits || !n->w->o->allows_ms || hn_write_int(n, "layout", 0) != 0)
        return hn_write_stored_weights(n);
    hn_weight_form form = {
        .type = n->type, .axis = 0, .is_transposed = true, .joins_axes = n->w->o->is_per_channel};
    form.type.is_symmetric = true; /* onnxruntime wants one zero point for all channels */
    hn_quant_weight w, r;
    HN_TRY(hn_write_weight(n, hn_write_input(n, LSTM_W), &form, &w));
    HN_TRY(hn_write_weight(n, hn_write_input(n, LSTM_R), &form, &r));
    hn_id inputs[N_QUANTIZED_INPUTS];
    for (uint32_t i = 0; i < N_LSTM_INPUTS; i++)
        inputs[i] = i == LSTM_W ? w.q : i == LSTM_R ? r.q : hn_write_input(n, i);
    memcpy(inputs + N_LSTM_INPUTS, (hn_id[]){w.scale, w.zero, r.scale, r.zero}, 4 * sizeof(hn_id));
    const hn_node *node = hn_node_at(n->w->g, n->node);
    hn_attr attrs[8];
    uint32_t n_attrs = 0;
    for (uint32_t i = 0; i < node->n_attrs && n_attrs < HN_COUNT(attrs); i++)
        if (!hn_str_is(node->attrs[i].name, "layout"))
            attrs[n_attrs++] = node->attrs[i];
    hn_id y = hn_write_op(n, "com.microsoft", "DynamicQuantizeLSTM", N_QUANTIZED_INPUTS, inputs,
                          node->n_outputs, n_attrs, attrs);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        hn_write_result(n, i, y == HN_NONE ? HN_NONE : y + i);
    return HONE_OK;
}
