/* Edge cases of bodies, sequences and trees that no published test case covers. */
#include "eval_text.h"

static void test_loops_without_a_trip(void **state) {
    (void)state;
    EXPECT_EMPTY(
        HEAD("21") "g () => (int64[n,2] z) <int64 m = {0}, int64[2] a = {1, 2}> { y, z = Loop (m, "
                   ", a) <body = "
                   "b (int64 i, bool go, int64[2] c) => (bool keep, int64[2] next, int64[2] s) "
                   "{ keep = Identity (go) next = Add (c, i) s = Identity (c) }> }");
    EXPECT_INTS(HEAD("21") "g () => (int64[2] z) <int64 m = {-5}, int64[2] a = {1, 2}> { z = Loop "
                           "(m, , a) <body = "
                           "b (int64 i, bool go, int64[2] c) => (bool keep, int64[2] next) "
                           "{ keep = Identity (go) next = Add (c, i) }> }",
                1, 2);
}

/* What is stacked by a body that never runs has the sizes that inference finds for real inputs, on
 * which later steps rely, although the file knows only names. */
static void expect_rows_of_zeros(const char *body) {
    char text[2048];
    snprintf(text, sizeof text,
             HEAD("21") "g (int64[n,w] x) => (int64[p,q] z) <int64[1] one = {1}, int64[1] rows = "
                        "{0}> { m = ReduceMax <keepdims = 0> (x) size = Shape (x) %s }",
             body);
    runner r = runner_as_written(text);
    hone_value *x = tensor_of(ELEM_INT64, (const int64_t[6]){0}, DIMS(2, 3));
    hone_value *z = result_of(&r, "x", x, "z");
    hone_tensor_info info;
    assert_true(hone_value_tensor(z, &info));
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.dims[0], 2);
    assert_int_equal(info.dims[1], 3);
    hone_value_free(x);
    hone_value_free(z);
    runner_free(&r);
}

static void test_sizes_of_bodies_that_never_run(void **state) {
    (void)state;
    expect_rows_of_zeros("y, all = Loop (m, , one) <body = "
                         "b (int64 i, bool go, int64[k] c) => (bool keep, int64[k] c, int64[p,q] "
                         "s) { keep = Identity (go) s = Expand (c, size) }> "
                         "z = ReduceSum <keepdims = 0> (all, rows)");
    expect_rows_of_zeros("flags = Cast <to = 9> (x) none = NonZero (flags) "
                         "all = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = "
                         "b (int64[k] c) => (int64[p,q] s) { s = Expand (one, size) }> (none) "
                         "z = ReduceSum <keepdims = 0> (all, rows)");
    expect_rows_of_zeros("y, all = Loop (m, , one) <body = "
                         "b (int64 i, bool go, int64[k] c) => (bool keep, int64[k] c, int64[p,q] "
                         "s) { keep = Identity (go) d, t = Loop (m, , c) <body = "
                         "n (int64 j, bool on, int64[k] e) => (bool more, int64[k] e, int64[p,q] "
                         "u) { more = Identity (on) u = Expand (e, size) }> "
                         "s = ReduceSum <keepdims = 0> (t, rows) }> "
                         "z = ReduceSum <keepdims = 0> (all, rows)");
}

static void test_loop_that_ends_itself(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[n] z) <int64 a = {0}, int64 four = {4}, int64 one = "
                           "{1}> { y, z = Loop (, , a) <body = "
                           "b (int64 i, bool go, int64 c) => (bool keep, int64 next, int64 s) "
                           "{ next = Add (c, one) keep = Less (next, four) s = Mul (c, c) }> }",
                0, 1, 4, 9);
}

