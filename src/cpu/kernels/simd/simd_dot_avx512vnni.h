/* Vectors of 16 integers of 32 bits, or of 64 bytes, beside the vectors of floats of simd_avx512.h.
 * Files that use them include simd_dot_end.h last.
 *
 * D_DOT adds u0 * s0 + ... + u3 * s3 of the unsigned bytes of u and the signed bytes of s to each
 * element, exactly; D_DOT_LOW does for bytes of u that are no more than 15. */
#include "cpu/kernels/simd/simd_avx512.h"
#include "cpu/kernels/simd/simd_avx512vnni.h"

#define D __m512i
#define D_NAME(name) name##__avx512vnni
#define D_LOAD(p) VNNI_LOAD(p)
#define D_SET1(x) _mm512_set1_epi32(x)
/* Four bytes that are the same for each element. */
#define D_BROADCAST(p) VNNI_BROADCAST(p)
#define D_AND(a, b) _mm512_and_si512(a, b)
#define D_SHIFT(v, n) _mm512_srli_epi32(v, (unsigned)(n)) /* right, zeros come in */
#define D_MUL(a, b) _mm512_mullo_epi32(a, b)
#define D_WIDEN_U8(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p)))
#define D_TO_FLOAT(v) _mm512_cvtepi32_ps(v)
/* From so many rows on a product of floats is faster than one of three digits. */
#define D_SLOW_ROWS INT64_MAX
#define D_DOT(sum, u, s) VNNI_DOT(sum, u, s)
#define D_DOT_LOW(sum, u, s) VNNI_DOT(sum, u, s)
