/* Ranges to scales and zero points, floats to integers: see scheme.h. */
#include "quant/scheme.h"
#include "ops/eval.h"

#include <float.h>
#include <math.h>

/* ---- one number ------------------------------------------------------------------------------ */

typedef struct quant_row {
    hn_dtype dtype;
    hn_quant_limits full, symmetric, reduced;
    float max_finite; /* of float8; 0: an integer type */
} quant_row;

/* Symmetric int2 and int4 keep their lowest number, which is a large part of the range. */
static const quant_row quant_rows[] = {
    {HN_I8, {-128, 127}, {-127, 127}, {-64, 64}, 0},
    {HN_U8, {0, 255}, {0, 255}, {0, 127}, 0},
    {HN_I16, {-32768, 32767}, {-32767, 32767}, {-16384, 16384}, 0},
    {HN_U16, {0, 65535}, {0, 65535}, {0, 32767}, 0},
    {HN_I4, {-8, 7}, {-8, 7}, {-4, 3}, 0},
    {HN_U4, {0, 15}, {0, 15}, {0, 7}, 0},
    {HN_I2, {-2, 1}, {-2, 1}, {-1, 0}, 0},
    {HN_U2, {0, 3}, {0, 3}, {0, 1}, 0},
    {HN_F8E4M3FN, {0, 0}, {0, 0}, {0, 0}, 448.0f},
    {HN_F8E4M3FNUZ, {0, 0}, {0, 0}, {0, 0}, 240.0f},
    {HN_F8E5M2, {0, 0}, {0, 0}, {0, 0}, 57344.0f},
    {HN_F8E5M2FNUZ, {0, 0}, {0, 0}, {0, 0}, 57344.0f},
};

static const quant_row *find_quant_row(hn_dtype dtype) {
    for (size_t i = 0; i < HN_COUNT(quant_rows); i++)
        if (quant_rows[i].dtype == dtype)
            return &quant_rows[i];
    return NULL;
}

bool hn_quant_supports(hn_dtype dtype) {
    return find_quant_row(dtype) != NULL;
}

hn_quant_limits hn_quant_limits_of(const hn_quant_type *type) {
    const quant_row *row = find_quant_row(type->dtype);
    if (!row)
        return (hn_quant_limits){0, 0};
    return type->is_reduced ? row->reduced : type->is_symmetric ? row->symmetric : row->full;
}

/* The zero point is the least number or the middle one; the range fits. */
static hn_quant_params restricted_params(hn_quant_limits limits, double min, double max) {
    int32_t zero = min < 0 ? (limits.low + limits.high + 1) / 2 : limits.low;
    double above = max / (limits.high - zero);
    double scale = min < 0 ? fmax(above, -min / (zero - limits.low)) : above;
    return (hn_quant_params){scale >= FLT_MIN ? (float)scale : 1.0f, zero};
}

hn_quant_params hn_quant_params_of(const hn_quant_type *type, double min, double max) {
    const quant_row *row = find_quant_row(type->dtype);
    hn_quant_limits limits = hn_quant_limits_of(type);
    min = fmin(min, 0);
    max = fmax(max, 0);
    bool is_float8 = row && row->max_finite > 0;
    if (type->is_restricted && type->dtype == HN_U8 && !type->is_symmetric)
        return restricted_params(limits, min, max);
    if (type->is_symmetric || is_float8) {
        max = fmax(-min, max);
        min = -max;
    }
    double n_steps = is_float8 ? 2.0 * row->max_finite : (double)limits.high - limits.low;
    double scale = (max - min) / n_steps;
    if (!(scale >= FLT_MIN))
        return (hn_quant_params){1.0f, 0};
    double zero = type->is_symmetric ? (limits.low + limits.high) / 2.0 : limits.low - min / scale;
    return (hn_quant_params){(float)scale, is_float8 ? 0 : (int32_t)nearbyint(zero)};
}

/* As float32, like onnxruntime: the quotient, the sum. */
int32_t hn_quant_number(float x, hn_quant_params p, hn_quant_limits limits) {
    float q = hn_round_even(x / p.scale) + (float)p.zero;
    return (int32_t)fminf(fmaxf(q, (float)limits.low), (float)limits.high);
}

/* ---- groups ---------------------------------------------------------------------------------- */

