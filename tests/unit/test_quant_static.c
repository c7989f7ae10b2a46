/* Static quantization: which nodes, in which form, and what is refused. */
#include "quant_static_case.h"

#include <math.h>
#include <unistd.h>

#define CONVS                                                                                  \
  QUANT_HEAD(17)                                                                               \
  "g (float[n,4,6,6] x) => (float[n,8] y)\n"                                                   \
  "<float[8,4,3,3] v = $288, float[8] b = $8, float[8,8,1,1] w = $64, float[8,8] u = $64> {\n" \
  "  [first] c = Conv <pads = [1,1,1,1]> (x, v, b)\n  r = Relu (c)\n"                          \
  "  [second] d = Conv (r, w)\n  s = Add (r, d)\n  p = GlobalAveragePool (s)\n"                \
  "  f = Flatten (p)\n  [last] y = Gemm (f, u)\n}"

static void test_qdq(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    expect_static(CONVS, &o,
                  "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv "
                  "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear "
                  "DequantizeLinear Add QuantizeLinear DequantizeLinear GlobalAveragePool "
                  "QuantizeLinear DequantizeLinear Flatten QuantizeLinear DequantizeLinear "
                  "DequantizeLinear Gemm ",
                  0.05);
    o.per_channel = false;
    o.activation_type = HN_I8;
    o.keep_removable_activations = true;
    o.quantize_bias = false;
    expect_static(CONVS, &o,
                  "QuantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear "
                  "DequantizeLinear DequantizeLinear Conv QuantizeLinear DequantizeLinear Add "
                  "QuantizeLinear DequantizeLinear GlobalAveragePool QuantizeLinear "
                  "DequantizeLinear Flatten QuantizeLinear DequantizeLinear DequantizeLinear Gemm ",
                  0.05);
}

static void test_qoperators(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    o.format = HONE_QUANTIZE_QOPERATOR;
    expect_static(CONVS, &o,
                  "QuantizeLinear QLinearConv QLinearConv QLinearAdd QLinearGlobalAveragePool "
                  "Flatten QGemm ",
                  0.05);
    o.standard_ops = true;
    expect_static(CONVS, &o,
                  "QuantizeLinear QLinearConv DequantizeLinear QLinearConv DequantizeLinear Add "
                  "QuantizeLinear DequantizeLinear GlobalAveragePool QuantizeLinear Flatten "
                  "DequantizeLinear DequantizeLinear Gemm ",
                  0.05);
}

/* Products write floats for operators that compute with floats; a constant behind them is a bias.
 */
static void test_products(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (float[n,5,16] x) => (float[n,5,8] y, float[n,5,5] z)\n"
                       "<float[16,16] v = $256, float[16] b = $16, float[16,8] w = $128> {\n"
                       "  p = MatMul (x, v)\n  q = Add (p, b)\n  t = Tanh (q)\n"
                       "  y = MatMul (t, w)\n  m = Transpose <perm = [0,2,1]> (t)\n"
                       "  z = MatMul (t, m)\n}";
    hone_quantize_options o = static_options();
    expect_static(text, &o,
                  "QuantizeLinear DequantizeLinear DequantizeLinear MatMul Add Tanh QuantizeLinear "
                  "DequantizeLinear DequantizeLinear MatMul Transpose MatMul ",
                  0.05);
    o.format = HONE_QUANTIZE_QOPERATOR;
    expect_static(
        text, &o,
        "QuantizeLinear MatMulIntegerToFloat Add Tanh QuantizeLinear MatMulIntegerToFloat "
        "Transpose MatMul ",
        0.05);
    o.format = HONE_QUANTIZE_QDQ;
    o.matmul_const_b_only = false;
    expect_static(text, &o,
                  "QuantizeLinear DequantizeLinear DequantizeLinear MatMul Add Tanh "
                  "QuantizeLinear DequantizeLinear DequantizeLinear MatMul Transpose "
                  "QuantizeLinear DequantizeLinear MatMul ",
                  0.05);
}

static void test_types(void **state) {
    (void)state;
    static const hn_dtype activations[] = {HN_U8, HN_I8, HN_U16, HN_I16};
    static const hn_dtype weights[] = {HN_I8, HN_U8, HN_I16, HN_I4};
    for (size_t i = 0; i < HN_COUNT(activations); i++)
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            hone_quantize_options o = static_options();
            o.activation_type = activations[i];
            o.weight_type = weights[i];
            o.activation_symmetric = symmetric;
            static_case c = quantize_changed(CONVS, &o, 8, NULL);
            assert_int_equal(c.status, HONE_OK);
            expect_valid(c.after);
            expect_near_floats(CONVS, c.after, weights[i] == HN_I4 ? 0.4 : 0.05);
            static_case_free(&c);
        }
}

