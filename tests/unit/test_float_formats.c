/* The plain twin: decode every code of a format by its definition, in double; encode by searching
 * that table for the nearest value, ties to the even code. The special cases are those of the
 * tables in the ONNX pages of Cast. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

enum { MAX_MAGNITUDES = 32768, N_RANDOM = 200000 };

typedef struct format {
    const char *name;
    int exp_bits, man_bits, bias;
    uint32_t max_finite;   /* largest finite magnitude */
    uint32_t overflow;     /* code of the magnitude beyond it, without saturation */
    uint32_t nan;          /* any NaN, without its sign */
    bool has_nan, has_inf; /* in the codes */
    bool is_fnuz;          /* finite, one NaN at the code of -0, no -0 */
    bool is_saturated;     /* always */
    uint32_t (*encode)(float f, bool saturate);
    float (*decode)(uint32_t code);
} format;

static uint32_t encode_f16(float f, bool saturate) {
    return (void)saturate, hn_f32_to_f16(f);
}
static float decode_f16(uint32_t code) {
    return hn_f16_to_f32((uint16_t)code);
}
static uint32_t encode_bf16(float f, bool saturate) {
    return (void)saturate, hn_f32_to_bf16(f);
}
static float decode_bf16(uint32_t code) {
    return hn_bf16_to_f32((uint16_t)code);
}
static uint32_t encode_f4(float f, bool saturate) {
    return (void)saturate, hn_f32_to_f4(f);
}
static float decode_f4(uint32_t code) {
    return hn_f4_to_f32((uint8_t)code);
}
#define F6_CODEC(kind)                                    \
  static uint32_t encode_##kind(float f, bool saturate) { \
    return (void)saturate, hn_f32_to_f6(f, HN_F6_##kind); \
  }                                                       \
  static float decode_##kind(uint32_t code) {             \
    return hn_f6_to_f32((uint8_t)code, HN_F6_##kind);     \
  }
F6_CODEC(E2M3)
F6_CODEC(E3M2)
#define F8_CODEC(kind)                                    \
  static uint32_t encode_##kind(float f, bool saturate) { \
    return hn_f32_to_f8(f, HN_F8_##kind, saturate);       \
  }                                                       \
  static float decode_##kind(uint32_t code) {             \
    return hn_f8_to_f32((uint8_t)code, HN_F8_##kind);     \
  }
F8_CODEC(E4M3FN)
F8_CODEC(E4M3FNUZ)
F8_CODEC(E5M2)
F8_CODEC(E5M2FNUZ)

static const format formats[] = {
    {"f16", 5, 10, 15, 0x7BFF, 0x7C00, 0x7E00, true, true, false, false, encode_f16, decode_f16},
    {"bf16", 8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, true, true, false, false, encode_bf16, decode_bf16},
    {"e4m3fn", 4, 3, 7, 0x7E, 0x7F, 0x7F, true, false, false, false, encode_E4M3FN, decode_E4M3FN},
    {"e4m3fnuz", 4, 3, 8, 0x7F, 0x80, 0x80, true, false, true, false, encode_E4M3FNUZ,
     decode_E4M3FNUZ},
    {"e5m2", 5, 2, 15, 0x7B, 0x7C, 0x7E, true, true, false, false, encode_E5M2, decode_E5M2},
    {"e5m2fnuz", 5, 2, 16, 0x7F, 0x80, 0x80, true, false, true, false, encode_E5M2FNUZ,
     decode_E5M2FNUZ},
    {"e2m3", 2, 3, 1, 0x1F, 0x1F, 0x20, false, false, false, true, encode_E2M3, decode_E2M3},
    {"e3m2", 3, 2, 3, 0x1F, 0x1F, 0x20, false, false, false, true, encode_E3M2, decode_E3M2},
    {"f4", 2, 1, 1, 0x7, 0x7, 0x8, false, false, false, true, encode_f4, decode_f4},
};

static double
    magnitudes[MAX_MAGNITUDES + 1]; /* of the format under test, and the step beyond the largest */

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static uint32_t sign_bit(const format *fmt) {
    return 1u << (fmt->exp_bits + fmt->man_bits);
}

