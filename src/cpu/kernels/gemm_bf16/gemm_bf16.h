/* Inside cpu/kernels: products of floats that are rounded to bfloat16, by blocks of 32 x 32 (AMX),
 * with a right side that was packed ahead. Sums are floats. Results do not depend on the number of
 * threads. */
#ifndef HN_GEMM_BF16_H
#define HN_GEMM_BF16_H

#include "cpu/kernels/kernel.h"

#define HN_BF16_ROWS 32
#define HN_BF16_COLS 32
#define HN_BF16_STEP 32 /* numbers along k: a row of a tile */
#define HN_BF16_TILE 16 /* rows, or columns, of a tile */
#define HN_BF16_STEP_ELEMS (HN_BF16_STEP * HN_BF16_COLS)

/* As hn_gemm_packed_elems_bf16 and hn_gemm_pack_bf16, where there are blocks. */
int64_t hn_bf16_blocks_packed_elems(int64_t n, int64_t k);
void hn_bf16_blocks_pack(const hn_gemm_job_f32 *job, float *out);
/* packed_b is packed so. m, n and k are not 0. */
void hn_gemm_bf16_blocks(hn_pool *pool, const hn_gemm_job_f32 *job);

/* All that a step needs lies together: [step, row, 32] of a, [step, tile, pair, column, 2] of b. */
typedef struct hn_bf16_block {
    int64_t n_steps;
    const uint16_t *a; /* all 32 rows can be read */
    const uint16_t *b;
    /* Prefetched meanwhile, so much per step; NULL and 0: nothing. */
    const char *later;
    int64_t later_bytes;
    float *sums;
    int64_t sums_row;
    bool add; /* to what stands there */
} hn_bf16_block;

/* Where finished sums go. */
typedef struct hn_bf16_result {
    const float *sums; /* may be c */
    int64_t sums_row, rows, cols;
    bool add;
    const hn_epilogue_f32 *epilogue; /* of its first element; NULL: none */
    float *c;
    int64_t c_row;
} hn_bf16_result;

typedef struct hn_bf16_blocks {
    void (*begin)(void), (*end)(void); /* around the blocks of a thread */
    void (*block)(const hn_bf16_block *block);
    /* n floats of a row, in the steps of a block, with zeros up to a whole step. */
    void (*round)(int64_t n, const float *x, uint16_t *out);
    void (*finish)(const hn_bf16_result *result);
} hn_bf16_blocks;
const hn_bf16_blocks *hn_bf16_blocks_pick(void); /* NULL: this processor has none */

/* Sums are interrupted after so many numbers along k. The packed form of b is [slice, panel of 32
 * columns, step, ...]. */
#define HN_BF16_DEPTH 1152
int64_t hn_bf16_depth(int64_t k);
static inline int64_t hn_bf16_steps(int64_t k) {
    return (k + HN_BF16_STEP - 1) / HN_BF16_STEP;
}
static inline int64_t hn_bf16_panels(int64_t n) {
    return (n + HN_BF16_COLS - 1) / HN_BF16_COLS;
}

#endif /* HN_GEMM_BF16_H */
