/* Products with constants of 4 or 8 bits that a DequantizeLinear widens in blocks become
 * MatMulNBits, so that the constants stay as small as they are. */
#include "cpu/passes/passes_cpu.h"

#include "cpu/kernels/gemm_nbits/gemm_nbits.h"

enum { COLUMNS_AT_A_TIME = 64 }; /* whose rows of bytes stay in the second cache */

/* A right side b[k, n], and the node that widens it. */
typedef struct few_bits {
    hn_nbits_form form;
    int64_t n_blocks;
    const hn_tensor *data, *scales, *zeros; /* zeros: NULL for none */
    bool is_transposed;                     /* [n, k] */
    unsigned flip; /* of the highest bit: signed numbers become unsigned ones */
} few_bits;

static const hn_tensor *readable(const hn_rule *r, hn_id dq, uint32_t input) {
    const hn_tensor *t = hn_const(r, hn_in(r, dq, input));
    return t && t->data && !hn_tensor_is_deferred(t) ? t : NULL;
}

static bool is_matrix_of(const hn_tensor *t, bool is_transposed, int64_t rows, int64_t cols) {
    return t && t->rank == 2 && t->dims[is_transposed] == rows && t->dims[!is_transposed] == cols;
}

static bool read_few_bits(const hn_rule *r, hn_id dq, bool is_transposed, few_bits *w) {
    const hn_tensor *data = readable(r, dq, 0);
    int64_t axis = hn_node_i(r, dq, "axis", 1);
    *w = (few_bits){.data = data,
                    .scales = readable(r, dq, 1),
                    .zeros = readable(r, dq, 2),
                    .is_transposed = is_transposed};
    if (!data || data->rank != 2 || !w->scales || w->scales->dtype != HN_F32 ||
        hn_elem_of(r, hn_out(r, dq, 0)) != HN_F32 || (axis + 2) % 2 != is_transposed)
        return false;
    bool is_signed = data->dtype == HN_I4 || data->dtype == HN_I8;
    if (!is_signed && data->dtype != HN_U4 && data->dtype != HN_U8)
        return false;
    w->form = (hn_nbits_form){.bits = hn_dtype_bits(data->dtype),
                              .k = data->dims[is_transposed],
                              .n = data->dims[!is_transposed],
                              .block = hn_node_i(r, dq, "block_size", 0)};
    if (!hn_gemm_nbits_can(&w->form))
        return false;
    w->flip = is_signed ? 1u << (w->form.bits - 1) : 0;
    w->n_blocks = (w->form.k + w->form.block - 1) / w->form.block;
    return is_matrix_of(w->scales, is_transposed, w->n_blocks, w->form.n) &&
           (hn_in(r, dq, 2) == HN_NONE ||
            (is_matrix_of(w->zeros, is_transposed, w->n_blocks, w->form.n) &&
             w->zeros->dtype == data->dtype));
}

/* Element i of t, from its lowest bit on. */
static unsigned few_bits_at(const few_bits *w, const hn_tensor *t, int64_t i) {
    int bits = w->form.bits;
    unsigned byte = ((const uint8_t *)t->data)[i * bits / 8];
    return (byte >> i * bits % 8 & ((1u << bits) - 1)) ^ w->flip;
}

/* The elements of `t`, which has `rows` along k, as rows of bytes of each column. */
static void copy_columns(const few_bits *w, const hn_tensor *t, int64_t rows, int64_t row_bytes,
                         uint8_t *out) {
    int64_t n = w->form.n, bits = w->form.bits;
    for (int64_t j0 = 0; j0 < n; j0 += COLUMNS_AT_A_TIME)
        for (int64_t k = 0; k < rows; k++)
            for (int64_t j = j0; j < HN_MIN(j0 + COLUMNS_AT_A_TIME, n); j++) {
                unsigned q = few_bits_at(w, t, w->is_transposed ? j * rows + k : k * n + j);
                out[j * row_bytes + k * bits / 8] |= (uint8_t)(q << k * bits % 8);
            }
}

static hn_id new_numbers(hn_rule *r, const few_bits *w) {
    int64_t block_bytes = w->form.block * w->form.bits / 8;
    void *data;
    hn_tensor *t =
        hn_new_tensor(r, HN_U8, 3, (const int64_t[]){w->form.n, w->n_blocks, block_bytes}, &data);
    if (!t)
        return HN_NONE;
    copy_columns(w, w->data, w->form.k, w->n_blocks * block_bytes, data);
    return hn_new_const(r, "weights", t);
}

