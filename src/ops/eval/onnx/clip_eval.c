/* Clip, and the legacy operators with one parameter per channel. */
#include "ops/eval/onnx/clip_eval.h"

#include <float.h>
#include <math.h>

/* ---- Clip ------------------------------------------------------------------------------------ */

/* Integers are bounded by two loops, tile by tile. */
static bool is_clipped_by_pairs(hn_dtype t) {
    return hn_dtype_is_int(t) && hn_elem_bytes(t) > 0;
}

/* Bounds are elements of x's type. The upper one wins when they cross; NaN stays. */
#define CLIP_LOOP(T)                                                                              \
  static void clip_##T(const void *px, void *py, uint64_t n, const void *low, const void *high) { \
    const T *x = px;                                                                              \
    T *y = py;                                                                                    \
    T lowest = *(const T *)low, highest = *(const T *)high;                                       \
    HN_LANES_APART                                                                                \
    for (uint64_t i = 0; i < n; i++) {                                                            \
      T v = x[i] < lowest ? lowest : x[i];                                                        \
      y[i] = v > highest ? highest : v;                                                           \
    }                                                                                             \
  }
CLIP_LOOP(float)
CLIP_LOOP(double)

enum { CLIP_BYTES = 8192 }; /* that stay near between the two loops */

typedef struct clip_job {
    const hn_clip *clip;
    const hn_array *x;
    hn_array *y;
} clip_job;

static void clip_range_plain(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    size_t bytes = hn_elem_bytes(j->x->dtype), at = (size_t)begin * bytes;
    (j->x->dtype == HN_F32 ? clip_float : clip_double)(
        (const uint8_t *)j->x->data + at, (uint8_t *)j->y->data + at, (uint64_t)(end - begin),
        &j->clip->low, &j->clip->high);
}

static void clip_range_pairs(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    const hn_clip *clip = j->clip;
    size_t bytes = hn_elem_bytes(j->x->dtype);
    size_t at_once = CLIP_BYTES / bytes;
    for (size_t i = (size_t)begin; i < (size_t)end; i += at_once) {
        uint64_t n = HN_MIN((size_t)end - i, at_once);
        uint8_t *y = (uint8_t *)j->y->data + i * bytes;
        clip->larger((const uint8_t *)j->x->data + i * bytes, 1, &clip->low, 0, y, n);
        clip->smaller(y, 1, &clip->high, 0, y, n);
    }
}

static void clip_range_fast(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    j->clip->fast((const float *)j->x->data + begin, (float *)j->y->data + begin,
                  (uint64_t)(end - begin), j->clip->low.f32, j->clip->high.f32);
}

static void clip_range_small(void *ctx, int64_t begin, int64_t end) {
    const clip_job *j = ctx;
    float tile[HN_TILE];
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; i += HN_TILE) {
        uint64_t n = HN_MIN((uint64_t)end - i, HN_TILE);
        hn_load_f32(j->x, i, n, tile);
        clip_float(tile, tile, n, &j->clip->low, &j->clip->high);
        hn_store_f32(j->y, i, n, tile);
    }
}

/* What bounds nothing: the ends of the type. */
static void no_bounds(hn_dtype t, hn_clip_limit *low, hn_clip_limit *high) {
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

static void read_limit(const hn_eval *c, hn_dtype t, const char *attr, float def,
                       hn_clip_limit *limit) {
    const hn_infer *node = hn_eval_node(c);
    hn_array at = {.dtype = t, .n_elems = 1, .data = limit};
    double v = (double)hn_attr_f(node, attr, def);
    if (hn_infer_version(node) >= 6 || hn_has_attr(node, attr))
        hn_store_f64(&at, 0, 1, &v);
}

/* Limits are arguments since version 11, attributes before. Small floats are compared as floats. */
void hn_clip_read(const hn_eval *c, hn_clip *clip) {
    hn_dtype t = hn_arg(c, 0)->dtype;
    bool is_by_pairs = is_clipped_by_pairs(t);
    *clip = (hn_clip){.type = is_by_pairs || t == HN_F64 ? t : HN_F32,
                      .reads_limits = hn_infer_version(hn_eval_node(c)) >= 11,
                      .fast = t == HN_F32 ? hn_unary_find_f32("Clip") : NULL,
                      .larger = is_by_pairs ? hn_binary_loop_of(hn_binary_find("Max"), t) : NULL,
                      .smaller = is_by_pairs ? hn_binary_loop_of(hn_binary_find("Min"), t) : NULL};
    no_bounds(clip->type, &clip->low, &clip->high);
    if (clip->reads_limits)
        return;
    read_limit(c, clip->type, "min", -FLT_MAX, &clip->low);
    read_limit(c, clip->type, "max", FLT_MAX, &clip->high);
}

void hn_clip_set(const hn_clip *clip, const hn_array *given, hn_clip_limit *limit) {
    if (!given || given->n_elems == 0)
        return;
    if (clip->type == HN_F32)
        hn_load_f32(given, 0, 1, &limit->f32);
    else
        memcpy(limit, given->data, hn_elem_bytes(given->dtype));
}

void hn_clip_run(hn_pool *pool, const hn_clip *clip, const hn_array *x, hn_array *y) {
    clip_job job = {clip, x, y};
    hn_pool_for(pool, (int64_t)x->n_elems, HN_GRAIN,
                clip->fast               ? clip_range_fast
                : clip->larger           ? clip_range_pairs
                : clip->type == x->dtype ? clip_range_plain
                                         : clip_range_small,
                &job);
}

static hone_status eval_clip(hn_eval *c) {
    hn_clip clip;
    if (!hn_ret(c, 0))
        return HONE_OK;
    hn_clip_read(c, &clip);
    if (clip.reads_limits) {
        hn_clip_set(&clip, hn_arg(c, 1), &clip.low);
        hn_clip_set(&clip, hn_arg(c, 2), &clip.high);
    }
    hn_clip_run(hn_eval_pool(c), &clip, hn_arg(c, 0), hn_ret(c, 0));
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
