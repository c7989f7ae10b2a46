/* Inference rules of the attention operators of com.microsoft with a batch axis: packed weights,
 * separate Q K V, grouped heads. */
#include "ops/infer/follow.h"
#include "ops/infer/rules/ms_heads.h"
#include "ops/infer/spatial.h"

/* ---- Attention and its variants: the projections are part of the operator -------------------- */

typedef struct packed_form {
    const char *op;
    uint32_t weights, bias, past;
} packed_form;

static const packed_form *find_packed_form(const hn_infer *c) {
    static const packed_form forms[] = {
        {"Attention", 1, 2, 4},
        {"DecoderMaskedSelfAttention", 1, 2, 4},
        {"QAttention", 1, 2, 8},
        {"QOrderedAttention", 7, 13, HN_NO_INPUT}, /* weights and bias of V alone */
    };
    for (size_t i = 0; i < HN_COUNT(forms) - 1; i++)
        if (strcmp(forms[i].op, hn_infer_op(c)) == 0)
            return &forms[i];
    return &forms[HN_COUNT(forms) - 1];
}

/* Keys and values stacked, with the past before the new ones: [2, batch, heads, past + new,
 * head]. */
static hone_status packed_present(hn_infer *c, uint32_t past, hn_dim head) {
    hn_dim dims[5] = {2, hn_in_dim(c, 0, 0), hn_attr_i(c, "num_heads", 0), hn_in_dim(c, 0, 1),
                      head};
    HN_TRY(hn_expect_rank(c, past, 5, 5));
    if (hn_has_input(c, past) && hn_attr_i(c, "past_present_share_buffer", 0))
        return hn_out_shape_of(c, 1, past);
    if (hn_has_input(c, past)) {
        dims[3] = hn_dim_add(hn_infer_syms(c), dims[3], hn_in_dim(c, past, 3));
        HN_TRY(hn_merge_dim(c, "the batch of past", dims[1], hn_in_dim(c, past, 1), &dims[1]));
        HN_TRY(hn_merge_dim(c, "the number of heads in past", dims[2], hn_in_dim(c, past, 2),
                            &dims[2]));
        HN_TRY(hn_merge_dim(c, "the head size in past", dims[4], hn_in_dim(c, past, 4), &dims[4]));
    }
    return hn_out_shape(c, 1, 5, dims);
}

hone_status hn_infer_ms_attention(hn_infer *c) {
    const packed_form *form = find_packed_form(c);
    int64_t n_heads;
    hn_dim value_width, head;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    if (form->past == HN_NO_INPUT)
        HN_TRY(hn_merge_dim(c, "the width of V", hn_in_dim(c, form->weights, 1),
                            hn_in_dim(c, form->bias, 0), &value_width));
    else
        HN_TRY(hn_ms_value_width(c, form->weights, form->bias, &value_width));
    HN_TRY(hn_ms_divide(c, "the width of V", value_width, n_heads, &head));
    const hn_dim dims[3] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1), value_width};
    HN_TRY(hn_out_shape(c, 0, 3, dims));
    return packed_present(c, form->past, head);
}

bool hn_macs_ms_attention(const hn_infer *c, uint64_t *n) {
    const packed_form *form = find_packed_form(c);
    hn_dim batch = hn_in_dim(c, 0, 0), queries = hn_in_dim(c, 0, 1), keys = queries, past = 0;
    const hn_shape *out = hn_out_shape_known(c, 0);
    if (hn_has_input(c, form->past))
        past = hn_in_dim(c, form->past, 3);
    if (!hn_dim_is_known(past) || !hn_dim_is_known(keys) || !hn_add_i64(keys, past, &keys) ||
        !out || out->rank != 3)
        return false;
    hn_dim packed = hn_in_dim(c, form->weights, 1), value_width = out->dims[2];
    bool is_third = form->past == HN_NO_INPUT; /* the weights are those of V only */
    if (!hn_dim_is_known(packed) || (is_third && !hn_mul_i64(packed, 3, &packed)))
        return false;
    uint64_t projections = 1, products;
    const hn_dim factors[4] = {batch, queries, hn_in_dim(c, 0, 2), packed};
    hn_dim key_width = packed > value_width ? (packed - value_width) / 2 : 0;
    return hn_macs_times(&projections, 4, factors) &&
           hn_ms_attention_macs(batch, queries, keys, key_width, value_width, &products) &&
           hn_add_u64(projections, products, n);
}

