/* Transposed convolutions, channels last: a product makes the windows of some lines of positions,
 * each window as rows of filters; then every line of the image adds up what windows have for it. The
 * product does the arithmetic, adding is bound by memory. */
#include "kernels/conv_transpose_last.h"

#define MOST_WINDOW_FLOATS (1 << 18) /* of the windows that are made at a time */

typedef struct transpose_last {
    const hn_conv_transpose_last_job *job;
    int64_t line_positions, line_pixels; /* of one index of the first axis */
    int64_t width;                       /* floats of a window */
    int64_t first, n_lines;              /* lines of positions whose windows are there */
    bool covers_once; /* every pixel lies in exactly one window: nothing is added up */
    const float *x;   /* of one image of the batch */
    float *y;
} transpose_last;

/* ---- filters --------------------------------------------------------------------------------- */

/* As a matrix [channels, kernel * filters]: what a window has for one pixel lies side by side. */
static void fill_windows(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj,
                         float *out, int64_t out_stride) {
    const hn_conv_transpose_last_job *job = ctx;
    int64_t taps = job->slide->kernel_elems, filters = job->filters;
    for (int64_t k = 0; k < nk; k++) {
        const float *w = job->w + (k0 + k) * filters * taps;
        for (int64_t j = j0; j < j0 + nj; j++)
            out[k * out_stride + j - j0] = w[j % filters * taps + j / filters];
    }
}

static hn_gemm_job_f32 window_product(const hn_conv_transpose_last_job *job) {
    return (hn_gemm_job_f32){.n = job->slide->kernel_elems * job->filters,
                             .k = job->channels,
                             .fill = fill_windows,
                             .fill_ctx = job,
                             .packed_b = job->packed_w};
}

int64_t hn_conv_transpose_last_packed_elems(const hn_conv_transpose_last_job *job) {
    return hn_gemm_packed_elems_f32(job->slide->kernel_elems * job->filters, job->channels);
}

void hn_conv_transpose_last_pack(const hn_conv_transpose_last_job *job, float *out) {
    hn_gemm_job_f32 product = window_product(job);
    hn_gemm_pack_f32(&product, out);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool covers_once(const hn_slide *s) {
    for (int32_t i = 0; i < s->n_axes; i++)
        if (s->kernel[i] != s->stride[i] || s->dilation[i] != 1 || s->pad[i] != 0 ||
            s->in[i] != s->out[i] * s->stride[i])
            return false;
    return true;
}

static int64_t lines_at_a_time(const hn_conv_transpose_last_job *job) {
    const hn_slide *s = job->slide;
    int64_t line = s->out_elems / HN_MAX(s->out[0], 1) * s->kernel_elems * job->filters;
    return HN_MAX(HN_MIN(MOST_WINDOW_FLOATS / HN_MAX(line, 1), s->out[0]), 1);
}

int64_t hn_conv_transpose_last_scratch_elems(const hn_conv_transpose_last_job *job) {
    const hn_slide *s = job->slide;
    return lines_at_a_time(job) * (s->out_elems / HN_MAX(s->out[0], 1)) * s->kernel_elems *
           job->filters;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void add_row(int64_t n, const float *restrict from, const float *restrict bias,
                    bool is_first, float *restrict y) {
    if (!is_first) {
        for (int64_t i = 0; i < n; i++)
            y[i] += from[i];
    } else if (bias) {
        for (int64_t i = 0; i < n; i++)
            y[i] = from[i] + bias[i];
    } else {
        memcpy(y, from, (size_t)n * sizeof *y);
    }
}

/* One line of windows, at one index of the first axis of the kernel, into one line of the image. */
static void add_line(const transpose_last *t, const float *windows, int64_t tap0, float *y) {
    const hn_slide *s = t->job->slide;
    int64_t filters = t->job->filters, inner_taps = s->kernel_elems / s->kernel[0];
    int64_t at[HN_MAX_SPATIAL] = {0};
    for (int64_t p = 0; p < t->line_positions;
         p++, hn_slide_step(s->n_axes - 1, s->out + 1, at)) {
        const float *window = windows + p * t->width + tap0 * inner_taps * filters;
        int64_t taps[HN_MAX_SPATIAL] = {0};
        for (int64_t k = 0; k < inner_taps;
             k++, hn_slide_step(s->n_axes - 1, s->kernel + 1, taps)) {
            int64_t pixel = 0;
            bool inside = true;
            for (int32_t a = 1; a < s->n_axes && inside; a++) {
                int64_t i =
                    at[a - 1] * s->stride[a] - s->pad[a] + taps[a - 1] * s->dilation[a];
                inside = i >= 0 && i < s->in[a];
                pixel = pixel * s->in[a] + i;
            }
            if (inside)
                add_row(filters, window + k * filters, t->job->bias, t->covers_once,
                        y + pixel * filters);
        }
    }
}

static void add_lines(void *ctx, int64_t begin, int64_t end) {
    const transpose_last *t = ctx;
    const hn_slide *s = t->job->slide;
    for (int64_t line = begin; line < end; line++)
        for (int64_t tap = 0; tap < s->kernel[0]; tap++) {
            int64_t reach = line + s->pad[0] - tap * s->dilation[0],
                    position = reach / s->stride[0] - t->first;
            if (reach >= 0 && reach % s->stride[0] == 0 && position >= 0 && position < t->n_lines)
                add_line(t, t->job->scratch + position * t->line_positions * t->width, tap,
                         t->y + line * t->line_pixels * t->job->filters);
        }
}

static void start_lines(void *ctx, int64_t begin, int64_t end) {
    const transpose_last *t = ctx;
    int64_t filters = t->job->filters;
    for (int64_t i = begin * t->line_pixels; i < end * t->line_pixels; i++)
        for (int64_t f = 0; f < filters; f++)
            t->y[i * filters + f] = t->job->bias ? t->job->bias[f] : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void transpose_image(hn_pool *pool, transpose_last *t) {
    const hn_conv_transpose_last_job *job = t->job;
    const hn_slide *s = job->slide;
    int64_t n_lines = lines_at_a_time(job);
    hn_gemm_job_f32 product = window_product(job);
    product.a_row = job->channels;
    product.a_col = 1;
    product.c = job->scratch;
    product.c_row = t->width;
    if (!t->covers_once)
        hn_pool_for(pool, s->in[0], 1, start_lines, t);
    for (t->first = 0; t->first < s->out[0] && !hn_pool_is_stopped(pool); t->first += n_lines) {
        t->n_lines = HN_MIN(n_lines, s->out[0] - t->first);
        product.m = t->n_lines * t->line_positions;
        product.a = t->x + t->first * t->line_positions * job->channels;
        hn_gemm_f32(pool, &product);
        hn_pool_for(pool, s->in[0], 1, add_lines, t);
    }
}

void hn_conv_transpose_last_f32(hn_pool *pool, const hn_conv_transpose_last_job *job) {
    const hn_slide *s = job->slide;
    transpose_last t = {.job = job,
                        .line_positions = s->out_elems / HN_MAX(s->out[0], 1),
                        .line_pixels = s->in_elems / HN_MAX(s->in[0], 1),
                        .width = s->kernel_elems * job->filters,
                        .covers_once = covers_once(s)};
    for (int64_t i = 0; i < job->batch; i++) {
        t.x = job->x + i * s->out_elems * job->channels;
        t.y = job->y + i * s->in_elems * job->filters;
        transpose_image(pool, &t);
    }
}
