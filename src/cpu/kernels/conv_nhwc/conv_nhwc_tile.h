/* Inside cpu/kernels: tiles of a channels-last convolution whose sums stay in registers. */
#ifndef HN_CONV_NHWC_TILE_H
#define HN_CONV_NHWC_TILE_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "cpu/kernels/rows/row_loops.h"

/* Elements of x that lie side by side and belong to neighbouring rows of the filters' panel. */
typedef struct hn_tile_run {
    int64_t x; /* offset from the tile's x */
    int64_t k; /* first row of the panel */
    int64_t n;
} hn_tile_run;

/* Some outputs, a constant distance apart, times some filters:
 *   y[r, j] = sum over runs and i < n of x[r * x_row + run.x + i] * panel[run.k + i, j]
 * plus y (when `add`), then the epilogue but for its unary function. */
typedef struct hn_conv_tile {
    const hn_tile_run *runs;
    int64_t n_runs;
    const float *x;
    int64_t x_row;
    const float *panel;    /* as wide as the tile, row after row */
    const int32_t *spread; /* for tiles that spread: where the elements of each column begin */
    const float *ahead; /* will be needed soon: each step of a run prefetches one line of it ... */
    int64_t ahead_step; /* ... and moves on by so many elements */
    float *y;
    int64_t y_row, cols; /* columns of y that are touched; the others do not exist */
    bool add;
    hn_epilogue_f32 epilogue; /* begins where the tile does */
} hn_conv_tile;

typedef void (*hn_conv_tile_fn)(const hn_conv_tile *t);

#define HN_CONV_TILE_MOST_ROWS 14
#define HN_CONV_TILE_MOST_LANES 16

/* The tiles of one instruction set, by rows from 1 on. */
typedef struct hn_conv_tiles {
    int most_rows, vector_elems;
    const hn_conv_tile_fn *narrow, *wide; /* of one vector, and of two */
    /* Of one vector, where x[r * x_row + run.x + spread[j] + i] takes part in column j, less than a
     * vector away; NULL: there are none. */
    const hn_conv_tile_fn *spread;
} hn_conv_tiles;

/* The best that this processor has; NULL: plain C is. */
const hn_conv_tiles *hn_conv_tiles_pick(void);

/* ---- products, for hn_conv_nhwc_f32 alone ---- */

int64_t hn_product_nhwc_packed_elems(const hn_conv_nhwc_job *job);
void hn_product_nhwc_pack(const hn_conv_nhwc_job *job, float *out);
void hn_product_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job);
/* conv_nhwc_im2col.c: small maps with packed filters. Scratch memory that it needs, 0: this is none
 * of them; false: nothing was computed. */
int64_t hn_im2col_nhwc_elems(const hn_conv_nhwc_job *job);
bool hn_im2col_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job);

#endif /* HN_CONV_NHWC_TILE_H */
