/* Edge cases of matrix products, windows, recurrent layers and losses that no published test case
 * covers. */
#include "run_model.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " opset "]>\n"

/* Runs a model without inputs; its output is z. */
static hone_status run_text(const char *text, hone_value **z, hone_error *error) {
    runner r = runner_of(text);
    *z = NULL;
    hone_status status = run_one(&r, NULL, NULL, "z", z, error);
    runner_free(&r);
    return status;
}

static void expect_numbers(const char *text, uint64_t n, const double *wanted) {
    hone_value *z;
    hone_tensor_info info;
    double got[16];
    expect_ok(run_text(text, &z, &error));
    hone_value_tensor(z, &info);
    assert_int_equal(info.n_elements, n);
    assert_true(hone_value_get_f64(z, 0, n, got));
    for (uint64_t i = 0; i < n; i++)
        if (got[i] != wanted[i])
            fail_msg("%s: element %u is %g, not %g", text, (unsigned)i, got[i], wanted[i]);
    hone_value_free(z);
}
#define EXPECT_NUMBERS(text, ...)                                        \
  expect_numbers(text, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
                 (const double[]){__VA_ARGS__})

static void expect_refused(const char *text, const char *why) {
    hone_value *z;
    hone_error error;
    assert_int_not_equal(run_text(text, &z, &error), HONE_OK);
    assert_null(z);
    if (!strstr(error.message, why))
        fail_msg("'%s' does not say '%s'", error.message, why);
}

static void test_products_without_terms_are_zero(void **state) {
    (void)state;
    EXPECT_NUMBERS(HEAD("13") "g () => (float[2,2] z) <float[2,0] a = {}, float[0,2] b = {}> { z = "
                              "MatMul(a, b) }",
                   0, 0, 0, 0);
    EXPECT_NUMBERS(HEAD("13") "g () => (float[1,2] z) <float[1,0] a = {}, float[0,2] b = {}, "
                              "float[2] c = {3, 4}>"
                              "{ z = Gemm(a, b, c) }",
                   3, 4);
    EXPECT_NUMBERS(HEAD("12") "g () => (float[2] z) <float[2,0] a = {}> { z = Einsum <equation = "
                              "\"ij->i\"> (a) }",
                   0, 0);
}

static void test_integer_products_wrap(void **state) {
    (void)state;
    EXPECT_NUMBERS(
        HEAD("13") "g () => (int32[1,1] z) <int32[1,2] a = {2147483647, 1}, int32[2,1] b = {2, 3}>"
                   "{ z = MatMul(a, b) }",
        1);
    EXPECT_NUMBERS(HEAD("12") "g () => (int8[1] z) <int8[2] a = {100, 100}, int8[1] b = {1}>"
                              "{ z = Einsum <equation = \"i,j->j\"> (a, b) }",
                   -56);
    EXPECT_NUMBERS(HEAD("13") "g () => (int32[1,1] z) <int32[1,1] a = {7}, int32[1,1] b = {1}>"
                              "{ z = Gemm <alpha = 0.5> (a, b) }",
                   3);
}

static void test_singular_matrices(void **state) {
    (void)state;
    EXPECT_NUMBERS(HEAD("11") "g () => (double[2] z) <double[2,2,2] a = {1, 2, 2, 4, 0, 1, 1, 0}> "
                              "{ z = Det(a) }",
                   0, -1);
}

static void test_same_padding_of_even_windows(void **state) {
    (void)state;
    EXPECT_NUMBERS(
        HEAD("11") "g () => (float[1,1,2] z) <float[1,1,2] x = {1, 2}, float[1,1,2] w = {10, 1}>"
                   "{ z = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }",
        12, 20);
    EXPECT_NUMBERS(
        HEAD("11") "g () => (float[1,1,2] z) <float[1,1,2] x = {1, 2}, float[1,1,2] w = {10, 1}>"
                   "{ z = Conv <auto_pad = \"SAME_LOWER\"> (x, w) }",
        1, 12);
}

static void test_quantized_ends(void **state) {
    (void)state;
    EXPECT_NUMBERS(HEAD("21") "g () => (int4[5] z) <float[5] x = {-100, -0.5, 0.5, 1.5, 100}, "
                              "float s = {1}, int4 o = {0}>"
                              "{ z = QuantizeLinear(x, s, o) }",
                   -8, 0, 0, 2, 7);
    EXPECT_NUMBERS(HEAD("13") "g () => (uint8[3] z) <float[3] x = {1e30, -1e30, 2.5}, float s = "
                              "{1}, uint8 o = {128}>"
                              "{ z = QuantizeLinear(x, s, o) }",
                   255, 0, 130);
}

static void test_hostile_values_are_refused(void **state) {
    (void)state;
    expect_refused(
        HEAD("11") "g () => (float[1,1,2,2] z) <float[1,1,1,1] x = {5}, int64[1,1,1,1] i = {9}>"
                   "{ z = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }",
        "outside the output");
    expect_refused(
        HEAD("11") "g () => (float[1,1,4,4] z) <float[1,1,1,1] x = {5}, int64[1,1,1,2] i = {0, 1},"
                   "int64[4] o = {1, 1, 4, 4}>"
                   "{ z = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, o) }",
        "indices");
    expect_refused(HEAD("13") "g () => (float z) <float[1,2] x = {0, 0}, int64[1] t = {2}>"
                              "{ z = NegativeLogLikelihoodLoss(x, t) }",
                   "there are 2 classes");
    expect_refused(
        HEAD(
            "16") "g () => (float[1,1,1,1] z) <float[1,1,1,1] x = {1}, float[1,4] r = {0, 0, 1, 1},"
                  "int64[1] b = {-1}> { z = RoiAlign(x, r, b) }",
        "there are 1 images");
    expect_refused(
        HEAD("23") "g () => (float[1,1,1,2] z) <float[1,1,1,2] x = {1, 2}, float[1,1] c = {1},"
                   "int64[1,1] p = {1}> { z = RotaryEmbedding(x, c, c, p) }",
        "position 1");
    expect_refused(HEAD("14") "g () => (float[1,1,1,1] z) <float[1,1,1] x = {1}, float[1,1,1] w = "
                              "{1}, int32[1] n = {2}>"
                              "{ z = RNN <hidden_size = 1> (x, w, w, , n) }",
                   "2 elements long");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_without_terms_are_zero),
        cmocka_unit_test(test_integer_products_wrap),
        cmocka_unit_test(test_singular_matrices),
        cmocka_unit_test(test_same_padding_of_even_windows),
        cmocka_unit_test(test_quantized_ends),
        cmocka_unit_test(test_hostile_values_are_refused),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
