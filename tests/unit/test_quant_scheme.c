/* Scales, zero points and integers: the numbers that onnxruntime's quant_utils computes, and
 * tensors that have no range. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quant/scheme.h"

static int setup(void **state) {
    *state = hn_arena_new(NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    hn_arena_free(*state);
    return 0;
}

static const float numbers[8] = {-1.5f, -0.7f, -0.25f, 0, 0.1f, 0.333f, 0.9f, 2.2f};

static void expect_ints(const hn_tensor *t, uint64_t n, const int32_t *want) {
    assert_int_equal(t->n_elems, n);
    for (uint64_t i = 0; i < n; i++) {
        int64_t got;
        assert_true(hn_tensor_get_i64(t, i, &got));
        assert_int_equal(got, want[i]);
    }
}

static double get(const hn_tensor *t, uint64_t i) {
    double x = NAN;
    assert_true(hn_tensor_get_f64(t, i, &x));
    return x;
}

/* From quantize_data. Where a reduced range is also symmetric, onnxruntime lets the largest number
 * leave the reduced range (128 for uint8, 4 for int4); hone does not. */
static void test_types(void **state) {
    static const struct {
        hn_quant_type type;
        float scale;
        int32_t zero, q[8];
    } rows[] = {
        {{HN_I8, false, false, false},
         0.014509804546833038f,
         -25,
         {-128, -73, -42, -25, -18, -2, 37, 127}},
        {{HN_I8, false, true, false},
         0.02890625037252903f,
         -12,
         {-64, -36, -21, -12, -9, 0, 19, 64}},
        {{HN_I8, true, false, false}, 0.017322834581136703f, 0, {-87, -40, -14, 0, 6, 19, 52, 127}},
        {{HN_I8, true, true, false}, 0.03437500074505806f, 0, {-44, -20, -7, 0, 3, 10, 26, 64}},
        {{HN_U8, false, false, false},
         0.014509804546833038f,
         103,
         {0, 55, 86, 103, 110, 126, 165, 255}},
        {{HN_U8, false, true, false}, 0.029133858159184456f, 51, {0, 27, 42, 51, 54, 62, 82, 127}},
        {{HN_U8, true, false, false},
         0.0172549020498991f,
         128,
         {41, 87, 114, 128, 134, 147, 180, 255}},
        {{HN_U8, true, true, false}, 0.03464566916227341f, 64, {21, 44, 57, 64, 67, 74, 90, 127}},
        {{HN_I16, false, false, false},
         5.645838245982304e-05f,
         -6200,
         {-32768, -18599, -10628, -6200, -4429, -302, 9741, 32767}},
        {{HN_I16, true, false, false},
         6.714072515023872e-05f,
         0,
         {-22341, -10426, -3724, 0, 1489, 4960, 13405, 32767}},
        {{HN_U16, false, false, false},
         5.645838245982304e-05f,
         26568,
         {0, 14169, 22140, 26568, 28339, 32466, 42509, 65535}},
        {{HN_U16, true, true, false},
         0.00013428145030047745f,
         16384,
         {5213, 11171, 14522, 16384, 17129, 18864, 23086, 32767}},
        {{HN_I4, false, false, false}, 0.24666666984558105f, -2, {-8, -5, -3, -2, -2, -1, 2, 7}},
        {{HN_I4, false, true, false}, 0.5285714268684387f, -1, {-4, -2, -1, -1, -1, 0, 1, 3}},
        {{HN_I4, true, false, false}, 0.29333335161209106f, 0, {-5, -2, -1, 0, 0, 1, 3, 7}},
        {{HN_U4, false, false, false}, 0.24666666984558105f, 6, {0, 3, 5, 6, 6, 7, 10, 15}},
        {{HN_U4, true, false, false}, 0.29333335161209106f, 8, {3, 6, 7, 8, 8, 9, 11, 15}},
    };
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 1, &(int64_t){8}, numbers, true);
    for (size_t i = 0; i < HN_COUNT(rows); i++) {
        hn_quant_result r;
        assert_int_equal(hn_quant_tensor(w, &rows[i].type, -1, 0, *state, &r, NULL), HONE_OK);
        assert_true(r.scale->rank == 0 && r.zero->rank == 0 && r.zero->dtype == r.q->dtype);
        assert_true((float)get(r.scale, 0) == rows[i].scale);
        expect_ints(r.zero, 1, &rows[i].zero);
        expect_ints(r.q, 8, rows[i].q);
    }
}

