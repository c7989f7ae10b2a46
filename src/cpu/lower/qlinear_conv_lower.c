/* Lowering of channels-last convolutions of 8-bit integers: hone.QLinearConv, whose scales and zero
 * points are constants, and hone.DynamicConv, which quantizes its input in each run. */
#include <math.h>

#include "cpu/kernels/conv_int8/conv_int8_form.h"
#include "cpu/kernels/quantize/quantize.h"
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/onnx/window_eval.h"
#include "ops/eval/widen.h"

/* The job points at the window and the form. */
typedef struct byte_conv_step {
    hn_window window;
    hn_conv_int8_form form;
    hn_conv_int8_job job;
    hn_int8_columns columns; /* of a dynamic one */
    uint64_t n_x;
    size_t x_bytes, columns_bytes; /* of scratch, before the workspace */
    bool has_bias, has_residual;
} byte_conv_step;

/* One number, or one per filter, and known. */
static bool is_known_per_filter(const hn_array *a, int64_t filters) {
    return a && a->data && (a->n_elems == 1 || a->n_elems == (uint64_t)filters);
}

static bool is_known_number(const hn_array *a) {
    return a && a->data && a->n_elems == 1;
}

static int32_t byte_number(const hn_array *a, int64_t i) {
    return hn_byte_at(a->data, a->dtype == HN_I8, i);
}

/* Elements from one pixel to the next. */
static int64_t pixel_step(const hn_array *a) {
    return a->row_stride ? a->row_stride : a->dims[a->rank - 1];
}

/* The job but for what becomes of the sums; false: it is evaluated. */
static bool read_byte_conv(const hn_eval *c, uint32_t filters_arg, byte_conv_step *s) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, filters_arg), *y = hn_ret(c, 0);
    int64_t groups = hn_attr_i(hn_eval_node(c), "group", 1);
    if (!x || !w || !y || y->n_elems == 0 || w->n_elems == 0 || !hn_packed_int8(c))
        return false;
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 1, y->dims + 1, w->dims + 2, &s->window);
    s->job = (hn_conv_int8_job){.window = &s->window,
                                .batch = x->dims[0],
                                .channels = x->dims[x->rank - 1],
                                .filters = w->dims[0],
                                .groups = groups,
                                .n_threads = hn_lower_threads(c),
                                .x_is_signed = x->dtype == HN_I8,
                                .x_step = pixel_step(x),
                                .packed_w = hn_packed_int8(c),
                                .y_step = pixel_step(y)};
    s->n_x = x->n_elems;
    return true;
}

/* When all sizes and strides of the job are settled. */
static void keep_form(byte_conv_step *s) {
    s->form = hn_conv_int8_read_form(&s->job);
    s->job.form = &s->form;
}

/* Zero points of the filters as integers, in the memory of the plan. */
static hone_status read_filter_zeros(hn_eval *c, const hn_array *zeros, hn_int8_columns *columns) {
    if (!zeros)
        return HONE_OK;
    int32_t *wide = hn_lower_alloc(c, zeros->n_elems * sizeof *wide);
    HN_TRY_PTR(wide);
    for (uint64_t i = 0; i < zeros->n_elems; i++)
        wide[i] = byte_number(zeros, (int64_t)i);
    columns->b_zeros = wide;
    columns->n_b_zeros = (int64_t)zeros->n_elems;
    return HONE_OK;
}

/* ---- quantized ahead -------------------------------------------------------------------------- */

/* Bytes with the limits of an activation, which hold behind the rounding. */
static void limit_bytes(hn_dtype type, int32_t zero, float scale, const hn_epilogue_f32 *e,
                        float *low, float *high) {
    hn_int_range(type, low, high);
    *low -= (float)zero;
    *high -= (float)zero;
    if (e->is_limited) {
        *low = HN_MIN(HN_MAX(*low, hn_round_even(e->least / scale)), *high);
        *high = HN_MAX(HN_MIN(*high, hn_round_even(e->most / scale)), *low);
    }
}

static float number_of(const hn_eval *c, uint32_t arg) {
    return *(const float *)hn_arg(c, arg)->data;
}

