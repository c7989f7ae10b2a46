/* Inside kernels/: the loops of attention that have a version for each instruction set. */
#ifndef HN_ATTENTION_INT_H
#define HN_ATTENTION_INT_H

#include "kernels/vec.h"

/* Scores of a block of keys, key after key, with `width` queries side by side. */
typedef struct hn_score_block_f32 {
    float *scores; /* become their exponentials */
    int64_t n_keys, width;
    float softcap;         /* 0: none */
    const float *key_mask; /* one per key; NULL: none */
    const float *mask;     /* as the scores lie, mask_row from key to key; NULL: none */
    int64_t mask_row;
    bool has_edge; /* query i sees keys i + from .. i + to of the block, no others */
    int64_t from, to;
    float unseen;
    /* Of each query: largest score and sum of exponentials so far, and what the sum before this
     * block counts for beside the new largest score. */
    float *most, *sum, *decay;
} hn_score_block_f32;

typedef struct hn_attention_loops_f32 {
    void (*soften)(const hn_score_block_f32 *block);
    /* y[i] *= by */
    void (*multiply)(int64_t n, float *y, float by);
} hn_attention_loops_f32;

#endif /* HN_ATTENTION_INT_H */
