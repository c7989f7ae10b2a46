/* Vectors of 16 integers of 32 bits, and products of 64 bytes, with AVX-512 VNNI. No other
 * instruction set has these words yet, so they are never undefined. */
#ifndef HN_SIMD_AVX512VNNI_H
#define HN_SIMD_AVX512VNNI_H

#include <immintrin.h>

#include "cpu/kernels/simd/simd_word.h"

#define VNNI __m512i
#define VNNI_ELEMS 16
#define VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define VNNI_INLINE static inline __attribute__((always_inline)) VNNI_TARGET
#define VNNI_ZERO() _mm512_setzero_si512()
#define VNNI_LOAD(p) _mm512_loadu_si512(p)
#define VNNI_STORE(p, v) _mm512_storeu_si512(p, v)
/* 32 bytes here, then 32 there. */
#define VNNI_LOAD_TWO(p, q)                                                         \
  _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)(p))), \
                     _mm256_loadu_si256((const void *)(q)), 1)
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

/* ---- sums as bytes ---- */

#define VNNI_ADD(a, b) _mm512_add_epi32(a, b)
#define VNNI_FLOATS __m512
#define VNNI_FLOATS_LOAD(p) _mm512_loadu_ps(p)
#define VNNI_FLOATS_SET1(x) _mm512_set1_ps(x)
#define VNNI_FLOATS_ADD(a, b) _mm512_add_ps(a, b)
#define VNNI_FLOATS_SUB(a, b) _mm512_sub_ps(a, b)
#define VNNI_FLOATS_MUL(a, b) _mm512_mul_ps(a, b)
#define VNNI_FLOATS_MIN(a, b) _mm512_min_ps(a, b) /* b when either is NaN */
#define VNNI_FLOATS_MAX(a, b) _mm512_max_ps(a, b)
#define VNNI_FLOATS_OF(v) _mm512_cvtepi32_ps(v)
#define VNNI_FLOATS_OF_BITS(v) _mm512_castsi512_ps(v)
#define VNNI_BITS_OF(v) _mm512_castps_si512(v)
/* To the nearest, ties to even. What has no integer, NaN too, becomes the least one. */
#define VNNI_FLOATS_ROUND(v) _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define VNNI_OF_FLOATS(v) _mm512_cvtps_epi32(v)
/* The first n elements, or bytes: memory of others is not touched, they are loaded as 0. */
#define VNNI_SOME __mmask16
#define VNNI_FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define VNNI_SOME_BYTES __mmask32
#define VNNI_FIRST_BYTES(n) ((__mmask32)(UINT32_MAX >> (32 - (n)))) /* n > 0 */
#define VNNI_LOAD_SOME(p, some) _mm512_maskz_loadu_epi32(some, p)
#define VNNI_FLOATS_LOAD_SOME(p, some) _mm512_maskz_loadu_ps(some, p)
/* 16 unsigned bytes, of which some are read; `flip` changes their bits first. */
#define VNNI_BYTES __m128i
#define VNNI_BYTES_SET1(x) _mm_set1_epi8((char)(x))
#define VNNI_LOAD_BYTES(p, some, flip) \
  _mm512_cvtepu8_epi32(_mm_xor_si128(_mm_maskz_loadu_epi8(some, p), flip))
/* Two vectors, saturated to 16 bits, less `least` in each; two of those as unsigned bytes plus
 * `least`, saturated before: first 32 of a, then 32 of b, in the order of the vectors they were. */
#define VNNI_WORDS_SET1(x) _mm512_set1_epi16((short)(x))
#define VNNI_WORDS(a, b, least) _mm512_subs_epi16(_mm512_packs_epi32(a, b), least)
#define VNNI_ALL_BYTES_SET1(x) _mm512_set1_epi8((char)(x))
#define VNNI_ROWS_OF_BYTES(a, b, order, least) \
  _mm512_add_epi8(_mm512_permutexvar_epi32(order, _mm512_packus_epi16(a, b)), least)
#define VNNI_ORDER_OF_ROWS() _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
/* The same of one row of 64 whose quarters change places: lane i of the results has lane i of the
 * four vectors. */
#define VNNI_ROW_OF_BYTES(a, b, least) _mm512_add_epi8(_mm512_packus_epi16(a, b), least)
#define VNNI_STORE_BYTES(p, n, v) \
  _mm512_mask_storeu_epi8(p, (__mmask64)(UINT64_MAX >> (64 - (n))), v) /* the first n > 0 */
#define VNNI_STORE_FIRST_ROW(p, some, v) _mm256_mask_storeu_epi8(p, some, _mm512_castsi512_si256(v))
#define VNNI_STORE_SECOND_ROW(p, some, v) \
  _mm256_mask_storeu_epi8(p, some, _mm512_extracti64x4_epi64(v, 1))

#endif /* HN_SIMD_AVX512VNNI_H */
