/* Inference rules of quantized products of com.microsoft. */
#include "ops/infer/rules/matmul_int.h"
#include "ops/infer/spatial.h"

/* ---- integers -------------------------------------------------------------------------------- */

hone_status hn_infer_dynamic_quantize_matmul(hn_infer *c) {
    return hn_matmul_out(c, 0, 1);
}

hone_status hn_infer_matmul_integer_to_float(hn_infer *c) {
    return hn_matmul_out(c, 0, 1);
}

hone_status hn_infer_qordered_matmul(hn_infer *c) {
    return hn_matmul_out(c, 0, 2);
}

/* Without a zero point of the result, the result is floating point. */
hone_status hn_infer_qgemm(hn_infer *c) {
    HN_TRY(hn_out_elem(c, 0, hn_has_input(c, 8) ? hn_in_elem(c, 8) : HN_F32));
    return hn_gemm_out(c, 0, 3, 6);
}

/* ---- packed weights -------------------------------------------------------------------------- */

/* Rows of `depth` elements of input 0 become rows of `width` in the output. */
static hone_status out_rows(hn_infer *c, uint32_t output, hn_dim depth, hn_dim width) {
    const hn_shape *a = hn_in_shape(c, 0);
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    if (!a)
        return HONE_OK;
    hn_dim have = a->dims[a->rank - 1];
    if (hn_dim_is_known(have) && hn_dim_is_known(depth) && have != depth)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "input 0 is %s, but its rows must have %lld elements to fit the weights",
            hn_in_text(c, 0), (long long)depth);
    hn_dim *dims = hn_infer_dims(c, a->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < a->rank - 1; i++)
        dims[i] = a->dims[i];
    dims[a->rank - 1] = width;
    return hn_out_shape(c, output, a->rank, dims);
}

static hone_status read_width(hn_infer *c, const char *attr, hn_dim *out) {
    *out = hn_attr_i(c, attr, 0);
    if (*out < 1)
        return hn_infer_fail(c, HONE_E_INVALID, "%s is %lld; it must be 1 or more", attr,
                             (long long)*out);
    return HONE_OK;
}

/* Only MatMulBnb4 allows transposed weights. */
static bool has_plain_weights(const hn_infer *c) {
    return hn_attr_i(c, "transB", 1) == 0;
}

hone_status hn_infer_matmul_nbits(hn_infer *c) {
    hn_dim k, n;
    HN_TRY(read_width(c, "K", &k));
    HN_TRY(read_width(c, "N", &n));
    return has_plain_weights(c) ? out_rows(c, 0, n, k) : out_rows(c, 0, k, n);
}

bool hn_macs_matmul_nbits(const hn_infer *c, uint64_t *macs) {
    return hn_matmul_macs(c, hn_attr_i(c, has_plain_weights(c) ? "N" : "K", 0), macs);
}

static bool is_qkv(const hn_infer *c) {
    return strcmp(hn_infer_op(c), "MatMulNBitsQkv") == 0;
}

hone_status hn_infer_matmul_nbits_fused(hn_infer *c) {
    hn_dim k, n, n_kv;
    uint32_t sum = is_qkv(c) ? 3 : 1;
    HN_TRY(read_width(c, "K", &k));
    HN_TRY(read_width(c, is_qkv(c) ? "Nq" : "N", &n));
    HN_TRY(out_rows(c, 0, k, n));
    if (is_qkv(c)) {
        HN_TRY(read_width(c, "Nkv", &n_kv));
        HN_TRY(out_rows(c, 1, k, n_kv));
        HN_TRY(out_rows(c, 2, k, n_kv));
    }
    if (hn_has_output(c, sum) && !hn_has_input(c, 1))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "output %u is the sum with the skip input, which is missing", sum);
    return hn_out_same(c, sum, 0);
}

bool hn_macs_matmul_nbits_fused(const hn_infer *c, uint64_t *macs) {
    const hn_shape *a = hn_in_shape(c, 0);
    int64_t width = hn_attr_i(c, is_qkv(c) ? "Nq" : "N", 0),
            second = hn_attr_i(c, is_qkv(c) ? "Nkv" : "N", 0);
    *macs = 1;
    if (!hn_add_i64(width, second, &width) || (is_qkv(c) && !hn_add_i64(width, second, &width)))
        return false;
    return a && hn_macs_times(macs, a->rank, a->dims) && hn_macs_times(macs, 1, &width);
}

hone_status hn_infer_matmul_fp_q4(hn_infer *c) {
    uint32_t n;
    const hn_sint *shape;
    hn_dim k = HN_DIM_UNKNOWN, width = HN_DIM_UNKNOWN;
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    if (hn_in_ints(c, 2, &n, &shape, NULL)) {
        if (n != 2)
            return hn_infer_fail(c, HONE_E_SHAPE, "B_shape has %u elements; it must have two", n);
        k = hn_sint_to_dim(shape[0]);
        width = hn_sint_to_dim(shape[1]);
    }
    return out_rows(c, 0, k, width);
}

/* B is [N, K], with two 4-bit elements per byte. */
hone_status hn_infer_matmul_block_quantized(hn_infer *c) {
    bool is_packed = hn_in_elem(c, 1) == HN_U8;
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    hn_dim depth = hn_dim_mul_i(hn_infer_syms(c), hn_in_dim(c, 1, 1), is_packed ? 2 : 1);
    return out_rows(c, 0, depth, hn_in_dim(c, 1, 0));
}

bool hn_macs_matmul_block_quantized(const hn_infer *c, uint64_t *macs) {
    return hn_matmul_macs(c, hn_in_dim(c, 0, -1), macs);
}

/* ---- DynamicQuantizeLSTM --------------------------------------------------------------------- */

/* As LSTM, but the weights are transposed: W [dirs, input, 4 * hidden], R [dirs, hidden, 4 *
 * hidden]. */
hone_status hn_infer_dynamic_quantize_lstm(hn_infer *c) {
    bool is_bidirectional = hn_attr_is(c, "direction", "bidirectional");
    if (!is_bidirectional && !hn_attr_is(c, "direction", "forward") &&
        !hn_attr_is(c, "direction", "reverse"))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "direction must be forward, reverse or bidirectional");
    for (uint32_t i = 0; i < 3; i++)
        HN_TRY(hn_expect_rank(c, i, 3, 3));
    int64_t given = hn_attr_i(c, "hidden_size", 0);
    hn_dim hidden = given > 0 ? given : HN_DIM_UNKNOWN, input, gates;
    HN_TRY(hn_merge_dim(c, "the hidden size", hidden, hn_in_dim(c, 2, 1), &hidden));
    HN_TRY(hn_merge_dim(c, "the input size", hn_in_dim(c, 0, 2), hn_in_dim(c, 1, 1), &input));
    HN_TRY(hn_merge_dim(c, "the width of the gates", hn_dim_mul_i(hn_infer_syms(c), hidden, 4),
                        hn_in_dim(c, 1, 2), &gates));
    hn_dim dirs = is_bidirectional ? 2 : 1, batch = hn_in_dim(c, 0, 1);
    const hn_dim y[4] = {hn_in_dim(c, 0, 0), dirs, batch, hidden}, state[3] = {dirs, batch, hidden};
    HN_TRY(hn_out_shape(c, 0, 4, y));
    HN_TRY(hn_out_shape(c, 1, 3, state));
    return hn_out_shape(c, 2, 3, state);
}
