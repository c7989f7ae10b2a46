/* Inside cpu/kernels: tiles of a product of unsigned by signed bytes whose sums stay in registers.
 * Four steps along k make a group: groups of a row of a, and of a column of b, are four consecutive
 * bytes, as instructions want them. */
#ifndef HN_GEMM_U8S8_H
#define HN_GEMM_U8S8_H

#include "base/base.h"

#define HN_U8S8_GROUP 4 /* steps along k */
#define HN_U8S8_MOST_ROWS 14

/* c[r, j] = sum of a * b - row_sums[r] * col_zeros[j] + row_zeros[r] * col_terms[j], modulo 2^32.
 * Zero points enter by the last two terms, see gemm_int8.c. */
typedef struct hn_u8s8_tile {
    int64_t n_groups;
    const uint8_t *a; /* [group, row, 4] */
    const int8_t *b;  /* [group, column, 4], as many columns as the set has */
    const uint32_t *row_sums, *row_zeros;
    const uint32_t *col_zeros, *col_terms; /* of all columns of the set */
    int32_t *c;
    int64_t c_row;
    int rows, cols; /* of c; other columns are not touched */
} hn_u8s8_tile;
typedef void (*hn_u8s8_tile_fn)(const hn_u8s8_tile *tile);

/* The tiles of one instruction set, by their rows, from 1. */
typedef struct hn_u8s8_set {
    int max_rows, cols;
    hn_u8s8_tile_fn tiles[HN_U8S8_MOST_ROWS + 1];
} hn_u8s8_set;

/* The best that this processor has; there is always one. */
const hn_u8s8_set *hn_u8s8_pick(void);

#endif /* HN_GEMM_U8S8_H */
