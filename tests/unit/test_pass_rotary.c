/* The fusion of rotary embeddings from slices, negations, cosines and sines. */
#include "pass_case.h"

#define OPSET_23 "<ir_version: 10, opset_import: [\"\" : 23]>\n"
#define WITH_MS "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]>\n"
#define FUSE .passes = "rotary,fold-constants,duplicate-initializers"
#define SLICES "int64[1] zero = {0}, int64[1] two = {2}, int64[1] end = {4}, int64[1] last = {3}"
#define TURN                                                                       \
  " lo = Slice (x, zero, two, last) hi = Slice (x, two, end, last) neg = Neg (hi)" \
  " turned = Concat <axis = -1> (neg, lo) a = Mul (x, c) b = Mul (turned, s)"
/* Two positions; both elements of a pair have the same number. */
#define SAME "float[2,4] c = {1, 2, 1, 2, 3, 4, 3, 4}, float[2,4] s = {5, 6, 5, 6, 7, 8, 7, 8}"
static const pass_case fused[] = {
    {FUSE, .target = HN_TARGET_ONNXRUNTIME, /* one table for all sequences */
     .text = OPSET_23 "g (float[b,3,2,4] x) => (float[b,3,2,4] y) <" SLICES ", " SAME "> {" TURN
                      " y = Add (a, b) }",
     .expected = WITH_MS "g (float[b,3,2,4] x) => (float[b,3,2,4] y) <float[2,2] c = {1, 2, 3, 4},"
                         " float[2,2] s = {5, 6, 7, 8}, int64[1] first = {0}> {"
                         " y = com.microsoft.RotaryEmbedding (x, first, c, s) }"},
    {FUSE, /* cosines and sines of every sequence, given for pairs */
     .text = OPSET_23 "g (float[b,3,t,4] x, float[b,1,t,2] c, float[b,1,t,2] s) =>"
                      " (float[b,3,t,4] y) {"
                      " lo, hi = Split <axis = 3, num_outputs = 2> (x)"
                      " a1 = Mul (lo, c) a2 = Mul (hi, s) re = Sub (a1, a2)"
                      " b1 = Mul (lo, s) b2 = Mul (hi, c) im = Add (b1, b2)"
                      " y = Concat <axis = 3> (re, im) }",
     .expected = OPSET_23 "g (float[b,3,t,4] x, float[b,1,t,2] c, float[b,1,t,2] s) =>"
                          " (float[b,3,t,4] y) <int64[3] to = {0, -1, 2}> {"
                          " c3 = Reshape (c, to) s3 = Reshape (s, to)"
                          " y = RotaryEmbedding (x, c3, s3) }"},
    {FUSE, .target = HN_TARGET_ONNXRUNTIME, /* before the heads are split, with interleaved pairs */
     .text = OPSET_23 "g (float[b,2,12] w) => (float[b,2,3,4] y)"
                      " <int64[4] cut = {0, 0, 3, 4}, int64[1] zero = {0}, int64[1] one = {1},"
                      " int64[1] two = {2}, int64[1] end = {4}, int64[1] last = {3},"
                      " int64[1] new = {4}, float[2,1,4] c = {1, 1, 2, 2, 3, 3, 4, 4},"
                      " float[2,1,4] s = {5, 5, 6, 6, 7, 7, 8, 8}> {"
                      " x = Reshape (w, cut) even = Slice (x, zero, end, last, two)"
                      " odd = Slice (x, one, end, last, two) neg = Neg (odd)"
                      " n1 = Unsqueeze (neg, new) e1 = Unsqueeze (even, new)"
                      " pairs = Concat <axis = 4> (n1, e1) turned = Reshape (pairs, cut)"
                      " a = Mul (c, x) b = Mul (s, turned) y = Add (b, a) }",
     .expected = WITH_MS "g (float[b,2,12] w) => (float[b,2,3,4] y)"
                         " <float[2,2] c = {1, 2, 3, 4}, float[2,2] s = {5, 6, 7, 8},"
                         " int64[4] cut = {0, 2, 3, 4}, int64[1] first = {0}> {"
                         " r = com.microsoft.RotaryEmbedding <interleaved = 1, num_heads = 3>"
                         " (w, first, c, s) y = Reshape (r, cut) }"},
};

static void test_fuses(void **state) {
    (void)state;
    expect_passes(fused, HN_COUNT(fused));
}

static void test_tells_why_not(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
    } missed[] = {
        {OPSET_23 "g (float[b,3,2,4] x) => (float[b,3,2,4] y) <" SLICES
                  ", float[2,4] c = {1, 2, 1, 2, 3, 4, 3, 9},"
                  " float[2,4] s = {5, 6, 5, 6, 7, 8, 7, 8}> {" TURN " y = Add (a, b) }",
         "not provably the same"},
        {OPSET_23 "g (float[b,3,2,4] x, float[3,2,4] c, float[3,2,4] s) => (float[b,3,2,4] y)"
                  " <" SLICES "> {" TURN " y = Add (a, b) }",
         "one row for each position"},
    };
    for (size_t i = 0; i < HN_COUNT(missed); i++) {
        pass_case c = {.passes = "rotary", .text = missed[i].text, .expected = missed[i].text};
        expect_pass(&c);
        expect_miss(&c, "whole", missed[i].reason);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuses),
        cmocka_unit_test(test_tells_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
