/* The conversion of float to float16 or bfloat16, and what stays float. */
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"
#define HALF .precision = {.elem = HN_F16}, .bound = 0.01
#define HALF_INSIDE .precision = {.elem = HN_F16, .keep_io = true}, .bound = 0.01

static const pass_case narrowed[] = {
    {HALF, /* inputs, outputs, weights; float16 is written as bits */
     .text = HEAD "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {"
                  " h = MatMul (x, w) y = Relu (h) }",
     .expected = HEAD
     "g (float16[2,2] x) => (float16[2,2] y) <float16[2,2] w = {15360, 16384, 16896, 17408}> {"
     " h = MatMul (x, w) y = Relu (h) }"},
    {HALF_INSIDE, /* one Cast for two readers, outputs keep their names */
     .text = HEAD "g (float[2,2] x) => (float[2,2] y, float[2,2] z) {"
                  " y = Relu (x) h = Sigmoid (x) z = Mul (h, y) }",
     .expected = HEAD "g (float[2,2] x) => (float[2,2] y, float[2,2] z) {"
                      " a = Cast <to = 10> (x) b = Relu (a) h = Sigmoid (a) c = Mul (h, b)"
                      " y = Cast <to = 1> (b) z = Cast <to = 1> (c) }"},
    {HALF, /* an operator that stays float; integers do not change */
     .text = HEAD "g (float[4] x) => (float[4] y, int64[4] i) <int64[1] d = {0}> {"
                  " h = Relu (x) s = CumSum (h, d) y = Neg (s) i = Cast <to = 7> (y) }",
     .expected = HEAD "g (float16[4] x) => (float16[4] y, int64[4] i) <int64[1] d = {0}> {"
                      " h = Relu (x) a = Cast <to = 1> (h) s = CumSum (a, d) b = Cast <to = 10> (s)"
                      " y = Neg (b) i = Cast <to = 7> (y) }"},
    {HALF, /* a constant for both types; small numbers do not become 0 */
     .text = HEAD
     "g (float[2] x) => (float[2] y, float[2] z) <float[2] c = {0.5, 1e-9}, int64[1] d = {0}>"
     " { y = Mul (x, c) h = CumSum (c, d) z = Neg (h) }",
     .expected = HEAD "g (float16[2] x) => (float16[2] y, float16[2] z) <float[2] c = {0.5, 1e-9},"
                      " float16[2] e = {14336, 1}, int64[1] d = {0}>"
                      " { y = Mul (x, e) h = CumSum (c, d) b = Cast <to = 10> (h) z = Neg (b) }"},
    {HALF, /* elements beyond the range */
     .text = HEAD "g (float[2] x) => (float[2] y) <float big = {100000}> {"
                  " a = Relu (x) b = Div (a, big) y = Neg (b) }",
     .expected = HEAD "g (float16[2] x) => (float16[2] y) <float big = {100000}> {"
                      " a = Relu (x) c = Cast <to = 1> (a) b = Div (c, big)"
                      " d = Cast <to = 10> (b) y = Neg (d) }"},
    {HALF, /* scales of quantized tensors, and the nodes between them */
     .text = HEAD "g (uint8[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {3}> {"
                  " h = DequantizeLinear (x, s, z) r = Relu (h) y = QuantizeLinear (r, s, z) }",
     .expected =
         HEAD "g (uint8[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {3}> {"
              " h = DequantizeLinear (x, s, z) r = Relu (h) y = QuantizeLinear (r, s, z) }"},
    {HALF, /* sizes that pass through floats */
     .text = HEAD "g (float[2,n] x) => (float[1,m] y) <float half = {0.5}, int64[1] k = {-1},"
                  " int64[1] o = {1}> { s = Shape <start = 1> (x) f = Cast <to = 1> (s)"
                  " h = Mul (f, half) i = Cast <to = 7> (h) p = Concat <axis = 0> (o, k)"
                  " r = Reshape (x, p) e = Slice (r, o, i, o) y = Relu (e) }",
     .expected =
         HEAD "g (float16[2,n] x) => (float16[1,m] y) <float half = {0.5}, int64[1] k = {-1},"
              " int64[1] o = {1}> { s = Shape <start = 1> (x) f = Cast <to = 1> (s)"
              " h = Mul (f, half) i = Cast <to = 7> (h) p = Concat <axis = 0> (o, k)"
              " r = Reshape (x, p) e = Slice (r, o, i, o) y = Relu (e) }"},
    {HALF, /* branches follow their If */
     .text = HEAD "g (bool c, float[2] x) => (float[2] y) {"
                  " y = If (c) <then_branch = t () => (float[2] u) { u = Relu (x) },"
                  " else_branch = e () => (float[2] v) { v = Neg (x) }> }",
     .expected = HEAD "g (bool c, float16[2] x) => (float16[2] y) {"
                      " y = If (c) <then_branch = t () => (float16[2] u) { u = Relu (x) },"
                      " else_branch = e () => (float16[2] v) { v = Neg (x) }> }"},
    {HALF, /* Constant nodes; a Cast from integers changes its target type */
     .text = HEAD "g (int32[2] x) => (float[2] y) { f = Cast <to = 1> (x)"
                  " c = Constant <value = float {2}> () y = Mul (f, c) }",
     .expected = HEAD "g (int32[2] x) => (float16[2] y) { f = Cast <to = 10> (x)"
                      " c = Constant <value = float16 {16384}> () y = Mul (f, c) }"},
    {.precision = {.elem = HN_BF16},
     .bound = 0.05, /* Conv has bfloat16 since opset 22 only */
     .text = HEAD "g (float[1,1,4] x) => (float[1,1,4] y) <float[1,1,1] w = {0.5}> {"
                  " h = Conv (x, w) y = Mul (h, h) }",
     .expected = HEAD "g (bfloat16[1,1,4] x) => (bfloat16[1,1,4] y) <float[1,1,1] w = {0.5}> {"
                      " a = Cast <to = 1> (x) h = Conv (a, w) b = Cast <to = 16> (h)"
                      " y = Mul (b, b) }"},
};

