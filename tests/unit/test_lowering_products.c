/* Lowered matrix products, and what is fused into them. */
#include <stdio.h>

#include "lowered_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."
/* Sums take products in one order in either run; functions behind them may be other loops. */
#define BOUND .tolerance = 1e-5, .is_tame = true

static const lowered_case matmul_cases[] = {
    {.text = HEAD "g (float[1,7] a, float[7,13] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[5,7] a, float[7,1] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[7] a, float[7] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[7] a, float[3,7,2] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[3,2,7] a, float[7] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[2,3,4,5] a, float[5,6] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[2,1,4,5] a, float[3,5,6] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[11,3,4,5] a, float[11,3,5,6] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[1,1,4,5] a, float[1,5,6] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[4,0] a, float[0,6] b) => (float[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float[0,4] a, float[4,6] b) => (float[] y) { y = MatMul (a, b) }",
     .lowered = ""},
    {.text = HEAD "g (double[2,4,5] a, double[5,6] b) => (double[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (int64[2,4,5] a, int64[2,5,6] b) => (int64[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (uint32[4,5] a, uint32[5,6] b) => (uint32[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (int32[4,5] a, int32[5,6] b) => (int32[] y) { y = MatMul (a, b) }"},
    {.text = HEAD "g (float16[4,5] a, float16[5,6] b) => (float16[] y) { y = MatMul (a, b) }",
     .lowered = ""},
};

static void matmul_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(matmul_cases);
}

#define GEMM(dims_a, dims_b, dims_c, attrs)                    \
  HEAD "g (float" dims_a " a, float" dims_b " b, float" dims_c \
       " c) => (float[] y) { y = Gemm " attrs " (a, b, c) }"

static const lowered_case gemm_cases[] = {
    {.text = HEAD "g (float[3,7] a, float[7,5] b) => (float[] y) { y = Gemm (a, b) }"},
    {.text =
         HEAD "g (float[3,7] a, float[7,5] b) => (float[] y) { y = Gemm <alpha = 0.5> (a, b) }"},
    {.text = GEMM("[1,7]", "[7,5]", "[5]", "")},
    {.text = GEMM("[3,7]", "[7,5]", "[1,5]", "")},
    {.text = GEMM("[3,7]", "[7,5]", "[3,1]", "")},
    {.text = GEMM("[3,7]", "[7,5]", "[3,5]", "")},
    {.text = GEMM("[3,7]", "[7,5]", "[1]", "")},
    {.text = GEMM("[3,7]", "[7,1]", "[1]", "")},
    {.text = GEMM("[3,7]", "[7,5]", "", "")},
    {.text = GEMM("[7,3]", "[5,7]", "[5]", "<transA = 1, transB = 1>")},
    {.text = GEMM("[3,7]", "[5,7]", "[3,1]", "<transB = 1, alpha = 2.5, beta = -1.0>")},
    {.text = GEMM("[3,0]", "[0,5]", "[5]", "")},
    {.text = GEMM("[0,7]", "[7,5]", "[5]", ""), .lowered = ""},
    {.text =
         HEAD "g (int32[3,7] a, int32[7,5] b, int32[5] c) => (int32[] y) { y = Gemm (a, b, c) }",
     .lowered = ""},
};

static void gemm_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(gemm_cases);
}

#define FUSED(op, dims_a, dims_b, attrs)                                                           \
  HEAD "g (float" dims_a " a, float" dims_b " b) => (float[] y) { y = " MS op " " attrs " (a, b) " \
       "}"

