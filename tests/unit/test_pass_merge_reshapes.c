/* The merging of Reshape, Squeeze, Unsqueeze, Flatten and Transposes of axes of size 1. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, inits, before, new_inits, after)                           \
  {                                                                                 \
    .passes = "merge-reshapes", .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"                       \
  }
#define STAYS(opset, io, inits, nodes) FOLDS(opset, io, inits, nodes, inits, nodes)
#define NONE "int64 unused = {0}"

static const pass_case merged[] = {
    FOLDS(17, "g (float[2,3,4] x) => (float[6,4] y)", "int64[1] a = {-1}, int64[2] b = {6, 4}",
          "u = Reshape (x, a) y = Reshape (u, b)", "int64[2] b = {6, 4}", "y = Reshape (x, b)"),
    FOLDS(17, "g (float[b,6] x) => (float[b,6] y)", "int64[3] a = {0, 2, 3}, int64[2] c = {0, 6}",
          "u = Reshape (x, a) v = Reshape (u, c) y = Neg (v)", NONE, "y = Neg (x)"),
    FOLDS(17, "g (float[b,s] x) => (float[b,1,s,1] y)", "int64[1] a = {1}, int64[1] c = {3}",
          "u = Unsqueeze (x, a) y = Unsqueeze (u, c)", "int64[2] a = {1, 3}",
          "y = Unsqueeze (x, a)"),
    FOLDS(11, "g (float[b,1,s,1] x) => (float[b,s] y)", NONE,
          "u = Squeeze <axes = [1]> (x) y = Squeeze <axes = [2]> (u)", NONE,
          "y = Squeeze <axes = [1, 3]> (x)"),
    FOLDS(17, "g (float[b,s] x) => (float[b,s] y)", "int64[1] a = {1}",
          "u = Unsqueeze (x, a) v = Squeeze (u, a) y = Neg (v)", NONE, "y = Neg (x)"),
    FOLDS(17, "g (float[b,2,3] x) => (float[b,6,1] y)", "int64[1] a = {2}",
          "u = Flatten (x) y = Unsqueeze (u, a)", "int64[3] t = {0, 6, 1}", "y = Reshape (x, t)"),
    FOLDS(4, "g (float[2,3] x) => (float[3,2] y)", NONE,
          "u = Reshape <shape = [6]> (x) y = Reshape <shape = [3, 2]> (u)", NONE,
          "y = Reshape <shape = [3, 2]> (x)"),
    /* The first one has other readers and stays. */
    FOLDS(17, "g (float[2,6] x) => (float[2,3,2] y, float[12] u)",
          "int64[1] a = {-1}, int64[3] b = {2, 3, 2}", "u = Reshape (x, a) y = Reshape (u, b)",
          "int64[1] a = {-1}, int64[3] b = {2, 3, 2}", "u = Reshape (x, a) y = Reshape (x, b)"),
};

static const pass_case moved[] = {
    /* Only axes of size 1 move. */
    FOLDS(17, "g (float[b,1,1,8] x) => (float[b,8] y)", "int64[2] a = {2, 3}",
          "t = Transpose <perm = [0, 3, 1, 2]> (x) y = Squeeze (t, a)", "int64[2] a = {1, 2}",
          "y = Squeeze (x, a)"),
    /* The spelling of torch's multi-head attention: [s, b*h, d] to [b, h, s, d]. */
    FOLDS(17, "g (float[7,b,6] x) => (float[b,2,7,3] y)",
          "int64[3] r = {7, -1, 3}, int64[4] q = {-1, 2, 7, 3}",
          "u = Reshape (x, r) t = Transpose <perm = [1, 0, 2]> (u) y = Reshape (t, q)",
          "int64[4] r = {7, 0, 2, 3}",
          "u = Reshape (x, r) y = Transpose <perm = [1, 2, 0, 3]> (u)"),
    /* An axis that stays the same. */
    FOLDS(17, "g (float[s,b,3,4] x) => (float[3,s,b,4] y)", "int64[1] a = {0}, int64[1] q = {3}",
          "u = Unsqueeze (x, a) t = Transpose <perm = [3, 1, 2, 0, 4]> (u) y = Squeeze (t, q)",
          NONE, "y = Transpose <perm = [2, 0, 1, 3]> (x)"),
};

static const pass_case kept[] = {
    /* Two sizes would have to be inferred. */
    STAYS(17, "g (float[b,s,6] x) => (float[s,b,6] y)", "int64[1] a = {-1}, int64[3] i = {1, 0, 2}",
          "u = Reshape (x, a) s = Shape (x) t = Gather (s, i) y = Reshape (u, t)"),
    STAYS(17, "g (float[2,3] x) => (float[6] y)", "int64[1] a = {-1}",
          "t = Transpose (x) y = Reshape (t, a)"),
    /* The last reshape merges transposed axes. */
    STAYS(17, "g (float[4,6] x) => (float[4,6] y)", "int64[3] a = {4, 2, 3}, int64[2] b = {4, 6}",
          "u = Reshape (x, a) t = Transpose <perm = [0, 2, 1]> (u) y = Reshape (t, b)"),
};

static const pass_case refused[] = {
    /* One element does not fill them: the model fails in every run, and not before. */
    STAYS(17, "g (float x, int64[1] a) => (float[n,2] y)", "int64[2] b = {-1, 2}",
          "u = Unsqueeze (x, a) y = Reshape (u, b)"),
    STAYS(17, "g (float x, int64[1] a) => (float[3] y)", "int64[1] b = {3}",
          "u = Unsqueeze (x, a) y = Reshape (u, b)"),
};

static void test_merged(void **state) {
    (void)state;
    expect_passes(merged, HN_COUNT(merged));
}

static void test_moved(void **state) {
    (void)state;
    expect_passes(moved, HN_COUNT(moved));
}

static void test_kept(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
    expect_miss(&kept[0], "two-reshapes", "single Reshape");
    for (size_t i = 0; i < HN_COUNT(refused); i++)
        expect_miss(&refused[i], "two-reshapes", "single Reshape");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
