/* Models whose activations are quantized in each run. */
#include "quant_case.h"

static void test_products_share_activations(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(QUANT_HEAD(17) "g (float[n,32] x) => (float[n,8] y, float[n,4] z)\n"
                                    "<float[32,8] v = $256, float[32,4] w = $128> {\n"
                                    "  y = MatMul (x, v)\n  z = MatMul (x, w)\n}",
                     true, &o,
                     "DynamicQuantizeLinear MatMulInteger Cast Mul Mul MatMulInteger Cast Mul Mul ",
                     0.05);
    o.is_per_channel = false;
    o.weight = (hn_quant_type){HN_U8, false, true, false};
    expect_quantized(QUANT_HEAD(13) "g (float[n,32] x) => (float[n,8] y)\n"
                                    "<float[32,8] v = $256> { y = MatMul (x, v) }",
                     true, &o, "DynamicQuantizeLinear MatMulInteger Cast Mul Mul ", 0.05);
}

/* Tied weights: the table is quantized for the product, too. */
static void test_transposed(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (int64[n] i) => (float[n,9] y)\n"
                       "<float[9,32] w = $288> {\n"
                       "  x = Gather (w, i)\n  t = Transpose <perm = [1,0]> (w)\n"
                       "  y = MatMul (x, t)\n}";
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(
        text, true, &o,
        "Gather Gather Cast Mul Transpose DynamicQuantizeLinear MatMulInteger Cast Mul Mul ", 0.05);
    expect_quantized(text, false, &o, "Gather Gather Cast Mul DequantizeLinear Transpose MatMul ",
                     0.02);
    hn_model *m = quantized_from(text, true, &o); /* integers, two shapes of scales, zero points */
    assert_int_equal(hn_block_at(m->graph, 0)->inits.n, 4);
    hn_model_free(m);
    o = options_with(HN_U4, false, 16);
    o.uses_nbits = true;
    expect_quantized(text, false, &o, "GatherBlockQuantized MatMulNBits ", 0.2);
}

static void test_gemm(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(QUANT_HEAD(17) "g (float[n,32] x) => (float[n,8] y)\n"
                                    "<float[8,32] w = $256, float[8] b = $8> {\n"
                                    "  y = Gemm <transB = 1, alpha = 0.5> (x, w, b)\n}",
                     true, &o, "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Add ", 0.05);
    quant_notes notes = notes_of(QUANT_HEAD(17) "g (float[32,n] x) => (float[n,8] y)\n"
                                                "<float[32,8] w = $256> {\n"
                                                "  y = Gemm <transA = 1> (x, w)\n}",
                                 true, o);
    assert_string_equal(notes.reason, "its left side is transposed");
}

/* Scales of channels have the rank of the result, the zero point is a scalar. */
static void test_convolutions(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (float[n,4,6,6] x) => (float[n,8,6,6] y)\n"
                       "<float[8,2,3,3] w = $144, float[8] b = $8> {\n"
                       "  y = Conv <group = 2, pads = [1,1,1,1]> (x, w, b)\n}";
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(text, true, &o, "DynamicQuantizeLinear ConvInteger Cast Mul Mul Add ", 0.05);
    o.weight = (hn_quant_type){HN_U8, false, false, false};
    hn_model *m = quantized_from(text, true, &o);
    const hn_tensor *zero = hn_value_at(m->graph, value_named(m->graph, "w_zero_point"))->init;
    const hn_tensor *scale = hn_value_at(m->graph, value_named(m->graph, "w_scale"))->init;
    int64_t z = 0;
    assert_true(zero->rank == 0 && hn_tensor_get_i64(zero, 0, &z) && z == 128);
    assert_true(scale->rank == 4 && scale->dims[1] == 8 && scale->n_elems == 8);
    expect_near_floats(text, m, 0.05);
    hn_model_free(m);
    o.is_per_channel = false;
    expect_quantized(text, true, &o, "DynamicQuantizeLinear ConvInteger Cast Mul Mul Add ", 0.05);
}

static void test_tables(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(17) "g (int64[n] i) => (float[n,6] y)\n"
                                              "<float[9,6] t = $54> { y = Gather (t, i) }";
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(text, true, &o, "Gather DequantizeLinear ", 0.01);
    o.is_per_channel = false;
    expect_quantized(text, true, &o, "Gather DequantizeLinear ", 0.01);
}

static void test_recurrent(void **state) {
    (void)state;
    static const char lstm[] =
        QUANT_HEAD(17) "g (float[s,n,6] x) => (float[s,1,n,5] y)\n"
                       "<float[1,20,6] w = $120, float[1,20,5] r = $100, float[1,40] b = $40> {\n"
                       "  y = LSTM <hidden_size = 5> (x, w, r, b)\n}";
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(lstm, true, &o, "DynamicQuantizeLSTM ", 0.05);
    o.weight = (hn_quant_type){HN_U8, false, false, false};
    expect_quantized(lstm, true, &o, "DynamicQuantizeLSTM ", 0.05);
    o.allows_ms = false;
    expect_quantized(lstm, true, &o, "DequantizeLinear DequantizeLinear LSTM ", 0.02);
    expect_quantized(QUANT_HEAD(17) "g (float[s,n,6] x) => (float[s,1,n,5] y)\n"
                                    "<float[1,15,6] w = $90, float[1,15,5] r = $75> {\n"
                                    "  y = GRU <hidden_size = 5> (x, w, r)\n}",
                     true, &o, "DequantizeLinear DequantizeLinear GRU ", 0.02);
}

