/* Channels-last convolution in plain C: element by element, over any number of spatial axes. The
 * other methods are tested against it. */
#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

typedef struct last_run {
    const hn_conv_nhwc_job *job;
    const hn_pool *pool; /* says when to give up */
} last_run;

/* The pixel of an image that window element `taps` reads for output `at`; -1 in the padding. */
static int64_t last_pixel(const hn_window *s, const int64_t *at, const int64_t *taps) {
    int64_t pixel = 0;
    for (int32_t a = 0; a < s->n_axes; a++) {
        int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return -1;
        pixel = pixel * s->in[a] + i;
    }
    return pixel;
}

/* y[f] += what one window element adds, for every filter; x is the pixel it reads. */
static void add_tap(const hn_conv_nhwc_job *job, const float *x, int64_t tap, float *y) {
    int64_t channels = job->channels / job->groups, per_group = job->filters / job->groups;
    int64_t step = job->window->kernel_elems;
    for (int64_t f = 0; f < job->filters; f++) {
        const float *from = x + f / per_group * channels, *w = job->w + f * channels * step + tap;
        float sum = 0;
        for (int64_t c = 0; c < channels; c++)
            sum += from[c] * w[c * step];
        y[f] += sum;
    }
}

static void pixel_epilogue(const hn_conv_nhwc_job *job, int64_t pixel, float *y) {
    const hn_epilogue_f32 *e = &job->epilogue;
    int64_t at = pixel * hn_conv_nhwc_residual_stride(job);
    for (int64_t i = 0; e->residual && i < job->filters; i++)
        y[i] += e->residual[at + i];
    hn_epilogue_activate_f32(e, 1, job->filters, job->filters, y);
}

static void plain_pixels(void *ctx, int64_t begin, int64_t end) {
    const last_run *run = ctx;
    const hn_conv_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    int64_t at[HN_MAX_SPATIAL];
    for (int64_t p = begin; p < end && !hn_pool_is_stopped(run->pool); p++) {
        int64_t x_step = hn_conv_nhwc_x_stride(job);
        const float *image = job->x + p / s->out_elems * s->in_elems * x_step;
        float *y = job->y + p * hn_conv_nhwc_y_stride(job);
        int64_t taps[HN_MAX_SPATIAL] = {0};
        hn_window_split(s->n_axes, s->out, p % s->out_elems, at);
        for (int64_t f = 0; f < job->filters; f++)
            y[f] = job->epilogue.col_bias ? job->epilogue.col_bias[f] : 0;
        for (int64_t t = 0; t < s->kernel_elems; t++, hn_window_step(s->n_axes, s->kernel, taps)) {
            int64_t pixel = last_pixel(s, at, taps);
            if (pixel >= 0)
                add_tap(job, image + pixel * x_step, t, y);
        }
        pixel_epilogue(job, p, y);
    }
}

void hn_conv_nhwc_plain_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    last_run run = {job, pool};
    if (job->window->out_elems > 0 && job->filters > 0)
        hn_pool_for(pool, job->batch * job->window->out_elems, 1, plain_pixels, &run);
}
