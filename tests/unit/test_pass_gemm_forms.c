/* Products written as Gemm, and operators that a Gemm absorbs. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define FORM .passes = "gemm-forms"

static const pass_case formed[] = {
    {FORM,
     .text = HEAD "g (float[n,2] x) => (float[n,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6},"
                  " float[3] b = {1, 2, 3}> { h = MatMul (x, w) y = Add (b, h) }",
     .expected = HEAD "g (float[n,2] x) => (float[n,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6},"
                      " float[3] b = {1, 2, 3}> { y = Gemm (x, w, b) }"},
    {FORM, /* the value that is added may be computed and differ by row */
     .text = HEAD "g (float[n,2] x, float[2,3] w, float[n,1] b) => (float[n,3] y) {"
                  " h = MatMul (x, w) y = Add (h, b) }",
     .expected = HEAD "g (float[n,2] x, float[2,3] w, float[n,1] b) => (float[n,3] y) {"
                      " y = Gemm (x, w, b) }"},
    {FORM,
     .text = HEAD "g (float[n,2] x, float[3,2] w, float[n,3] b) => (float[n,3] y) {"
                  " h = Gemm <transB = 1, alpha = 2.0> (x, w) y = Add (b, h) }",
     .expected = HEAD "g (float[n,2] x, float[3,2] w, float[n,3] b) => (float[n,3] y) {"
                      " y = Gemm <transB = 1, alpha = 2.0, beta = 1.0> (x, w, b) }"},
    {FORM,
     .text = HEAD "g (float[2,n] x, float[3,2] w, float[3] b) => (float[n,3] y) {"
                  " t = Transpose (x) u = Transpose <perm = [1, 0]> (w)"
                  " y = Gemm (t, u, b) }",
     .expected = HEAD "g (float[2,n] x, float[3,2] w, float[3] b) => (float[n,3] y) {"
                      " y = Gemm <transA = 1, transB = 1> (x, w, b) }"},
    {FORM, /* transposed twice is not transposed */
     .text = HEAD "g (float[n,2] x, float[2,3] w, float[3] b) => (float[n,3] y) {"
                  " u = Transpose (w) y = Gemm <transB = 1> (x, u, b) }",
     .expected = HEAD "g (float[n,2] x, float[2,3] w, float[3] b) => (float[n,3] y) {"
                      " y = Gemm <transB = 0> (x, w, b) }"},
    {FORM,
     .text = HEAD "g (float[n,2] x, float[3,2] w) => (float[n,3] y) {"
                  " u = Transpose (w) y = MatMul (x, u) }",
     .expected = HEAD "g (float[n,2] x, float[3,2] w) => (float[n,3] y) {"
                      " y = Gemm <transA = 0, transB = 1> (x, w) }"},
    {FORM,
     .text = HEAD "g (float[n,2] x, float[2,3] w, float[3] b) => (float[n,3] y) <float s = {4}> {"
                  " h = Gemm <alpha = 2.0> (x, w, b) y = Div (h, s) }",
     .expected = HEAD "g (float[n,2] x, float[2,3] w, float[3] b) => (float[n,3] y) {"
                      " y = Gemm <alpha = 0.5, beta = 0.25> (x, w, b) }"},
};

static void test_forms(void **state) {
    (void)state;
    expect_passes(formed, HN_COUNT(formed));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* a Gemm multiplies matrices only */
        HEAD "g (float[n,4,2] x) => (float[n,4,3] y) <float[2,3] w = {1, 2, 3, 4, 5, 6},"
             " float[3] b = {1, 2, 3}> { h = MatMul (x, w) y = Add (b, h) }",
        /* the value that is added enlarges the result, or may do so */
        HEAD "g (float[1,2] x, float[2,3] w, float[5,3] b) => (float[5,3] y) {"
             " h = MatMul (x, w) y = Add (h, b) }",
        HEAD "g (float[1,2] x, float[2,3] w, float[m,3] b) => (float[m,3] y) {"
             " h = MatMul (x, w) y = Add (h, b) }",
        HEAD "g (float[2,2] x, float[2,3] w, float[1,2,3] b) => (float[1,2,3] y) {"
             " h = MatMul (x, w) y = Add (h, b) }",
        /* integers */
        HEAD "g (int32[2,2] x, int32[2,3] w, int32[3] b) => (int32[2,3] y) {"
             " h = MatMul (x, w) y = Add (h, b) }",
        /* another reader of the product, of the transpose */
        HEAD "g (float[2,2] x, float[2,3] w, float[3] b) => (float[2,3] y, float[2,3] h) {"
             " h = MatMul (x, w) y = Add (h, b) }",
        HEAD "g (float[2,2] x, float[3,2] w, float[3] b) => (float[2,3] y, float[2,3] u) {"
             " u = Transpose (w) y = Gemm (x, u, b) }",
        /* a C that is already there */
        HEAD "g (float[2,2] x, float[2,3] w, float[3] b, float[3] c) => (float[2,3] y) {"
             " h = Gemm (x, w, b) y = Add (h, c) }",
        /* one factor per column */
        HEAD "g (float[2,2] x, float[2,3] w, float[3] b) => (float[2,3] y)"
             " <float[3] s = {1, 2, 3}> { h = Gemm (x, w, b) y = Mul (h, s) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){FORM, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
