/* Gather of all rows in order. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(io, inits, before, new_inits, after)                           \
  {                                                                          \
    .passes = "gather-all", .text = HEAD(17) io " <" inits "> {" before "}", \
    .expected = HEAD(17) io " <" new_inits "> {" after "}"                   \
  }
#define STAYS(io, inits, nodes) FOLDS(io, inits, nodes, inits, nodes)

/* Rows of a flattened mask, one by one. */
#define MASK "g (bool[b,s] x) => (bool[b,1,s,1] y)"
#define NUMBERS \
  "int64 z = {0}, int64 o = {1}, int64[1] i = {0}, int64[1] j = {1}, int64[2] u = {1, 2}"
#define RANGES \
  "d = Shape (x) b = Gather (d, z) s = Gather (d, o) p = Range (z, b, o) q = Range (z, s, o)"
#define FLAT " f = Flatten <axis = 2> (x)"

static const pass_case cases[] = {
    FOLDS(MASK, NUMBERS,
          RANGES FLAT " v = Unsqueeze (p, u) w = Unsqueeze (q, i) m = Mul (v, s) a = Add (m, w)"
                      " y = Gather (f, a)",
          "int64[2] k = {1, 3}", "y = Unsqueeze (x, k)"),
    FOLDS("g (float[6,2] x) => (float[2,3,2] y)",
          "int64 z = {0}, int64 o = {1}, int64 t = {2},"
          " int64 h = {3}, int64[1] j = {1}",
          "p = Range (z, t, o) q = Range (z, h, o) v = Unsqueeze (p, j) m = Mul (h, v)"
          " a = Add (q, m) y = Gather (x, a)",
          "int64[3] k = {2, 3, 2}", "y = Reshape (x, k)"),
    /* In another order. */
    STAYS("g (float[6,2] x) => (float[2,3,2] y)",
          "int64 z = {0}, int64 o = {1}, int64 t = {2}, int64 h = {3}, int64[1] j = {1}",
          "p = Range (z, t, o) q = Range (z, h, o) v = Unsqueeze (p, j) m = Mul (t, q)"
          " a = Add (m, v) y = Gather (x, a)"),
    /* Not all, or not from the first on. */
    STAYS("g (float[6,2] x) => (float[5,2] y)", "int64 z = {0}, int64 o = {1}, int64 t = {5}",
          "a = Range (z, t, o) y = Gather (x, a)"),
    STAYS("g (float[6,2] x) => (float[5,2] y)", "int64 o = {1}, int64 t = {6}",
          "a = Range (o, t, o) y = Gather (x, a)"),
    STAYS("g (float[6,2] x) => (float[3,2] y)", "int64 z = {0}, int64 t = {6}, int64 d = {2}",
          "a = Range (z, t, d) y = Gather (x, a)"),
    STAYS("g (float[6,2] x) => (float[6,2] y)", "int64 z = {0}, int64 o = {1}, int64 t = {2}",
          "a = Range (z, t, o) y = Gather <axis = 1> (x, a)"),
};

static void test_gather_all(void **state) {
    (void)state;
    expect_passes(cases, HN_COUNT(cases));
    expect_miss(&cases[3], "gather-in-order", "all of them");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gather_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
