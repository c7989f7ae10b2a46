/* Attention operators of com.microsoft whose heads do not share keys, computed. */
#include "ops/ms_heads_eval.h"

#include <float.h>

#include "kernels/kernel.h"

/* ---- masks ------------------------------------------------------------------------------------- */

/* What keeps queries from keys: a padding mask, the order of time, biases. */
typedef struct attention_mask {
    const int32_t *at; /* NULL: none */
    int32_t rank;      /* 1: lengths (and starts), 2: [batch, keys], 3: [batch, queries, keys] */
    bool has_starts;
    int64_t batch, n_queries, n_past;
    float filter;
    bool causal;
    hn_score_bias bias;
} attention_mask;

static hone_status read_attention_mask(hn_eval *c, uint32_t arg, uint32_t bias, const hn_heads *a, attention_mask *m) {
    const hn_array *mask = hn_arg(c, arg);
    uint64_t batch = (uint64_t)a->batch, keys = (uint64_t)a->n_keys;
    m->batch = a->batch;
    m->n_queries = a->n_queries;
    m->filter = hn_attr_f(hn_eval_node(c), "mask_filter_value", -10000.0f);
    m->causal = hn_attr_i(hn_eval_node(c), "unidirectional", 0) != 0;
    HN_TRY(hn_read_score_bias(c, bias, a, &m->bias));
    bool is_dummy = mask && mask->rank == 2 && mask->dims[1] == 1 && a->n_keys != 1;
    if (!mask || is_dummy)
        return HONE_OK;
    if (mask->rank < 1 || mask->rank > 3)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "a mask of rank %d is not supported; make it [batch, queries, keys]",
                            mask->rank);
    m->at = mask->data;
    m->rank = mask->rank;
    m->has_starts = mask->n_elems == 2 * batch;
    if (mask->rank > 1)
        return hn_want_elems(c, arg, mask->rank == 2 ? batch * keys : batch * (uint64_t)a->n_queries * keys);
    if (mask->n_elems < batch)
        return hn_want_elems(c, arg, batch);
    return HONE_OK;
}

static hn_span see_through_mask(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n, float *scores) {
    const attention_mask *m = ctx;
    hn_add_score_bias(&m->bias, b, h, i, n, scores);
    if (m->at && m->rank == 1) {
        int64_t begin = m->has_starts ? m->at[m->batch + b] : 0, end = m->at[b];
        for (int64_t k = 0; k < n; k++)
            scores[k] += k < begin || k >= end ? m->filter : 0;
    } else if (m->at) {
        const int32_t *row = m->at + (m->rank == 2 ? b : b * m->n_queries + i) * n;
        for (int64_t k = 0; k < n; k++)
            scores[k] += row[k] > 0 ? 0 : m->filter;
    }
    for (int64_t k = m->n_past + i + 1; m->causal && k < n; k++)
        scores[k] = -FLT_MAX;
    return (hn_span){0, n};
}

/* ---- the rest of every operator ---------------------------------------------------------------- */

/* Fresh queries, keys and values, and where the past and the present are. */
typedef struct attention_parts {
    hn_heads heads;
    int64_t n_fresh, n_past;
    hn_cache keys, values; /* batch, heads, sizes and counts are filled in by attend_to_all */
    uint32_t mask, bias;   /* arguments */
} attention_parts;

static hone_status join_side(hn_eval *c, const attention_parts *p, hn_cache *cache, const int64_t *n_past, int64_t size,
                             hn_head_rows *out) {
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
    HN_TRY(hn_cache_join(c, cache, &at));
    *out = hn_rows_by_head(at, a->n_kv_heads, cache->room, size);
    return HONE_OK;
}

static hone_status join_sides(hn_eval *c, attention_parts *p) {
    hn_heads *a = &p->heads;
    int64_t *n_past = hn_eval_scratch_n(c, (uint64_t)a->batch, sizeof *n_past);
    HN_TRY_PTR(n_past);
    for (int64_t b = 0; b < a->batch; b++)
        n_past[b] = p->n_past;
    a->n_keys = p->n_past + p->n_fresh;
    HN_TRY(join_side(c, p, &p->keys, n_past, a->key_size, &a->k));
    return join_side(c, p, &p->values, n_past, a->value_size, &a->v);
}

