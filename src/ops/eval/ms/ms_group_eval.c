/* Attention operators of com.microsoft whose heads share keys in groups, computed. */
#include "ops/eval/ms/ms_group_eval.h"
#include "ops/eval_engine.h"

#include <math.h>

/* ---- queries, keys and values ---------------------------------------------------------------- */

/* An argument that may be turned or normalized where it stands, so it is copied before. */
static const float *group_floats(hn_eval *c, uint32_t arg) {
    bool is_changed =
        hn_attr_i(hn_eval_node(c), "do_rotary", 0) != 0 || hn_arg(c, 14) || hn_arg(c, 15);
    return is_changed ? hn_arg_copy_f32(c, arg) : hn_wide_f32(c, hn_arg(c, arg));
}

hone_status hn_read_groups(hn_eval *c, hn_group_parts *g) {
    const hn_array *query = hn_arg(c, 0), *key = hn_arg(c, 1), *value = hn_arg(c, 2);
    const hn_infer *node = hn_eval_node(c);
    hn_heads *a = &g->heads;
    a->batch = query->dims[0];
    a->n_queries = query->dims[1];
    a->n_heads = hn_attr_i(node, "num_heads", 1);
    a->n_kv_heads = hn_attr_i(node, "kv_num_heads", 1);
    int64_t width = query->dims[2], all = a->n_heads + (key ? 0 : 2 * a->n_kv_heads),
            size = width / all;
    a->key_size = a->value_size = size;
    g->n_fresh = key ? key->dims[1] : a->n_queries;
    const float *q = group_floats(c, 0);
    HN_TRY_PTR(q);
    a->q = hn_rows_packed(q, a->n_queries, width, size);
    if (!key) {
        g->keys.fresh = hn_rows_packed(q + a->n_heads * size, a->n_queries, width, size);
        g->values.fresh =
            hn_rows_packed(q + (a->n_heads + a->n_kv_heads) * size, a->n_queries, width, size);
        return HONE_OK;
    }
    const int64_t dims[3] = {a->batch, g->n_fresh, a->n_kv_heads * size};
    if (!value)
        return hn_eval_fail(c, HONE_E_SHAPE, "key and value must come together");
    HN_TRY(hn_want_dims(c, 1, 3, dims));
    HN_TRY(hn_want_dims(c, 2, 3, dims));
    const float *k = group_floats(c, 1), *v = hn_wide_f32(c, value);
    HN_TRY_PTR(k && v);
    g->keys.fresh = hn_rows_packed(k, g->n_fresh, dims[2], size);
    g->values.fresh = hn_rows_packed(v, g->n_fresh, dims[2], size);
    return HONE_OK;
}

hone_status hn_group_past(hone_error *err, uint32_t arg, int64_t b, int64_t n_keys,
                          int64_t n_queries, bool is_prompt, int64_t *n_past) {
    *n_past = is_prompt ? 0 : n_keys - n_queries;
    return n_keys >= 1 && *n_past >= 0
               ? HONE_OK
               : hn_fail(err, HONE_E_INVALID,
                         "input %u gives batch %lld %lld keys, too few for %lld queries", arg,
                         (long long)b, (long long)n_keys, (long long)n_queries);
}

hone_status hn_group_fits(hone_error *err, int64_t b, int64_t n_keys, int64_t room) {
    return n_keys <= room
               ? HONE_OK
               : hn_fail(err, HONE_E_INVALID, "batch %lld has %lld keys, but the cache holds %lld",
                         (long long)b, (long long)n_keys, (long long)room);
}

hone_status hn_read_group_lengths(hn_eval *c, hn_group_parts *g, uint32_t arg, int64_t less,
                                  int64_t total) {
    const hn_heads *a = &g->heads;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)a->batch));
    g->n_past = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *g->n_past);
    g->n_keys = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *g->n_keys);
    HN_TRY_PTR(g->n_past && g->n_keys);
    g->n_before = g->n_past;
    g->is_prompt = total == a->n_queries;
    hn_load_i64(hn_arg(c, arg), 0, (uint64_t)a->batch, g->n_keys);
    for (int64_t b = 0; b < a->batch; b++) {
        g->n_keys[b] += less;
        HN_TRY(
            hn_group_past(c->err, arg, b, g->n_keys[b], a->n_queries, g->is_prompt, &g->n_past[b]));
    }
    return HONE_OK;
}

/* Where rows stand: as the argument says, or behind those before. */
static hone_status read_positions(hn_eval *c, const hn_group_parts *g, uint32_t arg, int64_t n_rows,
                                  int64_t **out) {
    const hn_array *given = hn_arg(c, arg);
    uint64_t n = (uint64_t)(g->heads.batch * n_rows);
    *out = hn_eval_scratch_n(c, n, sizeof **out);
    HN_TRY(hn_want_elems(c, arg, n));
    HN_TRY_PTR(*out);
    if (given)
        hn_load_i64(given, 0, n, *out);
    for (int64_t i = 0; !given && i < (int64_t)n; i++)
        (*out)[i] = g->n_before[i / n_rows] + i % n_rows;
    return HONE_OK;
}