static double defined_magnitude(const format *fmt, uint32_t code) {
    int exponent = (int)(code >> fmt->man_bits);
    double fraction = ldexp((double)(code & ((1u << fmt->man_bits) - 1)), -fmt->man_bits);
    return exponent ? ldexp(1 + fraction, exponent - fmt->bias) : ldexp(fraction, 1 - fmt->bias);
}

static void fill_magnitudes(const format *fmt) {
    for (uint32_t code = 0; code <= fmt->max_finite + 1; code++) {
        magnitudes[code] = defined_magnitude(fmt, code);
    }
}

/* Magnitudes grow with their codes, so the search for the nearest may halve the interval. */
static uint32_t nearest_code(const format *fmt, double v) {
    uint32_t low = 0, high = fmt->max_finite + 1;
    if (v >= magnitudes[high]) {
        return high;
    }
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (magnitudes[middle] <= v) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double below = v - magnitudes[low], above = magnitudes[high] - v;
    if (below == above) {
        return low % 2 == 0 ? low : high;
    }
    return below < above ? low : high;
}

static uint32_t expected_code(const format *fmt, float f, bool saturate) {
    uint32_t sign = signbit(f) ? sign_bit(fmt) : 0;
    uint32_t code = isinf(f) ? fmt->max_finite + 1 : nearest_code(fmt, fabs((double)f));
    if (code > fmt->max_finite) {
        code = saturate || fmt->is_saturated ? fmt->max_finite : fmt->overflow;
    }
    if (code == 0 && fmt->is_fnuz) {
        return 0;
    }
    return code | sign;
}

static void check_encode(const format *fmt, uint32_t bits) {
    float f = float_of(bits);
    bool ignores_saturate = fmt->exp_bits + fmt->man_bits == 15;
    for (int saturate = 0; saturate <= (ignores_saturate ? 0 : 1); saturate++) {
        uint32_t got = fmt->encode(f, saturate);
        if (isnan(f)) {
            bool is_right = fmt->has_nan ? isnan(fmt->decode(got)) : got == fmt->nan;
            assert_true(is_right);
        } else if (got != expected_code(fmt, f, saturate)) {
            fail_msg("%s of %a (saturate %d): got %#x, expected %#x", fmt->name, (double)f,
                     saturate, got, expected_code(fmt, f, saturate));
        }
    }
}

static void test_decode_every_code(void **state) {
    (void)state;
    for (size_t k = 0; k < HN_COUNT(formats); k++) {
        const format *fmt = &formats[k];
        for (uint32_t code = 0; code < 2 * sign_bit(fmt); code++) {
            uint32_t magnitude = code & (sign_bit(fmt) - 1);
            bool is_negative = (code & sign_bit(fmt)) != 0;
            float got = fmt->decode(code);
            if (fmt->is_fnuz && is_negative && magnitude == 0) {
                assert_true(isnan(got));
            } else if (magnitude <= fmt->max_finite) {
                double expected = defined_magnitude(fmt, magnitude);
                assert_true((double)got == (is_negative ? -expected : expected));
                assert_int_equal(signbit(got) != 0, is_negative);
            } else if (fmt->has_inf && magnitude == fmt->overflow) {
                assert_true(isinf(got) && (signbit(got) != 0) == is_negative);
            } else {
                assert_true(isnan(got));
            }
        }
    }
}

static void test_every_code_survives(void **state) {
    (void)state;
    for (size_t k = 0; k < HN_COUNT(formats); k++) {
        const format *fmt = &formats[k];
        for (uint32_t code = 0; code < 2 * sign_bit(fmt); code++) {
            float f = fmt->decode(code);
            if (!isnan(f)) {
                assert_int_equal(fmt->encode(f, false), code);
            }
        }
    }
}

/* Each value, each midpoint between neighbours, and the float32 on either side of both. */
static void test_encode_boundaries(void **state) {
    (void)state;
    for (size_t k = 0; k < HN_COUNT(formats); k++) {
        const format *fmt = &formats[k];
        fill_magnitudes(fmt);
        for (uint32_t code = 0; code <= fmt->max_finite; code++) {
            double middle = (magnitudes[code] + magnitudes[code + 1]) / 2;
            const uint32_t centers[] = {bits_of((float)magnitudes[code]), bits_of((float)middle)};
            for (size_t c = 0; c < HN_COUNT(centers); c++) {
                for (int step = -1; step <= 1; step++) {
                    uint32_t bits = (centers[c] + (uint32_t)step) & 0x7FFFFFFF;
                    check_encode(fmt, bits);
                    check_encode(fmt, bits | 0x80000000);
                }
            }
        }
    }
}

