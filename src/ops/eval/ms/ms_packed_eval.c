/* Attention over sequences whose tokens stand one after the other without padding, computed. */
#include "ops/eval/ms/ms_heads_eval.h"

#include <math.h>

/* ---- sequences ------------------------------------------------------------------------------- */

/* One sequence: its part of the biases. */
typedef struct sequence_sight {
    hn_score_bias bias;
    int64_t sequence;
} sequence_sight;

static hn_key_span see_sequence(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                                float *scores) {
    const sequence_sight *s = ctx;
    (void)b;
    hn_add_score_bias(&s->bias, s->sequence, h, i, n, scores);
    return (hn_key_span){0, n};
}

static hone_status check_starts(hn_eval *c, const hn_token_args *args, int64_t n_tokens) {
    const hn_array *offsets = hn_arg(c, args->offsets);
    if (offsets->rank != 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "token offsets must be [sequences, length]");
    HN_TRY(hn_want_elems(c, args->starts, (uint64_t)offsets->dims[0] + 1));
    const int32_t *starts = hn_arg(c, args->starts)->data;
    for (int64_t s = 0; s < offsets->dims[0]; s++)
        if (starts[s + 1] < starts[s] || starts[s + 1] > starts[s] + offsets->dims[1])
            return hn_eval_fail(
                c, HONE_E_INVALID, "sequence %lld goes from token %d to %d, but has room for %lld",
                (long long)s, starts[s], starts[s + 1], (long long)offsets->dims[1]);
    if (starts[0] == 0 && starts[offsets->dims[0]] == n_tokens)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_INVALID, "the sequences must go from 0 to the %lld tokens",
                        (long long)n_tokens);
}

/* The biases of all sequences; batch and length are those with padding. */
static hone_status read_sequence_bias(hn_eval *c, const hn_token_args *args, const hn_heads *a,
                                      hn_score_bias *out) {
    const hn_array *offsets = hn_arg(c, args->offsets);
    hn_heads padded = *a;
    padded.batch = offsets->dims[0];
    padded.n_queries = padded.n_keys = offsets->dims[1];
    return hn_read_score_bias(c, args->bias, &padded, out);
}

hone_status hn_attend_sequences(hn_eval *c, const hn_token_args *args, int64_t n_tokens,
                                hn_heads *a) {
    hn_array *y = hn_ret(c, 0);
    int64_t width = a->n_heads * a->value_size;
    sequence_sight sight = {.sequence = 0};
    if (!y)
        return HONE_OK;
    if (y->n_elems != (uint64_t)(n_tokens * width))
        return hn_eval_fail(c, HONE_E_SHAPE, "queries, keys and values do not fit each other");
    HN_TRY(check_starts(c, args, n_tokens));
    a->batch = 1;
    a->n_kv_heads = a->n_heads;
    a->scale = hn_heads_scale(c, a->key_size);
    a->see = see_sequence;
    a->see_ctx = &sight;
    HN_TRY(read_sequence_bias(c, args, a, &sight.bias));
    hn_key_reach reach = {0, 0};
    hn_key_sight keys = {.mask = {NULL, 0, sight.bias.head, sight.bias.row},
                         .reach = &reach,
                         .left = HN_REACH_ALL,
                         .right = HN_REACH_ALL,
                         .unseen = -HUGE_VALF};
    a->sight = &keys;
    float *out = hn_buffer_f32(c, y);
    HN_TRY_PTR(out);
    const int32_t *starts = hn_arg(c, args->starts)->data;
    const hn_heads all = *a;
    for (; sight.sequence < hn_arg(c, args->offsets)->dims[0]; sight.sequence++) {
        int64_t first = starts[sight.sequence];
        a->n_queries = a->n_keys = starts[sight.sequence + 1] - first;
        a->q.at = all.q.at + first * a->q.row;
        a->k.at = all.k.at + first * a->k.row;
        a->v.at = all.v.at + first * a->v.row;
        a->out = hn_rows_packed(out + first * width, a->n_queries, width, a->value_size);
        reach.n_keys = a->n_keys;
        keys.mask.at = sight.bias.at ? sight.bias.at + sight.sequence * sight.bias.batch : NULL;
        HN_TRY(hn_heads_attend(c, a));
    }
    hn_narrow_f32(y, out);
    return HONE_OK;
}

