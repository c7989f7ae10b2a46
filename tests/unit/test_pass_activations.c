/* The pass "activations": formulas in many spellings, and formulas that must not match. */
#include <stdio.h>

#include "pass_case.h"

#define HEAD(opset, type) \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\ng (" type "[2,3] x) => (" type "[2,3] y)"
#define MS_HEAD                                                          \
  "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n" \
  "g (float[2,3] x) => (float[2,3] y)"
#define GELU_CONSTS                                                                       \
  "<float h = {0.5}, float one = {1}, float two = {2}, float r = {1.4142135}, float i = " \
  "{0.70710678}>"

static void expect_activation(const char *head_consts_body, const char *head, const char *result) {
    char expected[512];
    snprintf(expected, sizeof(expected), "%s { %s }", head, result);
    pass_case c = {
        .passes = "activations", .text = head_consts_body, .expected = expected, .bound = 1e-5};
    expect_pass(&c);
}

static void expect_nothing(const char *text) {
    pass_case c = {.passes = "activations", .text = text, .expected = text};
    expect_pass(&c);
}

static void test_gelu_erf(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "d = Div(x, r) e = Erf(d) s = Add(e, one) m = Mul(x, s) y = Mul(m, h)",
        "d = Mul(i, x) e = Erf(d) s = Add(one, e) m = Mul(h, x) y = Mul(m, s)",
        "d = Div(x, r) e = Erf(d) s = Add(e, one) m = Mul(s, h) y = Mul(x, m)",
        "d = Div(x, r) e = Erf(d) s = Mul(e, h) m = Add(s, h) y = Mul(m, x)",
        "d = Mul(x, i) e = Erf(d) s = Add(e, one) m = Mul(x, s) y = Div(m, two)",
        "d = Div(x, r) e = Erf(d) s = Sum(one, e) m = Mul(x, s) y = Mul(m, h)",
        "d = Div(x, r) e = Erf(d) a = Mul(x, h) b = Mul(a, e) y = Add(a, b)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++) {
        char text[512];
        snprintf(text, sizeof(text), HEAD(20, "float") GELU_CONSTS "{ %s }", bodies[i]);
        expect_activation(text, HEAD(20, "float"), "y = Gelu(x)");
    }
}

static void test_gelu_tanh(void **state) {
    (void)state;
    static const char *const consts = "<float h = {0.5}, float one = {1}, float two = {2}, "
                                      "float three = {3}, float c = {0.044715}, "
                                      "float k = {0.7978845608}, float k2 = {1.5957691216}>";
    static const char *const bodies[] = {
        "p = Pow(x, three) q = Mul(c, p) s = Add(x, q) u = Mul(k, s) t = Tanh(u) a = Add(t, one)"
        "b = Mul(h, x) y = Mul(b, a)",
        "p = Mul(x, x) q = Mul(p, x) e = Mul(q, c) s = Add(x, e) u = Mul(s, k) t = Tanh(u)"
        "a = Add(one, t) b = Mul(x, a) y = Mul(b, h)",
        "a = Mul(x, k) b = Mul(x, c) e = Mul(b, x) f = Add(e, one) u = Mul(a, f) t = Tanh(u)"
        "s = Add(t, one) z = Mul(x, s) y = Div(z, two)",
        "p = Pow(x, two) q = Mul(p, c) s = Add(q, one) e = Mul(x, s) u = Mul(e, k2)"
        "t = Sigmoid(u) y = Mul(x, t)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++) {
        char text[600];
        snprintf(text, sizeof(text), HEAD(20, "float") "%s { %s }", consts, bodies[i]);
        expect_activation(text, HEAD(20, "float"), "y = Gelu<approximate=\"tanh\">(x)");
    }
}

static void test_other_names(void **state) {
    (void)state;
    static const struct {
        const char *body, *result;
    } cases[] = {
        {"d = Div(x, r) e = Erf(d) s = Add(e, one) m = Mul(x, s) y = Mul(m, h)",
         "y = com.microsoft.Gelu(x)"},
        {"s = Sigmoid(x) y = Mul(s, x)", "y = com.microsoft.QuickGelu<alpha=1.0>(x)"},
        {"a = Mul(x, i) s = Sigmoid(a) y = Mul(x, s)",
         "y = com.microsoft.QuickGelu<alpha=0.70710678>(x)"},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        char text[512], expected[512];
        snprintf(text, sizeof(text), MS_HEAD GELU_CONSTS "{ %s }", cases[i].body);
        snprintf(expected, sizeof(expected), MS_HEAD "{ %s }", cases[i].result);
        pass_case c = {.passes = "activations",
                       .target = HN_TARGET_ONNXRUNTIME,
                       .text = text,
                       .expected = expected,
                       .bound = 1e-5};
        expect_pass(&c);
    }
}