static const char *reason_of(const static_case *c, const char *node) {
    for (uint32_t i = 0; i < c->report->nodes.n; i++)
        if (strcmp(c->report->nodes.at[i].node, node) == 0)
            return c->report->nodes.at[i].is_quantized ? "" : c->report->nodes.at[i].reason;
    fail_msg("no node %s", node);
    return NULL;
}

static void test_what_stays_float(void **state) {
    (void)state;
    const char *excluded[] = {"sec*"};
    hone_quantize_options o = static_options();
    o.keep_first = o.keep_last = true;
    o.n_excluded_nodes = 1;
    o.excluded_nodes = excluded;
    static_case c = quantize_changed(CONVS, &o, 2, NULL);
    assert_string_equal(reason_of(&c, "first"), "it is a first layer");
    assert_string_equal(reason_of(&c, "second"), "it is excluded by name");
    assert_string_equal(reason_of(&c, "last"), "it is a last layer");
    expect_near_floats(CONVS, c.after, 1e-6);
    static_case_free(&c);
    hone_quantize_override own = {.tensor = "x", .type = HN_F32, .symmetric = -1};
    o = static_options();
    o.n_overrides = 1;
    o.overrides = &own;
    c = quantize_changed(CONVS, &o, 2, NULL);
    assert_string_equal(reason_of(&c, "first"), "an override keeps one of its tensors float");
    assert_string_equal(reason_of(&c, "second"), "");
    static_case_free(&c);
}

/* Old files list weights as inputs. */
static void test_listed_weight(void **state) {
    (void)state;
    static const char text[] =
        "<ir_version: 3, opset_import: [\"\" : 13]>\n"
        "g (float[n,8] x, float[8,8] w = $64) => (float[n,8] y)\n{\n  y = MatMul (x, w)\n}";
    hone_quantize_options o = static_options();
    static_case c = {.before = model_from(with_numbers(text)), .report = hn_quant_report_new(NULL)};
    random_source random = {.m = c.before, .n_left_out = 1};
    hn_quant_source source = {.ctx = &random, .n_samples = 8, .read = read_random};
    c.status = hn_quantize(c.before, &o, &source, c.report, &c.after, &c.error);
    hn_samples_free(random.now);
    if (c.status != HONE_OK)
        fail_msg("%s", c.error.message);
    expect_ops(c.after->graph, 0, "QuantizeLinear DequantizeLinear DequantizeLinear MatMul ");
    expect_valid(c.after);
    assert_int_equal(hn_block_at(c.after->graph, 0)->inputs.n, 1);
    static_case_free(&c);
}

