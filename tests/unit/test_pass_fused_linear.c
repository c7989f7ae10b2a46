/* The fusion into FusedConv, FusedGemm and FusedMatMul. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define MS "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
#define CONV "g (float[1,1,4] x) => (float[1,1,3] y) <float[1,1,2] w = {1, 2}, float[1] b = {1}"
#define FUSE .passes = "fused-activations,fused-matmul", .target = HN_TARGET_ONNXRUNTIME

static const pass_case fused[] = {
    {FUSE, .text = HEAD CONV "> { h = Conv <pads = [0, 0]> (x, w, b) y = Relu (h) }",
     .expected = MS CONV "> { y = com.microsoft.FusedConv <pads = [0, 0], activation = \"Relu\">"
                         " (x, w, b) }"},
    {FUSE, /* bounds as inputs; one of them absent */
     .text = HEAD CONV ", float lo = {0}> { h = Conv (x, w, b) y = Clip (h, lo) }",
     .expected = MS CONV "> { y = com.microsoft.FusedConv <activation = \"Clip\","
                         " activation_params = [0.0, 3.4028235e+38]> (x, w, b) }"},
    {FUSE, /* bounds as attributes */
     .text = "<ir_version: 8, opset_import: [\"\" : 10]>\n" CONV
             "> { h = Conv (x, w) y = Clip <min = 0.0, max = 6.0> (h) }",
     .expected = "<ir_version: 8, opset_import: [\"\" : 10, \"com.microsoft\" : 1]>\n" CONV
                 "> { y = com.microsoft.FusedConv <activation = \"Clip\","
                 " activation_params = [0.0, 6.0]> (x, w) }"},
    {FUSE, /* parameters by default */
     .text = HEAD CONV "> { h = Conv (x, w, b) y = HardSigmoid (h) }",
     .expected = MS CONV "> { y = com.microsoft.FusedConv <activation = \"HardSigmoid\","
                         " activation_params = [0.2, 0.5]> (x, w, b) }"},
    {.passes = "fused-activations",
     .target = HN_TARGET_SESSION, /* a sum before the activation */
     .text = HEAD "g (float[1,1,3] x, float[1,1,3] z) => (float[1,1,3] y) <float[1,1,1] w = {2}> {"
                  " h = Conv (x, w) i = Add (z, h) y = Relu (i) }",
     .expected = MS "g (float[1,1,3] x, float[1,1,3] z) => (float[1,1,3] y) <float[1,1,1] w = {2}>"
                    " { y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, , z) }"},
    {FUSE,
     .text = HEAD "g (float[n,2] x, float[3,2] w) => (float[n,3] y) {"
                  " h = Gemm <transB = 1> (x, w) y = LeakyRelu <alpha = 0.5> (h) }",
     .expected = MS "g (float[n,2] x, float[3,2] w) => (float[n,3] y) {"
                    " y = com.microsoft.FusedGemm <transB = 1, activation = \"LeakyRelu\","
                    " activation_alpha = 0.5> (x, w) }"},
    {FUSE, /* last axes swapped; a factor before, a divisor after */
     .text = HEAD "g (float[n,4,2] a, float[n,3,2] b) => (float[n,4,3] y) <float s = {6},"
                  " float[1] t = {4}> { c = Mul (s, a) d = Transpose <perm = [0, 2, 1]> (b)"
                  " h = MatMul (c, d) y = Div (h, t) }",
     .expected =
         MS "g (float[n,4,2] a, float[n,3,2] b) => (float[n,4,3] y) {"
            " y = com.microsoft.FusedMatMul <alpha = 1.5, transA = 0, transB = 1> (a, b) }"},
    {FUSE, /* every reader absorbs it */
     .text = HEAD "g (float[2,4] a, float[4,3] b) => (float[2,2] y, float[3,2] z) {"
                  " c = Transpose (a) d = Transpose (b) y = MatMul (a, c) z = MatMul (d, c) }",
     .expected =
         MS "g (float[2,4] a, float[4,3] b) => (float[2,2] y, float[3,2] z) {"
            " y = com.microsoft.FusedMatMul <alpha = 1.0, transA = 0, transB = 1> (a, a)"
            " z = com.microsoft.FusedMatMul <alpha = 1.0, transA = 1, transB = 1> (b, a) }"},
};

static void test_fuses(void **state) {
    (void)state;
    expect_passes(fused, HN_COUNT(fused));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* another reader */
        HEAD "g (float[1,1,3] x) => (float[1,1,3] y, float[1,1,3] h) <float[1,1,1] w = {2}> {"
             " h = Conv (x, w) y = Relu (h) }",
        HEAD "g (float[1,1,3] x) => (float[1,1,3] y) <float[1,1,1] w = {2}> {"
             " h = Conv (x, w) i = Sigmoid (h) y = Mul (h, i) }",
        /* float only */
        HEAD "g (double[1,1,3] x) => (double[1,1,3] y) <double[1,1,1] w = {2}> {"
             " h = Conv (x, w) y = Relu (h) }",
        /* bounds that are unknown */
        HEAD "g (float[1,1,3] x, float lo) => (float[1,1,3] y) <float[1,1,1] w = {2}> {"
             " h = Conv (x, w) y = Clip (h, lo) }",
        /* onnxruntime fuses the sum itself */
        HEAD "g (float[1,1,3] x, float[1,1,3] z) => (float[1,1,3] y) <float[1,1,1] w = {2}> {"
             " h = Conv (x, w) i = Add (z, h) y = Relu (i) }",
        /* other axes */
        HEAD "g (float[2,3,4] a, float[2,2,3] b) => (float[2,2,4] y) {"
             " c = Transpose <perm = [0, 1, 2]> (a) y = MatMul (b, c) }",
        HEAD "g (float[3,2,4] a, float[2,2,3] b) => (float[2,2,4] y) {"
             " c = Transpose <perm = [1, 0, 2]> (a) y = MatMul (b, c) }",
        /* the transpose has another reader */
        HEAD "g (float[2,4] a) => (float[2,2] y, float[4,2] c) {"
             " c = Transpose (a) y = MatMul (a, c) }",
        /* a factor that enlarges the result, one that is 0, one per column */
        HEAD "g (float[2,4] a, float[4,2] b) => (float[1,2,2] y) <float[1,1,1] s = {2}> {"
             " h = MatMul (a, b) y = Mul (h, s) }",
        HEAD "g (float[2,4] a, float[4,2] b) => (float[2,2] y) <float[1] s = {0}> {"
             " h = MatMul (a, b) y = Mul (h, s) }",
        HEAD "g (float[2,4] a, float[4,2] b) => (float[2,2] y) <float[2] s = {2, 3}> {"
             " h = MatMul (a, b) y = Mul (h, s) }",
        /* a factor that an attribute cannot hold */
        HEAD "g (double[2,4] a, double[4,2] b) => (double[2,2] y) <double s = {0.1}> {"
             " h = MatMul (a, b) y = Mul (h, s) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){FUSE, .text = texts[i], .expected = texts[i]});
    expect_pass(&(pass_case){.passes = "fused-activations,fused-matmul", /* plain ONNX */
                             .target = HN_TARGET_ONNX,
                             .text = HEAD CONV "> { h = Conv (x, w, b) y = Relu (h) }",
                             .expected = HEAD CONV "> { h = Conv (x, w, b) y = Relu (h) }"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuses),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
