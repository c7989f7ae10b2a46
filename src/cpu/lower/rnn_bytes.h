/* Inside cpu/lower/: the gates of DynamicQuantizeLSTM as products of bytes. Inputs are quantized at
 * once, states in each step. */
#ifndef HN_RNN_BYTES_H
#define HN_RNN_BYTES_H

#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "ops/eval/onnx/rnn_eval.h"

/* Right sides, one per direction: everything but m, a and c of the products. */
typedef struct hn_rnn_bytes {
    hn_gemm_int8_job inputs[2], states[2];
} hn_rnn_bytes;

/* Whether the node is such a layer with the usual activations whose weights were packed; then its
 * form but for the lengths, and the right sides. */
hone_status hn_rnn_read_bytes(hn_eval *c, bool *is_usual, hn_rnn_form *f, hn_rnn_bytes *out);

/* c[m, n] = a[m, k] * side + bias, where a is rounded to bytes with one scale. */
typedef struct hn_rnn_byte_product {
    const hn_gemm_int8_job *side;
    int64_t m;
    const float *a, *bias; /* bias: NULL for none */
    float *c;
    int64_t c_row;
    void *scratch;
} hn_rnn_byte_product;
size_t hn_rnn_byte_scratch(const hn_gemm_int8_job *side, int64_t m);
void hn_rnn_meet_bytes(hn_pool *pool, const hn_rnn_byte_product *product);

#endif /* HN_RNN_BYTES_H */
