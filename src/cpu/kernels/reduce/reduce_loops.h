/* Inside and above cpu/kernels: many floats reduced to one, and weighted sums of rows. Sums grow in
 * blocks whose sizes are fixed, so that errors stay small and results do not depend on who asks. */
#ifndef HN_FOLDS_H
#define HN_FOLDS_H

#include "base/base.h"

/* Sums of x, |x| and x * x; the largest and the smallest, where NaN wins. Nothing folds to 0 and to
 * infinities. */
typedef enum hn_reduce_kind {
    HN_REDUCE_SUM,
    HN_REDUCE_ABS,
    HN_REDUCE_SQUARE,
    HN_REDUCE_MAX,
    HN_REDUCE_MIN,
    HN_REDUCE_COUNT
} hn_reduce_kind;

/* Of n elements that lie together. */
typedef float (*hn_reduce_run_fn)(int64_t n, const float *x);
/* out[i] of n_rows elements x[r * row + i], for n neighbours. */
typedef void (*hn_reduce_rows_fn)(int64_t n_rows, int64_t row, const float *x, int64_t n,
                                  float *out);
/* out[i] = sum over t of w[t] * x[offsets[t] + i], for n elements. out and x do not overlap. */
typedef void (*hn_weigh_rows_fn)(int64_t n, int64_t n_rows, const float *x, const int64_t *offsets,
                                 const float *w, float *out);

typedef struct hn_reduce_loops_f32 {
    hn_reduce_run_fn run[HN_REDUCE_COUNT];
    hn_reduce_rows_fn rows[HN_REDUCE_COUNT];
    hn_weigh_rows_fn weigh_rows;
} hn_reduce_loops_f32;
const hn_reduce_loops_f32 *hn_reduce_loops_find_f32(void); /* the best for this processor */
extern const hn_reduce_loops_f32 hn_reduce_loops_f32__scalar;

#endif /* HN_FOLDS_H */
