/* Vectors of 4 integers of 32 bits, or of 16 bytes; see simd_dot_avx512vnni.h. */
#include "cpu/kernels/simd/simd_neon.h"
#include "cpu/kernels/simd/simd_word.h"

#define D int32x4_t
#define D_NAME(name) name##__neon
#define D_LOAD(p) vreinterpretq_s32_u8(vld1q_u8((const void *)(p)))
#define D_SET1(x) vdupq_n_s32(x)
#define D_BROADCAST(p) vdupq_n_s32(hn_load_word(p))
#define D_AND(a, b) vandq_s32(a, b)
#define D_SHIFT(v, n) vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), vdupq_n_s32(-(n))))
#define D_MUL(a, b) vmulq_s32(a, b)
#define D_WIDEN_U8(p) ((int32x4_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#define D_TO_FLOAT(v) vcvtq_f32_s32(v)
#define D_SLOW_ROWS 4
#define D_DOT(sum, u, s) (sum) = hn_dot__neon(sum, u, s)
#define D_DOT_LOW(sum, u, s) (sum) = hn_dot__neon(sum, u, s)

#ifndef HN_SIMD_DOT_NEON_H
#  define HN_SIMD_DOT_NEON_H
/* A product of bytes of either kind fits 16 bits. */
V_INLINE int32x4_t hn_dot__neon(int32x4_t sum, int32x4_t u, int32x4_t s) {
    uint8x16_t left = vreinterpretq_u8_s32(u);
    int8x16_t right = vreinterpretq_s8_s32(s);
    int16x8_t low =
        vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(left))), vmovl_s8(vget_low_s8(right)));
    int16x8_t high = vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(left))),
                               vmovl_s8(vget_high_s8(right)));
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
}
#endif
