/* Small number formats. Integer arithmetic only, so the results do not depend on the rounding or
 * denormal mode that the caller has set in the floating-point unit. */
#include "base/base.h"

#define F32_MAN_BITS 23
#define F32_BIAS 127
#define F32_SIGN 0x80000000u
#define F32_INF 0x7F800000u
#define F32_NAN 0x7FC00000u
#define F32_QUIET 0x00400000u
#define F32_HIDDEN_BIT 0x00800000u

/* A format with a sign bit, described by its magnitudes (codes without the sign). Below
 * `max_finite` magnitudes are in numerical order, so rounding may carry from the mantissa into the
 * exponent. */
typedef struct float_layout {
    uint8_t man_bits;
    uint8_t bias;
    uint8_t sign_shift;
    bool has_negative_zero; /* when false, the code of -0 is the only NaN */
    uint16_t max_finite;
    uint16_t infinity; /* 0 = the format has none */
    uint16_t nan;      /* 0 = the format has none */
} float_layout;

static const float_layout layout_f16 = {10, 15, 15, true, 0x7BFF, 0x7C00, 0x7E00};
static const float_layout layout_f4 = {1, 1, 3, true, 0x7, 0, 0};
static const float_layout layouts_f6[] = {
    [HN_F6_E2M3] = {3, 1, 5, true, 0x1F, 0, 0},
    [HN_F6_E3M2] = {2, 3, 5, true, 0x1F, 0, 0},
};
static const float_layout layouts_f8[] = {
    [HN_F8_E4M3FN] = {3, 7, 7, true, 0x7E, 0, 0x7F},
    [HN_F8_E4M3FNUZ] = {3, 8, 7, false, 0x7F, 0, 0x80},
    [HN_F8_E5M2] = {2, 15, 7, true, 0x7B, 0x7C, 0x7E},
    [HN_F8_E5M2FNUZ] = {2, 16, 7, false, 0x7F, 0, 0x80},
};

static inline uint32_t f32_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* v / 2^shift, rounded to nearest, ties to even; shift >= 1. */
static inline uint32_t shift_right_nearest_even(uint32_t v, int shift) {
    uint32_t below_half = (1u << (shift - 1)) - 1;
    uint32_t is_odd = (v >> shift) & 1;
    return (v + below_half + is_odd) >> shift;
}

/* Bits of the float32 that equals a finite magnitude. */
static inline uint32_t widen_finite(uint32_t magnitude, const float_layout *layout) {
    int shift = F32_MAN_BITS - layout->man_bits;
    uint32_t rebias = (uint32_t)(F32_BIAS - layout->bias) << F32_MAN_BITS;
    if (magnitude >> layout->man_bits) {
        return (magnitude << shift) + rebias;
    }
    if (magnitude == 0) {
        return 0;
    }
    /* A subnormal: shift the leading bit into the hidden bit and lower the exponent accordingly. */
    uint32_t significand = magnitude << shift;
    uint32_t bits = rebias + F32_HIDDEN_BIT;
    while (!(significand & F32_HIDDEN_BIT)) {
        significand <<= 1;
        bits -= F32_HIDDEN_BIT;
    }
    return bits + (significand & ~F32_HIDDEN_BIT);
}

/* Magnitude nearest to a finite float32 magnitude, ties to even, as if the exponent range had no
 * upper limit. */
static inline uint32_t narrow_finite(uint32_t f32_magnitude, const float_layout *layout) {
    int shift = F32_MAN_BITS - layout->man_bits;
    int exponent = (int)(f32_magnitude >> F32_MAN_BITS) - F32_BIAS + layout->bias;
    if (exponent >= 1) {
        uint32_t rebias = (uint32_t)(F32_BIAS - layout->bias) << F32_MAN_BITS;
        return shift_right_nearest_even(f32_magnitude - rebias, shift);
    }
    shift += 1 - exponent;
    if (shift > F32_MAN_BITS + 1) {
        return 0; /* less than half of the smallest subnormal, as every float32 subnormal is */
    }
    uint32_t significand = (f32_magnitude & (F32_HIDDEN_BIT - 1)) | F32_HIDDEN_BIT;
    return shift_right_nearest_even(significand, shift);
}

static inline uint32_t narrow(uint32_t bits, const float_layout *layout, bool saturate) {
    uint32_t magnitude = bits & ~F32_SIGN;
    uint32_t sign = (bits >> 31) << layout->sign_shift;
    if (magnitude > F32_INF) {
        return layout->nan | sign;
    }
    uint32_t code = magnitude == F32_INF ? UINT32_MAX : narrow_finite(magnitude, layout);
    if (code > layout->max_finite) {
        code = saturate ? layout->max_finite : layout->infinity ? layout->infinity : layout->nan;
    }
    if (code == 0 && !layout->has_negative_zero) {
        return 0;
    }
    return code | sign;
}

static inline float widen(uint32_t code, const float_layout *layout) {
    uint32_t sign = (code >> layout->sign_shift) << 31;
    uint32_t magnitude = code & ((1u << layout->sign_shift) - 1);
    if (magnitude > layout->max_finite) {
        return f32_from_bits(sign | (magnitude == layout->infinity ? F32_INF : F32_NAN));
    }
    if (!layout->has_negative_zero && code == layout->nan) {
        return f32_from_bits(F32_NAN);
    }
    return f32_from_bits(sign | widen_finite(magnitude, layout));
}

/* NaNs of the 16-bit formats become quiet and keep their sign and upper payload, as in the
 * conversion instructions of processors, so that kernels that use those give the same bits. */
