/* Channels and layers that static quantization keeps in float or half precision. */
#include "quant_static_case.h"

#include <math.h>

#define PRODUCTS                                                                           \
  QUANT_HEAD(17)                                                                           \
  "g (float[2,5,32] x) => (float[2,5,8] y, float[2,5,8] z)\n"                              \
  "<float[32,8] v = $256, float[8,32] w = $256, float[8] b = $8, int64[2] s = {-1, 32},\n" \
  " int64[3] r = {2, 5, 8}> {\n"                                                           \
  "  [left] p = MatMul (x, v)\n  y = Tanh (p)\n  f = Reshape (x, s)\n  t = Tanh (x)\n"     \
  "  [right] q = Gemm <transB = 1> (f, w, b)\n  z = Reshape (q, r)\n}"

#define ATTENTION                                                                \
  QUANT_HEAD(17)                                                                 \
  "g (float[2,5,32] x) => (float[2,5,8] z)\n"                                    \
  "<float[32,32] v = $1024, float[32,32] u = $1024, float[32,8] w = $256> {\n"   \
  "  h = Tanh (x)\n  [attn_q] a = MatMul (h, v)\n  [attn_k] b = MatMul (h, u)\n" \
  "  c = Mul (a, b)\n  d = Tanh (c)\n  [mlp] z = MatMul (d, w)\n}"

/* Channels 3 and 17 of 32 are 60 times larger than the others. */
static void enlarge_channels(hn_samples *s, uint64_t i) {
    hn_array *x = &s->inputs[0]->array;
    (void)i;
    for (uint64_t k = 0; k < x->n_elems; k++)
        if (k % 32 == 3 || k % 32 == 17)
            ((float *)x->data)[k] *= 60;
}

static double largest_error(const hn_model *before, const hn_model *after) {
    hone_error err = {0};
    hn_samples *s[2] = {NULL, NULL};
    const hn_model *models[2] = {before, after};
    double most = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hn_samples_make(before, 3, &s[i], &err), HONE_OK);
        enlarge_channels(s[i], 0);
        if (hn_samples_run(s[i], models[i], &err) != HONE_OK)
            fail_msg("%s", err.message);
    }
    for (uint32_t o = 0; o < s[0]->n_outputs; o++) {
        const hn_array *a = &s[0]->outputs[o]->array, *b = &s[1]->outputs[o]->array;
        for (uint64_t k = 0; k < a->n_elems; k++)
            most = fmax(most, fabs((double)((const float *)a->data)[k] -
                                   (double)((const float *)b->data)[k]));
    }
    hn_samples_free(s[0]);
    hn_samples_free(s[1]);
    return most;
}

static double error_of(const hone_quantize_options *o, const char *note) {
    static_case c = quantize_changed(PRODUCTS, o, 8, enlarge_channels);
    if (c.status != HONE_OK)
        fail_msg("%s", c.error.message);
    expect_valid(c.after);
    bool is_noted = *note == '\0';
    for (uint32_t i = 0; i < c.report->notes.n; i++)
        is_noted = is_noted || strstr(c.report->notes.at[i], note);
    assert_true(is_noted);
    double error = largest_error(c.before, c.after);
    static_case_free(&c);
    return error;
}

static void test_outliers(void **state) {
    (void)state;
    for (int format = HONE_QUANTIZE_QDQ; format <= HONE_QUANTIZE_QOPERATOR; format++) {
        hone_quantize_options o = static_options();
        o.format = (hone_quantize_format)format;
        double plain = error_of(&o, "");
        o.keep_outliers = true;
        static const char note[] = "outlier channels";
        double kept = error_of(&o, note);
        o.gptq = o.correct_bias = o.explain = true;
        double rounded = error_of(&o, note);
        if (!(kept < plain / 8 && rounded < plain / 8))
            fail_msg("plain %g, outliers kept %g, rounded too %g", plain, kept, rounded);
    }
}

/* Nothing stands out: nothing is changed. */
static void test_no_outliers(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    static_case plain = quantize_changed(ATTENTION, &o, 8, NULL);
    o.keep_outliers = true;
    static_case c = quantize_changed(ATTENTION, &o, 8, NULL);
    assert_int_equal(c.status, HONE_OK);
    assert_non_null(strstr(c.report->notes.at[0], "kept 0 outlier channels"));
    assert_int_equal(c.after->graph->nodes.n, plain.after->graph->nodes.n);
    static_case_free(&c);
    static_case_free(&plain);
    expect_refused(quantize_changed(ATTENTION, &o, 0, NULL), HONE_E_ARGUMENT, "found with samples");
}

/* A type per pattern: attention in float16, the rest in int8. */
static void test_half_layers(void **state) {
    (void)state;
    static const hone_quantize_choice choices[] = {{"attn*", HN_F16}, {"*", HN_I8}};
    hone_quantize_options o = static_options();
    o.n_choices = 2;
    o.choices = choices;
    static_case c = quantize_changed(ATTENTION, &o, 8, NULL);
    if (c.status != HONE_OK)
        fail_msg("%s", c.error.message);
    expect_valid(c.after);
    expect_near_floats(ATTENTION, c.after, 0.05);
    const hn_block *b = hn_block_at(c.after->graph, 0);
    uint32_t n_half = 0, n_int8 = 0;
    for (uint32_t i = 0; i < b->inits.n; i++) {
        const hn_tensor *t = hn_value_at(c.after->graph, b->inits.at[i])->init;
        n_half += t->dtype == HN_F16 && t->rank == 2;
        n_int8 += t->dtype == HN_I8 && t->rank == 2;
    }
    assert_int_equal(n_half, 2);
    assert_int_equal(n_int8, 1);
    static_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_no_outliers),
        cmocka_unit_test(test_half_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