/* From compute_scale_zp_blocked and quantize_onnx_initializer: blocks of 2 along 5 rows. */
static void test_blocks(void **state) {
    static const float x[] = {0.5f, -1.0f, 0.25f, 3.0f, -0.75f, 0.125f, 1.0f, -2.0f, 0.6f, 0.3f};
    static const float scale[] = {0.06666667014360428f, 0.4000000059604645f,  0.13333334028720856f,
                                  0.2666666805744171f,  0.08000000566244125f, 0.04000000283122063f};
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 2, (int64_t[]){5, 2}, x, true);
    hn_quant_result r;
    hn_quant_type type = {HN_I4, true, false, false};
    assert_int_equal(hn_quant_tensor(w, &type, 0, 2, *state, &r, NULL), HONE_OK);
    assert_true(r.scale->rank == 2 && r.scale->dims[0] == 3 && r.scale->dims[1] == 2);
    for (uint64_t i = 0; i < 6; i++)
        assert_true((float)get(r.scale, i) == scale[i]);
    expect_ints(r.zero, 6, (int32_t[]){0, 0, 0, 0, 0, 0});
    expect_ints(r.q, 10, (int32_t[]){7, -2, 4, 7, -6, 0, 7, -7, 7, 7});
    type = (hn_quant_type){HN_U4, false, false, false};
    assert_int_equal(hn_quant_tensor(w, &type, 0, 2, *state, &r, NULL), HONE_OK);
    expect_ints(r.zero, 6, (int32_t[]){0, 4, 6, 14, 0, 0});
    expect_ints(r.q, 10, (int32_t[]){15, 0, 7, 15, 0, 15, 15, 0, 15, 15});
    type =
        (hn_quant_type){HN_I8, true, false, false}; /* along rows: the last block has one element */
    assert_int_equal(hn_quant_tensor(w, &type, 1, 1, *state, &r, NULL), HONE_OK);
    assert_true(r.scale->dims[0] == 5 && r.scale->dims[1] == 2);
    expect_ints(r.q, 10, (int32_t[]){127, -127, 127, 127, -127, 127, 127, -127, 127, 127});
}

static void test_channels(void **state) {
    static const float x[] = {1, 2, -3, 4, 5, -60, 0.5f, 0, 0, 0, -1, 2};
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 3, (int64_t[]){2, 3, 2}, x, true);
    hn_quant_type type = {HN_I8, true, false, false};
    hn_quant_result r;
    assert_int_equal(hn_quant_tensor(w, &type, 1, 0, *state, &r, NULL), HONE_OK);
    assert_true(r.scale->rank == 1 && r.scale->dims[0] == 3);
    assert_true((float)get(r.scale, 0) == (float)(2 / 127.0));
    assert_true((float)get(r.scale, 1) == (float)(4 / 127.0));
    assert_true((float)get(r.scale, 2) == (float)(60 / 127.0));
    expect_ints(r.q, 12, (int32_t[]){64, 127, -95, 127, 11, -127, 32, 0, 0, 0, -2, 4});
    assert_int_equal(hn_quant_tensor(w, &type, 3, 0, *state, &r, NULL), HONE_E_INVALID);
}

/* Scales of float16 weights are float16, and never 0. */
static void test_halves(void **state) {
    uint16_t bits[3] = {hn_f32_to_f16(1e-6f), hn_f32_to_f16(-2e-6f), 0};
    const hn_tensor *w = hn_tensor_new(*state, HN_F16, 1, &(int64_t){3}, bits, false);
    hn_quant_type type = {HN_I8, true, false, false};
    hn_quant_result r;
    assert_int_equal(hn_quant_tensor(w, &type, -1, 0, *state, &r, NULL), HONE_OK);
    assert_true(r.scale->dtype == HN_F16 && get(r.scale, 0) == 0x1p-24);
    expect_ints(r.q, 3, (int32_t[]){17, -34, 0});
}

static void test_float8(void **state) {
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 1, &(int64_t){8}, numbers, true);
    hn_quant_type type = {HN_F8E4M3FN, true, false, false};
    hn_quant_result r;
    assert_int_equal(hn_quant_tensor(w, &type, -1, 0, *state, &r, NULL), HONE_OK);
    double scale = get(r.scale, 0);
    for (uint64_t i = 0; i < 8; i++)
        assert_true(fabs(get(r.q, i) * scale - (double)numbers[i]) <=
                    fabs((double)numbers[i]) / 16);
    assert_true(get(r.q, 7) == 448);
}

