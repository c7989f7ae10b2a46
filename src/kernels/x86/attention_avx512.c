/* Loops of attention, 16 queries at a time. */
#include "kernels/attention_int.h"

#include <float.h>

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx512.h"
/* clang-format on */

/* A square of 16: pairs of rows, then fours within each quarter of a vector, then the quarters. */
static inline V_TARGET void turn_vectors__avx512(V v[V_ELEMS]) {
    V t[V_ELEMS], u[V_ELEMS];
    _Pragma("GCC unroll 8") for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 16; i += 4)
        _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++) {
        __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
        u[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
        u[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        V even = _mm512_shuffle_f32x4(u[i], u[4 + i], 0x88);
        V odd = _mm512_shuffle_f32x4(u[i], u[4 + i], 0xDD);
        V more_even = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0x88);
        V more_odd = _mm512_shuffle_f32x4(u[8 + i], u[12 + i], 0xDD);
        v[i] = _mm512_shuffle_f32x4(even, more_even, 0x88);
        v[4 + i] = _mm512_shuffle_f32x4(odd, more_odd, 0x88);
        v[8 + i] = _mm512_shuffle_f32x4(even, more_even, 0xDD);
        v[12 + i] = _mm512_shuffle_f32x4(odd, more_odd, 0xDD);
    }
}

#  define V_TURN(v) turn_vectors__avx512(v)
#  include "kernels/attention_soften_tmpl.h"
#  undef V_TURN
#  include "kernels/simd_end.h"
#endif
