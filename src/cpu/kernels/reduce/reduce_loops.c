/* Reductions in plain C, sums in double, and with vectors. */
#include "cpu/kernels/reduce/reduce_loops.h"

#include <math.h>

/* Name, where it starts, one step. */
#define FOLD_ROWS(X)                                     \
  X(SUM, 0, acc + x)                                     \
  X(ABS, 0, acc + fabs(x))                               \
  X(SQUARE, 0, acc + x * x)                              \
  X(MAX, -(double)INFINITY, x > acc || x != x ? x : acc) \
  X(MIN, (double)INFINITY, x < acc || x != x ? x : acc)

#define DEFINE_FOLD(name, start, step)                                                  \
  static float fold_run_##name(int64_t n, const float *xs) {                            \
    double acc = start;                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                   \
      double x = (double)xs[i];                                                         \
      acc = step;                                                                       \
    }                                                                                   \
    return (float)acc;                                                                  \
  }                                                                                     \
  static void fold_rows_##name(int64_t n_rows, int64_t row, const float *xs, int64_t n, \
                               float *out) {                                            \
    for (int64_t i = 0; i < n; i++) {                                                   \
      double acc = start;                                                               \
      for (int64_t r = 0; r < n_rows; r++) {                                            \
        double x = (double)xs[r * row + i];                                             \
        acc = step;                                                                     \
      }                                                                                 \
      out[i] = (float)acc;                                                              \
    }                                                                                   \
  }
FOLD_ROWS(DEFINE_FOLD)

static void weigh_rows_plain(int64_t n, int64_t n_rows, const float *x, const int64_t *offsets,
                             const float *w, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t t = 0; t < n_rows; t++)
            sum += w[t] * x[offsets[t] + i];
        out[i] = sum;
    }
}

#define RUN_ROW(name, start, step) [HN_REDUCE_##name] = fold_run_##name,
#define ROWS_ROW(name, start, step) [HN_REDUCE_##name] = fold_rows_##name,
const hn_reduce_loops_f32 hn_reduce_loops_f32__scalar = {
    {FOLD_ROWS(RUN_ROW)}, {FOLD_ROWS(ROWS_ROW)}, weigh_rows_plain};

/* ---- with vectors --------------------------------------------------------------------------- */

/* The numbers of the elements of a vector. */
static const float reduce_lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define SIMD_TEMPLATE "cpu/kernels/reduce/reduce_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
