/* Products of com.microsoft whose weights are small floats in blocks that share a scale, computed.
 */
#include "ops/eval/ms/ms_nbits_eval.h"

/* A matrix [rows, depth]. */
typedef struct float_blocks {
    hn_array codes;
    const float *scales; /* [rows, n_blocks] */
    int64_t depth, block, n_blocks;
    float scale;   /* of all */
    hn_dtype type; /* that weights are rounded to before the product */
} float_blocks;

/* What a number is in a type of 16 bits. */
static float rounded_to(hn_dtype type, float v) {
    return type == HN_F16 ? hn_f16_to_f32(hn_f32_to_f16(v)) : hn_bf16_to_f32(hn_f32_to_bf16(v));
}

static void float_blocks_fill(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj,
                              float *out, int64_t out_stride) {
    const float_blocks *w = ctx;
    float line[HN_TILE];
    for (int64_t j = 0; j < nj; j++)
        for (int64_t done = 0; done < nk; done += HN_TILE) {
            int64_t n = HN_MIN(HN_TILE, nk - done), row = j0 + j;
            hn_load_f32(&w->codes, (uint64_t)(row * w->depth + k0 + done), (uint64_t)n, line);
            for (int64_t i = 0; i < n; i++) {
                float by = w->scales[row * w->n_blocks + (k0 + done + i) / w->block] * w->scale;
                out[(done + i) * out_stride + j] = rounded_to(w->type, line[i] * by);
            }
        }
}

/* Scales are floats, or the bytes of small ones. */
static hone_status read_float_blocks(hn_eval *c, hn_dtype code, hn_dtype scale_code,
                                     float_blocks *w) {
    const hn_array *b = hn_arg(c, 1), *scales = hn_arg(c, 2);
    *w = (float_blocks){.codes = *b,
                        .depth = b->dims[1] * (hn_dtype_bits(code) == 4 ? 2 : 1),
                        .block = hn_attr_i(hn_eval_node(c), "block_size", 16),
                        .scale = 1,
                        .type = hn_arg(c, 0)->dtype};
    if (w->block < 1)
        return hn_eval_fail(c, HONE_E_INVALID, "block_size must be 1 or more");
    w->codes.dtype = code;
    w->n_blocks = w->depth / w->block + (w->depth % w->block != 0);
    HN_TRY(hn_want_dims(c, 2, 2, (const int64_t[]){b->dims[0], w->n_blocks}));
    hn_array view = *scales;
    view.dtype = scale_code;
    w->scales = hn_wide_f32(c, &view);
    HN_TRY_PTR(w->scales);
    return HONE_OK;
}

static bool is_empty_product(const hn_eval *c) {
    const hn_array *y = hn_ret(c, 0);
    return !y || y->n_elems == 0;
}

static hone_status eval_matmul_fp4_blocks(hn_eval *c) {
    float_blocks w;
    if (is_empty_product(c))
        return HONE_OK;
    HN_TRY(read_float_blocks(c, HN_F4E2M1, HN_F8E4M3FN, &w));
    w.scale = (float)hn_arg_f64_or(c, 3, 1);
    return hn_multiply_filled(c, hn_wide_f32(c, hn_arg(c, 0)), w.depth, hn_arg(c, 1)->dims[0],
                              float_blocks_fill, &w, 5);
}
const hn_impl hn_impl_matmul_fp4_blocks[1] = {{.eval = eval_matmul_fp4_blocks}};

/* With a scale of its own the input is rounded to small floats, too. */
static hone_status eval_matmul_fp8_blocks(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    float_blocks w;
    if (is_empty_product(c))
        return HONE_OK;
    HN_TRY(read_float_blocks(c, HN_F8E4M3FN, HN_F32, &w));
    float *rows = hn_arg_copy_f32(c, 0), by = (float)hn_arg_f64_or(c, 3, 1);
    HN_TRY_PTR(rows);
    for (uint64_t i = 0; hn_arg(c, 3) && i < x->n_elems; i++) {
        uint8_t code = hn_f32_to_f8(rows[i] / by, HN_F8_E4M3FN, true);
        rows[i] = hn_f8_to_f32(code, HN_F8_E4M3FN) * by;
    }
    return hn_multiply_filled(c, rows, w.depth, hn_arg(c, 1)->dims[0], float_blocks_fill, &w, 4);
}
const hn_impl hn_impl_matmul_fp8_blocks[1] = {{.eval = eval_matmul_fp8_blocks}};
