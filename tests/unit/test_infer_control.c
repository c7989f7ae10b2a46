/* Shapes through If, Loop, Scan and SequenceMap. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"
#define HEAD8 "<ir_version: 4, opset_import: [\"\" : 8]>\n"

#define BRANCHES(yes, no) \
  "<then_branch = t () => (a) { " yes " }, else_branch = e () => (b) { " no " }>"

static const typed_case branches[] = {
    {HEAD
     "g (bool c, float[2,n] x) => (y) { y = If (c) " BRANCHES("a = Relu (x)", "b = Abs (x)") " }",
     "float[2,n]", "y"},
    {HEAD "g (bool c, float[2,n] x, float[3,n] z) => (y) { y = If (c) " BRANCHES(
         "a = Relu (x)", "b = Abs (z)") " }",
     "float[?,n]", "y"},
    {HEAD "g (bool c, float[2,n] x, float[n] z) => (y) { y = If (c) " BRANCHES("a = Relu (x)",
                                                                               "b = Abs (z)") " }",
     "float[]", "y"},
    /* A condition that is known decides. */
    {HEAD "g (float[2,n] x, float[n] z) => (y) <bool c = {1}> { y = If (c) " BRANCHES(
         "a = Relu (x)", "b = Abs (z)") " }",
     "float[2,n]", "y"},
    {HEAD "g (float[2,n] x, float[n] z) => (y) <bool c = {0}> { y = If (c) " BRANCHES(
         "a = Relu (x)", "b = Abs (z)") " }",
     "float[n]", "y"},
    {HEAD "g (bool c, float[2] x) => (y) { y = If (c) " BRANCHES(
         "a = SequenceConstruct (x)", "b = SequenceConstruct (x, x)") " }",
     "seq(float[2])", "y"},
};

static void test_if(void **state) {
    (void)state;
    expect_types(branches, HN_COUNT(branches));
    expect_problem(HEAD "g (bool c, float[2] x, int64[2] z) => (y) { y = If (c) " BRANCHES(
                       "a = Relu (x)", "b = Abs (z)") " }",
                   "output 0 is float[2] in one place and int64[2] in another");
    expect_problem(HEAD "g (bool c, float[2] x) => (y) { y, z = If (c) " BRANCHES(
                       "a = Relu (x)", "b = Abs (x)") " }",
                   "then_branch has 1 outputs, but the node has 2");
}

/* A loop with one variable v and one stacked output s. */
#define LOOP(trips, cond, inputs, inits, nodes)                                       \
  HEAD "g (" inputs ") => (v, s) <" inits "> { v, s = Loop (" trips ", " cond ", x) " \
       "<body = b (int64 i, bool c, v0) => (c2, v2, s2) { " nodes " }> }"

static void test_loop_variables(void **state) {
    (void)state;
    const char *keeps = LOOP("m", "", "int64 m, float[2,n] x", "bool t = {1}",
                             "c2 = Identity (c) v2 = Relu (v0) s2 = Abs (v0)");
    expect_type(keeps, "v", "float[2,n]");
    expect_type(keeps, "s", "float[?,2,n]");
    /* One dimension grows at every turn: nothing can be said of it. */
    const char *grows = LOOP("m", "", "int64 m, float[2,n] x", "bool t = {1}",
                             "c2 = Identity (c) v2 = Concat <axis = 0> (v0, v0) s2 = Abs (v0)");
    expect_type(grows, "v", "float[?,n]");
    expect_type(grows, "s", "float[?,?,n]");
    /* The rank grows. */
    const char *ranks = LOOP("m", "", "int64 m, float[2,n] x", "int64[1] z = {0}",
                             "c2 = Identity (c) v2 = Unsqueeze (v0, z) s2 = Identity (i)");
    expect_type(ranks, "v", "float[]");
    expect_type(ranks, "s", "int64[?]");
}

static void test_loop_trips(void **state) {
    (void)state;
    expect_type(LOOP("m", "", "float[2,n] x", "int64 m = {5}",
                     "c2 = Identity (c) v2 = Relu (v0) s2 = Abs (v0)"),
                "s", "float[5,2,n]");
    expect_type(LOOP("m", "t", "float[2,n] x", "int64 m = {5}, bool t = {1}",
                     "c2 = Identity (c) v2 = Relu (v0) s2 = Abs (v0)"),
                "s", "float[5,2,n]");
    /* The condition may end it early. */
    expect_type(LOOP("m", "", "float[2,n] x, bool q", "int64 m = {5}",
                     "c2 = Identity (q) v2 = Relu (v0) s2 = Abs (v0)"),
                "s", "float[?,2,n]");
    expect_type(LOOP("m", "q", "float[2,n] x, bool q", "int64 m = {5}",
                     "c2 = Identity (c) v2 = Relu (v0) s2 = Abs (v0)"),
                "s", "float[?,2,n]");
    /* No turn at all: the variable stays what it was. */
    const char *never = LOOP("m", "", "float[2,n] x", "int64 m = {0}",
                             "c2 = Identity (c) v2 = Concat <axis = 0> (v0, v0) s2 = Abs (v0)");
    expect_type(never, "v", "float[2,n]");
    expect_type(never, "s", "float[0,?,n]");
    /* As many turns as a dimension is long. */
    expect_type(HEAD "g (float[n] x) => (v, s) <int64 z = {0}> { d = Shape (x) m = Gather (d, z) "
                     "v, s = Loop (m, , x) <body = b (int64 i, bool c, v0) => (c2, v2, s2) "
                     "{ c2 = Identity (c) v2 = Relu (v0) s2 = Identity (i) }> }",
                "s", "int64[n]");
}

