/* Pools of channels-last floats: y[batch, out..., channels] from x[batch, in..., channels]. */
#ifndef HN_POOL_NHWC_H
#define HN_POOL_NHWC_H

#include "cpu/kernels/kernel.h"

typedef enum hn_pool_nhwc_kind { HN_POOL_NHWC_MAX, HN_POOL_NHWC_AVERAGE } hn_pool_nhwc_kind;

typedef struct hn_pool_nhwc_job {
    hn_pool_nhwc_kind kind;
    const hn_window *window;
    int64_t batch, channels;
    const float *x;
    float *y;
    /* Averages that count the padding, too: how much of it stands behind each axis. NULL: only what
     * lies inside the input counts. A window may reach past the padding, as ceil_mode lets it. */
    const int64_t *pad_end;
    int64_t x_step, y_step; /* elements from one pixel to the next; 0: pixels lie side by side */
} hn_pool_nhwc_job;

static inline int64_t hn_pool_nhwc_x_stride(const hn_pool_nhwc_job *job) {
    return job->x_step ? job->x_step : job->channels;
}
static inline int64_t hn_pool_nhwc_y_stride(const hn_pool_nhwc_job *job) {
    return job->y_step ? job->y_step : job->channels;
}

/* The largest of each window, NaN where one is, or the average. A window without elements gives
 * -infinity, or NaN. */
void hn_pool_nhwc_f32(hn_pool *pool, const hn_pool_nhwc_job *job);
void hn_pool_nhwc_plain_f32(hn_pool *pool, const hn_pool_nhwc_job *job); /* the same, plain C */

/* y[batch, channels] from x[batch, elems, channels]: one window over everything. */
typedef struct hn_pool_global_nhwc_job {
    hn_pool_nhwc_kind kind;
    int64_t batch, elems, channels;
    const float *x;
    float *y;
    float *scratch; /* hn_pool_global_nhwc_scratch_elems of them */
} hn_pool_global_nhwc_job;
int64_t hn_pool_global_nhwc_scratch_elems(const hn_pool_global_nhwc_job *job);
void hn_pool_global_nhwc_f32(hn_pool *pool, const hn_pool_global_nhwc_job *job);
void hn_pool_global_nhwc_plain_f32(hn_pool *pool, const hn_pool_global_nhwc_job *job);

#endif /* HN_POOL_NHWC_H */
