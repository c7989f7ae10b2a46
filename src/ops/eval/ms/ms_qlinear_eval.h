/* Quantized operators of com.microsoft: what evaluations and lowerings share. */
#ifndef HN_MS_QLINEAR_EVAL_H
#define HN_MS_QLINEAR_EVAL_H

#include "cpu/kernels/pool/pool_bytes.h"
#include "cpu/kernels/quantize/byte_pairs.h"
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/onnx/window_eval.h"

/* QLinearAdd (is_sum) and QLinearMul: the parameters of the node, the loop for its type, and one
 * run of a broadcast (an hn_row_fn). */
hn_byte_pair hn_qlinear_pair(const hn_eval *c, bool is_sum);
hn_byte_pair_fn hn_qlinear_pair_fn(hn_dtype t, bool is_sum);
typedef struct hn_qlinear_pair_job {
    hn_byte_pair_fn fn;
    hn_byte_pair by;
    const uint8_t *a, *b;
    uint8_t *y;
} hn_qlinear_pair_job;
void hn_qlinear_pair_row(void *job, const hn_row *row);

/* An average pool as a job, which points at the other fields: not to be copied. */
typedef struct hn_qlinear_pool {
    hn_window window;
    int64_t pad_end[HN_MAX_SPATIAL];
    hn_pool_bytes_job job;
} hn_qlinear_pool;
/* x and y are channels-last, whatever the node says. */
hone_status hn_qlinear_pool_fill(hn_eval *c, const hn_array *x, hn_array *y, hn_qlinear_pool *p);

#endif /* HN_MS_QLINEAR_EVAL_H */