static hone_status attend_to_all(hn_eval *c, attention_parts *p) {
    hn_heads *a = &p->heads;
    hn_array *y = hn_ret(c, 0);
    attention_mask mask = {.n_past = p->n_past};
    HN_TRY(read_attention_mask(c, p->mask, p->bias, a, &mask));
    a->see = see_through_mask;
    a->see_ctx = &mask;
    a->scale = hn_heads_scale(c, a->key_size);
    float *out = y ? hn_room_f32(c, y) : hn_eval_scratch_n(c, (uint64_t)(a->batch * a->n_queries * a->n_heads * a->value_size),
                                                           sizeof *out);
    HN_TRY_PTR(out);
    a->out = hn_rows_packed(out, a->n_queries, a->n_heads * a->value_size, a->value_size);
    HN_TRY(hn_heads_attend(c, a));
    if (y)
        hn_narrow_f32(y, out);
    return HONE_OK;
}

/* ---- Attention, QAttention: with the projections ----------------------------------------------- */

typedef struct packed_args {
    uint32_t mask, past, bias, past_length;
} packed_args;

/* Widths of Q, K and V in the packed weights. */
static hone_status read_widths(hn_eval *c, int64_t n_heads, int64_t widths[3]) {
    uint32_t n;
    const int64_t *given;
    const hn_array *w = hn_arg(c, 1);
    bool is_given = hn_attr_ints(hn_eval_node(c), "qkv_hidden_sizes", &n, &given) && n == 3;
    for (int i = 0; i < 3; i++)
        widths[i] = is_given ? given[i] : w->dims[1] / 3;
    if (widths[0] != widths[1] || widths[0] % n_heads != 0 || widths[2] % n_heads != 0 ||
        widths[0] + widths[1] + widths[2] != w->dims[1])
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "widths %lld, %lld and %lld of Q, K and V do not fit %lld heads and weights of %lld columns",
                            (long long)widths[0], (long long)widths[1], (long long)widths[2], (long long)n_heads,
                            (long long)w->dims[1]);
    HN_TRY(hn_want_dims(c, 1, 2, (const int64_t[]){hn_arg(c, 0)->dims[2], w->dims[1]}));
    return hn_want_elems(c, 2, (uint64_t)w->dims[1]);
}

/* x * w + bias over rows of x; bias may be NULL. */
static hone_status project_rows(hn_eval *c, const hn_array *x, const float *rows, const float *w, int64_t width, float **out) {
    int64_t depth = x->dims[2], n_rows = x->dims[0] * x->dims[1];
    const float *bias;
    *out = hn_eval_scratch_n(c, (uint64_t)(n_rows * width), sizeof **out);
    HN_TRY_PTR(*out && hn_arg_f32s(c, 2, &bias));
    for (int64_t i = 0; bias && i < n_rows; i++)
        memcpy(*out + i * width, bias, (size_t)width * sizeof **out);
    hn_gemm_f32(hn_eval_pool(c), &(hn_gemm_job_f32){.m = n_rows,
                                                    .n = width,
                                                    .k = depth,
                                                    .a = rows,
                                                    .a_row = depth,
                                                    .a_col = 1,
                                                    .b = w,
                                                    .b_row = width,
                                                    .b_col = 1,
                                                    .c = *out,
                                                    .c_row = width,
                                                    .add = bias != NULL});
    return HONE_OK;
}

/* The past holds keys and then values, [2, batch, heads, length, size]; so does the present. */
static hone_status find_packed_past(hn_eval *c, const packed_args *args, attention_parts *p) {
    const hn_heads *a = &p->heads;
    const hn_array *past = hn_arg(c, args->past);
    hn_array *present = hn_ret(c, 1);
    if ((past || present) && a->key_size != a->value_size)
        return hn_eval_fail(c, HONE_E_SHAPE, "keys and values of different sizes cannot stand in one past");
    if (past) {
        HN_TRY(hn_want_dims(c, args->past, 5, (const int64_t[]){2, a->batch, a->n_heads, past->dims[3], a->key_size}));
        p->keys.past = p->values.past = past;
        p->keys.past_room = p->values.past_room = p->n_past = past->dims[3];
        p->values.past_begin = past->n_elems / 2;
        if (hn_attr_i(hn_eval_node(c), "past_present_share_buffer", 0))
            p->n_past = hn_arg_i64_or(c, args->past_length, 0);
    }
    p->keys.present = p->values.present = present;
    p->keys.room = p->values.room = present ? present->dims[3] : p->n_past + p->n_fresh;
    p->values.present_begin = present ? present->n_elems / 2 : 0;
    return HONE_OK;
}

