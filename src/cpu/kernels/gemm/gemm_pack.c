/* How the sides of a float product lie for its tiles.
 *
 * b is cut along k into slices, and those into panels as wide as a tile; rows of a panel lie side
 * by side. The last panel is half as wide where that is enough. Columns past the matrix are zero,
 * their sums are dropped. a is cut into strips as high as a tile; columns of a strip lie side by
 * side. */
#include <float.h>

#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/gemm/gemm_micro.h"
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "cpu/kernels/transpose/transpose.h"

int64_t hn_gemm_depth_f32(int64_t k, int64_t most) {
    int64_t n_slices = (k + most - 1) / most;
    int64_t depth = n_slices ? (k + n_slices - 1) / n_slices : 1;
    return (depth + 7) / 8 * 8; /* whole lines of most caches */
}

int64_t hn_gemm_padded_f32(const hn_gemm_set_f32 *set, int64_t n) {
    int64_t half = set->cols / 2;
    return (n + half - 1) / half * half;
}

/* ---- b ---------------------------------------------------------------------------------------- */

/* Columns [j0, j1), row after row: what lies side by side is read in one go. */
static void pack_rows(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                      int64_t width, float *out) {
    for (int64_t k = 0; k < nk; k++) {
        const float *from = g->b + (k0 + k) * g->b_row;
        for (int64_t j = j0; j < j1; j += width)
            memcpy(out + (j - j0) * nk + k * width, from + j,
                   (size_t)HN_MIN(width, j1 - j) * sizeof *out);
    }
}

/* The same when rows of b lie side by side. */
static void turn_columns(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                         int64_t width, float *out) {
    for (int64_t j = j0; j < j1; j += width)
        hn_transpose(&(hn_transpose_job){.elem_bytes = sizeof *out,
                                         .rows = HN_MIN(width, j1 - j),
                                         .cols = nk,
                                         .from = g->b + k0 + j * g->b_col,
                                         .from_row = g->b_col,
                                         .to = out + (j - j0) * nk,
                                         .to_row = width});
}

static void pick_columns(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                         int64_t width, float *out) {
    for (int64_t j = j0; j < j1; j++) {
        const float *from = g->b + k0 * g->b_row + j * g->b_col;
        float *to = out + (j - j0) / width * width * nk + (j - j0) % width;
        for (int64_t k = 0; k < nk; k++)
            to[k * width] = from[k * g->b_row];
    }
}

/* Panels of one width. */
static void pack_panels(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                        int64_t width, float *out) {
    int64_t last = j0 + (j1 - 1 - j0) / width * width;
    if (j1 - last < width)
        memset(out + (last - j0) * nk, 0, (size_t)(nk * width) * sizeof *out);
    if (g->panels)
        g->panels(g->fill_ctx, k0, nk, j0, j1, width, out);
    else if (g->fill)
        for (int64_t j = j0; j < j1; j += width)
            g->fill(g->fill_ctx, k0, nk, j, HN_MIN(width, j1 - j), out + (j - j0) * nk, width);
    else if (g->b_col == 1)
        pack_rows(g, k0, nk, j0, j1, width, out);
    else if (g->b_row == 1)
        turn_columns(g, k0, nk, j0, j1, width, out);
    else
        pick_columns(g, k0, nk, j0, j1, width, out);
}

void hn_gemm_pack_panels_f32(const hn_gemm_set_f32 *set, const hn_gemm_job_f32 *g, int64_t k0,
                             int64_t nk, int64_t j0, int64_t j1, float *out) {
    int64_t last = j0 + (j1 - 1 - j0) / set->cols * set->cols;
    int64_t narrow0 = hn_gemm_width_f32(set, j1, last) < set->cols ? last : j1;
    if (narrow0 > j0)
        pack_panels(g, k0, nk, j0, narrow0, set->cols, out);
    if (narrow0 < j1)
        pack_panels(g, k0, nk, narrow0, j1, set->cols / 2, out + (narrow0 - j0) * nk);
}

int64_t hn_gemm_packed_elems_f32(int64_t n, int64_t k) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    return set ? hn_gemm_padded_f32(set, n) * k : 0;
}

/* All panels of the first slice, then of the next. */
static void pack_all_panels(const hn_gemm_set_f32 *set, const hn_gemm_job_f32 *g, float *out) {
    int64_t depth = hn_gemm_depth_f32(g->k, HN_GEMM_PACKED_DEPTH), padded;
    padded = hn_gemm_padded_f32(set, g->n);
    for (int64_t k0 = 0; k0 < g->k; k0 += depth) {
        int64_t nk = HN_MIN(depth, g->k - k0);
        for (int64_t j0 = 0, j1; j0 < g->n; j0 = j1) {
            j1 = HN_MIN(j0 + HN_GEMM_BLOCK_COLS, g->n);
            hn_gemm_pack_panels_f32(set, g, k0, nk, j0, j1, out + k0 * padded + j0 * nk);
        }
    }
}

void hn_gemm_pack_f32(const hn_gemm_job_f32 *g, float *out) {
    pack_all_panels(hn_gemm_pick_f32(), g, out);
}

