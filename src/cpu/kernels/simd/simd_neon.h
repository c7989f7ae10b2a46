/* Vectors of 4 floats; see simd_avx512.h. */
#include <arm_neon.h>

#define V float32x4_t
#define V_ELEMS 4
#define V_REGISTERS 32
#define V_TILE_ROWS 8
#define V_TILE_COLS 8
#define V_WORKING_SET_ELEMS (32 * 1024)
#define V_TARGET
#define V_INLINE static inline __attribute__((always_inline)) V_TARGET
#define V_NAME(name) name##__neon
#define V_ZERO() vdupq_n_f32(0)
#define V_LOAD(p) vld1q_f32(p)
#define V_STORE(p, v) vst1q_f32(p, v)
#define V_LOAD_F16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define V_LOAD_BF16(p) vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16))
#define V_STORE_F16(p, v) vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#define V_STORE_BF16(p, v) vst1_u16(p, hn_bf16__neon(v))
#define V_LOAD_U8(p) vcvtq_f32_u32((uint32x4_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#define V_LOAD_S8(p) vcvtq_f32_s32((int32x4_t){(p)[0], (p)[1], (p)[2], (p)[3]})
#define V_STORE_U8(p, v) V_INT_STORE_BYTES(p, V_INT_OF(v))
#define V_STORE_S8(p, v) V_STORE_U8(p, v)
#define V_INT int32x4_t
#define V_INT_LOAD(p) vld1q_s32((const int32_t *)(p))
#define V_INT_STORE(p, v) vst1q_s32(p, v)
#define V_INT_SET1(x) vdupq_n_s32((int)(x))
#define V_INT_ADD(a, b) vaddq_s32(a, b)
#define V_INT_SUB(a, b) vsubq_s32(a, b)
#define V_INT_MUL(a, b) vmulq_s32(a, b)
#define V_INT_OF(v) vcvtnq_s32_f32(v)
#define V_OF_INT(v) vcvtq_f32_s32(v)
#define V_INT_STORE_BYTES(p, v) hn_store_bytes__neon(p, v)
#define V_SOME int
#define V_FIRST(n) ((int)(n))
#define V_LOAD_SOME(p, some) hn_load_some__neon(p, some)
#define V_STORE_SOME(p, some, v) hn_store_some__neon(p, some, v)
#define V_KEEP(v) __asm__("" : "+w"(v))
#define V_BROADCAST(p) vld1q_dup_f32(p)
#define V_SET1(x) vdupq_n_f32(x)
#define V_ADD(a, b) vaddq_f32(a, b)
#define V_SUB(a, b) vsubq_f32(a, b)
#define V_MUL(a, b) vmulq_f32(a, b)
#define V_DIV(a, b) vdivq_f32(a, b)
#define V_FMA(a, b, c) vfmaq_f32(c, a, b)
#define V_FNMA(a, b, c) vfmsq_f32(c, a, b)
/* As on x86: the second operand when either is NaN. */
#define V_MAX(a, b) vbslq_f32(vcgtq_f32(a, b), a, b)
#define V_MIN(a, b) vbslq_f32(vcltq_f32(a, b), a, b)
#define V_SQRT(a) vsqrtq_f32(a)
#define V_ABS(a) vabsq_f32(a)
#define V_SIGN_OF(a) \
  vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x80000000u)))
#define V_OR(a, b) \
  vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)))
#define V_ROUND(a) vrndnq_f32(a)
#define V_FLOOR(a) vrndmq_f32(a)
#define V_CEIL(a) vrndpq_f32(a)
#define V_EXPONENT(a) hn_exponent__neon(a)
#define V_MANTISSA(a)                                                                          \
  vreinterpretq_f32_u32(vorrq_u32(vandq_u32(vreinterpretq_u32_f32(a), vdupq_n_u32(0x7fffffu)), \
                                  vdupq_n_u32(0x3f800000u)))