static void read_byte_result(const hn_eval *c, const hn_epilogue_f32 *e, hn_int8_result *result) {
    const hn_array *y = hn_ret(c, 0), *z = hn_arg(c, 9);
    int32_t zero = byte_number(hn_arg(c, 7), 0);
    float scale = number_of(c, 6);
    result->to = HN_INT8_TO_BYTES;
    if (!z) {
        result->zero = zero;
        limit_bytes(y->dtype, zero, scale, e, &result->low, &result->high);
        return;
    }
    const hn_array *c_zero = hn_arg(c, 13);
    hn_int8_residual *sum = &result->residual;
    hn_int_range(c_zero->dtype, &result->low, &result->high);
    result->low -= (float)byte_number(c_zero, 0);
    result->high -= (float)byte_number(c_zero, 0);
    *sum = (hn_int8_residual){.row = pixel_step(z),
                              .is_signed = z->dtype == HN_I8,
                              .zero = (float)byte_number(hn_arg(c, 11), 0),
                              .of_residual = number_of(c, 10) / scale,
                              .of_result = number_of(c, 12) / scale,
                              .sum_zero = zero};
    limit_bytes(y->dtype, zero, scale, e, &sum->low, &sum->high);
}

static bool has_known_params(const hn_eval *c, int64_t filters) {
    bool has_z = hn_arg(c, 9) != NULL, is_real = hn_arg(c, 6) == NULL;
    bool is_known =
        is_known_number(hn_arg(c, 1)) && is_known_number(hn_arg(c, 2)) &&
        is_known_per_filter(hn_arg(c, 4), filters) && is_known_per_filter(hn_arg(c, 5), filters) &&
        (!hn_arg(c, 8) || (hn_arg(c, 8)->data && hn_arg(c, 8)->n_elems == (uint64_t)filters));
    if (is_real)
        return is_known && !has_z;
    is_known = is_known && is_known_number(hn_arg(c, 6)) && is_known_number(hn_arg(c, 7));
    if (!has_z)
        return is_known && !hn_arg(c, 12);
    for (uint32_t i = 10; i < 14; i++)
        is_known = is_known && is_known_number(hn_arg(c, i));
    return is_known && hn_arg(c, 9)->n_elems == hn_ret(c, 0)->n_elems;
}