static hn_id new_scales(hn_rule *r, const few_bits *w) {
    const float *from = w->scales->data;
    int64_t n = w->form.n, n_blocks = w->n_blocks;
    void *data;
    hn_tensor *t = hn_new_tensor(r, HN_F32, 2, (const int64_t[]){n, n_blocks}, &data);
    if (!t)
        return HN_NONE;
    float *to = data;
    for (int64_t j = 0; j < n; j++)
        for (int64_t b = 0; b < n_blocks; b++)
            to[j * n_blocks + b] = from[w->is_transposed ? j * n_blocks + b : b * n + j];
    return hn_new_const(r, "scales", t);
}

/* Zeros, where none are given, are the middle of signed numbers, which is what none means there. */
static bool has_middle_zeros(const few_bits *w) {
    unsigned middle = 1u << (w->form.bits - 1);
    for (int64_t i = 0; w->zeros && i < w->form.n * w->n_blocks; i++)
        if (few_bits_at(w, w->zeros, i) != middle)
            return false;
    return w->zeros || w->flip;
}

static hn_id new_zeros(hn_rule *r, const few_bits *w) {
    int64_t row_bytes = (w->n_blocks * w->form.bits + 7) / 8;
    void *data;
    hn_tensor *t = hn_new_tensor(r, HN_U8, 2, (const int64_t[]){w->form.n, row_bytes}, &data);
    if (!t)
        return HN_NONE;
    if (w->zeros)
        copy_columns(w, w->zeros, w->n_blocks, row_bytes, data);
    return hn_new_const(r, "zero_points", t);
}

static hone_status write_few_bits(hn_rule *r, bool is_transposed, hn_id bias) {
    hn_id x = hn_in(r, r->root, 0), zeros = HN_NONE;
    few_bits w;
    if (hn_rank_of(r, x) < 2 || hn_elem_of(r, x) != HN_F32 ||
        !read_few_bits(r, hn_cap_node(r, "w"), is_transposed, &w) ||
        !hn_can_write(r, "ms.MatMulNBits"))
        return HONE_OK;
    if (bias != HN_NONE && (hn_rank_of(r, bias) != 1 || hn_dim_of(r, bias, 0) != w.form.n))
        return HONE_OK;
    hn_id numbers = new_numbers(r, &w), scales = new_scales(r, &w);
    if (!has_middle_zeros(&w)) {
        zeros = new_zeros(r, &w);
        HN_TRY_PTR(zeros != HN_NONE);
    }
    HN_TRY_PTR(numbers != HN_NONE && scales != HN_NONE);
    hn_rule_replace(r, hn_make1(r, "ms.MatMulNBits",
                                HN_VALUES(x, numbers, scales, zeros, HN_NONE, bias),
                                HN_ATTRS(hn_new_i(r, "K", w.form.k), hn_new_i(r, "N", w.form.n),
                                         hn_new_i(r, "bits", w.form.bits),
                                         hn_new_i(r, "block_size", w.form.block))));
    return HONE_OK;
}

static hone_status multiply_few_bits(hn_rule *r) {
    return write_few_bits(r, false, HN_NONE);
}

static hone_status multiply_transposed_few_bits(hn_rule *r) {
    const int64_t *perm;
    uint32_t n;
    hn_id transpose = hn_maker(r, hn_in(r, r->root, 1), "Transpose");
    if (hn_node_ints(r, transpose, "perm", &n, &perm) && (n != 2 || perm[0] != 1))
        return HONE_OK;
    return write_few_bits(r, true, HN_NONE);
}

static hone_status gemm_few_bits(hn_rule *r) {
    hn_id bias = hn_in(r, r->root, 2);
    if (hn_node_i(r, r->root, "transA", 0) != 0 || hn_node_f(r, r->root, "alpha", 1) != 1 ||
        (bias != HN_NONE && hn_node_f(r, r->root, "beta", 1) != 1))
        return HONE_OK;
    return write_few_bits(r, hn_node_i(r, r->root, "transB", 0) != 0, bias);
}

hone_status hn_pass_few_bit_products(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"matmul", "MatMul(_, DequantizeLinear:w)", multiply_few_bits, true, NULL},
        {"transposed", "MatMul(_, Transpose(DequantizeLinear:w))", multiply_transposed_few_bits,
         true, NULL},
        {"gemm", "Gemm(_, DequantizeLinear:w, ...)", gemm_few_bits, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
