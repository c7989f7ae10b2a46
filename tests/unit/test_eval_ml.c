/* Results of classifiers of ai.onnx.ml where few rules say what is right: other runtimes decide. */
#include "eval_text.h"

/* One tree of one leaf, which votes for classes 0 and 1 of three. */
#define VOTES(weights, post)                                                       \
  HEAD("21")                                                                       \
  "g () => (int64[1] z, float[1,3] s) <float[1,1] x = {0}> {"                      \
  " z, s = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [10, 20, 30], " \
  "post_transform = \"" post "\", nodes_modes = [\"LEAF\"], nodes_treeids = [0], " \
  "nodes_nodeids = [0], nodes_featureids = [0], nodes_values = [0.0], "            \
  "nodes_truenodeids = [0], nodes_falsenodeids = [0], class_treeids = [0, 0], "    \
  "class_nodeids = [0, 0], class_ids = [0, 1], class_weights = [" weights "]> (x) }"

static void test_label_is_voted_for(void **state) {
    (void)state;
    EXPECT_INTS(VOTES("-2.0, -1.0", "SOFTMAX_ZERO"), 20);
    EXPECT_INTS(VOTES("-1.0, -2.0", "SOFTMAX_ZERO"), 10);
    EXPECT_INTS(VOTES("-2.0, -1.0", "SOFTMAX"), 20);
    EXPECT_INTS(VOTES("-2.0, -1.0", "NONE"), 20);
    EXPECT_INTS(VOTES("1.0, 2.0", "SOFTMAX_ZERO"), 20);
}

#define LINEAR(coefficients)                                               \
  HEAD("21")                                                               \
  "g () => (int64[2] z, float[2,3] s) <float[2,2] x = {1, 0, 0, 1}> {"     \
  " z, s = ai.onnx.ml.LinearClassifier <classlabels_ints = [10, 20, 30], " \
  "intercepts = [0.0, 1.5, 0.0], coefficients = [" coefficients "]> (x) }"

/* Intercepts say how many classes there are; what is left of the coefficients is not used. */
static void test_spare_coefficients(void **state) {
    (void)state;
    EXPECT_INTS(LINEAR("0.0, 3.0, 0.0, 0.0, 0.0, 0.0"), 20, 10);
    EXPECT_INTS(LINEAR("0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0"), 20, 10);
    expect_refused(LINEAR("0.0, 3.0, 0.0, 0.0"), "coefficients has 4 entries, but 6 are needed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_is_voted_for),
        cmocka_unit_test(test_spare_coefficients),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
