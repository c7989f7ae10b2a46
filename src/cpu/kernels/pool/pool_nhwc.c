/* Pools of channels-last floats with vectors of channels: rows of the output in parallel. Windows
 * of usual sizes that lie inside along the row share what they know of their columns; the others go
 * pixel by pixel over what each has inside the input.
 *
 * Measured with AVX-512, x and y together: 3x3 that move by two 33 GB/s from the third cache
 * (112x112x64), 65 to 105 from the second (55x55x128, 27x27x256); 3x3 that move by one 50 GB/s, 5x5
 * 24 GB/s. */
#include "cpu/kernels/pool/pool_nhwc_int.h"

#include <math.h>

enum { POOL_LAST_LOADS = 1 << 15 }; /* elements that one piece of work reads, at least */

typedef struct pool_nhwc_run {
    const hn_pool_nhwc_job *job;
    const hn_pool_nhwc_loops *loops;
    const hn_pool *pool;
    hn_pool_nhwc_take take;
    hn_pool_row_fn row; /* NULL: pixel by pixel */
    int64_t begin, end; /* outputs of a row that it makes */
    int32_t n_outer;    /* axes before the innermost two */
    int64_t outer_taps, plane_elems;
} pool_nhwc_run;

typedef struct pool_reach {
    int64_t first, n; /* window elements inside the input */
} pool_reach;

static pool_reach reach_inside(const hn_window *s, int32_t axis, int64_t out) {
    int64_t first = out * s->stride[axis] - s->pad[axis], step = s->dilation[axis];
    int64_t begin = first < 0 ? (step - 1 - first) / step : 0;
    int64_t end = first < s->in[axis] ? (s->in[axis] - first + step - 1) / step : 0;
    return (pool_reach){begin, HN_MAX(HN_MIN(end, s->kernel[axis]) - begin, 0)};
}

/* Where the innermost axes, up to two of them, stand in a window: the outer ones have their
 * elements one after the other. */
static hn_pixels_f32 pixels_inside(const hn_pool_nhwc_job *job, const float *x, const int64_t *at) {
    const hn_window *s = job->window;
    int32_t w = s->n_axes - 1, h = w - 1;
    pool_reach rows = h >= 0 ? reach_inside(s, h, at[h]) : (pool_reach){0, 1};
    pool_reach cols = reach_inside(s, w, at[w]);
    int64_t col = hn_pool_nhwc_x_stride(job), row = s->in[w] * col;
    int64_t y0 = h >= 0 ? at[h] * s->stride[h] - s->pad[h] + rows.first * s->dilation[h] : 0;
    int64_t x0 = at[w] * s->stride[w] - s->pad[w] + cols.first * s->dilation[w];
    if (rows.n == 0 || cols.n == 0)
        return (hn_pixels_f32){0};
    return (hn_pixels_f32){.x = x + y0 * row + x0 * col,
                           .n_rows = rows.n,
                           .row = h >= 0 ? row * s->dilation[h] : 0,
                           .n_cols = cols.n,
                           .col = col * s->dilation[w]};
}

/* The plane that element `taps` of the outer axes reads for output `at`; -1 in the padding. */
static int64_t outer_plane(const hn_window *s, int32_t n_outer, const int64_t *at,
                           const int64_t *taps) {
    int64_t plane = 0;
    for (int32_t a = 0; a < n_outer; a++) {
        int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return -1;
        plane = plane * s->in[a] + i;
    }
    return plane;
}

