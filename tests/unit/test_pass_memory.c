/* The basic passes with allocation failures. */
#include "pass_memory.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]>\n"

/* A graph with work for every basic pass. */
static const char subject[] =
    HEAD "g (float[b,2] x, int64[2] k) => (float[b,2] y, string[2] z) <bool c = {1}, float[2] w = "
         "{1, 2},"
         " float[2] u = {1, 2}, float one = {1}> {"
         " s = Constant <value_strings = [\"a\", \"bc\"]> () q = StringConcat (s, s)"
         " t = Cast <to = 8> (k) z = StringConcat (t, q)"
         " n = Neg (w) d = Identity (x) e = Add (d, n) f = Mul (e, u)"
         " g1 = Exp (f) g2 = Exp (f) h = Add (g1, g2) h1 = Mul (h, one)"
         " i = If (c) <then_branch = yes () => (float[b,2] r) { a = Neg (h1) r = Abs (a) },"
         " else_branch = no () => (float[b,2] r2) { r2 = Neg (x) }>"
         " r1 = Relu (i) r3 = Relu (r1) sh = Shape (r3) j = Reshape (r3, sh) dead = Tanh (j)"
         " l = SequenceConstruct (j, x) pos = Constant <value_int = 0> () m = SequenceAt (l, pos)"
         " y = Cast <to = 1> (m) }";

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.level = HN_LEVEL_BASIC;
    expect_every_failure_told(subject, &o, 1, 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
