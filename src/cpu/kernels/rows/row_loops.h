/* Loops over floats that have a version for each instruction set. */
#ifndef HN_VEC_H
#define HN_VEC_H

#include "cpu/kernels/kernel.h"

/* Brings what lies there into the first cache, or into the second; any address will do. */
#if defined(__GNUC__)
#  define HN_PREFETCH(p) __builtin_prefetch(p)
#  define HN_PREFETCH_SECOND(p) __builtin_prefetch(p, 0, 2)
#else
#  define HN_PREFETCH(p) ((void)(p))
#  define HN_PREFETCH_SECOND(p) ((void)(p))
#endif

typedef struct hn_unary_loop {
    const char *op;
    hn_unary_fn_f32 fn;
} hn_unary_loop;

typedef struct hn_unary_loops_f32 {
    const hn_unary_loop *maps; /* ends with a row without a name */
} hn_unary_loops_f32;
const hn_unary_loops_f32 *hn_unary_loops_pick_f32(void); /* NULL: plain C is best */

#define HN_TAP_SUMS_SLACK 64 /* elements */

typedef struct hn_piece {
    int32_t from, to, n;
} hn_piece;

typedef struct hn_row_loops_f32 {
    /* out[i] = start + sum over t of w[t] * x[i + offsets[t]]. Works in pieces of up to
     * HN_TAP_SUMS_SLACK: so many elements past the last one of x and of out may be touched. */
    void (*tap_sums)(int64_t n, const float *x, int64_t n_taps, const int64_t *offsets,
                     const float *w, float start, float *out);
    /* out[i] = the largest x[i + offsets[t]], NaN where one is; with the same slack. */
    void (*tap_most)(int64_t n, const float *x, int64_t n_taps, const int64_t *offsets, float *out);
    /* Row t of out, for each tap: pieces of x + offsets[t], in ascending order of `to`. Less than
     * HN_TAP_SUMS_SLACK elements past each piece of x are read, and as many past each piece of out
     * are overwritten: those after it must be written later. */
    void (*tap_rows)(int64_t n_pieces, const hn_piece *pieces, const float *x, int64_t n_taps,
                     const int64_t *offsets, float *out, int64_t out_row);
    /* out[i] = x[2 * i] */
    void (*every_other)(int64_t n, const float *x, float *out);
    float (*sum)(int64_t n, const float *x);
    /* Rows; see kernel.h. */
    void (*softmax)(int64_t n, const float *x, float *y);
    void (*log_softmax)(int64_t n, const float *x, float *y);
    void (*normalize)(const hn_norm_row_f32 *norm, int64_t n, const float *x, float *y, float *mean,
                      float *inverse);
    void (*rotate)(int64_t half, const float *cosines, const float *sines, const float *x,
                   float *y);
    /* y = x + z + b; b may be NULL, y may be any of them. */
    void (*add_rows)(int64_t n, const float *x, const float *z, const float *b, float *y);
    /* y[i] += b, and += z[i] when there is a z. */
    void (*add_to)(int64_t n, float *y, float b, const float *z);
} hn_row_loops_f32;
const hn_row_loops_f32 *hn_row_loops_pick_f32(void); /* NULL: plain C is best */

#endif /* HN_VEC_H */
