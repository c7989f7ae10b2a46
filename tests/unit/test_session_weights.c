/* Large weights that a session scales during packing: results equal those of the original graph. */
#include "run_model.h"

#include <math.h>

enum { CHANNELS = 192, SIZE = 5 }; /* weights of 147 kB: scaling is deferred from 128 kB on */

/* A model with one weight w of these dimensions and vectors s, t, m, v of `n` elements; the
 * elements are the same each time. */
static char *weighted_model(const char *head, const char *dims, int n_weights, int n,
                            const char *nodes) {
    char *text = malloc((size_t)(n_weights + 4 * n) * 12 + 2000), *at = text;
    uint32_t seed = 7;
    at += sprintf(at, RUN_HEAD "g %s <float[%s] w = {", head, dims);
    for (int i = 0; i < n_weights; i++) {
        seed = seed * 1664525 + 1013904223;
        at += sprintf(at, "%s%.4f", i ? "," : "", (double)(seed >> 8) / (1 << 24) - 0.5);
    }
    for (const char *name = "stmv"; *name; name++) {
        at += sprintf(at, "}, float[%d] %c = {", n, *name);
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            at += sprintf(at, "%s%.4f", i ? "," : "", 0.25 + (double)(seed >> 8) / (1 << 24));
        }
    }
    sprintf(at, "}> { %s }", nodes);
    return text;
}

static runner runner_at_level(const char *text, hone_level level) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.level = level;
    return runner_with(text, NULL, &options);
}

static void expect_close(const hone_value *a, const hone_value *b) {
    hone_tensor_info wanted, got;
    hone_value_tensor(a, &wanted);
    hone_value_tensor(b, &got);
    assert_int_equal(got.n_elements, wanted.n_elements);
    for (uint64_t i = 0; i < got.n_elements; i++) {
        float expected = ((const float *)wanted.data)[i];
        assert_float_equal(((const float *)got.data)[i], expected, 1e-3f + 1e-4f * fabsf(expected));
    }
}

static void expect_same_results(char *text, int32_t rank, const int64_t *dims) {
    static const hone_level levels[] = {HONE_LEVEL_BASIC, HONE_LEVEL_EXTENDED, HONE_LEVEL_ALL};
    runner written = runner_as_written(text);
    hone_value *x = counting_floats(rank, dims);
    hone_tensor_info info;
    hone_value_tensor(x, &info);
    for (uint64_t i = 0; i < info.n_elements; i++)
        ((float *)(uintptr_t)info.data)[i] = (float)(i % 17) / 16 - 0.5f;
    hone_value *a = result_of(&written, "x", x, "y");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        runner fast = runner_at_level(text, levels[i]);
        hone_value *b = result_of(&fast, "x", x, "y");
        expect_close(a, b);
        hone_value_free(b);
        runner_free(&fast);
    }
    hone_value_free(x);
    hone_value_free(a);
    runner_free(&written);
    free(text);
}

#define CONV_HEAD "(float[1,192,5,5] x) => (float[1,c,h,k] y)"
#define NORM(from, to) to " = BatchNormalization (" from ", s, t, m, v) "

static void filters_are_scaled(void **state) {
    (void)state;
    expect_same_results(weighted_model(CONV_HEAD, "192,192,1,1", CHANNELS * CHANNELS, CHANNELS,
                                       "a = Conv (x, w) " NORM("a", "y")),
                        DIMS(1, CHANNELS, SIZE, SIZE));
}

/* Two factors for the same channels, and one for those of the input. */
static void filters_are_scaled_again(void **state) {
    (void)state;
    expect_same_results(weighted_model(CONV_HEAD, "192,192,1,1", CHANNELS * CHANNELS, CHANNELS,
                                       "b = Conv (x, w) " NORM("b", "c") NORM("c", "y")),
                        DIMS(1, CHANNELS, SIZE, SIZE));
    expect_same_results(weighted_model(CONV_HEAD, "192,192,1,1", CHANNELS * CHANNELS, CHANNELS,
                                       NORM("x", "a") "b = Conv (a, w) " NORM("b", "y")),
                        DIMS(1, CHANNELS, SIZE, SIZE));
}

static void filters_of_groups_are_scaled(void **state) {
    (void)state;
    expect_same_results(weighted_model(CONV_HEAD, "192,96,3,3", CHANNELS * 96 * 9, CHANNELS,
                                       "a = Conv <group = 2> (x, w) " NORM("a", "y")),
                        DIMS(1, CHANNELS, SIZE, SIZE));
    expect_same_results(weighted_model(CONV_HEAD, "192,96,2,2", CHANNELS * 96 * 4, CHANNELS,
                                       "a = ConvTranspose <group = 2> (x, w) " NORM("a", "y")),
                        DIMS(1, CHANNELS, SIZE, SIZE));
}

static void matrices_are_scaled(void **state) {
    (void)state;
    static const char *const head = "(float[3,192] x) => (float[3,192] y)";
    expect_same_results(weighted_model(head, "192,192", CHANNELS * CHANNELS, CHANNELS,
                                       "a = MatMul (x, w) b = Mul (a, s) y = Add (b, t)"),
                        DIMS(3, CHANNELS));
    expect_same_results(
        weighted_model(head, "192,192", CHANNELS * CHANNELS, CHANNELS,
                       "a = Gemm <transB = 1> (x, w, t) b = Mul (a, s) y = Neg (b)"),
        DIMS(3, CHANNELS));
}

/* Factors that might exceed the range of weights are applied at once. */
static void large_factors_do_not_wait(void **state) {
    (void)state;
    expect_same_results(
        weighted_model(CONV_HEAD, "192,192,1,1", CHANNELS * CHANNELS, CHANNELS,
                       "a = Conv (x, w) f = Constant <value_float = 3e7> () b = Mul (a, f) "
                       "i = Constant <value_float = 1e-7> () y = Mul (b, i)"),
        DIMS(1, CHANNELS, SIZE, SIZE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_are_scaled),           cmocka_unit_test(filters_are_scaled_again),
        cmocka_unit_test(filters_of_groups_are_scaled), cmocka_unit_test(matrices_are_scaled),
        cmocka_unit_test(large_factors_do_not_wait),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
