/* Caches of keys and values: rows of the past and fresh ones put together, as numbers or as codes
 * of few bits. */
#include "ops/eval/ms/ms_heads_eval.h"
#include "ops/eval_engine.h"

#include <math.h>

/* ---- codes ----------------------------------------------------------------------------------- */

static hone_status read_kv_scales(hn_eval *c, const char *kind, uint32_t arg, int64_t n_heads,
                                  hn_kv_codes *out) {
    out->per_channel = hn_attr_is(hn_eval_node(c), kind, "PER_CHANNEL");
    if (!out->per_channel && !hn_attr_is(hn_eval_node(c), kind, "PER_TENSOR"))
        return hn_eval_fail(c, HONE_E_INVALID, "%s must be NONE, PER_TENSOR or PER_CHANNEL", kind);
    if (!hn_arg(c, arg))
        return hn_eval_fail(c, HONE_E_INVALID, "a quantized cache needs its scales, input %u", arg);
    HN_TRY(hn_want_elems(c, arg, out->per_channel ? (uint64_t)(n_heads * out->size) : 1));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &out->scales));
    return HONE_OK;
}

hone_status hn_read_kv_codes(hn_eval *c, const hn_array *cache, const char *kind, hn_dtype type,
                             uint32_t scales, int64_t n_heads, int64_t size, hn_kv_codes *out) {
    int64_t per_byte = hn_dtype_bits(type) == 4 ? 2 : 1, bytes = hn_dim_or(cache, cache->rank - 1);
    bool is_float = cache->dtype == HN_F32 || cache->dtype == HN_F16 || cache->dtype == HN_BF16;
    *out = (hn_kv_codes){.type = type, .size = size, .row = bytes * per_byte};
    if (is_float != hn_attr_is(hn_eval_node(c), kind, "NONE"))
        return hn_eval_fail(c, HONE_E_INVALID, "%s does not fit a cache of %s", kind,
                            hn_dtype_name(cache->dtype));
    if (bytes != (size + per_byte - 1) / per_byte)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "a cache with rows of %lld does not hold heads of %lld",
                            (long long)bytes, (long long)size);
    return is_float ? HONE_OK : read_kv_scales(c, kind, scales, n_heads, out);
}

static float kv_scale(const hn_kv_codes *codes, int64_t head, int64_t e) {
    return codes->scales[codes->per_channel ? head * codes->size + e : 0];
}

/* The cache with an element for each code. */
static hn_array coded_view(const hn_kv_codes *codes, const hn_array *cache) {
    hn_array view = *cache;
    if (codes->scales)
        view.dtype = codes->type;
    return view;
}

static void decode_row(const hn_kv_codes *codes, const hn_array *view, int64_t row, int64_t head,
                       float *out) {
    hn_load_f32(view, (uint64_t)(row * codes->row), (uint64_t)codes->size, out);
    for (int64_t e = 0; codes->scales && e < codes->size; e++)
        out[e] = (out[e] - codes->zero) * kv_scale(codes, head, e);
}

void hn_kv_load(const hn_kv_codes *codes, const hn_array *cache, int64_t row, int64_t head,
                int64_t n_rows, float *rows) {
    hn_array view = coded_view(codes, cache);
    for (int64_t i = 0; i < n_rows; i++)
        decode_row(codes, &view, row + i, head, rows + i * codes->size);
}

/* Integers are rounded to the nearest and kept in range; small floats do both when stored. */
static void encode_row(const hn_kv_codes *codes, int64_t head, float *row) {
    bool is_integer = codes->type == HN_I8 || codes->type == HN_I4 || codes->type == HN_U4;
    float lo, hi;
    hn_int_range(codes->type, &lo, &hi);
    for (int64_t e = 0; e < codes->size; e++) {
        row[e] /= kv_scale(codes, head, e);
        if (is_integer)
            row[e] = fminf(fmaxf(hn_round_even(row[e]) + codes->zero, lo), hi);
    }
}

void hn_kv_store(const hn_kv_codes *codes, hn_array *cache, int64_t row, int64_t head,
                 int64_t n_rows, float *rows) {
    hn_array view = coded_view(codes, cache);
    for (int64_t i = 0; i < n_rows; i++) {
        float *at = rows + i * codes->size;
        if (codes->scales)
            encode_row(codes, head, at);
        hn_store_f32(&view, (uint64_t)((row + i) * codes->row), (uint64_t)codes->size, at);
        if (codes->scales)
            decode_row(codes, &view, row + i, head, at);
    }
}

/* ---- past and fresh -------------------------------------------------------------------------- */

/* The rows of one head, in the memory of the present or of scratch. */
static void join_head(const hn_kv_cache *cache, int64_t b, int64_t h, float *to) {
    int64_t i = b * cache->n_heads + h, n_past = cache->past ? cache->past_room : 0;
    n_past = HN_MIN(n_past, cache->room);
    if (n_past > 0)
        hn_kv_load(&cache->codes, cache->past, cache->past_begin + i * cache->past_room, h, n_past,
                   to);
    memset(to + n_past * cache->size, 0,
           (size_t)((cache->room - n_past) * cache->size) * sizeof *to);
    for (int64_t r = 0; r < cache->n_fresh; r++)
        memcpy(to + (cache->n_past[b] + r) * cache->size, hn_row_at(&cache->fresh, b, h, r),
               (size_t)cache->size * sizeof *to);
}

static hone_status join_heads(hn_eval *c, const hn_kv_cache *cache, float **out) {
    int64_t per_head = cache->room * cache->size, n_heads = cache->batch * cache->n_heads;
    bool in_place = cache->present && cache->present->dtype == HN_F32;
    *out = in_place ? (float *)cache->present->data + cache->present_begin * cache->size
                    : hn_eval_scratch_n(c, (uint64_t)(n_heads * per_head), sizeof(float));
    HN_TRY_PTR(*out);
    if (cache->present && cache->codes.row != cache->codes.size) /* bytes that are not filled */
        memset(cache->present->data, 0, cache->present->n_elems);
    for (int64_t i = 0; i < n_heads; i++) {
        int64_t h = i % cache->n_heads;
        float *to = *out + i * per_head;
        join_head(cache, i / cache->n_heads, h, to);
        if (cache->present && !in_place)
            hn_kv_store(&cache->codes, cache->present, cache->present_begin + i * cache->room, h,
                        cache->room, to);
    }
    return HONE_OK;
}

hone_status hn_kv_fits(hone_error *err, int64_t n_past, int64_t n_fresh, int64_t past_room,
                       int64_t room) {
    return n_past >= 0 && n_past <= past_room && n_past <= room - n_fresh
               ? HONE_OK
               : hn_fail(err, HONE_E_INVALID,
                         "%lld past and %lld new keys do not fit caches of %lld and %lld",
                         (long long)n_past, (long long)n_fresh, (long long)past_room,
                         (long long)room);
}

hone_status hn_kv_cache_join(hn_eval *c, const hn_kv_cache *cache, float **out) {
    hn_kv_cache with_codes = *cache;
    for (int64_t b = 0; b < cache->batch; b++)
        HN_TRY(hn_kv_fits(c->err, cache->n_past[b], cache->n_fresh,
                          cache->past ? cache->past_room : 0, cache->room));
    if (cache->codes.size == 0)
        with_codes.codes = (hn_kv_codes){.size = cache->size, .row = cache->size};
    return join_heads(c, &with_codes, out);
}