static const lowered_case fused_cases[] = {
    {.text = FUSED("FusedMatMul", "[3,7]", "[7,5]", ""), BOUND},
    {.text = FUSED("FusedMatMul", "[3,7]", "[5,7]", "<transB = 1, alpha = 0.25>"), BOUND},
    {.text = FUSED("FusedMatMul", "[2,7,3]", "[7,5]", "<transA = 1, alpha = 3.0>"), BOUND},
    {.text = FUSED("FusedMatMul", "[3,2,7]", "[3,2,7]",
                   "<transBatchA = 1, transBatchB = 1, "
                   "transB = 1>"),
     .lowered = "",
     BOUND},
    {.text = FUSED("FusedMatMulActivation", "[2,3,7]", "[7,5]", "<activation = \"Relu\">"), BOUND},
    {.text = FUSED("FusedMatMulActivation", "[3,7]", "[7,5]", "<activation = \"Tanh\">"), BOUND},
    {.text =
         FUSED("FusedMatMulActivation", "[3,7]", "[7,5]", "<activation = \"Relu\", alpha = 2.0>"),
     .lowered = "",
     BOUND},
    {.text = FUSED("GemmFastGelu", "[2,3,7]", "[7,5]", ""), BOUND},
    {.text = HEAD "g (float[3,7] a, float[7,5] b, float[5] c) => (float[] y) { y = " MS
                  "GemmFastGelu (a, b, c) }",
     BOUND},
    {.text = HEAD "g (float[3,7] a, float[7,5] b, float[4] c) => (float[] y) { y = " MS
                  "GemmFastGelu (a, b, c) }",
     .lowered = "",
     .fails = true},
    {.text = HEAD "g (float[3,7] a, float[7,5] b, float[5] c) => (float[] y) { y = " MS
                  "FusedGemm <activation = \"Sigmoid\"> (a, b, c) }",
     BOUND},
    {.text = HEAD "g (float[3,7] a, float[7,5] b, float[3,1] c) => (float[] y) { y = " MS
                  "FusedGemm <activation = \"LeakyRelu\", activation_alpha = 0.5> (a, b, c) }",
     BOUND},
    {.text = HEAD "g (float[3,7] a, float[7,5] b, float[3,5] c) => (float[] y) { y = " MS
                  "FusedGemm <activation = \"Relu\", beta = 0.5> (a, b, c) }",
     .lowered = "",
     BOUND},
};

static void fused_products_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(fused_cases);
}

#define NBITS(more, consts, args)                                                       \
  HEAD "g (float[2,5,20] a, uint8[3,2,8] b, float[6] s" more ") => (float[] y) " consts \
       "{ y = com.microsoft.MatMulNBits <K = 20, N = 3, block_size = 16> (a, b, s" args ") }"

static const lowered_case nbits_cases[] = {
    {.text = NBITS("", "", ""), BOUND},
    {.text = NBITS(", float[3] c", "", ", , , c"), BOUND},
    {.text = NBITS(", float[6] z", "", ", z"), BOUND},
    {.text = NBITS(", float[3] c", "<uint8[3] z = {18, 52, 240}> ", ", z, , c"), BOUND},
    {.text = NBITS("", "<int32[20] i = {1,0,0,0,1,1,1,0,0,0,0,0,0,1,1,1,1,1,0,0}> ", ", , i"),
     BOUND},
    {.text = NBITS("", "<int32[20] i = {1,0,0,0,1,1,1,0,0,0,0,0,0,1,1,1,1,1,0,2}> ", ", , i"),
     .lowered = "",
     .fails = true},
    {.text = NBITS(", uint8[3] z", "", ", z"), .lowered = "", BOUND},
    {.text = NBITS(", float[2] c", "", ", , , c"), .lowered = "", .fails = true},
};

static void products_of_few_bits_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(nbits_cases);
}

/* Constant weights, which are packed: numbers and scales of every kind, in blocks of 16 along 40.
 */
