/* Tiles of 8 x 8 with the dot products of 64-bit Arm, which multiply signed by signed bytes: of a
 * they take a - 128, and what that lacks is 128 times the sums of b. 16 registers of sums, two of
 * 64 times the sums of b, two of b, and for each row four groups of a. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_dotprod.h"

enum { DOTPROD_ROWS = 8, DOTPROD_COLS = 2 * ARMDOT_ELEMS, DOTPROD_GROUPS = 4 };

typedef struct dotprod_sums {
    ARMDOT sums[DOTPROD_ROWS][2], right[2];
} dotprod_sums;

ARMDOT_INLINE void dotprod_right(dotprod_sums *s, ARMDOT_BYTES right0, ARMDOT_BYTES right1) {
    ARMDOT_SUM(s->right[0], right0, ARMDOT_SET1(64));
    ARMDOT_SUM(s->right[1], right1, ARMDOT_SET1(64));
}

#  define DOTPROD_EACH_ROW _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)

/* Group i of the four that were loaded of each row. */
#  define DOTPROD_STEP(i)                                                               \
    {                                                                                   \
      ARMDOT_BYTES right0 = ARMDOT_LOAD(b), right1 = ARMDOT_LOAD(b + 4 * ARMDOT_ELEMS); \
      dotprod_right(s, right0, right1);                                                 \
      DOTPROD_EACH_ROW {                                                                \
        ARMDOT_SUM_AT(s->sums[r][0], left[r], i, right0);                               \
        ARMDOT_SUM_AT(s->sums[r][1], left[r], i, right1);                               \
      }                                                                                 \
      b += DOTPROD_COLS * HN_U8S8_GROUP;                                                \
    }

ARMDOT_INLINE const int8_t *dotprod_run(const hn_u8s8_tile *t, const uint8_t *a, const int8_t *b,
                                        const int rows, dotprod_sums *s) {
    ARMDOT_BYTES left[DOTPROD_ROWS];
    int64_t g = 0;
    for (; g + DOTPROD_GROUPS <= t->n_groups; g += DOTPROD_GROUPS) {
        DOTPROD_EACH_ROW left[r] = ARMDOT_LOAD_SHIFTED(a + g * HN_U8S8_GROUP + r * t->a_row);
        DOTPROD_STEP(0)
        DOTPROD_STEP(1)
        DOTPROD_STEP(2)
        DOTPROD_STEP(3)
    }
    for (; g < t->n_groups; g++) {
        DOTPROD_EACH_ROW left[r] = ARMDOT_BROADCAST_SHIFTED(a + g * HN_U8S8_GROUP + r * t->a_row);
        DOTPROD_STEP(0)
    }
    return b;
}

ARMDOT_INLINE void dotprod_tile(const hn_u8s8_tile *t, const int rows) {
    dotprod_sums s;
    const int8_t *b = t->b;
    s.right[0] = s.right[1] = ARMDOT_ZERO();
    DOTPROD_EACH_ROW s.sums[r][0] = s.sums[r][1] = ARMDOT_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++)
        b = dotprod_run(t, t->a + t->runs[run], b, rows, &s);
    _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++)
        DOTPROD_EACH_ROW ARMDOT_STORE(t->sums + r * HN_U8S8_MOST_COLS + v * ARMDOT_ELEMS,
                                      ARMDOT_ADD(s.sums[r][v], ARMDOT_TWICE(s.right[v])));
}

#  define DOTPROD_TILE(rows)                                                            \
    static ARMDOT_TARGET void hn_gemm_u8s8_##rows##x8__dotprod(const hn_u8s8_tile *t) { \
      dotprod_tile(t, rows);                                                            \
    }
DOTPROD_TILE(1)
DOTPROD_TILE(2)
DOTPROD_TILE(3)
DOTPROD_TILE(4)
DOTPROD_TILE(5)
DOTPROD_TILE(6)
DOTPROD_TILE(7)
DOTPROD_TILE(8)
#  undef DOTPROD_TILE
#  undef DOTPROD_STEP
#  undef DOTPROD_EACH_ROW

const hn_u8s8_set hn_u8s8_set__dotprod = {
    .max_rows = DOTPROD_ROWS,
    .cols = DOTPROD_COLS,
    .step_groups = 1,
    .least_rows = 1,
    .tiles = {NULL, hn_gemm_u8s8_1x8__dotprod, hn_gemm_u8s8_2x8__dotprod, hn_gemm_u8s8_3x8__dotprod,
              hn_gemm_u8s8_4x8__dotprod, hn_gemm_u8s8_5x8__dotprod, hn_gemm_u8s8_6x8__dotprod,
              hn_gemm_u8s8_7x8__dotprod, hn_gemm_u8s8_8x8__dotprod}};
#endif
