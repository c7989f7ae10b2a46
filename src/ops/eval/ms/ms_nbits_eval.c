/* Products of com.microsoft with weights of few bits, computed: numbers are widened where a product
 * needs them. */
#include "ops/eval/ms/ms_nbits_eval.h"

#include "cpu/pack/node_state.h"
#include "ops/eval_engine.h"

static inline unsigned take_bits(const uint8_t *at, int64_t i, int bits) {
    int64_t first = i * bits;
    int shift = (int)(first % 8);
    unsigned word = at[first / 8];
    if (shift + bits > 8)
        word |= (unsigned)at[first / 8 + 1] << 8;
    return word >> shift & ((1u << bits) - 1);
}

void hn_nbits_widen_zeros(const hn_nbits *w, const uint8_t *packed, float *out) {
    int64_t row_bytes = hn_bits_to_bytes(w->n_blocks, w->bits);
    for (int64_t i = 0; i < w->n_rows * w->n_blocks; i++)
        out[i] = (float)take_bits(packed + i / w->n_blocks * row_bytes, i % w->n_blocks, w->bits);
}

float *hn_nbits_zeros(hn_eval *c, const uint8_t *packed, int64_t n_rows, int64_t n_blocks,
                      int bits) {
    float *out = hn_eval_scratch_n(c, (uint64_t)(n_rows * n_blocks), sizeof *out);
    if (out)
        hn_nbits_widen_zeros(&(hn_nbits){.bits = bits, .n_rows = n_rows, .n_blocks = n_blocks},
                             packed, out);
    return out;
}

void hn_nbits_fill(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, float *out,
                   int64_t out_stride) {
    const hn_nbits *w = ctx;
    float half = (float)(1 << (w->bits - 1));
    for (int64_t j = 0; j < nj; j++) {
        int64_t row = (j0 + j) * w->n_blocks;
        for (int64_t k = 0; k < nk; k++) {
            int64_t at = k0 + k, block = at / w->block,
                    by = row + (w->groups ? w->groups[at] : block);
            float q =
                (float)take_bits(w->data + (row + block) * w->block_bytes, at % w->block, w->bits);
            out[k * out_stride + j] = (q - (w->zeros ? w->zeros[by] : half)) * w->scales[by];
        }
    }
}

hone_status hn_multiply_filled(hn_eval *c, const float *rows, int64_t depth, int64_t width,
                               hn_fill_f32 fill, const void *fill_ctx, uint32_t bias_arg) {
    hn_array *y = hn_ret(c, 0);
    const float *bias;
    HN_TRY_PTR(rows);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t n_rows = (int64_t)y->n_elems / width;
    float *out = hn_buffer_f32(c, y);
    HN_TRY(hn_want_elems(c, bias_arg, (uint64_t)width));
    HN_TRY_PTR(out && hn_arg_f32s(c, bias_arg, &bias));
    for (int64_t i = 0; bias && i < n_rows; i++)
        memcpy(out + i * width, bias, (size_t)width * sizeof *out);
    hn_gemm_f32(hn_eval_pool(c), &(hn_gemm_job_f32){.m = n_rows,
                                                    .n = width,
                                                    .k = depth,
                                                    .a = rows,
                                                    .a_row = depth,
                                                    .a_col = 1,
                                                    .fill = fill,
                                                    .fill_ctx = fill_ctx,
                                                    .c = out,
                                                    .c_row = width,
                                                    .add = bias != NULL});
    hn_narrow_f32(y, out);
    return HONE_OK;
}

/* ---- MatMulNBits ----------------------------------------------------------------------------- */

static hone_status read_nbits_zeros(hn_eval *c, uint32_t arg, hn_nbits *w) {
    const hn_array *zero = hn_arg(c, arg);
    if (!zero)
        return HONE_OK;
    bool is_packed = zero->dtype == HN_U8;
    HN_TRY(hn_want_elems(c, arg,
                         (uint64_t)(w->n_rows * (is_packed ? hn_bits_to_bytes(w->n_blocks, w->bits)
                                                           : w->n_blocks))));
    w->zeros = is_packed ? hn_nbits_zeros(c, zero->data, w->n_rows, w->n_blocks, w->bits)
                         : hn_wide_f32(c, zero);
    HN_TRY_PTR(w->zeros);
    return HONE_OK;
}

hone_status hn_nbits_check_groups(hone_error *err, const hn_nbits *w) {
    for (int64_t k = 0; k < w->depth; k++)
        if (w->groups[k] < 0 || w->groups[k] >= w->n_blocks)
            return hn_fail(err, HONE_E_INVALID, "g_idx names group %d of %lld", w->groups[k],
                           (long long)w->n_blocks);
    return HONE_OK;
}

