/* Opset conversion: the converted models, equal results, and the reasons for failures. */
#include "pass_case.h"

#define AT(opset) "<ir_version: 10, opset_import: [\"\" : " opset "]>\n"

typedef struct opset_case {
    const char *before;
    int64_t opset;
    const char *after; /* NULL: it is refused */
    const char *why;   /* part of the message then */
} opset_case;

static void expect_conversion(const opset_case *c) {
    hone_error err = {0};
    hn_model *m = model_from(c->before);
    if (hn_convert_opset(m, c->opset, &err) != HONE_OK)
        fail_msg("%s\nin\n%s", err.message, c->before);
    expect_sound(m);
    pass_case same = {.text = c->before, .bound = 1e-5};
    expect_same_results(&same, m);
    hn_model *expected = model_from(c->after);
    tidy(m);
    tidy(expected);
    m->ir_version = expected->ir_version;
    expect_same_text(m, expected);
    hn_model_free(expected);
    hn_model_free(m);
}

/* ---- up -------------------------------------------------------------------------------------- */

static const opset_case ups[] = {
    {AT("11") "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 1> (x) }", 13,
     AT("13") "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = -1> (x) }", NULL},
    {AT("11") "g (float[2,3] x) => (float[2] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }",
     13,
     AT("13") "g (float[2,3] x) => (float[2] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 0> "
              "(x, a) }",
     NULL},
    {AT("6") "g (float[2,3] x) => (float[2,3] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, "
             "float[3] c = {1, 2, 3}>"
             " { y = Gemm <broadcast = 1> (x, w, c) }",
     13,
     AT("13") "g (float[2,3] x) => (float[2,3] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, "
              "float[3] c = {1, 2, 3}>"
              " { y = Gemm (x, w, c) }",
     NULL},
};

static void test_goes_up(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(ups); i++)
        expect_conversion(&ups[i]);
}

/* ---- down: attributes ------------------------------------------------------------------------ */

static const opset_case plainer[] = {
    {AT("14") "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape <allowzero = "
              "0> (x, s) }",
     13, AT("13") "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape (x, s) }",
     NULL},
    {AT("14") "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape <allowzero = "
              "1> (x, s) }",
     13, AT("13") "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3, 2}> { y = Reshape (x, s) }",
     NULL},
    {AT("18") "g (float[1,1,4] x) => (float[1,1,3] y) {"
              " y = LpPool <kernel_shape = [2], ceil_mode = 0, dilations = [1], p = 2> (x) }",
     17,
     AT("17") "g (float[1,1,4] x) => (float[1,1,3] y) { y = LpPool <kernel_shape = [2], p = 2> (x) "
              "}",
     NULL},
    {AT("18") "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> {"
              " y = ReduceMax <noop_with_empty_axes = 1> (x, a) }",
     13, AT("13") "g (float[2,3] x) => (float[2,1] y) { y = ReduceMax <axes = [1]> (x) }", NULL},
    {AT("13") "g (float[2,3] x) => (float[2,3] y) <float hi = {0.5}> { y = Clip (x, , hi) }", 9,
     AT("9") "g (float[2,3] x) => (float[2,3] y) { y = Clip <max = 0.5> (x) }", NULL},
    {AT("13") "g (float[2,3] x) => (float[2,1] y) { y = ReduceMean <axes = [-1]> (x) }", 10,
     AT("10") "g (float[2,3] x) => (float[2,1] y) { y = ReduceMean <axes = [1]> (x) }", NULL},
    {AT("15") "g (float[2,n] x) => (int64[1] y) { y = Shape <start = 1> (x) }", 14,
     AT("14") "g (float[2,n] x) => (int64[1] y) <int64[1] s = {1}, int64[1] e = "
              "{9223372036854775807}> {"
              " h = Shape (x) y = Slice (h, s, e) }",
     NULL},
    {AT("18") "g (float[2,3] x) => (float[2,5] y) <int64[2] p = {1, 1}, int64[1] a = {-1}> {"
              " y = Pad (x, p, , a) }",
     17,
     AT("17") "g (float[2,3] x) => (float[2,5] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad (x, p) }",
     NULL},
    {AT("12") "g (float[2] x) => (float[2] y) { c = Constant <value_float = 2.0> () y = Mul (x, c) "
              "}",
     11,
     AT("11") "g (float[2] x) => (float[2] y) { c = Constant <value = float {2}> () y = Mul (x, c) "
              "}",
     NULL},
    {AT("11") "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = Gemm (x, w) "
              "}",
     9,
     AT("9") "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}, float z = {0}> {"
             " y = Gemm (x, w, z) }",
     NULL},
    {AT("12") "g (int32[2] x) => (int32[2] y) <int32 lo = {1}> { y = Clip (x, lo) }", 11,
     AT("11") "g (int32[2] x) => (int32[2] y) <int32 lo = {1}> { b = Less (x, lo) y = Where (b, "
              "lo, x) }",
     NULL},
};

