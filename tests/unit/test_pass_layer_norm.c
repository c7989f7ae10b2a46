/* The pass "layer-norm": LayerNormalization and RMSNormalization in many spellings. */
#include <stdio.h>

#include "pass_case.h"

#define HEAD(opset) \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\ng (float[B,2,4] x) => (float[B,2,4] y)"
#define NUMBERS                                                                               \
  "<float e = {0.001}, float two = {2}, float one = {1}, float half = {0.5}, float m_half = " \
  "{-0.5}, "                                                                                  \
  "int64[1] ax = {-1}, float[4] s = {1,2,3,4}, float[4] b = {4,3,2,1}>"

static void expect_norm(const char *body, const char *head, const char *expected_rest) {
    char text[1024], expected[512];
    snprintf(text, sizeof(text), "%s" NUMBERS "{ %s }", head, body);
    snprintf(expected, sizeof(expected), "%s%s", head, expected_rest);
    pass_case c = {.passes = "layer-norm", .text = text, .expected = expected, .bound = 1e-5};
    expect_pass(&c);
}

#define SCALE_BIAS "<float[4] s = {1,2,3,4}, float[4] b = {4,3,2,1}>"
#define FULL_NORM SCALE_BIAS "{ y = LayerNormalization<axis = -1, epsilon = 0.001>(x, s, b) }"

static void test_layer_norm(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Sqrt(a) n = Div(d, q) t = Mul(n, s) y = Add(t, b)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, ax) a = Add(e, v)"
        "q = Sqrt(a) i = Reciprocal(q) n = Mul(i, d) t = Mul(s, n) y = Add(b, t)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Pow(a, half) n = Div(d, q) t = Mul(n, s) y = Add(t, b)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Pow(a, m_half) n = Mul(d, q) t = Mul(n, s) y = Add(t, b)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Sqrt(a) i = Div(one, q) n = Mul(d, i) t = Mul(n, s) y = Add(t, b)",
        /* the scale first */
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Sqrt(a) i = Reciprocal(q) f = Mul(i, s) t = Mul(d, f) y = Add(t, b)",
        /* mean of squares minus the squared mean */
        "m = ReduceMean(x, ax) k = Mul(m, m) p = Mul(x, x) w = ReduceMean(p, ax) v = Sub(w, k)"
        "d = Sub(x, m) a = Add(v, e) q = Sqrt(a) i = Reciprocal(q) f = Mul(i, s) t = Mul(d, f)"
        "y = Add(t, b)",
        /* reduced axes are restored later */
        "m = ReduceMean<keepdims = 0>(x, ax) k = Mul(m, m) p = Mul(x, x) "
        "w = ReduceMean<keepdims = 0>(p, ax) v = Sub(w, k) c = Relu(v) u = Unsqueeze(c, ax) "
        "a = Add(u, e) q = Sqrt(a) i = Reciprocal(q) f = Mul(i, s) z = Unsqueeze(m, ax) "
        "d = Sub(x, z) t = Mul(d, f) y = Add(t, b)",
        /* multiplied out */
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Sqrt(a) i = Reciprocal(q) f = Mul(i, s) g = Mul(m, f) h = Sub(b, g) t = Mul(x, f)"
        "y = Add(t, h)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++)
        expect_norm(bodies[i], HEAD(18), FULL_NORM);
}

#define NORM                                                                                \
  "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax) a = Add(v, e)" \
  "q = Sqrt(a)"

static void test_without_scale_or_bias(void **state) {
    (void)state;
    expect_norm(NORM "y = Div(d, q)", HEAD(18),
                "<float[4] s = {1,1,1,1}>"
                "{ y = LayerNormalization<axis = -1, epsilon = 0.001>(x, s) }");
    expect_norm(NORM "n = Div(d, q) y = Mul(n, s)", HEAD(18),
                "<float[4] s = {1,2,3,4}>"
                "{ y = LayerNormalization<axis = -1, epsilon = 0.001>(x, s) }");
    expect_norm(NORM "n = Div(d, q) y = Add(n, b)", HEAD(18),
                "<float[4] s = {1,1,1,1}, float[4] b = {4,3,2,1}>"
                "{ y = LayerNormalization<axis = -1, epsilon = 0.001>(x, s, b) }");
}

