/* Branches with a known condition, sequences and optionals that are opened again, and dead code. */
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 18]>\n"
#define CASE(names, before, after) \
  { .passes = names, .text = HEAD before, .expected = HEAD after }
#define STAYS(names, text_) CASE(names, text_, text_)

#define BRANCH "constant-branches"

static const pass_case branches[] = {
    CASE(BRANCH,
         "g (float[2] x) => (float[2] y) <bool c = {1}> {"
         " a = Exp (x) y = If (c) <then_branch = t () => (float[2] r) { q = Neg (a) r = Abs (q) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }> }",
         "g (float[2] x) => (float[2] y) { a = Exp (x) q = Neg (a) y = Abs (q) }"),
    CASE(BRANCH,
         "g (float[2] x) => (float[2] y, float[2] z) <bool[1] c = {0}> {"
         " y, z = If (c) <then_branch = t () => (float[2] r, float[2] u) { r = Exp (x) u = Abs (x) "
         "},"
         " else_branch = e () => (float[2] s, float[2] v) <float w = {3}> {"
         " s = Mul (x, w) v = Add (s, w) }> }",
         "g (float[2] x) => (float[2] y, float[2] z) <float w = {3}> {"
         " y = Mul (x, w) z = Add (y, w) }"),
    /* A branch that returns one value twice, and an If inside an If. */
    CASE(BRANCH,
         "g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> {"
         " y, z = If (c) <then_branch = t () => (float[2] r, float[2] u) {"
         " r = If (c) <then_branch = tt () => (float[2] k) { k = Exp (x) },"
         " else_branch = ee () => (float[2] l) { l = Neg (x) }> u = Identity (r) },"
         " else_branch = e () => (float[2] s, float[2] v) { s = Exp (x) v = Neg (x) }> }",
         "g (float[2] x) => (float[2] y, float[2] z) { y = Exp (x) z = Identity (y) }"),
    /* Two branches use the same names. */
    CASE(BRANCH,
         "g (float[2] x) => (float[2] y) <bool c = {1}> {"
         " a = If (c) <then_branch = t () => (float[2] r) { q = Neg (x) r = Abs (q) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }>"
         " y = If (c) <then_branch = t () => (float[2] r) { q = Exp (a) r = Abs (q) },"
         " else_branch = e () => (float[2] s) { s = Neg (x) }> }",
         "g (float[2] x) => (float[2] y) {"
         " q = Neg (x) a = Abs (q) p = Exp (a) y = Abs (p) }"),
    STAYS(BRANCH, "g (bool c, float[2] x) => (float[2] y) {"
                  " y = If (c) <then_branch = t () => (float[2] r) { r = Exp (x) },"
                  " else_branch = e () => (float[2] s) { s = Neg (x) }> }"),
};

static void test_branches(void **state) {
    (void)state;
    expect_passes(branches, HN_COUNT(branches));
}

#define OPEN "containers"

static const pass_case containers[] = {
    CASE(OPEN,
         "g (float[2] x, float[2] z) => (float[2] y) <int64 i = {-1}> {"
         " s = SequenceConstruct (x, z) a = SequenceAt (s, i) y = Neg (a) }",
         "g (float[2] x, float[2] z) => (float[2] y) { y = Neg (z) }"),
    CASE(OPEN,
         "g (float[2] x, float[3] z) => (float[5] y) {"
         " s = SequenceConstruct (x, z) y = ConcatFromSequence <axis = 0> (s) }",
         "g (float[2] x, float[3] z) => (float[5] y) { y = Concat <axis = 0> (x, z) }"),
    CASE(OPEN,
         "g (float[2] x) => (int64[1] y) { s = SequenceConstruct (x, x) n = SequenceLength (s)"
         " h = Shape (x) y = Mul (h, n) }",
         "g (float[2] x) => (int64[1] y) <int64 n = {2}> { h = Shape (x) y = Mul (h, n) }"),
    CASE(OPEN,
         "g (float[2] x) => (float[2] y) { o = Optional (x) a = OptionalGetElement (o) y = Neg (a) "
         "}",
         "g (float[2] x) => (float[2] y) { y = Neg (x) }"),
    CASE(OPEN, "g (float[2] x) => (float[2] y) { a = OptionalGetElement (x) y = Neg (a) }",
         "g (float[2] x) => (float[2] y) { y = Neg (x) }"),
    STAYS(OPEN, "g (float[2] x, int64 i) => (float[2] y) {"
                " s = SequenceConstruct (x, x) a = SequenceAt (s, i) y = Neg (a) }"),
    STAYS(OPEN,
          "g (float[2] x) => (float[2,2] y) {"
          " s = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }"),
};

static void test_containers(void **state) {
    (void)state;
    expect_passes(containers, HN_COUNT(containers));
}

#define DEAD "dead-code"

static const pass_case unread_outputs[] = {
    CASE(DEAD,
         "g (bool c, float[2] x) => (float[2] y) {"
         " a, y = If (c) <then_branch = t () => (float[2] r, float[2] u) { r = Exp (x) u = Abs (x) "
         "},"
         " else_branch = e () => (float[2] s, float[2] v) { s = Tan (x) v = Neg (x) }> }",
         "g (bool c, float[2] x) => (float[2] y) {"
         " y = If (c) <then_branch = t () => (float[2] u) { u = Abs (x) },"
         " else_branch = e () => (float[2] v) { v = Neg (x) }> }"),
    /* Loop-carried values stay. */
    CASE(DEAD,
         "g (float[2] x) => (float[2,2] y) <int64 m = {2}, bool c = {1}> {"
         " a, b, y = Loop (m, c, x) <body = l (int64 i, bool k, float[2] p) =>"
         " (bool q, float[2] r, float[2] s, float[2] t) {"
         " q = Identity (k) r = Neg (p) s = Exp (p) t = Abs (p) }> }",
         "g (float[2] x) => (float[2,2] y) <int64 m = {2}, bool c = {1}> {"
         " a, y = Loop (m, c, x) <body = l (int64 i, bool k, float[2] p) =>"
         " (bool q, float[2] r, float[2] t) { q = Identity (k) r = Neg (p) t = Abs (p) }> }"),
};

static void test_dead_code(void **state) {
    (void)state;
    expect_passes(unread_outputs, HN_COUNT(unread_outputs));
    pass_case c = {.passes = "dead-code",
                   .text = HEAD "g (float[2] x) => (float[2] y) <float w = {1}, float u = {2}> {"
                                " y = Neg (x) a = Mul (x, w) b = Exp (a) }"};
    hn_model *m = optimized_from(&c, NULL);
    const hn_block *b = hn_block_at(m->graph, 0);
    assert_int_equal(b->nodes.n, 1);
    assert_int_equal(b->inits.n, 0);
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_dead_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