static void test_swish(void **state) {
    (void)state;
    expect_activation(HEAD(24, "float") "{ s = Sigmoid(x) y = Mul(x, s) }", HEAD(24, "float"),
                      "y = Swish(x)");
    expect_activation(HEAD(24, "float") "<float a = {1.5}> { m = Mul(a, x) s = Sigmoid(m) "
                                        "y = Mul(s, x) }",
                      HEAD(24, "float"), "y = Swish<alpha=1.5>(x)");
}

static void test_hard_swish(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) y = Div(m, six)",
        "a = Add(x, three) c = Clip(a, zero, six) d = Div(c, six) y = Mul(x, d)",
        "s = HardSigmoid<alpha=0.16666667, beta=0.5>(x) y = Mul(s, x)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 HEAD(17, "float") "<float zero = {0}, float three = {3}, float six = {6}> { %s }",
                 bodies[i]);
        expect_activation(text, HEAD(17, "float"), "y = HardSwish(x)");
    }
    expect_activation(HEAD(17, "float") "<float zero = {0}, float one = {1}, float a = {0.25}, "
                                        "float b = {0.5}> { m = Mul(x, a) s = Add(m, b) "
                                        "y = Clip(s, zero, one) }",
                      HEAD(17, "float"), "y = HardSigmoid<alpha=0.25, beta=0.5>(x)");
    expect_activation(HEAD(7, "float") "<float three = {3}, float six = {6}> { a = Add(x, three) "
                                       "c = Clip<min=0.0, max=6.0>(a) y = Div(c, six) }",
                      HEAD(7, "float"), "y = HardSigmoid<alpha=0.16666667, beta=0.5>(x)");
}

static void test_plain_patterns(void **state) {
    (void)state;
    expect_activation(HEAD(18, "float") "<float one = {1}> { e = Exp(x) a = Add(one, e) l = Log(a) "
                                        "t = Tanh(l) y = Mul(x, t) }",
                      HEAD(18, "float"), "y = Mish(x)");
    expect_activation(HEAD(13, "float") "<float one = {1}> { e = Exp(x) a = Add(one, e) "
                                        "y = Log(a) }",
                      HEAD(13, "float"), "y = Softplus(x)");
    expect_activation(HEAD(13, "float") "<float one = {1}> { n = Neg(x) e = Exp(n) a = Add(e, one) "
                                        "y = Div(one, a) }",
                      HEAD(13, "float"), "y = Sigmoid(x)");
    expect_activation(HEAD(24, "float") "<float one = {1}> { n = Neg(x) e = Exp(n) a = Add(e, one) "
                                        "y = Div(x, a) }",
                      HEAD(24, "float"), "y = Swish(x)");
    expect_activation(HEAD(13, "float") "<float one = {1}> { b = Abs(x) n = Neg(b) e = Exp(n) "
                                        "a = Add(one, e) l = Log(a) p = Relu(x) y = Add(p, l) }",
                      HEAD(13, "float"), "y = Softplus(x)");
    expect_activation(HEAD(13, "float") "<float a = {0.25}> { m = Mul(x, a) y = Max(m, x) }",
                      HEAD(13, "float"), "y = LeakyRelu<alpha=0.25>(x)");
    expect_activation(HEAD(13, "float") "<float a = {0.25}, float zero = {0}> { m = Mul(x, a) "
                                        "g = Greater(x, zero) y = Where(g, x, m) }",
                      HEAD(13, "float"), "y = LeakyRelu<alpha=0.25>(x)");
}

