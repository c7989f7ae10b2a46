/* Tiles of 12 x 8 with the matrix products of 64-bit Arm: pairs of rows times pairs of columns, two
 * groups at a time. 24 registers of sums, four of b, one of a. Columns of two groups are joined in
 * registers, so that b lies as for the other instruction sets: that is four instructions for 24
 * products. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_i8mm.h"

enum {
    I8MM_TILE_ROWS = 12,
    I8MM_TILE_COLS = 2 * I8MM_ELEMS,
    I8MM_ROW_PAIRS = I8MM_TILE_ROWS / 2,
    I8MM_COL_PAIRS = I8MM_TILE_COLS / 2,
    I8MM_GROUP_BYTES = I8MM_TILE_COLS * HN_U8S8_GROUP
};

typedef struct i8mm_sums {
    I8MM pairs[I8MM_ROW_PAIRS][I8MM_COL_PAIRS];
} i8mm_sums;

#  define I8MM_EACH_PAIR _Pragma("GCC unroll 6") for (int r = 0; r < rows; r += 2)

/* Two groups of all rows; `rows_of` reads those of two rows. An odd last row is its own pair. */
#  define I8MM_STEP(rows_of, low, low_next, high, high_next)                                \
    {                                                                                       \
      I8MM_RIGHT right0 = I8MM_LOW_COLS(low, low_next);                                     \
      I8MM_RIGHT right1 = I8MM_HIGH_COLS(low, low_next);                                    \
      I8MM_RIGHT right2 = I8MM_LOW_COLS(high, high_next);                                   \
      I8MM_RIGHT right3 = I8MM_HIGH_COLS(high, high_next);                                  \
      I8MM_EACH_PAIR {                                                                      \
        I8MM_LEFT left = rows_of(a + r * t->a_row, a + HN_MIN(r + 1, rows - 1) * t->a_row); \
        I8MM_SUM(s->pairs[r / 2][0], left, right0);                                         \
        I8MM_SUM(s->pairs[r / 2][1], left, right1);                                         \
        I8MM_SUM(s->pairs[r / 2][2], left, right2);                                         \
        I8MM_SUM(s->pairs[r / 2][3], left, right3);                                         \
        I8MM_LOADS_STAY();                                                                  \
      }                                                                                     \
    }

I8MM_INLINE const int8_t *i8mm_run(const hn_u8s8_tile *t, const uint8_t *a, const int8_t *b,
                                   const int rows, i8mm_sums *s) {
    const int half = I8MM_GROUP_BYTES / 2;
    for (int64_t g = t->n_groups / 2; g > 0; g--) {
        I8MM_STEP(I8MM_ROWS, I8MM_GROUP(b), I8MM_GROUP(b + I8MM_GROUP_BYTES), I8MM_GROUP(b + half),
                  I8MM_GROUP(b + I8MM_GROUP_BYTES + half))
        a += 2 * HN_U8S8_GROUP;
        b += 2 * I8MM_GROUP_BYTES;
    }
    if (t->n_groups % 2) {
        I8MM_STEP(I8MM_SHORT_ROWS, I8MM_GROUP(b), I8MM_ZERO(), I8MM_GROUP(b + half), I8MM_ZERO())
        b += I8MM_GROUP_BYTES;
    }
    return b;
}

I8MM_INLINE void i8mm_tile(const hn_u8s8_tile *t, const int rows) {
    i8mm_sums s;
    const int8_t *b = t->b;
    I8MM_EACH_PAIR _Pragma("GCC unroll 4") for (int v = 0; v < I8MM_COL_PAIRS; v++)
        s.pairs[r / 2][v] = I8MM_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++)
        b = i8mm_run(t, t->a + t->runs[run], b, rows, &s);
    I8MM_EACH_PAIR _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
        I8MM left = s.pairs[r / 2][2 * v], right = s.pairs[r / 2][2 * v + 1];
        int32_t *sums = t->sums + r * HN_U8S8_MOST_COLS + v * I8MM_ELEMS;
        I8MM_STORE(sums, I8MM_FIRST_ROW(left, right));
        if (r + 1 < rows)
            I8MM_STORE(sums + HN_U8S8_MOST_COLS, I8MM_SECOND_ROW(left, right));
    }
}

#  define I8MM_EACH_TILE(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#  define I8MM_TILE(rows)                                                          \
    static I8MM_TARGET void hn_gemm_u8s8_##rows##x8__i8mm(const hn_u8s8_tile *t) { \
      i8mm_tile(t, rows);                                                          \
    }
I8MM_EACH_TILE(I8MM_TILE)

#  define I8MM_NAME(rows) hn_gemm_u8s8_##rows##x8__i8mm,
const hn_u8s8_set hn_u8s8_set__i8mm = {.max_rows = I8MM_TILE_ROWS,
                                       .cols = I8MM_TILE_COLS,
                                       .step_groups = 1,
                                       .least_rows = 1,
                                       .tiles = {NULL, I8MM_EACH_TILE(I8MM_NAME)}};

#  undef I8MM_NAME
#  undef I8MM_TILE
#  undef I8MM_EACH_TILE
#  undef I8MM_STEP
#  undef I8MM_EACH_PAIR
#endif
