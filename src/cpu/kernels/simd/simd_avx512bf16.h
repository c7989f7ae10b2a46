/* Vectors of 16 pairs of bfloat16 in the words of simd_avx512.h, for tiles of products: an element
 * is a pair, and V_FMA adds both products to a sum that is a float. Ended by simd_end.h. */
#include "cpu/kernels/simd/simd_avx512.h"

#undef V_NAME
#define V_NAME(name) name##__avx512bf16
#undef V_FMA
#define V_FMA(a, b, c) hn_add_pairs__avx512bf16(a, b, c)
/* There are no pairs of anything else. */
#undef V_LOAD_F16
#undef V_LOAD_BF16

#ifndef HN_SIMD_AVX512BF16_H
#  define HN_SIMD_AVX512BF16_H
/* In assembly: the types of the intrinsic need a compiler option. */
V_INLINE __m512 hn_add_pairs__avx512bf16(__m512 a, __m512 b, __m512 sum) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
}
#endif
