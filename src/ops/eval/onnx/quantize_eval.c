/* Quantization and its inverse, computed. */
#include "ops/eval/onnx/quantize_eval.h"

#include <math.h>

#include "cpu/kernels/quantize/quantize.h"

hone_status hn_quant_read(hn_eval *c, hn_quant *q) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *zero = hn_arg(c, 2);
    int64_t axis = hn_attr_i(node, "axis", 1), block = hn_attr_i(node, "block_size", 0),
            precision = hn_attr_i(node, "precision", 0);
    if (zero && zero->n_elems != scale->n_elems)
        return hn_eval_fail(c, HONE_E_SHAPE, "%llu scales, but %llu zero points",
                            (unsigned long long)scale->n_elems, (unsigned long long)zero->n_elems);
    *q = (hn_quant){.inner = 1,
                    .axis = 1,
                    .is_single = scale->n_elems == 1 && scale->rank <= 1,
                    .saturate = hn_attr_i(node, "saturate", 1) != 0};
    q->precision = precision > 0                                       ? (hn_dtype)precision
                   : scale->dtype == HN_F16 || scale->dtype == HN_BF16 ? scale->dtype
                                                                       : HN_F32;
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

static quant_cursor quant_at(const hn_quant *q, uint64_t i) {
    return (quant_cursor){i % q->inner, i / q->inner % q->axis, i / q->inner / q->axis};
}

static uint64_t quant_slot(const hn_quant *q, const quant_cursor *at) {
    if (q->block == 0)
        return at->along;
    uint64_t blocks = (q->axis + q->block - 1) / q->block;
    return (at->outer * blocks + at->along / q->block) * q->inner + at->inner;
}

static void quant_next(const hn_quant *q, quant_cursor *at) {
    if (++at->inner < q->inner)
        return;
    at->inner = 0;
    if (++at->along < q->axis)
        return;
    at->along = 0;
    at->outer++;
}

typedef struct quant_job {
    const hn_quant *form;
    const float *scale, *zero; /* zero may be NULL */
    const hn_array *x;
    hn_array *y;
} quant_job;

/* Scales and zero points of the elements begin .. begin+n. */
static void quant_load(const quant_job *job, uint64_t begin, uint64_t n, float *scale,
                       float *zero) {
    const hn_quant *q = job->form;
    quant_cursor at = q->is_single ? (quant_cursor){0, 0, 0} : quant_at(q, begin);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t slot = q->is_single ? 0 : quant_slot(q, &at);
        scale[i] = job->scale[slot];
        zero[i] = job->zero ? job->zero[slot] : 0;
        if (!q->is_single)
            quant_next(q, &at);
    }
}

/* One scale for all is there since the first tile. */
static bool quant_is_loaded(const quant_job *job, uint64_t begin, int64_t tile0) {
    return job->form->is_single && begin > (uint64_t)tile0 * HN_TILE;
}

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
    if (job->form->saturate || !quant_f8_kind(job->y->dtype, &kind)) {
        hn_store_f32(job->y, begin, n, v);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        ((uint8_t *)job->y->data)[begin + i] = hn_f32_to_f8(v[i], kind, false);
}

/* NaN becomes the smallest. */
static void round_into(uint64_t n, const float *zero, float lo, float hi, float *x) {
    for (uint64_t i = 0; i < n; i++) {
        float v = hn_round_even(x[i]) + zero[i];
        v = v > lo ? v : lo;
        x[i] = v < hi ? v : hi;
    }
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
        if (!quant_is_loaded(job, begin, tile0))
            quant_load(job, begin, n, scale, zero);
        for (uint64_t i = 0; i < n; i++)
            x[i] /= scale[i];
        if (job->form->precision != HN_F32)
            for (uint64_t i = 0; i < n; i++)
                x[i] = quant_in_precision(job->form->precision, x[i]);
        if (is_int)
            round_into(n, zero, lo, hi, x);
        else
            for (uint64_t i = 0; i < n; i++)
                x[i] += zero[i];
        quant_store(job, begin, n, x);
    }
}

/* ---- DequantizeLinear ------------------------------------------------------------------------ */

static void dequantize_tiles(void *ctx, int64_t tile0, int64_t tile1) {
    const quant_job *job = ctx;
    float x[HN_TILE], scale[HN_TILE], zero[HN_TILE];
    for (uint64_t begin = (uint64_t)tile0 * HN_TILE;
         begin < HN_MIN((uint64_t)tile1 * HN_TILE, job->x->n_elems); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, job->x->n_elems - begin);
        hn_load_f32(job->x, begin, n, x);
        if (!quant_is_loaded(job, begin, tile0))
            quant_load(job, begin, n, scale, zero);
        for (uint64_t i = 0; i < n; i++)
            x[i] = (x[i] - zero[i]) * scale[i];
        hn_store_f32(job->y, begin, n, x);
    }
}

/* ---- floats and bytes ------------------------------------------------------------------------ */

