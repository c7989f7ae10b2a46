/* Chains of constants, chains of clips, cheaper operators. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(pass, opset, io, inits, before, new_inits, after)         \
  {                                                                     \
    .passes = pass, .text = HEAD(opset) io " <" inits "> {" before "}", \
    .expected = HEAD(opset) io " <" new_inits "> {" after "}"           \
  }
#define STAYS(pass, opset, io, inits, nodes) FOLDS(pass, opset, io, inits, nodes, inits, nodes)
#define NONE "float unused = {0}"
#define ROW "g (float[b,2] x) => (float[b,2] y)"
#define MATH(inits, before, new_inits, after) \
  FOLDS("algebra", 17, ROW, inits, before, new_inits, after)

static const pass_case steps[] = {
    MATH("float c = {2}, float d = {3}", "u = Add (x, c) y = Add (d, u)", "float c = {5}",
         "y = Add (x, c)"),
    MATH("float c = {2}, float d = {3}", "u = Sub (x, c) y = Sub (d, u)", "float c = {5}",
         "y = Sub (c, x)"),
    MATH("float c = {2}, float d = {3}", "u = Sub (c, x) y = Sub (d, u)", "float c = {1}",
         "y = Add (x, c)"),
    MATH("float c = {2}", "u = Neg (x) y = Add (u, c)", "float c = {2}", "y = Sub (c, x)"),
    MATH("float c = {2}", "u = Sub (x, c) y = Neg (u)", "float c = {2}", "y = Sub (c, x)"),
    MATH("float c = {2}, float[2] d = {3, 4}", "u = Mul (x, c) y = Mul (u, d)",
         "float[2] c = {6, 8}", "y = Mul (x, c)"),
    MATH("float c = {2}, float d = {8}", "u = Mul (x, c) y = Div (u, d)", "float c = {0.25}",
         "y = Mul (x, c)"),
    MATH("float c = {2}, float d = {3}", "u = Div (x, c) y = Div (u, d)", "float c = {6}",
         "y = Div (x, c)"),
    MATH("float c = {2}", "u = Neg (x) y = Mul (u, c)", "float c = {-2}", "y = Mul (x, c)"),
    /* (x * 2 + 1) * 0.5 */
    MATH("float c = {2}, float d = {1}, float e = {0.5}",
         "u = Mul (x, c) v = Add (u, d) y = Mul (v, e)", "float c = {1}, float d = {0.5}",
         "u = Mul (x, c) y = Add (u, d)"),
    /* (x / 4 - mean) / deviation */
    MATH("float c = {4}, float[2] d = {1, 2}, float[2] e = {0.5, 0.25}",
         "u = Div (x, c) v = Sub (u, d) y = Div (v, e)",
         "float[2] c = {0.5, 1}, float[2] d = {-2, -8}", "u = Mul (x, c) y = Add (u, d)"),
    FOLDS("algebra", 17, "g (float[b,2] x, float[b,2] z) => (float[b,2] y)", "float c = {1}",
          "u = Div (c, x) y = Mul (u, z)", NONE, "y = Div (z, x)"),
};

static const pass_case kept_steps[] = {
    /* The broadcast of a row and a column is larger than either. */
    STAYS("algebra", 17, "g (float[1,1] x) => (float[2,2] y)",
          "float[2,1] c = {2, 3}, float[2] d = {3, 4}", "u = Mul (x, c) y = Mul (u, d)"),
    STAYS("algebra", 17, ROW, "float c = {-3e38}, float d = {-3e38}",
          "u = Add (x, c) y = Add (u, d)"),
    STAYS("algebra", 17, ROW, "float c = {1e-30}, float d = {1e-20}",
          "u = Mul (x, c) y = Mul (u, d)"),
    STAYS("algebra", 17, "g (int64[b,2] x) => (int64[b,2] y)", "int64 c = {2}, int64 d = {3}",
          "u = Add (x, c) y = Add (u, d)"),
    STAYS("algebra", 17, "g (float[b,2] x) => (float[b,2] y, float[b,2] u)",
          "float c = {2}, float d = {3}", "u = Add (x, c) y = Add (u, d)"),
    STAYS("algebra", 17, ROW, "float c = {2}, float d = {3}", "u = Mul (x, c) y = Add (u, d)"),
    STAYS("algebra", 17, ROW, "float c = {2}, float d = {3}", "u = Div (c, x) y = Mul (u, d)"),
    STAYS("algebra", 6, "g (float[1,2] x) => (float[1,2] y)", "float[1] c = {2}, float[1] d = {3}",
          "u = Add <broadcast = 1> (x, c) y = Add <broadcast = 1> (u, d)"),
};

