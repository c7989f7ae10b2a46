/* Conversions of 4 elements at a time. */
#include "cpu/kernels/convert/convert.h"

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_neon.h"
/* As in convert_avx512.c. */
V_INLINE uint16x4_t bfloats__neon(float32x4_t v) {
    uint32x4_t bits = vreinterpretq_u32_f32(v);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet), 16);
}
#  define STORE_HALVES(p, v) vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#  define STORE_BFLOATS(p, v) vst1_u16(p, bfloats__neon(v))
#  define LOAD_BYTES(p) vcvtq_f32_u32((uint32x4_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#  include "cpu/kernels/convert/convert_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
