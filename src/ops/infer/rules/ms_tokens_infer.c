/* Inference rules of com.microsoft around attention: packed and paged tokens, positions, padding,
 * search loops, and operators whose result shape is unknown before the run. */
#include "ops/infer/body.h"
#include "ops/infer/rules/ms_heads.h"

/* ---- tokens without a batch axis ------------------------------------------------------------- */

hone_status hn_infer_packed_attention(hn_infer *c) {
    hn_dim dims[2] = {hn_in_dim(c, 0, 0), HN_DIM_UNKNOWN};
    int32_t rank = hn_in_rank(c, 0);
    int64_t n_heads;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    if (strcmp(hn_infer_op(c), "PackedAttention") == 0) {
        HN_TRY(hn_expect_rank(c, 0, 2, 2));
        HN_TRY(hn_ms_value_width(c, 1, 2, &dims[1]));
    } else if (rank == 4) { /* [tokens, heads, 3, head] */
        dims[1] = hn_dim_mul(hn_infer_syms(c), hn_in_dim(c, 0, 1), hn_in_dim(c, 0, 3));
    } else {
        HN_TRY(hn_expect_rank(c, 0, 2, 2));
        HN_TRY(hn_expect_rank(c, 2, 2, 2));
        dims[1] = hn_in_dim(c, 2, 1);
    }
    return rank < 0 ? HONE_OK : hn_out_shape(c, 0, 2, dims);
}

/* The width of the output of paged attention. */
static hone_status paged_width(hn_infer *c, hn_dim *out) {
    int64_t n_heads, n_kv_heads, n_packed, value_head = hn_attr_i(c, "v_head_size", 0);
    hn_dim width = hn_in_dim(c, 0, 1), head;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    HN_TRY(hn_ms_positive(c, "kv_num_heads", &n_kv_heads));
    bool is_latent = hn_attr_is(c, "kv_cache_layout", "LATENT");
    *out = width;
    if (is_latent && value_head > 0) {
        HN_TRY(hn_ms_divide(c, "the width of the query", width, n_heads, &head));
        if (hn_dim_is_known(head) && value_head > head)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "v_head_size is %lld, but the head size is only %lld",
                                 (long long)value_head, (long long)head);
        *out = hn_dim_mul_i(hn_infer_syms(c), n_heads, value_head);
        return HONE_OK;
    }
    if (is_latent || hn_has_input(c, 2))
        return HONE_OK;
    if (!hn_add_i64(n_heads, n_kv_heads, &n_packed) || !hn_add_i64(n_packed, n_kv_heads, &n_packed))
        return hn_infer_fail(c, HONE_E_LIMIT, "num_heads and kv_num_heads are too large");
    HN_TRY(hn_ms_divide(c, "the width of the packed query", width, n_packed, &head));
    *out = hn_dim_mul_i(hn_infer_syms(c), head, n_heads);
    return HONE_OK;
}

hone_status hn_infer_paged_attention(hn_infer *c) {
    hn_dim dims[2] = {hn_in_dim(c, 0, 0), HN_DIM_UNKNOWN};
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_expect_rank(c, 3, 4, 4));
    HN_TRY(hn_expect_rank(c, 4, 4, 4));
    if (!hn_has_input(c, 4) && !hn_attr_is(c, "kv_cache_layout", "LATENT"))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "value_cache is missing; only the layout LATENT has none");
    HN_TRY(paged_width(c, &dims[1]));
    HN_TRY(hn_out_shape(c, 0, 2, dims));
    HN_TRY(hn_out_same(c, 1, 3));
    return hn_out_same(c, 2, 4);
}

hone_status hn_infer_longformer_attention(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    return hn_out_same(c, 0, 0);
}

/* ---- positions ------------------------------------------------------------------------------- */

hone_status hn_infer_mrotary_embedding(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 3, 4));
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_gemma_rotary_embedding(hn_infer *c) {
    HN_TRY(hn_out_same(c, 0, 1));
    return hn_out_same(c, 1, 1);
}

hone_status hn_infer_relative_position_bias(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    const hn_dim dims[4] = {1, hn_in_dim(c, 0, 1), hn_ms_in_dim(c, 1), hn_ms_in_dim(c, 2)};
    return hn_out_shape(c, 0, 4, dims);
}

