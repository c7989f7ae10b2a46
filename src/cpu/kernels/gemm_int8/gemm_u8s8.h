/* Inside cpu/kernels: tiles of a product of unsigned by signed bytes whose sums stay in registers.
 * Four steps along k make a group: groups of a row of a, and of a column of b, are four consecutive
 * bytes, as instructions want them. */
#ifndef HN_GEMM_U8S8_H
#define HN_GEMM_U8S8_H

#include "cpu/kernels/gemm_int8/int8_result.h"

#define HN_U8S8_GROUP 4 /* steps along k */
#define HN_U8S8_MOST_ROWS 32
#define HN_U8S8_MOST_COLS 32

/* sums[r, j] = sum of a[r, k] * b[k, j] over all k, modulo 2^32. Rows of a are read where they
 * lie, in runs of consecutive bytes: a product has one, the window of a convolution one per line of
 * the kernel. Every byte of a group is read. */
typedef struct hn_u8s8_tile {
    const uint8_t *a; /* run i of row r begins at a + r * a_row + runs[i] */
    int64_t a_row;
    const int64_t *runs;
    int64_t n_runs, n_groups; /* the groups of one run */
    int rows;
    bool reads_more_rows; /* behind the rows, up to the set's least number, others may be read */
    const int8_t *b;      /* [run, group, column, 4], as many columns as the set has */
    /* [row, column], rows are HN_U8S8_MOST_COLS apart; those behind the rows, up to the set's least
     * number, are overwritten. */
    int32_t *sums;
    /* What becomes of the sums, which are then not stored; NULL: they are. For sets that finish it.
     */
    const hn_int8_result *result;
    const hn_int8_block *block;
} hn_u8s8_tile;
typedef void (*hn_u8s8_tile_fn)(const hn_u8s8_tile *tile);

/* The tiles of one instruction set, by their rows, from 1. */
typedef struct hn_u8s8_set {
    int max_rows, cols;
    int step_groups;                   /* the groups of a run are a multiple of it */
    int least_rows;                    /* fewer take as long, or go a slower way */
    void (*begin)(void), (*end)(void); /* around the tiles of a thread; NULL: nothing to do */
    hn_int8_finishes_fn *finishes;
    hn_u8s8_tile_fn tiles[HN_U8S8_MOST_ROWS + 1];
} hn_u8s8_set;

/* The best that this processor has; there is always one. */
const hn_u8s8_set *hn_u8s8_pick(void);

static inline void hn_u8s8_begin(const hn_u8s8_set *set) {
    if (set->begin)
        set->begin();
}

static inline void hn_u8s8_end(const hn_u8s8_set *set) {
    if (set->end)
        set->end();
}

#endif /* HN_GEMM_U8S8_H */
