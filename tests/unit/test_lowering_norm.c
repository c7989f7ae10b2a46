/* Lowered normalizations and pools: the same bytes as their evaluations make. */
#include "lowered_case.h"

#define BATCH_NORM(type, dims)                                                                   \
  {                                                                                              \
    .text = TEXT_HEAD "g (" type "[" dims "] x) => (" type "[" dims "] y) <" type                \
                      "[3] s = {1, 2, -3}, " type "[3] b = {0.5, 0, 1}, " type "[3] m = {1, 0, " \
                      "-1}, " type "[3] v = {1, 4, 0.25}> {"                                     \
                      " y = BatchNormalization (x, s, b, m, v) }"                                \
  }

static const lowered_case norm_cases[] = {
    BATCH_NORM("float", "2,3,4,5"),
    BATCH_NORM("float", "1,3"),
    BATCH_NORM("double", "2,3,300"),
    {.text = TEXT_HEAD "g (float[2,3,5] x, float[3] s, float[3] b, float[3] m) => (float[2,3,5] y)"
                       " <float[3] v = {1, 2, 3}> { y = BatchNormalization (x, s, b, m, v) }"},
    {.text = TEXT_HEAD "g (float16[2,3,5] x, float16[3] s, float16[3] b, float16[3] m) =>"
                       " (float16[2,3,5] y) <float[3] v = {1, 2, 3}> {"
                       " w = Cast <to = 10> (v) y = BatchNormalization (x, s, b, m, w) }",
     .lowered = "y"},
    {.text = TEXT_HEAD "g (float[2,3,1000] x, float[3] s, float[3] b) => (float[2,3,1000] y) {"
                       " y = InstanceNormalization (x, s, b) }"},
    {.text = TEXT_HEAD "g (float[2,6,7] x, float[6] s, float[6] b) => (float[2,6,7] y) {"
                       " y = GroupNormalization <num_groups = 3> (x, s, b) }"},
    {.text = TEXT_HEAD "g (float[1,7,3,3] x) => (float[1,7,3,3] y) {"
                       " y = LRN <size = 3, alpha = 0.1> (x) }"},
    {.text = TEXT_HEAD "g (float[0,3,5] x, float[3] s, float[3] b) => (float[0,3,5] y) {"
                       " y = InstanceNormalization (x, s, b) }",
     .lowered = ""},
};

#define POOL(op, type, in, out) \
  { .text = TEXT_HEAD "g (" type "[" in "] x) => (" type "[" out "] y) { y = " op " (x) }" }

static const lowered_case pool_cases[] = {
    POOL("MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>", "float",
         "2,3,9,11", "2,3,5,6"),
    POOL("MaxPool <kernel_shape = [2, 2]>", "float", "1,1,2,2", "1,1,1,1"),
    POOL("MaxPool <kernel_shape = [3]>", "double", "1,2,9", "1,2,7"),
    POOL("MaxPool <kernel_shape = [2, 2]>", "int8", "1,2,5,5", "1,2,4,4"),
    POOL("MaxPool <kernel_shape = [2, 2]>", "float16", "1,2,5,5", "1,2,4,4"),
    POOL("AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>", "float", "2,3,9,11",
         "2,3,9,11"),
    POOL("AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>",
         "float16", "1,2,5,5", "1,2,5,5"),
    POOL("LpPool <kernel_shape = [2], p = 3>", "float", "1,2,9", "1,2,8"),
    POOL("GlobalMaxPool", "float", "2,3,5,7", "2,3,1,1"),
    POOL("GlobalMaxPool", "float16", "2,3,5,7", "2,3,1,1"),
    POOL("GlobalLpPool <p = 2>", "float", "2,3,5,7", "2,3,1,1"),
    {.text = TEXT_HEAD "g (float[2,3,9,11] x) => (float[2,3,1,1] y) { y = GlobalAveragePool (x) }"},
    {.text =
         TEXT_HEAD "g (double[2,3,9,11] x) => (double[2,3,1,1] y) { y = GlobalAveragePool (x) }"},
    {.text = TEXT_HEAD "g (float[2,3,7,7] x) => (float[2,3,3,3] y, int64[2,3,3,3] i) {"
                       " y, i = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x) }"},
    {.text = TEXT_HEAD "g (float[0,3,7] x) => (float[0,3,5] y) { y = MaxPool <kernel_shape = [3]>"
                       " (x) }",
     .lowered = ""},
};

#define LAST_HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"hone\" : 1]>\n"

static const lowered_case channels_last_cases[] = {
    {.text = LAST_HEAD "g (float[2,3,5,7] x, float[7] s, float[7] b, float[7] m, float[7] v) =>"
                       " (float[2,3,5,7] y) {"
                       " y = hone.BatchNormalization <activation = \"Relu\"> (x, s, b, m, v) }"},
    {.text = LAST_HEAD "g (float[2,3,5,7] x, float[7] s, float[7] b) => (float[2,3,5,7] y) {"
                       " y = hone.InstanceNormalization (x, s, b) }"},
    {.text = LAST_HEAD "g (float[2,3,5,6] x, float[6] s, float[3] b) => (float[2,3,5,6] y) {"
                       " y = hone.GroupNormalization <num_groups = 3> (x, s, b) }"},
    {.text = LAST_HEAD "g (float[1,3,6] x, float[1,3,2] z, float[6] s, float[6] b) =>"
                       " (float[1,3,8] y) { n = hone.InstanceNormalization (x, s, b)"
                       " y = Concat <axis = 2> (n, z) }",
     .lowered = "n"},
};

static void channels_last_normalizations_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(channels_last_cases);
}

static void normalizations_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(norm_cases);
}

static void pools_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(pool_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalizations_are_lowered),
        cmocka_unit_test(channels_last_normalizations_are_lowered),
        cmocka_unit_test(pools_are_lowered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
