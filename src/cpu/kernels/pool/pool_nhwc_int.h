/* Inside cpu/kernels: pools of channels-last floats. */
#ifndef HN_POOL_NHWC_INT_H
#define HN_POOL_NHWC_INT_H

#include "cpu/kernels/pool/pool_nhwc.h"

/* Elements of the window at output `out` that an average counts along one axis. */
int64_t hn_pool_nhwc_count(const hn_pool_nhwc_job *job, int32_t axis, int64_t out);

/* Pixels at x + i * row + j * col, i < n_rows, j < n_cols. */
typedef struct hn_pixels_f32 {
    const float *x;
    int64_t n_rows, row, n_cols, col;
} hn_pixels_f32;

/* One output pixel, channel by channel. With `go_on` what stands in y counts, too. */
typedef void (*hn_pool_nhwc_take)(const hn_pixels_f32 *from, int64_t channels, bool go_on,
                                  float *y);

/* Outputs of one row whose windows lie inside the input along the row; strides count floats. */
typedef struct hn_pool_row {
    const float *x; /* the first column of the first window, in the first row that lies inside */
    int64_t n_rows, row, col;
    int64_t n_outs, channels;
    float *y;
    int64_t y_step;
    float count; /* by which sums are divided */
} hn_pool_row;
typedef void (*hn_pool_row_fn)(const hn_pool_row *r);

typedef struct hn_pool_nhwc_loops {
    hn_pool_nhwc_take most, sum;
    void (*divide)(int64_t channels, float by, float *y);
    /* For windows of such a width that move so far; NULL: there is none. */
    hn_pool_row_fn (*find_row)(hn_pool_nhwc_kind kind, int64_t width, int64_t stride);
} hn_pool_nhwc_loops;
/* NULL: plain C is best. */
const hn_pool_nhwc_loops *hn_pool_nhwc_loops_pick(void);

#endif /* HN_POOL_NHWC_INT_H */
