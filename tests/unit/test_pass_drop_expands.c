/* The removal of Expand before operators that broadcast. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define CASE(io, before, after)                                    \
  {                                                                \
    .passes = "drop-expands", .text = HEAD(17) io " {" before "}", \
    .expected = HEAD(17) io " {" after "}"                         \
  }
#define STAYS(io, nodes) CASE(io, nodes, nodes)

static const pass_case cases[] = {
    CASE("g (float[b,h,s,s] x, float[b,1,1,s] m) => (float[b,h,s,s] y)",
         "t = Shape (x) e = Expand (m, t) y = Add (x, e)", "y = Add (x, m)"),
    CASE("g (float[2,3] x, float[3] m) => (float[2,3] y) <int64[2] t = {2, 3}>",
         "e = Expand (m, t) y = Mul (e, x)", "y = Mul (m, x)"),
    CASE("g (bool[b,1,s] c, float[b,s,s] x, float v) => (float[b,s,s] y)",
         "t = Shape (x) e = Expand (v, t) f = Expand (c, t) y = Where (f, x, e)",
         "y = Where (c, x, v)"),
    /* Two have the shape; one of them must stay. */
    CASE("g (float[1,s] x, float[b,1] z, float[b,s] w) => (float[b,s] y)",
         "t = Shape (w) e = Expand (x, t) f = Expand (z, t) y = Add (e, f)", "y = Add (x, z)"),
    STAYS("g (float[1,s] x, float[b,s] w) => (float[b,s] y)",
          "t = Shape (w) e = Expand (x, t) y = Add (e, x)"),
    STAYS("g (float[3] x, float v) => (float[2,3] y) <int64[2] t = {2, 3}>",
          "e = Expand (x, t) y = Mul (e, v)"),
    /* Operators that do not broadcast. */
    STAYS("g (float[1,s] x, float[b,s] w) => (float[b,t] y)",
          "t = Shape (w) e = Expand (x, t) y = Concat <axis = 1> (e, w)"),
};

static void test_drop_expands(void **state) {
    (void)state;
    expect_passes(cases, HN_COUNT(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_drop_expands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
