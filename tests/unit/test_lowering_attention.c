/* Lowered attention. */
#include "lowered_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 24, \"com.microsoft\" : 1]>\n"
#define BOUND .tolerance = 1e-5, .is_tame = true

/* Heads on an axis of their own: 2 batches, 4 heads that share 2 of keys, 5 queries. */
#define BY_HEAD(more, results, attrs, args)                           \
  HEAD "g (float[2,4,5,8] q, float[2,2,7,8] k, float[2,2,7,6] v" more \
       ") => (float[] y) { " results " = Attention <" attrs "> (q, k, v" args ") }"
#define PACKED(more, outputs, results, attrs, args)                                                \
  HEAD "g (float[2,5,32] q, float[2,7,16] k, float[2,7,12] v" more ") => (" outputs ") { " results \
       " = Attention <q_num_heads = 4, kv_num_heads = 2" attrs "> (q, k, v" args ") }"

static const lowered_case attention_cases[] = {
    {.text = BY_HEAD("", "y", "is_causal = 0", ""), BOUND},
    {.text = BY_HEAD("", "y", "is_causal = 1, softcap = 2.0", ""), BOUND},
    {.text = BY_HEAD(", float[5,7] m", "y", "scale = 0.25", ", m"), BOUND},
    {.text = BY_HEAD(", bool[2,1,5,7] m", "y", "is_causal = 0", ", m"), BOUND},
    {.text = BY_HEAD(", bool[7] m", "y", "is_causal = 1", ", m"), BOUND},
    {.text = BY_HEAD(", float[2,4,1,3] m", "y", "is_causal = 0", ", m"), BOUND},
    {.text = BY_HEAD(", int64[2] n", "y", "is_causal = 0", ", , , , n"), .most = 9, BOUND},
    {.text = BY_HEAD(", int64[2] n, float[5,7] m", "y", "is_causal = 1", ", m, , , n"),
     .most = 9,
     BOUND},
    {.text = PACKED("", "float[] y", "y", "", ""), BOUND},
    {.text = PACKED("", "float[] y, float[] a, float[] b", "y, a, b", ", is_causal = 1", ""),
     BOUND},
    {.text = PACKED(", float[2,2,3,8] pk, float[2,2,3,6] pv", "float[] y", "y", "", ", , pk, pv"),
     BOUND},
    {.text = PACKED(", float[2,2,3,8] pk, float[2,2,3,6] pv, float[5,10] m",
                    "float[] y, float[] a, float[] b", "y, a, b", ", is_causal = 1", ", m, pk, pv"),
     BOUND},
    {.text = PACKED("", "float[] y, float[] s", "y, , , s", "", ""), .lowered = "", BOUND},
    {.text = HEAD "g (float16[1,2,3,8] q, float16[1,2,3,8] k, float16[1,2,3,8] v) => (float16[] y) "
                  "{ y = Attention (q, k, v) }",
     .lowered = "",
     BOUND},
    {.text = HEAD "g (float[1,2,3,8] q, float[1,2,0,8] k, float[1,2,0,8] v) => (float[] y) { y = "
                  "Attention (q, k, v) }",
     .lowered = "",
     BOUND},
};

static void attention_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(attention_cases);
}

#define MULTI_HEAD(inputs, outputs, results, attrs, args)            \
  HEAD "g (float[2,5,32] q, " inputs ") => (" outputs ") { " results \
       " = com.microsoft.MultiHeadAttention <num_heads = 4" attrs "> (q, k, v" args ") }"
#define PACKED_KV "float[2,7,32] k, float[2,7,24] v"
#define KV_BY_HEAD "float[2,4,7,8] k, float[2,4,7,6] v"
#define PAST ", float[2,4,3,8] pk, float[2,4,3,6] pv"

static const lowered_case multi_head_cases[] = {
    {.text = MULTI_HEAD(PACKED_KV, "float[] y", "y", "", ""), BOUND},
    {.text = MULTI_HEAD(KV_BY_HEAD, "float[] y", "y", ", unidirectional = 1", ""), BOUND},
    {.text = MULTI_HEAD(PACKED_KV ", float[1,1,5,7] m", "float[] y", "y", "", ", , , m"), BOUND},
    {.text = MULTI_HEAD(PACKED_KV ", float[2,4,5,9] m", "float[] y", "y",
                        ", unidirectional = 1, scale = 0.5", ", , , m"),
     BOUND},
    {.text = MULTI_HEAD(PACKED_KV, "float[] y, float[] a, float[] b", "y, a, b", "", ""), BOUND},
    {.text = MULTI_HEAD(PACKED_KV PAST, "float[] y, float[] a, float[] b", "y, a, b",
                        ", unidirectional = 1", ", , , , pk, pv"),
     BOUND},
    {.text =
         MULTI_HEAD(KV_BY_HEAD PAST ", float[1,4,5,10] m", "float[] y", "y", "", ", , , m, pk, pv"),
     BOUND},
    {.text = MULTI_HEAD(PACKED_KV ", float[88] b", "float[] y", "y", "", ", b"),
     .lowered = "",
     BOUND},
    {.text = MULTI_HEAD(PACKED_KV ", int32[2,7] p", "float[] y", "y", "", ", , p"),
     .lowered = "",
     BOUND},
};

