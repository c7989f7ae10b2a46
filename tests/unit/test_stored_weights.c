/* Weights of matrix products that a session keeps in half precision. */
#include "run_model.h"

#include <math.h>

#include "cpu/kernels/kernel.h"

enum { ROWS = 40, COLS = 33 };

/* Numbers that neither half-precision type represents, and one from the caller. */
static float weight_at(int i, float first) {
    return i == 0 ? first : (float)(i % 17 - 8) * 0.123457f + 1e-5f;
}

/* y = x * w, requested one row at a time. */
static hone_model *product_model(const char *op, float first) {
    static char text[64 << 10];
    int n = snprintf(text, sizeof text,
                     RUN_HEAD "g (float[n,%d] x) => (float[n,%d] y) <float[%d,%d] w = {", ROWS,
                     COLS, ROWS, COLS);
    for (int i = 0; i < ROWS * COLS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.9g", i ? ", " : "",
                      (double)weight_at(i, first));
    snprintf(text + n, sizeof text - (size_t)n, "}> { y = %s (x, w) }", op);
    return model_from(text);
}

static float stored_as(hone_precision precision, float w) {
    if (hn_gemm_packed_elems_f32(1, 1) == 0) /* plain C does not pack */
        return w;
    return precision == HONE_PRECISION_FLOAT16    ? hn_f16_to_f32(hn_f32_to_f16(w))
           : precision == HONE_PRECISION_BFLOAT16 ? hn_bf16_to_f32(hn_f32_to_bf16(w))
                                                  : w;
}

/* Rows of the identity matrix return the weights, for few rows and for many. */
static void expect_weights(const hone_model *m, hone_precision asked, hone_precision expected,
                           float first) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.weights = asked;
    runner r = {0};
    expect_ok(hone_session_create(m, &options, &r.session, &error));
    for (int64_t n_rows = 1; n_rows <= ROWS; n_rows = 3 * n_rows + 1) {
        static float unit[ROWS * ROWS];
        memset(unit, 0, sizeof unit);
        for (int64_t i = 0; i < n_rows; i++)
            unit[i * ROWS + i] = 1;
        hone_value *x = tensor_of(ELEM_FLOAT, unit, DIMS(n_rows, ROWS));
        hone_value *y = result_of(&r, "x", x, "y");
        hone_tensor_info info;
        assert_true(hone_value_tensor(y, &info));
        for (int i = 0; i < n_rows * COLS; i++)
            assert_true(((const float *)info.data)[i] == stored_as(expected, weight_at(i, first)));
        hone_value_free(x);
        hone_value_free(y);
    }
    hone_session_free(r.session);
}

static void weights_are_rounded_once(void **state) {
    (void)state;
    static const char *const ops[] = {"MatMul", "Gemm"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        hone_model *m = product_model(ops[i], 0.1f);
        for (hone_precision p = HONE_PRECISION_KEEP; p <= HONE_PRECISION_BFLOAT16; p++)
            expect_weights(m, p, p, 0.1f);
        hone_model_free(m);
    }
}

static void what_halves_do_not_have_stays(void **state) {
    (void)state;
    hone_model *m = product_model("MatMul", 1e5f);
    expect_weights(m, HONE_PRECISION_FLOAT16, HONE_PRECISION_KEEP, 1e5f);
    expect_weights(m, HONE_PRECISION_BFLOAT16, HONE_PRECISION_BFLOAT16, 1e5f);
    hone_model_free(m);
}

static void other_precisions_are_refused(void **state) {
    (void)state;
    hone_session *session;
    hone_session_options options;
    hone_session_options_init(&options);
    options.weights = (hone_precision)3;
    hone_model *m = product_model("MatMul", 0);
    expect_failure(hone_session_create(m, &options, &session, &error), HONE_E_ARGUMENT,
                   "3 is not a precision of weights");
    hone_session_options_init(&options);
    options.compute = (hone_precision)3;
    expect_failure(hone_session_create(m, &options, &session, &error), HONE_E_ARGUMENT,
                   "3 is not a precision to compute in");
    options.compute = HONE_PRECISION_FLOAT16;
    expect_failure(hone_session_create(m, &options, &session, &error), HONE_E_UNSUPPORTED,
                   "no kernel computes in float16; use bfloat16 or float32");
    hone_model_free(m);
}

/* Both sides of a product are rounded, here to numbers that sums of floats keep. */
static void products_of_bfloat16(void **state) {
    (void)state;
    hone_session_options options;
    hone_session_options_init(&options);
    options.compute = HONE_PRECISION_BFLOAT16;
    hone_model *m = product_model("MatMul", 0.1f);
    runner r = {0};
    if (!hn_gemm_has_bf16()) {
        expect_failure(hone_session_create(m, &options, &r.session, &error), HONE_E_UNSUPPORTED,
                       "this processor has no instructions for bfloat16");
        hone_model_free(m);
        return;
    }
    expect_ok(hone_session_create(m, &options, &r.session, &error));
    float row[ROWS];
    for (int k = 0; k < ROWS; k++)
        row[k] = k == 3 ? 1.2345f : 0;
    hone_value *x = tensor_of(ELEM_FLOAT, row, DIMS(1, ROWS)), *y = result_of(&r, "x", x, "y");
    hone_tensor_info info;
    assert_true(hone_value_tensor(y, &info));
    for (int j = 0; j < COLS; j++)
        assert_true(((const float *)info.data)[j] ==
                    hn_bf16_to_f32(hn_f32_to_bf16(1.2345f)) *
                        hn_bf16_to_f32(hn_f32_to_bf16(weight_at(3 * COLS + j, 0.1f))));
    hone_value_free(x);
    hone_value_free(y);
    hone_session_free(r.session);
    hone_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_rounded_once),
        cmocka_unit_test(what_halves_do_not_have_stays),
        cmocka_unit_test(other_precisions_are_refused),
        cmocka_unit_test(products_of_bfloat16),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
