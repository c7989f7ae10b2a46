/* Attention operators of com.microsoft whose heads share keys in groups, computed. */
#include "ops/ms_heads_eval.h"

#include <float.h>

/* What both operators read; then each adds how its queries see keys. */
typedef struct group_parts {
    hn_heads heads;
    hn_cache keys, values;
    int64_t *n_past, *n_keys; /* of each batch */
    int64_t n_fresh;
    bool is_prompt; /* the first step: nothing is past */
} group_parts;

/* ---- queries, keys and values ------------------------------------------------------------------ */

/* A copy that may be turned: [batch, rows, width]. */
static float *copy_rows(hn_eval *c, const hn_array *x) {
    float *at = hn_eval_scratch_n(c, x->n_elems, sizeof *at);
    if (at)
        hn_load_f32(x, 0, x->n_elems, at);
    return at;
}

static hone_status read_groups(hn_eval *c, group_parts *g) {
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
    float *q = copy_rows(c, query);
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
    float *k = copy_rows(c, key), *v = copy_rows(c, value);
    HN_TRY_PTR(k && v);
    g->keys.fresh = hn_rows_packed(k, g->n_fresh, dims[2], size);
    g->values.fresh = hn_rows_packed(v, g->n_fresh, dims[2], size);
    return HONE_OK;
}

/* Rows before and after this step, by batch; `less` is 1 when the argument holds the last index
 * instead of the length. */
static hone_status read_lengths(hn_eval *c, group_parts *g, uint32_t arg, int64_t less,
                                int64_t total) {
    const hn_heads *a = &g->heads;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)a->batch));
    g->n_past = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *g->n_past);
    g->n_keys = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *g->n_keys);
    HN_TRY_PTR(g->n_past && g->n_keys);
    g->is_prompt = total == a->n_queries;
    hn_load_i64(hn_arg(c, arg), 0, (uint64_t)a->batch, g->n_keys);
    for (int64_t b = 0; b < a->batch; b++) {
        g->n_keys[b] += less;
        g->n_past[b] = g->is_prompt ? 0 : g->n_keys[b] - a->n_queries;
        if (g->n_keys[b] < 1 || g->n_past[b] < 0)
            return hn_eval_fail(
                c, HONE_E_INVALID, "input %u gives batch %lld %lld keys, too few for %lld queries",
                arg, (long long)b, (long long)g->n_keys[b], (long long)a->n_queries);
    }
    return HONE_OK;
}

/* Root-mean-square normalization of every head, when there is a weight for it. */
static hone_status norm_heads(hn_eval *c, uint32_t arg, const group_parts *g,
                              const hn_head_rows *rows, int64_t n_heads, int64_t n_rows) {
    const hn_heads *a = &g->heads;
    hn_row_norm norm = {.epsilon = hn_attr_f(hn_eval_node(c), "qk_norm_epsilon", 1e-6f),
                        .simplified = true};
    float mean, inverse;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)a->key_size));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &norm.gamma));
    for (int64_t i = 0; norm.gamma && i < a->batch * n_rows; i++)
        for (int64_t h = 0; h < n_heads; h++) {
            float *row = hn_row_at(rows, i / n_rows, h, i % n_rows);
            hn_normalize_row(&norm, (uint64_t)a->key_size, row, row, &mean, &inverse);
        }
    return HONE_OK;
}

/* Turns the heads of queries or keys to where they stand; `positions` may be NULL: they follow the
 * past. */
static hone_status turn_heads(hn_eval *c, const group_parts *g, const hn_rotary *r,
                              const hn_array *positions, const hn_head_rows *rows, int64_t n_heads,
                              int64_t n_rows) {
    for (int64_t i = 0; i < g->heads.batch * n_rows; i++) {
        int64_t b = i / n_rows, position = g->n_past[b] + i % n_rows;
        if (positions)
            hn_load_i64(positions, (uint64_t)i, 1, &position);
        for (int64_t h = 0; h < n_heads; h++)
            HN_TRY(hn_rotate_to(c, r, position, hn_row_at(rows, b, h, i % n_rows)));
    }
    return HONE_OK;
}