static void multi_head_attention_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(multi_head_cases);
}

#define GROUPS(n_queries, lasts, total, attrs)                                             \
  HEAD "g (float[2," n_queries ",32] q, float[2,7,16] k, float[2,7,16] v) => (float[] y) " \
       "<int32[2] last = {" lasts "}, int32[1] total = {" total "}> { y = "                \
       "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2" attrs          \
       "> (q, k, v, , , last, total) }"

static const lowered_case group_cases[] = {
    {.text = GROUPS("7", "6, 6", "7", ""), BOUND},
    {.text = GROUPS("7", "6, 2", "7", ", softcap = 3.0"), BOUND},
    {.text = GROUPS("7", "6, 6", "7", ", scale = 0.125, causal = 0"), BOUND},
    {.text = GROUPS("7", "6, 6", "7", ", local_window_size = 2"), .lowered = "", BOUND},
    {.text = GROUPS("7", "6, 6", "7", ", smooth_softmax = 1"), .lowered = "", BOUND},
    {.text = GROUPS("7", "6, -1", "7", ""), .lowered = "", .fails = true},
};

static void group_query_attention_is_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(group_cases);
}

#define CACHED(type, q, n_new, past, room, lasts, total, attrs, args)                             \
  HEAD "g (" type "[2," n_new "," q "] q, " type "[2," n_new ",16] k, " type "[2," n_new          \
       ",16] v, " type "[2,2," past ",8] pk, " type "[2,2," past ",8] pv, " type "[9,4] c, " type \
       "[9,4] s) => (" type "[] y, " type "[2,2," room ",8] a, " type "[2,2," room                \
       ",8] b) <int32[2] last = {" lasts "}, int32[1] total = {" total "}> { y, a, b = "          \
       "com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2" attrs "> (" args      \
       "pk, pv, last, total, c, s) }"
#define TURNED ", do_rotary = 1"

static const lowered_case group_cache_cases[] = {
    {.text = CACHED("float", "32", "1", "5", "6", "5, 3", "6", "", "q, k, v, "), BOUND},
    {.text = CACHED("float", "32", "1", "5", "6", "5, 5", "6", TURNED, "q, k, v, "), BOUND},
    {.text = CACHED("float", "32", "3", "5", "8", "7, 4", "8",
                    TURNED ", rotary_interleaved = 1, softcap = 2.0", "q, k, v, "),
     BOUND},
    {.text = CACHED("float", "64", "2", "5", "7", "6, 6", "7", TURNED, "q, , , "), BOUND},
    {.text = CACHED("float", "64", "2", "7", "7", "4, 6", "7", "", "q, , , "), BOUND},
    {.text =
         CACHED("float", "32", "1", "5", "6", "5, 5", "6", ", local_window_size = 3", "q, k, v, "),
     BOUND},
    {.text =
         CACHED("float", "32", "3", "5", "8", "7, 7", "8", ", local_window_size = 3", "q, k, v, "),
     .lowered = "",
     BOUND},
    {.text = CACHED("float16", "32", "1", "5", "6", "5, 3", "6", TURNED, "q, k, v, "), BOUND},
    {.text = CACHED("float16", "64", "2", "5", "7", "6, 6", "7", TURNED, "q, , , "), BOUND},
    {.text = CACHED("bfloat16", "32", "3", "5", "8", "7, 4", "8", ", scale = 0.5", "q, k, v, "),
     BOUND},
    {.text = CACHED("float", "32", "1", "5", "6", "9, 5", "6", "", "q, k, v, "), .fails = true},
    {.text = CACHED("float", "32", "1", "5", "6", "-1, 5", "6", "", "q, k, v, "), .fails = true},
    {.text = CACHED("float16", "32", "1", "9", "10", "9, 5", "10", TURNED, "q, k, v, "),
     .fails = true},
};

static void caches_of_groups_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(group_cache_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_is_lowered),
                                       cmocka_unit_test(multi_head_attention_is_lowered),
                                       cmocka_unit_test(group_query_attention_is_lowered),
                                       cmocka_unit_test(caches_of_groups_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