static hone_status read_nbits_groups(hn_eval *c, uint32_t arg, hn_nbits *w) {
    const hn_array *groups = hn_arg(c, arg);
    if (!groups)
        return HONE_OK;
    if ((int64_t)groups->n_elems < w->depth)
        return hn_want_elems(c, arg, (uint64_t)w->depth);
    w->groups = groups->data;
    return hn_nbits_check_groups(c->err, w);
}

hone_status hn_nbits_read_form(hn_eval *c, hn_nbits *w) {
    const hn_infer *node = hn_eval_node(c);
    *w = (hn_nbits){.n_rows = hn_attr_i(node, "N", 0),
                    .depth = hn_attr_i(node, "K", 0),
                    .block = hn_attr_i(node, "block_size", 0)};
    int64_t bits = hn_attr_i(node, "bits", 4);
    uint64_t n_scales, n_bytes;
    if (bits < 2 || bits > 8 || w->block < 8 || w->block % 8 != 0)
        return hn_eval_fail(
            c, HONE_E_INVALID,
            "bits is %lld and block_size %lld; bits must be 2 to 8, block_size a multiple of 8",
            (long long)bits, (long long)w->block);
    if (hn_attr_i(node, "weight_prepacked", 0))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "weights prepacked for a GPU cannot be read");
    w->bits = (int)bits;
    w->n_blocks = w->depth / w->block + (w->depth % w->block != 0);
    w->block_bytes = w->block / 8 * bits;
    if (!hn_mul_u64((uint64_t)w->n_rows, (uint64_t)w->n_blocks, &n_scales) ||
        !hn_mul_u64(n_scales, (uint64_t)w->block_bytes, &n_bytes))
        return hn_eval_fail(c, HONE_E_LIMIT, "N and K are too large");
    HN_TRY(hn_want_elems(c, 1, n_bytes));
    return hn_want_elems(c, 2, n_scales);
}

/* The weights themselves may have left memory. */
static hone_status multiply_packed_nbits(hn_eval *c, hn_gemm_nbits_job *job) {
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_want_elems(c, 5, (uint64_t)job->form.n));
    HN_TRY_PTR(hn_arg_f32s(c, 5, &job->bias));
    job->m = (int64_t)y->n_elems / job->form.n;
    job->a = hn_arg(c, 0)->data;
    job->c = y->data;
    job->workspace = hn_eval_scratch(c, hn_gemm_nbits_workspace_bytes(job));
    HN_TRY_PTR(job->workspace);
    hn_gemm_nbits(hn_eval_pool(c), job);
    return HONE_OK;
}

static hone_status eval_matmul_nbits(hn_eval *c) {
    hn_gemm_nbits_job packed;
    hn_nbits w;
    HN_TRY(hn_nbits_read_form(c, &w));
    if (hn_packed_nbits(c, &packed))
        return multiply_packed_nbits(c, &packed);
    w.data = hn_arg(c, 1)->data;
    HN_TRY_PTR(hn_arg_f32s(c, 2, &w.scales));
    HN_TRY(read_nbits_zeros(c, 3, &w));
    HN_TRY(read_nbits_groups(c, 4, &w));
    return hn_multiply_filled(c, hn_wide_f32(c, hn_arg(c, 0)), w.depth, w.n_rows, hn_nbits_fill, &w,
                              5);
}
const hn_impl hn_impl_matmul_nbits[1] = {{.eval = eval_matmul_nbits}};

/* ---- MatMulBnb4 ------------------------------------------------------------------------------ */

/* A matrix of codes, two in a byte, the first in the high bits; every `block` codes in a row of all
 * share a largest magnitude. */
typedef struct bnb4_weights {
    const uint8_t *data;
    const float *codes, *largest;
    int64_t row, column; /* strides of the product's right side */
    int64_t block;
} bnb4_weights;

static void bnb4_fill(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, float *out,
                      int64_t out_stride) {
    const bnb4_weights *w = ctx;
    for (int64_t k = 0; k < nk; k++)
        for (int64_t j = 0; j < nj; j++) {
            int64_t at = (k0 + k) * w->row + (j0 + j) * w->column;
            unsigned byte = w->data[at / 2], code = at % 2 == 0 ? byte >> 4 : byte & 15;
            out[k * out_stride + j] = w->codes[code] * w->largest[at / w->block];
        }
}

