/* Transposed convolutions, channels last: pixels of the image that lie as far from each other as
 * two windows do are written by the same elements of windows, so they are a convolution of the
 * positions with those elements alone. Each such phase of the image is a product of its own
 * (conv_nhwc_product.c), which writes its pixels where they belong: nothing is added up in memory.
 */
#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "cpu/kernels/conv_nhwc/conv_nhwc_form.h"

static int64_t transposed_y_stride(const hn_conv_transpose_nhwc_job *job) {
    return job->y_step ? job->y_step : job->filters;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Elements of a window along one axis that write the same pixels: first, first + step, ... */
typedef struct phase_taps {
    int64_t first, step, n;
} phase_taps;

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t phase_step(const hn_window *s, int32_t a) {
    return s->stride[a] / greatest_divisor(s->stride[a], s->dilation[a]);
}

/* So many phases of an axis have elements; the others have the bias. */
static int64_t count_phases(const hn_window *s, int32_t a) {
    return HN_MIN(phase_step(s, a), s->kernel[a]);
}

static phase_taps read_taps(const hn_window *s, int32_t a, int64_t first) {
    int64_t step = phase_step(s, a);
    return (phase_taps){first, step, (s->kernel[a] - 1 - first) / step + 1};
}

/* One phase: pixels start, start + stride, ... of an axis. Elements are taken from the last to the
 * first, which read the positions from the first to the last. */
static void place_phase(const hn_window *s, int32_t a, phase_taps t, hn_window *phase,
                        int64_t *start) {
    int64_t stride = s->stride[a], reach = t.first * s->dilation[a], pad = s->pad[a];
    int64_t rest = reach % stride, before = pad - rest;
    int64_t skipped = before > 0 ? (before + stride - 1) / stride : 0; /* lie in the padding */
    int64_t room = s->in[a] + before - skipped * stride;
    *start = skipped * stride - before;
    phase->out[a] = room > 0 ? (room + stride - 1) / stride : 0;
    phase->in[a] = s->out[a];
    phase->stride[a] = 1;
    phase->dilation[a] = t.step * s->dilation[a] / stride;
    phase->pad[a] = reach / stride + (t.n - 1) * phase->dilation[a] - skipped;
}

typedef struct transpose_phase {
    hn_window window;
    hn_product_place place;
    hn_filter_view view;
} transpose_phase;

/* `firsts`: the first element of the phase along each axis. */
static void read_phase(const hn_conv_transpose_nhwc_job *job, const int64_t *firsts,
                       transpose_phase *p) {
    const hn_window *s = job->window;
    int64_t pixel = transposed_y_stride(job), element = 1;
    p->view = (hn_filter_view){.w = job->w,
                               .filter_step = s->kernel_elems,
                               .channel_step = job->filters * s->kernel_elems};
    p->window.n_axes = s->n_axes;
    p->window.in_elems = s->out_elems;
    p->window.out_elems = p->window.kernel_elems = 1;
    p->place.start = 0;
    p->place.image = s->in_elems * pixel;
    for (int32_t a = s->n_axes - 1; a >= 0; a--) {
        phase_taps t = read_taps(s, a, firsts[a]);
        int64_t start;
        place_phase(s, a, t, &p->window, &start);
        p->window.kernel[a] = t.n;
        p->window.kernel_elems *= t.n;
        p->window.out_elems *= p->window.out[a];
        p->place.start += start * pixel;
        p->place.step[a] = s->stride[a] * pixel;
        p->view.start += (t.first + (t.n - 1) * t.step) * element;
        p->view.tap_step[a] = -t.step * element;
        pixel *= s->in[a];
        element *= s->kernel[a];
    }
}

static hn_conv_nhwc_job phase_job(const hn_conv_transpose_nhwc_job *job, const transpose_phase *p) {
    return (hn_conv_nhwc_job){.window = &p->window,
                              .batch = job->batch,
                              .channels = job->channels,
                              .filters = job->filters,
                              .groups = 1,
                              .x = job->x,
                              .y = job->y,
                              .epilogue = {.col_bias = job->bias},
                              .x_step = job->x_step,
                              .y_step = job->y_step};
}

/* Calls fn with each phase, its job, and where its filters lie among all that are packed. Returns
 * how many floats those are. */
typedef void (*phase_fn)(void *ctx, const transpose_phase *p, const hn_conv_nhwc_job *job,
                         int64_t filters_at);

static int64_t each_phase(const hn_conv_transpose_nhwc_job *job, phase_fn fn, void *ctx) {
    const hn_window *s = job->window;
    int64_t firsts[HN_MAX_SPATIAL] = {0}, counts[HN_MAX_SPATIAL], n_phases = 1, at = 0;
    for (int32_t a = 0; a < s->n_axes; a++) {
        counts[a] = count_phases(s, a);
        n_phases *= counts[a];
    }
    for (int64_t i = 0; i < n_phases; i++, hn_window_step(s->n_axes, counts, firsts)) {
        transpose_phase p;
        read_phase(job, firsts, &p);
        hn_conv_nhwc_job product = phase_job(job, &p);
        if (fn)
            fn(ctx, &p, &product, at);
        at += hn_product_filter_elems(&product);
    }
    return at;
}

/* ---- filters --------------------------------------------------------------------------------- */

int64_t hn_conv_transpose_nhwc_packed_elems(const hn_conv_transpose_nhwc_job *job) {
    return hn_conv_tiles_pick() ? each_phase(job, NULL, NULL) : 0;
}

static void pack_phase(void *ctx, const transpose_phase *p, const hn_conv_nhwc_job *job,
                       int64_t filters_at) {
    hn_product_pack_filters(job, &p->view, (float *)ctx + filters_at);
}

void hn_conv_transpose_nhwc_pack(const hn_conv_transpose_nhwc_job *job, float *out) {
    each_phase(job, pack_phase, out);
}

int64_t hn_conv_transpose_nhwc_scratch_elems(const hn_conv_transpose_nhwc_job *job) {
    return job->packed_w ? 0 : hn_conv_transpose_nhwc_packed_elems(job);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct transpose_run {
    const hn_conv_transpose_nhwc_job *job;
    hn_pool *pool;
    const float *packed_w;
} transpose_run;

static void run_phase(void *ctx, const transpose_phase *p, const hn_conv_nhwc_job *job,
                      int64_t filters_at) {
    const transpose_run *run = ctx;
    hn_product_form form;
    if (p->window.out_elems == 0 || hn_pool_is_stopped(run->pool))
        return;
    hn_product_form_read(job, &p->place, &form);
    hn_product_run(run->pool, job, &form, run->packed_w + filters_at);
}

static void start_pixels(void *ctx, int64_t begin, int64_t end) {
    const hn_conv_transpose_nhwc_job *job = ((const transpose_run *)ctx)->job;
    for (int64_t i = begin; i < end; i++)
        for (int64_t f = 0; f < job->filters; f++)
            job->y[i * transposed_y_stride(job) + f] = job->bias ? job->bias[f] : 0;
}

/* Without tiles: every position adds its window to the pixels begin .. end of all images. */
static void add_pixels(void *ctx, int64_t begin, int64_t end) {
    const transpose_run *run = ctx;
    const hn_conv_transpose_nhwc_job *job = run->job;
    const hn_window *s = job->window;
    int64_t at[HN_MAX_SPATIAL], x_step = job->x_step ? job->x_step : job->channels;
    start_pixels(ctx, begin, end);
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(run->pool); i++) {
        int64_t taps[HN_MAX_SPATIAL] = {0};
        float *y = job->y + i * transposed_y_stride(job);
        hn_window_split(s->n_axes, s->in, i % s->in_elems, at);
        for (int64_t k = 0; k < s->kernel_elems; k++, hn_window_step(s->n_axes, s->kernel, taps)) {
            int64_t position = i / s->in_elems;
            bool is_inside = true;
            for (int32_t a = 0; a < s->n_axes && is_inside; a++) {
                int64_t reach = at[a] + s->pad[a] - taps[a] * s->dilation[a];
                is_inside =
                    reach >= 0 && reach % s->stride[a] == 0 && reach / s->stride[a] < s->out[a];
                position = position * s->out[a] + reach / s->stride[a];
            }
            for (int64_t c = 0; is_inside && c < job->channels; c++)
                for (int64_t f = 0; f < job->filters; f++)
                    y[f] += job->x[position * x_step + c] *
                            job->w[(c * job->filters + f) * s->kernel_elems + k];
        }
    }
}

static bool has_empty_phases(const hn_window *s) {
    for (int32_t a = 0; a < s->n_axes; a++)
        if (count_phases(s, a) < s->stride[a])
            return true;
    return false;
}

void hn_conv_transpose_nhwc_f32(hn_pool *pool, const hn_conv_transpose_nhwc_job *job) {
    transpose_run run = {job, pool, job->packed_w ? job->packed_w : job->scratch};
    int64_t pixels = job->batch * job->window->in_elems;
    if (pixels <= 0 || job->filters <= 0)
        return;
    if (!hn_conv_tiles_pick()) {
        hn_pool_for(pool, pixels, 16, add_pixels, &run);
        return;
    }
    if (!job->packed_w)
        hn_conv_transpose_nhwc_pack(job, job->scratch);
    if (has_empty_phases(job->window))
        hn_pool_for(pool, pixels, 1024, start_pixels, &run);
    each_phase(job, run_phase, &run);
}