static hone_status run_packed_attention(hn_eval *c, const packed_args *args, const float *x, const float *w) {
    const hn_array *input = hn_arg(c, 0);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1), n_rows = input->dims[1], width = hn_arg(c, 1)->dims[1], widths[3];
    float *qkv;
    if (hn_attr_i(hn_eval_node(c), "do_rotary", 0))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "do_rotary is not supported");
    HN_TRY(read_widths(c, n_heads, widths));
    HN_TRY(project_rows(c, input, x, w, width, &qkv));
    attention_parts p = {.heads = {.batch = input->dims[0], .n_heads = n_heads, .n_kv_heads = n_heads, .n_queries = n_rows},
                         .n_fresh = n_rows,
                         .mask = args->mask,
                         .bias = args->bias};
    p.heads.key_size = widths[0] / n_heads;
    p.heads.value_size = widths[2] / n_heads;
    p.heads.q = hn_rows_packed(qkv, n_rows, width, p.heads.key_size);
    p.keys.fresh = hn_rows_packed(qkv + widths[0], n_rows, width, p.heads.key_size);
    p.values.fresh = hn_rows_packed(qkv + 2 * widths[0], n_rows, width, p.heads.value_size);
    HN_TRY(find_packed_past(c, args, &p));
    HN_TRY(join_sides(c, &p));
    return attend_to_all(c, &p);
}

hone_status hn_eval_ms_attention(hn_eval *c) {
    static const packed_args args = {.mask = 3, .past = 4, .bias = 5, .past_length = 6};
    const float *x, *w;
    HN_TRY_PTR(hn_arg_f32s(c, 0, &x) && hn_arg_f32s(c, 1, &w));
    return run_packed_attention(c, &args, x, w);
}

/* Scale and zero point of the weights stand for all of them, or for each column. */
static hone_status dequantize_columns(hn_eval *c, uint32_t arg, uint32_t scale_arg, uint32_t zero_arg, float **out) {
    const hn_array *w = hn_arg(c, arg), *zero = hn_arg(c, zero_arg), *scale = hn_arg(c, scale_arg);
    uint64_t columns = (uint64_t)HN_MAX(w->dims[1], 1);
    const float *scales, *zeros;
    if (scale->n_elems != 1)
        HN_TRY(hn_want_elems(c, scale_arg, columns));
    if (zero && zero->n_elems != 1)
        HN_TRY(hn_want_elems(c, zero_arg, columns));
    *out = hn_eval_scratch_n(c, w->n_elems, sizeof **out);
    HN_TRY_PTR(*out && hn_arg_f32s(c, scale_arg, &scales) && hn_arg_f32s(c, zero_arg, &zeros));
    hn_load_f32(w, 0, w->n_elems, *out);
    for (uint64_t i = 0; i < w->n_elems; i++) {
        uint64_t k = i % columns;
        float less = zeros ? zeros[zero->n_elems == 1 ? 0 : k] : 0;
        (*out)[i] = ((*out)[i] - less) * scales[scale->n_elems == 1 ? 0 : k];
    }
    return HONE_OK;
}

hone_status hn_eval_qattention(hn_eval *c) {
    static const packed_args args = {.mask = 5, .past = 8, .bias = UINT32_MAX, .past_length = UINT32_MAX};
    hn_array x;
    float *w;
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 0), hn_affine_args(c, 3, 6), &x));
    HN_TRY(dequantize_columns(c, 1, 4, 7, &w));
    return run_packed_attention(c, &args, x.data, w);
}

/* ---- MultiHeadAttention and its masked decoder ------------------------------------------------- */

typedef struct mha_args {
    uint32_t bias, mask, score_bias, past, past_length, beams;
} mha_args;

