/* Quantization and its inverse, computed. */
#include "ops/eval/widen.h"

#include <math.h>

/* Which scale an element has: one for all, one per slice of an axis, or one per block along it. */
typedef struct quant_form {
    const float *scale, *zero; /* zero may be NULL */
    uint64_t inner;            /* elements behind the axis */
    uint64_t axis;             /* length of the axis */
    uint64_t block;            /* of elements along the axis; 0: no blocks */
    bool is_single;
} quant_form;

static hone_status read_quant_form(hn_eval *c, quant_form *q) {
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *zero = hn_arg(c, 2);
    int64_t axis = hn_attr_i(hn_eval_node(c), "axis", 1),
            block = hn_attr_i(hn_eval_node(c), "block_size", 0);
    if (zero && zero->n_elems != scale->n_elems)
        return hn_eval_fail(c, HONE_E_SHAPE, "%llu scales, but %llu zero points",
                            (unsigned long long)scale->n_elems, (unsigned long long)zero->n_elems);
    *q = (quant_form){.scale = hn_wide_f32(c, scale),
                      .zero = zero ? hn_wide_f32(c, zero) : NULL,
                      .inner = 1,
                      .axis = 1};
    HN_TRY_PTR(q->scale && (!zero || q->zero));
    q->is_single = scale->n_elems == 1 && scale->rank <= 1;
    if (q->is_single || x->n_elems == 0)
        return HONE_OK;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || scale->n_elems == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "%llu scales do not fit an input of rank %d",
                            (unsigned long long)scale->n_elems, x->rank);
    q->axis = (uint64_t)x->dims[axis];
    q->inner = hn_count(x->rank - (int32_t)axis - 1, x->dims + axis + 1);
    if (scale->rank > 1) {
        uint64_t blocks = (uint64_t)HN_MAX(scale->dims[axis], 1);
        q->block = block > 0 ? (uint64_t)block : (q->axis + blocks - 1) / blocks;
    }
    return HONE_OK;
}

/* Walks through the elements in order. */
typedef struct quant_cursor {
    uint64_t inner, along, outer;
} quant_cursor;

static quant_cursor quant_at(const quant_form *q, uint64_t i) {
    return (quant_cursor){i % q->inner, i / q->inner % q->axis, i / q->inner / q->axis};
}

static uint64_t quant_slot(const quant_form *q, const quant_cursor *at) {
    if (q->block == 0)
        return at->along;
    uint64_t blocks = (q->axis + q->block - 1) / q->block;
    return (at->outer * blocks + at->along / q->block) * q->inner + at->inner;
}

static void quant_next(const quant_form *q, quant_cursor *at) {
    if (++at->inner < q->inner)
        return;
    at->inner = 0;
    if (++at->along < q->axis)
        return;
    at->along = 0;
    at->outer++;
}

/* Scales and zero points of the elements begin .. begin+n. */
static void quant_load(const quant_form *q, uint64_t begin, uint64_t n, float *scale, float *zero) {
    quant_cursor at = q->is_single ? (quant_cursor){0, 0, 0} : quant_at(q, begin);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t slot = q->is_single ? 0 : quant_slot(q, &at);
        scale[i] = q->scale[slot];
        zero[i] = q->zero ? q->zero[slot] : 0;
        if (!q->is_single)
            quant_next(q, &at);
    }
}

typedef struct quant_job {
    quant_form form;
    const hn_array *x;
    hn_array *y;
    hn_dtype precision; /* of the quotient */
    bool saturate;
} quant_job;

/* ---- QuantizeLinear -------------------------------------------------------------------------- */

static float quant_in_precision(hn_dtype t, float v) {
    return t == HN_F16    ? hn_f16_to_f32(hn_f32_to_f16(v))
           : t == HN_BF16 ? hn_bf16_to_f32(hn_f32_to_bf16(v))
                          : v;
}

static bool quant_f8_kind(hn_dtype t, hn_f8_kind *kind) {
    switch (t) {
    case HN_F8E4M3FN:
        *kind = HN_F8_E4M3FN;
        return true;
    case HN_F8E4M3FNUZ:
        *kind = HN_F8_E4M3FNUZ;
        return true;
    case HN_F8E5M2:
        *kind = HN_F8_E5M2;
        return true;
    case HN_F8E5M2FNUZ:
        *kind = HN_F8_E5M2FNUZ;
        return true;
    default:
        return false;
    }
}

