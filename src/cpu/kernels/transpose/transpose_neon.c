/* Tiles of 4 x 4: pairs of rows interleave, then pairs of pairs. */
#include "cpu/kernels/transpose/transpose_int.h"

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_neon.h"
/* clang-format on */

#  define WIDE(a) vreinterpretq_f64_f32(a)
#  define NARROW(a) vreinterpretq_f32_f64(a)

V_INLINE void turn__neon(V *r) {
    V even0 = vtrn1q_f32(r[0], r[1]), odd0 = vtrn2q_f32(r[0], r[1]);
    V even1 = vtrn1q_f32(r[2], r[3]), odd1 = vtrn2q_f32(r[2], r[3]);
    r[0] = NARROW(vtrn1q_f64(WIDE(even0), WIDE(even1)));
    r[1] = NARROW(vtrn1q_f64(WIDE(odd0), WIDE(odd1)));
    r[2] = NARROW(vtrn2q_f64(WIDE(even0), WIDE(even1)));
    r[3] = NARROW(vtrn2q_f64(WIDE(odd0), WIDE(odd1)));
}

#  define V_TURN(r) turn__neon(r)
/* clang-format off */
#  include "cpu/kernels/transpose/transpose_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#  undef WIDE
#  undef NARROW
#endif
