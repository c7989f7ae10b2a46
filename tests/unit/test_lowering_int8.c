/* Lowered products of 8-bit integers: the same bytes as the evaluations. */
#include <stdio.h>

#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "lowered_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."

#define INTEGER(a, b, more, args) \
  HEAD "g (" a " a, " b " b" more ") => (int32[] y) { y = MatMulInteger (a, b" args ") }"

static const lowered_case integer_cases[] = {
    {.text = INTEGER("uint8[3,7]", "int8[7,5]", "", "")},
    {.text = INTEGER("int8[3,7]", "uint8[7,5]", ", int8 z", ", z")},
    {.text = INTEGER("uint8[2,3,7]", "uint8[7,5]", ", uint8 z, uint8[5] zb", ", z, zb")},
    {.text = INTEGER("uint8[40,33]", "int8[33,70]", ", uint8[1] z, int8 zb", ", z, zb")},
    {.text = INTEGER("uint8[7]", "int8[7,5]", ", int8[1] zb", ", , zb")},
    {.text = INTEGER("uint8[7]", "int8[7]", "", "")},
    {.text = INTEGER("uint8[5,3,7]", "int8[5,7,4]", ", uint8 z, int8 zb", ", z, zb")},
    {.text = INTEGER("uint8[2,1,3,7]", "int8[3,7,4]", "", "")},
    {.text = INTEGER("uint8[3,7]", "int8[7,5]", ", uint8[3] z", ", z"), .lowered = ""},
    {.text = INTEGER("uint8[0,7]", "int8[7,5]", "", ""), .lowered = ""},
};

static void matmul_integer_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(integer_cases);
}

#define TO_FLOAT(more, args)                                                     \
  HEAD "g (uint8[4,9] a, int8[9,6] b, float s" more ") => (float[] y) { y = " MS \
       "MatMulIntegerToFloat (a, b, s, " args ") }"
#define DYNAMIC(a, b, more, args)                                                           \
  HEAD "g (float" a " a, " b " b" more ") => (float[] y) { y = " MS "DynamicQuantizeMatMul" \
       " (a, b, " args ") }"

static const lowered_case float_cases[] = {
    {.text = TO_FLOAT(", float t", "t"), .is_tame = true},
    {.text = TO_FLOAT(", float[6] t, uint8 z", "t, z"), .is_tame = true},
    {.text = TO_FLOAT(", float[6] t, uint8 z, int8[6] zb, float[6] c", "t, z, zb, c"),
     .is_tame = true},
    {.text = TO_FLOAT(", float[6] t, float[6] c", "t, , , c"), .is_tame = true},
    {.text = TO_FLOAT(", float[5] t", "t"), .lowered = "", .is_tame = true, .fails = true},
    {.text = DYNAMIC("[4,9]", "int8[9,6]", ", float t", "t")},
    {.text = DYNAMIC("[2,3,9]", "uint8[9,6]", ", float[6] t, uint8[6] z", "t, z")},
    {.text = DYNAMIC("[150,300]", "int8[300,6]", ", float t, int8 z, float[6] c", "t, z, c"),
     .is_tame = true},
    {.text = DYNAMIC("[3,9]", "int8[2,9,6]", ", float t", "t")},
    {.text = DYNAMIC("[9]", "int8[9,6]", ", float t", "t")},
};

static void products_of_floats_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(float_cases);
}

#define QLINEAR(t, a, b, y, scales, zb)                                                        \
  HEAD "g (" a " a, " b " b) => (" y "[] y) <float s = {0.1}, " scales ", float u = {0.7}, " t \
       " z = {3}, " zb ", " y " zy = {9}> { y = QLinearMatMul (a, s, z, b, sb, zb, u, zy) }"
#define QGEMM(attrs, y, more, args)                                                            \
  HEAD "g (uint8[5,9] a, int8[9,7] b" more ") => (" y "[] y) <float s = {0.1}, uint8 z = {3}," \
       " float[7] sb = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}, int8 zb = {1}, float u = {2.5},"   \
       " int8 zy = {-9}> { y = " MS "QGemm " attrs "(a, s, z, b, sb, zb" args ") }"

