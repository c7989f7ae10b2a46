/* Channels-first convolutions of small maps; see conv_small.h. */
#include "cpu/kernels/conv/conv_small.h"

#include "cpu/kernels/conv/conv_int.h"
#include "cpu/kernels/gemm/gemm_micro.h"

#define MOST_SMALL_WORK (1 << 18) /* products; larger ones are worth several threads */

static bool is_at_most(int64_t a, int64_t b, int64_t most) { /* a * b <= most; no overflow */
    return a <= most && b <= most && a * b <= most;
}

/* The same with two axes; false: there are others. */
static bool read_plane(const hn_window *s, hn_conv_small_f32 *f) {
    int32_t w = s->n_axes - 1;
    bool has_rows = s->n_axes == 2;
    if (s->n_axes < 1 || s->n_axes > 2 || s->kernel_elems < 2)
        return false;
    for (int32_t a = 0; a < s->n_axes; a++)
        if (s->stride[a] != 1 || s->pad[a] < 0 || s->out[a] > HN_CONV_SMALL_LANES ||
            s->pad[a] > HN_CONV_SMALL_LANES ||
            !is_at_most(s->kernel[a], s->dilation[a], HN_CONV_SMALL_LANES))
            return false;
    int64_t reach_h = has_rows ? (s->kernel[0] - 1) * s->dilation[0] : 0;
    int64_t pad_h = has_rows ? s->pad[0] : 0, in_h = has_rows ? s->in[0] : 1;
    f->in_elems = s->in_elems;
    f->in_row = s->in[w];
    f->out_h = has_rows ? s->out[0] : 1;
    f->out_w = s->out[w];
    f->pitch = f->out_w + (s->kernel[w] - 1) * s->dilation[w];
    f->band_elems = (f->out_h + reach_h) * f->pitch;
    f->inside = pad_h * f->pitch + s->pad[w];
    f->rows = HN_MAX(HN_MIN(in_h, f->out_h + reach_h - pad_h), 0);
    f->cols = HN_MAX(HN_MIN(s->in[w], f->pitch - s->pad[w]), 0);
    return (f->out_h - 1) * f->pitch + f->out_w <= HN_CONV_SMALL_LANES;
}

bool hn_conv_small_read(const hn_conv_job_f32 *job, hn_conv_small_f32 *f) {
    const hn_window *s = job->window;
    int64_t taps = s->kernel_elems, kernel_w = s->n_axes > 0 ? s->kernel[s->n_axes - 1] : 0;
    if (!hn_conv_small_pick() || !hn_gemm_pick_f32() || job->groups < 1 ||
        job->channels == job->groups || !read_plane(s, f))
        return false;
    f->channels = job->channels / job->groups;
    if (!is_at_most(f->channels, taps, HN_CONV_SMALL_DEPTH) ||
        !is_at_most(f->channels, f->band_elems, HN_CONV_SMALL_BANDS) ||
        !is_at_most(job->filters, f->channels * taps * HN_CONV_SMALL_LANES, MOST_SMALL_WORK))
        return false;
    f->depth = f->channels * taps;
    for (int64_t k = 0; k < f->depth; k++) {
        int64_t row = k % taps / kernel_w, col = k % kernel_w;
        f->offsets[k] = (int32_t)(k / taps * f->band_elems +
                                  (s->n_axes == 2 ? row * s->dilation[0] * f->pitch : 0) +
                                  col * s->dilation[s->n_axes - 1]);
    }
    return true;
}

void hn_conv_small_run(const hn_pool *pool, const hn_conv_job_f32 *job,
                       const hn_conv_small_f32 *f) {
    const hn_conv_small_set *set = hn_conv_small_pick();
    int64_t filters = job->filters / job->groups, out = f->out_h * f->out_w;
    /* packed filters stand in strips, those of the file in one */
    int64_t n_strips = job->packed_w ? hn_gemm_n_tiles_f32(hn_gemm_pick_f32(), filters) : 1;
    float bands[HN_CONV_SMALL_BANDS + HN_CONV_SMALL_SLACK];
    memset(bands, 0, (size_t)(f->channels * f->band_elems + HN_CONV_SMALL_SLACK) * sizeof *bands);
    for (int64_t i = 0; i < job->batch * job->groups && !hn_pool_is_stopped(pool); i++) {
        int64_t filter = i % job->groups * filters;
        set->copy(f, job->x + i * f->channels * f->in_elems, bands);
        for (int64_t t = 0; t < n_strips; t++) {
            int64_t row = hn_gemm_tile_row_f32(filters, n_strips, t);
            int64_t n = hn_gemm_tile_row_f32(filters, n_strips, t + 1) - row;
            int64_t at = (filter + row) * f->depth;
            hn_small_filters w = {.at = job->w ? job->w + at : NULL, .row = f->depth, .col = 1};
            if (job->packed_w)
                w = (hn_small_filters){.at = job->packed_w + at, .row = 1, .col = n};
            set->products(f, bands, n, &w, job->bias ? job->bias + filter + row : NULL,
                          job->y + (i * filters + row) * out);
        }
        hn_conv_epilogue_f32(job, i * filters * out, filters * out);
    }
}

#define SIMD_TEMPLATE "cpu/kernels/conv/conv_small_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
