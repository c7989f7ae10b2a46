/* Tiles of 6 x 16 with AVX-VNNI: 12 registers of sums, two of b, one of a. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_bytes256.h"

enum { AVXVNNI_ROWS = 6, AVXVNNI_COLS = 2 * YMM_ELEMS, AVXVNNI_AHEAD = 4096 };

YMM_INLINE void avxvnni_tile(const hn_u8s8_tile *t, const int rows) {
    YMM sums[AVXVNNI_ROWS][2];
    const int64_t by1 = t->a_row, by3 = 3 * by1;
    const int8_t *b = t->b;
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = YMM_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *upper = t->a + t->runs[run], *lower = upper + by3;
        for (int64_t g = t->n_groups; g > 0; g--) {
            YMM right0 = YMM_LOAD(b), right1 = YMM_LOAD(b + YMM_ELEMS * HN_U8S8_GROUP);
            YMM_PREFETCH(b + AVXVNNI_AHEAD);
            _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) {
                YMM left = YMM_BROADCAST((r < 3 ? upper : lower) + r % 3 * by1);
                YMM_DOT(sums[r][0], left, right0);
                YMM_DOT(sums[r][1], left, right1);
            }
            upper += HN_U8S8_GROUP;
            lower += HN_U8S8_GROUP;
            b += AVXVNNI_COLS * HN_U8S8_GROUP;
        }
    }
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) {
        YMM_STORE(t->sums + r * HN_U8S8_MOST_COLS, sums[r][0]);
        YMM_STORE(t->sums + r * HN_U8S8_MOST_COLS + YMM_ELEMS, sums[r][1]);
    }
}

#  define AVXVNNI_TILE(rows)                                                          \
    static YMM_TARGET void hn_gemm_u8s8_##rows##x16__avxvnni(const hn_u8s8_tile *t) { \
      avxvnni_tile(t, rows);                                                          \
    }
AVXVNNI_TILE(1)
AVXVNNI_TILE(2)
AVXVNNI_TILE(3)
AVXVNNI_TILE(4)
AVXVNNI_TILE(5)
AVXVNNI_TILE(6)
#  undef AVXVNNI_TILE

const hn_u8s8_set hn_u8s8_set__avxvnni = {
    .max_rows = AVXVNNI_ROWS,
    .cols = AVXVNNI_COLS,
    .step_groups = 1,
    .least_rows = 1,
    .tiles = {NULL, hn_gemm_u8s8_1x16__avxvnni, hn_gemm_u8s8_2x16__avxvnni,
              hn_gemm_u8s8_3x16__avxvnni, hn_gemm_u8s8_4x16__avxvnni, hn_gemm_u8s8_5x16__avxvnni,
              hn_gemm_u8s8_6x16__avxvnni}};
#endif
