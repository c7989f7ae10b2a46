/* Shapes in the memory layouts of onnxruntime. */
#include "infer_case.h"

#define HEAD                                                           \
  "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, " \
  "\"com.microsoft.nchwc\" : 1, \"com.ms.internal.nhwc\" : 19]>\n"
#define ONE(inputs, call) HEAD "g (" inputs ") => (y) { y = " call " }"
#define NCHWC "com.microsoft.nchwc."

static const typed_case typed[] = {
    {ONE("float[n,16,h,w] x", NCHWC "ReorderInput (x)"), "float[n,16,h,w]", "y"},
    {ONE("float[n,h,w,32] x", NCHWC "ReorderInput <channels_last = 1> (x)"), "float[n,32,h,w]",
     "y"},
    {ONE("float[n,12,h,w] x", NCHWC "ReorderInput (x)"), "float[n,?,h,w]", "y"},
    {ONE("float[n,16,h,w] x", NCHWC "ReorderOutput <channels = 12> (x)"), "float[n,12,h,w]", "y"},
    {ONE("float[n,16,h,w] x", NCHWC "ReorderOutput <channels = 12, channels_last = 1> (x)"),
     "float[n,h,w,12]", "y"},
    {ONE("float[n,16,7,7] x, float[32,16,3,3] k", NCHWC "Conv <strides = [2, 2]> (x, k)"),
     "float[n,32,3,3]", "y"},
    {ONE("float[n,16,h,7] x, float[32,16,3,3] k", NCHWC "Conv <pads = [1, 1, 1, 1]> (x, k)"),
     "float[n,32,h,7]", "y"},
    {ONE("float[n,16,7,7] x", NCHWC "MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"),
     "float[n,16,3,3]", "y"},
    {ONE("float[n,16,7,7] x",
         NCHWC "AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)"),
     "float[n,16,4,4]", "y"},
    {ONE("float[n,16,7,7] x", NCHWC "GlobalAveragePool (x)"), "float[n,16,1,1]", "y"},
    {ONE("float[n,16,7,w] x", NCHWC "Upsample <scales = [1, 1, 2, 3]> (x)"), "float[n,16,14,3*w]",
     "y"},
    {ONE("float[n,7,7,4] x, float[8,4,3,3] k", "com.microsoft.NhwcConv (x, k)"), "float[n,5,5,8]",
     "y"},
    {ONE("float[n,7,7,4] x, float[8,2,3,3] k", "com.microsoft.NhwcFusedConv <group = 2> (x, k)"),
     "float[n,5,5,8]", "y"},
    {ONE("uint8[n,7,7,4] x", "com.microsoft.NhwcMaxPool <kernel_shape = [3, 3]> (x)"),
     "uint8[n,5,5,4]", "y"},
    {ONE("float[n,7,7,4] x", "com.ms.internal.nhwc.AveragePool <kernel_shape = [3, 3]> (x)"),
     "float[n,5,5,4]", "y"},
};

static const wrong_case wrong[] = {
    {ONE("float[n] x", NCHWC "ReorderInput (x)"), "rank 2 or more"},
    {ONE("float[n,16,h,w] x", NCHWC "ReorderOutput (x)"), "channels is 0"},
    {ONE("float[n,16,h,w] x", NCHWC "Upsample <scales = [1, 1, 2]> (x)"), "scales has 3 entries"},
    {ONE("float[n,16,h,w] x", NCHWC "Upsample <scales = [1, 1, 2, 0]> (x)"), "must be 1 or more"},
    {ONE("float[n,7,7,4] x, float[8,3,3,3] k", "com.microsoft.NhwcConv (x, k)"), "channels"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(ONE("float[1,7,7,4] x, float[8,4,3,3] k", "com.microsoft.NhwcConv (x, k)"), "y",
                5 * 5 * 8 * 4 * 9);
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
