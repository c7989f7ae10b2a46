/* Inside cpu/kernels: the loops of attention that have a version for each instruction set. */
#ifndef HN_ATTENTION_INT_H
#define HN_ATTENTION_INT_H

#include "cpu/kernels/rows/row_loops.h"

#define HN_BITS_PER_E 1.44269504f

/* Scores of a block of keys, key after key, with `width` queries side by side. Scores, softcap and
 * unseen count bits: exponentials are powers of 2. */
typedef struct hn_score_block_f32 {
    float *scores; /* become their powers */
    int64_t n_keys, width;
    float softcap;         /* 0: none */
    const float *key_mask; /* one per key, in units of e; NULL: none */
    const float *mask;     /* as the scores lie, mask_row from key to key; NULL: none */
    int64_t mask_row;
    bool has_edge; /* not all see all: query i sees keys i + from .. i + to of the block */
    int64_t from, to;
    float unseen;
    /* Of each query: largest score and sum of powers so far, and what the sum before this
     * block counts for beside the new largest score. */
    float *most, *sum, *decay;
} hn_score_block_f32;

typedef struct hn_attention_loops_f32 {
    void (*soften)(const hn_score_block_f32 *block);
    /* y[i] *= by */
    void (*multiply)(int64_t n, float *y, float by);
    /* out[r * step] = sum of rows[r * row + i] * by[i] over n of them */
    void (*dots)(int64_t n_rows, int64_t n, const float *rows, int64_t row, const float *by,
                 float *out, int64_t step);
    /* Rows of y hold those of x; y_row is a whole number of vectors. */
    void (*gather)(int64_t n_rows, int64_t n_cols, const float *x, int64_t x_row, float *y,
                   int64_t y_row);
} hn_attention_loops_f32;
const hn_attention_loops_f32 *hn_attention_loops_pick_f32(void); /* NULL: not on this processor */

#endif /* HN_ATTENTION_INT_H */