static void test_drops_what_goes_without_saying(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(plainer); i++)
        expect_conversion(&plainer[i]);
}

/* ---- down: operators ------------------------------------------------------------------------- */

static const opset_case expanded[] = {
    {AT("14") "g (float[2,3] x) => (float[2,3] y) { y = HardSwish (x) }", 13,
     AT("13") "g (float[2,3] x) => (float[2,3] y) {"
              " h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (x, h) }",
     NULL},
    {AT("18") "g (float[2,3] x) => (float[2,3] y) { y = Mish (x) }", 17,
     AT("17") "g (float[2,3] x) => (float[2,3] y) { a = Softplus (x) b = Tanh (a) y = Mul (x, b) }",
     NULL},
    {AT("24") "g (float[2,3] x) => (float[2,3] y) { y = Swish <alpha = 2.0> (x) }", 21,
     AT("21") "g (float[2,3] x) => (float[2,3] y) <float c = {2}> {"
              " a = Mul (x, c) b = Sigmoid (a) y = Mul (x, b) }",
     NULL},
    {AT("12") "g (float[2,3] x, float[3] z) => (bool[2,3] y) { y = GreaterOrEqual (x, z) }", 11,
     AT("11") "g (float[2,3] x, float[3] z) => (bool[2,3] y) {"
              " a = Greater (x, z) b = Equal (x, z) y = Or (a, b) }",
     NULL},
    {AT("17") "g (float[2,3] x) => (float[2,3] y) <float[3] s = {1, 2, 3}> {"
              " y = LayerNormalization <epsilon = 0.5> (x, s) }",
     16,
     AT("16") "g (float[2,3] x) => (float[2,3] y) <float e = {0.5}, float[3] s = {1, 2, 3}> {"
              " m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d)"
              " v = ReduceMean <axes = [-1]> (q) w = Add (v, e) r = Sqrt (w) n = Div (d, r)"
              " y = Mul (n, s) }",
     NULL},
    {AT("23") "g (float16[2,3] x) => (float16[2,3] y) <float16[3] s = {15360, 15360, 15360}> {"
              " y = RMSNormalization <epsilon = 0.5> (x, s) }",
     21,
     AT("21") "g (float16[2,3] x) => (float16[2,3] y) <float e = {0.5}, float16[3] s = {15360, "
              "15360, 15360},"
              " int64[1] a = {-1}> {"
              " w = Cast <to = 1> (x) q = Mul (w, w) v = ReduceMean (q, a) u = Add (v, e)"
              " r = Sqrt (u) n = Div (w, r) h = Cast <to = 10> (n) y = Mul (h, s) }",
     NULL},
};

static void test_expands(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(expanded); i++)
        expect_conversion(&expanded[i]);
}

/* ---- operators whose expansion is long: only what they compute ------------------------------- */

