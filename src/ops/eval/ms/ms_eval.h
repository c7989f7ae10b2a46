/* Inside ops/: what the evaluations of com.microsoft share. Many of its operators are those of
 * ai.onnx with something before or behind them; they run the evaluation of the plain operator on
 * other arrays. */
#ifndef HN_MS_EVAL_H
#define HN_MS_EVAL_H

#include "cpu/kernels/kernel.h"
#include "ops/activation.h"
#include "ops/eval/widen.h"

/* Where an operator of a family lacks an argument. */
#define HN_NO_ARG UINT32_MAX

/* Runs the evaluation of another operator, of one output, with the attributes of this node. Entries
 * of `args` may be NULL: left out. */
#define HN_MAX_INNER_ARGS 9
typedef hone_status (*hn_eval_fn)(hn_eval *c);
hone_status hn_eval_as(hn_eval *c, hn_eval_fn fn, uint32_t n_args, const hn_array *const *args,
                       hn_array *ret);
/* The same with the outputs of this node. */
hone_status hn_eval_with(hn_eval *c, hn_eval_fn fn, uint32_t n_args, const hn_array *const *args);

/* An array in scratch, data uninitialized; `dims` must outlive it. */
hone_status hn_scratch_array(hn_eval *c, hn_dtype dtype, int32_t rank, const int64_t *dims,
                             hn_array *out);
/* The argument as floats, NULL when it is left out. False: out of memory. */
bool hn_arg_f32s(hn_eval *c, uint32_t arg, const float **out);
/* A copy of the argument as floats that may be changed; NULL: out of memory. */
float *hn_arg_copy_f32(hn_eval *c, uint32_t arg);

/* Fails unless the argument is left out or has n elements; inference does not look at every
 * argument. */
hone_status hn_want_elems(hn_eval *c, uint32_t arg, uint64_t n);
/* Size of an axis; -1, which no axis has, where there is none. */
static inline int64_t hn_dim_or(const hn_array *a, int32_t axis) {
    return axis >= 0 && axis < a->rank ? a->dims[axis] : -1;
}
/* Fails unless the argument has these dimensions (or is left out). */
hone_status hn_want_dims(hn_eval *c, uint32_t arg, int32_t rank, const int64_t *dims);
/* Fails unless the argument is left out or broadcasts to the shape of y. */
hone_status hn_want_broadcast(hn_eval *c, uint32_t arg, const hn_array *y);

/* Scale in one argument, zero point in another, which may be left out. */
hn_affine hn_affine_args(const hn_eval *c, uint32_t scale, uint32_t zero);
void hn_dequantize_f32(const hn_array *q, hn_affine by, uint64_t begin, uint64_t n, float *out);
/* To the nearest, ties to even, saturating; `real` is overwritten. */
void hn_quantize_f32(float *real, hn_affine by, hn_array *q, uint64_t begin, uint64_t n);
/* A whole argument as real numbers, of the same shape, in scratch. */
hone_status hn_dequantize_array(hn_eval *c, const hn_array *q, hn_affine by, hn_array *out);

/* [N, spatial..., C] as [N, C, spatial...] in scratch; dims holds HN_MAX_RANK entries and must
 * outlive `out`. */
hone_status hn_channels_first(hn_eval *c, const hn_array *x, int64_t *dims, hn_array *out);
/* The way back, into y. */
hone_status hn_channels_last(hn_eval *c, const hn_array *x, hn_array *y);
/* An array for results with channels first that will go to y, of another type. */
hone_status hn_channels_first_like(hn_eval *c, const hn_array *y, hn_dtype dtype, int64_t *dims,
                                   hn_array *out);

/* Weights [directions, in, gates] as floats [directions, gates, in]; scales and zero points stand
 * per direction, or per direction and gate. */
void hn_widen_gates(const hn_array *w, const hn_array *scale, const hn_array *zero, float *out);
/* An LSTM whose states are rounded to bytes where they meet their weights. */
hone_status hn_eval_coarse_lstm(hn_eval *c);

/* An activation by its name; parameters that are NULL are the operator's defaults. */
typedef struct hn_activation {
    hn_bytes name; /* empty: none */
    const float *a, *b;
} hn_activation;
/* Over y in place. */
hone_status hn_activate(hn_eval *c, const hn_activation *act, hn_array *y);
/* Limits and unary function of an epilogue; false, and neither is set, when the activation has no
 * loop over floats on this processor. */
bool hn_activation_epilogue(const hn_activation *act, hn_epilogue_f32 *out);

/* The activation that attribute `activation` names, over y in place; none when it is absent. Its
 * parameters are the list activation_params, or activation_alpha, activation_beta and
 * activation_gamma. */
hone_status hn_fused_activation(hn_eval *c, hn_array *y);
/* The same as hn_activation_epilogue. */
bool hn_fused_epilogue(const hn_eval *c, hn_epilogue_f32 *out);

/* y[i] = (x[i] - mean) * gamma / sqrt(variance + epsilon) + beta over one row; simplified: no mean.
 * Returns mean and 1 / deviation. */
void hn_normalize_row(const hn_norm_row_f32 *norm, uint64_t n, const float *x, float *y,
                      float *mean, float *inverse);

#endif /* HN_MS_EVAL_H */