bool hn_gemm_has_bf16(void) {
    return hn_gemm_pick_bf16() != NULL;
}

int64_t hn_gemm_packed_elems_bf16(int64_t n, int64_t k) {
    if (hn_bf16_blocks_pick())
        return hn_bf16_blocks_packed_elems(n, k);
    return hn_gemm_padded_f32(hn_gemm_pick_bf16(), n) * ((k + 1) / 2);
}

/* Row k of b in bfloat16; zeros behind the last. */
static void round_right_row(const hn_gemm_job_f32 *g, int64_t k, int64_t j0, int64_t nj,
                            uint16_t *out) {
    float line[HN_GEMM_BLOCK_COLS];
    for (int64_t j = 0; j < nj; j++)
        line[j] = k < g->k ? g->b[k * g->b_row + (j0 + j) * g->b_col] : 0;
    hn_conversions_find()->floats_to_bfloats((uint64_t)nj, line, out);
}

/* Rows 2 k and 2 k + 1 of b are row k of pairs. */
static void fill_pairs(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, float *out,
                       int64_t out_stride) {
    uint16_t rows[2][HN_GEMM_BLOCK_COLS];
    for (int64_t k = 0; k < nk; k++) {
        uint16_t *pairs = (uint16_t *)(void *)(out + k * out_stride);
        for (int64_t i = 0; i < 2; i++)
            round_right_row(ctx, 2 * (k0 + k) + i, j0, nj, rows[i]);
        for (int64_t j = 0; j < nj; j++) {
            pairs[2 * j] = rows[0][j];
            pairs[2 * j + 1] = rows[1][j];
        }
    }
}

void hn_gemm_pack_bf16(const hn_gemm_job_f32 *g, float *out) {
    hn_gemm_job_f32 pairs = {.n = g->n, .k = (g->k + 1) / 2, .fill = fill_pairs, .fill_ctx = g};
    if (hn_bf16_blocks_pick())
        hn_bf16_blocks_pack(g, out);
    else
        pack_all_panels(hn_gemm_pick_bf16(), &pairs, out);
}

/* Whether float16 has all of them; what is infinite or no number stays so. */
static bool halves_reach(int64_t n, const float *x) {
    const float most = 65504;
    for (int64_t i = 0; i < n; i++)
        if ((x[i] > most && x[i] <= FLT_MAX) || (x[i] < -most && x[i] >= -FLT_MAX))
            return false;
    return true;
}

bool hn_gemm_pack_half_f32(const hn_gemm_job_f32 *g, hn_stored as, uint16_t *out) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    const hn_conversions *by = hn_conversions_find();
    int64_t depth = hn_gemm_depth_f32(g->k, HN_GEMM_PACKED_DEPTH), padded;
    float room[HN_GEMM_PACKED_DEPTH * HN_GEMM_MAX_COLS]; /* one panel */
    padded = hn_gemm_padded_f32(set, g->n);
    for (int64_t k0 = 0; k0 < g->k; k0 += depth) {
        int64_t nk = HN_MIN(depth, g->k - k0);
        for (int64_t j0 = 0, j1; j0 < g->n; j0 = j1) {
            j1 = HN_MIN(j0 + set->cols, g->n);
            int64_t n = hn_gemm_width_f32(set, j1, j0) * nk;
            hn_gemm_pack_panels_f32(set, g, k0, nk, j0, j1, room);
            if (as == HN_STORED_F16 && !halves_reach(n, room))
                return false;
            (as == HN_STORED_F16 ? by->floats_to_halves : by->floats_to_bfloats)(
                (uint64_t)n, room, out + k0 * padded + j0 * nk);
        }
    }
    return true;
}

/* ---- a ---------------------------------------------------------------------------------------- */

void hn_gemm_pack_strip_f32(const hn_gemm_job_f32 *g, int64_t row0, int64_t rows, int64_t k0,
                            int64_t nk, float *out) {
    const float *from = g->a + row0 * g->a_row + k0 * g->a_col;
    if (g->a_col == 1)
        hn_transpose(&(hn_transpose_job){.elem_bytes = sizeof *out,
                                         .rows = rows,
                                         .cols = nk,
                                         .from = from,
                                         .from_row = g->a_row,
                                         .to = out,
                                         .to_row = rows});
    else
        for (int64_t k = 0; k < nk; k++)
            for (int64_t i = 0; i < rows; i++)
                out[k * rows + i] = from[i * g->a_row + k * g->a_col];
}

int64_t hn_gemm_packed_left_elems_f32(int64_t m, int64_t k) {
    return hn_gemm_pick_f32() ? m * k : 0;
}

void hn_gemm_pack_left_f32(const hn_gemm_job_f32 *g, float *out) {
    int64_t n_tiles = hn_gemm_n_tiles_f32(hn_gemm_pick_f32(), g->m);
    for (int64_t t = 0; t < n_tiles; t++) {
        int64_t row0 = hn_gemm_tile_row_f32(g->m, n_tiles, t);
        int64_t rows = hn_gemm_tile_row_f32(g->m, n_tiles, t + 1) - row0;
        hn_gemm_pack_strip_f32(g, row0, rows, 0, g->k, out + row0 * g->k);
    }
}
