/* Rounding of the weights of layers with error feedback on samples: all kinds of layers, windows
 * and groups. */
#include "quant_static_case.h"

#include <math.h>

/* Neighbours have similar numbers. */
static void make_smooth(hn_samples *s, uint64_t i) {
    hn_array *x = &s->inputs[0]->array;
    float *at = x->data, last = 0;
    (void)i;
    for (uint64_t k = 0; k < x->n_elems; k++)
        at[k] = last = 0.9f * last + 0.3f * at[k];
}

/* Sum of the squared differences between two models on a sample that calibration did not see. */
static double squared_error(const hn_model *before, const hn_model *after) {
    hone_error err = {0};
    hn_samples *s[2] = {NULL, NULL};
    const hn_model *models[2] = {before, after};
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hn_samples_make(before, 77, &s[i], &err), HONE_OK);
        make_smooth(s[i], 0);
        if (hn_samples_run(s[i], models[i], &err) != HONE_OK)
            fail_msg("%s", err.message);
    }
    const hn_array *a = &s[0]->outputs[0]->array, *b = &s[1]->outputs[0]->array;
    for (uint64_t k = 0; k < a->n_elems; k++) {
        double d = (double)((const float *)a->data)[k] - ((const float *)b->data)[k];
        sum += d * d;
    }
    hn_samples_free(s[0]);
    hn_samples_free(s[1]);
    return sum;
}

static double error_with(const char *text, hone_quantize_mode mode, bool is_rounded) {
    hone_quantize_options o = static_options();
    o.mode = mode;
    o.weight_type = HN_I4;
    o.activation_type = HN_U16;
    o.gptq = is_rounded;
    bool has_samples = is_rounded || mode == HONE_QUANTIZE_STATIC;
    static_case c = quantize_changed(text, &o, has_samples ? 24 : 0, make_smooth);
    if (c.status != HONE_OK)
        fail_msg("%s", c.error.message);
    expect_valid(c.after);
    assert_int_equal(c.report->notes.n > 0, is_rounded);
    if (is_rounded)
        assert_non_null(strstr(c.report->notes.at[0], "error feedback"));
    double error = squared_error(c.before, c.after);
    static_case_free(&c);
    return error;
}

static void test_layers(void **state) {
    (void)state;
    static const char *const texts[] = {
        "g (float[2,24] x) => (float[2,12] y)\n<float[24,12] w = $288> {\n  y = MatMul (x, w)\n}",
        "g (float[2,24] x) => (float[2,12] y)\n<float[12,24] w = $288, float[12] b = $12> {\n"
        "  y = Gemm <transB = 1> (x, w, b)\n}",
        "g (float[2,4,9,9] x) => (float[2,6,5,5] y)\n<float[6,4,3,3] w = $216, float[6] b = $6> {\n"
        "  y = Conv <pads = [1,1,1,1], strides = [2,2]> (x, w, b)\n}",
        "g (float[2,8,10,10] x) => (float[2,8,10,10] y)\n<float[8,2,3,3] w = $144> {\n"
        "  y = Conv <group = 4, auto_pad = \"SAME_LOWER\"> (x, w)\n}",
        "g (float[2,6,12,12] x) => (float[2,6,8,8] y)\n<float[6,1,5,5] w = $150> {\n"
        "  y = Conv <group = 6> (x, w)\n}",
        "g (float[2,4,40] x) => (float[2,6,36] y)\n<float[6,4,5] w = $120> {\n"
        "  y = Conv <dilations = [2], pads = [1,3]> (x, w)\n}",
        "g (float[1,3,6,6,6] x) => (float[1,4,4,4,4] y)\n<float[4,3,3,3,3] w = $324> {\n"
        "  y = Conv (x, w)\n}",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        for (int mode = HONE_QUANTIZE_STATIC; mode <= HONE_QUANTIZE_WEIGHT_ONLY; mode += 2) {
            char text[2048];
            snprintf(text, sizeof text, "%s%s", QUANT_HEAD(21), texts[i]);
            double plain = error_with(text, (hone_quantize_mode)mode, false);
            double rounded = error_with(text, (hone_quantize_mode)mode, true);
            if (!(rounded < 0.75 * plain))
                fail_msg("mode %d: %g, without feedback %g in\n%s", mode, rounded, plain, text);
        }
}

/* What the window does not reach, or reaches twice, is watched for each layer of its own. */
static void test_shared_input(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(21) "g (float[2,4,9,9] x) => (float[2,8,9,9] y)\n"
                       "<float[8,4,3,3] v = $288, float[8,4,1,1] w = $32> {\n"
                       "  a = Conv <pads = [1,1,1,1]> (x, v)\n  b = Conv (x, w)\n"
                       "  y = Add (a, b)\n}";
    double plain = error_with(text, HONE_QUANTIZE_STATIC, false);
    assert_true(error_with(text, HONE_QUANTIZE_STATIC, true) < 0.75 * plain);
}

static void test_needs_samples(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(21) "g (float[2,8] x) => (float[2,8] y)\n"
                                              "<float[8,8] w = $64> {\n  y = MatMul (x, w)\n}";
    hone_quantize_options o = static_options();
    o.gptq = true;
    expect_refused(quantize_changed(text, &o, 0, NULL), HONE_E_ARGUMENT, "needs samples");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_shared_input),
        cmocka_unit_test(test_needs_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
