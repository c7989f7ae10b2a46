/* Inference of recurrent layers. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(14, "float[s,b,10] x, float[1,16,10] w, float[1,16,4] r",
          "LSTM <hidden_size = 4> (x, w, r)"),
     "float[s,1,b,4]", "y"},
    {NODES(14, "float[s,b,10] x, float[2,12,10] w, float[2,12,4] r",
           "y, h = GRU <direction = \"bidirectional\"> (x, w, r)"),
     "float[2,b,4]", "h"},
    {NODES(14, "float[b,s,10] x, float[1,4,10] w, float[1,4,4] r",
           "y, h = RNN <hidden_size = 4, layout = 1> (x, w, r)"),
     "float[b,1,4]", "h"},
    {NODE(14, "float[b,s,10] x, float[1,4,10] w, float[1,4,4] r",
          "RNN <hidden_size = 4, layout = 1> (x, w, r)"),
     "float[b,s,1,4]", "y"},
    {NODE(14, "float[] x, float[1,4,10] w, float[1,4,4] r, float[1,8] b, int32[7] l",
          "RNN (x, w, r, b, l)"),
     "float[?,1,7,4]", "y"},
    {NODES(14, "float[s,b,10] x, float[1,16,10] w, float[1,16,4] r",
           "y, h, c = LSTM <hidden_size = 4> (x, w, r)"),
     "float[1,b,4]", "c"},
};

static const wrong_case wrong[] = {
    {NODE(14, "float[5,10] x, float[1,4,10] w, float[1,4,4] r", "RNN (x, w, r)"),
     "must have rank 3"},
    {NODE(14, "float[5,2,10] x, float[1,4,9] w, float[1,4,4] r", "RNN (x, w, r)"), "must be 10"},
    {NODE(14, "float[5,2,10] x, float[1,4,10] w, float[1,4,4] r",
          "RNN <hidden_size = 5> (x, w, r)"),
     "must be 5"},
    {NODE(14, "float[5,2,10] x, float[2,4,10] w, float[2,4,4] r", "RNN (x, w, r)"), "must be 1"},
    {NODE(14, "float[5,2,10] x, float[1,4,10] w, float[1,4,4] r",
          "RNN <direction = \"both\"> (x, w, r)"),
     "direction is 'both'"},
    {NODE(14, "float[5,2,10] x, float[1,4,10] w, float[1,4,4] r, float[1,8] b, int32[3] l",
          "RNN (x, w, r, b, l)"),
     "must be 2"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(NODE(14, "float[5,2,10] x, float[1,16,10] w, float[1,16,4] r", "LSTM (x, w, r)"),
                "y", 5 * 2 * (16 * 10 + 16 * 4));
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
