/* Conversions of 8 elements at a time. */
#include "cpu/kernels/convert/convert.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx2.h"
/* As in convert_avx512.c. */
V_INLINE __m128i bfloats__avx2(__m256 v) {
    __m256i bits = _mm256_castps_si256(v), odd = _mm256_srli_epi32(_mm256_slli_epi32(bits, 15), 31);
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    rounded = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
}
#  define STORE_HALVES(p, v) \
    _mm_storeu_si128((void *)(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#  define STORE_BFLOATS(p, v) _mm_storeu_si128((void *)(p), bfloats__avx2(v))
#  define LOAD_BYTES(p) _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p))))
#  include "cpu/kernels/convert/convert_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