static void expect_packed_nbits(int bits, const char *zeros, const char *args, const char *more,
                                double tolerance) {
    enum { N = 35, BLOCKS = 3, BYTES = 65536 };
    char *text = test_malloc(BYTES);
    int n_bytes = N * BLOCKS * 2 * bits;
    int at = snprintf(text, BYTES,
                      HEAD "g (float[2,3,40] a, float[35] c) => (float[] y) <uint8[%d,%d,%d] b = {",
                      N, BLOCKS, 2 * bits);
    for (int i = 0; i < n_bytes; i++)
        at += snprintf(text + at, (size_t)(BYTES - at), "%s%d", i ? "," : "", i * 37 % 251);
    at += snprintf(text + at, (size_t)(BYTES - at), "}, float[%d] s = {", N * BLOCKS);
    for (int i = 0; i < N * BLOCKS; i++)
        at += snprintf(text + at, (size_t)(BYTES - at), "%s0.0%d", i ? "," : "", 1 + i * 7 % 9);
    at += snprintf(text + at, (size_t)(BYTES - at), "}%s", *zeros ? zeros : "");
    if (*zeros) {
        bool is_float = strstr(zeros, "float") != NULL;
        int n = is_float ? N * BLOCKS : N * ((BLOCKS * bits + 7) / 8);
        at += snprintf(text + at, (size_t)(BYTES - at), "[%d] z = {", n);
        for (int i = 0; i < n; i++)
            at += snprintf(text + at, (size_t)(BYTES - at), "%s%d%s", i ? "," : "", i * 11 % 16,
                           is_float ? ".5" : "");
        at += snprintf(text + at, (size_t)(BYTES - at), "}");
    }
    snprintf(text + at, (size_t)(BYTES - at),
             "> { y = com.microsoft.MatMulNBits <K = 40, N = 35, bits = %d, block_size = 16%s> (a, "
             "b, s%s) }",
             bits, more, args);
    lowered_case c = {.text = text, .tolerance = tolerance, .is_tame = true};
    expect_lowered_case(&c);
    test_free(text);
}

static void packed_products_of_few_bits_are_lowered(void **state) {
    (void)state;
    for (int bits = 2; bits <= 8; bits *= 2) {
        expect_packed_nbits(bits, "", "", "", 1e-5);
        expect_packed_nbits(bits, "", ", , , c", ", accuracy_level = 1", 1e-5);
        expect_packed_nbits(bits, ", uint8", ", z", "", 1e-5);
        expect_packed_nbits(bits, ", float", ", z, , c", "", 1e-5);
        /* The sum of 40 numbers up to 4, off by 1/254 of the largest, with weights up to 255 *
         * 0.09. */
        expect_packed_nbits(bits, "", ", , , c", ", accuracy_level = 4",
                            40 * 4.0 / 254 * (1 << bits) * 0.09);
    }
}

/* A right side that is large enough to be packed ahead. */
static void expect_packed(const char *inputs, const char *dims, const char *body) {
    enum { N_ELEMS = 37 * 41, BYTES = N_ELEMS * 8 + 1024 };
    char *text = test_malloc(BYTES);
    int at = snprintf(text, BYTES, HEAD "g (%s) => (float[] y) <float%s w = {", inputs, dims);
    for (int i = 0; i < N_ELEMS; i++)
        at += snprintf(text + at, (size_t)(BYTES - at), "%s0.%d", i ? "," : "", i * 7 % 97);
    snprintf(text + at, (size_t)(BYTES - at), "}> { %s }", body);
    lowered_case c = {.text = text, BOUND};
    expect_lowered_case(&c);
    test_free(text);
}

static void packed_products_are_lowered(void **state) {
    (void)state;
    expect_packed("float[1,37] a", "[37,41]", "y = MatMul (a, w)");
    expect_packed("float[3,5,37] a", "[37,41]", "y = MatMul (a, w)");
    expect_packed("float[3,5,37] a", "[1,37,41]", "y = MatMul (a, w)");
    expect_packed("float[3,37] a, float[41] c", "[37,41]", "y = Gemm (a, w, c)");
    expect_packed("float[3,41] a", "[37,41]", "y = Gemm <transB = 1, alpha = 2.0> (a, w)");
    expect_packed("float[2,41,3] a", "[37,41]",
                  "y = " MS "FusedMatMul <transA = 1, transB = 1, alpha = 2.0> (a, w)");
    expect_packed("float[3,37] a, float[41] c", "[37,41]", "y = " MS "GemmFastGelu (a, w, c)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matmul_is_lowered),
                                       cmocka_unit_test(gemm_is_lowered),
                                       cmocka_unit_test(fused_products_are_lowered),
                                       cmocka_unit_test(products_of_few_bits_are_lowered),
                                       cmocka_unit_test(packed_products_of_few_bits_are_lowered),
                                       cmocka_unit_test(packed_products_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