static void test_encode_random_bits(void **state) {
    (void)state;
    static const uint32_t specials[] = {0,          0x80000000, 1,          0x80000001, 0x7F800000,
                                        0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC00000, 0x7FFFFFFF,
                                        0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x007FFFFF};
    hn_rng rng;
    hn_rng_seed(&rng, 1);
    for (size_t k = 0; k < HN_COUNT(formats); k++) {
        fill_magnitudes(&formats[k]);
        for (size_t i = 0; i < HN_COUNT(specials); i++) {
            check_encode(&formats[k], specials[i]);
        }
        for (int i = 0; i < N_RANDOM; i++) {
            check_encode(&formats[k], (uint32_t)hn_rng_u64(&rng));
        }
    }
}

static void test_nan_bits(void **state) {
    (void)state;
    float nan_plus = float_of(0x7FC00000), nan_minus = float_of(0xFFC00000);
    assert_int_equal(hn_f32_to_f16(float_of(0xFFA04000)), 0xFF02); /* quiet, payload kept */
    assert_int_equal(bits_of(hn_f16_to_f32(0xFD01)), 0xFFE02000);
    assert_int_equal(hn_f32_to_bf16(float_of(0x7F800001)), 0x7FC0);
    assert_int_equal(hn_f32_to_bf16(float_of(0xFFFFFFFF)), 0xFFFF);
    assert_int_equal(hn_f32_to_f8(nan_plus, HN_F8_E4M3FN, true), 0x7F);
    assert_int_equal(hn_f32_to_f8(nan_minus, HN_F8_E4M3FN, true), 0xFF);
    assert_int_equal(hn_f32_to_f8(nan_minus, HN_F8_E5M2, true), 0xFE);
    assert_int_equal(hn_f32_to_f8(nan_minus, HN_F8_E4M3FNUZ, false), 0x80);
    assert_int_equal(hn_f32_to_f8(nan_plus, HN_F8_E5M2FNUZ, false), 0x80);
    assert_int_equal(hn_f32_to_f4(nan_minus), 0x8);
}

/* The two tables of Cast, row by row where the formats differ. */
static void test_f8_out_of_range(void **state) {
    (void)state;
    static const struct {
        float f;
        hn_f8_kind kind;
        uint8_t saturated, plain;
    } rows[] = {
        {INFINITY, HN_F8_E4M3FN, 0x7E, 0x7F},   {-INFINITY, HN_F8_E4M3FN, 0xFE, 0xFF},
        {INFINITY, HN_F8_E4M3FNUZ, 0x7F, 0x80}, {-INFINITY, HN_F8_E4M3FNUZ, 0xFF, 0x80},
        {INFINITY, HN_F8_E5M2, 0x7B, 0x7C},     {-INFINITY, HN_F8_E5M2, 0xFB, 0xFC},
        {INFINITY, HN_F8_E5M2FNUZ, 0x7F, 0x80}, {-INFINITY, HN_F8_E5M2FNUZ, 0xFF, 0x80},
        {464.0f, HN_F8_E4M3FN, 0x7E, 0x7E},     {465.0f, HN_F8_E4M3FN, 0x7E, 0x7F},
        {247.9f, HN_F8_E4M3FNUZ, 0x7F, 0x7F},   {248.0f, HN_F8_E4M3FNUZ, 0x7F, 0x80},
        {61439.0f, HN_F8_E5M2, 0x7B, 0x7B},     {61440.0f, HN_F8_E5M2, 0x7B, 0x7C},
        {-1e-9f, HN_F8_E4M3FN, 0x80, 0x80},     {-1e-9f, HN_F8_E4M3FNUZ, 0x00, 0x00},
    };
    for (size_t i = 0; i < HN_COUNT(rows); i++) {
        assert_int_equal(hn_f32_to_f8(rows[i].f, rows[i].kind, true), rows[i].saturated);
        assert_int_equal(hn_f32_to_f8(rows[i].f, rows[i].kind, false), rows[i].plain);
    }
}