/* ---- MultiHeadAttention: Q, K and V come projected ------------------------------------------- */

/* The sizes that the inputs give, in whichever way they are packed. */
typedef struct head_view {
    hn_dim batch, n_queries, n_keys; /* n_keys: new ones, without the past */
    hn_dim width;                    /* of the output: all heads */
    hn_dim head;                     /* of keys */
} head_view;

static bool is_masked_decoder(const hn_infer *c) {
    return strcmp(hn_infer_op(c), "DecoderMaskedMultiHeadAttention") == 0;
}

/* The query holds Q, K and V: [batch, seq, heads, 3, head], or [batch, seq, 3 * hidden] for the
 * masked decoder. */
static hone_status view_packed_qkv(hn_infer *c, int64_t n_heads, head_view *v) {
    v->n_keys = v->n_queries;
    if (hn_in_rank(c, 0) == 5) {
        v->head = hn_in_dim(c, 0, 4);
        v->width = hn_dim_mul(hn_infer_syms(c), hn_in_dim(c, 0, 2), v->head);
        return HONE_OK;
    }
    HN_TRY(hn_ms_divide(c, "the width of the packed query", hn_in_dim(c, 0, 2), 3, &v->width));
    return hn_ms_divide(c, "the width of the query", v->width, n_heads, &v->head);
}

/* Keys and values: [batch, seq, width], or [batch, heads, seq, head]; or both in `key`, [batch,
 * seq, heads, 2, head]. */
static hone_status view_separate(hn_infer *c, int64_t n_heads, head_view *v) {
    hn_syms *syms = hn_infer_syms(c);
    int32_t key_rank = hn_in_rank(c, 1), value_rank = hn_in_rank(c, 2);
    v->n_keys = key_rank < 0 ? HN_DIM_UNKNOWN : hn_in_dim(c, 1, key_rank == 4 ? 2 : 1);
    if (key_rank == 4 || key_rank == 5)
        v->head = hn_in_dim(c, 1, -1);
    else
        HN_TRY(hn_ms_divide(c, "the width of the query", hn_in_dim(c, 0, 2), n_heads, &v->head));
    if (value_rank == 3)
        v->width = hn_in_dim(c, 2, 2);
    else if (value_rank == 4)
        v->width = hn_dim_mul(syms, hn_in_dim(c, 2, 1), hn_in_dim(c, 2, 3));
    else
        v->width = key_rank == 5 ? hn_in_dim(c, 0, 2) : HN_DIM_UNKNOWN;
    return HONE_OK;
}

static hone_status view_heads(hn_infer *c, int64_t n_heads, head_view *v) {
    int32_t rank = hn_in_rank(c, 0);
    if (rank >= 0 && rank != 3 && rank != 5)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the query is %s, but its rank must be 3, or 5 when keys and values are packed in it",
            hn_in_text(c, 0));
    HN_TRY(hn_expect_rank(c, 1, 3, 5));
    HN_TRY(hn_expect_rank(c, 2, 3, 4));
    *v = (head_view){hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1), HN_DIM_UNKNOWN, HN_DIM_UNKNOWN,
                     HN_DIM_UNKNOWN};
    if (rank == 5 || (is_masked_decoder(c) && !hn_has_input(c, 1) && !hn_has_input(c, 2)))
        return view_packed_qkv(c, n_heads, v);
    return view_separate(c, n_heads, v);
}

