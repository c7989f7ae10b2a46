/* Shape computations whose result inference knows. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define CASE(opset, io, before, after)                               \
  {                                                                  \
    .passes = "fold-shapes", .text = HEAD(opset) io " {" before "}", \
    .expected = HEAD(opset) io " {" after "}"                        \
  }
#define STAYS(opset, io, nodes) CASE(opset, io, nodes, nodes)
/* The parts with their own initializers. */
#define FOLDS(opset, io, inits, before, new_inits, after)                        \
  {                                                                              \
    .passes = "fold-shapes", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                    \
  }

static const pass_case numbers[] = {
    FOLDS(17, "g (float[2,3] x) => (int64[2] y)", "int64 unused = {0}",
          "s = Shape (x) y = Add (s, s)", "int64[2] y = {4, 6}", ""),
    FOLDS(17, "g (float[b,3] x, float z) => (float[3] y)", "int64[1] i = {1}",
          "s = Shape (x) d = Gather (s, i) y = Expand (z, d)", "int64[1] c = {3}",
          "y = Expand (z, c)"),
    FOLDS(17, "g (float[b,3] x) => (int32 y)", "int64 i = {1}",
          "s = Shape (x) d = Gather (s, i) e = Cast <to = 6> (d) y = Neg (e)", "int32 y = {-3}",
          ""),
    /* What an exporter writes for expand(-1, ...). */
    FOLDS(17, "g (float[1,4] x) => (float[3,4] y)",
          "int64[2] a = {3, -1}, int64[2] one = {1, 1}, int64 m = {-1}",
          "s = Shape (a) o = ConstantOfShape <value = int64[1] {1}> (s) n = Mul (o, m)"
          " e = Equal (a, n) w = Where (e, o, a) y = Expand (x, w)",
          "int64[2] w = {3, 1}", "y = Expand (x, w)"),
    STAYS(17, "g (float[b] x) => (int64[1] y)", "y = Shape (x)"),
    STAYS(17, "g (int64[2] x) => (int64[2] y)", "y = Neg (x)"),
};

#define COUNTED "g (float[b,s,6] x) => (float[b,s,2,3] y)"

static const pass_case reshapes[] = {
    /* Sizes of the input are copied. */
    FOLDS(17, COUNTED, "int64[1] z = {0}, int64[1] o = {1}, int64[2] t = {2, 3}",
          "s = Shape (x) b = Gather (s, z) n = Gather (s, o) c = Concat <axis = 0> (b, n, t)"
          " y = Reshape (x, c)",
          "int64[4] c = {0, 0, 2, 3}", "y = Reshape (x, c)"),
    /* -1 is the size that inference found. */
    FOLDS(17, COUNTED, "int64[1] z = {0}, int64[1] o = {1}, int64[2] t = {-1, 3}",
          "s = Shape (x) b = Gather (s, z) n = Gather (s, o) c = Concat <axis = 0> (b, n, t)"
          " y = Reshape (x, c)",
          "int64[4] c = {0, 0, 2, 3}", "y = Reshape (x, c)"),
    /* One size may be inferred. */
    FOLDS(17, "g (float[b,s,6] x) => (float[m,6] y)",
          "int64[1] z = {0}, int64[1] o = {1}, int64[1] t = {6}",
          "s = Shape (x) b = Gather (s, z) n = Gather (s, o) p = Mul (b, n)"
          " c = Concat <axis = 0> (p, t) y = Reshape (x, c)",
          "int64[2] c = {-1, 6}", "y = Reshape (x, c)"),
    /* allowzero is not needed when no size is zero. */
    FOLDS(17, "g (float[b,6] x) => (float[b,2,3] y)", "int64[1] z = {0}, int64[2] t = {2, 3}",
          "s = Shape (x) b = Gather (s, z) c = Concat <axis = 0> (b, t)"
          " y = Reshape <allowzero = 1> (x, c)",
          "int64[3] c = {0, 2, 3}", "y = Reshape (x, c)"),
    /* Two sizes from other axes of the input. */
    STAYS(17, "g (float[b,s,6] x) => (float[s,b,6] y) <int64[3] i = {1, 0, 2}>",
          "s = Shape (x) c = Gather (s, i) y = Reshape (x, c)"),
};

static const pass_case targets[] = {
    /* Expand: a size that the input already has is not needed. */
    FOLDS(17, "g (float[b,1] x) => (float[b,3] y)", "int64[1] z = {0}, int64[1] t = {3}",
          "s = Shape (x) b = Gather (s, z) c = Concat <axis = 0> (b, t) y = Expand (x, c)",
          "int64[2] c = {1, 3}", "y = Expand (x, c)"),
    STAYS(14,
          "g (float[b,1] x, float[1,1] z) => (float[b,3] y) <int64[1] i = {0}, int64[1] t = {3}>",
          "s = Shape (x) b = Gather (s, i) c = Concat <axis = 0> (b, t) y = Expand (z, c)"),
    /* Slice: the end of the axis, and one before it. */
    FOLDS(17, "g (float[b,4] x) => (float[c,4] y)", "int64[1] z = {0}, int64[1] o = {1}",
          "s = Shape (x) b = Gather (s, z) e = Sub (b, o) y = Slice (x, z, e, z)",
          "int64[1] z = {0}, int64[1] e = {-1}, int64[1] k = {0}", "y = Slice (x, z, e, z)"),
    FOLDS(17, "g (float[b,4] x) => (float[c,4] y)", "int64[1] z = {0}, int64[1] o = {1}",
          "s = Shape (x) e = Gather (s, z) y = Slice (x, o, e, z)",
          "int64[1] o = {1}, int64[1] e = {9223372036854775807}, int64[1] z = {0}",
          "y = Slice (x, o, e, z)"),
    STAYS(14, "g (float[b,4] x, float[9,4] t) => (float[c,4] y) <int64[1] z = {0}>",
          "s = Shape (x) e = Gather (s, z) y = Slice (t, z, e, z)"),
    /* A part of a shape. */
    FOLDS(15, "g (float[b,c,4] x) => (int64[2] y)", "int64[2] i = {0, 1}",
          "s = Shape (x) y = Gather (s, i)", "int64 unused = {0}",
          "y = Shape <start = 0, end = 2> (x)"),
    FOLDS(15, "g (float[b,c] x) => (int64[1] y)", "int64[1] i = {-1}",
          "s = Shape (x) y = Gather (s, i)", "int64 unused = {0}",
          "y = Shape <start = 1, end = 2> (x)"),
    STAYS(14, "g (float[b,c] x) => (int64[1] y) <int64[1] i = {0}>",
          "s = Shape (x) y = Gather (s, i)"),
    STAYS(15, "g (float[b,c] x) => (int64[2] y) <int64[2] i = {1, 0}>",
          "s = Shape (x) y = Gather (s, i)"),
    STAYS(15, "g (float[b,c] x) => (int64 y) <int64 i = {1}>", "s = Shape (x) y = Gather (s, i)"),
};

static void test_numbers(void **state) {
    (void)state;
    expect_passes(numbers, HN_COUNT(numbers));
}

static void test_reshapes(void **state) {
    (void)state;
    expect_passes(reshapes, HN_COUNT(reshapes));
    pass_case two = reshapes[HN_COUNT(reshapes) - 1];
    expect_miss(&two, "reshape-target", "two sizes");
}

static void test_targets(void **state) {
    (void)state;
    expect_passes(targets, HN_COUNT(targets));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_reshapes),
        cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
