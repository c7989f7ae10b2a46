/* L1: arithmetic over pointers, sizes and strides. Knows no graph and no operator. Results never
 * depend on the number of threads.
 *
 * Every function exists once per type: f32, f64, and u32, u64 for integers of either sign
 * (arithmetic wraps, as two's complement does). Pointers to int32_t may be passed as pointers to
 * uint32_t, which C allows to alias. */
#ifndef HN_KERNEL_H
#define HN_KERNEL_H

#include "base/base.h"

#define HN_KERNEL_TYPES(X) X(f32, float) X(f64, double) X(u32, uint32_t) X(u64, uint64_t)

/* ys[i] = f(xs[i]); ys may be xs. a and b are the function's parameters. */
typedef void (*hn_unary_fn_f32)(const float *xs, float *ys, uint64_t n, float a, float b);

/* What happens to float outputs before they leave the cache:
 *   y = unary(limited(y + bias + col_bias + residual), a, b)
 * where limited values are no less than `least` and no more than `most`. NaN stays NaN within
 * limits. All zeros: nothing happens. */
typedef struct hn_epilogue_f32 {
    const float *bias;       /* one per row; NULL: none */
    const float *col_bias;   /* one per column: channel of channels-last outputs; NULL: none */
    const float *residual;   /* NULL: none */
    int64_t residual_stride; /* elements from one row of it to the next; 0: as in the output, or
                                dense where that has a stride of its own */
    bool is_limited;
    float least, most;
    hn_unary_fn_f32 unary; /* NULL: none */
    float a, b;            /* its parameters */
} hn_epilogue_f32;

/* The same with infinite limits where it has none, for kernels that always apply them. */
hn_epilogue_f32 hn_epilogue_limited_f32(const hn_epilogue_f32 *e);
/* The unary function, if there is one, over n outputs of each row in place. */
void hn_epilogue_unary_f32(const hn_epilogue_f32 *e, int64_t n_rows, int64_t n, int64_t stride,
                           float *y);
/* The limits before it, for kernels that do not apply them in registers. */
void hn_epilogue_activate_f32(const hn_epilogue_f32 *e, int64_t n_rows, int64_t n, int64_t stride,
                              float *y);

/* ---- matrix product -------------------------------------------------------------------------- */

/* The type of the elements of a packed right side. Products are accumulated in floats anyway. */
typedef enum hn_stored {
    HN_STORED_F32,
    HN_STORED_F16,
    HN_STORED_BF16,
    HN_STORED_BF16_PAIRS, /* that are multiplied by a left side rounded to bfloat16, too */
    HN_N_STORED
} hn_stored;

/* c[m, n] = a[m, k] * b[k, n], or c += with `add`. Strides count elements. The right side may be a
 * matrix that is never stored: `fill` then writes rows k0 .. k0+nk and columns j0 .. j0+nj of it,
 * at out[(k - k0) * out_stride + j - j0]. It is called by many threads. */
#define HN_GEMM_JOB(name, T)                                                                      \
  typedef void (*hn_fill_##name)(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, \
                                 T *out, int64_t out_stride);                                     \
  /* Columns j0 .. j1 in panels of `width` columns, each of nk rows that lie side by side. What   \
   * stands in columns past the last does not matter. */                                          \
  typedef void (*hn_panels_##name)(const void *ctx, int64_t k0, int64_t nk, int64_t j0,           \
                                   int64_t j1, int64_t width, T *out);                            \
  typedef struct hn_gemm_job_##name {                                                             \
    int64_t m, n, k;                                                                              \
    const T *a;                                                                                   \
    int64_t a_row, a_col;                                                                         \
    const T *b; /* with its strides; not read when there is `fill` */                             \
    int64_t b_row, b_col;                                                                         \
    hn_fill_##name fill;                                                                          \
    const void *fill_ctx;                                                                         \
    T *c;                                                                                         \
    int64_t c_row; /* columns of c are contiguous */                                              \
    bool add;                                                                                     \
    /* a and b as hn_gemm_pack_* packed them; floats only, NULL: not packed */                    \
    const T *packed_a;                                                                            \
    const void *packed_b;                                                                         \
    hn_stored packed_as; /* what packed_b is made of */                                           \
    /* Writes the same as `fill`, in panels; floats only, NULL: `fill` does */                    \
    hn_panels_##name panels;                                                                      \
    const hn_epilogue_f32 *epilogue; /* floats only; NULL: none */                                \
    /* Called for each part of c when it is complete and still in the cache; NULL: not called */  \
    hn_tile_fn after;                                                                             \
    void *after_ctx;                                                                              \
  } hn_gemm_job_##name;                                                                           \
  void hn_gemm_##name(hn_pool *pool, const hn_gemm_job_##name *job);                              \
  void hn_gemm_plain_##name(hn_pool *pool, const hn_gemm_job_##name *job);
HN_KERNEL_TYPES(HN_GEMM_JOB)
#undef HN_GEMM_JOB

/* A right side that serves many products is packed once: into a buffer of so many floats (0: this
 * processor has no use for it), from the b and sizes n, k of a job. */
int64_t hn_gemm_packed_elems_f32(int64_t n, int64_t k);
void hn_gemm_pack_f32(const hn_gemm_job_f32 *job, float *out);
/* The same number of elements in half precision. False: one of them is too large for it. */
bool hn_gemm_pack_half_f32(const hn_gemm_job_f32 *job, hn_stored as, uint16_t *out);
/* Whether this processor multiplies bfloat16; then a right side may be packed for it, into a buffer
 * of so many floats. */
