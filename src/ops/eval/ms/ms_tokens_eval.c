/* Operators of com.microsoft around tokens, computed: padding, positions, repetitions. */
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

/* ---- padding --------------------------------------------------------------------------------- */

/* Rows of tokens of any type. */
typedef struct token_rows {
    int64_t batch, length;
    size_t row_bytes;
} token_rows;

static void copy_token(const token_rows *t, const hn_array *from, int64_t from_row, hn_array *to,
                       int64_t to_row) {
    memcpy((char *)to->data + (size_t)to_row * t->row_bytes,
           (const char *)from->data + (size_t)from_row * t->row_bytes, t->row_bytes);
}

/* How many tokens there are before each sequence; the last entry counts all. */
static hone_status sum_tokens(hn_eval *c, const token_rows *t, int32_t *starts, int32_t *longest) {
    const int32_t *counts = hn_arg(c, 1)->data;
    starts[0] = *longest = 0;
    for (int64_t b = 0; b < t->batch; b++) {
        if (counts[b] < 0 || counts[b] > t->length || starts[b] > INT32_MAX - counts[b])
            return hn_eval_fail(c, HONE_E_INVALID, "sequence %lld has %d tokens of %lld",
                                (long long)b, counts[b], (long long)t->length);
        starts[b + 1] = starts[b] + counts[b];
        *longest = HN_MAX(*longest, counts[b]);
    }
    return HONE_OK;
}

/* Offsets of tokens come first, then those of padding. */
static void fill_offsets(const token_rows *t, const int32_t *starts, int32_t *offsets) {
    int64_t i_token = 0, i_padding = starts[t->batch];
    for (int64_t i = 0; i < t->batch * t->length; i++) {
        int64_t b = i / t->length;
        bool is_token = i % t->length < starts[b + 1] - starts[b];
        offsets[is_token ? i_token++ : i_padding++] = (int32_t)i;
    }
}

static hone_status eval_remove_padding(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y, *offsets = hn_ret(c, 1), *ends = hn_ret(c, 2), *most = hn_ret(c, 3);
    token_rows t = {x->dims[0], x->dims[1], (size_t)x->dims[2] * hn_elem_bytes(x->dtype)};
    int32_t longest;
    if (t.length > 0 && t.batch > INT32_MAX / t.length)
        return hn_eval_fail(c, HONE_E_LIMIT, "there are more tokens than offsets can tell");
    HN_TRY(hn_want_elems(c, 1, (uint64_t)t.batch));
    int32_t *starts = hn_eval_scratch_n(c, (uint64_t)t.batch + 1, sizeof *starts);
    HN_TRY_PTR(starts);
    HN_TRY(sum_tokens(c, &t, starts, &longest));
    const int64_t dims[2] = {starts[t.batch], x->dims[2]};
    HN_TRY(hn_ret_alloc(c, 0, x->dtype, 2, dims, &y));
    for (int64_t b = 0; y && b < t.batch; b++)
        for (int32_t i = starts[b]; i < starts[b + 1]; i++)
            copy_token(&t, x, b * t.length + i - starts[b], y, i);
    if (offsets)
        fill_offsets(&t, starts, offsets->data);
    if (ends)
        memcpy(ends->data, starts, ((size_t)t.batch + 1) * sizeof *starts);
    if (most)
        memcpy(most->data, &longest, sizeof longest);
    return HONE_OK;
}
const hn_impl hn_impl_remove_padding[1] = {{.eval = eval_remove_padding}};

static hone_status eval_restore_padding(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *offsets = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    token_rows t = {offsets->dims[0], offsets->dims[1],
                    (size_t)x->dims[1] * hn_elem_bytes(x->dtype)};
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if ((uint64_t)x->dims[0] > offsets->n_elems)
        return hn_eval_fail(c, HONE_E_SHAPE, "%lld tokens, but offsets for %llu only",
                            (long long)x->dims[0], (unsigned long long)offsets->n_elems);
    memset(y->data, 0, (size_t)y->n_elems * hn_elem_bytes(y->dtype));
    for (int64_t i = 0; i < x->dims[0]; i++) {
        int32_t to = ((const int32_t *)offsets->data)[i];
        if (to < 0 || (uint64_t)to >= offsets->n_elems)
            return hn_eval_fail(c, HONE_E_INVALID, "token %lld has the offset %d of %llu",
                                (long long)i, to, (unsigned long long)offsets->n_elems);
        copy_token(&t, x, i, y, to);
    }
    return HONE_OK;
}
const hn_impl hn_impl_restore_padding[1] = {{.eval = eval_restore_padding}};

