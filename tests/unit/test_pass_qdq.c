/* Quantization that cancels, and clipping that it implies. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define QDQ .passes = "qdq"
#define PARAMS "float s = {0.5}, uint8 z = {3}"

static const pass_case cancelled[] = {
    {QDQ,
     .text = HEAD "g (uint8[2,3] x) => (uint8[2,3] y) <" PARAMS "> {"
                  " h = DequantizeLinear (x, s, z) y = QuantizeLinear (h, s, z) }",
     .expected = HEAD "g (uint8[2,3] x) => (uint8[2,3] y) { y = Identity (x) }"},
    {QDQ, /* equal constants; the floats have another reader; an absent zero point */
     .text = HEAD "g (uint8[2,3] x) => (uint8[2,3] y, float[2,3] h) <float s = {0.5},"
                  " float t = {0.5}, uint8 z = {0}> {"
                  " h = DequantizeLinear (x, s) q = QuantizeLinear (h, t, z) y = Max (q) }",
     .expected = HEAD "g (uint8[2,3] x) => (uint8[2,3] y, float[2,3] h) <float s = {0.5}> {"
                      " h = DequantizeLinear (x, s) y = Max (x) }"},
    {QDQ, /* scales per channel */
     .text = HEAD "g (int8[2,3] x) => (int8[2,3] y) <float[3] s = {1, 2, 3}, int8[3] z = {0, 1, 2}>"
                  " { h = DequantizeLinear <axis = 1> (x, s, z)"
                  " q = QuantizeLinear <axis = 1> (h, s, z) y = Max (q) }",
     .expected = HEAD "g (int8[2,3] x) => (int8[2,3] y) { y = Max (x) }"},
    {QDQ, /* data movement of bytes instead of floats */
     .text = HEAD "g (uint8[1,4,4,4] x) => (uint8[1,2,2,4] y) <" PARAMS "> {"
                  " h = DequantizeLinear (x, s, z)"
                  " i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (h)"
                  " j = Transpose <perm = [0, 3, 2, 1]> (i) y = QuantizeLinear (j, s, z) }",
     .expected = HEAD "g (uint8[1,4,4,4] x) => (uint8[1,2,2,4] y) {"
                      " i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"
                      " y = Transpose <perm = [0, 3, 2, 1]> (i) }"},
    {QDQ, /* negative numbers become 0 */
     .text = HEAD "g (float[2,3] x) => (uint8[2,3] y) <float s = {0.5}, uint8 z = {0}> {"
                  " h = Relu (x) y = QuantizeLinear (h, s, z) }",
     .expected = HEAD "g (float[2,3] x) => (uint8[2,3] y) <float s = {0.5}, uint8 z = {0}> {"
                      " y = QuantizeLinear (x, s, z) }"},
    {QDQ, /* 6 maps to 127, and so do larger numbers */
     .text = HEAD "g (float[2,3] x) => (int8[2,3] y) <float s = {0.02353}, int8 z = {-128},"
                  " float lo = {0}, float hi = {6}> {"
                  " h = Clip (x, lo, hi) y = QuantizeLinear (h, s, z) }",
     .expected = HEAD "g (float[2,3] x) => (int8[2,3] y) <float s = {0.02353}, int8 z = {-128}> {"
                      " y = QuantizeLinear (x, s, z) }"},
};

static void test_cancels(void **state) {
    (void)state;
    expect_passes(cancelled, HN_COUNT(cancelled));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* another scale, another zero point, another type, another axis */
        HEAD "g (uint8[2,3] x) => (uint8[2,3] y) <" PARAMS ", float t = {0.25}> {"
             " h = DequantizeLinear (x, s, z) y = QuantizeLinear (h, t, z) }",
        HEAD "g (uint8[2,3] x) => (uint8[2,3] y) <" PARAMS ", uint8 u = {4}> {"
             " h = DequantizeLinear (x, s, z) y = QuantizeLinear (h, s, u) }",
        HEAD "g (uint8[2,3] x) => (int8[2,3] y) <float s = {0.5}, int8 z = {0}> {"
             " h = DequantizeLinear (x, s) y = QuantizeLinear (h, s, z) }",
        HEAD "g (int8[2,2] x) => (int8[2,2] y) <float[2] s = {1, 2}, int8[2] z = {0, 1}>"
             " { h = DequantizeLinear <axis = 1> (x, s, z)"
             " y = QuantizeLinear <axis = 0> (h, s, z) }",
        /* a scale whose division does not undo the multiplication */
        HEAD "g (uint8[2,3] x) => (uint8[2,3] y) <float s = {0}, uint8 z = {3}> {"
             " h = DequantizeLinear (x, s, z) y = QuantizeLinear (h, s, z) }",
        /* half precision in between has 11 bits */
        "<ir_version: 11, opset_import: [\"\" : 23]>\n"
        "g (uint16[4] x) => (uint16[4] y) <float s = {0.5}> {"
        " h = DequantizeLinear <output_dtype = 10> (x, s)"
        " y = QuantizeLinear <output_dtype = 4> (h, s) }",
        /* computation, not data movement */
        HEAD "g (uint8[2,3] x) => (uint8[2,3] y) <" PARAMS "> {"
             " h = DequantizeLinear (x, s, z) i = Sqrt (h) y = QuantizeLinear (i, s, z) }",
        /* the moved floats have another reader */
        HEAD "g (uint8[2,3] x) => (uint8[3,2] y, float[3,2] i) <" PARAMS "> {"
             " h = DequantizeLinear (x, s, z) i = Transpose (h) y = QuantizeLinear (i, s, z) }",
        /* scales per channel do not move */
        HEAD "g (int8[2,2] x) => (int8[2,2] y) <float[2] s = {1, 2}, int8[2] z = {0, 1}>"
             " { h = DequantizeLinear (x, s, z) i = Transpose (h) y = QuantizeLinear (i, s, z) }",
        /* negative numbers can be represented */
        HEAD "g (float[2,3] x) => (uint8[2,3] y) <" PARAMS "> {"
             " h = Relu (x) y = QuantizeLinear (h, s, z) }",
        /* more than 6 can be represented */
        HEAD "g (float[2,3] x) => (uint8[2,3] y) <float s = {0.1}, uint8 z = {0}, float lo = {0},"
             " float hi = {6}> { h = Clip (x, lo, hi) y = QuantizeLinear (h, s, z) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){QDQ, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancels),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