/* ---- PackedMultiHeadAttention ---------------------------------------------------------------- */

/* [tokens, heads, 3, size]: query, key and value of a head stand together. */
static hone_status find_interleaved(hn_eval *c, hn_heads *a) {
    const hn_array *x = hn_arg(c, 0);
    float *at = hn_arg_copy_f32(c, 0);
    HN_TRY_PTR(at);
    HN_TRY(hn_want_dims(c, 0, 4, (const int64_t[]){x->dims[0], a->n_heads, 3, x->dims[3]}));
    a->key_size = a->value_size = x->dims[3];
    hn_head_rows *to[3] = {&a->q, &a->k, &a->v};
    for (int i = 0; i < 3; i++)
        *to[i] =
            (hn_head_rows){at + i * a->key_size, 0, 3 * a->key_size, 3 * a->key_size * a->n_heads};
    return HONE_OK;
}

static hone_status find_token_rows(hn_eval *c, hn_heads *a) {
    const hn_array *query = hn_arg(c, 0), *key = hn_arg(c, 1), *value = hn_arg(c, 2);
    if (!key || !value || query->rank != 2 || value->rank != 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "query, key and value must be [tokens, width]");
    HN_TRY(hn_want_dims(c, 1, 2, query->dims));
    HN_TRY(hn_want_dims(c, 2, 2, (const int64_t[]){query->dims[0], value->dims[1]}));
    a->key_size = query->dims[1] / a->n_heads;
    a->value_size = value->dims[1] / a->n_heads;
    hn_head_rows *to[3] = {&a->q, &a->k, &a->v};
    for (uint32_t i = 0; i < 3; i++) {
        int64_t width = hn_arg(c, i)->dims[1];
        float *at = hn_arg_copy_f32(c, i);
        HN_TRY_PTR(at);
        if (width % a->n_heads != 0)
            return hn_eval_fail(c, HONE_E_SHAPE, "rows of %lld do not hold %lld heads",
                                (long long)width, (long long)a->n_heads);
        *to[i] = (hn_head_rows){at, 0, width / a->n_heads, width};
    }
    return HONE_OK;
}

/* Biases of all queries, then of all keys, then of all values. */
static hone_status add_token_bias(hn_eval *c, uint32_t arg, int64_t n_tokens, const hn_heads *a) {
    const hn_head_rows *rows[3] = {&a->q, &a->k, &a->v};
    const int64_t sizes[3] = {a->key_size, a->key_size, a->value_size};
    const float *bias;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)(a->n_heads * (2 * a->key_size + a->value_size))));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &bias));
    for (int i = 0; bias && i < 3; i++) {
        for (int64_t t = 0; t < n_tokens * a->n_heads; t++)
            for (int64_t e = 0; e < sizes[i]; e++)
                hn_row_at(rows[i], 0, t % a->n_heads, t / a->n_heads)[e] +=
                    bias[t % a->n_heads * sizes[i] + e];
        bias += a->n_heads * sizes[i];
    }
    return HONE_OK;
}

static hone_status eval_packed_multi_head_attention(hn_eval *c) {
    static const hn_token_args args = {.offsets = 4, .starts = 5, .bias = 6};
    const hn_array *query = hn_arg(c, 0);
    hn_heads a = {.n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1)};
    HN_TRY(query->rank == 4 ? find_interleaved(c, &a) : find_token_rows(c, &a));
    HN_TRY(add_token_bias(c, 3, query->dims[0], &a));
    return hn_attend_sequences(c, &args, query->dims[0], &a);
}
const hn_impl hn_impl_packed_multi_head_attention[1] = {{.eval = eval_packed_multi_head_attention}};