static const lowered_case requantized_cases[] = {
    {.text = QLINEAR("uint8", "uint8[4,9]", "int8[9,3]", "uint8", "float sb = {0.2}",
                     "int8 zb = {-1}")},
    {.text = QLINEAR("int8", "int8[2,4,9]", "uint8[9,3]", "int8", "float[3] sb = {0.2, 0.5, 0.03}",
                     "uint8[3] zb = {1, 2, 3}")},
    {.text = QLINEAR("uint8", "uint8[2,3,4,9]", "uint8[2,3,9,5]", "uint8", "float sb = {0.2}",
                     "uint8 zb = {100}")},
    {.text = QLINEAR("uint8", "uint8[9]", "int8[9,3]", "int8", "float[1] sb = {1.5}",
                     "int8[1] zb = {0}")},
    {.text = QGEMM("", "float", "", "")},
    {.text = QGEMM("", "float", ", int32[7] c", ", c")},
    {.text = QGEMM("<alpha = 0.25> ", "int8", ", int32[7] c", ", c, u, zy")},
    {.text = QGEMM("", "int8", "", ", , u, zy")},
    {.text = QGEMM("", "int8", ", int32[1,7] c", ", c, u, zy")},
    {.text = QGEMM("", "int8", ", int32[5,7] c", ", c, u, zy"), .lowered = ""},
    {.text = HEAD "g (uint8[9,5] a, int8[7,9] b) => (float[] y) <float s = {0.1}, uint8 z = {3}, "
                  "int8[7] zb = {1, 2, 3, 4, 5, 6, 7}> { y = " MS
                  "QGemm <transA = 1, transB = 1> (a, s, z, b, s, zb) }"},
};

static void requantized_products_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(requantized_cases);
}

/* A right side that is large enough to be packed ahead. */
static void expect_packed(const char *inputs, const char *dims, const char *y, const char *body) {
    enum { N_ELEMS = 37 * 41, BYTES = N_ELEMS * 8 + 1024 };
    char *text = test_malloc(BYTES);
    int at = snprintf(text, BYTES, HEAD "g (%s) => (%s[] y) <int8%s w = {", inputs, y, dims);
    for (int i = 0; i < N_ELEMS; i++)
        at += snprintf(text + at, (size_t)(BYTES - at), "%s%d", i ? "," : "", i * 7 % 255 - 127);
    snprintf(text + at, (size_t)(BYTES - at),
             "}, float s = {0.1}, uint8 z = {3}, int8 zb = {2}, float u = {50}> { %s }", body);
    lowered_case c = {.text = text, .is_tame = true};
    expect_lowered_case(&c);
    test_free(text);
}

static void packed_sides_are_lowered(void **state) {
    (void)state;
    expect_packed("uint8[1,37] a", "[37,41]", "int32", "y = MatMulInteger (a, w, z)");
    expect_packed("uint8[3,5,37] a", "[1,37,41]", "int32", "y = MatMulInteger (a, w, z, zb)");
    expect_packed("float[3,5,37] a, float[41] c", "[37,41]", "float",
                  "y = " MS "DynamicQuantizeMatMul (a, w, s, zb, c)");
    expect_packed("uint8[3,37] a", "[37,41]", "float",
                  "y = " MS "MatMulIntegerToFloat (a, w, s, s, z)");
    expect_packed("uint8[3,37] a", "[37,41]", "uint8",
                  "y = QLinearMatMul (a, s, z, w, s, zb, u, z)");
    expect_packed("uint8[20,41] a, int32[37] c", "[37,41]", "uint8",
                  "y = " MS "QGemm <transB = 1> (a, s, z, w, s, zb, c, u, z)");
}

/* Sizes that data decide: the evaluation reads what was packed. */
static void packed_sides_are_evaluated(void **state) {
    (void)state;
    enum { BYTES = 16384 };
    static const char *const bodies[] = {
        "p = Gather (a, i) y = " MS "DynamicQuantizeMatMul (p, w, s, zb)",
        "p = Gather (a, i) q, t, z = DynamicQuantizeLinear (p) m = MatMulInteger (q, w, z) "
        "y = Cast <to = 1> (m)"};
    for (size_t k = 0; k < HN_COUNT(bodies); k++) {
        char *text = test_malloc(BYTES);
        int at = snprintf(text, BYTES,
                          HEAD "g (float[6,37] a, bool[6] b) => (float[] y) <int8[37,41] w = {");
        for (int i = 0; i < 37 * 41; i++)
            at +=
                snprintf(text + at, (size_t)(BYTES - at), "%s%d", i ? "," : "", i * 7 % 255 - 127);
        snprintf(text + at, (size_t)(BYTES - at),
                 "}, float s = {0.1}, int8 zb = {2}, int64[1] flat = {-1}> "
                 "{ n = NonZero (b) i = Reshape (n, flat) %s }",
                 bodies[k]);
        lowered_case c = {.text = text, .lowered = "", .is_tame = true};
        expect_lowered_case(&c);
        test_free(text);
    }
}

