/* Inside cpu/kernels: tiles of a float product whose sums stay in registers. */
#ifndef HN_GEMM_MICRO_H
#define HN_GEMM_MICRO_H

#include "cpu/kernels/rows/row_loops.h"

/* c[rows, cols] = a[rows, k] * b[k, cols], or c += with `add`. */
typedef struct hn_gemm_tile_f32 {
    int64_t k;
    const float *a;
    int64_t a_row, a_col;
    /* Floats, or what else the tile reads: columns lie side by side, and as many as the tile has
     * may be read. */
    const void *b;
    int64_t b_row;
    int64_t b_next; /* from one panel of a set's `cols` columns to the next */
    /* What is needed later is prefetched meanwhile, so much per step along k; NULL and 0: nothing.
     * Tiles of several panels leave it. */
    const void *later;
    int64_t later_bytes;
    float *c;
    int64_t c_row;
    int64_t cols; /* of c that are touched */
    bool add;
    /* Begins where the tile does, with its residual_stride and no unary function; NULL: none. */
    const hn_epilogue_f32 *epilogue;
} hn_gemm_tile_f32;
typedef void (*hn_gemm_tile_fn_f32)(const hn_gemm_tile_f32 *tile);

#define HN_GEMM_MAX_ROWS 16
#define HN_GEMM_MAX_COLS 32
#define HN_GEMM_BLOCK_COLS 128 /* of one call of hn_panels_f32, at most */

/* Several panels at once, where few rows would leave registers idle. All of the columns are
 * touched.
 */
typedef struct hn_gemm_wide_f32 {
    int rows, cols;
    hn_gemm_tile_fn_f32 fn;
} hn_gemm_wide_f32;

/* The tiles of one instruction set, by their rows, from 1. */
typedef struct hn_gemm_set_f32 {
    int max_rows, cols;
    int64_t working_set_elems; /* of b that stay in the second cache beside all else */
    hn_gemm_tile_fn_f32 full[HN_GEMM_MAX_ROWS + 1];   /* `cols` columns */
    hn_gemm_tile_fn_f32 narrow[HN_GEMM_MAX_ROWS + 1]; /* half as many */
    /* By what b is made of; the widest first, whole multiples of the next one with as many rows; no
     * rows: the last. */
    const hn_gemm_wide_f32 *wide[HN_N_STORED];
} hn_gemm_set_f32;

/* The best that this processor has; NULL: plain C is. */
const hn_gemm_set_f32 *hn_gemm_pick_f32(void);
/* Tiles whose elements are pairs of bfloat16 along k, in place of floats; NULL: none. */
const hn_gemm_set_f32 *hn_gemm_pick_bf16(void);

/* ---- how sides lie (gemm_pack.c) --------------------------------------------------------------- */

/* Sums are interrupted after so many steps along k, by the length of all alone. */
int64_t hn_gemm_depth_f32(int64_t k, int64_t most);
/* Columns of the panel at column j of n. */
static inline int64_t hn_gemm_width_f32(const hn_gemm_set_f32 *set, int64_t n, int64_t j) {
    return n - j > set->cols / 2 ? set->cols : set->cols / 2;
}
/* Columns of all panels. */
int64_t hn_gemm_padded_f32(const hn_gemm_set_f32 *set, int64_t n);
/* Rows are cut into as few tiles as possible, of as even heights as possible. */
static inline int64_t hn_gemm_n_tiles_f32(const hn_gemm_set_f32 *set, int64_t m) {
    return (m + set->max_rows - 1) / set->max_rows;
}
/* The first row of a tile. */
static inline int64_t hn_gemm_tile_row_f32(int64_t m, int64_t n_tiles, int64_t tile) {
    return tile * m / n_tiles;
}
/* Rows k0 .. k0+nk and columns j0 .. j1 of b in panels. */
void hn_gemm_pack_panels_f32(const hn_gemm_set_f32 *set, const hn_gemm_job_f32 *g, int64_t k0,
                             int64_t nk, int64_t j0, int64_t j1, float *out);
/* Rows of one tile: all their elements of one column side by side, then those of the next. */
void hn_gemm_pack_strip_f32(const hn_gemm_job_f32 *g, int64_t row0, int64_t rows, int64_t k0,
                            int64_t nk, float *out);

enum { HN_GEMM_PACKED_DEPTH = 320 /* of panels packed ahead */ };

#endif /* HN_GEMM_MICRO_H */
