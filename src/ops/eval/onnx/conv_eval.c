/* Convolutions, computed. */
#include "cpu/pack/node_state.h"
#include "ops/eval/onnx/conv_int8_eval.h"

#include <math.h>

/* Input 0 and a filter [M, C/group, spatial...]. */
static void read_conv_window(const hn_eval *c, const hn_array *x, const hn_array *w,
                             const hn_array *y, hn_window *s) {
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 2, y->dims + 2, w->dims + 2, s);
}

#define CONV_JOB(name, c, s, input, filter, x_data, w_data, bias_data, y_data)                     \
  (hn_conv_job_##name) {                                                                           \
    .window = (s), .batch = (input)->dims[0], .channels = (input)->dims[1],                        \
    .filters = (filter)->dims[0], .groups = hn_attr_i(hn_eval_node(c), "group", 1), .x = (x_data), \
    .w = (w_data), .bias = (bias_data), .y = (y_data)                                              \
  }

hone_status hn_eval_conv(hn_eval *c) {
    return hn_conv_with_epilogue(c, NULL);
}
const hn_impl hn_impl_conv[1] = {{.eval = hn_eval_conv}};

hone_status hn_conv_with_epilogue(hn_eval *c, const hn_epilogue_f32 *epilogue) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_window s;
    if (!y)
        return HONE_OK;
    read_conv_window(c, x, w, y, &s);
    if (y->dtype == HN_F64) {
        hn_conv_f64(hn_eval_pool(c), &CONV_JOB(f64, c, &s, x, w, x->data, w->data,
                                               bias ? bias->data : NULL, y->data));
        return HONE_OK;
    }
    const float *packed_w = hn_packed_weights(c); /* then the others may not be there any more */
    const float *wide_x = hn_wide_f32(c, x), *wide_w = packed_w ? NULL : hn_wide_f32(c, w),
                *wide_bias = bias ? hn_wide_f32(c, bias) : NULL;
    float *wide = hn_buffer_f32(c, y);
    HN_TRY_PTR(wide_x && (packed_w || wide_w) && wide && (!bias || wide_bias));
    hn_conv_job_f32 job = CONV_JOB(f32, c, &s, x, w, wide_x, wide_w, wide_bias, wide);
    job.epilogue = epilogue;
    job.packed_w = packed_w;
    hn_conv_f32(hn_eval_pool(c), &job);
    hn_narrow_f32(y, wide);
    return HONE_OK;
}

/* ---- integers -------------------------------------------------------------------------------- */

hone_status hn_conv_sums(hn_eval *c, hn_byte_conv *in, const hn_array *y, int32_t *sums) {
    hn_window s;
    read_conv_window(c, in->x, in->w, y, &s);
    in->window = &s;
    in->groups = hn_attr_i(hn_eval_node(c), "group", 1);
    if (hn_byte_conv_fits(in))
        return hn_byte_conv_sums(c, in, sums);
    uint64_t filter_elems = in->w->n_elems / (uint64_t)HN_MAX(in->w->dims[0], 1);
    hn_slices one = {1, 1, UINT64_MAX},
              per_filter = {HN_MAX(filter_elems, 1), UINT64_MAX, UINT64_MAX};
    const int32_t *x = hn_wide_i32(c, in->x, in->x_zero, &one),
                  *w = hn_wide_i32(c, in->w, in->w_zero, &per_filter);
    HN_TRY_PTR(x && w);
    hn_conv_u32(hn_eval_pool(c),
                &CONV_JOB(u32, c, &s, in->x, in->w, (const uint32_t *)x, (const uint32_t *)w,
                          in->bias ? in->bias->data : NULL, (uint32_t *)sums));
    return HONE_OK;
}

static hone_status eval_conv_integer(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_byte_conv in = {
        .x = hn_arg(c, 0), .x_zero = hn_arg(c, 2), .w = hn_arg(c, 1), .w_zero = hn_arg(c, 3)};
    return y ? hn_conv_sums(c, &in, y, y->data) : HONE_OK;
}
const hn_impl hn_impl_conv_integer[1] = {{.eval = eval_conv_integer}};