static hone_status turn_groups(hn_eval *c, group_parts *g, uint32_t cosines,
                               const hn_array *positions) {
    hn_heads *a = &g->heads;
    hn_rotary r;
    if (!hn_attr_i(hn_eval_node(c), "do_rotary", 0))
        return HONE_OK;
    HN_TRY(hn_read_rotary(c, cosines, cosines + 1, a->key_size, "rotary_interleaved", &r));
    HN_TRY(turn_heads(c, g, &r, positions, &a->q, a->n_heads, a->n_queries));
    return turn_heads(c, g, &r, positions, &g->keys.fresh, a->n_kv_heads, g->n_fresh);
}

/* ---- caches ------------------------------------------------------------------------------------ */

static hone_status join_group_side(hn_eval *c, const group_parts *g, uint32_t past,
                                   uint32_t present, int64_t room, hn_cache *cache,
                                   hn_head_rows *out) {
    const hn_heads *a = &g->heads;
    float *at;
    cache->batch = a->batch;
    cache->n_heads = a->n_kv_heads;
    cache->size = a->key_size;
    cache->past = hn_arg(c, past);
    cache->present = hn_ret(c, present);
    cache->n_past = g->n_past;
    cache->n_fresh = g->n_fresh;
    if (cache->past) {
        HN_TRY(hn_want_dims(
            c, past, 4,
            (const int64_t[]){a->batch, a->n_kv_heads, cache->past->dims[2], a->key_size}));
        cache->past_room = cache->past->dims[2];
    }
    cache->room = cache->present ? cache->present->dims[2] : HN_MAX(cache->past_room, room);
    for (int64_t b = 0; b < a->batch; b++)
        if (g->n_keys[b] > cache->room)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "batch %lld has %lld keys, but the cache holds %lld", (long long)b,
                                (long long)g->n_keys[b], (long long)cache->room);
    HN_TRY(hn_cache_join(c, cache, &at));
    *out = hn_rows_by_head(at, a->n_kv_heads, cache->room, a->key_size);
    return HONE_OK;
}

static hone_status attend_groups(hn_eval *c, group_parts *g, int64_t total) {
    hn_heads *a = &g->heads;
    hn_array *y = hn_ret(c, 0);
    HN_TRY(join_group_side(c, g, 3, 1, total, &g->keys, &a->k));
    HN_TRY(join_group_side(c, g, 4, 2, total, &g->values, &a->v));
    a->keys_of = g->n_keys;
    a->scale = hn_heads_scale(c, a->key_size);
    int64_t width = a->n_heads * a->value_size;
    uint64_t n = (uint64_t)(a->batch * a->n_queries * width);
    if (hn_wants_ret(c, 0) && (!y || y->n_elems != n))
        return hn_eval_fail(c, HONE_E_SHAPE, "the query does not hold %lld heads",
                            (long long)a->n_heads);
    float *out = y ? hn_room_f32(c, y) : hn_eval_scratch_n(c, n, sizeof *out);
    HN_TRY_PTR(out);
    a->out = hn_rows_packed(out, a->n_queries, width, a->value_size);
    HN_TRY(hn_heads_attend(c, a));
    if (y)
        hn_narrow_f32(y, out);
    return HONE_OK;
}

/* ---- GroupQueryAttention ----------------------------------------------------------------------- */

typedef struct group_sight {
    const group_parts *parts;
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

static hone_status check_group_options(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *past = hn_arg(c, 3);
    if (hn_attr_i(node, "sliding_window_cache", 0))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "sliding_window_cache is not supported");
    if (!hn_attr_is(node, "k_quant_type", "NONE") || !hn_attr_is(node, "v_quant_type", "NONE") ||
        (past && !hn_dtype_is_float(past->dtype)))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "quantized caches are not supported");
    return HONE_OK;
}

