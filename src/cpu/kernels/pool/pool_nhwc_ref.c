/* Pools of channels-last floats in plain C: element by element, over any number of axes. */
#include "cpu/kernels/pool/pool_nhwc_int.h"

#include <math.h>

int64_t hn_pool_nhwc_count(const hn_pool_nhwc_job *job, int32_t axis, int64_t out) {
    const hn_window *s = job->window;
    int64_t first = out * s->stride[axis] - s->pad[axis], step = s->dilation[axis];
    int64_t least = job->pad_end ? -s->pad[axis] : 0;
    int64_t past = s->in[axis] + (job->pad_end ? job->pad_end[axis] : 0);
    int64_t begin = least > first ? (least - first + step - 1) / step : 0;
    int64_t end = past > first ? (past - first + step - 1) / step : 0;
    return HN_MAX(HN_MIN(end, s->kernel[axis]) - begin, 0);
}

static void pool_pixel_start(hn_pool_nhwc_kind kind, int64_t channels, float *y) {
    for (int64_t c = 0; c < channels; c++)
        y[c] = kind == HN_POOL_NHWC_MAX ? -HUGE_VALF : 0;
}

static void pool_pixel_take(hn_pool_nhwc_kind kind, int64_t channels, const float *x, float *y) {
    for (int64_t c = 0; c < channels; c++) {
        if (kind == HN_POOL_NHWC_AVERAGE)
            y[c] += x[c];
        else if (x[c] > y[c] || x[c] != x[c])
            y[c] = x[c];
    }
}

static void pool_pixel_end(hn_pool_nhwc_kind kind, int64_t channels, double count, float *y) {
    for (int64_t c = 0; kind == HN_POOL_NHWC_AVERAGE && c < channels; c++)
        y[c] = (float)(y[c] / count);
}

typedef struct pool_nhwc_plain {
    const hn_pool_nhwc_job *job;
    const hn_pool *pool;
} pool_nhwc_plain;

/* All window elements of the output `at`. */
static void pool_plain_pixel(const hn_pool_nhwc_job *job, const float *image, const int64_t *at,
                             float *y) {
    const hn_window *s = job->window;
    int64_t taps[HN_MAX_SPATIAL] = {0};
    double count = 1;
    pool_pixel_start(job->kind, job->channels, y);
    for (int64_t t = 0; t < s->kernel_elems; t++, hn_window_step(s->n_axes, s->kernel, taps)) {
        int64_t pixel = 0;
        bool inside = true;
        for (int32_t a = 0; a < s->n_axes && inside; a++) {
            int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
            inside = i >= 0 && i < s->in[a];
            pixel = pixel * s->in[a] + i;
        }
        if (inside)
            pool_pixel_take(job->kind, job->channels, image + pixel * hn_pool_nhwc_x_stride(job),
                            y);
    }
    for (int32_t a = 0; a < s->n_axes; a++)
        count *= (double)hn_pool_nhwc_count(job, a, at[a]);
    pool_pixel_end(job->kind, job->channels, count, y);
}

static void pool_plain_pixels(void *ctx, int64_t begin, int64_t end) {
    const pool_nhwc_plain *run = ctx;
    const hn_pool_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    for (int64_t p = begin; p < end && !hn_pool_is_stopped(run->pool); p++) {
        int64_t at[HN_MAX_SPATIAL];
        hn_window_split(s->n_axes, s->out, p % s->out_elems, at);
        pool_plain_pixel(job, job->x + p / s->out_elems * s->in_elems * hn_pool_nhwc_x_stride(job),
                         at, job->y + p * hn_pool_nhwc_y_stride(job));
    }
}

void hn_pool_nhwc_plain_f32(hn_pool *pool, const hn_pool_nhwc_job *job) {
    pool_nhwc_plain run = {job, pool};
    if (job->window->out_elems > 0)
        hn_pool_for(pool, job->batch * job->window->out_elems, 16, pool_plain_pixels, &run);
}

static void pool_plain_images(void *ctx, int64_t begin, int64_t end) {
    const hn_pool_global_nhwc_job *job = ctx;
    for (int64_t image = begin; image < end; image++) {
        float *y = job->y + image * job->channels;
        pool_pixel_start(job->kind, job->channels, y);
        for (int64_t e = 0; e < job->elems; e++)
            pool_pixel_take(job->kind, job->channels,
                            job->x + (image * job->elems + e) * job->channels, y);
        pool_pixel_end(job->kind, job->channels, (double)job->elems, y);
    }
}

void hn_pool_global_nhwc_plain_f32(hn_pool *pool, const hn_pool_global_nhwc_job *job) {
    hn_pool_global_nhwc_job copy = *job;
    hn_pool_for(pool, job->batch, 1, pool_plain_images, &copy);
}