hone_status hn_turn_groups(hn_eval *c, hn_group_parts *g, uint32_t cosines, uint32_t positions) {
    hn_heads *a = &g->heads;
    int64_t *at;
    hn_rotary r;
    if (!hn_attr_i(hn_eval_node(c), "do_rotary", 0))
        return HONE_OK;
    HN_TRY(hn_read_rotary(c, cosines, cosines + 1, a->key_size, "rotary_interleaved", &r));
    HN_TRY(read_positions(c, g, positions, a->n_queries, &at));
    HN_TRY(hn_rotate_heads(c, &r, at, &a->q, a->batch, a->n_heads, a->n_queries));
    HN_TRY(read_positions(c, g, positions, g->n_fresh, &at));
    return hn_rotate_heads(c, &r, at, &g->keys.fresh, a->batch, a->n_kv_heads, g->n_fresh);
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* The cache of one side but for its room. */
static hone_status find_group_cache(hn_eval *c, const hn_group_parts *g, uint32_t past,
                                    uint32_t present, hn_kv_cache *cache) {
    const hn_heads *a = &g->heads;
    cache->batch = a->batch;
    cache->n_heads = a->n_kv_heads;
    cache->size = a->key_size;
    cache->past = hn_arg(c, past);
    cache->present = hn_ret(c, present);
    cache->n_past = g->n_past;
    cache->n_fresh = g->n_fresh;
    if (!cache->past)
        return HONE_OK;
    cache->past_room = hn_dim_or(cache->past, 2);
    int64_t width = cache->codes.scales ? hn_dim_or(cache->past, 3) : a->key_size;
    return hn_want_dims(c, past, 4,
                        (const int64_t[]){a->batch, a->n_kv_heads, cache->past_room, width});
}

static hone_status join_group_cache(hn_eval *c, const hn_group_parts *g, hn_kv_cache *cache,
                                    hn_head_rows *out) {
    const hn_heads *a = &g->heads;
    float *at;
    for (int64_t b = 0; b < a->batch; b++)
        HN_TRY(hn_group_fits(c->err, b, g->n_keys[b], cache->room));
    HN_TRY(hn_kv_cache_join(c, cache, &at));
    *out = hn_rows_by_head(at, a->n_kv_heads, cache->room, a->key_size);
    return HONE_OK;
}

/* Whether the fresh rows are all there is and will be. */
static bool has_only_fresh(const hn_group_parts *g, const hn_kv_cache *cache) {
    bool is_all = !cache->past && !cache->present;
    for (int64_t b = 0; b < cache->batch; b++)
        is_all = is_all && g->n_past[b] == 0 && g->n_keys[b] <= g->n_fresh;
    return is_all;
}

hone_status hn_join_group_side(hn_eval *c, const hn_group_parts *g, uint32_t past, uint32_t present,
                               int64_t room, hn_kv_cache *cache, hn_head_rows *out) {
    hn_array codes;
    HN_TRY(find_group_cache(c, g, past, present, cache));
    if (has_only_fresh(g, cache)) {
        *out = cache->fresh;
        return HONE_OK;
    }
    cache->room = cache->present ? cache->present->dims[2] : HN_MAX(cache->past_room, room);
    int64_t dims[4] = {cache->batch, cache->n_heads, cache->room, 0};
    if (cache->codes.scales && !cache->present) {
        dims[3] = cache->past->dims[3];
        HN_TRY(hn_scratch_array(c, cache->past->dtype, 4, dims, &codes));
        cache->present = &codes;
    }
    HN_TRY(join_group_cache(c, g, cache, out));
    cache->present = NULL;
    return HONE_OK;
}

hone_status hn_attend_groups(hn_eval *c, hn_group_parts *g) {
    hn_heads *a = &g->heads;
    hn_array *y = hn_ret(c, 0);
    a->keys_of = g->n_keys;
    a->scale = hn_heads_scale(c, a->key_size);
    int64_t width = a->n_heads * a->value_size;
    uint64_t n = (uint64_t)(a->batch * a->n_queries * width);
    if (hn_wants_ret(c, 0) && (!y || y->n_elems != n))
        return hn_eval_fail(c, HONE_E_SHAPE, "the query does not hold %lld heads",
                            (long long)a->n_heads);
    float *out = y ? hn_buffer_f32(c, y) : hn_eval_scratch_n(c, n, sizeof *out);
    HN_TRY_PTR(out);
    a->out = hn_rows_packed(out, a->n_queries, width, a->value_size);
    HN_TRY(hn_heads_attend(c, a));
    if (y)
        hn_narrow_f32(y, out);
    return HONE_OK;
}

/* ---- caches of a window ---------------------------------------------------------------------- */

/* Rows that are there after so many positions. */
static int64_t rows_in_window(const hn_window_cache *w, int64_t n_positions) {
    int64_t drop = w->room - w->window + 1, over = n_positions - w->room;
    return over <= 0 ? n_positions : n_positions - (over + drop - 1) / drop * drop;
}

static hone_status plan_window(hn_eval *c, hn_group_parts *g) {
    const hn_array *past = hn_arg(c, 3);
    const hn_heads *a = &g->heads;
    hn_window_cache *w = &g->window;
    if (!hn_attr_i(hn_eval_node(c), "sliding_window_cache", 0))
        return HONE_OK;
    w->window = hn_attr_i(hn_eval_node(c), "local_window_size", -1);
    w->room = past ? hn_dim_or(past, 2) : 0;
    if (w->window < 1 || w->room < w->window || hn_arg(c, 10) || hn_wants_ret(c, 3))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "sliding_window_cache needs a past with room for local_window_size, "
                            "and neither attention_bias nor output 3");
    g->n_before = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *g->n_before);
    w->n_left = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *w->n_left);
    HN_TRY_PTR(g->n_before && w->n_left);
    for (int64_t b = 0; b < a->batch; b++) {
        if (g->n_keys[b] < g->n_fresh)
            return hn_eval_fail(c, HONE_E_INVALID, "batch %lld has less keys than are new",
                                (long long)b);
        g->n_before[b] = g->n_past[b];
        g->n_past[b] = rows_in_window(w, g->n_before[b]);
        w->n_left[b] = rows_in_window(w, g->n_before[b] + g->n_fresh);
        g->n_keys[b] = g->n_past[b] + g->n_fresh;
    }
    return HONE_OK;
}

