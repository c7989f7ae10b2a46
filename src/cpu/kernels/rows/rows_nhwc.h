/* Channels-last floats as rows of channels: x[n_rows, channels]. Results do not depend on the
 * number of threads. */
#ifndef HN_ROWS_NHWC_H
#define HN_ROWS_NHWC_H

#include "cpu/kernels/kernel.h"

/* y = (x - center) * scale + shift with one of each per channel, then limits and unary function of
 * the epilogue; y may be x. */
typedef struct hn_scale_rows_job {
    int64_t n_rows, channels;
    const float *x, *center, *scale, *shift;
    float *y;
    hn_epilogue_f32 epilogue;
    int64_t x_step, y_step; /* from one row to the next */
} hn_scale_rows_job;
void hn_scale_rows_f32(hn_pool *pool, const hn_scale_rows_job *job);

/* The mean of each channel over all rows, and the mean of the squared distances from it. */
typedef struct hn_moments_rows_job {
    int64_t n_rows, channels;
    const float *x;
    int64_t x_step; /* from one row to the next */
    double *mean, *variance;
    float *scratch; /* hn_moments_rows_scratch_elems */
} hn_moments_rows_job;
int64_t hn_moments_rows_scratch_elems(int64_t n_rows, int64_t channels);
void hn_moments_rows_f32(hn_pool *pool, const hn_moments_rows_job *job);

/* ---- tiers, for rows_nhwc.c alone ------------------------------------------------------------ */

typedef struct hn_rows_nhwc_f32 {
    void (*scale)(int64_t n_rows, const hn_scale_rows_job *job, const float *x, float *y);
    void (*sum)(int64_t n_rows, int64_t channels, const float *x, int64_t step, float *sums);
    /* Sums of (x - mean)^2, and of x - mean, which tell what rounding did to the mean. */
    void (*spread)(int64_t n_rows, int64_t channels, const float *x, int64_t step,
                   const float *mean, float *squares, float *rests);
} hn_rows_nhwc_f32;
const hn_rows_nhwc_f32 *hn_rows_nhwc_pick_f32(void); /* the best for this processor */
extern const hn_rows_nhwc_f32 hn_rows_nhwc_f32__scalar;

#endif /* HN_ROWS_NHWC_H */