static void test_prelu(void **state) {
    (void)state;
    static const struct {
        const char *slope, *body;
    } cases[] = {
        {"1,2,3", "p = Relu(x) n = Neg(x) q = Relu(n) m = Mul(q, s) y = Sub(p, m)"},
        {"1,2,3", "p = Relu(x) n = Neg(x) q = Relu(n) o = Neg(q) m = Mul(s, o) y = Add(m, p)"},
        {"-1,-2,-3", "p = Relu(x) n = Neg(x) q = Relu(n) m = Mul(s, q) y = Add(p, m)"},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text), HEAD(13, "float") "<float[3] s = {%s}> { %s }", cases[i].slope,
                 cases[i].body);
        pass_case c = {.passes = "activations",
                       .text = text,
                       .expected = HEAD(13, "float") "<float[3] s = {1,2,3}> { y = PRelu(x, s) }"};
        expect_pass(&c);
    }
}

#define NOT_GELU(opset, type, consts, body) HEAD(opset, type) "<" consts "> { " body " }"
#define ERF_GELU "d = Div(x, r) e = Erf(d) s = Add(e, one) m = Mul(x, s) y = Mul(m, h)"

static void test_must_not_fire(void **state) {
    (void)state;
    /* another divisor, another factor */
    expect_nothing(
        NOT_GELU(20, "float", "float h = {0.5}, float one = {1}, float r = {1.5}", ERF_GELU));
    expect_nothing(
        NOT_GELU(20, "float", "float h = {0.6}, float one = {1}, float r = {1.4142135}", ERF_GELU));
    /* a type that onnxruntime's operator does not have */
    expect_nothing(NOT_GELU(20, "double",
                            "double h = {0.5}, double one = {1}, "
                            "double r = {1.4142135}",
                            ERF_GELU));
    /* the opset is too old */
    expect_nothing(
        NOT_GELU(19, "float", "float h = {0.5}, float one = {1}, float r = {1.4142135}", ERF_GELU));
    /* the number is a tensor that enlarges the result */
    expect_nothing("<ir_version: 10, opset_import: [\"\" : 20]>\n"
                   "g (float[2,3] x) => (float[1,2,3] y) <float h = {0.5}, float[1,1,1] one = {1}, "
                   "float r = {1.4142135}> {" ERF_GELU "}");
    /* two values where there should be one */
    expect_nothing("<ir_version: 10, opset_import: [\"\" : 24]>\n"
                   "g (float[2,3] x, float[2,3] z) => (float[2,3] y) { s = Sigmoid(x) "
                   "y = Mul(z, s) }");
    /* Max selects the other branch; 0 * infinity is NaN; a plain limit stays a Clip */
    expect_nothing(NOT_GELU(13, "float", "float a = {1.5}", "m = Mul(x, a) y = Max(m, x)"));
    expect_nothing(NOT_GELU(13, "float", "float a = {0}", "m = Mul(x, a) y = Max(m, x)"));
    expect_nothing(NOT_GELU(13, "float", "float a = {0}, float b = {1}", "y = Clip(x, a, b)"));
    expect_nothing("<ir_version: 10, opset_import: [\"\" : 13]>\n"
                   "g (float[1,3] x) => (float[2,3] y) <float[2,1] s = {1,2}> "
                   "{ p = Relu(x) n = Neg(x) q = Relu(n) m = Mul(q, s) y = Sub(p, m) }");
    expect_nothing(NOT_GELU(13, "int32", "int32 a = {1}", "m = Mul(x, a) y = Max(m, x)"));
}

static void test_near_misses(void **state) {
    (void)state;
    pass_case shared = {.passes = "activations",
                        .text = "<ir_version: 10, opset_import: [\"\" : 20]>\n"
                                "g (float[2,3] x) => (float[2,3] y, float[2,3] e) " GELU_CONSTS
                                "{" ERF_GELU "}"};
    expect_miss(&shared, "gelu-erf", "'e' has 2 readers");
    pass_case old = {.passes = "activations",
                     .text = HEAD(17, "float") GELU_CONSTS "{" ERF_GELU "}"};
    expect_miss(&old, "gelu-erf", "opset 20");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gelu_erf),    cmocka_unit_test(test_gelu_tanh),
        cmocka_unit_test(test_other_names), cmocka_unit_test(test_swish),
        cmocka_unit_test(test_hard_swish),  cmocka_unit_test(test_plain_patterns),
        cmocka_unit_test(test_prelu),       cmocka_unit_test(test_must_not_fire),
        cmocka_unit_test(test_near_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