static uint8_t expected_e8m0(float f, hn_round round, bool saturate) {
    if (isnan(f)) {
        return 255;
    }
    double v = (double)f;
    if (v < ldexp(1, -127)) {
        return saturate ? 0 : 255;
    }
    if (v > ldexp(1, 127)) {
        return saturate ? 254 : 255;
    }
    int code = 0;
    while (ldexp(1, code + 1 - 127) <= v) {
        code++;
    }
    double below = ldexp(1, code - 127);
    bool goes_up = round == HN_ROUND_UP ? v > below : round == HN_ROUND_NEAREST && v >= 1.5 * below;
    return (uint8_t)(code + goes_up);
}

static void check_e8m0(uint32_t bits) {
    float f = float_of(bits);
    for (int round = HN_ROUND_UP; round <= HN_ROUND_NEAREST; round++) {
        for (int saturate = 0; saturate <= 1; saturate++) {
            assert_int_equal(hn_f32_to_e8m0(f, (hn_round)round, saturate),
                             expected_e8m0(f, (hn_round)round, saturate));
        }
    }
}

static void test_e8m0(void **state) {
    (void)state;
    assert_true(isnan(hn_e8m0_to_f32(255)));
    for (int code = 0; code < 255; code++) {
        float f = hn_e8m0_to_f32((uint8_t)code);
        assert_true((double)f == ldexp(1, code - 127));
        const uint32_t centers[] = {bits_of(f), bits_of((float)(1.5 * (double)f))};
        for (size_t c = 0; c < HN_COUNT(centers); c++) {
            for (int step = -1; step <= 1; step++) {
                check_e8m0(centers[c] + (uint32_t)step);
            }
        }
    }
    static const uint32_t specials[] = {0,          0x80000000, 1,          0x003FFFFF, 0x7F800000,
                                        0xFF800000, 0x7FC00000, 0xBFC00000, 0x7F7FFFFF};
    for (size_t i = 0; i < HN_COUNT(specials); i++) {
        check_e8m0(specials[i]);
    }
}

static void test_packed_integers(void **state) {
    (void)state;
    for (int bits = 2; bits <= 6; bits += 2) {
        enum { N = 13 };
        uint8_t data[12];
        memset(data, 0xAA, sizeof data);
        for (int i = 0; i < N; i++) {
            hn_pack_int(data, (uint64_t)i, bits, i * 7 - 40); /* out of range: low bits count */
        }
        for (int i = 0; i < N; i++) {
            int low = (i * 7 - 40) & ((1 << bits) - 1);
            int as_signed = low < 1 << (bits - 1) ? low : low - (1 << bits);
            assert_int_equal(hn_unpack_int(data, (uint64_t)i, bits, false), low);
            assert_int_equal(hn_unpack_int(data, (uint64_t)i, bits, true), as_signed);
        }
        int n_used_bits = N * bits;
        uint8_t last_byte = data[n_used_bits / 8];
        assert_int_equal(last_byte >> n_used_bits % 8, 0xAA >> n_used_bits % 8);
        assert_int_equal(data[n_used_bits / 8 + 1], 0xAA);
    }
    const uint8_t first_is_low[] = {0x21, 0xF3};
    assert_int_equal(hn_unpack_int(first_is_low, 0, 4, true), 1);
    assert_int_equal(hn_unpack_int(first_is_low, 1, 4, true), 2);
    assert_int_equal(hn_unpack_int(first_is_low, 2, 4, true), 3);
    assert_int_equal(hn_unpack_int(first_is_low, 3, 4, true), -1);
    const uint8_t across_bytes[] = {0x41, 0x30, 0x10}; /* 1, 1, 3, 4 in 6 bits each */
    const int across_values[] = {1, 1, 3, 4};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(hn_unpack_int(across_bytes, i, 6, false), across_values[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_every_code),
        cmocka_unit_test(test_every_code_survives),
        cmocka_unit_test(test_encode_boundaries),
        cmocka_unit_test(test_encode_random_bits),
        cmocka_unit_test(test_nan_bits),
        cmocka_unit_test(test_f8_out_of_range),
        cmocka_unit_test(test_e8m0),
        cmocka_unit_test(test_packed_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
