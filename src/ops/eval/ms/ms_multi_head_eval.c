/* MultiHeadAttention of com.microsoft and its masked decoder, computed. */
#include "ops/eval/ms/ms_heads_eval.h"

typedef struct mha_args {
    uint32_t bias, mask, score_bias, past, past_length, beams;
} mha_args;

/* Rows of one input with its part of the bias added. */
static hone_status biased_rows(hn_eval *c, hn_head_rows from, const hn_attention_parts *p,
                               int64_t n_rows, int64_t size, const float *bias, hn_head_rows *out) {
    const hn_heads *a = &p->heads;
    *out = from;
    if (!bias)
        return HONE_OK;
    float *at = hn_eval_scratch_n(c, (uint64_t)(a->batch * n_rows * a->n_heads * size), sizeof *at);
    HN_TRY_PTR(at);
    *out = hn_rows_packed(at, n_rows, a->n_heads * size, size);
    for (int64_t i = 0; i < a->batch * n_rows; i++)
        for (int64_t h = 0; h < a->n_heads; h++) {
            const float *x = hn_row_at(&from, i / n_rows, h, i % n_rows);
            float *y = hn_row_at(out, i / n_rows, h, i % n_rows);
            for (int64_t e = 0; e < size; e++)
                y[e] = x[e] + bias[h * size + e];
        }
    return HONE_OK;
}

/* [batch, rows, heads, parts, size]: part i of each head. */
static hn_head_rows packed_part(const float *at, const hn_array *x, int64_t i) {
    int64_t size = x->dims[4], head = x->dims[3] * size, row = x->dims[2] * head;
    return (hn_head_rows){(float *)(uintptr_t)(at + i * size), x->dims[1] * row, head, row};
}

/* All three in the query: [batch, rows, heads, 3, size], or one after the other in each row. */
static hone_status find_in_query(hn_eval *c, const float *at, hn_attention_parts *p,
                                 hn_head_rows *q) {
    const hn_array *query = hn_arg(c, 0);
    hn_heads *a = &p->heads;
    int64_t n = a->n_heads, width = query->dims[2], third = width / 3;
    bool is_flat = query->rank == 3;
    a->key_size = a->value_size = is_flat ? third / n : query->dims[4];
    p->n_fresh = a->n_queries;
    hn_head_rows *to[3] = {q, &p->keys.fresh, &p->values.fresh};
    for (int64_t i = 0; i < 3; i++)
        *to[i] = is_flat ? hn_rows_packed(at + i * third, a->n_queries, width, a->key_size)
                         : packed_part(at, query, i);
    if (is_flat ? width % (3 * n) == 0 : query->dims[2] == n && query->dims[3] == 3)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE, "the packed query does not hold Q, K and V of %lld heads",
                        (long long)n);
}

/* Keys and values [batch, rows, width], or [batch, heads, rows, size]. */
static hone_status find_apart(hn_eval *c, const float *keys, const float *values,
                              hn_attention_parts *p) {
    const hn_array *key = hn_arg(c, 1), *value = hn_arg(c, 2);
    hn_heads *a = &p->heads;
    int64_t n = a->n_heads;
    if (!value || value->rank != key->rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "key and value must come together, and have one rank");
    a->value_size = key->rank == 4 ? value->dims[3] : value->dims[2] / n;
    if (key->rank == 4) {
        p->keys.fresh = hn_rows_by_head(keys, n, p->n_fresh, a->key_size);
        p->values.fresh = hn_rows_by_head(values, n, p->n_fresh, a->value_size);
        HN_TRY(hn_want_dims(c, 1, 4, (const int64_t[]){a->batch, n, p->n_fresh, a->key_size}));
        return hn_want_dims(c, 2, 4, (const int64_t[]){a->batch, n, p->n_fresh, a->value_size});
    }
    p->keys.fresh = hn_rows_packed(keys, p->n_fresh, a->key_size * n, a->key_size);
    p->values.fresh = hn_rows_packed(values, p->n_fresh, a->value_size * n, a->value_size);
    HN_TRY(hn_want_dims(c, 1, 3, (const int64_t[]){a->batch, p->n_fresh, a->key_size * n}));
    return hn_want_dims(c, 2, 3, (const int64_t[]){a->batch, p->n_fresh, a->value_size * n});
}

/* Finds the fresh queries, keys and values in any of the ways they may be packed. */
static hone_status find_fresh(hn_eval *c, hn_attention_parts *p, hn_head_rows *q) {
    const hn_array *query = hn_arg(c, 0), *key = hn_arg(c, 1);
    hn_heads *a = &p->heads;
    const float *queries, *keys, *values;
    HN_TRY_PTR(hn_arg_f32s(c, 0, &queries) && hn_arg_f32s(c, 1, &keys) &&
               hn_arg_f32s(c, 2, &values));
    if (query->rank == 5 || !key)
        return find_in_query(c, queries, p, q);
    a->key_size = query->dims[2] / a->n_heads;
    *q = hn_rows_packed(queries, a->n_queries, query->dims[2], a->key_size);
    p->n_fresh = key->dims[key->rank == 4 ? 2 : 1];
    if (key->rank != 5)
        return find_apart(c, keys, values, p);
    a->value_size = a->key_size;
    p->keys.fresh = packed_part(keys, key, 0);
    p->values.fresh = packed_part(keys, key, 1);
    return hn_want_dims(c, 1, 5,
                        (const int64_t[]){a->batch, p->n_fresh, a->n_heads, 2, a->key_size});
}

