/* Vectors of 16 unsigned bytes, with what every x86-64 and every 64-bit Arm has; B16_ELEMS is 0
 * elsewhere. */
#ifndef HN_SIMD_BYTES16_H
#define HN_SIMD_BYTES16_H

#if defined(__x86_64__)
#  include <immintrin.h>
#  define B16_ELEMS 16
#  define B16 __m128i
#  define B16_SET1(x) _mm_set1_epi8((char)(x))
#  define B16_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#  define B16_STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#  define B16_XOR(a, b) _mm_xor_si128(a, b)
#  define B16_MAX(a, b) _mm_max_epu8(a, b)
#elif defined(__aarch64__)
#  include <arm_neon.h>
#  define B16_ELEMS 16
#  define B16 uint8x16_t
#  define B16_SET1(x) vdupq_n_u8(x)
#  define B16_LOAD(p) vld1q_u8(p)
#  define B16_STORE(p, v) vst1q_u8(p, v)
#  define B16_XOR(a, b) veorq_u8(a, b)
#  define B16_MAX(a, b) vmaxq_u8(a, b)
#else
#  define B16_ELEMS 0
#endif

#endif /* HN_SIMD_BYTES16_H */