/* No range: scale 1 and zero point 0, as in onnxruntime. */
static void test_without_range(void **state) {
    static const float zeros[3] = {0, -0.0f, 0}, denormal[2] = {1e-40f, -1e-40f}, one[1] = {-2};
    static const hn_quant_type types[] = {{HN_I8, true, false, false},
                                          {HN_U8, false, false, false},
                                          {HN_U4, true, false, false},
                                          {HN_F8E5M2, true, false, false}};
    for (size_t i = 0; i < HN_COUNT(types); i++) {
        hn_quant_result r;
        const hn_tensor *w = hn_tensor_new(*state, HN_F32, 1, &(int64_t){3}, zeros, true);
        assert_int_equal(hn_quant_tensor(w, &types[i], -1, 0, *state, &r, NULL), HONE_OK);
        assert_true(get(r.scale, 0) == 1 && get(r.zero, 0) == 0 && get(r.q, 1) == 0);
        w = hn_tensor_new(*state, HN_F32, 1, &(int64_t){2}, denormal, true);
        assert_int_equal(hn_quant_tensor(w, &types[i], 0, 0, *state, &r, NULL), HONE_OK);
        assert_true(get(r.scale, 1) == 1 && get(r.q, 1) == get(r.zero, 1));
        assert_true(get(r.zero, 1) == (i == 2 ? 8 : 0)); /* one for all channels */
        w = hn_tensor_new(*state, HN_F32, 2, (int64_t[]){0, 3}, NULL, false);
        assert_int_equal(hn_quant_tensor(w, &types[i], -1, 0, *state, &r, NULL), HONE_OK);
        assert_true(r.q->n_elems == 0 && get(r.scale, 0) == 1);
        assert_int_equal(hn_quant_tensor(w, &types[i], 0, 0, *state, &r, NULL), HONE_OK);
        assert_true(r.scale->n_elems == 0);
        assert_int_equal(hn_quant_tensor(w, &types[i], 1, 2, *state, &r, NULL), HONE_OK);
        assert_true(r.scale->dims[0] == 0 && r.scale->dims[1] == 2);
    }
    hn_quant_result r;
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 0, NULL, one, true);
    assert_int_equal(hn_quant_tensor(w, &types[1], -1, 0, *state, &r, NULL), HONE_OK);
    expect_ints(r.zero, 1, (int32_t[]){255});
    expect_ints(r.q, 1, (int32_t[]){0});
}

static void test_largest_range(void **state) {
    static const float x[2] = {-FLT_MAX, FLT_MAX};
    static const hn_dtype types[] = {HN_I2, HN_U2, HN_I4, HN_I8, HN_U16};
    const hn_tensor *w = hn_tensor_new(*state, HN_F32, 1, &(int64_t){2}, x, true);
    for (size_t i = 0; i < HN_COUNT(types); i++) {
        hn_quant_type type = {types[i], false, false, false};
        hn_quant_result r;
        assert_int_equal(hn_quant_tensor(w, &type, -1, 0, *state, &r, NULL), HONE_OK);
        hn_quant_limits limits = hn_quant_limits_of(&type);
        assert_true(isfinite(get(r.scale, 0)));
        assert_true(get(r.q, 0) <= limits.low + 1 && get(r.q, 1) >= limits.high - 1);
    }
}

static void test_refused(void **state) {
    hn_quant_type type = {HN_I8, true, false, false};
    hn_quant_result r;
    for (int i = 0; i < 2; i++) {
        float x[3] = {0, 1, i ? INFINITY : NAN};
        hn_tensor w = *hn_tensor_new(*state, HN_F32, 1, &(int64_t){3}, x, true);
        w.name = hn_intern_z(hn_strtab_new(*state), "fc.weight");
        hone_error err = {0};
        assert_int_equal(hn_quant_tensor(&w, &type, -1, 0, *state, &r, &err), HONE_E_INVALID);
        assert_non_null(strstr(err.message, "element 2 of 'fc.weight'"));
        assert_non_null(strstr(err.message, i ? "infinite" : "NaN"));
    }
    const hn_tensor *ints =
        hn_tensor_new(*state, HN_I32, 1, &(int64_t){2}, (int32_t[]){1, 2}, false);
    assert_int_equal(hn_quant_tensor(ints, &type, -1, 0, *state, &r, NULL), HONE_E_INVALID);
    type.dtype = HN_I64;
    assert_int_equal(hn_quant_tensor(ints, &type, -1, 0, *state, &r, NULL), HONE_E_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),         cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_channels),      cmocka_unit_test(test_halves),
        cmocka_unit_test(test_float8),        cmocka_unit_test(test_without_range),
        cmocka_unit_test(test_largest_range), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
