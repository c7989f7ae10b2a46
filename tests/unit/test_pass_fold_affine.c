/* BatchNormalization and constant arithmetic folded into the weights before it. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define FOLD .passes = "fold-affine"

static const pass_case folded[] = {
    {FOLD,
     .text = HEAD "g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 2},"
                  " float[2] s = {2, 3}, float[2] b = {1, 0}, float[2] m = {4, 8},"
                  " float[2] v = {3, 0}> {"
                  " h = Conv (x, w) y = BatchNormalization <epsilon = 1.0> (h, s, b, m, v) }",
     .expected = HEAD "g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 6},"
                      " float[2] b = {-3, -24}> { y = Conv (x, w, b) }"},
    {FOLD, /* groups: channel 2 g + j of a ConvTranspose */
     .text = HEAD "g (float[1,2,2,2] x) => (float[1,4,2,2] y)"
                  " <float[2,2,1,1] w = {1, 2, 3, 4}, float[4] b = {1, 1, 1, 1},"
                  " float[4,1,1] s = {1, 10, 100, 1000}> {"
                  " h = ConvTranspose <group = 2> (x, w, b) y = Mul (h, s) }",
     .expected = HEAD "g (float[1,2,2,2] x) => (float[1,4,2,2] y)"
                      " <float[2,2,1,1] w = {1, 20, 300, 4000}, float[4] b = {1, 10, 100, 1000}>"
                      " { y = ConvTranspose <group = 2> (x, w, b) }"},
    {FOLD, /* a - x */
     .text = HEAD "g (float[1,1,2] x) => (float[1,2,2] y) <float[2,1,1] w = {1, 2},"
                  " float[2] b = {3, 4}, float[1,2,1] c = {10, 20}> {"
                  " h = Conv (x, w, b) y = Sub (c, h) }",
     .expected = HEAD "g (float[1,1,2] x) => (float[1,2,2] y) <float[2,1,1] w = {-1, -2},"
                      " float[2] b = {7, 16}> { y = Conv (x, w, b) }"},
    {FOLD, /* two in a row, a scalar divisor */
     .text = HEAD "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {2},"
                  " float d = {4}> { h = Conv (x, w) i = Add (h, c) y = Div (i, d) }",
     .expected = HEAD "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {0.75},"
                      " float[1] b = {0.5}> { y = Conv (x, w, b) }"},
    {FOLD,
     .text = HEAD "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 3, 4},"
                  " float[2] c = {2, 4}, float[2] s = {1, 10}> {"
                  " h = Gemm <transB = 1, beta = 0.5> (x, w, c) y = Mul (s, h) }",
     .expected = HEAD "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {1, 2, 30, 40},"
                      " float[2] c = {1, 20}> {"
                      " y = Gemm <transB = 1, beta = 1.0> (x, w, c) }"},
    {FOLD, /* a product of higher rank */
     .text = HEAD "g (float[n,3,2] x) => (float[n,3,2] y) <float[2,2] w = {1, 2, 3, 4},"
                  " float[2] s = {1, 10}> { h = MatMul (x, w) y = Mul (h, s) }",
     .expected = HEAD "g (float[n,3,2] x) => (float[n,3,2] y) <float[2,2] w = {1, 20, 3, 40}> {"
                      " y = MatMul (x, w) }"},
    {FOLD, /* a MatMul has no bias */
     .text = HEAD "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4},"
                  " float[2] s = {2, 4}, float[2] b = {1, 1}, float[2] m = {1, 2},"
                  " float[2] v = {3, 3}> { h = MatMul (x, w)"
                  " y = BatchNormalization <epsilon = 1.0> (h, s, b, m, v) }",
     .expected = HEAD "g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 4, 3, 8},"
                      " float[2] b = {0, -3}> { y = Gemm (x, w, b) }"},
    {FOLD,
     .text = HEAD "g (double[1,1,2] x) => (double[1,1,2] y) <double[1,1,1] w = {3}, double c = {2}>"
                  " { h = Conv (x, w) y = Mul (h, c) }",
     .expected = HEAD "g (double[1,1,2] x) => (double[1,1,2] y) <double[1,1,1] w = {6}> {"
                      " y = Conv (x, w) }"},
    {FOLD, /* a bias in between */
     .text = HEAD "g (float[n,3,2] x) => (float[n,3,2] y) <float[2,2] w = {1, 2, 3, 4},"
                  " float[1,2] b = {5, 6}, float[2] s = {1, 10}> {"
                  " h = MatMul (x, w) i = Add (b, h) y = Mul (s, i) }",
     .expected = HEAD "g (float[n,3,2] x) => (float[n,3,2] y) <float[2,2] w = {1, 20, 3, 40},"
                      " float[2] b = {5, 60}> { h = MatMul (x, w) y = Add (h, b) }"},
    {FOLD, /* transposed axes */
     .text = HEAD "g (float[n,3,2] x) => (float[n,2,3] y) <float[2,2] w = {1, 2, 3, 4},"
                  " float[2] s = {2, 4}, float[2] b = {1, 1}, float[2] m = {1, 2},"
                  " float[2] v = {3, 3}> { h = MatMul (x, w) i = Transpose <perm = [0, 2, 1]> (h)"
                  " y = BatchNormalization <epsilon = 1.0> (i, s, b, m, v) }",
     .expected = HEAD "g (float[n,3,2] x) => (float[n,2,3] y) <float[2,2] w = {1, 4, 3, 8},"
                      " float[2] b = {0, -3}> { h = MatMul (x, w) i = Add (h, b)"
                      " y = Transpose <perm = [0, 2, 1]> (i) }"},
    {FOLD,
     .text = HEAD "g (float[1,1,2] x) => (float[2,2,1] y) <float[2,1,1] w = {1, 2},"
                  " float[2,1] s = {3, 4}> {"
                  " h = Conv (x, w) i = Transpose (h) y = Mul (i, s) }",
     .expected = HEAD "g (float[1,1,2] x) => (float[2,2,1] y) <float[2,1,1] w = {3, 8}> {"
                      " h = Conv (x, w) y = Transpose (h) }"},
    {FOLD, /* old versions align operands with an axis */
     .text =
         "<ir_version: 4, opset_import: [\"\" : 6]>\n"
         "g (float[1,1,2] x) => (float[1,2,2] y) { w = Constant <value = float[2,1,1] {1, 2}> ()"
         " c = Constant <value = float[2] {10, 20}> () h = Conv (x, w)"
         " y = Mul <axis = 1, broadcast = 1> (h, c) }",
     .expected = "<ir_version: 4, opset_import: [\"\" : 6]>\n"
                 "g (float[1,1,2] x) => (float[1,2,2] y) <float[2,1,1] w = {10, 40}> {"
                 " y = Conv (x, w) }"},
};

