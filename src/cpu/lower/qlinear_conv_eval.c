/* Convolutions of bytes with their epilogues, computed plainly: hone.QLinearConv and
 * hone.DynamicConv. */
#include "cpu/lower/lower.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/onnx/conv_int8_eval.h"
#include "ops/eval/onnx/quantize_eval.h"

#include <math.h>

/* The data of a node with channels first, whatever its layout is. */
typedef struct plain_conv {
    hn_array x, y, sum; /* sum: Z; without data when there is none */
    int64_t x_dims[HN_MAX_RANK], y_dims[HN_MAX_RANK], sum_dims[HN_MAX_RANK];
    bool is_first; /* as the node has it */
    int32_t *sums;
    float *real;
} plain_conv;

static hone_status to_channels_first(hn_eval *c, const plain_conv *v, const hn_array *x,
                                     int64_t *dims, hn_array *out) {
    if (!v->is_first)
        return hn_channels_first(c, x, dims, out);
    *out = *x;
    return HONE_OK;
}

static hone_status read_plain_conv(hn_eval *c, const hn_array *sum, plain_conv *v) {
    hn_array *y = hn_ret(c, 0);
    v->is_first = hn_attr_i(hn_eval_node(c), "channels_first", 0) != 0;
    v->sum.data = NULL;
    HN_TRY(to_channels_first(c, v, hn_arg(c, 0), v->x_dims, &v->x));
    if (v->is_first)
        v->y = *y;
    else
        HN_TRY(hn_channels_first_like(c, y, y->dtype, v->y_dims, &v->y));
    if (sum)
        HN_TRY(to_channels_first(c, v, sum, v->sum_dims, &v->sum));
    HN_TRY_PTR(v->sums = hn_eval_scratch_n(c, y->n_elems, sizeof *v->sums));
    HN_TRY_PTR(v->real = hn_eval_scratch_n(c, y->n_elems, sizeof *v->real));
    return HONE_OK;
}

/* One for all filters, or one for each. */
static hone_status want_per_filter(hn_eval *c, const hn_array *numbers, int64_t filters) {
    if (!numbers || numbers->n_elems == 1 || numbers->n_elems == (uint64_t)filters)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE, "%llu scales or zero points for %lld filters",
                        (unsigned long long)numbers->n_elems, (long long)filters);
}

/* real = sums * (by_x * by_w / by_y) */
static void scale_conv_sums(const plain_conv *v, float by_x, const hn_array *w_scale, float by_y) {
    const float *by_w = w_scale->data;
    uint64_t filters = (uint64_t)v->y.dims[1],
             plane = v->y.n_elems / (uint64_t)HN_MAX(v->y.dims[0] * v->y.dims[1], 1);
    for (uint64_t i = 0; i < v->y.n_elems; i++) {
        float scale = by_x * by_w[w_scale->n_elems == 1 ? 0 : i / plane % filters] / by_y;
        v->real[i] = (float)v->sums[i] * scale;
    }
}

static void round_to_bytes_of(uint64_t n, float *v, hn_dtype type, float zero) {
    float lo, hi;
    hn_int_range(type, &lo, &hi);
    for (uint64_t i = 0; i < n; i++)
        v[i] = fminf(fmaxf(hn_round_even(v[i]) + zero, lo), hi);
}

static void add_quantized_residual(const plain_conv *v, hn_affine by) {
    float tile[HN_TILE];
    for (uint64_t at = 0, n; at < v->sum.n_elems; at += n) {
        n = HN_MIN(HN_TILE, v->sum.n_elems - at);
        hn_dequantize_f32(&v->sum, by, at, n, tile);
        for (uint64_t i = 0; i < n; i++)
            v->real[at + i] += tile[i];
    }
}

static hone_status store_plain_conv(hn_eval *c, plain_conv *v) {
    hn_store_f32(&v->y, 0, v->y.n_elems, v->real);
    return v->is_first ? HONE_OK : hn_channels_last(c, &v->y, hn_ret(c, 0));
}

/* Rounds and clamps the sums to the bytes of c_zero, and takes that off again. */
static void round_sums(hn_eval *c, plain_conv *v) {
    const hn_array *c_zero = hn_arg(c, 13);
    hn_affine by_c = hn_affine_args(c, 12, 13);
    scale_conv_sums(v, (float)hn_arg_f64_or(c, 1, 1), hn_arg(c, 4), by_c.scale);
    round_to_bytes_of(v->y.n_elems, v->real, c_zero ? c_zero->dtype : HN_U8, by_c.zero);
    for (uint64_t i = 0; i < v->y.n_elems; i++)
        v->real[i] -= by_c.zero;
}

/* Limits of bytes are those of the rounded numbers: rounding keeps the order. Others, and floats, see
 * real numbers. */
