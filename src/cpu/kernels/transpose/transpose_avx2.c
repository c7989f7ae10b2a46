/* Tiles of 8 x 8: pairs of rows, then of pairs, interleave within each half of a vector; then the
 * halves change places. 24 shuffles for 64 elements, all in registers. */
#include "cpu/kernels/transpose/transpose_int.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx2.h"
/* clang-format on */

/* Within halves: element k of four rows that follow each other becomes half-row k. */
V_INLINE void turn_halves__avx2(V *r) {
    V low0 = _mm256_unpacklo_ps(r[0], r[1]), high0 = _mm256_unpackhi_ps(r[0], r[1]);
    V low1 = _mm256_unpacklo_ps(r[2], r[3]), high1 = _mm256_unpackhi_ps(r[2], r[3]);
    r[0] = _mm256_shuffle_ps(low0, low1, 0x44);
    r[1] = _mm256_shuffle_ps(low0, low1, 0xEE);
    r[2] = _mm256_shuffle_ps(high0, high1, 0x44);
    r[3] = _mm256_shuffle_ps(high0, high1, 0xEE);
}

V_INLINE void turn__avx2(V *r) {
    turn_halves__avx2(r);
    turn_halves__avx2(r + 4);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        V low = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
        r[i] = low;
    }
}

#  define V_TURN(r) turn__avx2(r)
/* clang-format off */
#  include "cpu/kernels/transpose/transpose_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