/* The last rows of each head stay. */
static void keep_window(const hn_group_parts *g, const hn_array *from, hn_array *to) {
    size_t row = (size_t)from->dims[3] * hn_elem_bytes(from->dtype);
    memset(to->data, 0, (size_t)to->n_elems * hn_elem_bytes(to->dtype));
    for (int64_t i = 0; i < from->dims[0] * from->dims[1]; i++) {
        int64_t b = i / from->dims[1], n = g->window.n_left[b], first = g->n_keys[b] - n;
        memcpy((char *)to->data + (size_t)(i * to->dims[2]) * row,
               (const char *)from->data + (size_t)(i * from->dims[2] + first) * row,
               (size_t)n * row);
    }
}

/* All rows stand in a cache of their own for this step. */
static hone_status join_window_side(hn_eval *c, const hn_group_parts *g, uint32_t past,
                                    uint32_t present, hn_kv_cache *cache, hn_head_rows *out) {
    HN_TRY(find_group_cache(c, g, past, present, cache));
    if (!cache->past || cache->past_room != g->window.room)
        return hn_eval_fail(c, HONE_E_SHAPE, "the pasts must have room for the same positions");
    hn_array all, *kept = cache->present;
    int64_t dims[4] = {g->heads.batch, g->heads.n_kv_heads, 0, cache->past->dims[3]};
    for (int64_t b = 0; b < g->heads.batch; b++)
        dims[2] = HN_MAX(dims[2], g->n_keys[b]);
    HN_TRY(hn_scratch_array(c, cache->past->dtype, 4, dims, &all));
    cache->present = &all;
    cache->room = dims[2];
    HN_TRY(join_group_cache(c, g, cache, out));
    if (kept)
        keep_window(g, &all, kept);
    return HONE_OK;
}

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

typedef struct group_sight {
    const hn_group_parts *parts;
    hn_score_bias bias;
    bool causal;
    int64_t window; /* keys that a query sees at most; -1: all */
} group_sight;

static hn_key_span see_group(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                             float *scores) {
    const group_sight *s = ctx;
    hn_key_span seen = {0, s->causal ? HN_MIN(s->parts->n_past[b] + i + 1, n) : n};
    if (s->window >= 0)
        seen.begin = HN_MAX(seen.end - s->window, 0);
    hn_add_score_bias(&s->bias, b, h, i, n, scores);
    return seen;
}