/* Axes in an attribute, two of them, and scales of other shapes. */
static void test_shapes(void **state) {
    (void)state;
    pass_case c = {
        .passes = "layer-norm",
        .text = "<ir_version: 10, opset_import: [\"\" : 17]>\n"
                "g (float[B,2,4] x) => (float[B,2,4] y) <float e = {0.001}, float two = {2}, "
                "float[2,1] s = {1,2}, float[1,1,4] b = {4,3,2,1}> {"
                "m = ReduceMean<axes = [1, 2]>(x) d = Sub(x, m) p = Pow(d, two) "
                "v = ReduceMean<axes = [-2, -1], keepdims = 1>(p) a = Add(v, e) q = Sqrt(a) "
                "n = Div(d, q) t = Mul(n, s) y = Add(t, b) }",
        .expected = "<ir_version: 10, opset_import: [\"\" : 17]>\n"
                    "g (float[B,2,4] x) => (float[B,2,4] y) <float[2,4] s = {1,1,1,1,2,2,2,2}, "
                    "float[2,4] b = {4,3,2,1,4,3,2,1}> {"
                    "y = LayerNormalization<axis = -2, epsilon = 0.001>(x, s, b) }",
        .bound = 1e-5};
    expect_pass(&c);
}

static void test_half_precision(void **state) {
    (void)state;
    pass_case c = {
        .passes = "layer-norm",
        .text = "<ir_version: 10, opset_import: [\"\" : 23]>\n"
                "g (float16[B,4] h) => (float16[B,4] y) <float e = {0.001}, float two = {2}, "
                "int64[1] ax = {-1}, float16[4] s = {1,2,3,4}> {"
                "x = Cast<to = 1>(h) p = Pow(x, two) v = ReduceMean(p, ax) a = Add(v, e) "
                "q = Sqrt(a) i = Reciprocal(q) n = Mul(x, i) c = Cast<to = 10>(n) y = Mul(s, c) }",
        .expected = "<ir_version: 10, opset_import: [\"\" : 23]>\n"
                    "g (float16[B,4] h) => (float16[B,4] y) <float16[4] s = {1,2,3,4}> {"
                    "y = RMSNormalization<axis = -1, epsilon = 0.001>(h, s) }",
        .bound = 2e-3};
    expect_pass(&c);
}

static void test_rms_norm(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "p = Pow(x, two) v = ReduceMean(p, ax) a = Add(v, e) q = Sqrt(a) n = Div(x, q) "
        "y = Mul(n, s)",
        "p = Mul(x, x) v = ReduceMean(p, ax) a = Add(v, e) q = Sqrt(a) i = Reciprocal(q) "
        "n = Mul(x, i) y = Mul(s, n)",
        "p = Pow(x, two) v = ReduceMean(p, ax) a = Add(v, e) q = Pow(a, m_half) n = Mul(x, q) "
        "y = Mul(n, s)",
        "p = Pow(x, two) v = ReduceMean(p, ax) a = Add(v, e) q = Sqrt(a) i = Div(one, q) "
        "f = Mul(i, s) y = Mul(x, f)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++)
        expect_norm(bodies[i], HEAD(23),
                    "<float[4] s = {1,2,3,4}>"
                    "{ y = RMSNormalization<axis = -1, epsilon = 0.001>(x, s) }");
}

static void expect_no_norm(const char *head, const char *numbers, const char *body) {
    char text[1024];
    snprintf(text, sizeof(text), "%s<%s>{ %s }", head, numbers, body);
    pass_case c = {.passes = "layer-norm", .text = text, .expected = text};
    expect_pass(&c);
}