#define V_IF_LESS(a, b, x, y) vbslq_f32(vcltq_f32(a, b), x, y)
#define V_IF_NAN(a, x, y) vbslq_f32(vceqq_f32(a, a), y, x)
#define V_TRUTH uint32x4_t
#define V_EQUAL(a, b) vceqq_f32(a, b)
#define V_LESS(a, b) vcltq_f32(a, b)
#define V_LESS_EQUAL(a, b) vcleq_f32(a, b)
#define V_STORE_TRUTH(p, t) hn_store_truth__neon(p, t)
#define V_LOAD_TRUTH(p) hn_load_truth__neon(p)
#define V_BOTH(t, u) vandq_u32(t, u)
#define V_ANY(t) (vmaxvq_u32(t) != 0)
#define V_CHOOSE(t, x, y) vbslq_f32(t, x, y)
#define V_EVEN(a, b) vuzp1q_f32(a, b)
#define V_SCALE(a, n) hn_scale__neon(a, n)
#define V_EXPONENT_WITHIN(t) V_MIN(V_SET1(129.0f), V_MAX(V_SET1(-151.0f), t))
#define V_SCALE_FLOOR(a, t) V_SCALE(a, V_FLOOR(t))
#define V_FRACTION(t) V_SUB(t, V_FLOOR(t))
#define V_INVERSE(a) V_DIV(V_SET1(1.0f), a)
#define V_SUM(a) vaddvq_f32(a)
#define V_LARGEST(a) vmaxvq_f32(a)
#define V_TRANSPOSE(r) hn_transpose__neon(r)

#ifndef HN_SIMD_NEON_H
#  define HN_SIMD_NEON_H

/* 2^n is made of two factors, so that results below the normal numbers come out right. */
static inline float32x4_t hn_scale__neon(float32x4_t a, float32x4_t n) {
    int32x4_t whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    int32x4_t rest = vsubq_s32(whole, half), bias = vdupq_n_s32(127);
    float32x4_t first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
    float32x4_t second = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23));
    return vmulq_f32(vmulq_f32(a, first), second);
}

static inline float32x4_t hn_load_some__neon(const float *p, int some) {
    float v[4] = {0};
    for (int i = 0; i < some; i++)
        v[i] = p[i];
    return vld1q_f32(v);
}

static inline void hn_store_some__neon(float *p, int some, float32x4_t all) {
    float v[4];
    vst1q_f32(v, all);
    for (int i = 0; i < some; i++)
        p[i] = v[i];
}

static inline void hn_store_truth__neon(uint8_t *p, uint32x4_t t) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(t[i] & 1);
}

static inline void hn_store_bytes__neon(void *p, int32x4_t v) {
    uint16x4_t low = vmovn_u32(vreinterpretq_u32_s32(v));
    uint8x8_t bytes = vmovn_u16(vcombine_u16(low, low));
    memcpy(p, &bytes, 4);
}

static inline uint32x4_t hn_load_truth__neon(const uint8_t *p) {
    uint32x4_t wide = {p[0], p[1], p[2], p[3]};
    return vtstq_u32(wide, wide);
}

static inline float32x4_t hn_exponent__neon(float32x4_t a) {
    uint32x4_t biased = vshrq_n_u32(vreinterpretq_u32_f32(a), 23);
    return vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(biased), vdupq_n_s32(127)));
}

/* As hn_bf16__avx512. */
V_INLINE uint16x4_t hn_bf16__neon(float32x4_t v) {
    uint32x4_t bits = vreinterpretq_u32_f32(v);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet), 16);
}

/* 4 x 4: pairs of rows interleave, then pairs of pairs. */
V_INLINE void hn_transpose__neon(float32x4_t *r) {
    float64x2_t even0 = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1]));
    float64x2_t odd0 = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
    float64x2_t even1 = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]));
    float64x2_t odd1 = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
    r[0] = vreinterpretq_f32_f64(vtrn1q_f64(even0, even1));
    r[1] = vreinterpretq_f32_f64(vtrn1q_f64(odd0, odd1));
    r[2] = vreinterpretq_f32_f64(vtrn2q_f64(even0, even1));
    r[3] = vreinterpretq_f32_f64(vtrn2q_f64(odd0, odd1));
}
#endif
