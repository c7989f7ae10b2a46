/* Products of com.microsoft with quantized operands, computed. */
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/product.h"

#include <math.h>

#include "cpu/kernels/kernel.h"
#include "cpu/kernels/quantize/quantize.h"

/* ---- sums that become floats ----------------------------------------------------------------- */

/* y = sums * by_a * by_b + bias: by_b and bias stand for all, or for each column. */
static hone_status scale_sums(hn_eval *c, const int32_t *sums, float by_a, uint32_t by_b,
                              uint32_t bias, hn_array *y) {
    const hn_array *scale = hn_arg(c, by_b);
    uint64_t columns = (uint64_t)HN_MAX(y->rank > 0 ? y->dims[y->rank - 1] : 1, 1);
    const float *scales, *biases;
    float tile[HN_TILE];
    if (scale->n_elems != 1)
        HN_TRY(hn_want_elems(c, by_b, columns));
    HN_TRY(hn_want_elems(c, bias, columns));
    HN_TRY_PTR(hn_arg_f32s(c, by_b, &scales) && hn_arg_f32s(c, bias, &biases));
    for (uint64_t begin = 0, n; begin < y->n_elems && !hn_spent(HN_TILE); begin += n) {
        uint64_t k = begin % columns; /* a tile ends with its row */
        n = HN_MIN(HN_TILE, HN_MIN(columns - k, y->n_elems - begin));
        for (uint64_t i = 0; i < n; i++)
            tile[i] = (float)sums[begin + i] * (by_a * scales[scale->n_elems == 1 ? 0 : k + i]);
        for (uint64_t i = 0; biases && i < n; i++)
            tile[i] += biases[k + i];
        hn_store_f32(y, begin, n, tile);
    }
    return HONE_OK;
}

static hone_status eval_matmul_integer_to_float(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), sums;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_scratch_array(c, HN_I32, y->rank, y->dims, &sums));
    const hn_array *const args[4] = {hn_arg(c, 0), hn_arg(c, 1), hn_arg(c, 4), hn_arg(c, 5)};
    HN_TRY(hn_eval_as(c, hn_eval_matmul_integer, 4, args, &sums));
    HN_TRY(hn_want_elems(c, 2, 1));
    return scale_sums(c, sums.data, (float)hn_arg_f64_or(c, 2, 1), 3, 6, y);
}
const hn_impl hn_impl_matmul_integer_to_float[1] = {{.eval = eval_matmul_integer_to_float}};

static hone_status eval_dynamic_quantize_matmul(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), sums, bytes;
    if (!y)
        return HONE_OK;
    hn_affine by = hn_byte_affine(x->n_elems, x->data);
    uint8_t zero_byte = (uint8_t)by.zero;
    const hn_array zero = {.dtype = HN_U8, .n_elems = 1, .data = &zero_byte};
    HN_TRY(hn_scratch_array(c, HN_U8, x->rank, x->dims, &bytes));
    hn_quantize_to_u8(hn_eval_pool(c), x->n_elems, x->data, by.scale, by.zero, bytes.data);
    HN_TRY(hn_scratch_array(c, HN_I32, y->rank, y->dims, &sums));
    const hn_array *const args[4] = {&bytes, hn_arg(c, 1), &zero, hn_arg(c, 3)};
    HN_TRY(hn_eval_as(c, hn_eval_matmul_integer, 4, args, &sums));
    return scale_sums(c, sums.data, by.scale, 2, 4, y);
}
const hn_impl hn_impl_dynamic_quantize_matmul[1] = {{.eval = eval_dynamic_quantize_matmul}};

/* ---- QGemm ----------------------------------------------------------------------------------- */