static void pool_nhwc_pixel(const pool_nhwc_run *run, const float *image, const int64_t *at,
                            float *y) {
    const hn_pool_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    int64_t taps[HN_MAX_SPATIAL] = {0};
    bool go_on = run->n_outer > 0;
    if (go_on)
        run->take(&(hn_pixels_f32){0}, job->channels, false, y);
    for (int64_t t = 0; t < run->outer_taps; t++, hn_window_step(run->n_outer, s->kernel, taps)) {
        int64_t plane = outer_plane(s, run->n_outer, at, taps);
        if (plane < 0)
            continue;
        hn_pixels_f32 from = pixels_inside(job, image + plane * run->plane_elems, at);
        run->take(&from, job->channels, go_on, y);
    }
    if (job->kind == HN_POOL_NHWC_AVERAGE) {
        double count = 1;
        for (int32_t a = 0; a < s->n_axes; a++)
            count *= (double)hn_pool_nhwc_count(job, a, at[a]);
        run->loops->divide(job->channels, (float)count, y);
    }
}

/* The outputs of a row whose windows lie inside along it; `at` is the first of them. False: the row
 * has no element inside. */
static bool pool_inside(const pool_nhwc_run *run, const float *image, const int64_t *at, float *y) {
    const hn_pool_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    hn_pixels_f32 first = pixels_inside(job, image, at);
    double count = 1;
    for (int32_t a = 0; a < s->n_axes; a++)
        count *= (double)hn_pool_nhwc_count(job, a, at[a]);
    if (first.n_rows == 0)
        return false;
    run->row(&(hn_pool_row){.x = first.x,
                            .n_rows = first.n_rows,
                            .row = first.row,
                            .col = first.col,
                            .n_outs = run->end - run->begin,
                            .channels = job->channels,
                            .y = y,
                            .y_step = hn_pool_nhwc_y_stride(job),
                            .count = (float)count});
    return true;
}

static void pool_nhwc_rows(void *ctx, int64_t begin, int64_t end) {
    const pool_nhwc_run *run = ctx;
    const hn_pool_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    int32_t w = s->n_axes - 1;
    int64_t at[HN_MAX_SPATIAL], n_rows = s->out_elems / s->out[w];
    for (int64_t r = begin; r < end && !hn_pool_is_stopped(run->pool); r++) {
        const float *image = job->x + r / n_rows * s->in_elems * hn_pool_nhwc_x_stride(job);
        hn_window_split(w, s->out, r % n_rows, at);
        for (at[w] = 0; at[w] < s->out[w]; at[w]++) {
            float *y = job->y + (r * s->out[w] + at[w]) * hn_pool_nhwc_y_stride(job);
            if (run->row && at[w] == run->begin && pool_inside(run, image, at, y))
                at[w] = run->end - 1;
            else
                pool_nhwc_pixel(run, image, at, y);
        }
    }
}

static void find_pool_row(pool_nhwc_run *run) {
    const hn_window *s = run->job->window;
    int32_t w = s->n_axes - 1;
    int64_t begin, end;
    if (run->n_outer > 0 || s->dilation[w] != 1)
        return;
    hn_window_inside(s, w, 0, &run->begin, &end);
    hn_window_inside(s, w, s->kernel[w] - 1, &begin, &run->end);
    if (run->begin < run->end)
        run->row = run->loops->find_row(run->job->kind, s->kernel[w], s->stride[w]);
}

void hn_pool_nhwc_f32(hn_pool *pool, const hn_pool_nhwc_job *job) {
    const hn_window *s = job->window;
    pool_nhwc_run run = {.job = job,
                         .loops = hn_pool_nhwc_loops_pick(),
                         .pool = pool,
                         .n_outer = HN_MAX(s->n_axes - 2, 0),
                         .outer_taps = 1,
                         .plane_elems = hn_pool_nhwc_x_stride(job)};
    if (!run.loops || s->n_axes < 1) {
        hn_pool_nhwc_plain_f32(pool, job);
        return;
    }
    if (s->out_elems == 0 || job->channels == 0)
        return;
    run.take = job->kind == HN_POOL_NHWC_MAX ? run.loops->most : run.loops->sum;
    for (int32_t a = 0; a < run.n_outer; a++)
        run.outer_taps *= s->kernel[a];
    for (int32_t a = run.n_outer; a < s->n_axes; a++)
        run.plane_elems *= s->in[a];
    find_pool_row(&run);
    int64_t width = s->out[s->n_axes - 1];
    int64_t loads = HN_MAX(width * job->channels * s->kernel_elems, 1);
    hn_pool_for(pool, job->batch * (s->out_elems / width), HN_MAX(1, POOL_LAST_LOADS / loads),
                pool_nhwc_rows, &run);
}

