/* Channels-last convolutions with one channel per filter, over one or two axes: blocks of rows and
 * channels in parallel; within a block one or two vectors of channels at a time go down the rows,
 * so that what a window reads stays in the first cache until the rows below have read it, too.
 *
 * Measured with AVX-512, shares of the peak of multiply-adds: 3x3 over 14x14x384 62 %, over 7x7 47
 * % (a third of its window elements lie in the padding), 5x5 86 %, 7x7 100 %. Maps that do not fit
 * in the second cache (112x112x96, 56x56x144) are bound by the third: 30 GB/s of x and y. */
#include "cpu/kernels/depthwise/depthwise_nhwc.h"

#include <math.h>

enum {
    DEPTHWISE_BLOCK_ROWS = 8,
    DEPTHWISE_BLOCK_CHANNELS = 64,
    DEPTHWISE_STEPS = 1 << 17, /* multiply-adds of a block, at least */
    DEPTHWISE_MOST_WIDTH = 16, /* channels of a vector */
    DEPTHWISE_SPREAD = 28      /* outputs at a time where a channel has several filters */
};

static bool depthwise_fits(const hn_conv_nhwc_job *job) {
    return hn_depthwise_pick() && job->channels == job->groups && job->window->n_axes >= 1 &&
           job->window->n_axes <= 2;
}

/* ---- filters ----------------------------------------------------------------------------------- */

/* Vectors of channels that the filters are packed in: first the first filter of each channel,
 * then the second. */
static int64_t depthwise_vectors(const hn_conv_nhwc_job *job) {
    int64_t n = hn_depthwise_pick()->channels;
    return (job->channels + n - 1) / n;
}

int64_t hn_depthwise_nhwc_packed_elems(const hn_conv_nhwc_job *job) {
    return depthwise_fits(job) ? job->filters / job->channels * depthwise_vectors(job) *
                                     hn_depthwise_pick()->channels * job->window->kernel_elems
                               : 0;
}

void hn_depthwise_nhwc_pack(const hn_conv_nhwc_job *job, float *out) {
    int64_t width = hn_depthwise_pick()->channels, taps = job->window->kernel_elems;
    int64_t several = job->filters / job->channels, n_vectors = depthwise_vectors(job);
    for (int64_t v = 0; v < several * n_vectors; v++)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t lane = 0; lane < width; lane++) {
                int64_t channel = v % n_vectors * width + lane;
                int64_t filter = channel * several + v / n_vectors;
                *out++ = channel < job->channels ? job->w[filter * taps + t] : 0;
            }
}

/* ---- rows -------------------------------------------------------------------------------------- */

typedef struct depthwise_nhwc_run {
    const hn_conv_nhwc_job *job;
    const hn_pool *pool;
    const float *w;
    hn_depthwise_row_fn row;
    int64_t width, n_vectors; /* of channels */
    int64_t whole_vectors, most_vectors;
    int64_t several; /* filters per channel */
    int64_t w_row;   /* floats of a row of the window */
    int64_t block_rows, n_blocks;
    int64_t out_h, in_h, kernel_h, stride_h, dilation_h, pad_h;
    hn_depthwise_row common; /* what all rows share */
} depthwise_nhwc_run;

/* A row with several filters per channel goes through a buffer, from which its outputs are spread.
 */
static void spread_row(const depthwise_nhwc_run *run, hn_depthwise_row r) {
    const hn_epilogue_f32 e = r.epilogue;
    float *y = r.y;
    int64_t y_col = r.y_col;
    float sums[DEPTHWISE_SPREAD * DEPTHWISE_MOST_WIDTH];
    int64_t out_w = r.out1;
    r.y_col = run->width;
    r.epilogue = hn_epilogue_limited_f32(&(hn_epilogue_f32){0});
    for (r.out0 = 0; r.out0 < out_w; r.out0 = r.out1) {
        r.out1 = HN_MIN(r.out0 + DEPTHWISE_SPREAD, out_w);
        r.y = sums - r.out0 * r.y_col;
        run->row(&r);
        for (int64_t o = r.out0; o < r.out1; o++)
            for (int64_t c = 0; c < r.n_channels; c++) {
                float v = sums[(o - r.out0) * run->width + c];
                v += e.col_bias ? e.col_bias[c * run->several] : 0;
                v += e.residual ? e.residual[o * e.residual_stride + c * run->several] : 0;
                y[o * y_col + c * run->several] = v < e.least ? e.least : v > e.most ? e.most : v;
            }
    }
}