/* A constant of n int8 or uint8, as text. */
static int put_bytes(char *text, int bytes, int at, const char *type_and_name, int n) {
    int least = type_and_name[0] == 'u' ? 0 : -127;
    at += snprintf(text + at, (size_t)(bytes - at), "%s = {", type_and_name);
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, (size_t)(bytes - at), "%s%d", i ? "," : "", i * 7 % 255 + least);
    return at + snprintf(text + at, (size_t)(bytes - at), "}, ");
}

/* An operator that is evaluated with weights that were made ready once. */
static void weights_of_layers_are_kept(void **state) {
    (void)state;
    enum { BYTES = 32768 };
    char *text = test_malloc(BYTES);
    int at = snprintf(text, BYTES, HEAD "g (uint8[1,3,32] x, float[48] c) => (float[] y) <");
    at = put_bytes(text, BYTES, at, "int8[32,48] w", 32 * 48);
    snprintf(text + at, (size_t)(BYTES - at),
             "float s = {0.01}, float t = {0.02}, uint8 z = {120}, int8 v = {3}> { y = " MS
             "QAttention <num_heads = 2> (x, w, c, s, t, , z, v) }");
    expect_lowered_case(&(lowered_case){.text = text, .lowered = "", .is_tame = true});
    test_free(text);
}

/* Layers with weights of 16 inputs and 16 units in `dirs` directions. Where bytes are multiplied
 * the sums differ from those of floats in their last bits, and a state that lies between two bytes
 * may then be rounded to the other. */
static void expect_lstm(int dirs, const char *type, const char *inputs, const char *call,
                        const char *lowered) {
    enum { BYTES = 65536 };
    char *text = test_malloc(BYTES), name[40];
    int at =
        snprintf(text, BYTES, HEAD "g (float[5,2,16] x%s) => (float[] y, float[] h) <", inputs);
    snprintf(name, sizeof name, "%s[%d,16,64] w", type, dirs);
    at = put_bytes(text, BYTES, at, name, dirs * 16 * 64);
    snprintf(name, sizeof name, "%s[%d,16,64] r", type, dirs);
    at = put_bytes(text, BYTES, at, name, dirs * 16 * 64);
    snprintf(text + at, (size_t)(BYTES - at),
             "float[1] s = {0.002}, float[1] t = {0.003}, int8[1] z = {0}, float[2] s2 = {0.002,"
             " 0.001}, uint8[2] z2 = {130, 90}, float[2] t2 = {0.001, 0.004}, int32[2] n = {5, 3}> "
             "{ y, h = " MS "DynamicQuantizeLSTM %s }",
             call);
    expect_lowered_case(&(lowered_case){.text = text,
                                        .lowered = hn_gemm_int8_is_fast() ? lowered : "",
                                        .most = 5,
                                        .tolerance = 2e-3,
                                        .is_tame = true});
    test_free(text);
}

static void quantized_lstms_are_lowered(void **state) {
    (void)state;
    expect_lstm(1, "int8", "", "<hidden_size = 16> (x, w, r, , , , , , s, z, t, z)", NULL);
    expect_lstm(1, "int8", ", float[1,128] b",
                "<hidden_size = 16, direction = \"reverse\"> (x, w, r, b, n, , , , s, z, t, z)",
                NULL);
    expect_lstm(
        2, "uint8", ", float[2,128] b, float[2,2,16] h0, float[2,2,16] c0, float[2,48] p",
        "<hidden_size = 16, direction = \"bidirectional\"> (x, w, r, b, , h0, c0, p, s2, z2,"
        " t2, z2)",
        NULL);
    expect_lstm(
        1, "int8", "",
        "<hidden_size = 16, activations = [\"Sigmoid\", \"Relu\", \"Tanh\"]> (x, w, r, , , ,"
        " , , s, z, t, z)",
        "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matmul_integer_is_lowered),
                                       cmocka_unit_test(products_of_floats_are_lowered),
                                       cmocka_unit_test(requantized_products_are_lowered),
                                       cmocka_unit_test(packed_sides_are_lowered),
                                       cmocka_unit_test(packed_sides_are_evaluated),
                                       cmocka_unit_test(weights_of_layers_are_kept),
                                       cmocka_unit_test(quantized_lstms_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