static hone_status eval_matmul_bnb4(hn_eval *c) {
    /* Four-bit floats with three bits of exponent and fraction, and quantiles of the normal
     * distribution. */
    static const float codes[2][16] = {
        {0, 0.00520833333f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f, 0,
         -0.00520833333f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
        {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
         -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
         0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
         0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1}};
    const hn_infer *node = hn_eval_node(c);
    int64_t n = hn_attr_i(node, "N", 0), k = hn_attr_i(node, "K", 0),
            kind = hn_attr_i(node, "quant_type", 0), all;
    bnb4_weights w = {.data = hn_arg(c, 1)->data, .block = hn_attr_i(node, "block_size", 0)};
    if (kind < 0 || kind > 1 || w.block < 1 || !hn_mul_i64(n, k, &all))
        return hn_eval_fail(
            c, HONE_E_INVALID,
            "quant_type must be 0 or 1, block_size positive, and N * K no huge number");
    HN_TRY(hn_want_elems(c, 1, (uint64_t)all / 2 + (uint64_t)(all % 2)));
    HN_TRY(hn_want_elems(c, 2, (uint64_t)(all / w.block + (all % w.block != 0))));
    HN_TRY_PTR(hn_arg_f32s(c, 2, &w.largest));
    w.codes = codes[kind];
    bool is_transposed = hn_attr_i(node, "transB", 1) != 0;
    w.row = is_transposed ? 1 : k;
    w.column = is_transposed ? k : 1;
    return hn_multiply_filled(c, hn_wide_f32(c, hn_arg(c, 0)), is_transposed ? k : n,
                              is_transposed ? n : k, bnb4_fill, &w, HN_NO_ARG);
}
const hn_impl hn_impl_matmul_bnb4[1] = {{.eval = eval_matmul_bnb4}};

/* ---- MatMulFpQ4 ------------------------------------------------------------------------------ */

/* Columns one after the other, each in blocks of 32 numbers: a scale, a byte with the zero point
 * where there is one, and 16 bytes that hold number i in their low bits and number i + 16 in the
 * high ones. */
enum { Q4_BLOCK = 32, Q4_CODE_BYTES = Q4_BLOCK / 2 };

typedef struct q4_weights {
    const uint8_t *data;
    bool has_zeros;
    int64_t n_blocks, block_bytes;
} q4_weights;

static void q4_fill(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, float *out,
                    int64_t out_stride) {
    const q4_weights *w = ctx;
    for (int64_t j = 0; j < nj; j++)
        for (int64_t k = 0; k < nk; k++) {
            int64_t at = k0 + k, i = at % Q4_BLOCK;
            const uint8_t *block =
                w->data + ((j0 + j) * w->n_blocks + at / Q4_BLOCK) * w->block_bytes;
            const uint8_t *codes = block + w->block_bytes - Q4_CODE_BYTES;
            int code = codes[i % Q4_CODE_BYTES] >> (i < Q4_CODE_BYTES ? 0 : 4) & 15;
            float scale;
            memcpy(&scale, block, sizeof scale);
            out[k * out_stride + j] =
                (float)(code - (w->has_zeros ? block[sizeof scale] : 8)) * scale;
        }
}

static hone_status eval_matmul_fp_q4(hn_eval *c) {
    int64_t shape[2] = {0, 0};
    uint64_t n_bytes;
    HN_TRY(hn_want_elems(c, 2, 2));
    hn_load_i64(hn_arg(c, 2), 0, 2, shape);
    q4_weights w = {.data = hn_arg(c, 1)->data,
                    .has_zeros = hn_attr_i(hn_eval_node(c), "blk_quant_type", 1) != 0};
    w.n_blocks = shape[0] / Q4_BLOCK + (shape[0] % Q4_BLOCK != 0);
    w.block_bytes = (int64_t)sizeof(float) + w.has_zeros + Q4_CODE_BYTES;
    if (shape[0] < 0 || shape[1] < 0 ||
        !hn_mul_u64((uint64_t)shape[1], (uint64_t)(w.n_blocks * w.block_bytes), &n_bytes))
        return hn_eval_fail(c, HONE_E_INVALID, "B_shape is negative or too large");
    HN_TRY(hn_want_elems(c, 1, n_bytes));
    return hn_multiply_filled(c, hn_wide_f32(c, hn_arg(c, 0)), shape[0], shape[1], q4_fill, &w,
                              HN_NO_ARG);
}
const hn_impl hn_impl_matmul_fp_q4[1] = {{.eval = eval_matmul_fp_q4}};
