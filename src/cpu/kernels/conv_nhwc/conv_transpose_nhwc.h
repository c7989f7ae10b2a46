/* Transposed convolutions of channels-last floats:
 *   y[batch, image..., filters] from x[batch, positions..., channels] and
 *   w[channels, filters, kernel...]
 * Each position adds a window to the image. Results do not depend on the number of threads. */
#ifndef HN_CONV_TRANSPOSE_NHWC_H
#define HN_CONV_TRANSPOSE_NHWC_H

#include "cpu/kernels/kernel.h"

typedef struct hn_conv_transpose_nhwc_job {
    const hn_window *window; /* seen from the windows: in is the image, out are the positions */
    int64_t batch, channels, filters;
    const float *x;
    const float *w;        /* as the file has it; not looked at when there is packed_w */
    const float *packed_w; /* NULL: filters were not packed */
    const float *bias;     /* NULL: none */
    float *y;
    float *scratch;         /* hn_conv_transpose_nhwc_scratch_elems */
    int64_t x_step, y_step; /* elements from one pixel to the next; 0: pixels lie side by side */
} hn_conv_transpose_nhwc_job;

/* Filters that serve many are packed once: room for so many floats (0: no use for it), filled
 * from w, channels, filters, kernel, strides and dilations of a job. */
int64_t hn_conv_transpose_nhwc_packed_elems(const hn_conv_transpose_nhwc_job *job);
void hn_conv_transpose_nhwc_pack(const hn_conv_transpose_nhwc_job *job, float *out);
int64_t hn_conv_transpose_nhwc_scratch_elems(const hn_conv_transpose_nhwc_job *job);
void hn_conv_transpose_nhwc_f32(hn_pool *pool, const hn_conv_transpose_nhwc_job *job);

#endif /* HN_CONV_TRANSPOSE_NHWC_H */
