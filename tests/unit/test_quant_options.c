/* Options of static quantization that shape the file: pairs, domains, axes, zero points. */
#include "quant/quant_int.h"
#include "quant_static_case.h"

#include <math.h>

#define BRANCHES                                                                              \
  QUANT_HEAD(17)                                                                              \
  "g (float[n,4,6,6] x) => (float[n,8] y)\n"                                                  \
  "<float[8,4,1,1] v = $32, float[8] b = $8, float[8,8,1,1] w = $64, float[8,8] u = $64> {\n" \
  "  [first] r = Conv (x, v, b)\n  [second] d = Conv (r, w)\n  s = Add (r, d)\n"              \
  "  p = GlobalAveragePool (s)\n  f = Flatten (p)\n  [last] y = Gemm (f, u)\n}"

static uint32_t count_ops(const hn_graph *g, const char *domain, const char *op) {
    uint32_t n = 0;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *node = hn_node_at(g, id);
        bool is_in =
            *domain ? strcmp(hn_s(node->domain), domain) == 0 : hn_domain_is_onnx(node->domain);
        n += node->block != HN_NONE && is_in && hn_str_is(node->op, op);
    }
    return n;
}

static static_case quantized(const hone_quantize_options *o, double bound) {
    static_case c = quantize_changed(BRANCHES, o, 8, NULL);
    if (c.status != HONE_OK)
        fail_msg("%s", c.error.message);
    expect_valid(c.after);
    expect_near_floats(BRANCHES, c.after, bound);
    return c;
}

/* r has two readers. */
static void test_dedicated_pairs(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    static_case c = quantized(&o, 0.05);
    uint32_t n_shared = count_ops(c.after->graph, "", "QuantizeLinear");
    static_case_free(&c);
    o.dedicated_qdq_pair = true;
    c = quantized(&o, 0.05);
    assert_int_equal(count_ops(c.after->graph, "", "QuantizeLinear"), n_shared + 1);
    static_case_free(&c);
}

/* 16 bits in an old opset. */
static void test_contrib_pairs(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    o.use_qdq_contrib_ops = true;
    o.activation_type = HN_U16;
    static_case c = quantized(&o, 0.05);
    assert_int_equal(count_ops(c.after->graph, "", "QuantizeLinear"), 0);
    assert_true(count_ops(c.after->graph, "com.microsoft", "QuantizeLinear") > 3);
    assert_int_equal(hn_opset_version(&c.after->opsets, NULL), 17);
    assert_true(hn_opset_version(&c.after->opsets, hn_intern_z(c.after->names, "com.microsoft")) >
                0);
    static_case_free(&c);
    o.format = HONE_QUANTIZE_QOPERATOR;
    o.activation_type = HN_U8;
    c = quantized(&o, 0.05);
    assert_int_equal(count_ops(c.after->graph, "", "QLinearConv"), 2);
    static_case_free(&c);
}

static const hn_tensor *first_const(const hn_graph *g, const char *op, uint32_t slot) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        if (n->block != HN_NONE && hn_str_is(n->op, op) && n->n_inputs > slot)
            return hn_value_at(g, n->inputs[slot])->init;
    }
    return NULL;
}

/* Inputs have both signs; what follows a Relu has not. */
static void test_restricted_zero_points(void **state) {
    (void)state;
    hone_quantize_options o = static_options();
    o.activation_restricted_asymmetric = true;
    static_case c = quantized(&o, 0.05);
    for (uint32_t i = 0; i < c.report->tensors.n; i++) {
        const hn_quant_tensor_info *t = &c.report->tensors.at[i];
        assert_int_equal(t->params.zero, t->low < 0 ? 128 : 0);
        double scale = t->params.scale * 1.000001;
        assert_true(scale * 128 >= -t->low && scale * (255 - t->params.zero) >= t->high);
    }
    static_case_free(&c);
}

static void test_channel_axes(void **state) {
    (void)state;
    hone_quantize_axis axes[] = {{"Conv", 1}, {"Gemm", -1}};
    hone_quantize_options o = static_options();
    o.n_channel_axes = 2;
    o.channel_axes = axes;
    for (int format = HONE_QUANTIZE_QDQ; format <= HONE_QUANTIZE_QOPERATOR; format++) {
        o.format = (hone_quantize_format)format;
        static_case c = quantized(&o, 0.05);
        /* no operator on integers has such scales, and no bias */
        assert_int_equal(count_ops(c.after->graph, "", "QLinearConv"), 0);
        assert_int_equal(count_ops(c.after->graph, "", "Conv"), 2);
        assert_int_equal(first_const(c.after->graph, "Conv", 2)->dtype, HN_F32);
        static_case_free(&c);
    }
}

