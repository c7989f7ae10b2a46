/* BatchNormalization and factors folded into the weights after them. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define FOLD .passes = "fold-inputs"
#define NORM "float[2] s = {2, 4}, float[2] b = {1, 1}, float[2] m = {1, 2}, float[2] v = {3, 3}"
#define NORMALIZED " h = BatchNormalization <epsilon = 1.0> (x, s, b, m, v)"

/* The normalization is 1 x + 0 in the first channel, 2 x - 3 in the second. */
static const pass_case folded[] = {
    {FOLD,
     .text = HEAD "g (float[1,2,3] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 3, 4}, " NORM
                  "> {" NORMALIZED " y = Conv (h, w) }",
     .expected = HEAD "g (float[1,2,3] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 6, 8},"
                      " float[1] c = {-21}> { y = Conv (x, w, c) }"},
    {FOLD, /* each group reads its own channels */
     .text = HEAD "g (float[1,2,3] x) => (float[1,4,3] y) <float[4,1,1] w = {1, 2, 3, 4},"
                  " float[4] c = {1, 1, 1, 1}, " NORM "> {" NORMALIZED
                  " y = Conv <group = 2> (h, w, c) }",
     .expected = HEAD "g (float[1,2,3] x) => (float[1,4,3] y) <float[4,1,1] w = {1, 2, 6, 8},"
                      " float[4] c = {1, 1, -8, -11}> { y = Conv <group = 2> (x, w, c) }"},
    {FOLD,
     .text = HEAD "g (float[n,2] x) => (float[n,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}, " NORM
                  "> {" NORMALIZED " y = MatMul (h, w) }",
     .expected = HEAD "g (float[n,2] x) => (float[n,3] y) <float[2,3] w = {1, 2, 3, 8, 10, 12},"
                      " float[3] c = {-12, -15, -18}> { y = Gemm (x, w, c) }"},
    {FOLD,
     .text =
         HEAD "g (float[n,2] x) => (float[n,1] y) <float[1,2] w = {3, 4}, float[1] c = {5}, " NORM
              "> {" NORMALIZED " y = Gemm <transB = 1> (h, w, c) }",
     .expected = HEAD "g (float[n,2] x) => (float[n,1] y) <float[1,2] w = {3, 8},"
                      " float[1] c = {-7}> { y = Gemm <transB = 1> (x, w, c) }"},
    {FOLD, /* zeros stay zeros, so padding does not matter */
     .text = HEAD "g (float[1,2,3] x) => (float[1,1,4] y) <float[1,2,2] w = {1, 2, 3, 4},"
                  " float d = {0.5}> { h = Div (x, d) y = Conv <pads = [1, 1]> (h, w) }",
     .expected = HEAD "g (float[1,2,3] x) => (float[1,1,4] y) <float[1,2,2] w = {2, 4, 6, 8}> {"
                      " y = Conv <pads = [1, 1]> (x, w) }"},
    {FOLD,
     .text = HEAD "g (float[1,2,3] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 3, 4},"
                  " float[2,1] c = {10, 100}> { h = Mul (c, x) y = Conv (h, w) }",
     .expected = HEAD "g (float[1,2,3] x) => (float[1,1,2] y)"
                      " <float[1,2,2] w = {10, 20, 300, 400}> { y = Conv (x, w) }"},
};

static void test_folds(void **state) {
    (void)state;
    expect_passes(folded, HN_COUNT(folded));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* padding is not normalized */
        HEAD "g (float[1,2,3] x) => (float[1,1,4] y) <float[1,2,2] w = {1, 2, 3, 4}, " NORM
             "> {" NORMALIZED " y = Conv <pads = [1, 1]> (h, w) }",
        /* another reader */
        HEAD "g (float[1,2,3] x) => (float[1,1,2] y, float[1,2,3] h) <float[1,2,2] w = {1, 2, 3, "
             "4}, " NORM "> {" NORMALIZED " y = Conv (h, w) }",
        /* the channels are on another axis */
        HEAD "g (float[1,2,3] x) => (float[1,2,1] y) <float[3,1] w = {1, 2, 3}, " NORM
             "> {" NORMALIZED " y = MatMul (h, w) }",
        HEAD "g (float[1,2,3] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 3, 4},"
             " float[3] c = {1, 2, 3}> { h = Mul (c, x) y = Conv (h, w) }",
        /* a factor that enlarges its input */
        HEAD "g (float[1,1,3] x) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 3, 4},"
             " float[2,1] c = {10, 100}> { h = Mul (c, x) y = Conv (h, w) }",
        /* not constant */
        HEAD "g (float[1,2,3] x, float c) => (float[1,1,2] y) <float[1,2,2] w = {1, 2, 3, 4}> {"
             " h = Mul (c, x) y = Conv (h, w) }",
        HEAD "g (float[1,2,3] x, float[1,2,2] w) => (float[1,1,2] y) <float c = {2}> {"
             " h = Mul (c, x) y = Conv (h, w) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){FOLD, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