/* Output rows row0 .. row1 of one image, for some vectors of channels and the filter-th of each. */
static void depthwise_rows(const depthwise_nhwc_run *run, int64_t image, int64_t row0, int64_t row1,
                           int64_t vector, int64_t n_vectors, int64_t filter) {
    const hn_conv_nhwc_job *job = run->job;
    const hn_epilogue_f32 *e = &job->epilogue;
    int64_t channel = vector * run->width, step = run->dilation_h;
    hn_depthwise_row r = run->common;
    int64_t in_row = r.in_w * r.x_col;
    const float *x = job->x + image * run->in_h * in_row + channel;
    const float *w = run->w + (filter * run->n_vectors + vector) * run->kernel_h * run->w_row;
    filter += channel * run->several;
    r.n_channels = (int)HN_MIN(n_vectors * run->width, job->channels - channel);
    r.epilogue.col_bias = e->col_bias ? e->col_bias + filter : NULL;
    for (int64_t row = row0; row < row1; row++) {
        int64_t pixel = (image * run->out_h + row) * r.out1;
        int64_t top = row * run->stride_h - run->pad_h, begin = 0, end = run->kernel_h;
        for (; begin < end && top + begin * step < 0; begin++)
            ;
        for (; begin < end && top + (end - 1) * step >= run->in_h; end--)
            ;
        r.n_rows = end - begin;
        r.x = r.n_rows ? x + (top + begin * step) * in_row : x;
        r.w = w + begin * run->w_row;
        r.y = job->y + pixel * r.y_col + filter;
        if (e->residual)
            r.epilogue.residual = e->residual + pixel * r.epilogue.residual_stride + filter;
        if (run->several > 1)
            spread_row(run, r);
        else
            run->row(&r);
    }
}

static void depthwise_blocks(void *ctx, int64_t block0, int64_t block1, int64_t v0, int64_t v1) {
    const depthwise_nhwc_run *run = ctx;
    const hn_conv_nhwc_job *job = run->job;
    for (int64_t b = block0; b < block1 && !hn_pool_is_stopped(run->pool); b++) {
        int64_t image = b / run->n_blocks, row0 = b % run->n_blocks * run->block_rows;
        int64_t row1 = HN_MIN(row0 + run->block_rows, run->out_h);
        for (int64_t v = v0, n; v < v1; v += n) {
            n = v + run->most_vectors <= HN_MIN(v1, run->whole_vectors) ? run->most_vectors : 1;
            for (int64_t f = 0; f < run->several; f++)
                depthwise_rows(run, image, row0, row1, v, n, f);
        }
        int64_t first = (image * run->out_h + row0) * run->common.out1;
        int64_t c0 = v0 * run->width * run->several,
                c1 = HN_MIN(v1 * run->width, job->channels) * run->several;
        hn_epilogue_unary_f32(&job->epilogue, (row1 - row0) * run->common.out1, c1 - c0,
                              run->common.y_col, job->y + first * run->common.y_col + c0);
    }
}

static depthwise_nhwc_run read_depthwise(const hn_conv_nhwc_job *job) {
    const hn_depthwise_set *set = hn_depthwise_pick();
    const hn_window *s = job->window;
    int32_t w = s->n_axes - 1;
    bool has_h = s->n_axes == 2;
    depthwise_nhwc_run run = {.job = job,
                              .row = set->find(s->kernel[w], s->stride[w], s->dilation[w]),
                              .width = set->channels,
                              .n_vectors = depthwise_vectors(job),
                              .whole_vectors = job->channels / set->channels,
                              .most_vectors = job->filters == job->channels ? set->most_vectors : 1,
                              .several = job->filters / job->channels,
                              .w_row = s->kernel[w] * set->channels,
                              .out_h = has_h ? s->out[0] : 1,
                              .in_h = has_h ? s->in[0] : 1,
                              .kernel_h = has_h ? s->kernel[0] : 1,
                              .stride_h = has_h ? s->stride[0] : 1,
                              .dilation_h = has_h ? s->dilation[0] : 1,
                              .pad_h = has_h ? s->pad[0] : 0};
    int64_t x_step = hn_conv_nhwc_x_stride(job);
    run.common = (hn_depthwise_row){.x_row = s->in[w] * x_step * run.dilation_h,
                                    .x_col = x_step,
                                    .in_w = s->in[w],
                                    .kernel_w = s->kernel[w],
                                    .stride_w = s->stride[w],
                                    .dilation_w = s->dilation[w],
                                    .pad_w = s->pad[w],
                                    .w_vector = run.kernel_h * run.w_row,
                                    .y_col = hn_conv_nhwc_y_stride(job),
                                    .out1 = s->out[w],
                                    .epilogue = hn_epilogue_limited_f32(&job->epilogue)};
    run.common.epilogue.residual_stride = hn_conv_nhwc_residual_stride(job);
    return run;
}

void hn_depthwise_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    const hn_window *s = job->window;
    if (!depthwise_fits(job)) {
        hn_conv_nhwc_plain_f32(pool, job);
        return;
    }
    if (s->out_elems == 0 || job->channels == 0)
        return;
    depthwise_nhwc_run run = read_depthwise(job);
    run.pool = pool;
    run.w = job->packed_w;
    if (!run.w) {
        hn_depthwise_nhwc_pack(job, job->scratch);
        run.w = job->scratch;
    }
    int64_t steps = HN_MAX(1, run.common.out1 * s->kernel_elems * run.several);
    int64_t vectors = HN_MAX(1, DEPTHWISE_BLOCK_CHANNELS / run.width);
    run.block_rows = HN_MIN(DEPTHWISE_BLOCK_ROWS, run.out_h);
    steps *= run.block_rows * run.width;
    run.n_blocks = (run.out_h + run.block_rows - 1) / run.block_rows;
    vectors = HN_MAX(vectors, DEPTHWISE_STEPS / steps);
    hn_pool_for_2d(pool, job->batch * run.n_blocks, run.n_vectors, 1, vectors, depthwise_blocks,
                   &run);
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/depthwise/depthwise_nhwc_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