static hone_status read_group_scores(hn_eval *c, group_parts *g) {
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

hone_status hn_eval_group_query_attention(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *positions = hn_arg(c, 9);
    int64_t total = hn_arg_i64_or(c, 6, 0);
    group_parts g = {.n_fresh = 0};
    hn_heads *a = &g.heads;
    HN_TRY(check_group_options(c));
    HN_TRY(read_groups(c, &g));
    HN_TRY(read_lengths(c, &g, 5, 1, total));
    HN_TRY(norm_heads(c, 14, &g, &a->q, a->n_heads, a->n_queries));
    HN_TRY(norm_heads(c, 15, &g, &g.keys.fresh, a->n_kv_heads, g.n_fresh));
    if (positions)
        HN_TRY(hn_want_elems(c, 9, (uint64_t)(a->batch * a->n_queries)));
    HN_TRY(turn_groups(c, &g, 7, positions));
    group_sight sight = {.parts = &g,
                         .causal = hn_attr_i(node, "causal", 1) != 0,
                         .window = hn_attr_i(node, "local_window_size", -1)};
    for (int64_t b = 0; b < a->batch; b++)
        a->n_keys = HN_MAX(a->n_keys, g.n_keys[b]);
    HN_TRY(hn_read_score_bias(c, 10, a, &sight.bias));
    HN_TRY(read_group_scores(c, &g));
    a->see = see_group;
    a->see_ctx = &sight;
    return attend_groups(c, &g, total);
}

/* ---- SparseAttention --------------------------------------------------------------------------- */

/* Rows of blocks in compressed form: row r of a layout has columns columns[rows[r]] ..
 * columns[rows[r + 1]]. */
typedef struct block_layout {
    const group_parts *parts;
    const int32_t *rows, *columns;
    int64_t n_layouts, n_rows, n_columns; /* per layout; n_rows: of blocks */
    int64_t block;
} block_layout;

static hone_status read_blocks(hn_eval *c, const group_parts *g, block_layout *l) {
    const hn_array *rows = hn_arg(c, 5), *columns = hn_arg(c, 6);
    l->block = hn_attr_i(hn_eval_node(c), "sparse_block_size", 0);
    if (l->block < 1 || rows->rank != 2 || columns->rank != 2 || rows->dims[0] < 1 ||
        rows->dims[0] != columns->dims[0] || rows->dims[1] < 2)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "block rows [layouts, rows + 1] and block columns [layouts, blocks] do not fit");
    *l = (block_layout){
        g, rows->data, columns->data, rows->dims[0], rows->dims[1] - 1, columns->dims[1], l->block};
    for (int64_t i = 0; i < l->n_layouts * (l->n_rows + 1); i++) {
        int32_t first = i % (l->n_rows + 1) == 0 ? 0 : l->rows[i - 1];
        if (l->rows[i] < first || l->rows[i] > l->n_columns)
            return hn_eval_fail(
                c, HONE_E_INVALID,
                "block row %lld begins at %d, outside the %lld blocks or before the last row",
                (long long)i, l->rows[i], (long long)l->n_columns);
    }
    for (int64_t b = 0; b < g->heads.batch; b++)
        if (g->n_keys[b] > l->n_rows * l->block)
            return hn_eval_fail(c, HONE_E_INVALID, "%lld keys need more than the %lld block rows",
                                (long long)g->n_keys[b], (long long)l->n_rows);
    return HONE_OK;
}

static hn_key_span see_blocks(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                              float *scores) {
    const block_layout *l = ctx;
    int64_t position = HN_MIN(l->parts->n_past[b] + i, l->n_rows * l->block - 1),
            layout = h % l->n_layouts;
    const int32_t *rows = l->rows + layout * (l->n_rows + 1) + position / l->block,
                  *columns = l->columns + layout * l->n_columns;
    hn_key_span seen = {0, HN_MIN(position + 1, n)};
    for (int64_t k = 0; k < seen.end; k += l->block) {
        bool is_there = false;
        for (int32_t at = rows[0]; at < rows[1] && !is_there; at++)
            is_there = columns[at] == k / l->block;
        for (int64_t e = k; !is_there && e < HN_MIN(k + l->block, seen.end); e++)
            scores[e] = -FLT_MAX;
    }
    return seen;
}

hone_status hn_eval_sparse_attention(hn_eval *c) {
    group_parts g = {.n_fresh = 0};
    block_layout layout;
    int64_t total = hn_arg_i64_or(c, 7, 0);
    HN_TRY(read_groups(c, &g));
    HN_TRY(read_lengths(c, &g, 8, 0, total));
    HN_TRY(turn_groups(c, &g, 9, NULL));
    HN_TRY(read_blocks(c, &g, &layout));
    g.heads.see = see_blocks;
    g.heads.see_ctx = &layout;
    return attend_groups(c, &g, total);
}
