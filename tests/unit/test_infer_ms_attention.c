/* Shapes of the attention operators of com.microsoft and related operators. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."

#define ATTENTION                                                                              \
  HEAD "g (float[b,s,32] x, float[32,96] w, float[96] bias, float[2,b,4,p,8] past) => (y, z) " \
       "{ y, z = " MS "Attention <num_heads = 4> (x, w, bias, , past) }"
#define MHA(inputs, outs, args)                                                                    \
  HEAD "g (" inputs ") => (" outs ") { " outs " = " MS "MultiHeadAttention <num_heads = 4> (" args \
       ") }"
#define CACHED \
  "float[b,s,32] q, float[b,s,32] k, float[b,s,32] v, float[b,4,p,8] pk, float[b,4,p,8] pv"
#define GQA(inputs, inits, outs, args, attrs)                                     \
  HEAD "g (" inputs ", int32[b] lens) => (" outs ") <" inits "> { " outs " = " MS \
       "GroupQueryAttention <num_heads = 4, kv_num_heads = 2" attrs "> (" args ") }"
#define GROUPS "float[b,s,32] q, float[b,s,16] k, float[b,s,16] v"

static const typed_case typed[] = {
    {HEAD "g (float[] x, float[] w, float[96] bias) => (y) { y = " MS
          "Attention <num_heads = 4> (x, w, bias) }",
     "float[?,?,32]", "y"},
    {ATTENTION, "float[b,s,32]", "y"},
    {ATTENTION, "float[2,b,4,p + s,8]", "z"},
    {HEAD "g (float[b,s,32] x, float[32,128] w, float[128] bias) => (y) { y = " MS "Attention "
          "<num_heads = 4, qkv_hidden_sizes = [32, 32, 64]> (x, w, bias) }",
     "float[b,s,64]", "y"},
    {HEAD "g (uint8[b,s,32] x, uint8[32,96] w, float[96] bias, float e, uint8 o) => (y) "
          "{ y = " MS "QAttention <num_heads = 4> (x, w, bias, e, e, , o, o) }",
     "float[b,s,32]", "y"},
    {MHA("float[b,s,32] q, float[b,t,32] k, float[b,t,64] v", "y", "q, k, v"), "float[b,s,64]",
     "y"},
    {MHA("float[b,s,4,3,8] q", "y", "q"), "float[b,s,32]", "y"},
    {MHA("float[b,s,32] q, float[b,t,4,2,8] kv", "y", "q, kv"), "float[b,s,32]", "y"},
    {MHA("float[b,s,32] q, float[b,4,t,8] k, float[b,4,t,8] v", "y", "q, k, v"), "float[b,s,32]",
     "y"},
    {MHA(CACHED, "y, pk2, pv2", "q, k, v, , , , pk, pv"), "float[b,4,p + s,8]", "pk2"},
    {MHA(CACHED ", int32[1] n", "y, pk2, pv2", "q, k, v, , , , pk, pv, n"), "float[b,4,p,8]",
     "pv2"},
    {HEAD "g (float[b,1,96] q) => (y) { y = " MS "DecoderMaskedMultiHeadAttention "
          "<num_heads = 4> (q) }",
     "float[b,1,32]", "y"},
    {GQA(GROUPS, "int32 total = {9}", "y, pk, pv", "q, k, v, , , lens, total", ""), "float[b,s,32]",
     "y"},
    {GQA(GROUPS, "int32 total = {9}", "y, pk, pv", "q, k, v, , , lens, total", ""),
     "float[b,2,9,8]", "pk"},
    {GQA("float[b,s,64] q", "int32 total = {9}", "y, pk, pv", "q, , , , , lens, total", ""),
     "float[b,s,32]", "y"},
    {GQA(GROUPS ", float[b,2,20,8] c", "int32 total = {9}", "y, pk, pv",
         "q, k, v, c, c, lens, total", ""),
     "float[b,2,20,8]", "pv"},
    {GQA(GROUPS ", float[b,2,w,8] c, int32 total", "", "y, pk, pv", "q, k, v, c, c, lens, total",
         ", sliding_window_cache = 1"),
     "float[b,2,w,8]", "pv"},
    {HEAD "g (float[t,32] x, float[32,96] w, float[96] bias, int32[b,s] o, int32[n] e) => (y) "
          "{ y = " MS "PackedAttention <num_heads = 4> (x, w, bias, o, e) }",
     "float[t,32]", "y"},
    {HEAD "g (float[b,s,32] x, int32[b] n) => (y, o, e, m) { y, o, e, m = " MS
          "RemovePadding (x, n) }",
     "int32[b + 1]", "e"},
    {HEAD "g (float[t,32] x, int32[b,s] o) => (y) { y = " MS "RestorePadding (x, o) }",
     "float[b,s,32]", "y"},
    {HEAD "g (float[32,4] t, float[b,s] x) => (y) <int64 o = {1}> { d = Shape (x) "
          "n = Gather (d, o) y = " MS "RelativePositionBias <max_distance = 128> (t, n, n) }",
     "float[1,4,s,s]", "y"},
    {HEAD "g (float16[t,64] q, float16[n,16,2,8] c, int32[m] e, int32[b] l, int32[b,k] tab) "
          "=> (y, c1, c2) { y, c1, c2 = " MS "PagedAttention <num_heads = 4, kv_num_heads = 2> "
          "(q, , , c, c, e, l, tab) }",
     "float16[t,32]", "y"},
};

static const wrong_case wrong[] = {
    {HEAD "g (float[b,32] x, float[32,96] w, float[96] bias) => (y) { y = " MS
          "Attention <num_heads = 4> (x, w, bias) }",
     "must have rank 3"},
    {HEAD "g (float[b,s,32] x, float[32,96] w, float[95] bias) => (y) { y = " MS
          "Attention <num_heads = 4> (x, w, bias) }",
     "is both 95 and 96"},
    {HEAD "g (float[b,s,32] x, float[32,96] w, float[96] bias) => (y) { y = " MS
          "Attention <num_heads = 5> (x, w, bias) }",
     "32, which is not a multiple of 5"},
    {HEAD "g (float[b,s,32] x, float[32,96] w, float[96] bias) => (y) { y = " MS
          "Attention <num_heads = 0> (x, w, bias) }",
     "num_heads is 0"},
    {MHA("float[b,s] q", "y", "q"), "rank must be 3, or 5"},
    {GQA(GROUPS, "int32 t = {9}", "y", "q, k, v, , , lens, t", ", qk_output = 1"),
     "there is no output 3"},
    {HEAD "g (float[b,s,24] q, int32[b] n, int32 t) => (y) { y = " MS "GroupQueryAttention "
          "<num_heads = 4, kv_num_heads = 3> (q, , , , , n, t) }",
     "not a multiple of kv_num_heads"},
};

static void test_macs(void **state) {
    (void)state;
    /* 2 x 3 tokens: projections of 32 x 96 each; 3 x 3 scores and as many weighted sums of 32. */
    expect_macs(HEAD "g (float[2,3,32] x, float[32,96] w, float[96] bias) => (y) { y = " MS
                     "Attention <num_heads = 4> (x, w, bias) }",
                "y", 2 * 3 * 32 * 96 + 2 * (2 * 3 * 3 * 32));
    expect_macs(MHA("float[2,3,32] q, float[2,5,32] k, float[2,5,32] v", "y", "q, k, v"), "y",
                2 * (2 * 3 * 5 * 32));
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
