/* What the attention operators of com.microsoft whose heads do not share keys have in common. */
#include "ops/eval/ms/ms_heads_eval.h"

#include <float.h>
#include <math.h>

/* ---- masks ----------------------------------------------------------------------------------- */

/* What keeps queries from keys: a padding mask, the order of time, biases. */
typedef struct attention_mask {
    const int32_t
        *spans; /* [batch] ends and, when starts follow them, [batch] starts; NULL: none */
    const int32_t *starts; /* NULL: all start with the first key */
    const int32_t *rows;   /* 0 hides a key; NULL: none */
    int64_t batch, row;    /* steps of rows from one sequence and one query to the next */
    int64_t n_past;
    float filter;
    bool causal;
    hn_score_bias bias;
} attention_mask;

/* [batch, keys], [batch, queries, keys], or [batch, 1, positions, positions] of which queries stand
 * behind the past. */
static hone_status read_mask_rows(hn_eval *c, uint32_t arg, const hn_heads *a, attention_mask *m) {
    const hn_array *mask = hn_arg(c, arg);
    int64_t width = mask->rank == 4 ? mask->dims[3] : a->n_keys, n_rows = mask->rank == 2 ? 1
                                                                          : mask->rank == 3
                                                                              ? a->n_queries
                                                                              : mask->dims[2];
    m->rows = mask->data;
    m->batch = n_rows * width;
    m->row = mask->rank == 2 ? 0 : width;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)(a->batch * m->batch)));
    if (mask->rank != 4)
        return HONE_OK;
    if (width < a->n_keys || n_rows - a->n_queries < m->n_past)
        return hn_eval_fail(c, HONE_E_SHAPE, "a mask of %lld positions does not hold %lld keys",
                            (long long)HN_MIN(width, n_rows), (long long)a->n_keys);
    m->rows += m->n_past * width;
    return HONE_OK;
}

static hone_status read_attention_mask(hn_eval *c, uint32_t arg, uint32_t bias, const hn_heads *a,
                                       attention_mask *m) {
    const hn_array *mask = hn_arg(c, arg);
    uint64_t batch = (uint64_t)a->batch;
    m->filter = hn_attr_f(hn_eval_node(c), "mask_filter_value", -10000.0f);
    m->causal = hn_attr_i(hn_eval_node(c), "unidirectional", 0) != 0;
    HN_TRY(hn_read_score_bias(c, bias, a, &m->bias));
    bool is_dummy = mask && mask->rank == 2 && mask->dims[1] == 1 && a->n_keys != 1;
    if (!mask || is_dummy)
        return HONE_OK;
    if (mask->rank < 1 || mask->rank > 4)
        return hn_eval_fail(c, HONE_E_SHAPE, "a mask has 1 to 4 axes, but this one %d", mask->rank);
    if (mask->rank > 1)
        return read_mask_rows(c, arg, a, m);
    if (mask->n_elems < batch)
        return hn_want_elems(c, arg, batch);
    m->spans = mask->data;
    m->starts = mask->n_elems == 2 * batch ? m->spans + batch : NULL;
    return HONE_OK;
}

static hn_key_span see_through_mask(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                                    float *scores) {
    const attention_mask *m = ctx;
    hn_add_score_bias(&m->bias, b, h, i, n, scores);
    if (m->spans) {
        int64_t begin = m->starts ? m->starts[b] : 0, end = m->spans[b];
        for (int64_t k = 0; k < n; k++)
            scores[k] += k < begin || k >= end ? m->filter : 0;
    } else if (m->rows) {
        const int32_t *row = m->rows + b * m->batch + i * m->row;
        for (int64_t k = 0; k < n; k++)
            scores[k] += row[k] > 0 ? 0 : m->filter;
    }
    for (int64_t k = m->n_past + i + 1; m->causal && k < n; k++)
        scores[k] = -FLT_MAX;
    return (hn_key_span){0, n};
}

/* ---- masks as sights ------------------------------------------------------------------------- */

