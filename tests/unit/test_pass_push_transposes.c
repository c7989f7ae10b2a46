/* Transposes that cancel across every kind of operator that supports permuted axes. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, inits, before, new_inits, after)     \
  {                                                           \
    .passes = "push-transposes,fold-constants,merge-moves",   \
    .text = HEAD(opset) io " <" inits "> {" before "}",       \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}" \
  }
#define STAYS(opset, io, inits, nodes) FOLDS(opset, io, inits, nodes, inits, nodes)
#define NONE "int64 unused = {0}"

/* To channels-last, the nodes, and back. */
#define IN "t = Transpose <perm = [0, 2, 3, 1]> (x) "
#define OUT " y = Transpose <perm = [0, 3, 1, 2]> (u)"
#define IMAGE "g (float[b,3,4,5] x) => (float[b,3,4,5] y)"
#define AROUND(opset, io, inits, nodes, new_inits, after) \
  FOLDS(opset, io, inits, IN nodes OUT, new_inits, after)

static const pass_case elementwise[] = {
    AROUND(17, IMAGE, NONE, "v = Relu (t) u = Clip (v)", NONE, "v = Relu (x) y = Clip (v)"),
    AROUND(17, IMAGE, "float[3] c = {1, 2, 3}", "u = Add (t, c)", "float[1,3,1,1] c = {1, 2, 3}",
           "y = Add (x, c)"),
    AROUND(17, IMAGE, "float c = {2}", "u = Mul (c, t)", "float c = {2}", "y = Mul (c, x)"),
    AROUND(17, IMAGE, "float[5,3] c = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}", "u = Sub (t, c)",
           "float[1,3,1,5] c = {1,4,7,10,13,2,5,8,11,14,3,6,9,12,15}", "y = Sub (x, c)"),
    /* Two values in the same order. */
    FOLDS(17, "g (float[b,3,4,5] x, float[b,3,4,5] z) => (float[b,3,4,5] y)", NONE,
          IN "s = Transpose <perm = [0, 2, 3, 1]> (z) m = Less (t, s) u = Where (m, t, s)" OUT,
          NONE, "m = Less (x, z) y = Where (m, x, z)"),
    /* The Transposes around an operator without support are small. */
    FOLDS(17, IMAGE, NONE, IN "v = GlobalAveragePool (t) u = Mul (t, v)" OUT, NONE,
          IN "v = GlobalAveragePool (t) u = Transpose <perm = [0, 3, 1, 2]> (v) y = Mul (x, u)"),
    /* A residual branch: each Transpose meets its inverse. */
    FOLDS(17, "g (float[1,2,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] w)",
          "float[2,2,1,1] k = {1, 2, 3, 4}",
          IN "p = Transpose <perm = [0, 3, 1, 2]> (t) q = Conv (p, k)"
             " r = Transpose <perm = [0, 2, 3, 1]> (q) u = Add (t, r)"
             " y = Transpose <perm = [0, 3, 1, 2]> (u) v = Exp (u)"
             " w = Transpose <perm = [0, 3, 1, 2]> (v)",
          "float[2,2,1,1] k = {1, 2, 3, 4}", "q = Conv (x, k) y = Add (x, q) w = Exp (y)"),
};

