/* Inference of convolutions and transposed convolutions. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(22, "float[n,3,224,224] x, float[64,3,7,7] w",
          "Conv <pads = [3, 3, 3, 3], strides = [2, 2]> (x, w)"),
     "float[n,64,112,112]", "y"},
    {NODE(22, "float[n,3,h,w] x, float[8,3,3,3] f", "Conv (x, f)"), "float[n,8,h - 2,w - 2]", "y"},
    {NODE(22, "float[n,3,h] x, float[8,3,3] f",
          "Conv <auto_pad = \"SAME_UPPER\", strides = [2]> (x, f)"),
     "float[n,8,floor((h + 1)/2)]", "y"},
    {NODE(22, "float[n,3,9] x, float[8,3,2] f",
          "Conv <auto_pad = \"VALID\", dilations = [4]> (x, f)"),
     "float[n,8,5]", "y"},
    {NODE(22, "float[n,4,5] x, float[8,2,1] f, float[8] b", "Conv <group = 2> (x, f, b)"),
     "float[n,8,5]", "y"},
    {NODE(22, "float[n,4,5,5] x, float[] f", "Conv <kernel_shape = [3, 3]> (x, f)"),
     "float[n,?,3,3]", "y"},
    {NODE(22, "float[] x, float[8,4,3] f", "Conv (x, f)"), "float[?,8,?]", "y"},
    {NODE(22, "float[1,4,0] x, float[8,4,1] f", "Conv (x, f)"), "float[1,8,0]", "y"},
    {NODE(10, "uint8[1,1,4,4] x, int8[2,1,2,2] f", "ConvInteger (x, f)"), "int32[1,2,3,3]", "y"},
    {NODE(10, "uint8[1,2,4] x, float s, uint8 z, int8[2,2,2] f, int8 fz, int8 yz",
          "QLinearConv (x, s, z, f, s, fz, s, yz)"),
     "int8[1,2,3]", "y"},
    {NODE(10, "uint8[1,4,2] x, float s, uint8 z, int8[6,2,2] f, int8 fz, int8 yz",
          "com.microsoft.QLinearConv <channels_last = 1> (x, s, z, f, s, fz, s, yz)"),
     "int8[1,3,6]", "y"},
    {NODE(22, "float[1,1,3,3] x, float[1,1,2,2] f, float[1,8,2,2] o", "DeformConv (x, f, o)"),
     "float[1,1,2,2]", "y"},

    /* transposed */
    {NODE(22, "float[1,1,3,w] x, float[1,2,3,3] f", "ConvTranspose <strides = [3, 2]> (x, f)"),
     "float[1,2,9,2*w + 1]", "y"},
    {NODE(22, "float[1,2,3] x, float[2,3,3] f",
          "ConvTranspose <group = 2, output_padding = [1], pads = [1, 0], strides = [2]> (x, f)"),
     "float[1,6,7]", "y"},
    {NODE(22, "float[1,1,h,3] x, float[1,2,3,3] f",
          "ConvTranspose <output_shape = [10, 8], strides = [3, 2]> (x, f)"),
     "float[1,2,10,8]", "y"},
    {NODE(22, "float[1,1,h] x, float[1,2,3] f",
          "ConvTranspose <auto_pad = \"SAME_LOWER\", strides = [2]> (x, f)"),
     "float[1,2,2*h]", "y"},

    /* with a carried state */
    {NODES(27, "float[b,c,8] x, float[4,1,3] f", "y, s = CausalConvWithState (x, f)"),
     "float[b,4,2]", "s"},
    {NODES(
         27, "float[b,t,4] x, float[4,1,3] f",
         "y, s = com.microsoft.CausalConvWithState <channels_last = 1, dilation = 2, state_window "
         "= 2> (x, f)"),
     "float[2,b,4,4]", "s"},
};

static const wrong_case wrong[] = {
    {NODE(22, "float[1,3,8] x, float[2,4,3] f", "Conv (x, f)"), "has 3 channels"},
    {NODE(22, "float[1,3,8,8] x, float[2,3,3] f", "Conv (x, f)"), "same rank"},
    {NODE(22, "float[1,3] x, float[2,3] f", "Conv (x, f)"), "rank 3 or more"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f", "Conv <group = 0> (x, f)"), "group is 0"},
    {NODE(22, "float[1,4,8] x, float[3,2,3] f", "Conv <group = 2> (x, f)"), "3 filters"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f, float[3] b", "Conv (x, f, b)"), "both 2 and 3"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f", "Conv <strides = [0]> (x, f)"), "strides holds 0"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f", "Conv <pads = [1]> (x, f)"), "pads has 1 values"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f", "Conv <kernel_shape = [2]> (x, f)"),
     "kernel_shape says 2"},
    {NODE(22, "float[1,3,8] x, float[2,3,3] f", "Conv <auto_pad = \"SAME\"> (x, f)"),
     "auto_pad is 'SAME'"},
    {NODE(22, "float[1,3,2] x, float[2,3,9] f", "Conv (x, f)"), "spans 9 elements"},
    {NODE(22, "float[1,3,9] x, float[2,3,3] f",
          "Conv <pads = [9223372036854775807, 9223372036854775807]> (x, f)"),
     "too large"},
    {NODE(22, "float[1,3,9] x, float[2,3,3] f", "ConvTranspose (x, f)"), "both 3 and 2"},
    {NODE(22, "float[1,2,9] x, float[2,3,3] f",
          "ConvTranspose <auto_pad = \"VALID\", pads = [0, 0]> (x, f)"),
     "cannot be used together"},
    {NODE(22, "float[1,2,1] x, float[2,3,1] f", "ConvTranspose <pads = [2, 2]> (x, f)"),
     "padding removes more"},
    {NODES(27, "float[1,2,8] x, float[3,1,3] f", "y, s = CausalConvWithState (x, f)"),
     "both 2 and 3"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(NODE(22, "float[2,4,5,5] x, float[8,2,3,3] f", "Conv <group = 2> (x, f)"), "y",
                2 * 8 * 3 * 3 * (2 * 3 * 3));
    expect_macs(NODE(22, "float[2,4,5] x, float[4,3,2] f", "ConvTranspose (x, f)"), "y",
                2 * 4 * 5 * (3 * 2));
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