/* Elements that follow each other and have the same scale. */
static uint64_t slice_elems(const quant_job *job) {
    return job->form->is_single ? job->x->n_elems : job->form->inner;
}

/* Kernels take runs of elements with one scale; runs of a few are no work for them. */
static bool suits_byte_loops(const quant_job *job) {
    enum { SHORTEST_RUN = 16 };
    hn_dtype x = job->x->dtype, y = job->y->dtype;
    bool is_pair =
        (x == HN_F32 && (y == HN_U8 || y == HN_I8)) || (y == HN_F32 && (x == HN_U8 || x == HN_I8));
    return is_pair && job->form->block == 0 && job->form->precision == HN_F32 &&
           (job->form->is_single || job->form->inner >= SHORTEST_RUN);
}

static void convert_byte_run(const quant_job *job, uint64_t at, uint64_t n, float scale,
                             float zero) {
    const hn_quantize_loops *loops = hn_quantize_loops_find();
    const hn_array *x = job->x;
    hn_array *y = job->y;
    if (x->dtype == HN_U8)
        loops->from_u8(n, (const uint8_t *)x->data + at, scale, zero, (float *)y->data + at);
    else if (x->dtype == HN_I8)
        loops->from_s8(n, (const int8_t *)x->data + at, scale, zero, (float *)y->data + at);
    else if (y->dtype == HN_U8)
        loops->to_u8(n, (const float *)x->data + at, scale, zero, (uint8_t *)y->data + at);
    else
        loops->to_s8(n, (const float *)x->data + at, scale, zero, (int8_t *)y->data + at);
}

static void convert_byte_tiles(void *ctx, int64_t tile0, int64_t tile1) {
    const quant_job *job = ctx;
    uint64_t slice = slice_elems(job), n_scales = job->form->is_single ? 1 : job->form->axis;
    uint64_t end = HN_MIN((uint64_t)tile1 * HN_TILE, job->x->n_elems);
    for (uint64_t at = (uint64_t)tile0 * HN_TILE, n; at < end; at += n) {
        uint64_t i = at / slice % n_scales;
        n = HN_MIN(end - at, slice - at % slice);
        convert_byte_run(job, at, n, job->scale[i], job->zero ? job->zero[i] : 0);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

void hn_quant_run(hn_pool *pool, const hn_quant *q, bool is_back, const hn_array *x, hn_array *y,
                  const float *scale, const float *zero) {
    quant_job job = {q, scale, zero, x, y};
    if (suits_byte_loops(&job)) {
        hn_pool_for(pool, (int64_t)((x->n_elems + HN_TILE - 1) / HN_TILE), 64, convert_byte_tiles,
                    &job);
        return;
    }
    hn_pool_for(pool, (int64_t)((x->n_elems + HN_TILE - 1) / HN_TILE), 64,
                is_back ? dequantize_tiles : quantize_tiles, &job);
}

static hone_status eval_quant(hn_eval *c, bool is_back) {
    const hn_array *zero = hn_arg(c, 2);
    hn_quant q;
    if (!hn_ret(c, 0))
        return HONE_OK;
    HN_TRY(hn_quant_read(c, &q));
    const float *scales = hn_wide_f32(c, hn_arg(c, 1)), *zeros = zero ? hn_wide_f32(c, zero) : NULL;
    HN_TRY_PTR(scales && (!zero || zeros));
    hn_quant_run(hn_eval_pool(c), &q, is_back, hn_arg(c, 0), hn_ret(c, 0), scales, zeros);
    return HONE_OK;
}

static hone_status eval_quantize_linear(hn_eval *c) {
    return eval_quant(c, false);
}
const hn_impl hn_impl_quantize_linear[1] = {{.eval = eval_quantize_linear}};

static hone_status eval_dequantize_linear(hn_eval *c) {
    return eval_quant(c, true);
}
const hn_impl hn_impl_dequantize_linear[1] = {{.eval = eval_dequantize_linear}};

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

void hn_dynamic_quantize(hn_pool *pool, uint64_t n, const float *x, uint8_t *y, float *scale,
                         uint8_t *zero) {
    hn_affine by;
    hn_quantize_find_scale(pool, n, x, &by.scale, &by.zero);
    if (y)
        hn_quantize_to_u8(pool, n, x, by.scale, by.zero, y);
    if (scale)
        *scale = by.scale;
    if (zero)
        *zero = (uint8_t)by.zero;
}

static hone_status eval_dynamic_quantize_linear(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    void *out[3];
    for (uint32_t i = 0; i < 3; i++)
        out[i] = hn_ret(c, i) ? hn_ret(c, i)->data : NULL;
    hn_dynamic_quantize(hn_eval_pool(c), x->n_elems, x->data, out[0], out[1], out[2]);
    return HONE_OK;
}
const hn_impl hn_impl_dynamic_quantize_linear[1] = {{.eval = eval_dynamic_quantize_linear}};
