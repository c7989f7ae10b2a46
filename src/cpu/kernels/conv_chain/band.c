/* Laying bands out; see band.h. */
#include "cpu/kernels/conv_chain/band.h"

bool hn_band_read(const hn_window *s, int64_t most_rows, hn_band *f) {
    if (s->n_axes < 1 || s->n_axes > 2 || s->kernel_elems > HN_BAND_MOST_TAPS)
        return false;
    int32_t w = s->n_axes - 1;
    if (s->stride[0] > HN_BAND_MOST_STRIDE || s->stride[w] > HN_BAND_MOST_STRIDE)
        return false;
    bool has_h = s->n_axes == 2;
    int64_t kernel_h = has_h ? s->kernel[0] : 1, step_h = has_h ? s->dilation[0] : 1;
    *f = (hn_band){.in_h = has_h ? s->in[0] : 1,
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
    int64_t room = HN_BAND_ELEMS / (f->stride_h * f->stride_w) / f->pitch - reach_h - 1;
    f->rows = HN_MIN(room, HN_MIN(most_rows, f->out_h));
    f->part_rows = f->rows + reach_h;
    if (f->rows < 1 ||
        f->stride_h * f->stride_w * f->part_rows * f->pitch + HN_TAP_SUMS_SLACK > HN_BAND_ELEMS)
        return false;
    for (int64_t t = 0; t < f->n_taps; t++) {
        int64_t i = t / s->kernel[w] * step_h, j = t % s->kernel[w] * s->dilation[w];
        int64_t part = i % f->stride_h * f->stride_w + j % f->stride_w;
        f->has_phase_h[i % f->stride_h] = true;
        f->has_phase_w[j % f->stride_w] = true;
        f->offsets[t] = (part * f->part_rows + i / f->stride_h) * f->pitch + j / f->stride_w;
    }
    return true;
}

static void fill_outside(float outside, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = outside;
}

/* Every stride_w-th element of an input row from column `from` on, `outside` outside. */
static void lay_out_row(const hn_band *f, const float *row, int64_t from, float outside,
                        float *out) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    int64_t step = f->stride_w, first = from < 0 ? (step - 1 - from) / step : 0;
    int64_t past = from < f->in_w ? (f->in_w - from + step - 1) / step : 0;
    past = row ? HN_MIN(past, f->pitch) : 0;
    first = HN_MIN(first, past);
    fill_outside(outside, first, out);
    if (step == 2 && loops && first < past)
        loops->every_other(past - first, row + from + first * step, out + first);
    else
        for (int64_t i = first; i < past; i++)
            out[i] = row[from + i * step];
    fill_outside(outside, f->pitch - past, out + past);
}

static void lay_out_dense_row(const hn_band *f, const float *row, float outside, float *out) {
    int64_t before = HN_MIN(f->pad_w, f->pitch);
    int64_t n = row ? HN_MAX(HN_MIN(f->in_w, f->pitch - before), 0) : 0;
    fill_outside(outside, before, out);
    if (n)
        memcpy(out + before, row, (size_t)n * sizeof *out);
    fill_outside(outside, f->pitch - before - n, out + before + n);
}

void hn_band_plan(const hn_band *f, const float *x, int64_t row0, float outside, float *band) {
    for (int64_t part = 0; part < f->stride_h * f->stride_w; part++) {
        int64_t phase_h = part / f->stride_w, phase_w = part % f->stride_w;
        if (!f->has_phase_h[phase_h] || !f->has_phase_w[phase_w])
            continue;
        for (int64_t r = 0; r < f->part_rows; r++) {
            int64_t at = (row0 + r) * f->stride_h + phase_h - f->pad_h;
            const float *row = at >= 0 && at < f->in_h ? x + at * f->in_w : NULL;
            float *out = band + (part * f->part_rows + r) * f->pitch;
            if (f->stride_w == 1)
                lay_out_dense_row(f, row, outside, out);
            else
                lay_out_row(f, row, phase_w - f->pad_w, outside, out);
        }
    }
}
