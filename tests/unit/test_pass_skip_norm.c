/* The passes "skip-norm" and "bias-gelu": fusion into operators of com.microsoft. */
#include "pass_case.h"

#define DOMAINS "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]>\n"
#define PARAMS "float[4] g = {1,2,3,4}, float[4] b = {4,3,2,1}"
#define NORM(x) "y = LayerNormalization<axis = -1, epsilon = 0.001>(" x ", g, b)"

static void expect_fused(const char *passes, const char *text, const char *expected) {
    pass_case c = {.passes = passes,
                   .target = HN_TARGET_ONNXRUNTIME,
                   .text = text,
                   .expected = expected,
                   .bound = 1e-5};
    expect_pass(&c);
}

static void expect_kept(const char *passes, const char *text) {
    expect_fused(passes, text, text);
}

#define ONE DOMAINS "g (float[B,S,4] p, float[B,S,4] q) => (float[B,S,4] y)"
#define TWO DOMAINS "g (float[B,S,4] p, float[B,S,4] q) => (float[B,S,4] y, float[B,S,4] z)"

static void test_skip_layer_norm(void **state) {
    (void)state;
    expect_fused("skip-norm", ONE "<" PARAMS ">{ s = Add(p, q) " NORM("s") "}",
                 ONE "<" PARAMS ">{ y = com.microsoft.SkipLayerNormalization"
                     "<epsilon = 0.001>(p, q, g, b) }");
    expect_fused("skip-norm", TWO "<" PARAMS ">{ s = Add(p, q) " NORM("s") " z = Relu(s) }",
                 TWO "<" PARAMS ">{ y, , , s = com.microsoft.SkipLayerNormalization"
                     "<epsilon = 0.001>(p, q, g, b) z = Relu(s) }");
    expect_fused("skip-norm",
                 TWO "<" PARAMS ">{ z = Add(p, q) y = LayerNormalization<axis = 2, "
                     "epsilon = 0.001>(z, g) }",
                 TWO "<" PARAMS ">{ y, , , z = com.microsoft.SkipLayerNormalization"
                     "<epsilon = 0.001>(p, q, g) }");
}

static void test_bias(void **state) {
    (void)state;
    static const char *const fused =
        ONE "<" PARAMS ", float[4] c = {1,2,1,2}>{ y = com.microsoft.SkipLayerNormalization"
            "<epsilon = 0.001>(p, q, g, b, c) }";
    expect_fused("skip-norm",
                 ONE "<" PARAMS
                     ", float[4] c = {1,2,1,2}>{ t = Add(p, c) s = Add(t, q) " NORM("s") "}",
                 fused);
    expect_fused("skip-norm",
                 ONE "<" PARAMS
                     ", float[4] c = {1,2,1,2}>{ t = Add(c, q) s = Add(p, t) " NORM("s") "}",
                 fused);
    /* the sum with the bias has another reader */
    expect_fused("skip-norm",
                 TWO "<" PARAMS
                     ", float[4] c = {1,2,1,2}>{ z = Add(p, c) s = Add(z, q) " NORM("s") "}",
                 TWO "<" PARAMS ", float[4] c = {1,2,1,2}>{ z = Add(p, c) "
                     "y = com.microsoft.SkipLayerNormalization<epsilon = 0.001>(z, q, g, b) }");
}

static void test_skip_rms_norm(void **state) {
    (void)state;
    expect_fused("skip-norm",
                 TWO "<" PARAMS ">{ t = Add(p, b) s = Add(q, t) "
                     "y = RMSNormalization<axis = -1, epsilon = 0.001>(s, g) z = Abs(s) }",
                 TWO "<" PARAMS ">{ y, , , s = com.microsoft.SkipSimplifiedLayerNormalization"
                     "<epsilon = 0.001>(q, p, g, b) z = Abs(s) }");
}

