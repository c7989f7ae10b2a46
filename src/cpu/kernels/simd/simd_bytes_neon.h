/* Vectors of 4 integers of 32 bits, and products of bytes that are widened to 16 bits, with what
 * every 64-bit Arm has. */
#ifndef HN_SIMD_BYTES_NEON_H
#define HN_SIMD_BYTES_NEON_H

#include <arm_neon.h>

#define NEON_INLINE static inline __attribute__((always_inline))
#define NEON int32x4_t
#define NEON_ELEMS 4
#define NEON_ZERO() vdupq_n_s32(0)
#define NEON_STORE(p, v) vst1q_s32(p, v)
#define NEON_BYTES uint8x16_t
#define NEON_LOAD(p) vld1q_u8(p)
/* 64 signed bytes: vector i of the four has the bytes at i, i + 4, i + 8, ... */
#define NEON_FOURTHS int8x16x4_t
#define NEON_LOAD_FOURTHS(p) vld4q_s8(p)
/* The first, or the last eight of 16 bytes as integers of 16 bits. */
#define NEON_WIDE int16x8_t
#define NEON_LOW_SIGNED(v) vmovl_s8(vget_low_s8(v))
#define NEON_HIGH_SIGNED(v) vmovl_high_s8(v)
#define NEON_LOW_UNSIGNED(v) vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v)))
#define NEON_HIGH_UNSIGNED(v) vreinterpretq_s16_u16(vmovl_high_u8(v))
/* sum += products of the first, or the last four of eight. */
#define NEON_ADD_LOW(sum, a, b) ((sum) = vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b)))
#define NEON_ADD_HIGH(sum, a, b) ((sum) = vmlal_high_s16(sum, a, b))

#endif /* HN_SIMD_BYTES_NEON_H */