/* y = sums * (by_a * scale / y_scale), rounded, plus the zero point of y, within its type. */
static hone_status requantize_sums(hn_eval *c, const int32_t *sums, float by_a, hn_array *y) {
    const hn_array *scale = hn_arg(c, 4);
    hn_affine by_y = hn_affine_args(c, 7, 8);
    uint64_t columns = (uint64_t)HN_MAX(y->dims[1], 1);
    const float *scales;
    float lo, hi;
    if (scale->n_elems != 1)
        HN_TRY(hn_want_elems(c, 4, columns));
    HN_TRY_PTR(hn_arg_f32s(c, 4, &scales));
    hn_int_range(y->dtype, &lo, &hi);
    for (uint64_t i = 0; i < y->n_elems && !hn_spent(1); i++) {
        float by = by_a * scales[scale->n_elems == 1 ? 0 : i % columns] / by_y.scale;
        float v = hn_round_even((float)sums[i] * by) + by_y.zero;
        v = v > lo ? v : lo;
        v = v < hi ? v : hi;
        hn_store_f32(y, i, 1, &v);
    }
    return HONE_OK;
}

/* Sums and bias. */
static hone_status qgemm_sums(hn_eval *c, const hn_array *y, int32_t *sums) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *b_zero = hn_arg(c, 5), *bias = hn_arg(c, 6);
    int64_t strides[2] = {0, 0}, n = y->dims[1];
    hn_product p = {.a = hn_arg(c, 0),
                    .b = hn_arg(c, 3),
                    .trans_a = hn_attr_i(node, "transA", 0) != 0,
                    .trans_b = hn_attr_i(node, "transB", 0) != 0};
    HN_TRY(hn_want_elems(c, 2, 1));
    if (b_zero && b_zero->n_elems != 1)
        HN_TRY(hn_want_elems(c, 5, (uint64_t)n));
    HN_TRY(hn_product_eval_int(c, &p, hn_arg(c, 2), b_zero, y, sums));
    if (!bias)
        return HONE_OK;
    hn_broadcast_strides(bias, 2, strides);
    const uint32_t *more = bias->data;
    for (int64_t i = 0; i < y->dims[0] * n; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + more[i / n * strides[0] + i % n * strides[1]]);
    return HONE_OK;
}

static hone_status eval_qgemm(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    float by_a = hn_attr_f(hn_eval_node(c), "alpha", 1) * (float)hn_arg_f64_or(c, 1, 1);
    int32_t *sums = hn_eval_scratch_n(c, y->n_elems, sizeof *sums);
    HN_TRY_PTR(sums);
    HN_TRY(qgemm_sums(c, y, sums));
    if (y->dtype == HN_F32)
        return scale_sums(c, sums, by_a, 4, HN_NO_ARG, y);
    return requantize_sums(c, sums, by_a, y);
}
const hn_impl hn_impl_qgemm[1] = {{.eval = eval_qgemm}};

/* ---- DynamicQuantizeLSTM --------------------------------------------------------------------- */

/* Elements of gates gate0 .. gate0+n of a direction. */
static void load_gates(const hn_array *a, uint64_t dirs, uint64_t gates, uint64_t dir,
                       uint64_t gate0, uint64_t n, float *out) {
    if (a->n_elems != dirs) {
        hn_load_f32(a, dir * gates + gate0, n, out);
        return;
    }
    hn_load_f32(a, dir, 1, out);
    for (uint64_t i = 1; i < n; i++)
        out[i] = out[0];
}

void hn_widen_gates(const hn_array *w, const hn_array *scale, const hn_array *zero, float *out) {
    uint64_t dirs = (uint64_t)w->dims[0], in = (uint64_t)w->dims[1], gates = (uint64_t)w->dims[2];
    float line[HN_TILE], scales[HN_TILE], zeros[HN_TILE];
    for (uint64_t dir = 0; dir < dirs; dir++)
        for (uint64_t gate0 = 0, n; gate0 < gates; gate0 += n) {
            n = HN_MIN(HN_TILE, gates - gate0);
            load_gates(scale, dirs, gates, dir, gate0, n, scales);
            load_gates(zero, dirs, gates, dir, gate0, n, zeros);
            for (uint64_t row = 0; row < in; row++) {
                float *to = out + (dir * gates + gate0) * in + row;
                hn_load_f32(w, (dir * in + row) * gates + gate0, n, line);
                for (uint64_t i = 0; i < n; i++)
                    to[i * in] = (line[i] - zeros[i]) * scales[i];
            }
        }
}