hone_status hn_eval_qlinear_conv(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    const hn_array *w_scale = hn_arg(c, 4);
    hn_byte_conv in = {.x = hn_arg(c, 0),
                       .x_zero = hn_arg(c, 2),
                       .w = hn_arg(c, 3),
                       .w_zero = hn_arg(c, 5),
                       .bias = hn_arg(c, 8)};
    if (!y)
        return HONE_OK;
    int32_t *sums = hn_eval_scratch_n(c, y->n_elems, sizeof *sums);
    const float *by_w = hn_wide_f32(c, w_scale);
    HN_TRY_PTR(sums && by_w);
    if (w_scale->n_elems != 1 && w_scale->n_elems != (uint64_t)y->dims[1])
        return hn_eval_fail(c, HONE_E_SHAPE, "%llu scales for %lld filters",
                            (unsigned long long)w_scale->n_elems, (long long)y->dims[1]);
    HN_TRY(hn_conv_sums(c, &in, y, sums));
    float by_x = (float)hn_arg_f64_or(c, 1, 1), by_y = (float)hn_arg_f64_or(c, 6, 1),
          zero = (float)hn_arg_f64_or(c, 7, 0);
    float lo, hi, tile[HN_TILE];
    hn_int_range(y->dtype, &lo, &hi);
    uint64_t plane = y->n_elems / (uint64_t)HN_MAX(y->dims[0] * y->dims[1], 1),
             filters = (uint64_t)y->dims[1];
    for (uint64_t begin = 0; begin < y->n_elems && !hn_spent(HN_TILE); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, y->n_elems - begin);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t filter = (begin + i) / plane % filters;
            float scale = by_x * by_w[w_scale->n_elems == 1 ? 0 : filter % w_scale->n_elems] / by_y;
            tile[i] = fminf(fmaxf(hn_round_even((float)sums[begin + i] * scale) + zero, lo), hi);
        }
        hn_store_f32(y, begin, n, tile);
    }
    return HONE_OK;
}
const hn_impl hn_impl_qlinear_conv[1] = {{.eval = hn_eval_qlinear_conv}};

/* ---- causal, with state ---------------------------------------------------------------------- */

/* Depthwise along one axis. The state is the end of what the taps ran along; there may be several:
 * after each of the last positions. */
typedef struct causal_form {
    uint64_t batch, channels, n, n_taps, dilation, n_past;
    uint64_t n_states;
    bool channels_last;
} causal_form;

/* One channel: the past and the input in one line, which the taps run along. */
static void causal_line(const causal_form *f, const float *line, const float *taps, float bias,
                        bool silu, float *y) {
    for (uint64_t i = 0; i < f->n; i++) {
        float sum = bias;
        for (uint64_t k = 0; k < f->n_taps; k++)
            sum += taps[k] * line[i + k * f->dilation];
        y[i] = silu ? sum / (1 + expf(-sum)) : sum;
    }
}

/* Element 0 of a channel in [batch, channels, length] or [batch, length, channels], and the step to
 * the next. */
static uint64_t channel_begin(const causal_form *f, uint64_t i, uint64_t length, uint64_t *step) {
    *step = f->channels_last ? f->channels : 1;
    return f->channels_last ? i / f->channels * length * f->channels + i % f->channels : i * length;
}

static void load_channel(const causal_form *f, const hn_array *x, uint64_t state, uint64_t i,
                         uint64_t length, float *out) {
    uint64_t step, at = channel_begin(f, i, length, &step);
    at += state * f->batch * f->channels * length;
    if (step == 1)
        hn_load_f32(x, at, length, out);
    for (uint64_t k = 0; step != 1 && k < length; k++)
        hn_load_f32(x, at + k * step, 1, out + k);
}

static void store_channel(const causal_form *f, hn_array *y, uint64_t state, uint64_t i,
                          uint64_t length, const float *in) {
    uint64_t step, at = channel_begin(f, i, length, &step);
    at += state * f->batch * f->channels * length;
    if (step == 1)
        hn_store_f32(y, at, length, in);
    for (uint64_t k = 0; step != 1 && k < length; k++)
        hn_store_f32(y, at + k * step, 1, in + k);
}

