/* Lowered attention. */
#include "lowered_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 24]>\n"
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attention_is_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