#define CLIP(opset, inits, before, new_inits, after) \
  FOLDS("clip-chains", opset, ROW, inits, before, new_inits, after)

static const pass_case clips[] = {
    CLIP(13, "float a = {-1}, float b = {6}", "u = Clip (x, a, b) y = Relu (u)",
         "float a = {0}, float b = {6}", "y = Clip (x, a, b)"),
    CLIP(13, "float b = {6}", "u = Relu (x) y = Clip (u, , b)", "float a = {0}, float b = {6}",
         "y = Clip (x, a, b)"),
    CLIP(13, "float a = {-1}, float b = {6}, float c = {7}, float d = {9}",
         "u = Clip (x, a, b) y = Clip (u, c, d)", "float a = {7}, float b = {7}",
         "y = Clip (x, a, b)"),
    CLIP(13, "float a = {1}, float b = {6}", "u = Max (x, a) y = Min (b, u)",
         "float a = {1}, float b = {6}", "y = Clip (x, a, b)"),
    CLIP(6, NONE, "u = Relu (x) y = Clip <max = 6.0> (u)", NONE,
         "y = Clip <min = 0.0, max = 6.0> (x)"),
    CLIP(13, "float a = {-1}", "u = Clip (x, a) y = Relu (u)", NONE, "y = Relu (x)"),
    CLIP(13, "float[1,1] a = {0}", "y = Max (a, x)", NONE, "y = Relu (x)"),
    FOLDS("clip-chains", 13, "g (int32[2] x) => (int32[2] y)", "int32 a = {1}, int32 b = {6}",
          "u = Max (x, a) y = Min (u, b)", "int32 a = {1}, int32 b = {6}", "y = Clip (x, a, b)"),
    /* Bounds that are unknown, per element, or have other readers. */
    STAYS("clip-chains", 13, "g (float[b,2] x, float m) => (float[b,2] y)", NONE,
          "u = Clip (x, m) y = Relu (u)"),
    STAYS("clip-chains", 13, ROW, "float[2] a = {1, 2}, float b = {6}",
          "u = Max (x, a) y = Min (u, b)"),
    STAYS("clip-chains", 13, "g (float[2] x) => (float[1,2] y)", "float[1,1] a = {0}",
          "y = Max (x, a)"),
    STAYS("clip-chains", 13, "g (float[b,2] x) => (float[b,2] y, float[b,2] u)", "float a = {1}",
          "u = Relu (x) y = Clip (u, , a)"),
    STAYS("clip-chains", 13, ROW, "float a = {6}, float b = {1}",
          "u = Clip (x, a, b) y = Relu (u)"),
    STAYS("clip-chains", 11, "g (int32[2] x) => (int32[2] y)", "int32 a = {0}", "y = Neg (x)"),
};

#define CHEAP(inits, before, new_inits, after) \
  FOLDS("cheaper-math", 17, ROW, inits, before, new_inits, after)

static const pass_case cheap[] = {
    CHEAP("float c = {2}", "y = Pow (x, c)", NONE, "y = Mul (x, x)"),
    CHEAP("float c = {8}", "y = Div (x, c)", "float c = {0.125}", "y = Mul (x, c)"),
    CHEAP("float c = {1}", "y = Div (c, x)", NONE, "y = Reciprocal (x)"),
    STAYS("cheaper-math", 17, ROW, "float c = {3}", "y = Pow (x, c)"),
    STAYS("cheaper-math", 17, ROW, "float c = {2.0001}", "y = Pow (x, c)"),
    STAYS("cheaper-math", 17, ROW, "float c = {3}", "y = Div (x, c)"),
    STAYS("cheaper-math", 17, "g (int64[2] x) => (int64[2] y)", "int64 c = {8}", "y = Div (x, c)"),
    STAYS("cheaper-math", 17, "g (float[2] x) => (float[1,2] y)", "float[1,1] c = {2}",
          "y = Pow (x, c)"),
};

static void test_steps(void **state) {
    (void)state;
    expect_passes(steps, HN_COUNT(steps));
}

static void test_kept_steps(void **state) {
    (void)state;
    expect_passes(kept_steps, HN_COUNT(kept_steps));
    expect_miss(&kept_steps[0], "two-steps", "larger than either");
    expect_miss(&kept_steps[1], "two-steps", "range");
}

static void test_clips(void **state) {
    (void)state;
    expect_passes(clips, HN_COUNT(clips));
}

static void test_cheap(void **state) {
    (void)state;
    expect_passes(cheap, HN_COUNT(cheap));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_kept_steps),
        cmocka_unit_test(test_clips),
        cmocka_unit_test(test_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
