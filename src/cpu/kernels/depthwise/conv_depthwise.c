/* Convolutions with one channel per filter, over one or two axes: sums of shifted copies of a band
 * times weights. Bound by the copies: 13 % of the peak of multiplications for 3x3 over 56x56, 4 %
 * over 7x7 and with stride 2. */
#include "cpu/kernels/conv_chain/band.h"
#include "cpu/kernels/conv/conv_int.h"

typedef struct depthwise_run {
    const hn_conv_job_f32 *job;
    const hn_pool *pool;
    const hn_row_loops_f32 *loops;
    hn_band form;
} depthwise_run;

static void depthwise_plane(const depthwise_run *run, int64_t plane, float *band, float *sums) {
    const hn_conv_job_f32 *job = run->job;
    const hn_band *f = &run->form;
    int64_t filter = plane % job->filters, image = plane / job->filters;
    int64_t channel = filter / (job->filters / job->groups);
    const float *x = job->x + (image * job->channels + channel) * job->window->in_elems;
    for (int64_t row0 = 0; row0 < f->out_h; row0 += f->rows) {
        int64_t rows = HN_MIN(f->rows, f->out_h - row0);
        int64_t at = plane * job->window->out_elems + row0 * f->out_w;
        hn_band_plan(f, x, row0, 0, band);
        run->loops->tap_sums(hn_band_outputs(f, rows), band, f->n_taps, f->offsets,
                             job->w + filter * f->n_taps, job->bias ? job->bias[filter] : 0, sums);
        for (int64_t r = 0; r < rows; r++)
            memcpy(job->y + at + r * f->out_w, sums + r * f->pitch,
                   (size_t)f->out_w * sizeof *sums);
        hn_conv_epilogue_f32(job, at, rows * f->out_w);
    }
}

static void depthwise_planes(void *ctx, int64_t begin, int64_t end) {
    const depthwise_run *run = ctx;
    float band[HN_BAND_ROOM], sums[HN_BAND_ROOM];
    for (int64_t p = begin; p < end && !hn_pool_is_stopped(run->pool); p++)
        depthwise_plane(run, p, band, sums);
}

bool hn_conv_depthwise_f32(hn_pool *pool, const hn_conv_job_f32 *job) {
    depthwise_run run = {.job = job, .pool = pool, .loops = hn_row_loops_pick_f32()};
    if (!run.loops || !hn_band_read(job->window, INT64_MAX, &run.form))
        return false;
    int64_t work = job->window->out_elems * run.form.n_taps;
    hn_pool_for(pool, job->batch * job->filters, HN_MAX(1, 65536 / HN_MAX(work, 1)),
                depthwise_planes, &run);
    return true;
}
