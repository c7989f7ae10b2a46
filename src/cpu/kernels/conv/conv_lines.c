/* Convolutions along one axis with one channel per filter, whose lines or windows are too long for
 * a band: filters of sounds, resamplers. Lines are cut into tiles of outputs; what a tile reads is
 * sorted by the remainders of the stride, so that each window element is a shifted copy. Measured
 * with AVX-512: 16 multiplications a cycle for windows of 100 elements and more, 6 for 15. */
#include "cpu/kernels/conv_chain/band.h"
#include "cpu/kernels/conv/conv_int.h"

enum { LINE_MOST_OUTPUTS = 4096, LINE_LEAST_OUTPUTS = 64, LINE_TAPS = 128 };

typedef struct line_form {
    int64_t in, out, kernel, stride, dilation, pad;
    int64_t reach; /* elements of one remainder that a window covers, but for the first */
    int64_t tile;  /* outputs */
    int64_t pitch; /* of one remainder */
    int64_t n_tiles;
} line_form;

typedef struct line_run {
    const hn_conv_job_f32 *job;
    const hn_pool *pool;
    const hn_row_loops_f32 *loops;
    line_form form;
} line_run;

static bool read_line_form(const hn_window *s, line_form *f) {
    int32_t last = s->n_axes - 1;
    for (int32_t a = 0; a < last; a++)
        if (s->in[a] != 1 || s->out[a] != 1 || s->kernel[a] != 1)
            return false;
    if (last < 0 || s->stride[last] > HN_BAND_MOST_STRIDE || s->kernel[last] > HN_BAND_ELEMS ||
        s->dilation[last] > HN_BAND_ELEMS)
        return false;
    *f = (line_form){.in = s->in[last],
                     .out = s->out[last],
                     .kernel = s->kernel[last],
                     .stride = s->stride[last],
                     .dilation = s->dilation[last],
                     .pad = s->pad[last]};
    f->reach = (f->kernel - 1) * f->dilation / f->stride;
    f->tile = HN_BAND_ELEMS / f->stride - f->reach - HN_TAP_SUMS_SLACK;
    f->tile = HN_MIN(HN_MIN(f->tile, LINE_MOST_OUTPUTS), f->out);
    f->pitch = f->tile + f->reach;
    f->n_tiles = f->tile > 0 ? (f->out + f->tile - 1) / f->tile : 0;
    return f->tile >= HN_MIN(LINE_LEAST_OUTPUTS, f->out);
}

/* Every stride-th element of a line from `from` on, zeros outside. */
static void sort_line(const line_run *run, const float *line, int64_t from, float *out) {
    const line_form *f = &run->form;
    int64_t step = f->stride, first = from < 0 ? (step - 1 - from) / step : 0;
    int64_t past = from < f->in ? (f->in - from + step - 1) / step : 0;
    past = HN_MIN(past, f->pitch);
    first = HN_MIN(first, past);
    memset(out, 0, (size_t)first * sizeof *out);
    if (step == 1 && first < past)
        memcpy(out + first, line + from + first, (size_t)(past - first) * sizeof *out);
    if (step == 2 && first < past)
        run->loops->every_other(past - first, line + from + first * step, out + first);
    for (int64_t i = first; i < past && step > 2; i++)
        out[i] = line[from + i * step];
    memset(out + past, 0, (size_t)(f->pitch - past) * sizeof *out);
}

/* The outputs of one filter in a tile. */
static void sum_taps(const line_run *run, int64_t n, const float *band, const float *w, float bias,
                     float *sums, float *more) {
    const line_form *f = &run->form;
    int64_t offsets[LINE_TAPS];
    for (int64_t tap = 0, n_taps; tap < f->kernel; tap += n_taps) {
        n_taps = HN_MIN(LINE_TAPS, f->kernel - tap);
        for (int64_t t = 0; t < n_taps; t++) {
            int64_t at = (tap + t) * f->dilation;
            offsets[t] = at % f->stride * f->pitch + at / f->stride;
        }
        run->loops->tap_sums(n, band, n_taps, offsets, w + tap, tap == 0 ? bias : 0,
                             tap == 0 ? sums : more);
        if (tap > 0)
            run->loops->add_to(n, sums, 0, more);
    }
}

static void convolve_tile(const line_run *run, int64_t image, int64_t channel, int64_t tile,
                          float *band, float *sums, float *more) {
    const line_form *f = &run->form;
    const hn_conv_job_f32 *job = run->job;
    int64_t per_channel = job->filters / job->groups, first = tile * f->tile;
    int64_t n = HN_MIN(f->tile, f->out - first);
    const float *line = job->x + (image * job->channels + channel) * f->in;
    for (int64_t phase = 0; phase < f->stride; phase++)
        sort_line(run, line, first * f->stride + phase - f->pad, band + phase * f->pitch);
    memset(band + f->stride * f->pitch, 0, HN_TAP_SUMS_SLACK * sizeof *band);
    for (int64_t i = channel * per_channel; i < (channel + 1) * per_channel; i++) {
        int64_t at = (image * job->filters + i) * f->out + first;
        sum_taps(run, n, band, job->w + i * f->kernel, job->bias ? job->bias[i] : 0, sums, more);
        memcpy(job->y + at, sums, (size_t)n * sizeof *sums);
        hn_conv_epilogue_f32(job, at, n);
    }
}

static void convolve_tiles(void *ctx, int64_t begin, int64_t end) {
    const line_run *run = ctx;
    const line_form *f = &run->form;
    float band[HN_BAND_ROOM], sums[LINE_MOST_OUTPUTS + HN_TAP_SUMS_SLACK],
        more[LINE_MOST_OUTPUTS + HN_TAP_SUMS_SLACK];
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(run->pool); i++) {
        int64_t plane = i / f->n_tiles;
        convolve_tile(run, plane / run->job->channels, plane % run->job->channels, i % f->n_tiles,
                      band, sums, more);
    }
}

bool hn_conv_lines_f32(hn_pool *pool, const hn_conv_job_f32 *job) {
    line_run run = {.job = job, .pool = pool, .loops = hn_row_loops_pick_f32()};
    if (!run.loops || !read_line_form(job->window, &run.form))
        return false;
    hn_pool_for(pool, job->batch * job->channels * run.form.n_tiles, 1, convolve_tiles, &run);
    return true;
}