static void test_narrows(void **state) {
    (void)state;
    expect_passes(narrowed, HN_COUNT(narrowed));
}

static void test_blocks(void **state) {
    (void)state;
    static const char *const ops[] = {"Exp"}, *const nodes[] = {"last"};
    static const pass_case blocked = {.precision = {.elem = HN_F16,
                                                    .keep_io = true,
                                                    .n_blocked_ops = 1,
                                                    .blocked_ops = ops,
                                                    .n_blocked_nodes = 1,
                                                    .blocked_nodes = nodes},
                                      .bound = 0.01,
                                      .text = HEAD "g (float[2] x) => (float[2] y) {"
                                                   " a = Exp (x) b = Relu (a) [last] y = Neg (b) }",
                                      .expected =
                                          HEAD "g (float[2] x) => (float[2] y) {"
                                               " a = Exp (x) c = Cast <to = 10> (a) b = Relu (c)"
                                               " d = Cast <to = 1> (b) [last] y = Neg (d) }"};
    expect_pass(&blocked);
}

static void test_tells_what_stays(void **state) {
    (void)state;
    static const pass_case beyond = {
        HALF,
        .text = HEAD "g (float[2] x) => (float[2] y) <float big = {-1e30}> { y = Add (x, big) }"};
    expect_miss(&beyond, "stay-float", "'big' has elements beyond the range");
}

static hone_status all_sums_are_large(void *ctx, const hn_model *m, double limit, bool *is_large,
                                      hone_error *err) {
    (void)ctx, (void)err;
    assert_true(limit == 65504);
    is_large[value_named(m->graph, "s")] = true;
    return HONE_OK;
}

static void test_heeds_observations(void **state) {
    (void)state;
    static const pass_case seen = {
        .precision = {.elem = HN_F16, .keep_io = true, .find_large = all_sums_are_large},
        .bound = 0.01,
        .text = HEAD "g (float[2] x) => (float[2] y) { a = Relu (x) s = Add (a, a) y = Sqrt (s) }",
        .expected = HEAD "g (float[2] x) => (float[2] y) {"
                         " b = Cast <to = 10> (x) a = Relu (b) c = Cast <to = 1> (a)"
                         " s = Add (c, c) y = Sqrt (s) }"};
    expect_pass(&seen);
}

static void test_refuses_old_opsets(void **state) {
    (void)state;
    hn_model *m = model_from("<ir_version: 4, opset_import: [\"\" : 9]>\n"
                             "g (float[2] x) => (float[2] y) { y = Relu (x) }");
    hn_optimize_options o;
    hone_error err = {0};
    hn_opt_log *log = hn_opt_log_new(NULL);
    hn_optimize_options_init(&o);
    o.precision.elem = HN_BF16;
    assert_int_equal(hn_optimize(m, &o, log, &err), HONE_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "bfloat16 needs opset 13"));
    hn_opt_log_free(log);
    hn_model_free(m);
}

static hone_status narrow_subject(const hone_allocator *a) {
    static const char subject[] =
        HEAD "g (bool c, float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}, int64[1] d "
             "= {0}> {"
             " h = Mul (x, w) s = CumSum (h, d) z = Add (s, w)"
             " y = If (c) <then_branch = t () => (float[2] u) { u = Relu (z) },"
             " else_branch = e () => (float[2] v) { v = CumSum (z, d) }> }";
    hn_optimize_options o;
    hone_error err = {0};
    hn_model *m = NULL;
    HN_TRY(hn_model_parse(subject, sizeof subject - 1, a, &m, NULL));
    hn_opt_log *log = hn_opt_log_new(a);
    hn_optimize_options_init(&o);
    o.level = HN_LEVEL_NONE;
    o.precision = (hn_precision){.elem = HN_F16, .keep_io = true};
    hone_status status = log ? hn_optimize(m, &o, log, &err) : HONE_E_NOMEM;
    hn_opt_log_free(log);
    hn_model_free(m);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    expect_failures_told(narrow_subject);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrows),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_tells_what_stays),
        cmocka_unit_test(test_heeds_observations),
        cmocka_unit_test(test_refuses_old_opsets),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