/* True when the caches are buffers of the full length, so that the present has the size of the
 * past. */
static bool shares_cache(const hn_infer *c, uint32_t past) {
    if (!hn_has_input(c, past))
        return false;
    return is_masked_decoder(c) ? hn_attr_i(c, "past_present_share_buffer", 0) != 0
                                : hn_has_input(c, 8);
}

hone_status hn_infer_ms_multi_head_attention(hn_infer *c) {
    uint32_t past = is_masked_decoder(c) ? 5 : 6;
    int64_t n_heads;
    head_view v;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    HN_TRY(view_heads(c, n_heads, &v));
    HN_TRY(hn_expect_rank(c, past, 4, 4));
    HN_TRY(hn_expect_rank(c, past + 1, 4, 4));
    const hn_dim out[3] = {v.batch, v.n_queries, v.width};
    HN_TRY(hn_out_shape(c, 0, 3, out));
    hn_dim total = v.n_keys, value_head;
    if (shares_cache(c, past))
        total = hn_in_dim(c, past, 2);
    else if (hn_has_input(c, past))
        total = hn_dim_add(hn_infer_syms(c), v.n_keys, hn_in_dim(c, past, 2));
    HN_TRY(hn_ms_divide(c, "the width of V", v.width, n_heads, &value_head));
    const hn_dim keys[4] = {v.batch, n_heads, total, v.head},
                 values[4] = {v.batch, n_heads, total, value_head};
    const hn_dim scores[4] = {v.batch, n_heads, v.n_queries,
                              shares_cache(c, past) ? HN_DIM_UNKNOWN : total};
    HN_TRY(hn_out_shape(c, 1, 4, keys));
    HN_TRY(hn_out_shape(c, 2, 4, values));
    return hn_out_shape(c, 3, 4, scores);
}

/* ---- GroupQueryAttention and SparseAttention: query heads share heads of keys and values ----- */

typedef struct group_view {
    int64_t n_heads, n_kv_heads;
    hn_dim batch, n_queries, n_keys, head;
    hn_dim width; /* of the output: all heads */
} group_view;

static hone_status view_groups(hn_infer *c, group_view *v) {
    HN_TRY(hn_ms_positive(c, "num_heads", &v->n_heads));
    HN_TRY(hn_ms_positive(c, "kv_num_heads", &v->n_kv_heads));
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_expect_rank(c, 1, 3, 3));
    HN_TRY(hn_expect_rank(c, 2, 3, 3));
    bool is_packed = !hn_has_input(c, 1);
    int64_t n_packed = v->n_heads;
    if (v->n_heads % v->n_kv_heads != 0)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "num_heads is %lld, which is not a multiple of kv_num_heads, %lld",
                             (long long)v->n_heads, (long long)v->n_kv_heads);
    if (is_packed && (!hn_add_i64(n_packed, v->n_kv_heads, &n_packed) ||
                      !hn_add_i64(n_packed, v->n_kv_heads, &n_packed)))
        return hn_infer_fail(c, HONE_E_LIMIT, "num_heads and kv_num_heads are too large");
    v->batch = hn_in_dim(c, 0, 0);
    v->n_queries = hn_in_dim(c, 0, 1);
    v->n_keys = is_packed ? v->n_queries : hn_in_dim(c, 1, 1);
    v->width = hn_in_dim(c, 0, 2);
    HN_TRY(hn_ms_divide(c, "the width of the query", v->width, n_packed, &v->head));
    if (is_packed)
        v->width = hn_dim_mul_i(hn_infer_syms(c), v->head, v->n_heads);
    return HONE_OK;
}

/* `total` is the number of keys after this step; caches never shrink. Quantized caches have a
 * different head size than the query. */
