/* Models whose weights alone are quantized. */
#include "quant_case.h"

#include <math.h>

#define PRODUCT                           \
  QUANT_HEAD(17)                          \
  "g (float[n,50] x) => (float[n,8] y)\n" \
  "<float[50,8] w = $400> { y = MatMul (x, w) }"

static void test_products(void **state) {
    (void)state;
    static const struct {
        hn_dtype type;
        bool is_symmetric;
        double bound;
    } rows[] = {{HN_I8, true, 0.01},  {HN_U8, false, 0.01},     {HN_I4, true, 0.15},
                {HN_U4, false, 0.15}, {HN_I2, true, 0.9},       {HN_U2, false, 0.9},
                {HN_I16, true, 1e-3}, {HN_F8E4M3FN, true, 0.05}};
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        for (int64_t block = 0; block <= 16; block += 16) {
            hn_write_options o = options_with(rows[i].type, rows[i].is_symmetric, block);
            expect_quantized(PRODUCT, false, &o, "DequantizeLinear MatMul ", rows[i].bound);
            o.uses_nbits =
                block > 0 && hn_dtype_bits(rows[i].type) <= 8 && hn_dtype_is_int(rows[i].type);
            if (o.uses_nbits) /* 50 rows: the last block is not full */
                expect_quantized(PRODUCT, false, &o, "MatMulNBits ", rows[i].bound);
        }
}

static void test_gemm(void **state) {
    (void)state;
    static const char plain[] = QUANT_HEAD(17) "g (float[n,50] x) => (float[n,8] y)\n"
                                               "<float[8,50] w = $400, float[8] b = $8> {\n"
                                               "  y = Gemm <transB = 1> (x, w, b)\n}";
    static const char scaled[] = QUANT_HEAD(17) "g (float[50,n] x) => (float[n,8] y)\n"
                                                "<float[50,8] w = $400, float[8] b = $8> {\n"
                                                "  y = Gemm <transA = 1, beta = 2.0> (x, w, b)\n}";
    hn_write_options o = options_with(HN_I8, true, 16);
    expect_quantized(plain, false, &o, "DequantizeLinear Gemm ", 0.01);
    expect_quantized(scaled, false, &o, "DequantizeLinear Gemm ", 0.01);
    o.uses_nbits = true;
    expect_quantized(plain, false, &o, "MatMulNBits Add ", 0.01);
    expect_quantized(scaled, false, &o, "DequantizeLinear Gemm ", 0.01);
}

static void test_tables(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(17) "g (int64[n] i) => (float[n,32] y)\n"
                                              "<float[5,32] t = $160> { y = Gather (t, i) }";
    hn_write_options o = options_with(HN_I8, true, 16);
    expect_quantized(text, false, &o, "Gather Gather DequantizeLinear ", 0.01);
    o.weight = (hn_quant_type){HN_U8, false, false, false};
    expect_quantized(text, false, &o, "Gather Gather Gather DequantizeLinear ", 0.01);
    o.block = 64; /* longer than a row */
    expect_quantized(text, false, &o, "Gather Gather Gather DequantizeLinear ", 0.01);
    o.block = 0;
    expect_quantized(text, false, &o, "Gather DequantizeLinear ", 0.01);
    o = options_with(HN_I4, true, 16);
    expect_quantized(text, false, &o, "GatherBlockQuantized ", 0.15);
    o.allows_ms = false;
    expect_quantized(text, false, &o, "DequantizeLinear Gather ", 0.15);
}

static void test_others(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 16);
    expect_quantized(QUANT_HEAD(17) "g (float[n,4,6,6] x) => (float[n,8,8,8] y)\n"
                                    "<float[8,4,3,3] w = $288, float[8,8,3,3] v = $576> {\n"
                                    "  a = Conv <pads = [1,1,1,1]> (x, w)\n"
                                    "  y = ConvTranspose (a, v)\n}",
                     false, &o, "DequantizeLinear Conv DequantizeLinear ConvTranspose ", 0.02);
    expect_quantized(QUANT_HEAD(17) "g (float[s,n,32] x) => (float[s,1,n,5] y)\n"
                                    "<float[1,5,32] w = $160, float[1,5,5] r = $25> {\n"
                                    "  y = RNN <hidden_size = 5> (x, w, r)\n}",
                     false, &o, "DequantizeLinear DequantizeLinear RNN ", 0.02);
}

/* In the body of an If the constant of the outer graph is dequantized there. */
static void test_bodies(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(21) "g (bool c, float[n,32] x) => (float[n,4] y) <float[32,4] w = $128> {\n"
                       "  y = If (c) <then_branch = t () => (float[n,4] a) { a = MatMul (x, w) },\n"
                       "    else_branch = e () => (float[n,4] b) <float[32,4] v = $128>\n"
                       "    { b = MatMul (x, v) }>\n}";
    hn_write_options o = options_with(HN_I8, true, 16);
    hn_model *m = quantized_from(text, false, &o);
    expect_ops(m->graph, 0, "DequantizeLinear If ");
    expect_ops(m->graph, 1, "MatMul ");
    expect_ops(m->graph, 2, "DequantizeLinear MatMul ");
    hn_model_free(m);
}

/* Scales by squared error are never worse than those of the range, and better for 4 bits. */
static void test_search(void **state) {
    (void)state;
    static const hn_quant_type types[] = {{HN_I4, true, false, false},
                                          {HN_U4, false, false, false},
                                          {HN_I2, true, false, false},
                                          {HN_U4, true, false, false}};
    for (size_t i = 0; i < HN_COUNT(types); i++) {
        hn_write_options o = options_with(types[i].dtype, types[i].is_symmetric, 16);
        double searched = notes_of(PRODUCT, false, o).least_sqnr;
        o.rounding = HN_ROUND_RANGE;
        double by_range = notes_of(PRODUCT, false, o).least_sqnr;
        assert_true(searched > by_range + 0.2);
    }
}

static void test_search_of_extremes(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I4, true, 4);
    expect_quantized(
        QUANT_HEAD(21) "g (float[n,4] x) => (float[n,3] y)\n"
                       "<float[4,3] w = {0, 1e-40, 1e38, 0, -1e-40, -1e38, 0, 0, 0, 0, 0, "
                       "3e37}> { y = MatMul (x, w) }",
        false, &o, "DequantizeLinear MatMul ", 0.2);
}

static void test_errors(void **state) {
    (void)state;
    hn_quant_error e = {0};
    assert_true(isnan(hn_quant_sqnr(&e)));
    hn_quant_error_add(&e, 2, (const float[]){3, -4}, (const float[]){3, -4});
    assert_true(isinf(hn_quant_sqnr(&e)));
    hn_quant_error_add(&e, 1, (const float[]){0}, (const float[]){0.5f});
    assert_true(fabs(hn_quant_sqnr(&e) - 20) < 1e-9);
    assert_true(e.n == 3 && e.max_abs == 0.5 && e.sum_abs == 0.5 && e.sum == 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_search_of_extremes),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