static hone_status run_qlinear_conv(const void *record, const hn_step_io *io) {
    const byte_conv_step *s = record;
    hn_conv_int8_job job = s->job;
    job.x = io->in[0];
    job.y = io->out[0];
    job.result.residual.at = s->has_residual ? io->in[9] : NULL;
    job.workspace = io->scratch;
    hn_conv_int8(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_qlinear_conv(hn_eval *c, hn_lowered *out) {
    hn_epilogue_f32 e = {0};
    byte_conv_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (byte_conv_step){.has_residual = hn_arg(c, 9) != NULL};
    if (!read_byte_conv(c, 3, s) || !hn_dtype_is_byte(hn_arg(c, 0)->dtype) ||
        !has_known_params(c, s->job.filters) || !hn_fused_epilogue(c, &e) ||
        (e.unary && hn_arg(c, 6)))
        return HONE_OK;
    const hn_array *bias = hn_arg(c, 8), *w_scale = hn_arg(c, 4);
    hn_int8_columns columns = {.b_is_signed = hn_arg(c, 3)->dtype == HN_I8,
                               .bias = bias ? bias->data : NULL,
                               .scales = w_scale->data,
                               .n_scales = (int64_t)w_scale->n_elems,
                               .scale = number_of(c, 1),
                               .divisor = 1};
    HN_TRY(read_filter_zeros(c, hn_arg(c, 5), &columns));
    s->job.x_zero = (uint8_t)byte_number(hn_arg(c, 2), 0);
    if (hn_arg(c, 6)) {
        read_byte_result(c, &e, &s->job.result);
        columns.divisor = number_of(c, s->has_residual ? 12 : 6);
    } else {
        e = hn_epilogue_limited_f32(&e);
        s->job.result = (hn_int8_result){.to = HN_INT8_TO_F32,
                                         .low = e.least,
                                         .high = e.most,
                                         .unary = e.unary,
                                         .a = e.a,
                                         .b = e.b};
    }
    keep_form(s);
    void *memory = hn_lower_alloc(c, hn_conv_int8_columns_bytes(&s->job));
    HN_TRY_PTR(memory);
    hn_conv_int8_fill_columns(&columns, memory, &s->job);
    *out = (hn_lowered){.run = run_qlinear_conv,
                        .record = s,
                        .scratch_bytes = hn_conv_int8_workspace_bytes(&s->job)};
    return HONE_OK;
}
const hn_lowering hn_lower_qlinear_conv_nhwc[1] = {
    {.lower = lower_qlinear_conv,
     .prepare = hn_prepare_int8_filters_arg3,
     .release = hn_release_weights,
     .row_strides = {.args = 1 | 1 << 9, .rets = true}}};

/* ---- quantized in each run -------------------------------------------------------------------- */

static hone_status run_dynamic_conv(const void *record, const hn_step_io *io) {
    const byte_conv_step *s = record;
    hn_conv_int8_job job = s->job;
    hn_int8_columns columns = s->columns;
    uint8_t *bytes = io->scratch, *memory = bytes + s->x_bytes;
    float zero;
    hn_quantize_find_scale(io->pool, s->n_x, io->in[0], &columns.scale, &zero);
    hn_quantize_to_u8(io->pool, s->n_x, io->in[0], columns.scale, zero, bytes);
    columns.float_bias = s->has_bias ? io->in[4] : NULL;
    job.x = bytes;
    job.x_zero = (uint8_t)zero;
    hn_conv_int8_fill_columns(&columns, memory, &job);
    job.result.residual.at = s->has_residual ? io->in[5] : NULL;
    job.y = io->out[0];
    job.workspace = memory + s->columns_bytes;
    hn_conv_int8(io->pool, &job);
    return HONE_OK;
}

static size_t aligned_part(uint64_t bytes) {
    return (size_t)((bytes + HN_CONV_INT8_ALIGN - 1) / HN_CONV_INT8_ALIGN * HN_CONV_INT8_ALIGN);
}

static hone_status lower_dynamic_conv(hn_eval *c, hn_lowered *out) {
    const hn_array *w_scale = hn_arg(c, 2), *w_zero = hn_arg(c, 3), *z = hn_arg(c, 5);
    hn_epilogue_f32 e = {0};
    byte_conv_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (byte_conv_step){.has_bias = hn_arg(c, 4) != NULL, .has_residual = z != NULL};
    if (!read_byte_conv(c, 1, s) || !is_known_per_filter(w_scale, s->job.filters) ||
        (w_zero && !is_known_per_filter(w_zero, s->job.filters)) ||
        (z && z->n_elems != hn_ret(c, 0)->n_elems) || !hn_fused_epilogue(c, &e))
        return HONE_OK;
    e = hn_epilogue_limited_f32(&e);
    s->job.x_step = s->job.channels;
    s->job.result = (hn_int8_result){.to = HN_INT8_TO_F32,
                                     .low = e.least,
                                     .high = e.most,
                                     .unary = e.unary,
                                     .a = e.a,
                                     .b = e.b,
                                     .residual = {.row = z ? pixel_step(z) : 0}};
    s->columns = (hn_int8_columns){.b_is_signed = hn_arg(c, 1)->dtype == HN_I8,
                                   .scales = w_scale->data,
                                   .n_scales = (int64_t)w_scale->n_elems,
                                   .divisor = 1};
    HN_TRY(read_filter_zeros(c, w_zero, &s->columns));
    keep_form(s);
    s->x_bytes = aligned_part(s->n_x);
    s->columns_bytes = aligned_part(hn_conv_int8_columns_bytes(&s->job));
    *out = (hn_lowered){.run = run_dynamic_conv,
                        .record = s,
                        .scratch_bytes =
                            s->x_bytes + s->columns_bytes + hn_conv_int8_workspace_bytes(&s->job)};
    return HONE_OK;
}
const hn_lowering hn_lower_dynamic_conv_nhwc[1] = {{.lower = lower_dynamic_conv,
                                                    .prepare = hn_prepare_int8_filters_arg1,
                                                    .release = hn_release_weights,
                                                    .row_strides = {.args = 1 << 5, .rets = true}}};
