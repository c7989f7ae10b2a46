/* Tiles of 6 x 16 with AVX2, eight columns after the other: 12 registers of sums, which are those
 * of pairs until the end, two of b, one of a. Products are those of 16-bit integers: the one of
 * bytes that AVX2 has saturates its sums of pairs. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_bytes256.h"

enum { AVX2_ROWS = 6, AVX2_COLS = 2 * YMM_ELEMS, AVX2_GROUP_BYTES = AVX2_COLS * HN_U8S8_GROUP };

/* Columns `first` and the seven behind it. */
YMM_INLINE void avx2_half_tile(const hn_u8s8_tile *t, const int rows, const int first) {
    YMM sums[AVX2_ROWS][2];
    const int64_t by1 = t->a_row, by3 = 3 * by1;
    const int8_t *b = t->b + first * HN_U8S8_GROUP;
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = YMM_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *upper = t->a + t->runs[run], *lower = upper + by3;
        for (int64_t g = t->n_groups; g > 0; g--) {
            YMM right0 = YMM_WIDE(b), right1 = YMM_WIDE(b + 2 * YMM_ELEMS);
            _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++) {
                YMM left = YMM_WIDE_BROADCAST((r < 3 ? upper : lower) + r % 3 * by1);
                YMM_ADD_PAIRS(sums[r][0], left, right0);
                YMM_ADD_PAIRS(sums[r][1], left, right1);
            }
            upper += HN_U8S8_GROUP;
            lower += HN_U8S8_GROUP;
            b += AVX2_GROUP_BYTES;
        }
    }
    _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++)
        YMM_STORE(t->sums + r * HN_U8S8_MOST_COLS + first, YMM_JOIN_PAIRS(sums[r][0], sums[r][1]));
}

#  define AVX2_TILE(rows)                                                          \
    static YMM_TARGET void hn_gemm_u8s8_##rows##x16__avx2(const hn_u8s8_tile *t) { \
      avx2_half_tile(t, rows, 0);                                                  \
      avx2_half_tile(t, rows, YMM_ELEMS);                                          \
    }
AVX2_TILE(1)
AVX2_TILE(2)
AVX2_TILE(3)
AVX2_TILE(4)
AVX2_TILE(5)
AVX2_TILE(6)
#  undef AVX2_TILE

const hn_u8s8_set hn_u8s8_set__avx2 = {
    .max_rows = AVX2_ROWS,
    .cols = AVX2_COLS,
    .step_groups = 1,
    .least_rows = 1,
    .tiles = {NULL, hn_gemm_u8s8_1x16__avx2, hn_gemm_u8s8_2x16__avx2, hn_gemm_u8s8_3x16__avx2,
              hn_gemm_u8s8_4x16__avx2, hn_gemm_u8s8_5x16__avx2, hn_gemm_u8s8_6x16__avx2}};
#endif
