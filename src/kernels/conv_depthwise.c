/* Convolutions with one channel per filter, over one or two axes.
 *
 * A band of the padded input is laid out so that neighbouring outputs read neighbouring elements:
 * rows and columns are sorted by their remainders of the stride. Then each window element is one
 * shifted copy of the band, and all outputs of the band are one long sum of such copies times
 * weights, whatever the size of the image. What the padding between rows computes is dropped. */
#include "kernels/conv_int.h"
#include "kernels/vec.h"

enum {
    BAND_ELEMS = 16384, /* of a laid out band, with slack: 64 KB */
    MOST_TAPS = 128,
    MOST_STRIDE = 16
};

/* The slide with exactly two axes, and how a band lies. */
typedef struct band_form {
    int64_t in_h, in_w, out_h, out_w, pad_h, pad_w, stride_h, stride_w;
    int64_t pitch;     /* of a row of one remainder */
    int64_t rows;      /* output rows of a full band */
    int64_t part_rows; /* laid out rows of one remainder, for a full band */
    int64_t n_taps, offsets[MOST_TAPS];
} band_form;

static bool read_band_form(const hn_slide *s, band_form *f) {
    if (s->n_axes < 1 || s->n_axes > 2 || s->kernel_elems > MOST_TAPS)
        return false;
    int32_t w = s->n_axes - 1;
    if (s->stride[0] > MOST_STRIDE || s->stride[w] > MOST_STRIDE)
        return false;
    bool has_h = s->n_axes == 2;
    int64_t kernel_h = has_h ? s->kernel[0] : 1, step_h = has_h ? s->dilation[0] : 1;
    *f = (band_form){.in_h = has_h ? s->in[0] : 1,
                     .in_w = s->in[w],
                     .out_h = has_h ? s->out[0] : 1,
                     .out_w = s->out[w],
                     .pad_h = has_h ? s->pad[0] : 0,
                     .pad_w = s->pad[w],
                     .stride_h = has_h ? s->stride[0] : 1,
                     .stride_w = s->stride[w],
                     .n_taps = s->kernel_elems};
    int64_t reach_h = (kernel_h - 1) * step_h / f->stride_h;
    int64_t reach_w = (s->kernel[w] - 1) * s->dilation[w] / f->stride_w;
    f->pitch = f->out_w + reach_w;
    int64_t room = BAND_ELEMS / (f->stride_h * f->stride_w) / f->pitch - reach_h - 1;
    f->rows = HN_MIN(room, f->out_h);
    f->part_rows = f->rows + reach_h;
    if (f->rows < 1 ||
        f->stride_h * f->stride_w * f->part_rows * f->pitch + HN_TAP_SUMS_SLACK > BAND_ELEMS)
        return false;
    for (int64_t t = 0; t < f->n_taps; t++) {
        int64_t i = t / s->kernel[w] * step_h, j = t % s->kernel[w] * s->dilation[w];
        int64_t part = i % f->stride_h * f->stride_w + j % f->stride_w;
        f->offsets[t] = (part * f->part_rows + i / f->stride_h) * f->pitch + j / f->stride_w;
    }
    return true;
}

/* Every stride_w-th element of an input row from column `from` on, zeros outside. */
static void lay_out_row(const band_form *f, const float *row, int64_t from, float *out) {
    for (int64_t i = 0; i < f->pitch; i++) {
        int64_t at = from + i * f->stride_w;
        out[i] = row && at >= 0 && at < f->in_w ? row[at] : 0;
    }
}

static void lay_out_dense_row(const band_form *f, const float *row, float *out) {
    int64_t before = HN_MIN(f->pad_w, f->pitch);
    int64_t n = row ? HN_MAX(HN_MIN(f->in_w, f->pitch - before), 0) : 0;
    for (int64_t i = 0; i < before; i++)
        out[i] = 0;
    if (n)
        memcpy(out + before, row, (size_t)n * sizeof *out);
    for (int64_t i = before + n; i < f->pitch; i++)
        out[i] = 0;
}

static void lay_out_band(const band_form *f, const float *x, int64_t row0, float *band) {
    for (int64_t part = 0; part < f->stride_h * f->stride_w; part++) {
        int64_t phase_h = part / f->stride_w, phase_w = part % f->stride_w;
        for (int64_t r = 0; r < f->part_rows; r++) {
            int64_t at = (row0 + r) * f->stride_h + phase_h - f->pad_h;
            const float *row = at >= 0 && at < f->in_h ? x + at * f->in_w : NULL;
            float *out = band + (part * f->part_rows + r) * f->pitch;
            if (f->stride_w == 1)
                lay_out_dense_row(f, row, out);
            else
                lay_out_row(f, row, phase_w - f->pad_w, out);
        }
    }
}

typedef struct depthwise_run {
    const hn_conv_job_f32 *job;
    const hn_pool *pool;
    const hn_vec_loops_f32 *loops;
    band_form form;
} depthwise_run;

static void depthwise_plane(const depthwise_run *run, int64_t plane, float *band, float *sums) {
    const hn_conv_job_f32 *job = run->job;
    const band_form *f = &run->form;
    int64_t filter = plane % job->filters, image = plane / job->filters;
    int64_t channel = filter / (job->filters / job->groups);
    const float *x = job->x + (image * job->channels + channel) * job->slide->in_elems;
    for (int64_t row0 = 0; row0 < f->out_h; row0 += f->rows) {
        int64_t rows = HN_MIN(f->rows, f->out_h - row0);
        int64_t at = plane * job->slide->out_elems + row0 * f->out_w;
        lay_out_band(f, x, row0, band);
        run->loops->tap_sums((rows - 1) * f->pitch + f->out_w, band, f->n_taps, f->offsets,
                             job->w + filter * f->n_taps, job->bias ? job->bias[filter] : 0, sums);
        for (int64_t r = 0; r < rows; r++)
            memcpy(job->y + at + r * f->out_w, sums + r * f->pitch,
                   (size_t)f->out_w * sizeof *sums);
        hn_conv_finish_f32(job, filter, at, rows * f->out_w, false);
    }
}

static void depthwise_planes(void *ctx, int64_t begin, int64_t end) {
    const depthwise_run *run = ctx;
    float band[BAND_ELEMS + HN_TAP_SUMS_SLACK], sums[BAND_ELEMS + HN_TAP_SUMS_SLACK];
    for (int64_t p = begin; p < end && !hn_pool_is_stopped(run->pool); p++)
        depthwise_plane(run, p, band, sums);
}

bool hn_conv_depthwise_f32(hn_pool *pool, const hn_conv_job_f32 *job) {
    depthwise_run run = {.job = job, .pool = pool, .loops = hn_vec_loops_pick_f32()};
    if (!run.loops || !read_band_form(job->slide, &run.form))
        return false;
    int64_t work = job->slide->out_elems * run.form.n_taps;
    hn_pool_for(pool, job->batch * job->filters, HN_MAX(1, 65536 / HN_MAX(work, 1)),
                depthwise_planes, &run);
    return true;
}