/* States of positions before the first are 0. */
static void store_states(const causal_form *f, hn_array *present, uint64_t i, const float *line,
                         const float *zeros) {
    for (uint64_t s = 0; s < f->n_states; s++) {
        uint64_t behind = f->n_states - 1 - s; /* positions after this state */
        bool is_there = behind < f->n || behind == 0;
        store_channel(f, present, s, i, f->n_past, is_there ? line + f->n - behind : zeros);
    }
}

static hone_status read_causal_form(hn_eval *c, causal_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1);
    int64_t dilation = hn_attr_i(node, "dilation", 1), states = hn_attr_i(node, "state_window", 0),
            span;
    bool last = hn_attr_i(node, "channels_last", 0) != 0;
    if (x->rank != 3 || w->rank != 3 || hn_attr_i(node, "ndim", 1) != 1)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "only an input of one axis can be convolved");
    if (dilation < 1 || states < 0 || w->dims[2] < 1 ||
        !hn_mul_i64(w->dims[2] - 1, dilation, &span))
        return hn_eval_fail(c, HONE_E_INVALID, "dilation, state_window or the taps have no sense");
    *f = (causal_form){.batch = (uint64_t)x->dims[0],
                       .channels = (uint64_t)x->dims[last ? 2 : 1],
                       .n = (uint64_t)x->dims[last ? 1 : 2],
                       .n_taps = (uint64_t)w->dims[2],
                       .dilation = (uint64_t)dilation,
                       .n_past = (uint64_t)span,
                       .n_states = (uint64_t)HN_MAX(states, 1),
                       .channels_last = last};
    return HONE_OK;
}

static hone_status check_causal_sizes(hn_eval *c, const causal_form *f) {
    const hn_array *w = hn_arg(c, 1), *bias = hn_arg(c, 2), *past = hn_arg(c, 3),
                   *present = hn_ret(c, 1);
    uint64_t n;
    bool is_small =
        hn_mul_u64(f->batch * f->channels, f->n_past, &n) && hn_mul_u64(n, f->n_states, &n);
    if (is_small && w->n_elems == f->channels * f->n_taps &&
        (!bias || bias->n_elems == f->channels) && (!past || past->n_elems == n) &&
        (!present || present->n_elems == n))
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE, "weight, bias or state do not fit %llu channels",
                        (unsigned long long)f->channels);
}

static hone_status eval_causal_conv(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2), *past = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0), *present = hn_ret(c, 1);
    causal_form f = {.batch = 0};
    HN_TRY(read_causal_form(c, &f));
    HN_TRY(check_causal_sizes(c, &f));
    float *line = hn_eval_scratch_n(c, f.n + f.n_past, sizeof *line),
          *zeros = hn_eval_scratch_n(c, f.n_past, sizeof *zeros),
          *out = hn_eval_scratch_n(c, f.n, sizeof *out);
    const float *taps = hn_wide_f32(c, w), *per_channel = bias ? hn_wide_f32(c, bias) : NULL;
    HN_TRY_PTR(line && zeros && out && taps && (!bias || per_channel));
    memset(zeros, 0, f.n_past * sizeof *zeros);
    bool silu = !hn_attr_is(hn_eval_node(c), "activation", "none");
    for (uint64_t i = 0; i < f.batch * f.channels; i++) {
        uint64_t channel = i % f.channels;
        memset(line, 0, f.n_past * sizeof *line);
        if (past)
            load_channel(&f, past, f.n_states - 1, i, f.n_past, line);
        load_channel(&f, x, 0, i, f.n, line + f.n_past);
        causal_line(&f, line, taps + channel * f.n_taps, bias ? per_channel[channel] : 0, silu,
                    out);
        if (y)
            store_channel(&f, y, 0, i, f.n, out);
        if (present)
            store_states(&f, present, i, line, zeros);
    }
    return HONE_OK;
}
const hn_impl hn_impl_causal_conv[1] = {{.eval = eval_causal_conv}};
