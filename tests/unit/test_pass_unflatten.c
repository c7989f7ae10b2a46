/* Products without flattening. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, inits, before, new_inits, after)                      \
  {                                                                            \
    .passes = "unflatten", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                  \
  }
#define STAYS(opset, io, inits, nodes) FOLDS(opset, io, inits, nodes, inits, nodes)

#define IO "g (float[b,3,2] x) => (float[b,3,2] y)"
#define WEIGHT "float[2,2] w = {1, 2, 3, 4}"
#define SHAPES ", int64[2] f = {-1, 2}, int64[3] u = {-1, 3, 2}"

static const pass_case plain[] = {
    FOLDS(17, IO, WEIGHT ", float[2] c = {5, 6}" SHAPES,
          "m = Reshape (x, f) p = Gemm (m, w, c) y = Reshape (p, u)",
          WEIGHT ", float[2] c = {5, 6}", "p = MatMul (x, w) y = Add (p, c)"),
    FOLDS(17, IO, WEIGHT SHAPES, "m = Reshape (x, f) p = MatMul (m, w) y = Reshape (p, u)", WEIGHT,
          "y = MatMul (x, w)"),
    FOLDS(17, IO, WEIGHT SHAPES,
          "m = Reshape (x, f) p = Gemm <transB = 1> (m, w) y = Reshape (p, u)", WEIGHT,
          "t = Transpose <perm = [1, 0]> (w) y = MatMul (x, t)"),
    FOLDS(17, IO, WEIGHT ", float[1,2] c = {5, 6}, int64[3] u = {-1, 3, 2}",
          "m = Flatten <axis = 2> (x) p = Gemm (m, w, c) y = Reshape (p, u)",
          WEIGHT ", float[1,2] c = {5, 6}", "p = MatMul (x, w) y = Add (p, c)"),
    /* More than the leading axes are merged: that part stays a Reshape. */
    FOLDS(17, "g (float[b,3,1,2] x) => (float[b,3,2] y)", WEIGHT SHAPES,
          "m = Reshape (x, f) p = MatMul (m, w) y = Reshape (p, u)",
          WEIGHT ", int64[3] s = {0, 3, 2}", "m = Reshape (x, s) y = MatMul (m, w)"),
};

static const pass_case kept[] = {
    STAYS(17, IO, WEIGHT SHAPES,
          "m = Reshape (x, f) p = Gemm <alpha = 2.0> (m, w) y = Reshape (p, u)"),
    STAYS(17, "g (float[2,3,2] x) => (float[2,3,2] y)",
          WEIGHT ", float[6,2] c = {1,2,3,4,5,6,7,8,9,10,11,12}" SHAPES,
          "m = Reshape (x, f) p = Gemm (m, w, c) y = Reshape (p, u)"),
    /* The product, or the weight, has other readers. */
    STAYS(17, "g (float[b,3,2] x) => (float[b,3,2] y, float[c,2] p)", WEIGHT SHAPES,
          "m = Reshape (x, f) p = MatMul (m, w) y = Reshape (p, u)"),
    STAYS(17, "g (float[b,3,2] x) => (float[b,3,2] y, float[2,2] z)", WEIGHT SHAPES,
          "m = Reshape (x, f) p = Gemm <transB = 1> (m, w) y = Reshape (p, u) z = Neg (w)"),
    /* The columns are split, too. */
    STAYS(17, "g (float[b,3,2] x) => (float[b,6] y)",
          WEIGHT ", int64[2] f = {-1, 2}, int64[2] u = {-1, 6}",
          "m = Reshape (x, f) p = MatMul (m, w) y = Reshape (p, u)"),
};

static void test_plain(void **state) {
    (void)state;
    expect_passes(plain, HN_COUNT(plain));
}

static void test_kept(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
    expect_miss(&kept[0], "reshape-matmul-reshape", "has a scale");
    expect_miss(&kept[3], "reshape-matmul-reshape", "copied");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
