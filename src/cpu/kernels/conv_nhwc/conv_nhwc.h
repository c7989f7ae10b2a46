/* Float convolutions of channels-last images:
 *   y[batch, out..., filters] = conv of x[batch, in..., channels] with
 *                               w[filters, channels / groups, kernel...]
 * with a bias, a residual and an activation applied before an output leaves the cache. Results do
 * not depend on the number of threads. */
#ifndef HN_CONV_NHWC_H
#define HN_CONV_NHWC_H

#include "cpu/kernels/kernel.h"

typedef enum hn_conv_nhwc_method {
    HN_CONV_NHWC_PRODUCT,   /* windows times filters; any convolution */
    HN_CONV_NHWC_WINOGRAD,  /* where hn_winograd_can; needs packed_w */
    HN_CONV_NHWC_DEPTHWISE, /* one channel per group */
    HN_CONV_NHWC_BF16       /* where hn_bf16_nhwc_can, and only when asked for; needs packed_w */
} hn_conv_nhwc_method;

typedef struct hn_conv_nhwc_job {
    const hn_window *window;
    int64_t batch, channels, filters, groups;
    const float *x;
    const float *w; /* as the file has it; not read when there is packed_w */
    hn_conv_nhwc_method method;
    const float *packed_w; /* packed for `method`; NULL: not packed */
    float *y;
    hn_epilogue_f32 epilogue; /* without bias per row */
    float *scratch;           /* hn_conv_nhwc_scratch_elems floats */
    int64_t x_step, y_step;   /* elements from one pixel to the next; 0: pixels are contiguous */
} hn_conv_nhwc_job;

static inline int64_t hn_conv_nhwc_x_stride(const hn_conv_nhwc_job *job) {
    return job->x_step ? job->x_step : job->channels;
}
static inline int64_t hn_conv_nhwc_y_stride(const hn_conv_nhwc_job *job) {
    return job->y_step ? job->y_step : job->filters;
}
static inline int64_t hn_conv_nhwc_residual_stride(const hn_conv_nhwc_job *job) {
    return job->epilogue.residual_stride ? job->epilogue.residual_stride : job->filters;
}

/* The best method by the sizes of a job alone; window->out_elems is 0 when the size of the map is
 * not known yet. */
hn_conv_nhwc_method hn_conv_nhwc_choose(const hn_conv_nhwc_job *job);
/* Whether a method can do a job of known sizes on this processor with packed filters, be it the
 * best one or not. */
bool hn_conv_nhwc_fits(const hn_conv_nhwc_job *job, hn_conv_nhwc_method method);
const char *hn_conv_nhwc_method_name(int method); /* 0, 1, ...; NULL past the last */
/* Filters that serve many convolutions are packed once: into a buffer of so many floats (0: nothing
 * is packed), from w, sizes and method of a job. */
int64_t hn_conv_nhwc_packed_elems(const hn_conv_nhwc_job *job);
void hn_conv_nhwc_pack(const hn_conv_nhwc_job *job, float *out);
/* What one call needs, given that packed_w is NULL or not. */
int64_t hn_conv_nhwc_scratch_elems(const hn_conv_nhwc_job *job, int n_threads);
/* Neither x, filters, residual nor scratch memory overlap y. */
void hn_conv_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job);
/* The same from w, element by element; needs no scratch memory. */
void hn_conv_nhwc_plain_f32(hn_pool *pool, const hn_conv_nhwc_job *job);

/* ---- methods, for hn_conv_nhwc_f32 alone ------------------------------------------------------- */

/* Windows of 3 x 3 that move by one. */
bool hn_winograd_can(const hn_conv_nhwc_job *job);
/* And whether it is faster than a product, by sizes alone. */
bool hn_winograd_fits(const hn_conv_nhwc_job *job);
int64_t hn_winograd_packed_elems(const hn_conv_nhwc_job *job);
void hn_winograd_pack(const hn_conv_nhwc_job *job, float *out);
int64_t hn_winograd_scratch_elems(const hn_conv_nhwc_job *job, int n_threads);
void hn_winograd_f32(hn_pool *pool, const hn_conv_nhwc_job *job);

/* channels == groups. Without packed_w the filters are packed into scratch, which then has
 * hn_depthwise_nhwc_packed_elems floats. */
int64_t hn_depthwise_nhwc_packed_elems(const hn_conv_nhwc_job *job);
void hn_depthwise_nhwc_pack(const hn_conv_nhwc_job *job, float *out);
void hn_depthwise_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job);

/* 1x1 convolutions that may be computed in bfloat16. */
bool hn_bf16_nhwc_can(const hn_conv_nhwc_job *job);
int64_t hn_bf16_nhwc_packed_elems(const hn_conv_nhwc_job *job);
void hn_bf16_nhwc_pack(const hn_conv_nhwc_job *job, float *out);
void hn_bf16_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job);

#endif /* HN_CONV_NHWC_H */