/* The weights as hn_widen_gates makes them, or as a preparation has made them. */
static hone_status read_gates(hn_eval *c, uint32_t arg, uint32_t scale_arg, const float *made,
                              int64_t dims[3], hn_array *out) {
    const hn_array *w = hn_arg(c, arg), *scale = hn_arg(c, scale_arg),
                   *zero = hn_arg(c, scale_arg + 1);
    uint64_t dirs = (uint64_t)w->dims[0], gates = (uint64_t)w->dims[2];
    if (scale->n_elems != dirs)
        HN_TRY(hn_want_elems(c, scale_arg, dirs * gates));
    if (zero->n_elems != dirs)
        HN_TRY(hn_want_elems(c, scale_arg + 1, dirs * gates));
    dims[0] = w->dims[0];
    dims[1] = w->dims[2];
    dims[2] = w->dims[1];
    *out = (hn_array){.dtype = HN_F32, .rank = 3, .n_elems = w->n_elems, .dims = dims};
    out->data = (void *)(uintptr_t)made;
    if (made)
        return HONE_OK;
    HN_TRY_PTR(out->data = hn_eval_scratch_n(c, out->n_elems, sizeof(float)));
    hn_widen_gates(w, scale, zero, out->data);
    return HONE_OK;
}

/* Inference looks at the weights only. */
static hone_status want_lstm_sizes(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *r = hn_arg(c, 2);
    bool is_bidirectional = hn_attr_is(hn_eval_node(c), "direction", "bidirectional");
    int64_t dirs = is_bidirectional ? 2 : 1, hidden = r->dims[1];
    uint64_t units = (uint64_t)(dirs * hidden), batch = (uint64_t)x->dims[1];
    HN_TRY(hn_want_dims(c, 1, 3, (int64_t[]){dirs, x->dims[2], w->dims[2]}));
    HN_TRY(hn_want_dims(c, 2, 3, (int64_t[]){dirs, hidden, 4 * hidden}));
    HN_TRY(hn_want_elems(c, 3, 8 * units));
    HN_TRY(hn_want_elems(c, 4, batch));
    HN_TRY(hn_want_elems(c, 5, batch * units));
    HN_TRY(hn_want_elems(c, 6, batch * units));
    return hn_want_elems(c, 7, 3 * units);
}

/* All of the input that counts is rounded to bytes at once. */
static hone_status round_lstm_input(hn_eval *c, hn_array *out) {
    const hn_array *x = hn_arg(c, 0), *lengths = hn_arg(c, 4);
    int64_t longest = lengths ? 0 : x->dims[0];
    for (uint64_t i = 0; lengths && i < lengths->n_elems; i++)
        longest = HN_MAX(longest, ((const int32_t *)lengths->data)[i]);
    longest = HN_MIN(longest, x->dims[0]);
    *out = *x;
    out->data = hn_arg_copy_f32(c, 0);
    HN_TRY_PTR(out->data);
    hn_round_to_bytes((uint64_t)(longest * x->dims[1] * x->dims[2]), out->data);
    return HONE_OK;
}

static hone_status eval_dynamic_quantize_lstm(hn_eval *c) {
    hn_array x, w, r;
    int64_t w_dims[3], r_dims[3];
    HN_TRY(want_lstm_sizes(c));
    HN_TRY(round_lstm_input(c, &x));
    const float *made = hn_packed_wide_gates(c);
    HN_TRY(read_gates(c, 1, 8, made, w_dims, &w));
    HN_TRY(read_gates(c, 2, 10, made ? made + w.n_elems : NULL, r_dims, &r));
    const hn_array *const args[8] = {&x,           &w,           &r,           hn_arg(c, 3),
                                     hn_arg(c, 4), hn_arg(c, 5), hn_arg(c, 6), hn_arg(c, 7)};
    hn_eval plain = *c; /* the weights are no state of an LSTM */
    plain.is_prepared = false;
    return hn_eval_with(&plain, hn_eval_coarse_lstm, 8, args);
}
const hn_impl hn_impl_dynamic_quantize_lstm[1] = {{.eval = eval_dynamic_quantize_lstm}};
