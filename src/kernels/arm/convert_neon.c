/* Conversions of 4 elements at a time. */
#include "kernels/convert.h"

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
#  define LOAD_HALVES(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#  define STORE_HALVES(p, v) vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#  define LOAD_BYTES(p) vcvtq_f32_u32((uint32x4_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#  include "kernels/convert_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