float hn_f16_to_f32(uint16_t h) {
    uint32_t magnitude = h & 0x7FFFu;
    if (magnitude > layout_f16.infinity) {
        uint32_t payload = magnitude << (F32_MAN_BITS - layout_f16.man_bits);
        return f32_from_bits((uint32_t)(h >> 15) << 31 | F32_NAN | payload);
    }
    return widen(h, &layout_f16);
}

uint16_t hn_f32_to_f16(float f) {
    uint32_t bits = f32_bits(f);
    uint32_t code = narrow(bits, &layout_f16, false);
    if ((bits & ~F32_SIGN) > F32_INF) {
        code |= (bits & (F32_HIDDEN_BIT - 1)) >> (F32_MAN_BITS - layout_f16.man_bits);
    }
    return (uint16_t)code;
}

float hn_bf16_to_f32(uint16_t h) {
    return f32_from_bits((uint32_t)h << 16);
}

uint16_t hn_f32_to_bf16(float f) {
    uint32_t bits = f32_bits(f);
    if ((bits & ~F32_SIGN) > F32_INF) {
        return (uint16_t)((bits | F32_QUIET) >> 16);
    }
    return (uint16_t)shift_right_nearest_even(bits, 16);
}

float hn_f8_to_f32(uint8_t v, hn_f8_kind kind) {
    return widen(v, &layouts_f8[kind]);
}

uint8_t hn_f32_to_f8(float f, hn_f8_kind kind, bool saturate) {
    return (uint8_t)narrow(f32_bits(f), &layouts_f8[kind], saturate);
}

/* Formats without Inf and NaN: Inf becomes the largest number, NaN negative zero. */
static inline uint8_t narrow_saturated(float f, const float_layout *layout) {
    uint32_t bits = f32_bits(f);
    if ((bits & ~F32_SIGN) > F32_INF) {
        return (uint8_t)(1u << layout->sign_shift);
    }
    return (uint8_t)narrow(bits, layout, true);
}

float hn_f6_to_f32(uint8_t code, hn_f6_kind kind) {
    return widen(code & 0x3Fu, &layouts_f6[kind]);
}

uint8_t hn_f32_to_f6(float f, hn_f6_kind kind) {
    return narrow_saturated(f, &layouts_f6[kind]);
}

float hn_f4_to_f32(uint8_t nibble) {
    return widen(nibble & 0xFu, &layout_f4);
}

uint8_t hn_f32_to_f4(float f) {
    return narrow_saturated(f, &layout_f4);
}

/* e8m0: a power of two from 2^-127 (code 0) to 2^127 (code 254), or NaN (255); the exponent field
 * of a float32. */
#define E8M0_MIN_F32 0x00400000u /* 2^-127, a float32 subnormal */
#define E8M0_MAX_F32 0x7F000000u /* 2^127 */
#define E8M0_MAX 254
#define E8M0_NAN 255

float hn_e8m0_to_f32(uint8_t v) {
    if (v == E8M0_NAN) {
        return f32_from_bits(F32_NAN);
    }
    return f32_from_bits(v == 0 ? E8M0_MIN_F32 : (uint32_t)v << F32_MAN_BITS);
}

uint8_t hn_f32_to_e8m0(float f, hn_round round, bool saturate) {
    uint32_t bits = f32_bits(f);
    if ((bits & ~F32_SIGN) > F32_INF) {
        return E8M0_NAN;
    }
    if ((bits & F32_SIGN) || bits < E8M0_MIN_F32) {
        return saturate ? 0 : E8M0_NAN;
    }
    if (bits > E8M0_MAX_F32) {
        return saturate ? E8M0_MAX : E8M0_NAN;
    }
    /* Between 2^-127 and 2^-126 the gap starts at the subnormal's leading bit and is half as wide.
     */
    uint32_t exponent = bits >> F32_MAN_BITS;
    uint32_t gap = exponent ? F32_HIDDEN_BIT : F32_HIDDEN_BIT / 2;
    uint32_t above = bits & (gap - 1);
    bool goes_up = round == HN_ROUND_UP ? above > 0 : round == HN_ROUND_NEAREST && above >= gap / 2;
    return (uint8_t)(exponent + goes_up);
}

/* Position of element i: a byte, and the number of its low bits that belong to earlier elements. */
static inline unsigned packed_shift(uint64_t i, int bits) {
    return (unsigned)(i % 8 * (unsigned)bits % 8);
}

static inline uint64_t packed_byte(uint64_t i, int bits) {
    return i / 8 * (unsigned)bits + i % 8 * (unsigned)bits / 8;
}

int hn_unpack_int(const uint8_t *data, uint64_t i, int bits, bool is_signed) {
    const uint8_t *at = &data[packed_byte(i, bits)];
    unsigned shift = packed_shift(i, bits);
    int n_codes = 1 << bits;
    unsigned code = (unsigned)at[0] >> shift;
    if (shift + (unsigned)bits > 8)
        code |= (unsigned)at[1] << (8 - shift);
    int value = (int)code & (n_codes - 1);
    return is_signed && value >= n_codes / 2 ? value - n_codes : value;
}

void hn_pack_int(uint8_t *data, uint64_t i, int bits, int value) {
    uint8_t *at = &data[packed_byte(i, bits)];
    unsigned shift = packed_shift(i, bits);
    unsigned mask = ((1u << bits) - 1) << shift;
    unsigned placed = ((unsigned)value << shift) & mask;
    at[0] = (uint8_t)((at[0] & ~mask) | placed);
    if (shift + (unsigned)bits > 8)
        at[1] = (uint8_t)((at[1] & ~(mask >> 8)) | placed >> 8);
}
