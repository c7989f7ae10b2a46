/* Normalizations and dropout. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(15, "float[n,c,h] x, float[8] s, float[8] b, float[8] m, float[8] v",
          "BatchNormalization (x, s, b, m, v)"),
     "float[n,c,h]", "y"},
    {NODES(15, "float16[n,8,h] x, float[8] s, float[8] b, float[8] m, float[8] v",
           "y, rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v)"),
     "float[8]", "rm"},
    {NODE(7, "float[n,8,4] x, float[8,4] s, float[8,4] b, float[8,4] m, float[8,4] v",
          "BatchNormalization <spatial = 0> (x, s, b, m, v)"),
     "float[n,8,4]", "y"},
    {NODES(17, "float16[b,s,64] x, float16[64] w", "y, mean, dev = LayerNormalization (x, w)"),
     "float[b,s,1]", "mean"},
    {NODES(17, "float[b,4,64] x, float[4,64] w",
           "y, mean, dev = LayerNormalization <axis = 1, stash_type = 16> (x, w)"),
     "bfloat16[b,1,1]", "dev"},
    {NODE(23, "float[b,s,64] x, float[64] w", "RMSNormalization (x, w)"), "float[b,s,64]", "y"},
    {NODE(21, "float[n,8,h] x, float[8] s, float[8] b",
          "GroupNormalization <num_groups = 4> (x, s, b)"),
     "float[n,8,h]", "y"},
    {NODE(22, "float[n,8,h] x, float[8] s, float[8] b", "InstanceNormalization (x, s, b)"),
     "float[n,8,h]", "y"},
    {NODE(13, "float[n,8,h] x", "LRN <size = 3> (x)"), "float[n,8,h]", "y"},
    {NODES(13, "float[n,8] x", "y, mask = Dropout (x)"), "bool[n,8]", "mask"},
    {NODES(7, "float[n,8] x", "y, mask = Dropout (x)"), "float[n,8]", "mask"},
};

static const wrong_case wrong[] = {
    {NODE(15, "float[n,7,h] x, float[8] s, float[8] b, float[8] m, float[8] v",
          "BatchNormalization (x, s, b, m, v)"),
     "must have 7 elements"},
    {NODE(15, "float[n,8] x, float[8,1] s, float[8] b, float[8] m, float[8] v",
          "BatchNormalization (x, s, b, m, v)"),
     "must have rank 1"},
    {NODE(15, "float[n,8] x, float[8] s, float[8] b, float[8] m, float[8] v",
          "BatchNormalization <training_mode = 1> (x, s, b, m, v)"),
     "needs 3 outputs"},
    {NODES(15, "float[n,8] x, float[8] s, float[8] b, float[8] m, float[8] v",
           "y, rm, rv = BatchNormalization (x, s, b, m, v)"),
     "needs training_mode"},
    {NODE(17, "float[2,3] x, float[3] w", "LayerNormalization <axis = 2> (x, w)"), "axis is 2"},
    {NODE(17, "float[2,3] x, float[4] w", "LayerNormalization (x, w)"), "does not broadcast"},
    {NODE(17, "float[2,3] x, float[3] w", "LayerNormalization <stash_type = 7> (x, w)"),
     "stash_type is 7"},
    {NODE(21, "float[n,8,h] x, float[8] s, float[8] b",
          "GroupNormalization <num_groups = 3> (x, s, b)"),
     "num_groups is 3"},
    {NODE(22, "float[n,8,h] x, float[7] s, float[8] b", "InstanceNormalization (x, s, b)"),
     "must have 8 elements"},
    {NODE(13, "float[n,8] x, float[1] r", "Dropout (x, r)"), "must have rank 0"},
};

TABLE_TESTS

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