/* ---- positions ------------------------------------------------------------------------------- */

/* Distances share buckets: each of the small ones has its own, the others grow with the logarithm.
 */
typedef struct distance_buckets {
    int64_t n, max_distance;
    bool is_bidirectional;
} distance_buckets;

static int64_t distance_bucket(const distance_buckets *d, int64_t distance) {
    int64_t n = d->is_bidirectional ? d->n / 2 : d->n, first = 0, exact = n / 2;
    if (d->is_bidirectional && distance > 0)
        first = n;
    distance = d->is_bidirectional ? (distance < 0 ? -distance : distance) : HN_MAX(-distance, 0);
    if (distance < exact)
        return first + distance;
    float share = logf((float)distance / (float)exact) /
                  logf((float)d->max_distance / (float)exact) * (float)(n - exact);
    int64_t beyond = share > 0 ? (int64_t)fminf(share, (float)n) : 0;
    return first + HN_MIN(exact + beyond, n - 1);
}

static hone_status eval_relative_position_bias(hn_eval *c) {
    const hn_array *table = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const hn_infer *node = hn_eval_node(c);
    distance_buckets d = {.n = table->dims[0],
                          .max_distance = hn_attr_i(node, "max_distance", 1),
                          .is_bidirectional = hn_attr_i(node, "is_bidirectional", 0) != 0};
    int64_t least = d.is_bidirectional ? 4 : 2;
    const float *values = hn_wide_f32(c, table);
    HN_TRY_PTR(values);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (d.n < least || d.max_distance < 1)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "there must be %lld buckets or more, and max_distance positive",
                            (long long)least);
    int64_t keys = y->dims[3], plane = y->dims[2] * keys;
    for (int64_t i = 0; i < (int64_t)y->n_elems && !hn_spent(16); i++) {
        int64_t bucket = distance_bucket(&d, i % keys - i % plane / keys);
        hn_store_f32(y, (uint64_t)i, 1, &values[i / plane * d.n + bucket]);
    }
    return HONE_OK;
}
const hn_impl hn_impl_relative_position_bias[1] = {{.eval = eval_relative_position_bias}};

/* ---- gated positions ------------------------------------------------------------------------- */

typedef struct position_gate {
    int64_t n_heads, size, width; /* width: of the gates' projection */
    const float *query, *query_bias, *weight, *bias, *eco;
} position_gate;

static float gate_half(const position_gate *g, const float *query, const float *query_bias,
                       int64_t begin) {
    float sum = 0;
    for (int64_t k = begin; k < begin + g->width / 2; k++) {
        sum += g->bias[k];
        for (int64_t e = 0; e < g->size; e++)
            sum += (query[e] + query_bias[e]) * g->weight[e * g->width + k];
    }
    return 1 / (1 + expf(-sum));
}

/* What the biases of one query of one head are multiplied by. */
static float position_factor(const position_gate *g, int64_t row, int64_t h) {
    const float *query = g->query + (row * g->n_heads + h) * g->size,
                *query_bias = g->query_bias + h * g->size;
    float u = gate_half(g, query, query_bias, 0), r = gate_half(g, query, query_bias, g->width / 2);
    return u * (r * g->eco[h] - 1) + 2;
}

static hone_status read_position_gate(hn_eval *c, position_gate *g, const hn_array *y) {
    const hn_array *query = hn_arg(c, 0), *weight = hn_arg(c, 3);
    g->n_heads = y->dims[1];
    int64_t hidden = query->rank > 0 ? query->dims[query->rank - 1] : 0;
    g->size = hidden / g->n_heads;
    g->width = weight->rank == 2 ? weight->dims[1] : 0;
    if (g->width % 2 != 0 || hidden % g->n_heads != 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "the weight must be [size of a head, even]");
    HN_TRY(hn_want_elems(c, 1, (uint64_t)hidden));
    HN_TRY(hn_want_dims(c, 2, 4, (const int64_t[]){1, g->n_heads, y->dims[2], y->dims[3]}));
    HN_TRY(hn_want_dims(c, 3, 2, (const int64_t[]){g->size, g->width}));
    HN_TRY(hn_want_elems(c, 4, (uint64_t)g->width));
    HN_TRY(hn_want_elems(c, 5, (uint64_t)g->n_heads));
    HN_TRY_PTR(hn_arg_f32s(c, 0, &g->query) && hn_arg_f32s(c, 1, &g->query_bias) &&
               hn_arg_f32s(c, 3, &g->weight) && hn_arg_f32s(c, 4, &g->bias) &&
               hn_arg_f32s(c, 5, &g->eco));
    return HONE_OK;
}