/* Rows of one input with its part of the bias added; by_head: [batch, heads, rows, size], which comes finished. */
static hone_status biased_rows(hn_eval *c, hn_head_rows from, const attention_parts *p, int64_t n_rows, int64_t size,
                               const float *bias, hn_head_rows *out) {
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

/* Finds the fresh keys and values in any of the ways they may be packed. *finished: the bias is in them already. */
static hone_status find_fresh(hn_eval *c, attention_parts *p, hn_head_rows *q, bool *finished) {
    const hn_array *query = hn_arg(c, 0), *key = hn_arg(c, 1), *value = hn_arg(c, 2);
    hn_heads *a = &p->heads;
    const float *qs, *ks, *vs;
    HN_TRY_PTR(hn_arg_f32s(c, 0, &qs) && hn_arg_f32s(c, 1, &ks) && hn_arg_f32s(c, 2, &vs));
    int64_t n = a->n_heads, width = query->dims[2];
    *finished = key && key->rank == 4;
    if (query->rank == 5 || !key) {
        bool is_flat = query->rank == 3;
        a->key_size = a->value_size = is_flat ? width / 3 / n : query->dims[4];
        p->n_fresh = a->n_queries;
        *q = is_flat ? hn_rows_packed(qs, a->n_queries, width, a->key_size) : packed_part(qs, query, 0);
        p->keys.fresh = is_flat ? hn_rows_packed(qs + width / 3, a->n_queries, width, a->key_size) : packed_part(qs, query, 1);
        p->values.fresh = is_flat ? hn_rows_packed(qs + width / 3 * 2, a->n_queries, width, a->key_size) : packed_part(qs, query, 2);
        bool fits = is_flat ? width % (3 * n) == 0 : query->dims[2] == n && query->dims[3] == 3;
        return fits ? HONE_OK : hn_eval_fail(c, HONE_E_SHAPE, "the packed query does not hold Q, K and V of %lld heads", (long long)n);
    }
    a->key_size = width / n;
    *q = hn_rows_packed(qs, a->n_queries, width, a->key_size);
    p->n_fresh = key->dims[key->rank == 4 ? 2 : 1];
    if (key->rank == 5) {
        a->value_size = a->key_size;
        p->keys.fresh = packed_part(ks, key, 0);
        p->values.fresh = packed_part(ks, key, 1);
        return hn_want_dims(c, 1, 5, (const int64_t[]){a->batch, p->n_fresh, n, 2, a->key_size});
    }
    if (!value || value->rank != key->rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "key and value must come together, and have one rank");
    a->value_size = key->rank == 4 ? value->dims[3] : value->dims[2] / n;
    if (key->rank == 4) {
        p->keys.fresh = hn_rows_by_head(ks, n, p->n_fresh, a->key_size);
        p->values.fresh = hn_rows_by_head(vs, n, p->n_fresh, a->value_size);
        HN_TRY(hn_want_dims(c, 1, 4, (const int64_t[]){a->batch, n, p->n_fresh, a->key_size}));
        return hn_want_dims(c, 2, 4, (const int64_t[]){a->batch, n, p->n_fresh, a->value_size});
    }
    p->keys.fresh = hn_rows_packed(ks, p->n_fresh, width, a->key_size);
    p->values.fresh = hn_rows_packed(vs, p->n_fresh, a->value_size * n, a->value_size);
    HN_TRY(hn_want_dims(c, 1, 3, (const int64_t[]){a->batch, p->n_fresh, width}));
    return hn_want_dims(c, 2, 3, (const int64_t[]){a->batch, p->n_fresh, a->value_size * n});
}

static hone_status add_input_bias(hn_eval *c, uint32_t arg, attention_parts *p, hn_head_rows q, bool finished) {
    hn_heads *a = &p->heads;
    int64_t width = a->n_heads * a->key_size;
    const float *bias;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)(2 * width + a->n_heads * a->value_size)));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &bias));
    HN_TRY(biased_rows(c, q, p, a->n_queries, a->key_size, bias, &a->q));
    if (finished || !bias)
        return HONE_OK;
    HN_TRY(biased_rows(c, p->keys.fresh, p, p->n_fresh, a->key_size, bias + width, &p->keys.fresh));
    return biased_rows(c, p->values.fresh, p, p->n_fresh, a->value_size, bias + 2 * width, &p->values.fresh);
}