static void test_expansions_compute_the_same(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t opset;
    } cases[] = {
        {AT("20") "g (float[2,3] x) => (float[2,3] y) { y = Gelu (x) }", 13},
        {AT("20") "g (float[2,3] x) => (float[2,3] y) { y = Gelu <approximate = \"tanh\"> (x) }",
         13},
        {AT("21") "g (float[2,4,3,3] x) => (float[2,4,3,3] y) <float[4] s = {1, 2, 3, 4}, float[4] "
                  "b = {0, 1, 2, 3}>"
                  " { y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, s, b) }",
         17},
        {AT("28") "g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = SwiGLU <alpha = 0.5> (x, "
                  "z) }",
         21},
        {AT("12") "g (float[2,3] x) => (float[2,3] y) { y = Celu <alpha = 0.7> (x) }", 9},
        {AT("10") "g (float[2,3] x) => (float[2,3] y) { y = ThresholdedRelu <alpha = 0.3> (x) }",
         9},
        {AT("13") "g (float[2,3,2,2] x) => (float[2,3,2,2] y) { y = MeanVarianceNormalization (x) "
                  "}",
         8},
        {AT("17") "g (float[2,3,4] x) => (float[2,3,4] y) <float[3,4] s = {1, 2, 3, 4, 1, 2, 3, 4, "
                  "1, 2, 3, 4},"
                  " float[3,4] b = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}>"
                  " { y = LayerNormalization <axis = 1> (x, s, b) }",
         11},
        {AT("13") "g (float[2,3,2] x) => (float[2,3,2] y) { y = LogSoftmax <axis = 1> (x) }", 11},
        {AT("22") "g (float[1,2,8] x) => (float[1,2,3] y) {" /* a last window in the padding */
                  " y = MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [3]> "
                  "(x) }",
         21},
        {AT("22") "g (float[1,2,8] x) => (float[1,2,2] y) {"
                  " y = AveragePool <ceil_mode = 1, kernel_shape = [1], strides = [4]> (x) }",
         12},
        {AT("22") "g (float[1,2,7] x) => (float[1,2,2] y) {"
                  " y = LpPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [4]> "
                  "(x) }",
         18},
        {AT("21") "g (bool c, float[2] x) => (float[2] y) {" /* inside a branch */
                  " y = If (c) <then_branch = t () => (float[2] u) { u = Gelu (x) },"
                  " else_branch = e () => (float[2] v) { v = Mish (x) }> }",
         13},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        hone_error err = {0};
        hn_model *m = model_from(cases[i].text);
        if (hn_convert_opset(m, cases[i].opset, &err) != HONE_OK)
            fail_msg("%s", err.message);
        expect_sound(m);
        pass_case same = {.text = cases[i].text, .bound = 1e-5};
        expect_same_results(&same, m);
        hn_model_free(m);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_tells_why_not(void **state) {
    (void)state;
    static const opset_case refused[] = {
        {AT("14") "g (float[2,0] x) => (float[0,2] y) <int64[2] s = {0, 2}> { y = Reshape "
                  "<allowzero = 1> (x, s) }",
         13, NULL, "zeros that are sizes"},
        {AT("18") "g (float[2,3] x, int64[1] a) => (float[2,1] y) { [max] y = ReduceMax (x, a) }",
         13, NULL, "node 'max' (ReduceMax): its axes would have to be an attribute"},
        {AT("18") "g (float[2,3] x) => (float[2,3] y) { y = ReduceMax <noop_with_empty_axes = 1> "
                  "(x) }",
         13, NULL, "it reduces no axes"},
        {AT("14") "g (float[3,3] x) => (float[3,3] y) { y = Trilu (x) }", 13, NULL,
         "opset 14 introduced Trilu"},
        {AT("14") "g (int8[3] x) => (int8[3] y) { y = Add (x, x) }", 13, NULL,
         "Add-13 does not take"},
        {AT("13") "g (float[] x) => (float[] y) { y = Softmax <axis = 0> (x) }", 11, NULL,
         "the rank of its input"},
        {AT("28") "g (float[2] x) => (float[2] y) { y = Mod (x, x) }", 27, NULL,
         "opset 28 introduced"},
        {AT("19") "g (float[3] x) => (float[5] y) <int64[2] p = {1, 1}> { y = Pad <mode = "
                  "\"wrap\"> (x, p) }",
         18, NULL, "opset 19 introduced its mode 'wrap'"},
        {AT("13") "g (float[2,2] x) => (uint8[2,2] y) <float[2] s = {1, 2}, uint8[2] z = {0, 0}> {"
                  " y = QuantizeLinear (x, s, z) }",
         12, NULL, "per channel"},
        {AT("13") "g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { y = Dropout "
                  "(x, r, t) }",
         11, NULL, "no counterpart of its input 'training_mode'"},
        {AT("12") "g (float[2] x) => (int64 y) { y = ArgMax <axis = 0, keepdims = 0, "
                  "select_last_index = 1> (x) }",
         11, NULL, "opset 12 introduced its attribute 'select_last_index'"},
    };
    for (size_t i = 0; i < HN_COUNT(refused); i++) {
        hone_error err = {0};
        hn_model *m = model_from(refused[i].before), *as_before = model_from(refused[i].before);
        assert_int_not_equal(hn_convert_opset(m, refused[i].opset, &err), HONE_OK);
        if (!strstr(err.message, refused[i].why))
            fail_msg("'%s' does not say '%s'", err.message, refused[i].why);
        expect_same_text(m, as_before);
        hn_model_free(m);
        hn_model_free(as_before);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static hone_status convert_subject(const hone_allocator *a) {
    static const char subject[] =
        AT("21") "g (float[2,3] x) => (float[2,3] y, int64[1] s) <float[3] w = {1, 2, 3}, int64[1] "
                 "k = {1}> {"
                 " a = Gelu (x) b = LayerNormalization (a, w, w) c = HardSwish (b)"
                 " m = ReduceMax (c, k) d = Sub (c, m) y = Clip (d) s = Shape <start = 1> (d) }";
    hn_model *m = NULL;
    HN_TRY(hn_model_parse(subject, sizeof subject - 1, a, &m, NULL));
    hone_error err = {0};
    hone_status status = hn_convert_opset(m, 11, &err);
    hn_model_free(m);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    expect_failures_told(convert_subject);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_up),       cmocka_unit_test(test_drops_what_goes_without_saying),
        cmocka_unit_test(test_expands),       cmocka_unit_test(test_expansions_compute_the_same),
        cmocka_unit_test(test_tells_why_not), cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
