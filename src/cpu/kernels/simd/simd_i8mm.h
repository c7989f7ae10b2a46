/* Products of two rows by two columns of eight bytes, with the matrix products of 64-bit Arm. */
#ifndef HN_SIMD_I8MM_H
#define HN_SIMD_I8MM_H

#include <arm_neon.h>

#include "cpu/kernels/simd/simd_word.h"

#if defined(__clang__)
#  define I8MM_TARGET __attribute__((target("i8mm")))
#else
#  define I8MM_TARGET __attribute__((target("arch=armv8.2-a+i8mm")))
#endif
#define I8MM_INLINE static inline __attribute__((always_inline)) I8MM_TARGET
#define I8MM int32x4_t
#define I8MM_LEFT uint8x16_t
#define I8MM_RIGHT int8x16_t
#define I8MM_ELEMS 4
#define I8MM_ZERO() vdupq_n_s32(0)
/* Eight bytes of two rows; the same of four bytes, with zeros behind them. */
#define I8MM_ROWS(p, q) vcombine_u8(vld1_u8(p), vld1_u8(q))
#define I8MM_SHORT_ROWS(p, q) \
  vreinterpretq_u8_s32((int32x4_t){hn_load_word(p), 0, hn_load_word(q), 0})
/* Four columns of a group, four bytes each; columns 0 and 1, or 2 and 3, of two groups. */
#define I8MM_GROUP(p) vreinterpretq_s32_s8(vld1q_s8(p))
#define I8MM_LOW_COLS(a, b) vreinterpretq_s8_s32(vzip1q_s32(a, b))
#define I8MM_HIGH_COLS(a, b) vreinterpretq_s8_s32(vzip2q_s32(a, b))
/* sum += rows of unsigned bytes times columns of signed ones, modulo 2^32: of the first row with
 * both columns, then of the second. */
#define I8MM_SUM(sum, rows, cols) ((sum) = vusmmlaq_s32(sum, rows, cols))
/* The first, or the second row of two such sums. */
#define I8MM_I64(v) vreinterpretq_s64_s32(v)
#define I8MM_FIRST_ROW(a, b) vreinterpretq_s32_s64(vtrn1q_s64(I8MM_I64(a), I8MM_I64(b)))
#define I8MM_SECOND_ROW(a, b) vreinterpretq_s32_s64(vtrn2q_s64(I8MM_I64(a), I8MM_I64(b)))
#define I8MM_STORE(p, v) vst1q_s32(p, v)
/* No load behind it is done before it: gcc 12 would load all rows first, and spill sums. */
#define I8MM_LOADS_STAY() __asm__ volatile("" ::: "memory")

#endif /* HN_SIMD_I8MM_H */