static void test_must_not_fire(void **state) {
    (void)state;
    static const char *const numbers = "float e = {0.001}, float two = {2}, int64[1] ax = {-1}, "
                                       "int64[1] ay = {1}, float three = {3}";
    static const char *const bodies[] = {
        /* not the last axis; two different ones; another power; not centered by this mean */
        "m = ReduceMean(x, ay) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ay) a = Add(v, e)"
        "q = Sqrt(a) y = Div(d, q)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ay) a = Add(v, e)"
        "q = Sqrt(a) y = Div(d, q)",
        "m = ReduceMean(x, ax) d = Sub(x, m) p = Pow(d, three) v = ReduceMean(p, ax) a = Add(v, e)"
        "q = Sqrt(a) y = Div(d, q)",
        "z = Abs(x) m = ReduceMean(z, ax) d = Sub(x, m) p = Pow(d, two) v = ReduceMean(p, ax)"
        "a = Add(v, e) q = Sqrt(a) y = Div(d, q)",
        /* restored at another position */
        "m = ReduceMean<keepdims = 0>(x, ay) z = Unsqueeze(m, ay) d = Sub(x, z) p = Mul(d, d)"
        "v = ReduceMean<keepdims = 0>(p, ay) u = Unsqueeze(v, ay) a = Add(u, e) q = Sqrt(a)"
        "y = Div(d, q)",
        /* multiplied by the deviation */
        NORM "y = Mul(d, q)",
    };
    for (size_t i = 0; i < HN_COUNT(bodies); i++)
        expect_no_norm(HEAD(18), numbers, bodies[i]);
    expect_no_norm(HEAD(16), "float e = {0.001}",
                   "m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Mul(d, d) "
                   "v = ReduceMean<axes = [-1]>(p) a = Add(v, e) q = Sqrt(a) y = Div(d, q)");
    /* a scale that enlarges the result; one whose size is not known */
    expect_no_norm("<ir_version: 10, opset_import: [\"\" : 18]>\n"
                   "g (float[B,2,C] x) => (float[B,2,C] y)",
                   numbers, NORM "y = Div(d, q)");
    /* the data has other readers than its mean */
    expect_no_norm("<ir_version: 10, opset_import: [\"\" : 18]>\n"
                   "g (float[B,2,4] x) => (float[B,2,4] y, float[B,2,1] q)",
                   numbers, NORM "y = Div(d, q)");
}

/* A scale that does not fit stays in the graph. */
static void test_scale_stays(void **state) {
    (void)state;
    pass_case c = {
        .passes = "layer-norm",
        .text = HEAD(18) "<float e = {0.001}, float two = {2}, int64[1] ax = {-1}, "
                         "float[2,4] s = {1,2,3,4,5,6,7,8}> {" NORM "n = Div(d, q) y = Mul(n, s) }",
        .expected = HEAD(18) "<float[4] o = {1,1,1,1}, float[2,4] s = {1,2,3,4,5,6,7,8}> {"
                             "n = LayerNormalization<axis = -1, epsilon = 0.001>(x, o) "
                             "y = Mul(n, s) }",
        .bound = 1e-5};
    expect_pass(&c);
}

static void test_near_misses(void **state) {
    (void)state;
    pass_case shared = {
        .passes = "layer-norm",
        .text = "<ir_version: 10, opset_import: [\"\" : 18]>\n"
                "g (float[B,2,4] x) => (float[B,2,4] y, float[B,2,1] q) <float e = {0.001}, "
                "float two = {2}, int64[1] ax = {-1}> {" NORM "y = Div(d, q) }"};
    expect_miss(&shared, "layer-norm", "'q' is an output of the graph");
}

#define PLANES(opset)                                     \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n" \
  "g (bfloat16[1,2,2,2] x) => (bfloat16[1,2,2,2] y)"

/* InstanceNormalization takes bfloat16 since opset 22; until then the other one does the same. */
static void test_planes_of_bfloat16(void **state) {
    (void)state;
    pass_case planes = {
        .passes = "layer-norm",
        .text = PLANES(17) "<bfloat16 e = {0.001}> { m = ReduceMean<axes = [2, 3]>(x)"
                           " d = Sub(x, m) q = Mul(d, d) v = ReduceMean<axes = [2, 3]>(q)"
                           " w = Add(v, e) s = Sqrt(w) y = Div(d, s) }",
        .bound = 0.02};
    hn_model *m = optimized_from(&planes, NULL);
    expect_same_results(&planes, m);
    assert_int_equal(hn_block_at(m->graph, 0)->nodes.n, 1);
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_without_scale_or_bias),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_half_precision),
        cmocka_unit_test(test_rms_norm),
        cmocka_unit_test(test_must_not_fire),
        cmocka_unit_test(test_scale_stays),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_planes_of_bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
