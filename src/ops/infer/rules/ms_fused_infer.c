/* Inference rules of fused floating-point operators of com.microsoft: products, normalizations,
 * dropouts, experts and others. */
#include "ops/infer/follow.h"
#include "ops/infer/rules/matmul_int.h"
#include "ops/infer/spatial.h"

/* ---- products -------------------------------------------------------------------------------- */

hone_status hn_infer_fused_gemm(hn_infer *c) {
    return hn_gemm_out(c, 0, 1, 2);
}

hone_status hn_infer_gemm_float8(hn_infer *c) {
    hn_dtype elem;
    HN_TRY(hn_attr_dtype(c, "dtype", 0, HN_F32, &elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    return hn_gemm_out(c, 0, 1, 2);
}

hone_status hn_infer_gemm_fast_gelu(hn_infer *c) {
    return hn_matmul_out(c, 0, 1);
}

static hone_status matmul_by_attributes(hn_infer *c) {
    const hn_matmul_side a = {0, hn_attr_i(c, "transA", 0) != 0,
                              hn_attr_i(c, "transBatchA", 0) != 0};
    const hn_matmul_side b = {1, hn_attr_i(c, "transB", 0) != 0,
                              hn_attr_i(c, "transBatchB", 0) != 0};
    int32_t rank;
    const hn_dim *dims;
    HN_TRY(hn_matmul_shape(c, a, b, &rank, &dims, NULL));
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_fused_matmul(hn_infer *c) {
    return matmul_by_attributes(c);
}

bool hn_macs_fused_matmul(const hn_infer *c, uint64_t *macs) {
    int32_t depth_axis = -1;
    if (hn_in_rank(c, 0) > 1 && hn_attr_i(c, "transA", 0))
        depth_axis = hn_attr_i(c, "transBatchA", 0) ? 0 : -2;
    return hn_matmul_macs(c, hn_in_dim(c, 0, depth_axis), macs);
}

hone_status hn_infer_sparse_matmul(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    return matmul_by_attributes(c);
}

hone_status hn_infer_conv_transpose_dynamic_pads(hn_infer *c) {
    hn_pads pads = {0, NULL};
    bool has_pads = hn_has_input(c, 2);
    if (has_pads && !hn_in_i64s(c, 2, &pads.n, &pads.at))
        pads = (hn_pads){0, NULL};
    return hn_conv_transpose_shape(c, 3, has_pads ? &pads : NULL, false);
}

/* Pairwise distances between the rows of two matrices. */
hone_status hn_infer_cdist(hn_infer *c) {
    hn_dim width;
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    HN_TRY(hn_merge_dim(c, "the length of rows", hn_in_dim(c, 0, 1), hn_in_dim(c, 1, 1), &width));
    const hn_dim dims[2] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 1, 0)};
    return hn_out_shape(c, 0, 2, dims);
}

/* ---- mixture of experts ---------------------------------------------------------------------- */

hone_status hn_infer_moe(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 3));
    return hn_out_same(c, 0, 0);
}

/* Multiply-accumulates of one token in one expert's layer: weights [experts, out, in], bytes of
 * packed numbers when quantized. */
static bool expert_layer_macs(const hn_infer *c, uint32_t weights, const char *bits_attr,
                              uint64_t *sum) {
    uint64_t layer = 1, per_byte = 1;
    const hn_shape *w = hn_in_shape(c, weights);
    if (!hn_has_input(c, weights))
        return true;
    if (!w || w->rank != 3)
        return false;
    if (hn_in_elem(c, weights) == HN_U8) {
        int64_t bits = hn_attr_i(c, bits_attr, hn_attr_i(c, "expert_weight_bits", 4));
        per_byte = bits > 0 && bits < 8 ? (uint64_t)(8 / bits) : 1;
    }
    return hn_macs_times(&layer, 2, w->dims + 1) && hn_mul_u64(layer, per_byte, &layer) &&
           hn_add_u64(*sum, layer, sum);
}

bool hn_macs_moe(const hn_infer *c, uint64_t *macs) {
    static const struct {
        uint32_t plain, quantized; /* input with the weights in MoE, in QMoE */
        const char *bits;
    } layers[] = {{2, 2, "fc1_expert_weight_bits"},
                  {4, 5, "fc2_expert_weight_bits"},
                  {6, 8, "fc3_expert_weight_bits"}};
    bool is_quantized = strcmp(hn_infer_op(c), "QMoE") == 0;
    const hn_shape *x = hn_in_shape(c, 0);
    uint64_t per_token = 0, tokens = 1;
    int64_t n_chosen = hn_attr_i(c, "k", 1);
    if (!x || x->rank < 1 || n_chosen < 1 || !hn_macs_times(&tokens, x->rank - 1, x->dims))
        return false;
    for (size_t i = 0; i < HN_COUNT(layers); i++)
        if (!expert_layer_macs(c, is_quantized ? layers[i].quantized : layers[i].plain,
                               layers[i].bits, &per_token))
            return false;
    return hn_mul_u64(per_token, (uint64_t)n_chosen, macs) && hn_mul_u64(*macs, tokens, macs);
}

/* ---- normalizations -------------------------------------------------------------------------- */

hone_status hn_infer_skip_layer_norm(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    HN_TRY(hn_out_same(c, 0, 0));
    HN_TRY(hn_out_same(c, 3, 0));
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank - 1; i++)
        dims[i] = x->dims[i];
    dims[x->rank - 1] = 1;
    HN_TRY(hn_out_shape(c, 1, x->rank, dims));
    return hn_out_shape(c, 2, x->rank, dims);
}