static void test_folds(void **state) {
    (void)state;
    expect_passes(folded, HN_COUNT(folded));
}

/* Graphs that must not change: the text is the expectation. */
static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* another reader of the convolution */
        HEAD "g (float[1,1,2] x) => (float[1,1,2] y, float[1,1,2] h) <float[1,1,1] w = {3},"
             " float c = {2}> { h = Conv (x, w) y = Mul (h, c) }",
        /* the constant enlarges the result */
        HEAD "g (float[1,1,2] x) => (float[3,1,1,2] y) <float[1,1,1] w = {3},"
             " float[3,1,1,1] c = {2, 3, 4}> { h = Conv (x, w) y = Mul (h, c) }",
        /* one number per column, not per channel */
        HEAD "g (float[1,1,2] x) => (float[1,2,2] y) <float[2,1,1] w = {3, 4}, float[2] c = {2, 3}>"
             " { h = Conv (x, w) y = Mul (h, c) }",
        /* the Transpose, or the sum, has another reader */
        HEAD "g (float[1,1,2] x) => (float[2,1,1] y, float[2,1,1] i) <float[1,1,1] w = {3},"
             " float c = {2}> { h = Conv (x, w) i = Transpose (h) y = Mul (i, c) }",
        HEAD "g (float[n,2] x) => (float[n,2] y, float[n,2] i) <float[2,2] w = {1, 2, 3, 4},"
             " float c = {2}> { h = MatMul (x, w) i = Add (h, c) y = Mul (i, c) }",
        /* a bias that differs by row */
        HEAD "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4},"
             " float[2,1] b = {1, 2}, float c = {2}> {"
             " h = MatMul (x, w) i = Add (h, b) y = Mul (i, c) }",
        /* not constant */
        HEAD "g (float[1,1,2] x, float c) => (float[1,1,2] y) <float[1,1,1] w = {3}> {"
             " h = Conv (x, w) y = Mul (h, c) }",
        /* dividing by the result is not linear */
        HEAD "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {2}> {"
             " h = Conv (x, w) y = Div (c, h) }",
        /* infinite scale */
        HEAD "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {0}> {"
             " h = Conv (x, w) y = Div (h, c) }",
        /* integer division rounds */
        HEAD "g (int32[1,2] x) => (int32[1,2] y) <int32[2,2] w = {1, 2, 3, 4}, int32 c = {2}> {"
             " h = MatMul (x, w) y = Div (h, c) }",
        /* the bias is one number per row */
        HEAD "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4},"
             " float[2,1] b = {1, 2}, float[2] c = {2, 3}> {"
             " h = Gemm (x, w, b) y = Mul (h, c) }",
        /* used in the bodies only */
        HEAD "g (bool p, float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3}, float c = {2}>"
             " { h = Conv (x, w) y = If (p) <"
             "then_branch = t () => (float[1,1,2] a) { a = Mul (h, c) },"
             "else_branch = e () => (float[1,1,2] b) { b = Identity (x) }> }",
        /* training */
        HEAD "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 2}>"
             " { h = MatMul (x, w) y, m, v = BatchNormalization <training_mode = 1>"
             " (h, s, s, s, s) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){FOLD, .text = texts[i], .expected = texts[i]});
}

static void test_near_misses(void **state) {
    (void)state;
    expect_miss(&(pass_case){FOLD, .text = HEAD
                                   "g (float[1,1,2] x) => (float[1,1,2] y) <float[1,1,1] w = {3},"
                                   " float c = {0}> { h = Conv (x, w) y = Div (h, c) }"},
                "scale", "infinite");
    /* float16 is written as bits: these are 1024 */
    expect_miss(&(pass_case){FOLD, .text =
                                       HEAD "g (float16[1,1,2] x) => (float16[1,1,2] y)"
                                            " <float16[1,1,1] w = {25600}, float16 c = {25600}> {"
                                            " h = Conv (x, w) y = Mul (h, c) }"},
                "scale", "range of float16");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_leaves_alone),
        cmocka_unit_test(test_near_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