/* The row of the query that stands at each place [batch, length]; -1 is padding. */
static hone_status find_query_rows(hn_eval *c, const hn_array *y, int64_t **out) {
    const hn_array *query = hn_arg(c, 0), *offsets = hn_arg(c, 6);
    int64_t n = y->dims[0] * y->dims[2], n_rows = query->rank > 0 ? query->dims[0] : 0;
    *out = hn_eval_scratch_n(c, (uint64_t)n, sizeof **out);
    HN_TRY_PTR(*out);
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = offsets ? -1 : i;
    if (offsets && (query->rank != 2 || n_rows > n))
        return hn_eval_fail(c, HONE_E_SHAPE, "tokens without padding must be [tokens, hidden]");
    for (int64_t i = 0; offsets && i < n_rows; i++) {
        int64_t to = ((const int32_t *)offsets->data)[i];
        if (to < 0 || to >= n)
            return hn_eval_fail(c, HONE_E_INVALID, "token %lld has the offset %lld of %lld",
                                (long long)i, (long long)to, (long long)n);
        (*out)[to] = i;
    }
    return HONE_OK;
}

static hone_status eval_gated_relative_position_bias(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    position_gate g;
    int64_t *rows;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(read_position_gate(c, &g, y));
    HN_TRY(find_query_rows(c, y, &rows));
    int64_t n_queries = y->dims[2], n_keys = y->dims[3];
    const float *positions = hn_wide_f32(c, hn_arg(c, 2));
    float *line = hn_eval_scratch_n(c, (uint64_t)n_keys, sizeof *line);
    HN_TRY_PTR(positions && line);
    for (int64_t i = 0; i < y->dims[0] * g.n_heads * n_queries && !hn_spent(8 * (uint64_t)n_keys);
         i++) {
        int64_t q = i % n_queries, h = i / n_queries % g.n_heads, b = i / n_queries / g.n_heads,
                row = rows[b * n_queries + q];
        float factor = row < 0 ? 0 : position_factor(&g, row, h);
        for (int64_t k = 0; k < n_keys; k++)
            line[k] = factor * positions[(h * n_queries + q) * n_keys + k];
        hn_store_f32(y, (uint64_t)(i * n_keys), (uint64_t)n_keys, line);
    }
    return HONE_OK;
}
const hn_impl hn_impl_gated_relative_position_bias[1] = {
    {.eval = eval_gated_relative_position_bias}};

/* ---- repetitions ----------------------------------------------------------------------------- */

/* Tokens that would end a row of n tokens that is there already get no chance. */
static hone_status block_repeats(hn_eval *c, const int64_t *ids, int64_t length, int64_t n,
                                 int64_t n_words, float *scores) {
    const int64_t *tail = ids + length - (n - 1);
    for (int64_t i = 0; i + n <= length; i++) {
        if (memcmp(ids + i, tail, (size_t)(n - 1) * sizeof *ids) != 0)
            continue;
        int64_t word = ids[i + n - 1];
        if (word < 0 || word >= n_words)
            return hn_eval_fail(c, HONE_E_INVALID, "token %lld is none of the %lld words",
                                (long long)word, (long long)n_words);
        scores[word] = -INFINITY;
    }
    return HONE_OK;
}

static hone_status eval_ngram_repeat_block(hn_eval *c) {
    const hn_array *ids = hn_arg(c, 0), *scores = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int64_t n = hn_attr_i(hn_eval_node(c), "ngram_size", 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (ids->rank != 2 || scores->rank != 2 || ids->dims[0] != scores->dims[0] || n < 1)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "input_ids and scores must be [batch, ...], and ngram_size positive");
    memcpy(y->data, scores->data, (size_t)y->n_elems * sizeof(float));
    int64_t length = ids->dims[1], n_words = scores->dims[1];
    for (int64_t b = 0; n <= length && b < ids->dims[0]; b++)
        HN_TRY(block_repeats(c, (const int64_t *)ids->data + b * length, length, n, n_words,
                             (float *)y->data + b * n_words));
    return HONE_OK;
}
const hn_impl hn_impl_ngram_repeat_block[1] = {{.eval = eval_ngram_repeat_block}};
