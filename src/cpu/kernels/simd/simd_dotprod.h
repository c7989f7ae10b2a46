/* Vectors of 4 integers of 32 bits, and products of 16 signed bytes, with the dot products of
 * 64-bit Arm. */
#ifndef HN_SIMD_DOTPROD_H
#define HN_SIMD_DOTPROD_H

#include <arm_neon.h>

#include "base/base.h"

#if defined(__clang__)
#  define ARMDOT_TARGET __attribute__((target("dotprod")))
#else
#  define ARMDOT_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define ARMDOT_INLINE static inline __attribute__((always_inline)) ARMDOT_TARGET
#define ARMDOT int32x4_t
#define ARMDOT_BYTES int8x16_t
#define ARMDOT_ELEMS 4
#define ARMDOT_ZERO() vdupq_n_s32(0)
#define ARMDOT_LOAD(p) vld1q_s8(p)
#define ARMDOT_SET1(x) vdupq_n_s8(x)
/* Unsigned bytes less 128: 16 of them, or the same four four times. */
#define ARMDOT_LOAD_SHIFTED(p) vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(0x80)))
#define ARMDOT_BROADCAST_SHIFTED(p) \
  vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(hn_words__dotprod(p)), vdupq_n_u8(0x80)))
/* sum += a0 * b0 + ... + a3 * b3 of each four bytes; of a those that stand at `i`, four times. */
#define ARMDOT_SUM(sum, a, b) ((sum) = vdotq_s32(sum, a, b))
#define ARMDOT_SUM_AT(sum, a, i, b) ((sum) = vdotq_laneq_s32(sum, b, a, i))
#define ARMDOT_TWICE(v) vshlq_n_s32(v, 1)
#define ARMDOT_ADD(a, b) vaddq_s32(a, b)
#define ARMDOT_STORE(p, v) vst1q_s32(p, v)

ARMDOT_INLINE uint32x4_t hn_words__dotprod(const void *p) {
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return vdupq_n_u32(word);
}

#endif /* HN_SIMD_DOTPROD_H */
