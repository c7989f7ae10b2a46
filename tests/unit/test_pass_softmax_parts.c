/* The pass "softmax-parts". */
#include "pass_case.h"

#define HEAD(opset) \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\ng (float[B,3,4] x) => (float[B,3,4] y)"
#define SUM(opset) \
  "<ir_version: 10, opset_import: [\"\" : " #opset "]>\ng (float[B,3,4] x) => (float[B,3,1] y)"
#define AXIS "<int64[1] a = {-1}>"

static void expect_found(const char *text, const char *expected) {
    pass_case c = {.passes = "softmax-parts", .text = text, .expected = expected, .bound = 1e-5};
    expect_pass(&c);
}

static void test_softmax(void **state) {
    (void)state;
    expect_found(HEAD(18) AXIS "{ e = Exp(x) s = ReduceSum(e, a) y = Div(e, s) }",
                 HEAD(18) "{ y = Softmax<axis = -1>(x) }");
    expect_found(HEAD(18) AXIS "{ e = Exp(x) s = ReduceSum(e, a) r = Reciprocal(s) y = Mul(r, e) }",
                 HEAD(18) "{ y = Softmax<axis = -1>(x) }");
    expect_found(HEAD(18) "<int64[1] a = {1}>{ m = ReduceMax(x, a) d = Sub(x, m) e = Exp(d) "
                          "s = ReduceSum(e, a) y = Div(e, s) }",
                 HEAD(18) "{ y = Softmax<axis = 1>(x) }");
    expect_found(HEAD(9) "{ e = Exp(x) s = ReduceSum<axes = [2]>(e) y = Div(e, s) }",
                 HEAD(9) "{ y = Softmax<axis = -1>(x) }");
}

static void test_log_softmax(void **state) {
    (void)state;
    expect_found(HEAD(13) "{ s = Softmax<axis = 1>(x) y = Log(s) }",
                 HEAD(13) "{ y = LogSoftmax<axis = 1>(x) }");
    expect_found(HEAD(13) AXIS "{ e = Exp(x) s = ReduceSum(e, a) l = Log(s) y = Sub(x, l) }",
                 HEAD(13) "{ y = LogSoftmax<axis = -1>(x) }");
    expect_found(HEAD(18) AXIS "{ m = ReduceMax(x, a) d = Sub(x, m) e = Exp(d) "
                               "s = ReduceSum(e, a) l = Log(s) y = Sub(d, l) }",
                 HEAD(18) "{ y = LogSoftmax<axis = -1>(x) }");
}

static void test_reductions(void **state) {
    (void)state;
    expect_found(SUM(18) AXIS "{ q = Mul(x, x) s = ReduceSum(q, a) y = Sqrt(s) }",
                 SUM(18) AXIS "{ y = ReduceL2<keepdims = 1>(x, a) }");
    expect_found(SUM(13) "<int64[1] a = {-1}, float two = {2}>{ q = Pow(x, two) "
                         "y = ReduceSum(q, a) }",
                 SUM(13) "{ y = ReduceSumSquare<keepdims = 1, axes = [-1]>(x) }");
    expect_found(SUM(11) "{ q = Abs(x) y = ReduceSum<axes = [2]>(q) }",
                 SUM(11) "{ y = ReduceL1<keepdims = 1, axes = [2]>(x) }");
    expect_found(SUM(13) AXIS "{ e = Exp(x) s = ReduceSum(e, a) y = Log(s) }",
                 SUM(13) "{ y = ReduceLogSumExp<keepdims = 1, axes = [-1]>(x) }");
}

static void test_mean(void **state) {
    (void)state;
    expect_found(SUM(18) "<int64[1] a = {-1}, float n = {4}>{ s = ReduceSum(x, a) y = Div(s, n) }",
                 SUM(18) AXIS "{ y = ReduceMean<keepdims = 1>(x, a) }");
    expect_found(SUM(13) "<int64[1] a = {-1}, float n = {0.25}>{ q = Mul(x, x) "
                         "s = ReduceSum(q, a) y = Mul(n, s) }",
                 SUM(13) "{ q = Mul(x, x) y = ReduceMean<keepdims = 1, axes = [-1]>(q) }");
}

static void test_must_not_fire(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* old Softmax flattens; two axes; the sum has another reader; other values */
        HEAD(9) "{ e = Exp(x) s = ReduceSum<axes = [1]>(e) y = Div(e, s) }",
        HEAD(18) "<int64[2] a = {1, 2}>{ e = Exp(x) s = ReduceSum(e, a) y = Div(e, s) }",
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "g (float[B,3,4] x) => (float[B,3,4] y, float[B,3,1] s)" AXIS
        "{ e = Exp(x) s = ReduceSum(e, a) y = Div(e, s) }",
        HEAD(18) AXIS "{ e = Exp(x) n = Neg(x) f = Exp(n) s = ReduceSum(f, a) y = Div(e, s) }",
        /* the maximum of another axis */
        HEAD(18) "<int64[1] a = {1}>{ m = ReduceMax(x, a) d = Sub(x, m) y = Softmax(d) }",
        /* not the number of elements; an unknown number */
        SUM(18) "<int64[1] a = {-1}, float n = {3}>{ s = ReduceSum(x, a) y = Div(s, n) }",
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "g (float[B,4] x) => (float[1,4] y) <int64[1] a = {0}, float n = {4}>"
        "{ s = ReduceSum(x, a) y = Div(s, n) }",
        /* unknown axes where an attribute needs them; integers */
        "<ir_version: 10, opset_import: [\"\" : 13]>\n"
        "g (float[B,4] x, int64[1] a) => (float[B,1] y) { q = Abs(x) y = ReduceSum(q, a) }",
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "g (int32[B,4] x) => (int32[1,1] y) { q = Abs(x) y = ReduceSum(q) }",
        /* the exponent enlarges the data that is reduced */
        "<ir_version: 10, opset_import: [\"\" : 18]>\n"
        "g (float[B,1] x) => (float[B,1] y) <int64[1] a = {1}, float[1,3] two = {2, 2, 2}>"
        "{ q = Pow(x, two) y = ReduceSum(q, a) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_found(texts[i], texts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),       cmocka_unit_test(test_log_softmax),
        cmocka_unit_test(test_reductions),    cmocka_unit_test(test_mean),
        cmocka_unit_test(test_must_not_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
