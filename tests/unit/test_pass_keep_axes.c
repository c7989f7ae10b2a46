/* Axes that are dropped and restored. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, inits, before, new_inits, after)                      \
  {                                                                            \
    .passes = "keep-axes", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                  \
  }
#define STAYS(opset, io, inits, nodes) FOLDS(opset, io, inits, nodes, inits, nodes)
#define NONE "int64 unused = {0}"

static const pass_case gathers[] = {
    FOLDS(17, "g (float[3,b] x) => (float[1,b] y)", "int64 i = {2}, int64[1] a = {0}",
          "g = Gather (x, i) y = Unsqueeze (g, a)", "int64[1] i = {2}",
          "y = Gather <axis = 0> (x, i)"),
    FOLDS(11, "g (float[3,b] x) => (float[3,1] y)", "int64 i = {-1}",
          "g = Gather <axis = 1> (x, i) y = Unsqueeze <axes = [-1]> (g)", "int64[1] i = {-1}",
          "y = Gather <axis = 1> (x, i)"),
    FOLDS(17, "g (float[b] x) => (float[1] y)", "int64 i = {0}, int64[1] a = {-1}",
          "g = Gather (x, i) y = Reshape (g, a)", "int64[1] i = {0}",
          "y = Gather <axis = 0> (x, i)"),
    /* There is only one element. */
    FOLDS(17, "g (float[1,b] x) => (float[1,b] y)", "int64 i = {0}, int64[1] a = {0}",
          "g = Gather (x, i) u = Unsqueeze (g, a) y = Neg (u)", NONE, "y = Neg (x)"),
    STAYS(17, "g (float[3,b] x) => (float[b,1] y)", "int64 i = {2}, int64[1] a = {1}",
          "g = Gather (x, i) y = Unsqueeze (g, a)"),
    STAYS(17, "g (float[3,b] x) => (float[1,1,b] y)", "int64[1] i = {2}, int64[1] a = {0}",
          "g = Gather (x, i) y = Unsqueeze (g, a)"),
};

static const pass_case reductions[] = {
    FOLDS(13, "g (float[b,c,d] x) => (float[b,1,d] y)", "int64[1] a = {1}",
          "r = ReduceMax <axes = [-2], keepdims = 0> (x) y = Unsqueeze (r, a)", NONE,
          "y = ReduceMax <axes = [-2], keepdims = 1> (x)"),
    FOLDS(13, "g (float[b,c,4,4] x) => (float[b,c] y)", "int64[2] a = {2, 3}",
          "r = ReduceSum (x, a) y = Squeeze (r, a)", "int64[2] a = {2, 3}",
          "y = ReduceSum <keepdims = 0> (x, a)"),
    FOLDS(13, "g (float[b,3,4,4] x) => (float[b,3] y)", NONE,
          "r = ReduceMean <axes = [2, 3]> (x) y = Flatten (r)", NONE,
          "y = ReduceMean <axes = [2, 3], keepdims = 0> (x)"),
    FOLDS(17, "g (int64[b] x) => (int64[1] y)", "int64[1] a = {1}",
          "r = ReduceMin <keepdims = 0> (x) y = Reshape (r, a)", NONE,
          "y = ReduceMin <keepdims = 1> (x)"),
    FOLDS(13, "g (float[b,5] x) => (int64[b] y)", "int64[1] a = {1}",
          "r = ArgMax <axis = 1> (x) y = Squeeze (r, a)", NONE,
          "y = ArgMax <axis = 1, keepdims = 0> (x)"),
    STAYS(13, "g (float[b,c,d] x) => (float[b,d,1] y)", "int64[1] a = {2}",
          "r = ReduceMax <axes = [1], keepdims = 0> (x) y = Unsqueeze (r, a)"),
    STAYS(13, "g (float[1,c,d] x) => (float[1,d] y)", "int64[1] a = {0}",
          "r = ReduceMax <axes = [0, 1]> (x) y = Squeeze (r, a)"),
    STAYS(13, "g (float[b,c] x) => (float[b,1] y, float[b] r)", "int64[1] a = {1}",
          "r = ReduceMax <axes = [1], keepdims = 0> (x) y = Unsqueeze (r, a)"),
};

static void test_gathers(void **state) {
    (void)state;
    expect_passes(gathers, HN_COUNT(gathers));
}

static void test_reductions(void **state) {
    (void)state;
    expect_passes(reductions, HN_COUNT(reductions));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