bool hn_gemm_has_bf16(void);
int64_t hn_gemm_packed_elems_bf16(int64_t n, int64_t k);
void hn_gemm_pack_bf16(const hn_gemm_job_f32 *job, float *out);
/* The same for a left side, of the a and sizes m, k of a job. */
int64_t hn_gemm_packed_left_elems_f32(int64_t m, int64_t k);
void hn_gemm_pack_left_f32(const hn_gemm_job_f32 *job, float *out);

/* ---- rows ------------------------------------------------------------------------------------- */

/* y = exp(x - largest) / sum of those, over n elements; y may be x. A row of which every element is
 * -infinity gives NaN. False: not on this processor. */
bool hn_softmax_row_f32(int64_t n, const float *x, float *y);
/* False: not on this processor. */
bool hn_sum_row_f32(int64_t n, const float *x, float *sum);
/* Whether the processor has the loops of this section, which say false otherwise. */
bool hn_rows_are_fast_f32(void);
/* Turns pairs (x[i], x[half + i]) by angles: y[i] = cosines[i] * x[i] - sines[i] * x[half + i],
 * y[half
 * + i] = sines[i] * x[i] + cosines[i] * x[half + i]. y may be x. */
bool hn_rotate_row_f32(int64_t half, const float *cosines, const float *sines, const float *x,
                       float *y);
/* y = (x - mean) * inverse * gamma + beta, where inverse is 1 / sqrt(variance + epsilon); without a
 * mean when it is `simplified`. gamma, beta: NULL for ones and zeros. y may be x. False: not on
 * this processor. */
typedef struct hn_norm_row_f32 {
    float epsilon;
    bool simplified;
    const float *gamma, *beta;
} hn_norm_row_f32;
bool hn_normalize_row_f32(const hn_norm_row_f32 *norm, int64_t n, const float *x, float *y,
                          float *mean, float *inverse);

/* ---- functions of one number ------------------------------------------------------------------ */

/* A fast loop for an operator of ops/eval/onnx/unary.def; NULL: there is none on this processor. */
hn_unary_fn_f32 hn_unary_find_f32(const char *op);

/* ---- convolution ----------------------------------------------------------------------------- */

#define HN_MAX_SPATIAL 62

/* A window over spatial axes; outermost axis first. Output o reads input o * stride -
 * pad + tap * dilation. */
typedef struct hn_window {
    int32_t n_axes;
    int64_t in[HN_MAX_SPATIAL], out[HN_MAX_SPATIAL], kernel[HN_MAX_SPATIAL];
    int64_t stride[HN_MAX_SPATIAL], dilation[HN_MAX_SPATIAL],
        pad[HN_MAX_SPATIAL];                   /* pad: in front */
    int64_t in_elems, out_elems, kernel_elems; /* products */
} hn_window;

/* The output indices [*begin, *end) along an axis whose window element `tap` lies inside the input.
 */
void hn_window_inside(const hn_window *s, int32_t axis, int64_t tap, int64_t *begin, int64_t *end);
/* Splits a flat position into indices of `n` sizes. */
void hn_window_split(int32_t n, const int64_t *sizes, int64_t flat, int64_t *at);
/* Where the line of a plane begins that window element `taps` reads for output `at`, but for the
 * last axis; -1: it lies in the padding. */
int64_t hn_window_line(const hn_window *s, const int64_t *taps, const int64_t *at);
/* Next position in row-major order. */
void hn_window_step(int32_t n, const int64_t *sizes, int64_t *at);

/* y[batch, filters, out] = conv of x[batch, channels, in] with w[filters, channels/groups, kernel];
 * `bias` may be NULL, and so may `epilogue`, which only floats have and whose own biases do not
 * count. */
typedef struct hn_conv_form_f32 hn_conv_form_f32; /* conv/conv_form.h */
#define HN_CONV_JOB(name, T)                                                             \
  typedef struct hn_conv_job_##name {                                                    \
    const hn_window *window;                                                             \
    int64_t batch, channels, filters, groups;                                            \
    const T *x, *w, *bias;                                                               \
    const T *packed_w; /* floats; see below */                                           \
    T *y;                                                                                \
    const hn_epilogue_f32 *epilogue;                                                     \
    const hn_conv_form_f32 *form; /* of this job; floats only, NULL: read in the call */ \
  } hn_conv_job_##name;                                                                  \
  void hn_conv_##name(hn_pool *pool, const hn_conv_job_##name *job);
HN_KERNEL_TYPES(HN_CONV_JOB)
#undef HN_CONV_JOB

/* Filters that serve many convolutions are packed once: into a buffer of so many floats (0: no use
 * for it), from the w and sizes channels, filters, groups and kernel_elems of a job. A job with
 * packed_w does not read w. */
int64_t hn_conv_packed_elems_f32(const hn_conv_job_f32 *job);
void hn_conv_pack_f32(const hn_conv_job_f32 *job, float *out);

/* The largest of each window of n_planes planes; the padding counts for nothing. A window with NaN
 * gives NaN. False: not on this processor, or not for these sizes. */
bool hn_pool_max_f32(hn_pool *pool, const hn_window *s, int64_t n_planes, const float *x, float *y);

#endif /* HN_KERNEL_H */
