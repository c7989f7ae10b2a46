/* The merging of Transpose, Slice, Concat, Split and Pad in a row. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, inits, before, new_inits, after)                        \
  {                                                                              \
    .passes = "merge-moves", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                    \
  }
#define STAYS(opset, io, inits, nodes) FOLDS(opset, io, inits, nodes, inits, nodes)
#define NONE "int64 unused = {0}"

static const pass_case transposes[] = {
    FOLDS(17, "g (float[a,b,c] x) => (float[c,a,b] y)", NONE,
          "t = Transpose <perm = [1, 2, 0]> (x) y = Transpose <perm = [1, 2, 0]> (t)", NONE,
          "y = Transpose <perm = [2, 0, 1]> (x)"),
    FOLDS(17, "g (float[a,b] x) => (float[a,b] y)", NONE,
          "t = Transpose (x) u = Transpose <perm = [1, 0]> (t) y = Neg (u)", NONE, "y = Neg (x)"),
};

static const pass_case parts[] = {
    FOLDS(17, "g (float[2,a] x, float[2,b] z) => (float[2,c] y)", NONE,
          "t = Concat <axis = 1> (x, z) y = Concat <axis = -1> (z, t, x)", NONE,
          "y = Concat <axis = 1> (z, x, z, x)"),
    STAYS(17, "g (float[2,a] x) => (float[4,b] y)", NONE,
          "t = Concat <axis = 1> (x, x) y = Concat <axis = 0> (t, t)"),
    STAYS(17, "g (float[2,a] x) => (float[2,b] y, float[2,c] t)", NONE,
          "t = Concat <axis = 1> (x, x) y = Concat <axis = 1> (t, x)"),
    FOLDS(13, "g (float[2,6] x) => (float[2,6] y)", "int64[2] s = {2, 4}",
          "a, b = Split <axis = 1> (x, s) c = Concat <axis = -1> (a, b) y = Neg (c)", NONE,
          "y = Neg (x)"),
    STAYS(13, "g (float[2,6] x) => (float[2,6] y)", "int64[2] s = {2, 4}",
          "a, b = Split <axis = 1> (x, s) y = Concat <axis = 1> (b, a)"),
    STAYS(13, "g (float[2,6] x) => (float[2,4] y)", "int64[3] s = {2, 2, 2}",
          "a, b, c = Split <axis = 1> (x, s) y = Concat <axis = 1> (a, b)"),
};

#define CUT(c) "g (float[a,8] x) => (float[b," #c "] y)"

static const pass_case slices[] = {
    FOLDS(17, CUT(4), "int64[1] z = {0}, int64[1] o = {1}, int64[1] e = {-1}, int64[1] f = {5}",
          "t = Slice (x, o, e, z) y = Slice (t, o, f, o)",
          "int64[2] s = {1, 1}, int64[2] e = {-1, 5}, int64[2] a = {0, 1}, int64[2] d = {1, 1}",
          "y = Slice (x, s, e, a, d)"),
    FOLDS(17, CUT(4), "int64[1] o = {1}, int64[1] e = {9223372036854775807}, int64[1] f = {5}",
          "t = Slice (x, o, e, o) y = Slice (t, o, f, o)",
          "int64[1] s = {2}, int64[1] e = {6}, int64[1] a = {1}, int64[1] d = {1}",
          "y = Slice (x, s, e, a, d)"),
    FOLDS(9, CUT(2), NONE,
          "t = Slice <starts = [1, 0], ends = [9, 4]> (x)"
          " y = Slice <axes = [1], starts = [1], ends = [3]> (t)",
          NONE, "y = Slice <axes = [0, 1], starts = [1, 1], ends = [9, 3]> (x)"),
    /* A bound relative to the end of the first result is unknown. */
    STAYS(17, CUT(4), "int64[1] o = {1}, int64[1] e = {-2}, int64[1] f = {5}",
          "t = Slice (x, o, e, o) y = Slice (t, o, f, o)"),
    STAYS(17, CUT(3), "int64[1] o = {1}, int64[1] e = {9}, int64[1] d = {2}",
          "t = Slice (x, o, e, o, d) y = Slice (t, o, e, o)"),
};

static const pass_case pads[] = {
    FOLDS(17, "g (float[a,4] x) => (float[b,8] y)",
          "int64[4] p = {1, 0, 0, 2}, int64[4] q = {0, 1, 3, 1}", "t = Pad (x, p) y = Pad (t, q)",
          "int64[4] p = {1, 1, 3, 3}", "y = Pad <mode = \"constant\"> (x, p)"),
    FOLDS(18, "g (float[a,4] x) => (float[b,9] y)",
          "int64[2] p = {1, 2}, int64[1] k = {-1}, int64[4] q = {0, 1, 3, 1}, float v = {2}",
          "t = Pad (x, p, v, k) y = Pad (t, q, v)", "int64[4] p = {0, 2, 3, 3}, float v = {2}",
          "y = Pad <mode = \"constant\"> (x, p, v)"),
    FOLDS(2, "g (float[3,4] x) => (float[4,6] y)", NONE,
          "t = Pad <pads = [1, 0, 0, 0], value = 3.0> (x)"
          " y = Pad <pads = [0, 1, 0, 1], value = 3.0> (t)",
          NONE, "y = Pad <pads = [1, 1, 0, 1], value = 3.0> (x)"),
    STAYS(17, "g (float[a,4] x) => (float[b,8] y)", "int64[4] p = {1, 0, 0, 2}, float v = {2}",
          "t = Pad (x, p, v) y = Pad (t, p)"),
    STAYS(17, "g (float[3,4] x) => (float[5,8] y)", "int64[4] p = {1, 0, 0, 2}",
          "t = Pad <mode = \"reflect\"> (x, p) y = Pad (t, p)"),
    STAYS(17, "g (float[a,4] x) => (float[b,4] y)",
          "int64[4] p = {0, -1, 0, 0}, int64[4] q = {0, 1, 0, 0}", "t = Pad (x, p) y = Pad (t, q)"),
};

static void test_transposes(void **state) {
    (void)state;
    expect_passes(transposes, HN_COUNT(transposes));
}

static void test_parts(void **state) {
    (void)state;
    expect_passes(parts, HN_COUNT(parts));
}

static void test_slices(void **state) {
    (void)state;
    expect_passes(slices, HN_COUNT(slices));
    expect_miss(&slices[3], "two-slices", "relative to its end");
}

static void test_pads(void **state) {
    (void)state;
    expect_passes(pads, HN_COUNT(pads));
    expect_miss(&pads[3], "two-pads", "different values");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_pads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
