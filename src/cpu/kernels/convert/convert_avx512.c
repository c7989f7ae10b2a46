/* Conversions of 16 elements at a time. */
#include "cpu/kernels/convert/convert.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx512.h"
/* To the nearest, ties to even: half of the last place, less a bit when the place is even, carries
 * over. NaN keeps its upper bits and becomes quiet. */
V_INLINE __m256i bfloats__avx512(__m512 v) {
    __m512i bits = _mm512_castps_si512(v), odd = _mm512_srli_epi32(_mm512_slli_epi32(bits, 15), 31);
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, is_nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}
#  define STORE_HALVES(p, v) \
    _mm256_storeu_si256((void *)(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#  define STORE_BFLOATS(p, v) _mm256_storeu_si256((void *)(p), bfloats__avx512(v))
#  define LOAD_BYTES(p) _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p))))
#  include "cpu/kernels/convert/convert_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