bool hn_quant_groups_of(const hn_tensor *w, int32_t axis, int64_t block, hn_quant_groups *out) {
    *out = (hn_quant_groups){.axis = -1, .n_outer = 1, .n_axis = 1, .n_inner = w->n_elems, .n = 1};
    if (axis < 0)
        return true;
    if (axis >= w->rank || block < 0)
        return false;
    out->axis = axis;
    out->n_inner = 1;
    for (int32_t i = 0; i < w->rank; i++)
        *(i < axis   ? &out->n_outer
          : i > axis ? &out->n_inner
                     : &out->n_axis) *= (uint64_t)w->dims[i];
    out->n = out->n_axis;
    out->block = (uint64_t)block;
    if (block > 0)
        out->n = out->n_outer * ((out->n_axis + out->block - 1) / out->block) * out->n_inner;
    return true;
}

/* Data may be unaligned, because it can lie in the file. */
void hn_quant_load(const hn_tensor *w, uint64_t begin, uint64_t n, float *out) {
    size_t bytes = (size_t)hn_dtype_bits(w->dtype) / 8;
    double aligned[HN_QUANT_TILE];
    hn_array a = {.dtype = w->dtype, .n_elems = w->n_elems, .data = (void *)(uintptr_t)w->data};
    if (bytes > 1) {
        memcpy(aligned, (const char *)w->data + begin * bytes, n * bytes);
        a.data = aligned;
        begin = 0;
    }
    hn_load_f32(&a, begin, n, out);
}

hone_status hn_quant_ranges(const hn_tensor *w, const hn_quant_groups *groups, hn_quant_range *out,
                            hone_error *err) {
    hn_quant_cursor at = {.groups = groups};
    float x[HN_QUANT_TILE];
    for (uint64_t i = 0; i < groups->n; i++)
        out[i] = (hn_quant_range){INFINITY, -INFINITY};
    for (uint64_t i = 0; i < w->n_elems; i += HN_QUANT_TILE) {
        uint64_t n = HN_MIN(w->n_elems - i, (uint64_t)HN_QUANT_TILE);
        hn_quant_load(w, i, n, x);
        for (uint64_t k = 0; k < n; k++) {
            hn_quant_range *range = &out[hn_quant_next(&at)];
            if (!isfinite(x[k]))
                return hn_fail(err, HONE_E_INVALID,
                               "element %llu of '%s' is %s; only finite numbers can be quantized",
                               (unsigned long long)(i + k), hn_s(w->name),
                               isnan(x[k]) ? "NaN" : "infinite");
            range->min = x[k] < range->min ? x[k] : range->min;
            range->max = x[k] > range->max ? x[k] : range->max;
        }
    }
    for (uint64_t i = 0; i < groups->n; i++)
        if (out[i].min > out[i].max)
            out[i] = (hn_quant_range){0, 0};
    return HONE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static hn_dtype scale_type(const hn_tensor *w) {
    return w->dtype == HN_F16 || w->dtype == HN_BF16 ? w->dtype : HN_F32;
}

/* Never 0, and finite. */
static float rounded_scale(float scale, hn_dtype type) {
    float least = type == HN_F16 ? 0x1p-24f : FLT_MIN,
          most = type == HN_F16 ? 65504.0f : 0x1.fep127f;
    scale = fminf(fmaxf(scale, least), type == HN_F32 ? FLT_MAX : most);
    return type == HN_F16    ? hn_f16_to_f32(hn_f32_to_f16(scale))
           : type == HN_BF16 ? hn_bf16_to_f32(hn_f32_to_bf16(scale))
                             : scale;
}

static hone_status blank_results(const hn_tensor *w, const hn_quant_type *type,
                                 const hn_quant_groups *groups, hn_arena *arena, hn_array out[3],
                                 hn_quant_result *result) {
    int32_t rank = groups->axis < 0 ? 0 : groups->block ? w->rank : 1;
    int64_t *dims = HN_NEW_N(arena, int64_t, (size_t)w->rank + 1);
    HN_TRY_PTR(dims);
    if (groups->block)
        memcpy(dims, w->dims, (size_t)w->rank * sizeof *dims);
    if (rank > 0)
        dims[groups->block ? groups->axis : 0] =
            (int64_t)(groups->block ? (groups->n_axis + groups->block - 1) / groups->block
                                    : groups->n);
    hn_dtype types[3] = {type->dtype, scale_type(w), type->dtype};
    hn_tensor *made[3];
    for (int i = 0; i < 3; i++) {
        made[i] =
            hn_tensor_blank(arena, types[i], i ? rank : w->rank, i ? dims : w->dims, &out[i].data);
        HN_TRY_PTR(made[i]);
        out[i].dtype = types[i];
        out[i].n_elems = made[i]->n_elems;
    }
    *result = (hn_quant_result){made[0], made[1], made[2]};
    return HONE_OK;
}

/* Stores scales and zero points, and rounds the scales that elements are divided by. */
static void store_params(const hn_quant_type *type, uint64_t n, hn_quant_params *params,
                         hn_array out[3]) {
    bool has_zero = hn_dtype_is_int(type->dtype);
    for (uint64_t i = 0; i < n; i++) {
        int64_t zero = params[i].zero;
        params[i].scale = rounded_scale(params[i].scale, out[1].dtype);
        hn_store_f32(&out[1], i, 1, &params[i].scale);
        if (has_zero)
            hn_store_i64(&out[2], i, 1, &zero);
    }
}

static void store_elements(const hn_tensor *w, const hn_quant_type *type,
                           const hn_quant_groups *groups, const hn_quant_params *params,
                           hn_array *out) {
    hn_quant_limits limits = hn_quant_limits_of(type);
    hn_quant_limits all = hn_quant_limits_of(&(hn_quant_type){.dtype = type->dtype});
    bool is_int = hn_dtype_is_int(type->dtype);
    hn_quant_cursor at = {.groups = groups};
    float x[HN_QUANT_TILE];
    int64_t q[HN_QUANT_TILE];
    if (!type->is_reduced)
        limits = all; /* numbers beyond the range may use what is left, as in onnxruntime */
    for (uint64_t i = 0; i < w->n_elems; i += HN_QUANT_TILE) {
        uint64_t n = HN_MIN(w->n_elems - i, (uint64_t)HN_QUANT_TILE);
        hn_quant_load(w, i, n, x);
        for (uint64_t k = 0; k < n; k++) {
            const hn_quant_params *p = &params[hn_quant_next(&at)];
            q[k] = is_int ? hn_quant_number(x[k], *p, limits) : 0;
            x[k] /= p->scale;
        }
        if (is_int)
            hn_store_i64(out, i, n, q);
        else
            hn_store_f32(out, i, n, x);
    }
}

hone_status hn_quant_apply(const hn_tensor *w, const hn_quant_type *type,
                           const hn_quant_groups *groups, const hn_quant_params *params,
                           hn_arena *arena, hn_quant_result *out) {
    hn_array arrays[3] = {{0}};
    hn_quant_params *rounded = groups->n ? hn_arena_copy(arena, params, groups->n * sizeof *params)
                                         : HN_NEW(arena, hn_quant_params);
    HN_TRY_PTR(rounded);
    HN_TRY(blank_results(w, type, groups, arena, arrays, out));
    store_params(type, groups->n, rounded, arrays);
    store_elements(w, type, groups, rounded, &arrays[0]);
    return HONE_OK;
}

static hone_status check_source(const hn_tensor *w, const hn_quant_type *type, hone_error *err) {
    if (!hn_quant_supports(type->dtype))
        return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' cannot be quantized to %s", hn_s(w->name),
                       hn_dtype_name(type->dtype));
    bool is_source =
        w->dtype == HN_F32 || w->dtype == HN_F16 || w->dtype == HN_BF16 || w->dtype == HN_F64;
    if (!is_source || (!w->data && w->n_elems))
        return hn_fail(err, HONE_E_INVALID, "'%s' cannot be quantized: it has %s", hn_s(w->name),
                       is_source ? "no data" : hn_dtype_name(w->dtype));
    return HONE_OK;
}