/* Rows of the mask as what is added; [batch, rows, keys]. */
static float *filtered_rows(hn_eval *c, const attention_mask *m, const hn_heads *a,
                            int64_t n_rows) {
    float *at = hn_eval_scratch_n(c, (uint64_t)(a->batch * n_rows * a->n_keys), sizeof *at);
    for (int64_t i = 0; at && i < a->batch * n_rows; i++) {
        int64_t b = i / n_rows, begin = m->starts ? m->starts[b] : 0;
        const int32_t *row = m->rows ? m->rows + b * m->batch + i % n_rows * m->row : NULL;
        for (int64_t k = 0; k < a->n_keys; k++) {
            bool is_open = row ? row[k] > 0 : k >= begin && k < m->spans[b];
            at[i * a->n_keys + k] = is_open ? 0 : m->filter;
        }
    }
    return at;
}

/* Leaves a->sight NULL where masks and biases differ from query to query. */
static hone_status say_sight(hn_eval *c, const attention_mask *m, hn_heads *a, hn_key_sight *s) {
    bool has_filter = m->spans || m->rows, by_query = m->rows && m->row != 0;
    if (!hn_heads_are_fast(a) || (by_query && m->bias.at))
        return HONE_OK;
    *s = (hn_key_sight){.reach = hn_even_reach(c, a->batch, a->n_keys, m->n_past),
                        .mask = {m->bias.at, m->bias.batch, m->bias.head, m->bias.row},
                        .left = HN_REACH_ALL,
                        .right = m->causal ? 0 : HN_REACH_ALL,
                        .unseen = has_filter || m->bias.at ? -FLT_MAX : -HUGE_VALF};
    HN_TRY_PTR(s->reach);
    a->sight = s;
    if (!has_filter)
        return HONE_OK;
    int64_t n_rows = by_query ? a->n_queries : 1;
    hn_score_mask_f32 filter = {.at = filtered_rows(c, m, a, n_rows),
                                .batch = n_rows * a->n_keys,
                                .query = by_query ? a->n_keys : 0};
    HN_TRY_PTR(filter.at);
    *(by_query ? &s->mask : &s->key_mask) = filter;
    return HONE_OK;
}

/* ---- the rest of every operator -------------------------------------------------------------- */

static hone_status join_side(hn_eval *c, const hn_attention_parts *p, hn_kv_cache *cache,
                             const int64_t *n_past, int64_t size, hn_head_rows *out) {
    const hn_heads *a = &p->heads;
    float *at;
    cache->batch = a->batch;
    cache->n_heads = a->n_kv_heads;
    cache->size = size;
    cache->n_fresh = p->n_fresh;
    cache->n_past = n_past;
    *out = cache->fresh;
    if (!cache->past && !cache->present)
        return HONE_OK;
    HN_TRY(hn_kv_cache_join(c, cache, &at));
    *out = hn_rows_by_head(at, a->n_kv_heads, cache->room, size);
    return HONE_OK;
}

hone_status hn_attention_join(hn_eval *c, hn_attention_parts *p) {
    hn_heads *a = &p->heads;
    int64_t *n_past = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *n_past);
    HN_TRY_PTR(n_past);
    for (int64_t b = 0; b < a->batch; b++)
        n_past[b] = p->n_past;
    a->n_keys = p->n_past + p->n_fresh;
    HN_TRY(join_side(c, p, &p->keys, n_past, a->key_size, &a->k));
    return join_side(c, p, &p->values, n_past, a->value_size, &a->v);
}

hone_status hn_attention_run(hn_eval *c, hn_attention_parts *p) {
    hn_heads *a = &p->heads;
    hn_array *y = hn_ret(c, 0);
    attention_mask mask = {.n_past = p->n_past};
    hn_key_sight sight;
    HN_TRY(read_attention_mask(c, p->mask, p->bias, a, &mask));
    a->see = see_through_mask;
    a->see_ctx = &mask;
    HN_TRY(say_sight(c, &mask, a, &sight));
    a->scale = hn_heads_scale(c, a->key_size);
    uint64_t n = (uint64_t)(a->batch * a->n_queries * a->n_heads * a->value_size);
    if (hn_wants_ret(c, 0) && (!y || y->n_elems != n))
        return hn_eval_fail(c, HONE_E_SHAPE, "queries, keys and values do not fit each other");
    float *out = y ? hn_buffer_f32(c, y) : hn_eval_scratch_n(c, n, sizeof *out);
    HN_TRY_PTR(out);
    a->out = hn_rows_packed(out, a->n_queries, a->n_heads * a->value_size, a->value_size);
    HN_TRY(hn_heads_attend(c, a));
    if (y)
        hn_narrow_f32(y, out);
    return HONE_OK;
}