/* Word, position and segment embeddings are summed and normalized: all have one width. */
hone_status hn_infer_embed_layer_norm(hn_infer *c) {
    hn_dim width = HN_DIM_UNKNOWN;
    for (uint32_t i = 0; i < 2; i++)
        HN_TRY(hn_expect_rank(c, i, 2, 2));
    for (uint32_t i = 2; i <= 6; i++) {
        int32_t rank = i < 5 ? 2 : 1; /* embeddings have rank 2; gamma and beta rank 1 */
        HN_TRY(hn_expect_rank(c, i, rank, rank));
        HN_TRY(hn_merge_dim(c, "the width of the embeddings", width, hn_in_dim(c, i, -1), &width));
    }
    const hn_dim out[3] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1), width};
    HN_TRY(hn_out_shape(c, 0, 3, out));
    HN_TRY(hn_out_shape(c, 1, 1, out));
    return hn_out_shape(c, 2, 3, out);
}

hone_status hn_infer_group_norm(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 3, HN_MAX_RANK));
    HN_TRY(hn_out_same(c, 0, 0));
    return hn_out_same(c, 1, 0);
}

hone_status hn_infer_gated_rms_norm(hn_infer *c) {
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_linear_attention_gate(hn_infer *c) {
    if (hn_has_output(c, 1) && !hn_has_input(c, 3))
        return hn_infer_fail(c, HONE_E_INVALID, "output 1 (beta) needs input 3 (b)");
    HN_TRY(hn_out_same(c, 0, 0));
    return hn_out_same(c, 1, 3);
}

/* ---- activations and dropouts ---------------------------------------------------------------- */

/* Half of the channels gates the other half. */
hone_status hn_infer_bias_split_gelu(hn_infer *c) {
    hn_dim width;
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    HN_TRY(
        hn_merge_dim(c, "the number of channels", hn_in_dim(c, 0, 2), hn_in_dim(c, 1, 0), &width));
    if (!hn_in_shape(c, 0))
        return HONE_OK;
    const hn_dim dims[3] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1),
                            hn_dim_floor_div(hn_infer_syms(c), width, 2)};
    return hn_out_shape(c, 0, 3, dims);
}

/* The mask has one bool per element, or one bit. */
hone_status hn_infer_bias_dropout(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_out_same(c, 0, 0));
    if (!x)
        return HONE_OK;
    if (strcmp(hn_infer_op(c), "BiasDropout") == 0)
        return hn_out_shape(c, 1, x->rank, x->dims);
    hn_dim words = hn_dim_ceil_div(hn_infer_syms(c), hn_shape_elems(hn_infer_syms(c), x), 32);
    return hn_out_shape(c, 1, 1, &words);
}

/* ---- others ---------------------------------------------------------------------------------- */

hone_status hn_infer_is_all_finite(hn_infer *c) {
    if (hn_attr_i(c, "isinf_only", 0) && hn_attr_i(c, "isnan_only", 0))
        return hn_infer_fail(c, HONE_E_INVALID, "isinf_only and isnan_only exclude each other");
    return hn_out_shape(c, 0, 0, NULL);
}

hone_status hn_infer_murmur_hash(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dtype elem = hn_attr_i(c, "positive", 1) == 1 ? HN_U32 : HN_I32;
    return hn_out_tensor(c, 0, elem, x ? x->rank : -1, x ? x->dims : NULL);
}

hone_status hn_infer_ngram_repeat_block(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    return hn_out_same(c, 0, 1);
}

hone_status hn_infer_sample_op(hn_infer *c) {
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_torch_embedding(hn_infer *c) {
    const hn_shape *indices = hn_in_shape(c, 1);
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    if (!indices)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, indices->rank + 1);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < indices->rank; i++)
        dims[i] = indices->dims[i];
    dims[indices->rank] = hn_in_dim(c, 0, 1);
    return hn_out_shape(c, 0, indices->rank + 1, dims);
}

/* Windows of `size` elements along one axis, `step` apart, become a new last axis. */
hone_status hn_infer_unfold_tensor(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    int64_t size = hn_attr_i(c, "size", 0), step = hn_attr_i(c, "step", 1);
    int32_t axis;
    if (size < 1 || step < 1)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "size is %lld and step is %lld; both must be 1 or more",
                             (long long)size, (long long)step);
    if (!x)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "dim", hn_attr_i(c, "dim", -1), x->rank, &axis));
    if (hn_dim_is_known(x->dims[axis]) && x->dims[axis] < size)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "size is %lld, but axis %d of input 0, %s, is shorter",
                             (long long)size, axis, hn_in_text(c, 0));
    hn_dim *dims = hn_infer_dims(c, x->rank + 1);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    hn_syms *syms = hn_infer_syms(c);
    dims[axis] = hn_dim_floor_div(syms, hn_dim_add_i(syms, x->dims[axis], -size), step);
    dims[axis] = hn_dim_add_i(syms, dims[axis], 1);
    dims[x->rank] = size;
    return hn_out_shape(c, 0, x->rank + 1, dims);
}

/* Each word of characters becomes one vector, as wide as the convolution has filters. */
hone_status hn_infer_word_conv_embedding(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_expect_rank(c, 1, 4, 4));
    const hn_dim dims[2] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 1, 0)};
    return hn_out_shape(c, 0, 2, dims);
}
