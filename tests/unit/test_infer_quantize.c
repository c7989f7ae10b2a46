/* Inference of quantization and dequantization. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(13, "float[n,3] x, float s", "QuantizeLinear (x, s)"), "uint8[n,3]", "y"},
    {NODE(13, "float[n,3] x, float[3] s, int8[3] z", "QuantizeLinear (x, s, z)"), "int8[n,3]", "y"},
    {NODE(21, "float[n,3] x, float s", "QuantizeLinear <output_dtype = 22> (x, s)"), "int4[n,3]",
     "y"},
    {NODE(13, "float[3] x, float[1] s", "QuantizeLinear (x, s)"), "uint8[3]", "y"},
    {NODE(19, "int8[n,3] x, float16 s", "DequantizeLinear (x, s)"), "float16[n,3]", "y"},
    {NODE(23, "int8[n,3] x, float s", "DequantizeLinear <output_dtype = 16> (x, s)"),
     "bfloat16[n,3]", "y"},
    {NODE(21, "uint4[4,33] x, float[4,2] s", "DequantizeLinear <block_size = 32> (x, s)"),
     "float[4,33]", "y"},
    {NODES(11, "float[n,3] x", "q, y, z = DynamicQuantizeLinear (x)"), "float", "y"},
    {NODES(11, "float[n,3] x", "y, s, z = DynamicQuantizeLinear (x)"), "uint8[n,3]", "y"},
};

static const wrong_case wrong[] = {
    {NODE(13, "float[2,3] x, float[2] s", "QuantizeLinear (x, s)"), "2 scales for axis 1"},
    {NODE(13, "float[2,3] x, float[2] s", "QuantizeLinear <axis = 2> (x, s)"), "axis is 2"},
    {NODE(21, "float[2,3] x, float s, int8 z", "QuantizeLinear <output_dtype = 2> (x, s, z)"),
     "output_dtype is uint8"},
    {NODE(21, "float[2,3] x, float s", "QuantizeLinear <output_dtype = 99> (x, s)"),
     "output_dtype is 99"},
    {NODE(21, "uint4[4,33] x, float[4,3] s", "DequantizeLinear <block_size = 32> (x, s)"),
     "blocks of 32"},
    {NODE(24, "float8e4m3fn[4] x, float8e8m0 s", "DequantizeLinear (x, s)"),
     "output_dtype must give"},
};

RUN_TABLE_TESTS()
