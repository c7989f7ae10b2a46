/* PagedAttention of com.microsoft, computed: tokens of all sequences stand one after the other, and
 * their keys and values in blocks that a table names. */
#include "ops/eval/ms/ms_heads_eval.h"

enum {
    PAGED_KEY_CACHE = 3,
    PAGED_VALUE_CACHE,
    PAGED_STARTS,
    PAGED_PAST,
    PAGED_TABLE,
    PAGED_COSINES,
    PAGED_SLOTS = 10,
    PAGED_SINKS,
    PAGED_QUERY_NORM,
    PAGED_KEY_NORM,
    PAGED_KEY_SCALES,
    PAGED_VALUE_SCALES
};

/* A cache [blocks, rows of a block, heads, size], which the operator writes to. */
typedef struct paged_cache {
    hn_array at;
    hn_kv_codes codes;
} paged_cache;

typedef struct paged {
    hn_heads heads; /* a batch of one: a sequence at a time */
    int64_t n_tokens, n_sequences, n_slots, block;
    const int32_t *starts, *past, *table;
    int64_t table_width;
    hn_head_rows keys, values; /* of all tokens */
    paged_cache key_cache, value_cache;
    bool is_latent; /* a value is the begin of its key */
} paged;

static int64_t n_fresh_tokens(const paged *p, int64_t s) {
    return (int64_t)p->starts[s + 1] - p->starts[s];
}

/* ---- arguments ------------------------------------------------------------------------------- */

static hone_status read_paged_tokens(hn_eval *c, paged *p) {
    const hn_array *query = hn_arg(c, 0), *key = hn_arg(c, 1), *value = hn_arg(c, 2);
    const hn_infer *node = hn_eval_node(c);
    hn_heads *a = &p->heads;
    a->batch = 1;
    a->n_heads = hn_attr_i(node, "num_heads", 1);
    a->n_kv_heads = hn_attr_i(node, "kv_num_heads", 1);
    p->is_latent = hn_attr_is(node, "kv_cache_layout", "LATENT");
    p->n_tokens = query->dims[0];
    int64_t width = query->dims[1], all = a->n_heads + (key ? 0 : 2 * a->n_kv_heads),
            size = width / all, kv_width = size * a->n_kv_heads;
    if (size < 1 || a->n_heads % a->n_kv_heads != 0 ||
        (p->is_latent && (!key || value || a->n_kv_heads != 1)) ||
        (!p->is_latent && !key != !value))
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "query, key, value and the numbers of heads do not fit");
    HN_TRY(hn_want_dims(c, 1, 2, (const int64_t[]){p->n_tokens, kv_width}));
    HN_TRY(hn_want_dims(c, 2, 2, (const int64_t[]){p->n_tokens, kv_width}));
    a->key_size = size;
    a->value_size = p->is_latent ? hn_attr_i(node, "v_head_size", 0) : size;
    a->value_size = a->value_size > 0 ? a->value_size : size;
    float *q = hn_arg_copy_f32(c, 0), *k = q, *v = q;
    if (key)
        k = hn_arg_copy_f32(c, 1);
    if (value)
        v = hn_arg_copy_f32(c, 2);
    HN_TRY_PTR(q && k && v);
    a->q = hn_rows_packed(q, p->n_tokens, width, size);
    p->keys = key ? hn_rows_packed(k, p->n_tokens, kv_width, size)
                  : hn_rows_packed(q + a->n_heads * size, p->n_tokens, width, size);
    p->values = value ? hn_rows_packed(v, p->n_tokens, kv_width, size)
                      : hn_rows_packed(q + a->n_heads * size + kv_width, p->n_tokens, width, size);
    return HONE_OK;
}

