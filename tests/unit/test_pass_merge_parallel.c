/* The merging of narrow convolutions and products that read the same value. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define MERGE .passes = "merge-parallel"
#define ROW8 "1, 2, 3, 4, 5, 6, 7, 8"
#define ROW64 ROW8 ", " ROW8 ", " ROW8 ", " ROW8 ", " ROW8 ", " ROW8 ", " ROW8 ", " ROW8
#define MORE8 "2, 0, 0, 0, 0, 0, 0, 0"
#define MORE64 MORE8 ", " MORE8 ", " MORE8 ", " MORE8 ", " MORE8 ", " MORE8 ", " MORE8 ", " MORE8

static const pass_case merged[] = {
    {MERGE, /* the second one has two channels */
     .text = HEAD "g (float[1,64,2,2] x) => (float[1,1,2,2] y, float[1,2,2,2] z)"
                  " <float[1,64,1,1] v = {" ROW64 "}, float[2,64,1,1] w = {" ROW64 ", " MORE64 "},"
                  " float[1] b = {1}, float[2] c = {2, 3}> { y = Conv (x, v, b) z = Conv (x, w, c)"
                  " }",
     .expected = HEAD "g (float[1,64,2,2] x) => (float[1,1,2,2] y, float[1,2,2,2] z)"
                      " <float[3,64,1,1] v = {" ROW64 ", " ROW64 ", " MORE64 "},"
                      " float[3] b = {1, 2, 3}, int64[2] s = {1, 2}> {"
                      " h = Conv (x, v, b) y, z = Split <axis = 1> (h, s) }"},
    {MERGE, /* rows interleave */
     .text = HEAD "g (float[n,64] x) => (float[n,1] y, float[n,1] z)"
                  " <float[64,1] v = {" ROW64 "}, float[64,1] w = {" ROW64 "}> {"
                  " y = MatMul (x, v) z = MatMul (x, w) }",
     .expected = HEAD "g (float[n,64] x) => (float[n,1] y, float[n,1] z) <float[64,2] v = {"
                      "1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8, 1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,"
                      "1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8, 1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,"
                      "1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8, 1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8,"
                      "1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8, 1,1,2,2,3,3,4,4,5,5,6,6,7,7,8,8},"
                      " int64[2] s = {1, 1}> { h = MatMul (x, v) y, z = Split <axis = 1> (h, s) }"},
};

static void test_merges(void **state) {
    (void)state;
    expect_passes(merged, HN_COUNT(merged));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* other attributes, one bias only */
        HEAD "g (float[1,64,2,2] x) => (float[1,1,2,2] y, float[1,1,4,4] z)"
             " <float[1,64,1,1] v = {" ROW64 "}, float[1,64,1,1] w = {" ROW64 "}> {"
             " y = Conv (x, v) z = Conv <pads = [1, 1, 1, 1]> (x, w) }",
        HEAD "g (float[1,64,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] z)"
             " <float[1,64,1,1] v = {" ROW64 "}, float[1,64,1,1] w = {" ROW64 "},"
             " float[1] b = {1}> { y = Conv (x, v) z = Conv (x, w, b) }",
        /* an activation that could be fused */
        HEAD "g (float[1,64,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] z)"
             " <float[1,64,1,1] v = {" ROW64 "}, float[1,64,1,1] w = {" ROW64 "}> {"
             " h = Conv (x, v) y = Relu (h) z = Conv (x, w) }",
        /* weights that are not constant, or shared */
        HEAD "g (float[n,64] x, float[64,1] v) => (float[n,1] y, float[n,1] z)"
             " <float[64,1] w = {" ROW64 "}> { y = MatMul (x, v) z = MatMul (x, w) }",
        HEAD "g (float[n,64] x, float[n,64] t) => (float[n,1] y, float[n,1] z, float[n,1] u)"
             " <float[64,1] v = {" ROW64 "}, float[64,1] w = {" ROW64 "}> {"
             " y = MatMul (x, v) z = MatMul (x, w) u = MatMul (t, w) }",
        /* too few multiply-accumulates */
        HEAD "g (float[n,8] x) => (float[n,1] y, float[n,1] z)"
             " <float[8,1] v = {" ROW8 "}, float[8,1] w = {" ROW8 "}> {"
             " y = MatMul (x, v) z = MatMul (x, w) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){MERGE, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
