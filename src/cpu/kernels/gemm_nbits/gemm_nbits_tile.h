/* Inside cpu/kernels: tiles of products with weights of few bits.
 *
 * Weights of `cols` columns lie in a panel: for four steps along k the four numbers of each column
 * are neighbours, in 8 / bits such groups that share their bytes, the first in the lowest bits.
 *
 * Numbers of a are whole multiples of a step that each block has of its own. They are written with
 * digits of 8 bits, the highest first: one digit, or three with base HN_NBITS_BASE, which is as
 * precise as floats are. Products of digits are summed exactly. */
#ifndef HN_GEMM_NBITS_TILE_H
#define HN_GEMM_NBITS_TILE_H

#include "cpu/kernels/gemm_nbits/gemm_nbits.h"

#define HN_NBITS_GROUP 4       /* steps along k whose products one instruction adds */
#define HN_NBITS_BASE 254      /* digits are no more than 127 */
#define HN_NBITS_MOST_DIGITS 3 /* else there is one */
#define HN_NBITS_MOST_ROWS 4

/* Rows of a as digits. */
typedef struct hn_nbits_left {
    int8_t *digits; /* [row, block, digit, k of the block] */
    float *steps;   /* [row, block]; the first of a row with infinities or NaN is NaN */
    /* [row, block, digit]: of all numbers of a block, negative, times the zero point where all
     * weights have the same. */
    int32_t *sums;
    int64_t n_blocks;
    int n_digits;
} hn_nbits_left;

typedef struct hn_nbits_tile {
    const hn_nbits_form *form;
    hn_nbits_left left;     /* from the first row of the tile on */
    const uint8_t *weights; /* of a panel: per block all its numbers, then the scales */
    const void *zeros;      /* [block, column], of the kind that the form has */
    const float *bias;      /* of `cols` columns; NULL: none */
    float *c;
    int64_t cols; /* of c that are touched */
} hn_nbits_tile;
typedef void (*hn_nbits_tile_fn)(const hn_nbits_tile *tile);

/* Numbers k0 .. k0+nk of a vector of columns as floats: out[(k - k0) * out_stride + column]. */
typedef struct hn_nbits_column {
    const hn_nbits_form *form;
    const uint8_t *weights;
    const void *zeros;
    int64_t k0, nk;
    float *out;
    int64_t out_stride;
} hn_nbits_column;

typedef struct hn_nbits_set {
    int cols;           /* of a panel */
    int vector;         /* columns that widen() makes */
    int64_t float_rows; /* from so many on products of floats are faster than three digits */
    /* By bits (2, 4, 8), digits (1, 3) and rows (1, 2, 4). */
    hn_nbits_tile_fn tiles[3][2][3];
    void (*widen[3])(const hn_nbits_column *column);
    /* One row of k floats. */
    void (*to_digits)(const hn_nbits_form *form, const float *a, const hn_nbits_left *out);
} hn_nbits_set;

/* The best that this processor has; NULL: none. */
const hn_nbits_set *hn_nbits_pick(void);

#endif /* HN_GEMM_NBITS_TILE_H */
