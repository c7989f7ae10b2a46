/* The merging of equal nodes and of equal initializers. */
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]>\n"
#define CASE(io, before, after)                                         \
  {                                                                     \
    .passes = "common-subexpressions", .text = HEAD io " {" before "}", \
    .expected = HEAD io " {" after "}"                                  \
  }
#define STAYS(io, nodes) CASE(io, nodes, nodes)

#define FLOATS "g (float[2,2] x) => (float[2,2] y)"
#define BRANCHES "g (bool c, float[2] x) => (float[2] y)"

static const pass_case merged[] = {
    CASE(FLOATS, "a = Exp (x) b = Exp (x) y = Mul (a, b)", "a = Exp (x) y = Mul (a, a)"),
    CASE(FLOATS, "a = Exp (x) b = Exp (x) c = Neg (a) d = Neg (b) y = Mul (c, d)",
         "a = Exp (x) c = Neg (a) y = Mul (c, c)"),
    CASE(FLOATS, "a = Exp (x) b = Add (a, x) c = Add (x, a) y = Mul (b, c)",
         "a = Exp (x) b = Add (a, x) y = Mul (b, b)"),
    CASE(FLOATS, "a = Softmax <axis = 1> (x) b = Softmax <axis = 1> (x) y = Mul (a, b)",
         "a = Softmax <axis = 1> (x) y = Mul (a, a)"),
    /* One of them is a graph output, whose name stays. */
    CASE("g (float[2] x) => (float[2] y, float[2] z)", "a = Exp (x) y = Exp (x) z = Neg (a)",
         "y = Exp (x) z = Neg (y)"),
    CASE("g (float[4] x) => (float[2] y)",
         "a, b = Split <num_outputs = 2> (x) c, d = Split <num_outputs = 2> (x) y = Add (a, d)",
         "a, b = Split <num_outputs = 2> (x) y = Add (a, b)"),
    /* A branch sees nodes before it. */
    CASE(BRANCHES,
         "a = Exp (x) b = If (c) <then_branch = t () => (float[2] r) { d = Exp (x) r = Neg (d) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }> y = Add (a, b)",
         "a = Exp (x) b = If (c) <then_branch = t () => (float[2] r) { r = Neg (a) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }> y = Add (a, b)"),
};

static void test_merges(void **state) {
    (void)state;
    expect_passes(merged, HN_COUNT(merged));
}

static const pass_case kept[] = {
    STAYS(FLOATS, "a = Softmax <axis = 1> (x) b = Softmax <axis = 0> (x) y = Mul (a, b)"),
    STAYS(FLOATS, "a = Exp (x) b = Sub (a, x) c = Sub (x, a) y = Mul (b, c)"),
    STAYS("g (float[2] x) => (float[2] y, float[2] z)", "y = Exp (x) z = Exp (x)"),
    /* Not after the branch, not from branch to branch, and not as an output of a branch. */
    STAYS(BRANCHES, "b = If (c) <then_branch = t () => (float[2] r) { d = Exp (x) r = Neg (d) },"
                    " else_branch = e () => (float[2] s) { f = Exp (x) s = Abs (f) }>"
                    " a = Exp (x) y = Add (a, b)"),
    STAYS(BRANCHES, "a = Exp (x) b = If (c) <then_branch = t () => (float[2] r) { r = Exp (x) },"
                    " else_branch = e () => (float[2] s) { s = Neg (x) }> y = Add (a, b)"),
};

static void test_others_stay(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
    const pass_case random =
        STAYS(FLOATS, "a = RandomNormalLike (x) b = RandomNormalLike (x) y = Sub (a, b)");
    hn_model *m = optimized_from(&random, NULL);
    assert_int_equal(hn_block_at(m->graph, 0)->nodes.n, 3);
    hn_model_free(m);
}

/* ---- initializers ---------------------------------------------------------------------------- */

#define INITS(io, before, nodes, after, nodes_after)                                 \
  {                                                                                  \
    .passes = "duplicate-initializers", .text = HEAD io " <" before "> {" nodes "}", \
    .expected = HEAD io " <" after "> {" nodes_after "}"                             \
  }

#define ROWS "g (float[2] x) => (float[2] y)"

static const pass_case inits[] = {
    INITS(ROWS, "float[2] a = {1, 2}, float[2] b = {1, 2}", "c = Add (x, a) y = Mul (c, b)",
          "float[2] a = {1, 2}", "c = Add (x, a) y = Mul (c, a)"),
    INITS("g (int64[1] x) => (string[1] y)", "string a = {\"q\"}, string b = {\"q\"}",
          "s = Cast <to = 8> (x) c = StringConcat (s, a) y = StringConcat (c, b)",
          "string a = {\"q\"}",
          "s = Cast <to = 8> (x) c = StringConcat (s, a) y = StringConcat (c, a)"),
    /* Other bits, other shapes. */
    INITS(ROWS, "float a = {0}, float b = {-0.0}", "c = Add (x, a) y = Mul (c, b)",
          "float a = {0}, float b = {-0.0}", "c = Add (x, a) y = Mul (c, b)"),
    INITS(ROWS, "float a = {1}, float[1] b = {1}", "c = Add (x, a) y = Mul (c, b)",
          "float a = {1}, float[1] b = {1}", "c = Add (x, a) y = Mul (c, b)"),
    /* Graph inputs and outputs stay. */
    {.passes = "duplicate-initializers",
     .text = HEAD "g (float[2] x, float a = {1}) => (float[2] y) <float b = {1}> {"
                  " c = Add (x, a) y = Mul (c, b) }",
     .expected = HEAD "g (float[2] x, float a = {1}) => (float[2] y) <float b = {1}> {"
                      " c = Add (x, a) y = Mul (c, b) }"},
};

static void test_initializers(void **state) {
    (void)state;
    expect_passes(inits, HN_COUNT(inits));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_initializers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
