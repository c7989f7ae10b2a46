/* Loops of attention, 8 queries at a time. */
#include "kernels/attention_int.h"

#include <float.h>

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx2.h"
/* clang-format on */

/* A square of 8: pairs of rows, then fours within each half of a vector, then the halves. */
static inline V_TARGET void turn_vectors__avx2(V v[V_ELEMS]) {
    V t[V_ELEMS], u[V_ELEMS];
    _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 8; i += 4)
        _Pragma("GCC unroll 2") for (int j = 0; j < 2; j++) {
        u[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
        u[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xEE);
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x20);
        v[4 + i] = _mm256_permute2f128_ps(u[i], u[4 + i], 0x31);
    }
}

#  define V_TURN(v) turn_vectors__avx2(v)
#  include "kernels/attention_soften_tmpl.h"
#  undef V_TURN
#  include "kernels/simd_end.h"
#endif
