/* Inference rules of scaled dot-product attention and rotary embeddings. */
#include "ops/infer/infer_int.h"

#include "ops/infer/spatial.h"

/* ---- Attention ------------------------------------------------------------------------------- */

/* Inputs have rank 4, [batch, heads, length, size], or rank 3 with packed heads: [batch, length,
 * width]. */
enum {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_PAST_KEY = 4,
    ATTENTION_PAST_VALUE = 5,
    ATTENTION_KV_LENGTHS = 6
};

typedef struct attention_sizes {
    hn_dim batch, q_heads, kv_heads, q_len, kv_len, past_len, head, v_head;
    hn_dim out_width; /* packed: of all heads together */
} attention_sizes;

static const attention_sizes no_attention_sizes = {
    .batch = HN_DIM_UNKNOWN,
    .q_heads = HN_DIM_UNKNOWN,
    .kv_heads = HN_DIM_UNKNOWN,
    .q_len = HN_DIM_UNKNOWN,
    .kv_len = HN_DIM_UNKNOWN,
    .past_len = HN_DIM_UNKNOWN,
    .head = HN_DIM_UNKNOWN,
    .v_head = HN_DIM_UNKNOWN,
    .out_width = HN_DIM_UNKNOWN,
};

/* The width of one head in a packed axis, merged into *size. */
static hone_status unpack_heads(hn_infer *c, uint32_t input, int64_t n_heads, hn_dim *size) {
    hn_dim packed = hn_in_dim(c, input, 2);
    if (hn_dim_is_known(packed) && packed % n_heads != 0)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "input %u is %s, whose last dimension does not hold "
                             "%lld heads of equal size",
                             input, hn_in_text(c, input), (long long)n_heads);
    return hn_merge_dim(c, "the size of a head", *size,
                        hn_dim_floor_div(hn_infer_syms(c), packed, n_heads), size);
}

static hone_status meet_packed(hn_infer *c, attention_sizes *s) {
    if (!hn_has_attr(c, "q_num_heads") || !hn_has_attr(c, "kv_num_heads"))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "inputs of rank 3 need the attributes q_num_heads and kv_num_heads");
    s->q_heads = hn_attr_i(c, "q_num_heads", 0);
    int64_t kv_heads = hn_attr_i(c, "kv_num_heads", 0);
    if (s->q_heads < 1 || kv_heads < 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "q_num_heads and kv_num_heads must be positive");
    HN_TRY(hn_merge_dim(c, "the number of heads, by kv_num_heads and by the past,", kv_heads,
                        s->kv_heads, &s->kv_heads));
    hn_dim any_q = HN_DIM_UNKNOWN, any_k = HN_DIM_UNKNOWN, any_v = HN_DIM_UNKNOWN;
    HN_TRY(hn_meet_dims(c, ATTENTION_Q, 3, (hn_dim *const[]){&s->batch, &s->q_len, &any_q}));
    HN_TRY(hn_meet_dims(c, ATTENTION_K, 3, (hn_dim *const[]){&s->batch, &s->kv_len, &any_k}));
    HN_TRY(hn_meet_dims(c, ATTENTION_V, 3, (hn_dim *const[]){&s->batch, &s->kv_len, &any_v}));
    HN_TRY(unpack_heads(c, ATTENTION_Q, s->q_heads, &s->head));
    HN_TRY(unpack_heads(c, ATTENTION_K, s->kv_heads, &s->head));
    HN_TRY(unpack_heads(c, ATTENTION_V, s->kv_heads, &s->v_head));
    hn_syms *syms = hn_infer_syms(c);
    bool is_even = s->q_heads % s->kv_heads == 0; /* then the result contains no quotient */
    s->out_width = is_even && any_v != HN_DIM_UNKNOWN
                       ? hn_dim_mul_i(syms, any_v, s->q_heads / s->kv_heads)
                       : hn_dim_mul_i(syms, s->v_head, s->q_heads);
    return HONE_OK;
}

static hone_status meet_unpacked(hn_infer *c, attention_sizes *s) {
    HN_TRY(hn_meet_dims(c, ATTENTION_Q, 4,
                        (hn_dim *const[]){&s->batch, &s->q_heads, &s->q_len, &s->head}));
    HN_TRY(hn_meet_dims(c, ATTENTION_K, 4,
                        (hn_dim *const[]){&s->batch, &s->kv_heads, &s->kv_len, &s->head}));
    return hn_meet_dims(c, ATTENTION_V, 4,
                        (hn_dim *const[]){&s->batch, &s->kv_heads, &s->kv_len, &s->v_head});
}