/* Layers that share a weight share its integers. */
static void test_shared_weight(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(17) "g (float[n,8] x) => (float[n,8] y)\n"
                                              "<float[8,8] w = $64> {\n  a = MatMul (x, w)\n"
                                              "  t = Tanh (a)\n  y = MatMul (t, w)\n}";
    hone_quantize_options o = static_options();
    o.gptq = true;
    static_case c = quantize_changed(text, &o, 8, NULL);
    const hn_block *b = hn_block_at(c.after->graph, 0);
    uint32_t n_int8 = 0;
    for (uint32_t i = 0; i < b->inits.n; i++) {
        const hn_tensor *t = hn_value_at(c.after->graph, b->inits.at[i])->init;
        n_int8 += t->dtype == HN_I8 && t->rank == 2;
    }
    assert_int_equal(n_int8, 1);
    expect_near_floats(text, c.after, 0.05);
    static_case_free(&c);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void make_nan(hn_samples *s, uint64_t i) {
    if (i == 1)
        ((float *)s->inputs[0]->array.data)[3] = NAN;
}

static void lose_input(hn_samples *s, uint64_t i) {
    (void)i;
    s->inputs[0]->array.rank = 3;
}

static void change_type(hn_samples *s, uint64_t i) {
    (void)i;
    s->inputs[0]->array.dtype = HN_I32;
}

static void test_refusals(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    expect_refused(quantize_changed(CONVS, &o, 4, make_nan), HONE_E_INVALID,
                   "activation 'x' has 1 NaN or infinite numbers");
    expect_refused(quantize_changed(CONVS, &o, 4, lose_input), HONE_E_SHAPE,
                   "calibration sample 0 (drawn): input 'x' has 4 dimensions, the sample 3");
    expect_refused(quantize_changed(CONVS, &o, 4, change_type), HONE_E_TYPE,
                   "input 'x' takes float, the sample has int32");
    expect_refused(quantize_changed(CONVS, &o, 0, NULL), HONE_E_ARGUMENT,
                   "static quantization needs calibration samples");
    expect_refused(quantize_changed(QUANT_HEAD(17) "g (float[n] x) => (float[n] y) "
                                                   "<float s = {0.1}> {\n"
                                                   "  q = QuantizeLinear (x, s)\n"
                                                   "  y = DequantizeLinear (q, s)\n}",
                                    &o, 4, NULL),
                   HONE_E_INVALID, "quantized already");
    const char *names[] = {"nobody"};
    o.n_nodes = 1;
    o.nodes = names;
    expect_refused(quantize_changed(CONVS, &o, 4, NULL), HONE_E_NOT_FOUND, "no node 'nobody'");
}

static hone_status read_nothing(void *ctx, uint64_t i, hn_quant_sample *s, hone_error *err) {
    (void)ctx;
    (void)i;
    (void)s;
    (void)err;
    return HONE_OK;
}

static void test_no_samples(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    hn_quant_source source = {.read = read_nothing};
    static_case c = {.before = model_from(with_numbers(CONVS)),
                     .report = hn_quant_report_new(NULL)};
    c.status = hn_quantize(c.before, &o, &source, c.report, &c.after, &c.error);
    expect_refused(c, HONE_E_ARGUMENT, "no samples");
}

/* ---- caches ------------------------------------------------------------------------------------- */

static void test_cache(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/hone-calibration-%ld", (long)getpid());
    hone_quantize_options o = static_options();
    o.calibration_cache = path;
    static_case first = quantize_changed(CONVS, &o, 8, NULL);
    static_case second = quantize_changed(CONVS, &o, 0, NULL); /* the file has all */
    assert_int_equal(first.status, HONE_OK);
    assert_int_equal(second.status, HONE_OK);
    expect_same_text(first.after, second.after);
    static_case_free(&first);
    static_case_free(&second);
    FILE *out = fopen(path, "w");
    fputs("{\"format\": \"hone calibration\", \"tensors\": {\"x\": {\"low\": 1}}}", out);
    fclose(out);
    expect_refused(quantize_changed(CONVS, &o, 8, NULL), HONE_E_FORMAT, "tensor 'x' has no range");
    out = fopen(path, "w");
    fputs("{\"format\": \"hone calibration\",\n \"tensors\": {]}", out);
    fclose(out);
    expect_refused(quantize_changed(CONVS, &o, 8, NULL), HONE_E_FORMAT, "line 2");
    unlink(path);
}

/* ---- rescue ------------------------------------------------------------------------------------- */

/* Channels of the sum differ by a factor of 1000. */
#define UNBALANCED                                                                             \
  QUANT_HEAD(17)                                                                               \
  "g (float[n,4] x) => (float[n,4] y)\n"                                                       \
  "<float[4,4] v = {1, 0.5, 0.2, 1, 0.3, 1, 0.4, 0.1, 1000, 500, 700, 800, 1, 0.3, 0.8, 0.6}," \
  " float[4] b = {0.1, 0.2, 30, 0.4}, float[4,4] w = {1, 0.5, 0.001, 0.7, 0.2, 1, 0.0005, "    \
  "0.1, 0.4, 0.3, 0.0008, 1, 1, 0.6, 0.0003, 0.2}> {\n"                                        \
  "  p = Gemm <transB = 1> (x, v, b)\n  r = Relu (p)\n  y = Gemm <transB = 1> (r, w)\n}"

static double error_of(const char *text, const hone_quantize_options *o, const char **note) {
    static_case c = quantize_changed(text, o, 64, NULL);
    assert_int_equal(c.status, HONE_OK);
    static char kept[256];
    snprintf(kept, sizeof kept, "%s", c.report->notes.n ? c.report->notes.at[0] : "");
    *note = kept;
    hone_error err = {0};
    hn_samples *s, *t;
    hn_difference d;
    assert_int_equal(hn_samples_make(c.before, 5, &s, &err), HONE_OK);
    assert_int_equal(hn_samples_make(c.before, 5, &t, &err), HONE_OK);
    assert_int_equal(hn_samples_run(s, c.before, &err), HONE_OK);
    assert_int_equal(hn_samples_run(t, c.after, &err), HONE_OK);
    hn_samples_compare(s->n_outputs, s->outputs, t->outputs, &d);
    hn_samples_free(s);
    hn_samples_free(t);
    static_case_free(&c);
    return d.max_relative;
}

static void test_equalize(void **state) {
    (void)state;
    const char *note;
    hone_quantize_options o = static_options();
    o.calibration = HONE_CALIBRATION_MINMAX;
    double plain = error_of(UNBALANCED, &o, &note);
    o.equalize = true;
    double rescued = error_of(UNBALANCED, &o, &note);
    if (!(rescued < 0.05 && rescued < 0.2 * plain))
        fail_msg("%g plain, %g rescued", plain, rescued);
    assert_non_null(strstr(note, "equalized 1 groups"));
    error_of(QUANT_HEAD(17) "g (float[n,4] x) => (float[n,4] y)\n"
                            "<float[4,4] v = $16, float[4,4] w = $16> {\n"
                            "  p = MatMul (x, v)\n  s = Sigmoid (p)\n  y = MatMul (s, w)\n}",
             &o, &note);
    assert_non_null(strstr(note, "no channels to equalize"));
}

static void expect_note(const char *text, const char *phrase) {
    const char *note;
    hone_quantize_options o = static_options();
    o.equalize = true;
    double error = error_of(text, &o, &note);
    if (!strstr(note, phrase) || error > 0.05)
        fail_msg("error %g, '%s' without '%s' in\n%s", error, note, phrase, text);
}

/* Scales of normalizations, biases behind products and rows of convolutions take factors; what else
 * reads a value keeps it as it is. */
static void test_equalized_groups(void **state) {
    (void)state;
    expect_note(QUANT_HEAD(17) "g (float[n,5,8] x) => (float[n,5,4] y)\n"
                               "<float[8] s = {9, 0.1, 1, 2, 0.3, 5, 7, 0.2}, float[8] b = $8,"
                               " float[8,4] w = $32> {\n"
                               "  l = LayerNormalization (x, s, b)\n"
                               "  t = Transpose <perm = [1,0,2]> (l)\n  m = MatMul (t, w)\n"
                               "  y = Transpose <perm = [1,0,2]> (m)\n}",
                "equalized 1 groups");
    expect_note(QUANT_HEAD(17) "g (float[n,5,8] x) => (float[n,5,4] y)\n"
                               "<float[8] s = {9, 0.1, 1, 2, 0.3, 5, 7, 0.2}, float[8,6] v = $48,"
                               " float[6] b = $6, float[6,4] w = $24> {\n"
                               "  c = Tanh (x)\n  l = Mul (c, s)\n  m = MatMul (l, v)\n"
                               "  a = Add (m, b)\n  r = Relu (a)\n  y = MatMul (r, w)\n}",
                "equalized 2 groups");
    expect_note(QUANT_HEAD(17) "g (float[n,4,6,6] x) => (float[n,6,4,4] y)\n"
                               "<float[4,4,1,1] u = $16, float[4] a = $4, float[4,1,3,3] v = $36,"
                               " float[4] b = $4, float[6,2,1,1] w = $12> {\n"
                               "  c = Conv (x, u, a)\n  p = Relu (c)\n"
                               "  d = Conv <group = 4> (p, v, b)\n  r = Relu (d)\n"
                               "  y = Conv <group = 2> (r, w)\n}",
                "equalized 2 groups");
    expect_note(QUANT_HEAD(17) "g (float[n,5,8] x) => (float[n,5,4] y, float[n,5,8] z)\n"
                               "<float[8] s = $8, float[8] b = $8, float[8,4] w = $32> {\n"
                               "  l = LayerNormalization (x, s, b)\n  y = MatMul (l, w)\n"
                               "  z = Tanh (l)\n}",
                "no channels to equalize");
}

static void test_correct_bias_and_errors(void **state) {
    (void)state;
    const char *note;
    hone_quantize_options o = static_options();
    o.weight_type = HN_I4;
    o.correct_bias = true;
    o.explain = true;
    error_of(CONVS, &o, &note);
    assert_non_null(strstr(note, "corrected the biases of 1 of 3 layers"));
    static_case c = quantize_changed(CONVS, &o, 8, NULL);
    for (uint32_t i = 0; i < c.report->nodes.n; i++) {
        const hone_quantized_node *n = &c.report->nodes.at[i];
        if (n->float_bytes == 0)
            continue;
        assert_true(n->output_sqnr > 5 && n->output_sqnr < 40);
        assert_true(n->weight_sqnr > 5 && n->weight_sqnr < 40);
        assert_true(n->input_sqnr > 20 && n->input_sqnr < 70);
    }
    static_case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qdq),
        cmocka_unit_test(test_qoperators),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_what_stays_float),
        cmocka_unit_test(test_listed_weight),
        cmocka_unit_test(test_shared_weight),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_samples),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_equalize),
        cmocka_unit_test(test_equalized_groups),
        cmocka_unit_test(test_correct_bias_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