static void test_float_outputs(void **state) {
    (void)state;
    static const char *const ops[] = {"Conv"};
    static const char text[] = QUANT_HEAD(17) "g (float[n,4,6,6] x) => (float[n,8,6,6] y)\n"
                                              "<float[8,4,1,1] v = $32> {\n  y = Conv (x, v)\n}";
    hone_quantize_options o = static_options();
    expect_static(text, &o,
                  "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear "
                  "DequantizeLinear ",
                  0.05);
    o.n_float_output_op_types = 1;
    o.float_output_op_types = ops;
    expect_static(text, &o, "QuantizeLinear DequantizeLinear DequantizeLinear Conv ", 0.05);
}

/* A bias far larger than the integers of its channel can be. */
static void test_bias_adjustment(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (float[n,2] x) => (float[n,2] y)\n"
                       "<float[2,2] u = {0.00000001, 1, 0.00000001, 1}, float[2] b = {1, 1}> {\n"
                       "  y = Gemm (x, u, b)\n}";
    float scales[2];
    for (int i = 0; i < 2; i++) {
        hone_quantize_options o = static_options();
        o.weight_adjust_for_int32_bias = i == 1;
        static_case c = quantize_changed(text, &o, 8, NULL);
        assert_int_equal(c.status, HONE_OK);
        hn_id node =
            hn_value_at(c.after->graph, hn_block_at(c.after->graph, 0)->outputs.at[0])->producer;
        hn_id dq =
            hn_value_at(c.after->graph, hn_node_at(c.after->graph, node)->inputs[1])->producer;
        const hn_tensor *scale =
            hn_value_at(c.after->graph, hn_node_at(c.after->graph, dq)->inputs[1])->init;
        double s = 0;
        hn_tensor_get_f64(scale, 0, &s);
        scales[i] = (float)s;
        static_case_free(&c);
    }
    assert_float_equal(scales[0], 1e-8f / 127, 1e-12f);
    assert_true(scales[1] > 2 * scales[0]);
}

/* A head that reads the table of the embeddings; larger ones are not folded before. */
static void test_tied_head(void **state) {
    (void)state;
    static const char text[] =
        QUANT_HEAD(17) "g (float[2,4] x, int64[3] i) => (float[2,8] y, float[3,4] z)\n"
                       "<float[8,4] w = $32> {\n  t = Transpose <perm = [1,0]> (w)\n"
                       "  y = MatMul (x, t)\n  z = Gather (w, i)\n}";
    hone_error err = {0};
    hn_model *m = model_from(with_numbers(text));
    assert_int_equal(hn_quant_fold_transposes(m, &err), HONE_OK);
    expect_ops(m->graph, 0, "MatMul Gather ");
    expect_near_floats(text, m, 0);
    hn_model_free(m);
}

/* Recurrent layers have no integer kernels: their weights are stored as integers. */
static void test_recurrent_layers(void **state) {
    (void)state;
    static const char text[] = QUANT_HEAD(17) "g (float[4,2,6] x) => (float[4,1,2,5] y)\n"
                                              "<float[1,20,6] w = $120, float[1,20,5] r = $100> {\n"
                                              "  [cell] y = LSTM <hidden_size = 5> (x, w, r)\n}";
    static const hone_quantize_choice kept = {"cell", HN_F32};
    hone_quantize_options o = static_options();
    expect_static(text, &o, "DequantizeLinear DequantizeLinear LSTM ", 0.05);
    o.n_choices = 1;
    o.choices = &kept;
    expect_static(text, &o, "LSTM ", 1e-6);
}

static void test_unknown_names(void **state) {
    (void)state;
    hone_quantize_override own = {.tensor = "nobody", .type = HN_I8, .symmetric = -1};
    static const hone_quantize_choice choice = {"no*body", HN_I8};
    hone_quantize_options o = static_options();
    o.n_overrides = 1;
    o.overrides = &own;
    expect_refused(quantize_changed(BRANCHES, &o, 2, NULL), HONE_E_NOT_FOUND, "no tensor 'nobody'");
    o = static_options();
    o.n_choices = 1;
    o.choices = &choice;
    expect_refused(quantize_changed(BRANCHES, &o, 2, NULL), HONE_E_NOT_FOUND, "no node 'no*body'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dedicated_pairs),
        cmocka_unit_test(test_contrib_pairs),
        cmocka_unit_test(test_restricted_zero_points),
        cmocka_unit_test(test_channel_axes),
        cmocka_unit_test(test_float_outputs),
        cmocka_unit_test(test_bias_adjustment),
        cmocka_unit_test(test_tied_head),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_recurrent_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