/* Keys and values that come by head have their bias already. */
static hone_status add_input_bias(hn_eval *c, uint32_t arg, hn_attention_parts *p, hn_head_rows q) {
    hn_heads *a = &p->heads;
    int64_t width = a->n_heads * a->key_size;
    const float *bias;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)(2 * width + a->n_heads * a->value_size)));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &bias));
    HN_TRY(biased_rows(c, q, p, a->n_queries, a->key_size, bias, &a->q));
    if (!bias || (hn_arg(c, 1) && hn_arg(c, 1)->rank == 4))
        return HONE_OK;
    HN_TRY(biased_rows(c, p->keys.fresh, p, p->n_fresh, a->key_size, bias + width, &p->keys.fresh));
    return biased_rows(c, p->values.fresh, p, p->n_fresh, a->value_size, bias + 2 * width,
                       &p->values.fresh);
}

static hone_status find_cache(hn_eval *c, uint32_t past, uint32_t present,
                              const hn_attention_parts *p, int64_t size, hn_kv_cache *cache) {
    const hn_heads *a = &p->heads;
    cache->past = hn_arg(c, past);
    cache->present = hn_ret(c, present);
    if (cache->past) {
        HN_TRY(hn_want_dims(
            c, past, 4, (const int64_t[]){a->batch, a->n_heads, hn_dim_or(cache->past, 2), size}));
        cache->past_room = cache->past->dims[2];
    }
    cache->room =
        cache->present ? cache->present->dims[2] : HN_MAX(cache->past_room, p->n_past + p->n_fresh);
    return HONE_OK;
}

/* Beams: the past of each sequence is made of rows of its siblings, as an argument [batch, beams,
 * length] says. */
static hone_status follow_beams(hn_eval *c, uint32_t arg, const hn_attention_parts *p, int64_t size,
                                hn_head_rows *rows) {
    const hn_array *from = hn_arg(c, arg);
    const hn_heads *a = &p->heads;
    if (!from)
        return HONE_OK;
    if (from->rank != 3 || from->dims[1] < 1 || from->dims[0] * from->dims[1] != a->batch ||
        from->dims[2] < p->n_past)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u must be [batch, beams, length]", arg);
    int64_t n_beams = from->dims[1];
    float *at =
        hn_eval_scratch_n(c, (uint64_t)(a->batch * a->n_heads * a->n_keys * size), sizeof *at);
    HN_TRY_PTR(at);
    hn_head_rows to = hn_rows_by_head(at, a->n_heads, a->n_keys, size);
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t k = 0; k < a->n_keys; k++) {
            int64_t beam = b % n_beams;
            if (k < p->n_past)
                hn_load_i64(from, (uint64_t)(b * from->dims[2] + k), 1, &beam);
            if (beam < 0 || beam >= n_beams)
                return hn_eval_fail(c, HONE_E_INVALID, "input %u names beam %lld of %lld", arg,
                                    (long long)beam, (long long)n_beams);
            for (int64_t h = 0; h < a->n_heads; h++)
                memcpy(hn_row_at(&to, b, h, k), hn_row_at(rows, b / n_beams * n_beams + beam, h, k),
                       (size_t)size * sizeof *at);
        }
    *rows = to;
    return HONE_OK;
}

static hone_status run_multi_head(hn_eval *c, const mha_args *args) {
    const hn_array *query = hn_arg(c, 0), *past = hn_arg(c, args->past);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1);
    hn_attention_parts p = {.heads = {.batch = query->dims[0],
                                      .n_heads = n_heads,
                                      .n_kv_heads = n_heads,
                                      .n_queries = query->dims[1],
                                      .scores = hn_ret(c, 3)},
                            .mask = args->mask,
                            .bias = args->score_bias};
    hn_head_rows q;
    HN_TRY(find_fresh(c, &p, &q));
    HN_TRY(add_input_bias(c, args->bias, &p, q));
    if (past && past->rank == 4)
        p.n_past =
            hn_arg(c, args->past_length) ? hn_arg_i64_or(c, args->past_length, 0) : past->dims[2];
    HN_TRY(find_cache(c, args->past, 1, &p, p.heads.key_size, &p.keys));
    HN_TRY(find_cache(c, args->past + 1, 2, &p, p.heads.value_size, &p.values));
    HN_TRY(hn_attention_join(c, &p));
    HN_TRY(follow_beams(c, args->beams, &p, p.heads.key_size, &p.heads.k));
    HN_TRY(follow_beams(c, args->beams, &p, p.heads.value_size, &p.heads.v));
    if (hn_wants_ret(c, 3) && !p.heads.scores)
        HN_TRY(hn_ret_alloc(
            c, 3, query->dtype, 4,
            (const int64_t[]){p.heads.batch, n_heads, p.heads.n_queries, p.heads.n_keys},
            &p.heads.scores));
    return hn_attention_run(c, &p);
}

static hone_status eval_multi_head_attention(hn_eval *c) {
    static const mha_args args = {
        .bias = 3, .mask = 4, .score_bias = 5, .past = 6, .past_length = 8, .beams = 9};
    return run_multi_head(c, &args);
}
const hn_impl hn_impl_multi_head_attention[1] = {{.eval = eval_multi_head_attention}};

static hone_status eval_masked_decoder_attention(hn_eval *c) {
    static const mha_args args = {
        .bias = 10, .mask = 3, .score_bias = 4, .past = 5, .past_length = 7, .beams = 9};
    return run_multi_head(c, &args);
}
const hn_impl hn_impl_masked_decoder_attention[1] = {{.eval = eval_masked_decoder_attention}};