/* Sequences must lie one after the other, and their blocks in the cache. */
static hone_status check_sequences(hn_eval *c, const paged *p) {
    int64_t n_blocks = p->n_slots / p->block;
    for (int64_t s = 0; s < p->n_sequences; s++) {
        int64_t n = n_fresh_tokens(p, s), used;
        if (n < 0 || p->past[s] < 0 || p->past[s] + n > p->table_width * p->block)
            return hn_eval_fail(
                c, HONE_E_INVALID,
                "sequence %lld has %d past and %lld new tokens; %lld blocks of %lld hold less",
                (long long)s, p->past[s], (long long)n, (long long)p->table_width,
                (long long)p->block);
        used = (p->past[s] + n + p->block - 1) / p->block;
        for (int64_t i = 0; i < used; i++) {
            int32_t id = p->table[s * p->table_width + i];
            if (id < 0 || id >= n_blocks)
                return hn_eval_fail(c, HONE_E_INVALID, "sequence %lld names block %d of %lld",
                                    (long long)s, id, (long long)n_blocks);
        }
    }
    return HONE_OK;
}

static hone_status read_sequences(hn_eval *c, paged *p) {
    const hn_array *cache = hn_arg(c, PAGED_KEY_CACHE), *past = hn_arg(c, PAGED_PAST),
                   *table = hn_arg(c, PAGED_TABLE);
    p->n_sequences = (int64_t)past->n_elems;
    HN_TRY(hn_want_elems(c, PAGED_STARTS, (uint64_t)p->n_sequences + 1));
    if (cache->dims[1] < 1 || cache->dims[1] > INT32_MAX ||
        !hn_mul_i64(cache->dims[0], cache->dims[1], &p->n_slots))
        return hn_eval_fail(c, HONE_E_SHAPE, "the blocks of the cache are empty or too large");
    if (table->rank != 2 || table->dims[0] != p->n_sequences)
        return hn_eval_fail(c, HONE_E_SHAPE, "block_table must be [%lld sequences, blocks]",
                            (long long)p->n_sequences);
    p->starts = hn_arg(c, PAGED_STARTS)->data;
    p->past = past->data;
    p->table = table->data;
    p->table_width = table->dims[1];
    p->block = cache->dims[1];
    if (p->starts[0] != 0 || p->starts[p->n_sequences] != p->n_tokens)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "cumulative_sequence_length must go from 0 to the %lld tokens",
                            (long long)p->n_tokens);
    return check_sequences(c, p);
}

/* The type that codes have, where the cache is bytes with two of them. */
static hn_dtype coded_type(const hn_infer *node, const char *attr, const hn_array *cache) {
    return hn_attr_is(node, attr, "int4")         ? HN_I4
           : hn_attr_is(node, attr, "float4e2m1") ? HN_F4E2M1
                                                  : cache->dtype;
}

/* A copy of the argument in the output, or in scratch when nobody wants that. */
static hone_status copy_paged_cache(hn_eval *c, const paged *p, uint32_t arg, uint32_t ret,
                                    paged_cache *out) {
    const hn_array *from = hn_arg(c, arg);
    hn_array *to = hn_ret(c, ret);
    bool is_key = arg == PAGED_KEY_CACHE;
    if (!from || from->rank != 4)
        return hn_eval_fail(c, HONE_E_SHAPE, "%s must be [blocks, rows, heads, size]",
                            is_key ? "key_cache" : "value_cache");
    hn_dtype type = coded_type(hn_eval_node(c), is_key ? "k_cache_dtype" : "v_cache_dtype", from);
    const int64_t dims[4] = {p->n_slots / p->block, p->block, p->heads.n_kv_heads, from->dims[3]};
    HN_TRY(hn_want_dims(c, arg, 4, dims));
    HN_TRY(hn_read_kv_codes(c, from, is_key ? "k_quant_type" : "v_quant_type", type,
                            is_key ? PAGED_KEY_SCALES : PAGED_VALUE_SCALES, p->heads.n_kv_heads,
                            p->heads.key_size, &out->codes));
    if (to)
        out->at = *to;
    else
        HN_TRY(hn_scratch_array(c, from->dtype, from->rank, from->dims, &out->at));
    memcpy(out->at.data, from->data, (size_t)from->n_elems * hn_elem_bytes(from->dtype));
    return HONE_OK;
}

/* ---- positions ------------------------------------------------------------------------------- */

