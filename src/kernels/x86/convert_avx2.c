/* Conversions of 8 elements at a time; these need F16C beside AVX2. */
#include "kernels/convert.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx2.h"
#  undef V_TARGET
#  define V_TARGET __attribute__((target("avx2,fma,f16c")))
#  define LOAD_HALVES(p) _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#  define STORE_HALVES(p, v) \
     _mm_storeu_si128((void *)(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#  define LOAD_BYTES(p) \
     _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p))))
#  include "kernels/convert_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
