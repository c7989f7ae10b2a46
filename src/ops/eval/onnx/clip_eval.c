/* Clip, and the legacy operators with one parameter per channel. */
#include "ops/eval/eval_broadcast.h"

#include <float.h>
#include <math.h>

/* ---- Clip ------------------------------------------------------------------------------------ */

/* Bounds are elements of x's type. The upper one wins when they cross; NaN stays. */
#define CLIP_LOOP(id, T)                                                                          \
  static void clip_##T(const void *px, void *py, uint64_t n, const void *low, const void *high) { \
    const T *x = px;                                                                              \
    T *y = py;                                                                                    \
    T lowest = *(const T *)low, highest = *(const T *)high;                                       \
    for (uint64_t i = 0; i < n; i++) {                                                            \
      T v = x[i] < lowest ? lowest : x[i];                                                        \
      y[i] = v > highest ? highest : v;                                                           \
    }                                                                                             \
  }
HN_C_INTS(CLIP_LOOP)
HN_C_FLOATS(CLIP_LOOP)

typedef void (*clip_fn)(const void *x, void *y, uint64_t n, const void *low, const void *high);
#define CLIP_ROW(id, T) [id] = clip_##T,
static const clip_fn clip_by_type[HN_DTYPE_COUNT] = {HN_C_INTS(CLIP_ROW) HN_C_FLOATS(CLIP_ROW)};

/* One number of any type that Clip has. */
typedef union clip_limit {
    uint64_t bits;
    float f32;
    double f64;
} clip_limit;

typedef struct clip_job {
    const hn_array *x;
    hn_array *y;
    clip_limit low, high;
    hn_unary_fn_f32 fast; /* for float32; may be NULL */
} clip_job;

static void clip_range(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    size_t bytes = hn_elem_bytes(j->x->dtype);
    clip_by_type[j->x->dtype]((const uint8_t *)j->x->data + (size_t)begin * bytes,
                              (uint8_t *)j->y->data + (size_t)begin * bytes,
                              (uint64_t)(end - begin), &j->low, &j->high);
}

static void clip_range_fast(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    j->fast((const float *)j->x->data + begin, (float *)j->y->data + begin, (uint64_t)(end - begin),
            j->low.f32, j->high.f32);
}

static void clip_range_small(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    float tile[HN_TILE];
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; i += HN_TILE) {
        uint64_t n = HN_MIN((uint64_t)end - i, HN_TILE);
        hn_load_f32(j->x, i, n, tile);
        clip_float(tile, tile, n, &j->low, &j->high);
        hn_store_f32(j->y, i, n, tile);
    }
}

/* What bounds nothing: the ends of the type. */
static void no_bounds(hn_dtype t, clip_limit *low, clip_limit *high) {
    hn_array at_low = {.dtype = t, .n_elems = 1, .data = low}, at_high = at_low;
    at_high.data = high;
    if (!hn_dtype_is_int(t)) {
        double ends[] = {-(double)INFINITY, (double)INFINITY};
        hn_store_f64(&at_low, 0, 1, &ends[0]);
        hn_store_f64(&at_high, 0, 1, &ends[1]);
        return;
    }
    bool is_signed = t == HN_I8 || t == HN_I16 || t == HN_I32 || t == HN_I64;
    int bits = hn_dtype_bits(t);
    int64_t top = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    int64_t bottom = is_signed ? -top - 1 : 0;
    hn_store_i64(&at_low, 0, 1, &bottom);
    hn_store_i64(&at_high, 0, 1, &top);
}

/* An input since version 11, an attribute before. */
static void read_bound(const hn_eval *c, hn_dtype t, uint32_t input, const char *attr, float def,
                       clip_limit *bound) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *given = hn_arg(c, input);
    hn_array at = {.dtype = t, .n_elems = 1, .data = bound};
    if (hn_infer_version(node) >= 11) {
        if (!given || given->n_elems == 0)
            return;
        if (t == HN_F32)
            hn_load_f32(given, 0, 1, &bound->f32);
        else
            memcpy(bound, given->data, hn_elem_bytes(given->dtype));
        return;
    }
    double v = (double)hn_attr_f(node, attr, def);
    if (hn_infer_version(node) >= 6 || hn_has_attr(node, attr))
        hn_store_f64(&at, 0, 1, &v);
}

static hone_status eval_clip(hn_eval *c) {
    clip_job job = {.x = hn_arg(c, 0), .y = hn_ret(c, 0)};
    if (!job.y)
        return HONE_OK;
    /* Small floats are compared as floats. */
    hn_dtype t = clip_by_type[job.x->dtype] ? job.x->dtype : HN_F32;
    no_bounds(t, &job.low, &job.high);
    read_bound(c, t, 1, "min", -FLT_MAX, &job.low);
    read_bound(c, t, 2, "max", FLT_MAX, &job.high);
    job.fast = job.x->dtype == HN_F32 ? hn_unary_find_f32("Clip") : NULL;
    hn_pool_for(hn_eval_pool(c), (int64_t)job.x->n_elems, HN_GRAIN,
                job.fast            ? clip_range_fast
                : t == job.x->dtype ? clip_range
                                    : clip_range_small,
                &job);
    return HONE_OK;
}
const hn_impl hn_impl_clip[1] = {{.eval = eval_clip, .memory = HN_MEMORY_IN_PLACE}};

/* ---- ImageScaler ----------------------------------------------------------------------------- */

/* Legacy: x * scale + bias[channel], for data [N, C, ...]. */
static hone_status eval_image_scaler(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const hn_attr *bias = hn_attr_raw(hn_eval_node(c), "bias");
    float scale = hn_attr_f(hn_eval_node(c), "scale", 1);
    if (!y)
        return HONE_OK;
    bool has_bias = bias && bias->kind == HN_ATTR_FLOATS;
    if (x->rank < 2 || (has_bias && bias->n != (uint64_t)x->dims[1]))
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "bias must have one entry for each channel of the input");
    uint64_t n_channels = (uint64_t)x->dims[1], inner = hn_count(x->rank - 2, x->dims + 2);
    double tile[HN_TILE];
    for (uint64_t row = 0; row < (inner ? x->n_elems / inner : 0); row++) {
        double shift = has_bias ? (double)bias->v.floats[row % n_channels] : 0;
        for (uint64_t at = 0; at < inner; at += HN_TILE) {
            uint64_t n = HN_MIN(inner - at, HN_TILE);
            hn_load_f64(x, row * inner + at, n, tile);
            for (uint64_t i = 0; i < n; i++)
                tile[i] = tile[i] * (double)scale + shift;
            hn_store_f64(y, row * inner + at, n, tile);
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_image_scaler[1] = {{.eval = eval_image_scaler}};
