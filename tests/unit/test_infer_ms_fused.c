/* Shapes of the fused floating-point operators of com.microsoft. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."
#define ONE(inputs, call) HEAD "g (" inputs ") => (y) { y = " MS call " }"

#define SKIP                                                               \
  HEAD "g (float[b,s,8] x, float[8] g) => (y, m, v, r) { y, m, v, r = " MS \
       "SkipLayerNormalization (x, x, g) }"
#define EMBED                                                                               \
  HEAD "g (int32[b,s] x, float[100,8] w, float[50,8] p, float[8] g) => (y, m) { y, m = " MS \
       "EmbedLayerNormalization (x, , w, p, , g, g) }"

static const typed_case typed[] = {
    {ONE("float[k,m] a, float[n,k] b", "FusedGemm <transA = 1, transB = 1> (a, b)"), "float[m,n]",
     "y"},
    {ONE("float[m,b,h,k] a, float[b,h,k,n] c", "FusedMatMul <transBatchA = 1> (a, c)"),
     "float[b,h,m,n]", "y"},
    {ONE("float[b,k,m] a, float[b,k,n] c", "TransposeMatMul <transA = 1> (a, c)"), "float[b,m,n]",
     "y"},
    {ONE("float16[b,s,k] a, float16[k,n] w", "GemmFastGelu (a, w)"), "float16[b,s,n]", "y"},
    {ONE("float8e4m3fn[m,k] a, float8e4m3fn[n,k] b", "GemmFloat8 <dtype = 16, transB = 1> (a, b)"),
     "bfloat16[m,n]", "y"},
    {ONE("float[m,4] a, float[n,4] b", "CDist (a, b)"), "float[m,n]", "y"},
    {SKIP, "float[b,s,8]", "y"},
    {SKIP, "float[b,s,1]", "m"},
    {SKIP, "float[b,s,8]", "r"},
    {EMBED, "float[b,s,8]", "y"},
    {EMBED, "int32[b]", "m"},
    {ONE("float[n,h,w,8] x, float[8] g", "GroupNorm <activation = 1, groups = 4> (x, g, g)"),
     "float[n,h,w,8]", "y"},
    {ONE("float[n,s,8] x, float[8] z", "BiasSplitGelu (x, z)"), "float[n,s,4]", "y"},
    {HEAD "g (float[4,40] x) => (y, m) { y, m = " MS "BitmaskDropout (x) }", "uint32[5]", "m"},
    {HEAD "g (float[4,n] x, float[n] z) => (y, m) { y, m = " MS "BiasDropout (x, z) }", "bool[4,n]",
     "m"},
    {ONE("float[4] x, float[5] z", "IsAllFinite (x, z)"), "bool", "y"},
    {ONE("int32[n] x", "MurmurHash3 (x)"), "uint32[n]", "y"},
    {ONE("int32[n] x", "MurmurHash3 <positive = 0> (x)"), "int32[n]", "y"},
    {ONE("float[100,8] w, int64[b,s] i", "TorchEmbedding (w, i)"), "float[b,s,8]", "y"},
    {ONE("float[3,10] x", "UnfoldTensor <dim = 1, size = 3, step = 2> (x)"), "float[3,4,3]", "y"},
    {ONE("float[3,n] x", "UnfoldTensor <size = 3> (x)"), "float[3,n - 2,3]", "y"},
    {ONE("int32[n,6] x, float[5,1,2,3] w, float[5] z, float[9,3] c",
         "WordConvEmbedding (x, w, z, c)"),
     "float[n,5]", "y"},
    {HEAD "g (float[1,2,4,4] x, float[2,3,3,3] w) => (y) <int64[4] p = {1, 1, 1, 1}> { y = " MS
          "ConvTransposeWithDynamicPads <strides = [2, 2]> (x, w, p) }",
     "float[1,3,7,7]", "y"},
    {ONE("float[t,8] x, float[t,4] r, float[4,16,8] a, float[4,8,16] b",
         "MoE <k = 2> (x, r, a, , b)"),
     "float[t,8]", "y"},
};

static const wrong_case wrong[] = {
    {ONE("float[2,3] a, float[4,5] b", "FusedGemm (a, b)"), "cannot be multiplied"},
    {ONE("float[m,4] a, float[n,5] b", "CDist (a, b)"), "is both 4 and 5"},
    {ONE("float x, float g", "SkipLayerNormalization (x, x, g)"), "rank"},
    {ONE("int32[b,s] x, float[9,8] w, float[9,7] p, float[8] g",
         "EmbedLayerNormalization (x, , w, p, , g, g)"),
     "the width of the embeddings is both"},
    {ONE("float[3,2] x", "UnfoldTensor <size = 3> (x)"), "is shorter"},
    {ONE("float[3,2] x", "UnfoldTensor <size = 0> (x)"), "must be 1 or more"},
    {ONE("float[4] x", "IsAllFinite <isinf_only = 1, isnan_only = 1> (x)"), "exclude each other"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(ONE("float[2,4,5] a, float[2,4,6] c", "FusedMatMul <transA = 1> (a, c)"), "y",
                2 * 5 * 6 * 4);
    expect_macs(ONE("float[7,8] x, float[7,4] r, float[4,16,8] a, float[4,8,16] b",
                    "MoE <k = 2> (x, r, a, , b)"),
                "y", 7 * 2 * (16 * 8 + 8 * 16));
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
