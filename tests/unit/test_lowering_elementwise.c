/* Lowered functions of one, two and more operands, Clip and quantization: the same bytes as their
 * evaluations make. */
#include "lowered_case.h"

#define UNARY(op, type, dims) \
  { .text = TEXT_HEAD "g (" type "[" dims "] x) => (" type "[" dims "] y) { y = " op " (x) }" }

static const lowered_case unary_cases[] = {
    UNARY("Relu", "float", "3,5"),
    UNARY("Relu", "float16", "3,500"),
    UNARY("Sigmoid", "bfloat16", "17"),
    UNARY("Tanh", "double", "3,5"),
    UNARY("Abs", "int8", "300"),
    UNARY("Neg", "int64", "2,2"),
    UNARY("Sign", "int32", "1"),
    UNARY("Relu", "int32", "40000"),
    UNARY("Not", "bool", "3,5"),
    UNARY("BitwiseNot", "uint16", "9"),
    {.text = TEXT_HEAD "g (float[0] x) => (float[0] y) { y = Relu (x) }", .lowered = ""},
    {.text = TEXT_HEAD "g (float[30] x) => (bool[30] y, bool[30] z) {"
                       " y = IsNaN (x) z = IsInf <detect_negative = 0> (x) }"},
    {.text = TEXT_HEAD "g (float16[30] x) => (bool[30] y, bool[30] z) {"
                       " y = IsNaN (x) z = IsInf (x) }"},
    /* Rows that are not contiguous. */
    {.text = TEXT_HEAD "g (int32[4,3] a, int32[4,5] b) => (int32[4,8] y) {"
                       " p = Neg (a) q = Abs (b) y = Concat <axis = 1> (p, q) }",
     .lowered = "p q"},
    {.text = TEXT_HEAD "g (float16[4,3] a, float16[4,5] b) => (float16[4,8] y) {"
                       " p = Neg (a) q = Abs (b) y = Concat <axis = 1> (p, q) }",
     .lowered = "p q"},
};

#define BINARY(op, type, left, right, result, out)                                                 \
  {                                                                                                \
    .text = TEXT_HEAD "g (" type "[" left "] a, " type "[" right "] b) => (" result "[" out "] y)" \
                      " { y = " op " (a, b) }"                                                     \
  }
#define BROADCASTS(op, type, result)                                                          \
  BINARY(op, type, "3,5", "3,5", result, "3,5"), BINARY(op, type, "3,5", "1", result, "3,5"), \
      BINARY(op, type, "1", "7", result, "7"), BINARY(op, type, "2,3,1", "1,3,4", result, "2,3,4")

static const lowered_case binary_cases[] = {
    BROADCASTS("Add", "float16", "float16"),
    BROADCASTS("Sub", "bfloat16", "bfloat16"),
    BROADCASTS("Mul", "double", "double"),
    BROADCASTS("Add", "int64", "int64"),
    BROADCASTS("Less", "float16", "bool"),
    BROADCASTS("Greater", "int32", "bool"),
    BROADCASTS("Equal", "bool", "bool"),
    BROADCASTS("Equal", "int64", "bool"),
    BROADCASTS("And", "bool", "bool"),
    BROADCASTS("Xor", "bool", "bool"),
    BINARY("PRelu", "float", "2,3,5", "3,1", "float", "2,3,5"),
    BINARY("PRelu", "float", "7", "1", "float", "7"),
    BINARY("PRelu", "float16", "2,3,5", "2,3,5", "float16", "2,3,5"),
    BINARY("PRelu", "int32", "2,3,5", "5", "int32", "2,3,5"),
    BROADCASTS("Pow", "float", "float"),
    BROADCASTS("Pow", "int32", "int32"),
    BROADCASTS("Div", "float", "float"),
    BROADCASTS("Mod <fmod = 1>", "float", "float"),
    BROADCASTS("BitShift <direction = \"LEFT\">", "uint8", "uint8"),
    BROADCASTS("BitShift <direction = \"RIGHT\">", "uint32", "uint32"),
    BROADCASTS("Max", "float", "float"),
    BROADCASTS("Min", "int64", "int64"),
    BROADCASTS("Mean", "float", "float"),
    BROADCASTS("Sum", "float16", "float16"),
    {.text = TEXT_HEAD "g (float[2,3] a, float[3] b, float[2,1] c, float[1] d) => (float[2,3] y,"
                       " float[2,3] z) { y = Mean (a, b, c, d) z = Max (d, c, b, a) }"},
    {.text = TEXT_HEAD "g (float[5] a) => (float[5] y) { y = Sum (a) }", .lowered = ""},
    {.text = TEXT_HEAD "g (float[300] x) => (float[300] y, float[300] z, float[300] h)"
                       " <float two = {2}, float three = {3}, float half = {0.5}> {"
                       " y = Pow (x, two) z = Pow (x, three) h = Pow (x, half) }"},
    {.text = TEXT_HEAD "g (int32[3,4] x) => (int32[3,4] y, int32[3,4] z, int32[3,4] w)"
                       " <int32[4] by = {3, -2, 7, -1}> {"
                       " y = Div (x, by) z = Mod (x, by) w = Mod <fmod = 1> (x, by) }"},
    {.text = TEXT_HEAD "g (int64[3] x, int64[3] by) => (int64[3] y) { y = Div (x, by) }",
     .most = 1,
     .fails = true},
    {.text = TEXT_HEAD "g (int64[3] x) => (int64[3] y) <int64[3] by = {1, 0, 2}> {"
                       " y = Mod (x, by) }",
     .fails = true},
    {.text = TEXT_HEAD "g (float16[4,6] a) => (float16[4,3] y) {"
                       " p, q = Split <axis = 1, num_outputs = 2> (a) y = Add (p, q) }",
     .lowered = "y"},
};

