/* Vectors of 64 bytes that are permuted, with AVX-512 VBMI. No other instruction set has these
 * words, so they are never undefined. */
#ifndef HN_SIMD_AVX512VBMI_H
#define HN_SIMD_AVX512VBMI_H

#include <immintrin.h>

#include "base/base.h"

#define VBMI __m512i
#define VBMI_ELEMS 64
#define VBMI_TARGET __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define VBMI_LOAD(p) _mm512_loadu_si512(p)
#define VBMI_STORE(p, v) _mm512_storeu_si512(p, v)
/* Bytes of a (64) and b (the next 64) by the lower seven bits of `at`. */
#define VBMI_PICK(a, at, b) _mm512_permutex2var_epi8(a, at, b)
/* b where the highest bit of `at` is set, else a. */
#define VBMI_BLEND(at, a, b) _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), a, b)
/* The first n elements, 0 < n < VBMI_ELEMS: memory of others is not touched. */
#define VBMI_SOME __mmask64
#define VBMI_FIRST(n) ((__mmask64)((UINT64_C(1) << (n)) - 1))
#define VBMI_LOAD_SOME(some, p) _mm512_maskz_loadu_epi8(some, p)
#define VBMI_STORE_SOME(p, some, v) _mm512_mask_storeu_epi8(p, some, v)

#endif /* HN_SIMD_AVX512VBMI_H */
