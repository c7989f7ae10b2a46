/* Loops of attention, 4 queries at a time. */
#include "kernels/attention_int.h"

#include <float.h>

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
/* clang-format on */

static inline void turn_vectors__neon(V v[V_ELEMS]) {
    float32x4x2_t a = vzipq_f32(v[0], v[2]), b = vzipq_f32(v[1], v[3]);
    float32x4x2_t low = vzipq_f32(a.val[0], b.val[0]), high = vzipq_f32(a.val[1], b.val[1]);
    v[0] = low.val[0];
    v[1] = low.val[1];
    v[2] = high.val[0];
    v[3] = high.val[1];
}

#  define V_TURN(v) turn_vectors__neon(v)
#  include "kernels/attention_soften_tmpl.h"
#  undef V_TURN
#  include "kernels/simd_end.h"
#endif