static hone_status check_shared_heads(hn_infer *c, const attention_sizes *s) {
    if (!hn_dim_is_known(s->q_heads) || !hn_dim_is_known(s->kv_heads) ||
        s->q_heads == s->kv_heads || (s->kv_heads > 0 && s->q_heads % s->kv_heads == 0))
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "%lld query heads cannot share %lld key and value heads evenly",
                         (long long)s->q_heads, (long long)s->kv_heads);
}

/* -1 when no rank is known. */
static hone_status attention_rank(hn_infer *c, int32_t *rank) {
    *rank = -1;
    for (uint32_t i = ATTENTION_Q; i <= ATTENTION_V; i++) {
        HN_TRY(hn_expect_rank(c, i, 3, 4));
        if (*rank >= 0)
            HN_TRY(hn_expect_rank(c, i, *rank, *rank));
        *rank = HN_MAX(*rank, hn_in_rank(c, i));
    }
    return HONE_OK;
}

/* Caches first: their dimensions often are plain symbols where the others are quotients. */
static hone_status read_attention(hn_infer *c, int32_t rank, attention_sizes *s) {
    *s = no_attention_sizes;
    HN_TRY(hn_meet_dims(c, ATTENTION_PAST_KEY, 4,
                        (hn_dim *const[]){&s->batch, &s->kv_heads, &s->past_len, &s->head}));
    HN_TRY(hn_meet_dims(c, ATTENTION_PAST_VALUE, 4,
                        (hn_dim *const[]){&s->batch, &s->kv_heads, &s->past_len, &s->v_head}));
    if (!hn_has_input(c, ATTENTION_PAST_KEY) && !hn_has_input(c, ATTENTION_PAST_VALUE))
        s->past_len = 0;
    HN_TRY(rank == 3 ? meet_packed(c, s) : meet_unpacked(c, s));
    HN_TRY(check_shared_heads(c, s));
    return hn_meet_dims(c, ATTENTION_KV_LENGTHS, 1, (hn_dim *const[]){&s->batch});
}

/* Combinations that version 25 excludes. */
static hone_status check_attention_25(hn_infer *c, int32_t rank) {
    bool has_past = hn_has_input(c, ATTENTION_PAST_KEY), has_present = hn_has_output(c, 1);
    const char *wrong = NULL;
    if (hn_attr_i(c, "left_window_size", -1) < -1 || hn_attr_i(c, "right_window_size", -1) < -1)
        wrong = "left_window_size and right_window_size must be -1 or more";
    else if (has_present != hn_has_output(c, 2))
        wrong = "present_key and present_value must be requested together";
    else if (hn_has_input(c, ATTENTION_KV_LENGTHS) && (has_past || has_present))
        wrong = "nonpad_kv_seqlen cannot be combined with past or present keys and values";
    else if (rank == 4 && (hn_has_attr(c, "q_num_heads") || hn_has_attr(c, "kv_num_heads")))
        wrong = "q_num_heads and kv_num_heads must not be given with inputs of rank 4";
    return wrong ? hn_infer_fail(c, HONE_E_SHAPE, "%s", wrong) : HONE_OK;
}

hone_status hn_infer_attention(hn_infer *c) {
    int32_t rank;
    if (hn_has_input(c, ATTENTION_PAST_KEY) != hn_has_input(c, ATTENTION_PAST_VALUE))
        return hn_infer_fail(c, HONE_E_INVALID, "past_key and past_value must be given together");
    attention_sizes s;
    HN_TRY(attention_rank(c, &rank));
    if (hn_infer_version(c) >= 25)
        HN_TRY(check_attention_25(c, rank));
    if (rank < 0)
        return HONE_OK;
    HN_TRY(read_attention(c, rank, &s));
    hn_dim total = hn_dim_add(hn_infer_syms(c), s.past_len, s.kv_len);
    const hn_dim packed[] = {s.batch, s.q_len, s.out_width};
    const hn_dim unpacked[] = {s.batch, s.q_heads, s.q_len, s.v_head};
    HN_TRY(hn_out_shape(c, 0, rank, rank == 3 ? packed : unpacked));
    HN_TRY(hn_out_shape(c, 1, 4, (hn_dim[]){s.batch, s.kv_heads, total, s.head}));
    HN_TRY(hn_out_shape(c, 2, 4, (hn_dim[]){s.batch, s.kv_heads, total, s.v_head}));
    return hn_out_shape(c, 3, 4, (hn_dim[]){s.batch, s.q_heads, s.q_len, total});
}