static hone_status turn_tokens(hn_eval *c, const paged *p) {
    const hn_infer *node = hn_eval_node(c);
    const hn_heads *a = &p->heads;
    int64_t first = hn_attr_i(node, "rotary_offset", 0);
    int64_t *positions = hn_eval_scratch_n(c, (uint64_t)p->n_tokens, sizeof *positions);
    hn_rotary r;
    HN_TRY_PTR(positions);
    if (!hn_attr_i(node, "do_rotary", 0))
        return HONE_OK;
    if (first < 0 || first > a->key_size)
        return hn_eval_fail(c, HONE_E_INVALID, "rotary_offset %lld lies outside heads of %lld",
                            (long long)first, (long long)a->key_size);
    HN_TRY(hn_read_rotary(c, PAGED_COSINES, PAGED_COSINES + 1, a->key_size - first,
                          "rotary_interleaved", &r));
    for (int64_t s = 0; s < p->n_sequences; s++)
        for (int64_t i = 0; i < n_fresh_tokens(p, s); i++)
            positions[p->starts[s] + i] = p->past[s] + i;
    hn_head_rows q = a->q, k = p->keys;
    q.at += first;
    k.at += first;
    HN_TRY(hn_rotate_heads(c, &r, positions, &q, 1, a->n_heads, p->n_tokens));
    return hn_rotate_heads(c, &r, positions, &k, 1, a->n_kv_heads, p->n_tokens);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t slot_at(const paged *p, int64_t s, int64_t position) {
    int64_t block = p->table[s * p->table_width + position / p->block];
    return block * p->block + position % p->block;
}

/* Where a token's key goes: -1 is nowhere. */
static hone_status find_slots(hn_eval *c, const paged *p, int64_t **out) {
    const hn_array *given = hn_arg(c, PAGED_SLOTS);
    *out = hn_eval_scratch_n(c, (uint64_t)p->n_tokens, sizeof **out);
    HN_TRY(hn_want_elems(c, PAGED_SLOTS, (uint64_t)p->n_tokens));
    HN_TRY_PTR(*out);
    if (given)
        hn_load_i64(given, 0, (uint64_t)p->n_tokens, *out);
    for (int64_t s = 0; !given && s < p->n_sequences; s++)
        for (int64_t i = 0; i < n_fresh_tokens(p, s); i++)
            (*out)[p->starts[s] + i] = slot_at(p, s, p->past[s] + i);
    for (int64_t t = 0; t < p->n_tokens; t++)
        if ((*out)[t] < -1 || (*out)[t] >= p->n_slots)
            return hn_eval_fail(c, HONE_E_INVALID, "token %lld goes to slot %lld of %lld",
                                (long long)t, (long long)(*out)[t], (long long)p->n_slots);
    return HONE_OK;
}

static void write_slots(const paged *p, const int64_t *slots, const hn_head_rows *rows,
                        paged_cache *cache) {
    int64_t n_heads = p->heads.n_kv_heads;
    for (int64_t t = 0; t < p->n_tokens; t++)
        for (int64_t h = 0; slots[t] >= 0 && h < n_heads; h++)
            hn_kv_store(&cache->codes, &cache->at, slots[t] * n_heads + h, h, 1,
                        hn_row_at(rows, 0, h, t));
}

/* All keys or values of a sequence, [heads, n_keys, size]. */
static hn_head_rows gather_rows(const paged *p, int64_t s, int64_t n_keys, const paged_cache *cache,
                                float *room) {
    int64_t n_heads = p->heads.n_kv_heads, size = p->heads.key_size;
    hn_head_rows rows = hn_rows_by_head(room, n_heads, n_keys, size);
    for (int64_t i = 0; i < n_keys; i++)
        for (int64_t h = 0; h < n_heads; h++)
            hn_kv_load(&cache->codes, &cache->at, slot_at(p, s, i) * n_heads + h, h, 1,
                       hn_row_at(&rows, 0, h, i));
    return rows;
}

/* ---- attention ------------------------------------------------------------------------------- */

typedef struct paged_sight {
    int64_t n_past, window;
    bool causal;
} paged_sight;

static hn_key_span see_pages(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                             float *scores) {
    const paged_sight *s = ctx;
    int64_t position = s->n_past + i;
    (void)b, (void)h, (void)scores;
    return (hn_key_span){s->window >= 0 ? HN_MAX(position + 1 - s->window, 0) : 0,
                         s->causal ? HN_MIN(position + 1, n) : n};
}

static hone_status attend_sequence(hn_eval *c, paged *p, int64_t s, float *room[2],
                                   const float *queries, float *out) {
    hn_heads *a = &p->heads;
    int64_t n = n_fresh_tokens(p, s), width = a->n_heads * a->value_size;
    paged_sight sight = {.n_past = p->past[s],
                         .window = hn_attr_i(hn_eval_node(c), "local_window_size", -1),
                         .causal = hn_attr_i(hn_eval_node(c), "is_causal", 1) != 0};
    a->n_queries = n;
    a->n_keys = sight.n_past + n;
    a->see = see_pages;
    a->see_ctx = &sight;
    a->q.at = (float *)(uintptr_t)(queries + p->starts[s] * a->q.row);
    a->k = gather_rows(p, s, a->n_keys, &p->key_cache, room[0]);
    a->v = p->is_latent ? a->k : gather_rows(p, s, a->n_keys, &p->value_cache, room[1]);
    a->out = hn_rows_packed(out + p->starts[s] * width, n, width, a->value_size);
    return n > 0 ? hn_heads_attend(c, a) : HONE_OK;
}

static hone_status attend_pages(hn_eval *c, paged *p) {
    hn_heads *a = &p->heads;
    hn_array *y = hn_ret(c, 0);
    uint64_t n_out = (uint64_t)(p->n_tokens * a->n_heads * a->value_size);
    int64_t most = 0;
    for (int64_t s = 0; s < p->n_sequences; s++)
        most = HN_MAX(most, p->past[s] + n_fresh_tokens(p, s));
    uint64_t n_room = (uint64_t)(most * a->n_kv_heads * a->key_size);
    float *room[2] = {hn_eval_scratch_n(c, n_room, sizeof **room),
                      hn_eval_scratch_n(c, p->is_latent ? 0 : n_room, sizeof **room)};
    if (!y)
        return HONE_OK;
    if (y->n_elems != n_out)
        return hn_eval_fail(c, HONE_E_SHAPE, "the query does not hold %lld heads",
                            (long long)a->n_heads);
    float *out = hn_buffer_f32(c, y), *queries = a->q.at;
    HN_TRY_PTR(room[0] && room[1] && out);
    for (int64_t s = 0; s < p->n_sequences; s++)
        HN_TRY(attend_sequence(c, p, s, room, queries, out));
    hn_narrow_f32(y, out);
    return HONE_OK;
}

static hone_status eval_paged_attention(hn_eval *c) {
    paged p = {.n_tokens = 0};
    hn_heads *a = &p.heads;
    int64_t *slots;
    HN_TRY(read_paged_tokens(c, &p));
    HN_TRY(read_sequences(c, &p));
    HN_TRY(copy_paged_cache(c, &p, PAGED_KEY_CACHE, 1, &p.key_cache));
    if (!p.is_latent)
        HN_TRY(copy_paged_cache(c, &p, PAGED_VALUE_CACHE, 2, &p.value_cache));
    HN_TRY(hn_normalize_heads(c, PAGED_QUERY_NORM, &a->q, 1, a->n_heads, p.n_tokens, a->key_size));
    HN_TRY(
        hn_normalize_heads(c, PAGED_KEY_NORM, &p.keys, 1, a->n_kv_heads, p.n_tokens, a->key_size));
    HN_TRY(turn_tokens(c, &p));
    HN_TRY(find_slots(c, &p, &slots));
    write_slots(&p, slots, &p.keys, &p.key_cache);
    if (!p.is_latent)
        write_slots(&p, slots, &p.values, &p.value_cache);
    a->scale = hn_heads_scale(c, a->key_size);
    a->softcap = hn_attr_f(hn_eval_node(c), "softcap", 0);
    HN_TRY(hn_want_elems(c, PAGED_SINKS, (uint64_t)a->n_heads));
    HN_TRY_PTR(hn_arg_f32s(c, PAGED_SINKS, &a->sinks));
    return attend_pages(c, &p);
}
const hn_impl hn_impl_paged_attention[1] = {{.eval = eval_paged_attention}};
