/* Lowered convolutions of bytes: the same bytes as their evaluations make. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "lowered_case.h"

#define CONV_HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"hone\" : 1]>\n"

/* Filters [3,2,2,2] and [4,1,2,2], one scale and one zero point or one per filter. */
#define CONV_PARAMS                                                                             \
  " <float xs = {0.05}, uint8 xz = {7}, int8 xsz = {-9}, float ys = {0.11}, uint8 yz = {100},"  \
  " int8 ysz = {3}, float zs = {0.07}, uint8 zz = {20}, float cs = {0.09}, uint8 cz = {60},"    \
  " int8[3,2,2,2] w = {1, -2, 3, -4, 127, -128, 5, 6, -7, 8, 9, -10, 11, 12, -13, 14, 15, -16," \
  " 17, 18, -19, 20, 21, -22}, float[3] ws = {0.1, 0.02, 0.3}, int8[3] wz = {0, 0, 0},"         \
  " uint8[3,2,2,2] u = {1, 255, 3, 4, 127, 128, 5, 6, 7, 8, 9, 10, 0, 12, 13, 14, 15, 16, 17,"  \
  " 18, 19, 20, 21, 22}, uint8[3] uz = {128, 3, 250}, float us = {0.04}, uint8 uz1 = {17},"     \
  " int8[4,1,2,2] d = {1, -2, 3, -4, 127, -128, 5, 6, -7, 8, 9, -10, 11, 12, -13, 14},"         \
  " float ds = {0.2}, int8 dz = {0}, int8 dz1 = {-5}, int32[3] b = {100, -2000, 30000},"        \
  " int32[4] b4 = {1, 20, -300, 4000}, float[3] fb = {0.5, -1, 2}> "

#define CONV(inputs, result, call)                                                            \
  {                                                                                           \
    .text = CONV_HEAD "g (" inputs ") => (" result " y)" CONV_PARAMS "{ y = hone." call " }", \
    .most = 300, .is_tame = true                                                              \
  }

static const lowered_case byte_conv_cases[] = {
    CONV("uint8[2,5,6,2] x", "uint8[2,4,5,3]", "QLinearConv (x, xs, xz, w, ws, wz, ys, yz, b)"),
    CONV("uint8[1,5,6,2] x", "int8[1,6,7,3]",
         "QLinearConv <pads = [1, 1, 1, 1]> (x, xs, xz, w, ws, wz, ys, ysz)"),
    CONV("int8[2,5,6,2] x", "uint8[2,3,3,3]",
         "QLinearConv <pads = [1, 0, 0, 1], strides = [2, 2]> (x, xs, xsz, u, us, uz1, ys, yz, b)"),
    CONV("uint8[1,5,6,2] x", "uint8[1,3,4,3]",
         "QLinearConv <dilations = [2, 2]> (x, xs, xz, u, ws, uz, ys, yz, b)"),
    CONV("uint8[2,5,6,4] x", "uint8[2,6,7,4]",
         "QLinearConv <group = 4, pads = [1, 1, 1, 1]> (x, xs, xz, d, ds, dz, ys, yz, b4)"),
    CONV("int8[2,5,6,4] x", "uint8[2,4,5,4]",
         "QLinearConv <group = 4> (x, xs, xsz, d, ds, dz1, ys, yz, b4)"),
    CONV("uint8[1,5,6,2] x", "float[1,4,5,3]",
         "QLinearConv <activation = \"Relu\"> (x, xs, xz, w, ws, wz, , , b)"),
    CONV(
        "uint8[1,5,6,2] x, uint8[1,4,5,3] z", "uint8[1,4,5,3]",
        "QLinearConv <activation = \"Relu\"> (x, xs, xz, w, ws, wz, ys, yz, b, z, zs, zz, cs, cz)"),
    CONV("float[2,5,6,2] x", "float[2,4,5,3]", "DynamicConv (x, w, ws, wz, fb)"),
    CONV("float[1,5,6,2] x, float[1,4,5,3] z", "float[1,4,5,3]",
         "DynamicConv <activation = \"Tanh\"> (x, u, us, uz1, fb, z)"),
};

static void test_byte_convs(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(byte_conv_cases); i++) {
        lowered_case c = byte_conv_cases[i];
        c.lowered = hn_gemm_int8_is_fast() ? NULL : "";
        expect_lowered_cases(&c, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_byte_convs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