/* An endless loop with an empty body stops at its deadline. */
static void test_endless_loop_is_stopped(void **state) {
    (void)state;
    runner r = runner_of(HEAD("21") "g () => (int64 z) <int64 a = {0}> { z = Loop (, , a) <body = "
                                    "b (int64 i, bool go, int64 c) => (bool go, int64 c) { }> }");
    const char *name = "z";
    hone_value *z = NULL;
    hone_error why;
    hone_run_options options;
    hone_run_options_init(&options);
    options.timeout_seconds = 0.05;
    assert_int_equal(hone_session_run(r.session, &options, 0, NULL, NULL, 1, &name, &z, &why),
                     HONE_E_CANCELLED);
    runner_free(&r);
}

static void test_stacked_shapes_must_agree(void **state) {
    (void)state;
    expect_refused(
        HEAD("21") "g () => (int64[n,m] z) <int64 t = {2}, int64[1] a = {1}> { y, z = Loop (t, , "
                   "a) <body = "
                   "b (int64 i, bool go, int64[k] c) => (bool keep, int64[j] next, int64[l] s) "
                   "{ keep = Identity (go) next = Concat <axis = 0> (c, c) s = Identity (c) }> }",
        "iteration 1");
}

static void test_condition_is_one(void **state) {
    (void)state;
    expect_refused(
        HEAD("21") "g () => (int64 z) <bool[2] c = {1, 0}> { z = If (c) <then_branch = t () "
                   "=> (int64 a) { a = Constant <value_int = 1> () }, else_branch = e () "
                   "=> (int64 b) { b = Constant <value_int = 2> () }> }",
        "one element");
}

static void test_sequence_positions(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("21") "g () => (int64[1] z) <int64[1] a = {1}, int64[1] b = {2}, int64 i = {-2}>"
                   "{ s = SequenceConstruct (a, b) z = SequenceAt (s, i) }",
        1);
    expect_refused(HEAD("21") "g () => (int64[1] z) <int64[1] a = {1}, int64 i = {1}> { s = "
                              "SequenceConstruct (a) z = SequenceAt (s, i) }",
                   "position 1");
    expect_refused(
        HEAD("21") "g () => (int64[1] z) <int64[1] a = {1}, int64[1] b = {2}, int64[2] i "
                   "= {1, 0}> { s = SequenceConstruct (a, b) z = SequenceAt (s, i) }",
        "one element");
    expect_refused(HEAD("21") "g () => (int64[n] z) { s = SequenceEmpty <dtype = 7> () z = "
                              "ConcatFromSequence <axis = 0> (s) }",
                   "empty");
}

static void test_trees_that_lead_nowhere(void **state) {
    (void)state;
#define TREE(yes, no)                                                                              \
  HEAD("21")                                                                                       \
  "g () => (float[1,1] z) <float[1,1] x = {1}> { z = ai.onnx.ml.TreeEnsembleRegressor <n_targets " \
  "= 1, "                                                                                          \
  "nodes_treeids = [0, 0], nodes_nodeids = [0, 1], nodes_featureids = [0, 0], nodes_values = "     \
  "[2.0, 0.0], "                                                                                   \
  "nodes_modes = [\"BRANCH_LEQ\", \"LEAF\"], nodes_truenodeids = [" yes ", 0], "                   \
  "nodes_falsenodeids = [" no                                                                      \
  ", 0], target_treeids = [0], target_nodeids = [1], target_ids = [0], "                           \
  "target_weights = [3.0]> (x) }"
    EXPECT_INTS(TREE("1", "1"), 3);
    expect_refused(TREE("0", "1"), "circle");
    expect_refused(TREE("7", "1"), "points nowhere");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_without_a_trip),
        cmocka_unit_test(test_sizes_of_bodies_that_never_run),
        cmocka_unit_test(test_loop_that_ends_itself),
        cmocka_unit_test(test_endless_loop_is_stopped),
        cmocka_unit_test(test_stacked_shapes_must_agree),
        cmocka_unit_test(test_condition_is_one),
        cmocka_unit_test(test_sequence_positions),
        cmocka_unit_test(test_trees_that_lead_nowhere),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