static void quant_store(const quant_job *job, uint64_t begin, uint64_t n, const float *v) {
    hn_f8_kind kind;
    if (job->saturate || !quant_f8_kind(job->y->dtype, &kind)) {
        hn_store_f32(job->y, begin, n, v);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        ((uint8_t *)job->y->data)[begin + i] = hn_f32_to_f8(v[i], kind, false);
}

/* Tiles begin at multiples of HN_TILE, so that no two threads share a byte of packed elements. */
static void quantize_tiles(void *ctx, int64_t tile0, int64_t tile1) {
    const quant_job *job = ctx;
    bool is_int = hn_dtype_is_int(job->y->dtype);
    float lo, hi, x[HN_TILE], scale[HN_TILE], zero[HN_TILE];
    hn_int_range(job->y->dtype, &lo, &hi);
    for (uint64_t begin = (uint64_t)tile0 * HN_TILE;
         begin < HN_MIN((uint64_t)tile1 * HN_TILE, job->x->n_elems); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, job->x->n_elems - begin);
        hn_load_f32(job->x, begin, n, x);
        quant_load(&job->form, begin, n, scale, zero);
        for (uint64_t i = 0; i < n; i++) {
            float v = x[i] / scale[i];
            if (job->precision != HN_F32)
                v = quant_in_precision(job->precision, v);
            x[i] = is_int ? fminf(fmaxf(hn_round_even(v) + zero[i], lo), hi) : v + zero[i];
        }
        quant_store(job, begin, n, x);
    }
}

static hone_status run_quant(hn_eval *c, hn_range_fn fn) {
    const hn_infer *node = hn_eval_node(c);
    quant_job job = {
        .x = hn_arg(c, 0), .y = hn_ret(c, 0), .saturate = hn_attr_i(node, "saturate", 1) != 0};
    if (!job.y)
        return HONE_OK;
    hn_dtype scale = hn_arg(c, 1)->dtype;
    int64_t precision = hn_attr_i(node, "precision", 0);
    job.precision = precision > 0                         ? (hn_dtype)precision
                    : scale == HN_F16 || scale == HN_BF16 ? scale
                                                          : HN_F32;
    HN_TRY(read_quant_form(c, &job.form));
    hn_pool_for(hn_eval_pool(c), (int64_t)((job.x->n_elems + HN_TILE - 1) / HN_TILE), 64, fn, &job);
    return HONE_OK;
}

static hone_status eval_quantize_linear(hn_eval *c) {
    return run_quant(c, quantize_tiles);
}
const hn_impl hn_impl_quantize_linear[1] = {{.eval = eval_quantize_linear}};

/* ---- DequantizeLinear ------------------------------------------------------------------------ */

static void dequantize_tiles(void *ctx, int64_t tile0, int64_t tile1) {
    const quant_job *job = ctx;
    float x[HN_TILE], scale[HN_TILE], zero[HN_TILE];
    for (uint64_t begin = (uint64_t)tile0 * HN_TILE;
         begin < HN_MIN((uint64_t)tile1 * HN_TILE, job->x->n_elems); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, job->x->n_elems - begin);
        hn_load_f32(job->x, begin, n, x);
        quant_load(&job->form, begin, n, scale, zero);
        for (uint64_t i = 0; i < n; i++)
            x[i] = (x[i] - zero[i]) * scale[i];
        hn_store_f32(job->y, begin, n, x);
    }
}

static hone_status eval_dequantize_linear(hn_eval *c) {
    return run_quant(c, dequantize_tiles);
}
const hn_impl hn_impl_dequantize_linear[1] = {{.eval = eval_dequantize_linear}};

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

static hone_status eval_dynamic_quantize_linear(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), *y_scale = hn_ret(c, 1), *y_zero = hn_ret(c, 2);
    const float *from = x->data;
    hn_affine by = hn_byte_affine(x->n_elems, from);
    for (uint64_t i = 0; y && i < x->n_elems; i++)
        ((uint8_t *)y->data)[i] =
            (uint8_t)fminf(fmaxf(hn_round_even(from[i] / by.scale) + by.zero, 0), 255);
    if (y_scale)
        hn_store_f32(y_scale, 0, 1, &by.scale);
    if (y_zero)
        hn_store_f32(y_zero, 0, 1, &by.zero);
    return HONE_OK;
}
const hn_impl hn_impl_dynamic_quantize_linear[1] = {{.eval = eval_dynamic_quantize_linear}};
