/* Conversions of 16 elements at a time. */
#include "kernels/convert.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx512.h"
#  define LOAD_HALVES(p) _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#  define STORE_HALVES(p, v) \
     _mm256_storeu_si256((void *)(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#  define LOAD_BYTES(p) \
     _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p))))
#  include "kernels/convert_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
