/* Shapes of the quantized operators of com.microsoft. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."
#define ONE(inputs, call) HEAD "g (" inputs ", float e, uint8 o) => (y) { y = " MS call " }"

#define QKV                                                                           \
  HEAD "g (float[b,s,64] a, float[64] n, uint8[8,2,16] w, float[16] c) => (q, k, v) " \
       "{ q, k, v = " MS "MatMulNBitsQkv <K = 64, Nq = 8, Nkv = 4, block_size = 32> " \
       "(a, , n, w, c, , w, c, , w, c) }"
#define LSTM                                                                           \
  HEAD "g (float[s,b,4] x, uint8[2,4,24] w, uint8[2,6,24] r, float[2] c, uint8[2] z) " \
       "=> (y, h) { y, h = " MS "DynamicQuantizeLSTM <direction = \"bidirectional\"> " \
       "(x, w, r, , , , , , c, z, c, z) }"

static const typed_case typed[] = {
    {ONE("float[b,s,4] a, uint8[4,n] w", "DynamicQuantizeMatMul (a, w, e, o)"), "float[b,s,n]",
     "y"},
    {ONE("uint8[b,s,4] a, uint8[4,n] w", "MatMulIntegerToFloat (a, w, e, e, o, o)"), "float[b,s,n]",
     "y"},
    {ONE("uint8[m,4] a, uint8[n,4] w", "QGemm <transB = 1> (a, e, o, w, e, o)"), "float[m,n]", "y"},
    {ONE("uint8[m,4] a, uint8[4,n] w", "QGemm (a, e, o, w, e, o, , e, o)"), "uint8[m,n]", "y"},
    {ONE("float[b,s,64] a, uint8[9,2,16] w, float[18] c",
         "MatMulNBits <K = 64, N = 9, block_size = 32> (a, w, c)"),
     "float[b,s,9]", "y"},
    {ONE("float[b,s,9] a, uint8[288] w, float[9] c",
         "MatMulBnb4 "
         "<K = 64, N = 9, block_size = 64, quant_type = 1, transB = 0> (a, w, c)"),
     "float[b,s,64]", "y"},
    {QKV, "float[b,s,8]", "q"},
    {QKV, "float[b,s,4]", "v"},
    {HEAD "g (float[b,s,32] a, uint8[200] w) => (y) <int64[2] d = {32, 10}> { y = " MS
          "MatMulFpQ4 (a, w, d) }",
     "float[b,s,10]", "y"},
    {ONE("float16[b,64] a, uint8[9,32] w, uint8[9,4] c",
         "MatMulBlockQuantizedFp4Weight (a, w, c, e)"),
     "float16[b,9]", "y"},
    {ONE("uint8[12,32] d, int64[b,s] i, float[12,2] c", "GatherBlockQuantized "
                                                        "<block_size = 32> (d, i, c)"),
     "float[b,s,64]", "y"},
    {ONE("int4[12,32] d, int64[b] i, float[12,1] c",
         "GatherBlockQuantized "
         "<block_size = 32, gather_axis = 1, quantize_axis = 1> (d, i, c)"),
     "float[12,b]", "y"},
    {ONE("uint8[b,1,4] x, uint8[3,1] z", "QLinearAdd (x, e, o, z, e, o, e, o)"), "uint8[b,3,4]",
     "y"},
    {ONE("bool[b,1] c, uint8[b,3] x, uint8[3] z", "QLinearWhere (c, x, e, o, z, e, o, e, o)"),
     "uint8[b,3]", "y"},
    {ONE("uint8[b,n] x", "QLinearSoftmax <opset = 13> (x, e, o, e, o)"), "uint8[b,n]", "y"},
    {ONE("uint8[b,3] x, uint8[b,n] z", "QLinearConcat <axis = -1> (e, o, x, e, o, z, e, o)"),
     "uint8[b,n + 3]", "y"},
    {ONE("uint8[b,8,8,4] x", "QLinearAveragePool <channels_last = 1, kernel_shape = [2, 2], "
                             "strides = [2, 2]> (x, e, o, e, o)"),
     "uint8[b,4,4,4]", "y"},
    {ONE("uint8[b,h,w,4] x", "QLinearGlobalAveragePool <channels_last = 1> (x, e, o, e, o)"),
     "uint8[b,1,1,4]", "y"},
    {ONE("uint8[b,3,4] x", "QLinearReduceMean <axes = [1], keepdims = 0> (x, e, o, e, o)"),
     "uint8[b,4]", "y"},
    {ONE("int8[b,3] x", "ReduceSumInteger <axes = [1], keepdims = 1> (x)"), "int32[b,1]", "y"},
    {ONE("uint8[b,1] x, uint8[3] z", "MulInteger (x, , z)"), "int32[b,3]", "y"},
    {LSTM, "float[s,2,b,6]", "y"},
    {LSTM, "float[2,b,6]", "h"},
    {HEAD "g (float[2,3] x) => (y, s, t) { y, s, t = " MS "QuantizeBFP <bfp_type = 0> (x) }",
     "int64[2]", "s"},
    {ONE("float16[2,n] x", "QuantizeWithOrder <order_input = 1, order_output = 1> (x, e)"),
     "int8[2,n]", "y"},
    {ONE("int8[2,n] x", "DequantizeWithOrder "
                        "<order_input = 1, order_output = 1, to = 10> (x, e)"),
     "float16[2,n]", "y"},
};

static const wrong_case wrong[] = {
    {ONE("float[b,60] a, uint8[9,2,16] w, float[18] c",
         "MatMulNBits <K = 64, N = 9, block_size = 32> (a, w, c)"),
     "must have 64 elements"},
    {ONE("float[b,64] a, uint8[9,2,16] w, float[18] c",
         "MatMulNBits <K = 64, N = -9, block_size = 32> (a, w, c)"),
     "N is -9"},
    {ONE("uint8[12,32] d, int64[b] i, float[12,3] c",
         "GatherBlockQuantized <block_size = 32> (d, i, c)"),
     "need 2 at dimension 1"},
    {ONE("uint8[12,32] d, int64[b] i, float[12,2] c",
         "GatherBlockQuantized <block_size = 0> (d, i, c)"),
     "block_size is 0"},
    {ONE("uint8[12,32] d, int64[b] i, float[12,2] c", "GatherBlockQuantized <bits = 0> (d, i, c)"),
     "bits is 0"},
    {ONE("uint8[12,32] d, int64[b] i, float[12,2] c",
         "GatherBlockQuantized <gather_axis = 1> (d, i, c)"),
     "must be 0 for data of uint8"},
    {ONE("uint8[2] x, uint8[3] z", "QLinearAdd (x, e, o, z, e, o, e, o)"), "do not broadcast"},
    {ONE("uint8[2,3] x", "QLinearConcat <axis = 1> (e, o, x, e)"), "three for each tensor"},
    {ONE("uint8[2,3] x, uint8[3,3] z", "QLinearConcat <axis = 1> (e, o, x, e, o, z, e, o)"),
     "is both 2 and 3"},
    {ONE("uint8[b,n] x", "QLinearSoftmax <axis = 2, opset = 13> (x, e, o, e, o)"),
     "must lie in [-2, 1]"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(ONE("float[2,3,64] a, uint8[9,2,16] w, float[18] c",
                    "MatMulNBits <K = 64, N = 9, block_size = 32> (a, w, c)"),
                "y", 2 * 3 * 64 * 9);
    expect_macs(ONE("float16[5,64] a, uint8[9,32] w, uint8[9,4] c",
                    "MatMulBlockQuantizedFp4Weight (a, w, c, e)"),
                "y", 5 * 64 * 9);
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