static void test_attention(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(QUANT_HEAD(17) "g (float[n,s,8] x) => (float[n,s,8] y)\n"
                                    "<float[8,24] w = $192, float[24] b = $24> {\n"
                                    "  y = com.microsoft.Attention <num_heads = 2> (x, w, b)\n}",
                     true, &o, "DynamicQuantizeLinear QAttention ", 0.05);
}

/* Each block quantizes what its own nodes read; weights are shared. */
static void test_bodies(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (bool c, float[n,32] x) => (float[n,4] y, float[n,4] z)\n"
                       "<float[32,4] w = $128> {\n"
                       "  y = If (c) <then_branch = t () => (float[n,4] a) { a = MatMul (x, w) },\n"
                       "    else_branch = e () => (float[n,4] b) { b = MatMul (x, w) }>\n"
                       "  z = MatMul (x, w)\n}";
    hn_write_options o = options_with(HN_I8, true, 0);
    hn_model *m = quantized_from(text, true, &o);
    expect_ops(m->graph, 1, "DynamicQuantizeLinear MatMulInteger Cast Mul Mul ");
    assert_int_equal(hn_block_at(m->graph, 0)->inits.n, 3);
    expect_near_floats(text, m, 0.05);
    hn_model_free(m);
}

#define TWO_PRODUCTS                                 \
  QUANT_HEAD(17)                                     \
  "g (float[n,32] x) => (float[n,4] z)\n"            \
  "<float[32,16] v = $512, float[16,4] w = $64> {\n" \
  "  [ffn_first] y = MatMul (x, v)\n  [attention_last] z = MatMul (y, w)\n}"

static void test_choices(void **state) {
    (void)state;
    static const hn_quant_choice choices[] = {{"attention*", HN_F16}, {"ffn_?irst", HN_U4}};
    hn_write_options o = options_with(HN_I8, true, 0);
    o.n_choices = 2;
    o.choices = choices;
    hn_model *m = quantized_from(TWO_PRODUCTS, true, &o);
    expect_ops(m->graph, 0, "DequantizeLinear MatMul Cast MatMul Cast ");
    hn_model_free(m);
    o.n_choices = 0;
    o.n_excluded_nodes = 1;
    o.excluded_nodes = (const char *const[]){"ffn*"};
    expect_quantized(TWO_PRODUCTS, true, &o,
                     "MatMul DynamicQuantizeLinear MatMulInteger Cast Mul Mul ", 0.05);
    o.n_excluded_nodes = 0;
    o.n_ops = 1;
    o.ops = (const char *const[]){"Conv"};
    expect_quantized(TWO_PRODUCTS, true, &o, "MatMul MatMul ", 0);
}

static void test_notes(void **state) {
    (void)state;
    quant_notes notes = notes_of(TWO_PRODUCTS, true, options_with(HN_I8, true, 0));
    assert_true(notes.n == 2 && notes.n_quantized == 2);
    assert_int_equal(notes.float_bytes, (512 + 64) * 4);
    assert_int_equal(notes.quantized_bytes, 512 + 64 + (16 + 4) * 5);
    assert_true(notes.least_sqnr > 40 && notes.least_sqnr < 60);
}

static void test_activations_of_both_sides(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(17) "g (float[n,8] x, float[8,m] z) => (float[n,m] y) {\n"
                                              "  y = MatMul (x, z)\n}";
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_quantized(text, true, &o, "MatMul ", 0);
    o.is_const_b_only = false;
    expect_quantized(text, true, &o,
                     "DynamicQuantizeLinear DynamicQuantizeLinear MatMulInteger Cast Mul Mul ",
                     0.05);
}

static void expect_refused(const char *text, const hn_write_options *o, const char *phrase) {
    hone_error err = {0};
    hn_model *m = model_from(with_numbers(text));
    assert_int_not_equal(hn_quant_dynamic(m, o, &err), HONE_OK);
    if (!strstr(err.message, phrase))
        fail_msg("no '%s' in: %s", phrase, err.message);
    hn_model_free(m);
}

static void test_refused(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 0);
    expect_refused(
        QUANT_HEAD(17) "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, nan, 2, 3}> {\n"
                       "  y = MatMul (x, w)\n}",
        &o, "element 1 of 'w' is NaN");
    o.weight.dtype = HN_I32;
    expect_refused(TWO_PRODUCTS, &o, "int32");
}

/* Weights that callers could replace become constants. */
static void test_listed_weights(void **state) {
    (void)state;
    hn_write_options o = options_with(HN_I8, true, 0);
    hn_model *m =
        quantized_from(QUANT_HEAD(17) "g (float[n,32] x, float[32,4] w) => (float[n,4] y)\n"
                                      "<float[32,4] w = $128> { y = MatMul (x, w) }",
                       true, &o);
    expect_ops(m->graph, 0, "DynamicQuantizeLinear MatMulInteger Cast Mul Mul ");
    assert_int_equal(hn_block_at(m->graph, 0)->inputs.n, 1);
    hn_model_free(m);
}

static void test_names(void **state) {
    (void)state;
    assert_true(hn_quant_name_fits("a*c", "abcbc") && hn_quant_name_fits("*", ""));
    assert_true(hn_quant_name_fits("a?c", "abc") &&
                hn_quant_name_fits("/l.*/MatMul*", "/l.0/MatMul"));
    assert_false(hn_quant_name_fits("a?c", "ac") || hn_quant_name_fits("a*d", "abc"));
    assert_false(hn_quant_name_fits("", "a") || hn_quant_name_fits("abc", "abcd"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_share_activations),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_activations_of_both_sides),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_listed_weights),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
