/* Reductions and sums over axes of size 1. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define BECOMES(opset, io, inits, before, new_inits, after)                    \
  {                                                                            \
    .passes = "unit-axes", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                  \
  }
#define STAYS(opset, io, inits, nodes) BECOMES(opset, io, inits, nodes, inits, nodes)

static const pass_case cases[] = {
    BECOMES(13, "g (float[n,1,4] x) => (float[n,4] y)", "int64[1] a = {1}",
            "y = ReduceSum <keepdims = 0> (x, a)", "int64[1] a = {1}", "y = Squeeze (x, a)"),
    BECOMES(18, "g (float[n,1,c,1] x) => (float[n,c] y)", "int64[2] a = {-1, 1}",
            "y = ReduceMean <keepdims = 0> (x, a)", "int64[2] b = {1, 3}", "y = Squeeze (x, b)"),
    BECOMES(11, "g (int32[2,1] x) => (int32[2] y)", "int64[1] unused = {0}",
            "y = ReduceMax <axes = [1], keepdims = 0> (x)", "int64[1] unused = {0}",
            "y = Squeeze <axes = [1]> (x)"),
    /* all axes, kept or not */
    BECOMES(18, "g (double[1,1] x) => (double y)", "int64[1] unused = {0}",
            "y = ReduceProd <keepdims = 0> (x)", "int64[2] b = {0, 1}", "y = Squeeze (x, b)"),
    BECOMES(17, "g (float[3,1] x) => (float[3,1] y)", "int64 a = {-1}",
            "b = Neg (x) y = CumSum (b, a)", "int64 a = {-1}", "y = Neg (x)"),
    BECOMES(17, "g (float[3,1] x) => (float[3,1] y)", "int64 a = {1}",
            "b = Neg (x) y = CumSum <reverse = 1> (b, a)", "int64 a = {1}", "y = Neg (x)"),
    /* more than one element, or nobody knows how many */
    STAYS(13, "g (float[n,2,4] x) => (float[n,4] y)", "int64[1] a = {1}",
          "y = ReduceSum <keepdims = 0> (x, a)"),
    STAYS(13, "g (float[n,n] x) => (float[n] y)", "int64[1] a = {0}",
          "y = ReduceMin <axes = [0], keepdims = 0> (x)"),
    STAYS(13, "g (float[?,1,?] x) => (float[1,?] y)", "int64[1] a = {0}",
          "y = ReduceMin <axes = [0], keepdims = 0> (x)"),
    STAYS(13, "g (float[n,1] x, int64[1] a) => (float[?] y)", "int64[1] unused = {0}",
          "y = ReduceSum <keepdims = 0> (x, a)"),
    /* what is computed of one element is another one */
    STAYS(18, "g (float[n,1] x) => (float[n] y)", "int64[1] a = {1}",
          "y = ReduceL2 <keepdims = 0> (x, a)"),
    STAYS(17, "g (float[3,2] x) => (float[3,2] y)", "int64 a = {1}", "y = CumSum (x, a)"),
    STAYS(17, "g (float[3,1] x) => (float[3,1] y)", "int64 a = {1}",
          "y = CumSum <exclusive = 1> (x, a)"),
};

static void test_unit_axes(void **state) {
    (void)state;
    expect_passes(cases, HN_COUNT(cases));
    expect_miss(&cases[HN_COUNT(cases) - 1], "sum-of-one", "leaves the element out");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unit_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