/* Each query is multiplied with every key, and each output element sums over every value. */
bool hn_macs_attention(const hn_infer *c, uint64_t *macs) {
    const hn_shape *q = hn_in_shape(c, ATTENTION_Q), *y = hn_out_shape_known(c, 0);
    hn_dim past = hn_has_input(c, ATTENTION_PAST_KEY) ? hn_in_dim(c, ATTENTION_PAST_KEY, 2) : 0;
    hn_dim keys = hn_in_dim(c, ATTENTION_K, hn_in_rank(c, ATTENTION_K) == 3 ? 1 : 2), total;
    uint64_t scores = 1, sums = 1;
    if (past < 0 || keys < 0 || !hn_add_i64(past, keys, &total))
        return false;
    if (!q || !y || !hn_macs_times(&scores, q->rank, q->dims) ||
        !hn_macs_times(&sums, y->rank, y->dims) || !hn_add_u64(scores, sums, macs))
        return false;
    return hn_macs_times(macs, 1, &total);
}

/* ---- FlexAttention --------------------------------------------------------------------------- */

static hone_status flex_precision(hn_infer *c, hn_dtype *out) {
    hn_dtype elem = hn_in_elem(c, 0);
    int64_t t = hn_attr_i(c, "softmax_precision", elem == HN_F64 ? HN_F64 : HN_F32);
    *out = (hn_dtype)t;
    if (t == HN_F32 || t == HN_F16 || t == HN_BF16 || t == HN_F64)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_TYPE,
                         "softmax_precision is %lld, but must be a floating-point type",
                         (long long)t);
}

/* A body maps the matrix of scores, or of probabilities, to one of the same type. */
static hone_status infer_flex_body(hn_infer *c, const char *attr, const hn_type *scores) {
    const hn_type *const *out;
    uint32_t n_out;
    if (!hn_has_attr(c, attr))
        return HONE_OK;
    HN_TRY(hn_infer_body(c, attr, 1, &scores, &n_out, &out));
    if (out && n_out != 1)
        return hn_infer_fail(c, HONE_E_INVALID, "%s has %u outputs, but must have one", attr,
                             n_out);
    if (n_out == 1 && out[0] && out[0]->elem && out[0]->elem != scores->elem)
        return hn_infer_fail(c, HONE_E_TYPE, "%s gives %s, but must give %s", attr,
                             hn_dtype_name(out[0]->elem), hn_dtype_name(scores->elem));
    return HONE_OK;
}

hone_status hn_infer_flex_attention(hn_infer *c) {
    attention_sizes s = no_attention_sizes;
    hn_dtype precision;
    HN_TRY(meet_unpacked(c, &s));
    HN_TRY(check_shared_heads(c, &s));
    HN_TRY(flex_precision(c, &precision));
    const hn_type *scores = hn_type_tensor(hn_infer_arena(c), precision, 4,
                                           (hn_dim[]){s.batch, s.q_heads, s.q_len, s.kv_len});
    HN_TRY_PTR(scores);
    HN_TRY(infer_flex_body(c, "score_mod", scores));
    HN_TRY(infer_flex_body(c, "prob_mod", scores));
    return hn_out_shape(c, 0, 4, (hn_dim[]){s.batch, s.q_heads, s.q_len, s.v_head});
}

/* ---- rotary embedding ------------------------------------------------------------------------ */

hone_status hn_infer_rotary_embedding(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    /* com.microsoft derives the heads from the caches */
    bool is_standard = hn_infer_version(c) >= 23;
    if (!x)
        return HONE_OK;
    HN_TRY(hn_expect_rank(c, 0, 3, 4));
    if (is_standard && x->rank == 3 && !hn_has_attr(c, "num_heads"))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "the input %s of rank 3 needs the attribute num_heads",
                             hn_in_text(c, 0));
    return hn_out_shape(c, 0, x->rank, x->dims);
}