static hone_status activate_scaled(hn_eval *c, plain_conv *v, float by_y) {
    hn_epilogue_f32 limits = {.least = 0};
    if (hn_arg(c, 6) && hn_fused_epilogue(c, &limits) && limits.is_limited) {
        float least = hn_round_even(limits.least / by_y), most = hn_round_even(limits.most / by_y);
        for (uint64_t i = 0; i < v->y.n_elems; i++)
            v->real[i] = fminf(fmaxf(hn_round_even(v->real[i]), least), most);
        return HONE_OK;
    }
    hn_array real = v->y;
    real.dtype = HN_F32;
    real.data = v->real;
    for (uint64_t i = 0; i < v->y.n_elems; i++)
        v->real[i] *= by_y;
    HN_TRY(hn_fused_activation(c, &real));
    for (uint64_t i = 0; i < v->y.n_elems; i++)
        v->real[i] /= by_y;
    return HONE_OK;
}

/* Numbers divided by the scale of y, which is 1 for floats; neither rounded nor shifted. */
static hone_status finish_qlinear_conv(hn_eval *c, plain_conv *v) {
    float by_y = hn_arg(c, 6) ? (float)hn_arg_f64_or(c, 6, 1) : 1;
    if (hn_arg(c, 12)) {
        float by = (float)hn_arg_f64_or(c, 12, 1) / by_y;
        round_sums(c, v);
        for (uint64_t i = 0; i < v->y.n_elems; i++)
            v->real[i] *= by;
    } else {
        scale_conv_sums(v, (float)hn_arg_f64_or(c, 1, 1), hn_arg(c, 4), by_y);
    }
    if (v->sum.data) {
        hn_affine by_z = hn_affine_args(c, 10, 11);
        by_z.scale /= by_y;
        add_quantized_residual(v, by_z);
    }
    return hn_has_attr(hn_eval_node(c), "activation") ? activate_scaled(c, v, by_y) : HONE_OK;
}

static hone_status eval_qlinear_conv_nhwc(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    plain_conv v;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, 9, y->rank, y->dims));
    HN_TRY(read_plain_conv(c, hn_arg(c, 9), &v));
    HN_TRY(want_per_filter(c, hn_arg(c, 4), v.y.dims[1]));
    HN_TRY(want_per_filter(c, hn_arg(c, 5), v.y.dims[1]));
    hn_byte_conv in = {.x = &v.x,
                       .x_zero = hn_arg(c, 2),
                       .w = hn_arg(c, 3),
                       .w_zero = hn_arg(c, 5),
                       .bias = hn_arg(c, 8)};
    HN_TRY(hn_conv_sums(c, &in, &v.y, v.sums));
    HN_TRY(finish_qlinear_conv(c, &v));
    if (hn_arg(c, 6))
        round_to_bytes_of(v.y.n_elems, v.real, y->dtype, (float)hn_arg_f64_or(c, 7, 0));
    return store_plain_conv(c, &v);
}
const hn_impl hn_impl_qlinear_conv_nhwc[1] = {{.eval = eval_qlinear_conv_nhwc}};

/* ---- dynamically quantized ------------------------------------------------------------------- */

static void add_filter_bias(const plain_conv *v, const float *bias) {
    uint64_t filters = (uint64_t)v->y.dims[1],
             plane = v->y.n_elems / (uint64_t)HN_MAX(v->y.dims[0] * v->y.dims[1], 1);
    for (uint64_t i = 0; i < v->y.n_elems; i++)
        v->real[i] += bias[i / plane % filters];
}

static hone_status eval_dynamic_conv_nhwc(hn_eval *c) {
    const hn_array *bias = hn_arg(c, 4), *sum = hn_arg(c, 5);
    hn_array *y = hn_ret(c, 0), bytes, zero;
    plain_conv v;
    uint8_t zero_byte;
    float by_x;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, 5, y->rank, y->dims));
    HN_TRY(read_plain_conv(c, sum, &v));
    HN_TRY(want_per_filter(c, hn_arg(c, 2), v.y.dims[1]));
    HN_TRY(want_per_filter(c, hn_arg(c, 3), v.y.dims[1]));
    HN_TRY(hn_scratch_array(c, HN_U8, v.x.rank, v.x.dims, &bytes));
    HN_TRY(hn_scratch_array(c, HN_U8, 0, NULL, &zero));
    zero.data = &zero_byte;
    hn_dynamic_quantize(hn_eval_pool(c), v.x.n_elems, v.x.data, bytes.data, &by_x, &zero_byte);
    hn_byte_conv in = {.x = &bytes, .x_zero = &zero, .w = hn_arg(c, 1), .w_zero = hn_arg(c, 3)};
    HN_TRY(hn_conv_sums(c, &in, &v.y, v.sums));
    scale_conv_sums(&v, by_x, hn_arg(c, 2), 1);
    if (bias)
        add_filter_bias(&v, bias->data);
    for (uint64_t i = 0; sum && i < v.y.n_elems; i++)
        v.real[i] += ((const float *)v.sum.data)[i];
    hn_array real = hn_array_at(&v.y, v.real);
    HN_TRY(hn_fused_activation(c, &real));
    return store_plain_conv(c, &v);
}
const hn_impl hn_impl_dynamic_conv_nhwc[1] = {{.eval = eval_dynamic_conv_nhwc}};