hone_status hn_quant_tensor(const hn_tensor *w, const hn_quant_type *type, int32_t axis,
                            int64_t block, hn_arena *arena, hn_quant_result *out, hone_error *err) {
    hn_quant_groups groups;
    HN_TRY(check_source(w, type, err));
    if (!hn_quant_groups_of(w, axis, block, &groups))
        return hn_fail(err, HONE_E_INVALID, "'%s' has no axis %d", hn_s(w->name), (int)axis);
    hn_quant_range *ranges = HN_NEW_N(arena, hn_quant_range, groups.n + 1);
    hn_quant_params *params = HN_NEW_N(arena, hn_quant_params, groups.n + 1);
    if (!ranges || !params)
        return HONE_E_NOMEM;
    HN_TRY(hn_quant_ranges(w, &groups, ranges, err));
    hn_quant_limits limits = hn_quant_limits_of(type);
    for (uint64_t i = 0; i < groups.n; i++) {
        params[i] = hn_quant_params_of(type, ranges[i].min, ranges[i].max);
        if (type->is_symmetric && axis >= 0) /* channels of zeros, too: runtimes want one of all */
            params[i].zero = (int32_t)nearbyint((limits.low + limits.high) / 2.0);
    }
    return hn_quant_apply(w, type, &groups, params, arena, out);
}
