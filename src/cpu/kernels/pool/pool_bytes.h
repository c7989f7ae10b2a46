/* Pools of channels-last bytes: y[batch, out..., channels] from x[batch, in..., channels]. */
#ifndef HN_POOL_BYTES_H
#define HN_POOL_BYTES_H

#include "cpu/kernels/kernel.h"

typedef struct hn_pool_bytes_job {
    const hn_window *window;
    int64_t batch, channels;
    bool is_signed;
    const uint8_t *x;
    uint8_t *y;
    int64_t x_step, y_step; /* from one pixel to the next; 0: pixels lie side by side */
    bool is_average; /* else the largest; a window without elements gives the smallest number */
    /* Averages: (sum - n * x_zero) * (scale / n), rounded, plus y_zero; scale is that of x divided
     * by that of y. */
    float scale;
    int32_t x_zero, y_zero;
    const int64_t *pad_end; /* they count padding, too: so much behind each axis. NULL: not */
} hn_pool_bytes_job;

void hn_pool_bytes(hn_pool *pool, const hn_pool_bytes_job *job);

#endif /* HN_POOL_BYTES_H */