/* ---- over everything --------------------------------------------------------------------------- */

/* Pixels are cut into blocks, like the rows of what made them: each thread reads what it has
 * written. Results of blocks are put together in their order. */
enum { POOL_GLOBAL_LOADS = 16384, POOL_GLOBAL_PIXELS = 16 /* in a block, at least */ };

typedef struct pool_global_run {
    const hn_pool_global_nhwc_job *job;
    const hn_pool_nhwc_loops *loops;
    hn_pool_nhwc_take take;
    const hn_pool *pool;
    int64_t block, n_blocks; /* pixels in one; blocks in an image */
} pool_global_run;

static int64_t pixels_in_block(const hn_pool_global_nhwc_job *job) {
    return HN_MAX(POOL_GLOBAL_PIXELS, POOL_GLOBAL_LOADS / HN_MAX(job->channels, 1));
}

static int64_t count_pixel_blocks(const hn_pool_global_nhwc_job *job) {
    int64_t block = pixels_in_block(job);
    return job->elems / block + (job->elems % block != 0);
}

int64_t hn_pool_global_nhwc_scratch_elems(const hn_pool_global_nhwc_job *job) {
    int64_t n_blocks = count_pixel_blocks(job);
    return n_blocks > 1 ? job->batch * n_blocks * job->channels : 0;
}

static void take_pixels(const pool_global_run *run, const float *x, int64_t n, float *y) {
    int64_t channels = run->job->channels;
    hn_pixels_f32 from = {.x = x, .n_rows = 1, .n_cols = n, .col = channels};
    run->take(&from, channels, false, y);
}

static void pool_global_blocks(void *ctx, int64_t begin, int64_t end) {
    const pool_global_run *run = ctx;
    const hn_pool_global_nhwc_job *job = run->job;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(run->pool); i++) {
        int64_t first = i % run->n_blocks * run->block;
        take_pixels(run, job->x + (i / run->n_blocks * job->elems + first) * job->channels,
                    HN_MIN(run->block, job->elems - first), job->scratch + i * job->channels);
    }
}

static void pool_global_images(void *ctx, int64_t begin, int64_t end) {
    const pool_global_run *run = ctx;
    const hn_pool_global_nhwc_job *job = run->job;
    bool is_cut = run->n_blocks > 1;
    int64_t n = is_cut ? run->n_blocks : job->elems;
    const float *from = is_cut ? job->scratch : job->x;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(run->pool); i++) {
        float *y = job->y + i * job->channels;
        take_pixels(run, from + i * n * job->channels, n, y);
        if (job->kind == HN_POOL_NHWC_AVERAGE)
            run->loops->divide(job->channels, (float)job->elems, y);
    }
}

void hn_pool_global_nhwc_f32(hn_pool *pool, const hn_pool_global_nhwc_job *job) {
    pool_global_run run = {.job = job,
                           .loops = hn_pool_nhwc_loops_pick(),
                           .pool = pool,
                           .block = pixels_in_block(job),
                           .n_blocks = count_pixel_blocks(job)};
    if (!run.loops) {
        hn_pool_global_nhwc_plain_f32(pool, job);
        return;
    }
    run.take = job->kind == HN_POOL_NHWC_MAX ? run.loops->most : run.loops->sum;
    if (run.n_blocks > 1)
        hn_pool_for(pool, job->batch * run.n_blocks, 1, pool_global_blocks, &run);
    int64_t loads = HN_MAX(job->channels * (run.n_blocks > 1 ? run.n_blocks : job->elems), 1);
    hn_pool_for(pool, job->batch, HN_MAX(1, POOL_GLOBAL_LOADS / loads), pool_global_images, &run);
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/pool/pool_nhwc_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
