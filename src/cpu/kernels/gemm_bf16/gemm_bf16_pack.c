/* Right sides in bfloat16, as blocks read them. */
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"

int64_t hn_bf16_depth(int64_t k) {
    int64_t n_slices = (k + HN_BF16_DEPTH - 1) / HN_BF16_DEPTH;
    int64_t depth = n_slices ? (k + n_slices - 1) / n_slices : 1;
    return hn_bf16_steps(depth) * HN_BF16_STEP;
}

int64_t hn_bf16_blocks_packed_elems(int64_t n, int64_t k) {
    return hn_bf16_panels(n) * hn_bf16_steps(k) * HN_BF16_STEP_ELEMS / 2;
}

static void pack_bf16_step(const hn_gemm_job_f32 *g, int64_t k0, int64_t j0, uint16_t *out) {
    const hn_bf16_blocks *blocks = hn_bf16_blocks_pick();
    float column[HN_BF16_STEP];
    uint16_t rounded[HN_BF16_STEP];
    int64_t nk = HN_MIN(HN_BF16_STEP, g->k - k0), nj = HN_MIN(HN_BF16_COLS, g->n - j0);
    for (int64_t j = 0; j < nj; j++) {
        const float *from = g->b + k0 * g->b_row + (j0 + j) * g->b_col;
        uint16_t *tile = out + j / HN_BF16_TILE * (HN_BF16_STEP * HN_BF16_TILE);
        for (int64_t k = 0; k < nk; k++)
            column[k] = from[k * g->b_row];
        blocks->round(nk, column, rounded);
        for (int64_t k = 0; k < HN_BF16_STEP; k++)
            tile[(k / 2 * HN_BF16_TILE + j % HN_BF16_TILE) * 2 + k % 2] = rounded[k];
    }
}

void hn_bf16_blocks_pack(const hn_gemm_job_f32 *g, float *out) {
    int64_t depth = hn_bf16_depth(g->k);
    uint16_t *to = (uint16_t *)(void *)out;
    memset(out, 0, (size_t)hn_bf16_blocks_packed_elems(g->n, g->k) * sizeof *out);
    for (int64_t k0 = 0; k0 < g->k; k0 += depth)
        for (int64_t j0 = 0; j0 < g->n; j0 += HN_BF16_COLS)
            for (int64_t k = k0; k < HN_MIN(k0 + depth, g->k); k += HN_BF16_STEP) {
                pack_bf16_step(g, k, j0, to);
                to += HN_BF16_STEP_ELEMS;
            }
}