static void test_skip_must_not_fire(void **state) {
    (void)state;
    /* for other runtimes; not the last axis; shapes that are not known to be equal; another rank */
    pass_case plain = {.passes = "skip-norm",
                       .text = ONE "<" PARAMS ">{ s = Add(p, q) " NORM("s") "}",
                       .expected = ONE "<" PARAMS ">{ s = Add(p, q) " NORM("s") "}"};
    expect_pass(&plain);
    expect_kept("skip-norm",
                DOMAINS "g (float[2,4,4] p, float[2,4,4] q) => (float[2,4,4] y) <float[4,4] g = "
                        "{1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4}>{ s = Add(p, q) "
                        "y = LayerNormalization<axis = 1>(s, g) }");
    expect_kept("skip-norm",
                DOMAINS "g (float[2,S,4] p, float[1,S,4] q) => (float[2,S,4] y) <" PARAMS
                        ">{ s = Add(p, q) " NORM("s") "}");
    expect_kept("skip-norm",
                DOMAINS "g (float[2,1,S,4] p, float[2,1,S,4] q) => (float[2,1,S,4] y) <" PARAMS
                        ">{ s = Add(p, q) " NORM("s") "}");
    /* the mean has a reader; weights are graph inputs */
    expect_kept("skip-norm", DOMAINS
                "g (float[B,S,4] p, float[B,S,4] q) => (float[B,S,4] y, float[B,S,1] m) <" PARAMS
                ">{ s = Add(p, q) y, m = LayerNormalization<axis = -1>(s, g, b) }");
    expect_kept("skip-norm",
                DOMAINS "g (float[B,S,4] p, float[B,S,4] q, float[4] g) => (float[B,S,4] y) "
                        "{ s = Add(p, q) y = LayerNormalization<axis = -1>(s, g) }");
}

#define GELU_IN DOMAINS "g (float[B,4] x) => (float[B,4] y) <float[4] b = {1,2,3,4}>"

static void test_bias_gelu(void **state) {
    (void)state;
    expect_fused("bias-gelu", GELU_IN "{ s = Add(b, x) y = Gelu(s) }",
                 GELU_IN "{ y = com.microsoft.BiasGelu(x, b) }");
    expect_fused("bias-gelu", GELU_IN "{ s = Add(x, b) y = com.microsoft.Gelu(s) }",
                 GELU_IN "{ y = com.microsoft.BiasGelu(x, b) }");
    expect_fused("bias-gelu", GELU_IN "{ s = Add(x, b) y = Gelu<approximate = \"tanh\">(s) }",
                 GELU_IN "{ y = com.microsoft.FastGelu(x, b) }");
    expect_fused("bias-gelu", GELU_IN "{ s = Add(x, b) y = com.microsoft.FastGelu(s) }",
                 GELU_IN "{ y = com.microsoft.FastGelu(x, b) }");
}

static void test_bias_gelu_must_not_fire(void **state) {
    (void)state;
    expect_kept("bias-gelu", DOMAINS "g (float[B,4] x) => (float[B,4] y, float[B,4] s) "
                                     "<float[4] b = {1,2,3,4}>{ s = Add(b, x) y = Gelu(s) }");
    expect_kept("bias-gelu", DOMAINS "g (float[B,4] x) => (float[B,4] y) "
                                     "<float b = {1}>{ s = Add(b, x) y = Gelu(s) }");
    expect_kept("bias-gelu", DOMAINS "g (float[B,1] x) => (float[B,4] y) "
                                     "<float[4] b = {1,2,3,4}>{ s = Add(b, x) y = Gelu(s) }");
    expect_kept("bias-gelu", DOMAINS "g (float[B,4] x, float[4] b) => (float[B,4] y) "
                                     "{ s = Add(b, x) y = Gelu(s) }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skip_layer_norm), cmocka_unit_test(test_bias),
        cmocka_unit_test(test_skip_rms_norm),   cmocka_unit_test(test_skip_must_not_fire),
        cmocka_unit_test(test_bias_gelu),       cmocka_unit_test(test_bias_gelu_must_not_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