static hone_status find_cache(hn_eval *c, uint32_t past, uint32_t present, const attention_parts *p, int64_t size, hn_cache *cache) {
    const hn_heads *a = &p->heads;
    cache->past = hn_arg(c, past);
    cache->present = hn_ret(c, present);
    if (cache->past) {
        HN_TRY(hn_want_dims(c, past, 4, (const int64_t[]){a->batch, a->n_heads, cache->past->dims[2], size}));
        cache->past_room = cache->past->dims[2];
    }
    cache->room = cache->present ? cache->present->dims[2] : HN_MAX(cache->past_room, p->n_past + p->n_fresh);
    return HONE_OK;
}

/* Beams: the past of each sequence is made of rows of its siblings, as an argument [batch, beams, length] says. */
static hone_status follow_beams(hn_eval *c, uint32_t arg, const attention_parts *p, int64_t size, hn_head_rows *rows) {
    const hn_array *from = hn_arg(c, arg);
    const hn_heads *a = &p->heads;
    if (!from)
        return HONE_OK;
    if (from->rank != 3 || from->dims[1] < 1 || from->dims[0] * from->dims[1] != a->batch || from->dims[2] < p->n_past)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u must be [batch, beams, length]", arg);
    int64_t n_beams = from->dims[1];
    float *at = hn_eval_scratch_n(c, (uint64_t)(a->batch * a->n_heads * a->n_keys * size), sizeof *at);
    HN_TRY_PTR(at);
    hn_head_rows to = hn_rows_by_head(at, a->n_heads, a->n_keys, size);
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t k = 0; k < a->n_keys; k++) {
            int64_t beam = b % n_beams;
            if (k < p->n_past)
                hn_load_i64(from, (uint64_t)(b * from->dims[2] + k), 1, &beam);
            if (beam < 0 || beam >= n_beams)
                return hn_eval_fail(c, HONE_E_INVALID, "input %u names beam %lld of %lld", arg, (long long)beam, (long long)n_beams);
            for (int64_t h = 0; h < a->n_heads; h++)
                memcpy(hn_row_at(&to, b, h, k), hn_row_at(rows, b / n_beams * n_beams + beam, h, k), (size_t)size * sizeof *at);
        }
    *rows = to;
    return HONE_OK;
}

static hone_status run_multi_head(hn_eval *c, const mha_args *args) {
    const hn_array *query = hn_arg(c, 0), *past = hn_arg(c, args->past);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1);
    attention_parts p = {
        .heads = {.batch = query->dims[0], .n_heads = n_heads, .n_kv_heads = n_heads, .n_queries = query->dims[1], .scores = hn_ret(c, 3)},
        .mask = args->mask,
        .bias = args->score_bias};
    hn_head_rows q;
    bool finished;
    HN_TRY(find_fresh(c, &p, &q, &finished));
    HN_TRY(add_input_bias(c, args->bias, &p, q, finished));
    if (past && past->rank == 4)
        p.n_past = hn_arg(c, args->past_length) ? hn_arg_i64_or(c, args->past_length, 0) : past->dims[2];
    HN_TRY(find_cache(c, args->past, 1, &p, p.heads.key_size, &p.keys));
    HN_TRY(find_cache(c, args->past + 1, 2, &p, p.heads.value_size, &p.values));
    HN_TRY(join_sides(c, &p));
    HN_TRY(follow_beams(c, args->beams, &p, p.heads.key_size, &p.heads.k));
    HN_TRY(follow_beams(c, args->beams, &p, p.heads.value_size, &p.heads.v));
    if (hn_wants_ret(c, 3) && !p.heads.scores)
        HN_TRY(hn_ret_alloc(c, 3, query->dtype, 4, (const int64_t[]){p.heads.batch, n_heads, p.heads.n_queries, p.heads.n_keys},
                            &p.heads.scores));
    return attend_to_all(c, &p);
}

hone_status hn_eval_multi_head_attention(hn_eval *c) {
    static const mha_args args = {.bias = 3, .mask = 4, .score_bias = 5, .past = 6, .past_length = 8, .beams = 9};
    return run_multi_head(c, &args);
}

hone_status hn_eval_masked_decoder_attention(hn_eval *c) {
    static const mha_args args = {.bias = 10, .mask = 3, .score_bias = 4, .past = 5, .past_length = 7, .beams = 9};
    return run_multi_head(c, &args);
}