hone_status hn_infer_gated_relative_position_bias(hn_infer *c) {
    int64_t n_heads;
    HN_TRY(hn_ms_positive(c, "num_heads", &n_heads));
    HN_TRY(hn_expect_rank(c, 6, 2, 2));
    uint32_t from = hn_has_input(c, 6)
                        ? 6
                        : 0; /* tokens without padding: their offsets define batch and length */
    if (from == 0)
        HN_TRY(hn_expect_rank(c, 0, 3, 3));
    if (!hn_in_shape(c, from))
        return HONE_OK;
    const hn_dim dims[4] = {hn_in_dim(c, from, 0), n_heads, hn_in_dim(c, from, 1),
                            hn_in_dim(c, from, 1)};
    return hn_out_shape(c, 0, 4, dims);
}

/* ---- padding --------------------------------------------------------------------------------- */

hone_status hn_infer_remove_padding(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    hn_dim batch = hn_in_dim(c, 0, 0);
    const hn_dim tokens[2] = {HN_DIM_UNKNOWN, hn_in_dim(c, 0, 2)},
                 offsets[2] = {batch, hn_in_dim(c, 0, 1)};
    const hn_dim ends = hn_dim_add_i(hn_infer_syms(c), batch, 1), one = 1;
    HN_TRY(hn_out_shape(c, 0, 2, tokens));
    HN_TRY(hn_out_shape(c, 1, 2, offsets));
    HN_TRY(hn_out_shape(c, 2, 1, &ends));
    return hn_out_shape(c, 3, 1, &one);
}

hone_status hn_infer_restore_padding(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    const hn_dim dims[3] = {hn_in_dim(c, 1, 0), hn_in_dim(c, 1, 1), hn_in_dim(c, 0, 1)};
    return hn_out_shape(c, 0, 3, dims);
}

/* ---- search loops ---------------------------------------------------------------------------- */

/* BeamSearch and WhisperBeamSearch: inputs 1, 3, 4 are max_length, num_beams, num_return_sequences.
 */
static hone_status beam_search_out(hn_infer *c, hn_dim batch, hn_dim length, hn_dim vocabulary) {
    hn_dim n_beams = hn_ms_in_dim(c, 3), n_returned = hn_ms_in_dim(c, 4);
    hn_dim prompt = hn_in_dim(c, 0, 1), n_steps = HN_DIM_UNKNOWN;
    if (hn_in_rank(c, 0) == 2) /* audio and images have no prompt in input 0 */
        n_steps = hn_dim_sub(hn_infer_syms(c), length, prompt);
    const hn_dim sequences[3] = {batch, n_returned, length},
                 sequence_scores[2] = {batch, n_returned};
    const hn_dim scores[4] = {n_steps, batch, n_beams, vocabulary};
    const hn_dim cross[6] = {batch,          n_returned, HN_DIM_UNKNOWN,
                             HN_DIM_UNKNOWN, length,     HN_DIM_UNKNOWN};
    HN_TRY(hn_out_shape(c, 0, 3, sequences));
    HN_TRY(hn_out_shape(c, 1, 2, sequence_scores));
    HN_TRY(hn_out_shape(c, 2, 4, scores));
    HN_TRY(hn_out_shape(c, 3, 6, cross));
    return hn_out_shape(c, 4, 1, &batch);
}

/* Bodies get what they declare, so that their nodes are checked. */
static hone_status infer_search_body(hn_infer *c, const char *attr) {
    uint32_t n_in, n_out;
    const hn_type *const *out;
    if (!hn_body_n_inputs(c, attr, &n_in))
        return HONE_OK;
    const hn_type **in = HN_NEW_N(hn_infer_arena(c), const hn_type *, (size_t)n_in + 1);
    HN_TRY_PTR(in);
    return hn_infer_body(c, attr, n_in, in, &n_out, &out);
}

hone_status hn_infer_generation(hn_infer *c) {
    hn_dim batch = hn_in_dim(c, 0, 0), length = hn_ms_in_dim(c, 1);
    int64_t vocabulary = hn_attr_i(c, "vocab_size", -1);
    hn_dim words = vocabulary > 0 ? vocabulary : HN_DIM_UNKNOWN;
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    HN_TRY(infer_search_body(c, "decoder"));
    HN_TRY(infer_search_body(c, "init_decoder"));
    HN_TRY(infer_search_body(c, "encoder"));
    if (strstr(hn_infer_op(c), "BeamSearch"))
        return beam_search_out(c, batch, length, words);
    const hn_dim sequences[2] = {batch, length}, logits[2] = {batch, words};
    HN_TRY(hn_out_shape(c, 0, 2, sequences));
    return hn_out_shape(c, 1, 2, logits);
}

/* ---- everything else ------------------------------------------------------------------------- */

/* The schema defines the element types; the shapes stay unknown. */
hone_status hn_infer_opaque(hn_infer *c) {
    (void)c;
    return HONE_OK;
}
