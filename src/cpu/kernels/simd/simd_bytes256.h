/* Sums of products of bytes in vectors of 8 integers of 32 bits: with AVX2, which widens bytes to
 * 16 bits because its product of bytes saturates, and with AVX-VNNI. */
#ifndef HN_SIMD_BYTES256_H
#define HN_SIMD_BYTES256_H

#include <immintrin.h>

#include "cpu/kernels/simd/simd_word.h"

#define YMM __m256i
#define YMM_ELEMS 8
#define YMM_TARGET __attribute__((target("avx2")))
#define YMM_INLINE static inline __attribute__((always_inline)) YMM_TARGET
#define YMM_ZERO() _mm256_setzero_si256()
#define YMM_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define YMM_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define YMM_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
/* The same four bytes for each element. */
#define YMM_BROADCAST(p) _mm256_set1_epi32(hn_load_word(p))
/* 16 signed bytes as 16-bit integers, and the same four unsigned ones four times. */
#define YMM_WIDE(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define YMM_WIDE_BROADCAST(p) _mm256_cvtepu8_epi16(_mm_set1_epi32(hn_load_word(p)))
/* The even and the odd ones of 32 signed bytes; the first, or the last eight of 16 unsigned bytes
 * of two vectors in turns. All as 16-bit integers. */
#define YMM_EVEN(v) _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8)
#define YMM_ODD(v) _mm256_srai_epi16(v, 8)
#define XMM __m128i
#define XMM_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define YMM_LOW_PAIRS(a, b) _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b))
#define YMM_HIGH_PAIRS(a, b) _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b))
/* sum += a0 * b0 + a1 * b1 of pairs of 16 bits: no such sum of products of bytes is too large. */
#define YMM_ADD_PAIRS(sum, a, b) ((sum) = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)))
/* Sums of neighbours: first those of a, then those of b. */
#define YMM_JOIN_PAIRS(a, b) _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8)
/* sum += u0 * s0 + ... + u3 * s3 of the unsigned bytes of u and the signed bytes of s, modulo 2^32,
 * by AVX-VNNI. */
#define YMM_DOT(sum, u, s) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(u), "x"(s))

#endif /* HN_SIMD_BYTES256_H */
