/* Tree ensembles in sessions: every comparison and aggregation, any number of samples and
 * threads. */
#include "run_model.h"

#include <math.h>
#include <stdio.h>

/* The first tree asks feature 0 and then feature 1, the second is one leaf. */
#define FOREST                                                                                 \
  "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"                          \
  "g (float[n,2] x) => (float[n,1] y) { y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, " \
  "aggregate_function = \"%s\", nodes_modes = [\"%s\", \"LEAF\", \"%s\", \"LEAF\", \"LEAF\", " \
  "\"LEAF\"], nodes_missing_value_tracks_true = [%d, 0, 0, 0, 0, 0], "                         \
  "nodes_treeids = [0, 0, 0, 0, 0, 1], nodes_nodeids = [0, 1, 2, 3, 4, 0], "                   \
  "nodes_featureids = [0, 0, 1, 0, 0, 0], nodes_values = [3.0, 0.0, -1.0, 0.0, 0.0, 0.0], "    \
  "nodes_truenodeids = [1, 0, 3, 0, 0, 0], nodes_falsenodeids = [2, 0, 4, 0, 0, 0], "          \
  "target_treeids = [0, 0, 0, 1], target_nodeids = [1, 3, 4, 0], target_ids = [0, 0, 0, 0], "  \
  "target_weights = [1.0, 2.0, 4.0, 1.5]> (x) }"

static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
static const char *const sums[] = {"SUM", "AVERAGE", "MIN", "MAX"};

static bool decides(int mode, float v, float split) {
    const bool answers[] = {v <= split, v<split, v >= split, v> split, v == split, v != split};
    return answers[mode];
}

static float wanted_of(int sum, int first, int second, bool nan_is_true, const float *x) {
    float tree = decides(first, x[0], 3) || (nan_is_true && isnan(x[0])) ? 1
                 : decides(second, x[1], -1)                             ? 2
                                                                         : 4;
    const float all[] = {tree + 1.5f, (tree + 1.5f) / 2, fminf(tree, 1.5f), fmaxf(tree, 1.5f)};
    return all[sum];
}

/* Numbers around the splits, and NaN. */
static hone_value *samples_of(int64_t n) {
    hone_value *v = tensor_of(ELEM_FLOAT, NULL, DIMS(n, 2));
    hone_tensor_info info;
    hone_value_tensor(v, &info);
    float *x = (float *)(uintptr_t)info.data;
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = i % 7 == 6 ? NAN : (float)(i % 7);
        x[2 * i + 1] = i % 5 == 4 ? NAN : (float)(i % 5) - 2;
    }
    return v;
}

static void expect_forest(int sum, int first, int second, bool nan_is_true, int n_threads) {
    char text[2048];
    static const int64_t counts[] = {1, 15, 16, 17, 150};
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    snprintf(text, sizeof text, FOREST, sums[sum], modes[first], modes[second], nan_is_true);
    runner r = runner_with(text, NULL, &options);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        hone_tensor_info x_info, y_info;
        hone_value *x = samples_of(counts[k]), *y = result_of(&r, "x", x, "y");
        hone_value_tensor(x, &x_info);
        hone_value_tensor(y, &y_info);
        for (int64_t i = 0; i < counts[k]; i++) {
            float got = ((const float *)y_info.data)[i];
            float wanted =
                wanted_of(sum, first, second, nan_is_true, (const float *)x_info.data + 2 * i);
            if (got != wanted)
                fail_msg("%s of %s, %s: sample %d of %d is %g, not %g", sums[sum], modes[first],
                         modes[second], (int)i, (int)counts[k], (double)got, (double)wanted);
        }
        hone_value_free(y);
        hone_value_free(x);
    }
    runner_free(&r);
}

static void test_comparisons(void **state) {
    (void)state;
    for (int first = 0; first < 6; first++) {
        expect_forest(0, first, first, false, 1);
        expect_forest(0, first, first, true, 1);
        expect_forest(0, first, (first + 1) % 6, false, 1);
    }
}

static void test_sums_and_threads(void **state) {
    (void)state;
    for (int sum = 0; sum < 4; sum++)
        for (int n_threads = 1; n_threads <= 3; n_threads++)
            expect_forest(sum, 0, 0, false, n_threads);
}

static void test_samples_that_are_too_short(void **state) {
    (void)state;
    char text[2048];
    hone_error why;
    snprintf(text, sizeof text, FOREST, sums[0], modes[0], modes[0], 0);
    char *width = strstr(text, "[n,2]");
    width[3] = '1';
    runner r = runner_of(text);
    hone_value *x = counting_floats(DIMS(3, 1)), *y = NULL;
    assert_int_not_equal(run_one(&r, "x", x, "y", &y, &why), HONE_OK);
    assert_non_null(strstr(why.message, "features"));
    hone_value_free(x);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_sums_and_threads),
        cmocka_unit_test(test_samples_that_are_too_short),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
