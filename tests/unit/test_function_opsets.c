/* Functions that import another version of an operator set than the model. */
#include "run_model.h"

#define HEAD_17 "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
#define FUNCTION_12 "<domain: \"my\", opset_import: [\"\" : 12]> "

/* Softmax-12 takes all axes from 1 on together, Softmax-13 the last one alone. */
#define SOFTMAX_OF_BOTH                                                                           \
  HEAD_17 "g (float[1,2,2] x) => (float[1,2,2] y) { s = my.F (x) y = Softmax (s) }\n" FUNCTION_12 \
          "F (a) => (b) { b = Softmax (a) }"

static void each_node_means_what_it_was_written_for(void **state) {
    (void)state;
    runner r = runner_of(SOFTMAX_OF_BOTH);
    const float zeros[] = {0, 0, 0, 1.0986123f}; /* e to the last is 3 */
    hone_value *x = tensor_of(ELEM_FLOAT, zeros, DIMS(1, 2, 2)), *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 0.5f, 0.5f, 0.4174298f, 0.5825702f); /* of 1/6, 1/6, 1/6, 1/2 */
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* Attributes that became inputs later, in a subgraph and one function further down. */
static void forms_may_differ(void **state) {
    (void)state;
    runner r = runner_of(
        HEAD_17 "g (float[2,3] x) => (float[2] y) { y = my.Outer (x) }\n"
                "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> Outer (a) => (b) "
                "{ t = my.Sum (a) axes = Constant <value_ints = [1]> () b = Squeeze (t, axes) }\n"
                "<domain: \"my\", opset_import: [\"\" : 11]> Sum (a) => (b) "
                "{ c = Constant <value = bool {1}> () b = If (c) "
                "<then_branch = t () => (float[2,1] p) { p = ReduceSum <axes = [1]> (a) },"
                " else_branch = e () => (float[2,1] q) { q = ReduceMax <axes = [1]> (a) }> }");
    hone_value *x = counting_floats(DIMS(2, 3)), *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 3, 12);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

static void files_hold_one_version(void **state) {
    (void)state;
    hone_model *m = model_from(SOFTMAX_OF_BOTH);
    expect_failure(hone_model_inline_functions(m, &error), HONE_E_UNSUPPORTED,
                   "cannot inline function 'F': it is written for version 12 of operator set "
                   "'ai.onnx' and the model imports version 17, between which Softmax changed");
    hone_model_info info;
    hone_model_get_info(m, &info);
    assert_int_equal(info.n_functions, 1);
    hone_problems *problems;
    expect_ok(hone_model_check(m, &problems, &error));
    assert_int_equal(hone_problems_count(problems, HONE_ERROR), 1); /* the standard forbids it */
    hone_problems_free(problems);
    hone_model_free(m);
}

static void operators_that_stayed_are_inlined(void **state) {
    (void)state;
    hone_model *m =
        model_from(HEAD_17 "g (float[2] x) => (float[2] y) { y = my.F (x) }\n" FUNCTION_12
                           "F (a) => (b) { b = Sin (a) }");
    expect_ok(hone_model_inline_functions(m, &error));
    hone_model_info info;
    hone_model_get_info(m, &info);
    assert_int_equal(info.n_functions, 0);
    hone_problems *problems;
    expect_ok(hone_model_check(m, &problems, &error));
    assert_int_equal(hone_problems_listed(problems), 0);
    hone_problems_free(problems);
    hone_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_means_what_it_was_written_for),
        cmocka_unit_test(forms_may_differ),
        cmocka_unit_test(files_hold_one_version),
        cmocka_unit_test(operators_that_stayed_are_inlined),
    };
    return cmocka_run_group_tests_name("opsets of functions", tests, enter_scratch, leave_scratch);
}