static void test_loop_problems(void **state) {
    (void)state;
    expect_problem(LOOP("m", "", "int64 m, float[2] x", "bool t = {1}",
                        "c2 = Identity (c) v2 = Shape (v0) s2 = Abs (v0)"),
                   "loop variable 0 is float[2] in one place and int64[1] in another");
    expect_problem(HEAD
                   "g (int64 m, float[2] x) => (v) { v = Loop (m, , x) "
                   "<body = b (int64 i, bool c) => (c2, v2) { c2 = Identity (c) v2 = Relu (x) }> }",
                   "the body has 2 inputs, but needs 3");
    expect_problem(HEAD "g (int64 m, float[2] x) => (v) { v = Loop (m, , x) "
                        "<body = b (int64 i, bool c, v0) => (c2, v2, s2) "
                        "{ c2 = Identity (c) v2 = Relu (v0) s2 = Abs (v0) }> }",
                   "the body has 3 outputs, but must have 2");
}

/* A stale shape in the body's declaration is no contradiction; two iteration counts are. */
static void test_loop_entry(void **state) {
    (void)state;
    expect_type(HEAD "g (int64 m, float[3,3] x) => (v) { v = Loop (m, , x) "
                     "<body = b (int64 i, bool c, float[1] v0) => (c2, v2) "
                     "{ c2 = Identity (c) v2 = Identity (x) }> }",
                "v", "float[3,3]");
    expect_type(HEAD "g (int64[1] m, float[3] x) => (v) { v = Loop (m, , x) "
                     "<body = b (int64[1] i, bool[1] c, v0) => (c2, v2) "
                     "{ c2 = Identity (c) v2 = Relu (v0) }> }",
                "v", "float[3]");
    expect_problem(HEAD "g (int64[2] m, float[3] x) => (v) { v = Loop (m, , x) "
                        "<body = b (int64 i, bool c, v0) => (c2, v2) "
                        "{ c2 = Identity (c) v2 = Relu (v0) }> }",
                   "the number of iterations is int64[2], but must have one element");
}

static void test_scan(void **state) {
    (void)state;
    const char *sums = HEAD "g (float[4] a, float[n,4] x) => (s, y) { s, y = Scan "
                            "<num_scan_inputs = 1, body = b (s0, x0) => (s2, y0) "
                            "{ s2 = Add (s0, x0) y0 = Identity (s2) }> (a, x) }";
    expect_type(sums, "s", "float[4]");
    expect_type(sums, "y", "float[n,4]");
    expect_type(HEAD
                "g (float[4] a, float[4,n] x) => (s, y) { s, y = Scan <num_scan_inputs = 1, "
                "scan_input_axes = [-1], scan_output_axes = [1], scan_input_directions = [1], "
                "body = b (s0, x0) => (s2, y0) { s2 = Add (s0, x0) y0 = Identity (s2) }> (a, x) }",
                "y", "float[4,n]");
    const char *batched = HEAD8 "g (float[b,4] a, float[b,n,4] x) => (s, y) { s, y = Scan "
                                "<num_scan_inputs = 1, body = b (s0, x0) => (s2, y0) "
                                "{ s2 = Add (s0, x0) y0 = Identity (s2) }> (, a, x) }";
    expect_type(batched, "s", "float[b,4]");
    expect_type(batched, "y", "float[b,n,4]");
}

#define SCAN(attrs)                                                        \
  HEAD "g (float[4] a, float[3,4] x) => (s, y) { s, y = Scan <" attrs ", " \
       "body = b (s0, x0) => (s2, y0) { s2 = Add (s0, x0) y0 = Identity (s2) }> (a, x) }"

static void test_scan_problems(void **state) {
    (void)state;
    expect_problem(SCAN("num_scan_inputs = 3"), "num_scan_inputs is 3");
    expect_problem(SCAN("num_scan_inputs = -1"), "num_scan_inputs is -1");
    expect_problem(SCAN("num_scan_inputs = 1, scan_input_axes = [0, 1]"), "has 2 entries");
    expect_problem(SCAN("num_scan_inputs = 1, scan_input_axes = [2]"), "must lie in [-2, 1]");
    expect_problem(SCAN("num_scan_inputs = 1, scan_output_axes = [-3]"), "must lie in [-2, 1]");
    expect_problem(SCAN("num_scan_inputs = 1, scan_output_directions = [7]"), "0 (forward)");
    expect_problem(HEAD
                   "g (float[4] a, float[3,4] x) => (s, y) { s, y = Scan <num_scan_inputs = 1, "
                   "body = b (s0, x0) => (s2, y0) "
                   "{ s2 = Concat <axis = 0> (s0, x0) y0 = Identity (s2) }> (a, x) }",
                   "a dimension of a state variable is both 4 and 8");
    expect_problem(HEAD "g (float[3] a, float[4] x) => (s, y) { s, y = Scan <num_scan_inputs = 2, "
                        "body = b (s0, x0) => (s2, y0) { s2 = Relu (s0) y0 = Relu (x0) }> (a, x) }",
                   "the scanned axis is both 3 and 4");
}

static void test_sequence_map(void **state) {
    (void)state;
    expect_type(HEAD "g (seq(float[2,n]) x, float[n] z) => (y) { y = SequenceMap "
                     "<body = b (a, q) => (r) { r = Add (a, q) }> (x, z) }",
                "y", "seq(float[2,n])");
    expect_problem(HEAD "g (seq(float[2,n]) x, float[n] z) => (y) { y = SequenceMap "
                        "<body = b (a) => (r) { r = Relu (a) }> (x, z) }",
                   "the body has 1 inputs, but the node has 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_loop_variables),
        cmocka_unit_test(test_loop_trips),
        cmocka_unit_test(test_loop_problems),
        cmocka_unit_test(test_loop_entry),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_scan_problems),
        cmocka_unit_test(test_sequence_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
