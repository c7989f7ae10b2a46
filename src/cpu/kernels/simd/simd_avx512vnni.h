/* Vectors of 16 integers of 32 bits, and products of 64 bytes, with AVX-512 VNNI. No other
 * instruction set has these words yet, so they are never undefined. */
#ifndef HN_SIMD_AVX512VNNI_H
#define HN_SIMD_AVX512VNNI_H

#include <immintrin.h>

#include "cpu/kernels/simd/simd_word.h"

#define VNNI __m512i
#define VNNI_ELEMS 16
#define VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define VNNI_INLINE static inline __attribute__((always_inline)) VNNI_TARGET
#define VNNI_ZERO() _mm512_setzero_si512()
#define VNNI_LOAD(p) _mm512_loadu_si512(p)
#define VNNI_STORE(p, v) _mm512_storeu_si512(p, v)
#define VNNI_PREFETCH(p) _mm_prefetch(p, _MM_HINT_T0)
/* Bytes, or pairs of bytes, of the lower and the upper half of each quarter in turns; quarters of
 * two vectors. */
#define VNNI_LOW_BYTES(a, b) _mm512_unpacklo_epi8(a, b)
#define VNNI_HIGH_BYTES(a, b) _mm512_unpackhi_epi8(a, b)
#define VNNI_LOW_PAIRS(a, b) _mm512_unpacklo_epi16(a, b)
#define VNNI_HIGH_PAIRS(a, b) _mm512_unpackhi_epi16(a, b)
#define VNNI_QUARTERS_OF(a, b, which) _mm512_shuffle_i32x4(a, b, which)
/* The same four bytes for each element. */
#define VNNI_BROADCAST(p) _mm512_set1_epi32(hn_load_word(p))
/* sum += u0 * s0 + ... + u3 * s3 of the unsigned bytes of u and the signed bytes of s, modulo 2^32.
 * In assembly, because gcc 12 copies and spills the sums around the intrinsic. */
#define VNNI_DOT(sum, u, s) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "v"(s))

#endif /* HN_SIMD_AVX512VNNI_H */
