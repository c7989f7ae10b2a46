/* Inside kernels/: tiles of a float product whose sums stay in registers. */
#ifndef HN_GEMM_MICRO_H
#define HN_GEMM_MICRO_H

#include "kernels/vec.h"

/* c[rows, cols] = a[rows, k] * b[k, cols], or c += with `add`. b is a panel of the kernel's full
 * width, row after row; only `cols` columns of c are touched. `end` (NULL: none) holds for the
 * tile: its bias and residual begin where the tile does. */
typedef void (*hn_gemm_micro_f32)(int64_t k, const float *a, int64_t a_row, int64_t a_col,
                                  const float *b, float *c, int64_t c_row, int64_t cols, bool add,
                                  const hn_gemm_end_f32 *end);

#define HN_GEMM_MAX_ROWS 16
#define HN_GEMM_MAX_COLS 32
#define HN_GEMM_BLOCK_COLS 128 /* of one call of hn_panels_f32, at most */

/* The tiles of one instruction set. */
typedef struct hn_gemm_set_f32 {
    const char *isa;
    int max_rows, cols;
    hn_gemm_micro_f32 micro[HN_GEMM_MAX_ROWS + 1]; /* by rows, from 1 */
} hn_gemm_set_f32;

/* The best that this processor has; NULL: plain C is. */
const hn_gemm_set_f32 *hn_gemm_pick_f32(void);
/* One per instruction set, in the order of preference; NULL past the last. */
const hn_gemm_set_f32 *hn_gemm_set_at_f32(uint32_t i, uint64_t *needs);

#endif /* HN_GEMM_MICRO_H */
