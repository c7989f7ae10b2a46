/* Tiles of 6 x 16 of one instruction set with vectors of 8 sums: 12 registers of sums, two of b,
 * one of a. T_COLS columns are computed after the others, from two vectors of b T_BYTES apart. */

YMM_INLINE void T_NAME(u8s8_columns)(const hn_u8s8_tile *t, const int rows, const int first) {
    YMM sums[YMM_TILE_ROWS][2];
    const int64_t by1 = t->a_row, by3 = 3 * by1;
    const int8_t *b = t->b + first * HN_U8S8_GROUP;
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = YMM_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *upper = t->a + t->runs[run], *lower = upper + by3;
        for (int64_t g = t->n_groups; g > 0; g--) {
            YMM right0 = T_RIGHT(b), right1 = T_RIGHT(b + T_BYTES);
            YMM_PREFETCH(b + YMM_TILE_AHEAD);
            _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) {
                YMM left = T_LEFT((r < 3 ? upper : lower) + r % 3 * by1);
                T_ADD(sums[r][0], left, right0);
                T_ADD(sums[r][1], left, right1);
            }
            upper += HN_U8S8_GROUP;
            lower += HN_U8S8_GROUP;
            b += YMM_TILE_COLS * HN_U8S8_GROUP;
        }
    }
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++)
        T_STORE(t->sums + r * HN_U8S8_MOST_COLS + first, sums[r][0], sums[r][1]);
}

#define YMM_EACH_TILE(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define YMM_TILE(rows)                                                                  \
  static YMM_TARGET void T_NAME(u8s8_##rows##x16)(const hn_u8s8_tile *t) {              \
    _Pragma("GCC unroll 2") for (int first = 0; first < YMM_TILE_COLS; first += T_COLS) \
        T_NAME(u8s8_columns)(t, rows, first);                                           \
  }
YMM_EACH_TILE(YMM_TILE)

#define YMM_TILE_FN(rows) T_NAME(u8s8_##rows##x16),
const hn_u8s8_set T_NAME(hn_u8s8_set) = {.max_rows = YMM_TILE_ROWS,
                                         .cols = YMM_TILE_COLS,
                                         .step_groups = 1,
                                         .least_rows = 1,
                                         .tiles = {NULL, YMM_EACH_TILE(YMM_TILE_FN)}};
#undef YMM_TILE_FN
#undef YMM_TILE
#undef YMM_EACH_TILE
#undef T_NAME
#undef T_COLS
#undef T_BYTES
#undef T_RIGHT
#undef T_LEFT
#undef T_ADD
#undef T_STORE