#define MS_HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

static const lowered_case gelu_cases[] = {
    {.text = MS_HEAD "g (float[3,5] x, float[5] b) => (float[3,5] y, float[3,5] z, float[3,5] w) {"
                     " y = com.microsoft.BiasGelu (x, b) z = com.microsoft.FastGelu (x, b)"
                     " w = com.microsoft.QuickGelu <alpha = 1.5> (x) }"},
    {.text = MS_HEAD "g (float16[3,5] x, float16[5] b) => (float16[3,5] y, float16[3,5] z) {"
                     " y = com.microsoft.BiasGelu (x, b) z = com.microsoft.Gelu (x) }",
     .lowered = ""},
    {.text = MS_HEAD "g (float[0,5] x, float[5] b) => (float[0,5] y) {"
                     " y = com.microsoft.BiasGelu (x, b) }",
     .lowered = ""},
    {.text = "<ir_version: 10, opset_import: [\"\" : 28]>\n"
             "g (float[3,5] a, float[3,5] b) => (float[3,5] y) { y = SwiGLU (a, b) }"},
};

#define CLIP(type, n, low, high)                                                         \
  {                                                                                      \
    .text = TEXT_HEAD "g (" type "[" n "] x) => (" type "[" n "] y) <" type " a = {" low \
                      "}, " type " b = {" high "}> { y = Clip (x, a, b) }"               \
  }

static const lowered_case clip_cases[] = {
    CLIP("float", "3,5", "-1", "2"),
    CLIP("float", "40000", "2", "-1"),
    CLIP("double", "50", "-1", "2"),
    CLIP("int32", "50", "-10", "20"),
    CLIP("uint8", "50", "3", "20"),
    {.text = TEXT_HEAD "g (float[30] x, float a, float b) => (float[30] y) { y = Clip (x, a, b) }"},
    {.text = TEXT_HEAD "g (float16[30] x, float16 a) => (float16[30] y, float16[30] z) {"
                       " y = Clip (x, , a) z = Clip (x, a) }"},
    {.text = TEXT_HEAD "g (int8[30] x) => (int8[30] y) { y = Clip (x) }", .lowered = ""},
    {.text = "<ir_version: 4, opset_import: [\"\" : 6]>\n"
             "g (float[30] x) => (float[30] y, float[30] z) {"
             " y = Clip <min = -1.5, max = 0.5> (x) z = Clip <max = 0.5> (x) }"},
};

static const lowered_case quantize_cases[] = {
    {.text = TEXT_HEAD "g (float[3,700] x) => (uint8[3,700] y)"
                       " <float s = {0.03}, uint8 z = {128}> { y = QuantizeLinear (x, s, z) }",
     .is_tame = true},
    {.text = TEXT_HEAD "g (float[3,5] x) => (int8[3,5] y)"
                       " <float[5] s = {0.1, 0.2, 0.3, 0.4, 0.5}, int8[5] z = {0, 1, 2, 3, -4}> {"
                       " y = QuantizeLinear <axis = 1> (x, s, z) }",
     .is_tame = true},
    {.text = TEXT_HEAD "g (float[3,5] x, float s) => (uint8[3,5] y) { y = QuantizeLinear (x, s) }",
     .is_tame = true},
    {.text = TEXT_HEAD "g (uint8[3,5] x, float s, uint8 z) => (float[3,5] y) {"
                       " y = DequantizeLinear (x, s, z) }",
     .is_tame = true},
    {.text =
         TEXT_HEAD "g (int8[3,700] x) => (float[3,700] y)"
                   " <float[3] s = {0.1, 0.2, 0.3}> { y = DequantizeLinear <axis = 0> (x, s) }"},
    {.text = TEXT_HEAD "g (int8[4,3] x, float16[2,3] s) => (float16[4,3] y) {"
                       " y = DequantizeLinear <axis = 0, block_size = 2> (x, s) }",
     .is_tame = true},
    {.text = TEXT_HEAD "g (float[3,5] x) => (uint8[3,5] y, float s, uint8 z) {"
                       " y, s, z = DynamicQuantizeLinear (x) }",
     .is_tame = true},
};

static void functions_of_one_operand_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(unary_cases);
    EXPECT_LOWERED_CASES(clip_cases);
    EXPECT_LOWERED_CASES(gelu_cases);
}

static void functions_of_more_operands_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(binary_cases);
}

static void quantization_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(quantize_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_operand_are_lowered),
        cmocka_unit_test(functions_of_more_operands_are_lowered),
        cmocka_unit_test(quantization_is_lowered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