/* Leaves a->sight NULL for windows that do not end at the query. */
static hone_status say_group_sight(hn_eval *c, const group_sight *sight, hn_heads *a,
                                   hn_key_sight *s) {
    const hn_group_parts *g = sight->parts;
    hn_key_reach *reach = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *reach);
    HN_TRY_PTR(reach);
    bool fits = sight->window < 0 || sight->causal;
    for (int64_t b = 0; b < a->batch; b++) {
        reach[b] = (hn_key_reach){g->n_keys[b], g->n_past[b]};
        fits = fits && (sight->window < 0 || g->n_past[b] + a->n_queries <= g->n_keys[b]);
    }
    *s = (hn_key_sight){
        .mask = {sight->bias.at, sight->bias.batch, sight->bias.head, sight->bias.row},
        .reach = reach,
        .left = sight->window < 0 ? HN_REACH_ALL : HN_MIN(sight->window - 1, HN_REACH_ALL),
        .right = sight->causal ? 0 : HN_REACH_ALL,
        .unseen = -HUGE_VALF};
    a->sight = fits ? s : NULL;
    return HONE_OK;
}

/* Bytes hold one code, or two with 8 for 0. */
static hone_status read_group_codes(hn_eval *c, const hn_group_parts *g, uint32_t past,
                                    const char *kind, uint32_t scales, hn_kv_codes *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *cache = hn_arg(c, past);
    if (!cache && hn_attr_is(node, kind, "NONE"))
        return HONE_OK;
    if (!cache)
        return hn_eval_fail(c, HONE_E_INVALID, "a quantized cache needs input %u", past);
    bool is_half = cache->dtype == HN_U8 && hn_attr_i(node, "kv_cache_bit_width", 8) == 4;
    hn_dtype type = is_half ? HN_U4 : cache->dtype == HN_U8 ? HN_I8 : cache->dtype;
    HN_TRY(hn_read_kv_codes(c, cache, kind, type, scales, g->heads.n_kv_heads, g->heads.key_size,
                            out));
    out->zero = is_half ? 8 : 0;
    return HONE_OK;
}

static hone_status join_groups(hn_eval *c, hn_group_parts *g, int64_t total) {
    hn_heads *a = &g->heads;
    HN_TRY(read_group_codes(c, g, 3, "k_quant_type", 12, &g->keys.codes));
    HN_TRY(read_group_codes(c, g, 4, "v_quant_type", 13, &g->values.codes));
    if (g->window.room > 0) {
        HN_TRY(join_window_side(c, g, 3, 1, &g->keys, &a->k));
        return join_window_side(c, g, 4, 2, &g->values, &a->v);
    }
    HN_TRY(hn_join_group_side(c, g, 3, 1, total, &g->keys, &a->k));
    return hn_join_group_side(c, g, 4, 2, total, &g->values, &a->v);
}

static hone_status read_group_scores(hn_eval *c, hn_group_parts *g) {
    hn_heads *a = &g->heads;
    int64_t kind = hn_attr_i(hn_eval_node(c), "qk_output", 0);
    a->softcap = hn_attr_f(hn_eval_node(c), "softcap", 0);
    a->smooth = hn_attr_i(hn_eval_node(c), "smooth_softmax", -1) == 1;
    HN_TRY(hn_want_elems(c, 11, (uint64_t)a->n_heads));
    HN_TRY_PTR(hn_arg_f32s(c, 11, &a->sinks));
    if (kind != 0)
        a->scores = hn_ret(c, 3);
    a->scores_kind = kind == 2 ? HN_SCORES_PROBS : HN_SCORES_MASKED;
    return HONE_OK;
}

static hone_status eval_group_query_attention(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    int64_t total = hn_arg_i64_or(c, 6, 0);
    hn_group_parts g = {.n_fresh = 0};
    hn_heads *a = &g.heads;
    HN_TRY(hn_read_groups(c, &g));
    HN_TRY(hn_read_group_lengths(c, &g, 5, 1, total));
    HN_TRY(plan_window(c, &g));
    HN_TRY(hn_normalize_heads(c, 14, &a->q, a->batch, a->n_heads, a->n_queries, a->key_size));
    HN_TRY(
        hn_normalize_heads(c, 15, &g.keys.fresh, a->batch, a->n_kv_heads, g.n_fresh, a->key_size));
    HN_TRY(hn_turn_groups(c, &g, 7, 9));
    group_sight sight = {.parts = &g,
                         .causal = hn_attr_i(node, "causal", 1) != 0,
                         .window = hn_attr_i(node, "local_window_size", -1)};
    for (int64_t b = 0; b < a->batch; b++)
        a->n_keys = HN_MAX(a->n_keys, g.n_keys[b]);
    HN_TRY(hn_read_score_bias(c, 10, a, &sight.bias));
    HN_TRY(read_group_scores(c, &g));
    a->see = see_group;
    a->see_ctx = &sight;
    hn_key_sight keys;
    HN_TRY(say_group_sight(c, &sight, a, &keys));
    HN_TRY(join_groups(c, &g, total));
    return hn_attend_groups(c, &g);
}
const hn_impl hn_impl_group_query_attention[1] = {{.eval = eval_group_query_attention}};
