/* Vectors of 8 integers of 32 bits, or of 32 bytes; see simd_dot_avx512vnni.h. */
#include "cpu/kernels/simd/simd_avx2.h"
#include "cpu/kernels/simd/simd_word.h"

#define D __m256i
#define D_NAME(name) name##__avx2
#define D_LOAD(p) _mm256_loadu_si256((const void *)(p))
#define D_SET1(x) _mm256_set1_epi32(x)
#define D_BROADCAST(p) _mm256_set1_epi32(hn_load_word(p))
#define D_AND(a, b) _mm256_and_si256(a, b)
#define D_SHIFT(v, n) _mm256_srli_epi32(v, n)
#define D_MUL(a, b) _mm256_mullo_epi32(a, b)
#define D_WIDEN_U8(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p)))
#define D_TO_FLOAT(v) _mm256_cvtepi32_ps(v)
#define D_SLOW_ROWS 8
#define D_DOT(sum, u, s) (sum) = hn_dot__avx2(sum, u, s)
/* Pairs of products fit 16 bits. */
#define D_DOT_LOW(sum, u, s) \
  (sum) = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)))

#ifndef HN_SIMD_DOT_AVX2_H
#  define HN_SIMD_DOT_AVX2_H
/* Even and odd bytes as numbers of 16 bits: the instruction for bytes would saturate. */
V_INLINE __m256i hn_dot__avx2(__m256i sum, __m256i u, __m256i s) {
    __m256i even = _mm256_and_si256(u, _mm256_set1_epi16(0xFF)), odd = _mm256_srli_epi16(u, 8);
    __m256i s_even = _mm256_srai_epi16(_mm256_slli_epi16(s, 8), 8), s_odd = _mm256_srai_epi16(s, 8);
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(even, s_even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(odd, s_odd));
}
#endif
