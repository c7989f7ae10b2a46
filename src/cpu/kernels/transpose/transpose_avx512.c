/* Tiles of 16 x 16: pairs of rows, then of pairs, interleave within each quarter of a vector; then
 * the quarters change places. 64 shuffles for 256 elements, all in registers. */
#include "cpu/kernels/transpose/transpose_int.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx512.h"
/* clang-format on */

/* Within quarters: element k of four rows that follow each other becomes quarter-row k. */
V_INLINE void turn_quarters__avx512(V *r) {
    V low0 = _mm512_unpacklo_ps(r[0], r[1]), high0 = _mm512_unpackhi_ps(r[0], r[1]);
    V low1 = _mm512_unpacklo_ps(r[2], r[3]), high1 = _mm512_unpackhi_ps(r[2], r[3]);
    r[0] = _mm512_shuffle_ps(low0, low1, 0x44);
    r[1] = _mm512_shuffle_ps(low0, low1, 0xEE);
    r[2] = _mm512_shuffle_ps(high0, high1, 0x44);
    r[3] = _mm512_shuffle_ps(high0, high1, 0xEE);
}

V_INLINE void turn__avx512(V *r) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 16; i += 4) turn_quarters__avx512(r + i);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        V a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        V b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
        V c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        V d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
        r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
        r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
}

#  define V_TURN(r) turn__avx512(r)
/* clang-format off */
#  include "cpu/kernels/transpose/transpose_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