static const pass_case axes[] = {
    AROUND(17, IMAGE, NONE, "u = Softmax <axis = -1> (t)", NONE, "y = Softmax <axis = 1> (x)"),
    AROUND(17, "g (float[b,3,4,5] x) => (float[b,6,4,5] y)", NONE, "u = Concat <axis = 3> (t, t)",
           NONE, "y = Concat <axis = 1> (x, x)"),
    AROUND(17, "g (float[b,3,4,5] x) => (float[b,3,6,5] y)",
           "int64[8] p = {0, 1, 0, 0, 0, 1, 0, 0}", "u = Pad (t, p)",
           "int64[8] p = {0, 0, 1, 0, 0, 0, 1, 0}", "y = Pad (x, p)"),
    AROUND(17, "g (float[b,3,4,5] x) => (float[b,3,4,4] y)",
           "int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {2}", "u = Slice (t, s, e, a)",
           "int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {3}", "y = Slice (x, s, e, a)"),
    AROUND(9, "g (float[1,3,4,5] x) => (float[1,3,4,4] y)", NONE,
           "u = Slice <axes = [2], starts = [1], ends = [9]> (t)", NONE,
           "y = Slice <axes = [3], starts = [1], ends = [9]> (x)"),
    AROUND(17, "g (float[1,3,4,5] x) => (float[1,3,8,5] y)", "int64[4] r = {1, 2, 1, 1}",
           "u = Tile (t, r)", "int64[4] r = {1, 1, 2, 1}", "y = Tile (x, r)"),
    AROUND(17, "g (float[1,3,4,5] x) => (float[1,3,8,10] y)", "float[4] r = {1, 2, 2, 1}",
           "u = Resize <mode = \"linear\"> (t, , r)", "float[4] r = {1, 1, 2, 2}",
           "y = Resize <mode = \"linear\"> (x, , r)"),
    AROUND(17, "g (float[1,3,4,5] x) => (float[1,3,1,1] y)", NONE,
           "u = ReduceMean <axes = [1, 2]> (t)", NONE, "y = ReduceMean <axes = [2, 3]> (x)"),
    AROUND(17, "g (float[1,3,4,5] x) => (uint8[1,3,4,5] y)",
           "float[3] s = {0.1, 0.2, 0.3}, uint8[3] z = {1, 2, 3}",
           "u = QuantizeLinear <axis = 3> (t, s, z)",
           "float[3] s = {0.1, 0.2, 0.3}, uint8[3] z = {1, 2, 3}",
           "y = QuantizeLinear <axis = 1> (x, s, z)"),
    /* Rows of a product and of a normalization may be in any order. */
    FOLDS(17, "g (float[b,s,2] x) => (float[b,s,2] y)",
          "float[2,2] w = {1, 2, 3, 4}, float[2] c = {1, 2}",
          "t = Transpose <perm = [1, 0, 2]> (x) p = MatMul (t, w) q = LayerNormalization (p, c, c)"
          " y = Transpose <perm = [1, 0, 2]> (q)",
          "float[2,2] w = {1, 2, 3, 4}, float[2] c = {1, 2}",
          "p = MatMul (x, w) y = LayerNormalization (p, c, c)"),
    /* The permutation propagates to all axes: no Transpose remains. */
    FOLDS(17, "g (float[b,3,4,5] x) => (float[b,3] y)", NONE,
          IN "y = ReduceMean <axes = [1, 2], keepdims = 0> (t)", NONE,
          "u = ReduceMean <axes = [2, 3], keepdims = 0> (x) y = Transpose <perm = [0, 1]> (u)"),
    FOLDS(13, "g (float[b,3,4,5] x) => (int64[b,4,5] y)", NONE,
          IN "y = ArgMax <axis = 3, keepdims = 0> (t)", NONE,
          "u = ArgMax <axis = 1, keepdims = 0> (x) y = Transpose <perm = [0, 1, 2]> (u)"),
    FOLDS(13, "g (float[b,3,4] x) => (float[b,3,1,4] y)", "int64[1] a = {2}, int64[1] c = {3}",
          "t = Transpose <perm = [0, 2, 1]> (x) u = Unsqueeze (t, a)"
          " y = Transpose <perm = [0, 3, 2, 1]> (u)",
          "int64[1] a = {2}", "y = Unsqueeze (x, a)"),
};

static const pass_case kept[] = {
    /* Nothing would cancel. */
    STAYS(17, "g (float[b,3,4,5] x) => (float[b,4,5,3] y)", NONE, IN "y = Relu (t)"),
    /* The other operand would need a Transpose of the same size. */
    STAYS(17, "g (float[b,3,4,5] x, float[b,4,5,3] z) => (float[b,4,5,3] y)", NONE,
          IN "y = Add (t, z)"),
    /* An operator with fixed axes. */
    STAYS(17, "g (float[b,3,4,5] x) => (float[b,2,4,3] y)", NONE,
          IN "u = MaxPool <kernel_shape = [3, 2]> (t)" OUT),
    /* Before opset 13 Softmax works on a matrix. */
    STAYS(11, IMAGE, NONE, IN "u = Softmax <axis = 3> (t)" OUT),
    /* Runtimes do not interpolate over the first axes. */
    STAYS(17, "g (float[1,4,5,3] x) => (float[1,8,10,3] y)", "float[4] r = {1, 1, 2, 2}",
          "t = Transpose <perm = [0, 3, 1, 2]> (x) u = Resize <mode = \"linear\"> (t, , r)"
          " y = Transpose <perm = [0, 2, 3, 1]> (u)"),
    /* The reduced axis moves. */
    STAYS(17, "g (float[b,2,2] x) => (float[b,2,2] y)", "float[2,2] w = {1, 2, 3, 4}",
          "t = Transpose <perm = [0, 2, 1]> (x) p = MatMul (t, w)"
          " y = Transpose <perm = [0, 2, 1]> (p)"),
    /* Axes that are not constant. */
    STAYS(18, "g (float[1,3,4,5] x, int64[1] a) => (float[b,c,d,e] y)", NONE,
          IN "u = ReduceMax (t, a)" OUT),
};

static void test_elementwise(void **state) {
    (void)state;
    expect_passes(elementwise, HN_COUNT(elementwise));
}

static void test_axes(void **state) {
    (void)state;
    expect_passes(axes, HN_COUNT(axes));
}

static void test_kept(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