static hone_status group_present(hn_infer *c, const group_view *v, hn_dim total, bool keeps_size) {
    hn_dim dims[4] = {v->batch, v->n_kv_heads, total, v->head};
    bool has_past = hn_has_input(c, 3);
    if (has_past != hn_has_input(c, 4))
        return hn_infer_fail(c, HONE_E_INVALID, "%s is missing, but %s is there: give both or none",
                             has_past ? "past_value" : "past_key",
                             has_past ? "past_key" : "past_value");
    HN_TRY(hn_expect_rank(c, 3, 4, 4));
    HN_TRY(hn_expect_rank(c, 4, 4, 4));
    for (uint32_t i = 1; i <= 2; i++) {
        hn_dtype elem = hn_in_elem(c, has_past ? i + 2 : 0);
        hn_dim past = hn_in_dim(c, i + 2, 2);
        if (has_past) {
            dims[2] = keeps_size ? past : hn_dim_max(hn_infer_syms(c), past, total);
            dims[3] = hn_in_dim(c, i + 2, 3);
        } else if (total == HN_DIM_UNKNOWN) {
            dims[2] = v->n_keys;
        }
        HN_TRY(hn_out_tensor(c, i, elem, 4, dims));
    }
    return HONE_OK;
}

static hone_status grouped_out(hn_infer *c, const group_view *v) {
    const hn_dim out[3] = {v->batch, v->n_queries, v->width};
    return hn_out_shape(c, 0, 3, out);
}

hone_status hn_infer_group_query_attention(hn_infer *c) {
    group_view v;
    HN_TRY(view_groups(c, &v));
    HN_TRY(grouped_out(c, &v));
    hn_dim total = hn_ms_in_dim(c, 6);
    HN_TRY(group_present(c, &v, total, hn_attr_i(c, "sliding_window_cache", 0) == 1));
    bool wants_scores = hn_attr_i(c, "qk_output", 0) != 0;
    if (wants_scores != hn_has_output(c, 3))
        return hn_infer_fail(c, HONE_E_INVALID,
                             wants_scores
                                 ? "qk_output asks for scores, but there is no output 3"
                                 : "output 3 is there, but qk_output does not say what it is");
    const hn_dim scores[4] = {v.batch, v.n_heads, v.n_queries, total};
    return hn_out_shape(c, 3, 4, scores);
}

hone_status hn_infer_sparse_attention(hn_infer *c) {
    group_view v;
    HN_TRY(view_groups(c, &v));
    HN_TRY(grouped_out(c, &v));
    return group_present(c, &v, HN_DIM_UNKNOWN, true);
}

/* Query heads times keys, for all operators with projected Q, K and V. The present cache, if there
 * is one, gives the number of keys. */
bool hn_macs_multi_head_attention(const hn_infer *c, uint64_t *n) {
    const hn_shape *out = hn_out_shape_known(c, 0), *present = hn_out_shape_known(c, 1);
    int32_t key_rank = hn_in_rank(c, 1);
    if (!out || out->rank != 3)
        return false;
    hn_dim keys = !hn_has_input(c, 1) ? out->dims[1] : hn_in_dim(c, 1, key_rank == 4 ? 2 : 1);
    if (present && present->rank == 4)
        keys = present->dims[2];
    return hn_ms_attention_macs(out->dims[0], out->dims[1], keys, out->dims[2], out->dims[2], n);
}

/* ---- DecoderAttention ------------------------------------------------------------------------ */

/* The sequence axis is first: [seq, batch, hidden]. The length of the caches depends on flags known
 * at run time only. */
hone_status hn_infer_decoder_attention(hn_infer *c) {
    int64_t n_heads;
    hn_dim head;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_ms_divide(c, "the width of the query", hn_in_dim(c, 0, 2), n_heads, &head));
    HN_TRY(hn_out_same(c, 0, 0));
    const hn_dim cache[4] = {hn_in_dim(c, 0, 1), n_heads, HN_DIM_UNKNOWN, head};
    HN_TRY(hn_out_shape(c, 1, 4, cache));
    return hn_out_shape(c, 2, 4, cache);
}
