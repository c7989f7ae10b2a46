/* Inference of attention, with and without caches. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(23, "float[b,8,s,64] q, float[b,2,t,64] k, float[b,2,t,32] v", "Attention (q, k, v)"),
     "float[b,8,s,32]", "y"},
    {NODE(23, "float[b,s,512] q, float[b,t,128] k, float[b,t,w] v",
          "Attention <kv_num_heads = 2, q_num_heads = 8> (q, k, v)"),
     "float[b,s,4*w]", "y"},
    {NODES(23,
           "float[b,8,s,64] q, float[b,8,t,64] k, float[b,8,t,64] v, float[b,8,p,64] pk, "
           "float[b,8,p,64] pv",
           "y, nk, nv, qk = Attention (q, k, v, , pk, pv)"),
     "float[b,8,s,p + t]", "qk"},
    {NODES(24, "float[b,s,512] q, float[b,t,128] k, float[b,t,64] v",
           "y, nk, nv = Attention <kv_num_heads = 2, q_num_heads = 8> (q, k, v)"),
     "float[b,2,t,32]", "nv"},
    {NODE(21, "float[1,4,s,8] q, float[1,2,t,8] k, float[1,2,t,6] v",
          "ai.onnx.preview.FlexAttention (q, k, v)"),
     "float[1,4,s,6]", "y"},
    {NODE(23, "float[b,s,64] x, float[100,8] c, float[100,8] d, int64[b,s] p",
          "RotaryEmbedding <num_heads = 4> (x, c, d, p)"),
     "float[b,s,64]", "y"},
    {NODES(27, "float16[b,t,64] q, float16[b,t,32] k, float16[b,t,16] v, float[b,2,16,8] p",
           "y, s = LinearAttention <kv_num_heads = 2, q_num_heads = 4, update_rule = \"linear\"> "
           "(q, k, v, p)"),
     "float[b,2,16,8]", "s"},
    {NODES(27, "float[b,t,64] q, float[b,t,32] k, float[b,t,16] v",
           "y, s = LinearAttention <kv_num_heads = 2, q_num_heads = 4, update_rule = \"linear\"> "
           "(q, k, v)"),
     "float[b,t,32]", "y"},
};

static const wrong_case wrong[] = {
    {NODE(23, "float[b,512] q, float[b,t,64] k, float[b,t,64] v", "Attention (q, k, v)"), "rank"},
    {NODE(23, "float[b,s,512] q, float[b,t,64] k, float[b,t,64] v", "Attention (q, k, v)"),
     "q_num_heads"},
    {NODE(23, "float[b,8,s,64] q, float[b,3,t,64] k, float[b,3,t,64] v", "Attention (q, k, v)"),
     "8 query heads"},
    {NODE(23, "float[b,8,s,64] q, float[b,8,t,32] k, float[b,8,t,64] v", "Attention (q, k, v)"),
     "must be 64"},
    {NODE(23, "float[b,s,9] q, float[b,t,8] k, float[b,t,8] v",
          "Attention <kv_num_heads = 2, q_num_heads = 2> (q, k, v)"),
     "does not hold 2 heads"},
    {NODE(25, "float[b,8,s,64] q, float[b,8,t,64] k, float[b,8,t,64] v",
          "Attention <left_window_size = -2> (q, k, v)"),
     "left_window_size"},
    {NODE(25, "float[b,8,s,64] q, float[b,8,t,64] k, float[b,8,t,64] v",
          "Attention <q_num_heads = 8> (q, k, v)"),
     "must not be given"},
    {NODE(23, "float[b,s,64] x, float[100,8] c", "RotaryEmbedding (x, c, c)"), "num_heads"},
    {NODES(27, "float[b,t,64] q, float[b,t,32] k, float[b,t,16] v",
           "y, s = LinearAttention <kv_num_heads = 2, q_num_heads = 4> (q, k, v)"),
     "needs the input decay"},
    {NODES(27, "float[b,t,64] q, float[b,t,32] k, float[b,t,16] v",
           "y, s = LinearAttention <kv_num_heads = 3, q_num_heads = 4> (q, k, v)"),
     "kv_num_heads is 3"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(
        NODE(23, "float[2,8,5,64] q, float[2,2,7,64] k, float[2,2,7,32] v", "Attention (q, k, v)"),
        "y", 2 * 8 * 5 * 7 * (64 + 32));
    expect_macs(NODES(27, "float[2,5,64] q, float[2,5,32] k, float[2,5,16] v",
                      "y, s = LinearAttention <kv_num_heads = 2, q_num_heads = 4, update_rule = "
                      "\"linear\"> (q, k, v)"),
                "y", 2 * 5 * (2 + 4) * 16 * 8);
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
