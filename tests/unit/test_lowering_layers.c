/* Lowered layers of neural networks: normalizations with a skip connection, activations with a
 * bias, rotary embeddings, recurrent layers. */
#include "lowered_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1]>\n"
#define MS "com.microsoft."
#define BOUND .tolerance = 1e-5, .is_tame = true

#define SKIP_NORM(inputs, results, outputs, op, args) \
  HEAD "g (" inputs ") => (" results ") { " outputs " = " MS op " (" args ") }"

static const lowered_case skip_norm_cases[] = {
    {.text = SKIP_NORM("float[2,3,17] x, float[2,3,17] s, float[17] g", "float[] y", "y",
                       "SkipLayerNormalization", "x, s, g"),
     BOUND},
    {.text = SKIP_NORM("float[2,3,17] x, float[3,17] s, float[17] g, float[17] b, float[17] c",
                       "float[] y, float[] m, float[] i, float[] t", "y, m, i, t",
                       "SkipLayerNormalization", "x, s, g, b, c"),
     BOUND},
    {.text =
         SKIP_NORM("float[2,3,17] x, float[1,3,17] s, float[17] g, float[17] c",
                   "float[] y, float[] t", "y, , , t", "SkipLayerNormalization", "x, s, g, , c"),
     BOUND},
    {.text = SKIP_NORM("float[2,3,17] x, float[2,3,17] s, float[17] g, float[17] c",
                       "float[] y, float[] t", "y, , , t", "SkipSimplifiedLayerNormalization",
                       "x, s, g, c"),
     BOUND},
    {.text = SKIP_NORM("float[1,1,1] x, float[1,1,1] s, float[1] g", "float[] y", "y",
                       "SkipSimplifiedLayerNormalization", "x, s, g"),
     BOUND},
    {.text = SKIP_NORM("float[2,0,17] x, float[2,0,17] s, float[17] g", "float[] y", "y",
                       "SkipLayerNormalization", "x, s, g"),
     .lowered = ""},
    {.text = SKIP_NORM("float16[2,3,16] x, float16[2,3,16] s, float16[16] g", "float16[] y", "y",
                       "SkipLayerNormalization", "x, s, g"),
     .lowered = "",
     .is_tame = true},
};

static void skip_norms_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(skip_norm_cases);
}

static const lowered_case gelu_cases[] = {
    {.text = HEAD "g (float[2,3,17] x) => (float[] y) { y = " MS "Gelu (x) }"},
    {.text = HEAD "g (float[2,3,17] x, float[17] b) => (float[] y) { y = " MS "BiasGelu (x, b) }"},
    {.text = HEAD "g (float[5,17] x) => (float[] y) { y = " MS "FastGelu (x) }"},
    {.text = HEAD "g (float[5,17] x, float[17] b) => (float[] y) { y = " MS "FastGelu (x, b) }"},
    {.text = HEAD "g (float[1023,67] x, float[67] b) => (float[] y) { y = " MS "FastGelu (x, b) }"},
    {.text = HEAD "g (float[65537] x) => (float[] y) { y = " MS "QuickGelu <alpha = 0.5> (x) }"},
    {.text = HEAD "g (float x) => (float[] y) { y = " MS "QuickGelu (x) }"},
    {.text = HEAD "g (float[5,17] x, float[1] b) => (float[] y) { y = " MS "FastGelu (x, b) }",
     .lowered = ""},
    {.text = HEAD "g (float[0,17] x, float[17] b) => (float[] y) { y = " MS "FastGelu (x, b) }",
     .lowered = ""},
    {.text = HEAD "g (float16[5,17] x) => (float16[] y) { y = " MS "QuickGelu (x) }",
     .lowered = ""},
};

static void gelus_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(gelu_cases);
}

#define ROTARY(inputs, attrs, args) \
  HEAD "g (" inputs ") => (float[] y) { y = RotaryEmbedding " attrs " (" args ") }"
#define MS_ROTARY(inputs, attrs)                                               \
  HEAD "g (" inputs ", float[11,4] c, float[11,4] s) => (float[] y) { y = " MS \
       "RotaryEmbedding " attrs " (x, p, c, s) }"

/* Positions are random: those that fail say so. */
static const lowered_case rotary_cases[] = {
    {.text = ROTARY("float[2,3,5,8] x, float[2,5,4] c, float[2,5,4] s", "", "x, c, s"), BOUND},
    {.text = ROTARY("float[2,5,24] x, float[2,5,4] c, float[2,5,4] s",
                    "<num_heads = 3, interleaved = 1>", "x, c, s"),
     BOUND},
    {.text = ROTARY("float[2,5,24] x, float[2,5,2] c, float[2,5,2] s",
                    "<num_heads = 3, rotary_embedding_dim = 4>", "x, c, s"),
     BOUND},
    {.text =
         ROTARY("float[2,3,5,8] x, float[11,4] c, float[11,4] s, int64[2,5] p", "", "x, c, s, p"),
     .fails = true},
    {.text = HEAD "g (float[1,3,2,8] x, float[11,4] c, float[11,4] s) => (float[] y) "
                  "<int64[1,2] p = {10, 3}> { y = RotaryEmbedding (x, c, s, p) }",
     BOUND},
    {.text = MS_ROTARY("float[2,5,24] x, int64[2,5] p", "<num_heads = 3>"), .fails = true},
    {.text = MS_ROTARY("float[2,5,24] x, int64[1] p", ""), .most = 1000, .fails = true},
    {.text = HEAD
     "g (float[2,5,24] x, float[11,4] c, float[11,4] s) => (float[] y) <int64[1] p = {6}> { y "
     "= " MS "RotaryEmbedding (x, p, c, s) }",
     BOUND},
    {.text = HEAD
     "g (float[2,5,24] x, float[11,4] c, float[11,4] s) => (float[] y) <int64[1] p = {7}> { y "
     "= " MS "RotaryEmbedding (x, p, c, s) }",
     .fails = true},
    {.text = HEAD
     "g (float[1,3,2,8] x, float[11,4] c, float[11,4] s) => (float[] y) <int64[1,2] p = {10, "
     "0}> { y = " MS "RotaryEmbedding <interleaved = 1> (x, p, c, s) }",
     BOUND},
};

static void rotary_embeddings_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(rotary_cases);
}

#define LAYER(op, gates, attrs, more, args)                                     \
  HEAD "g (float[7,3,5] x, float[1," gates ",5] w, float[1," gates ",6] r" more \
       ") => (float[] y, float[] h) { y, h "                                    \
       "= " op " <hidden_size = 6" attrs "> (x, w, r" args ") }"

static const lowered_case recurrent_cases[] = {
    {.text = LAYER("LSTM", "24", "", "", ""), BOUND},
    {.text =
         LAYER("LSTM", "24", "", ", float[1,48] b, float[1,3,6] h0, float[1,3,6] c0, float[1,18] p",
               ", b, , h0, c0, p"),
     BOUND},
    {.text = LAYER("LSTM", "24", ", clip = 2.0", "", ""), .lowered = "", BOUND},
    {.text = LAYER("LSTM", "24", "", ", int32[3] n", ", , n"), .fails = true},
    {.text = LAYER("GRU", "18", "", ", float[1,36] b", ", b"), BOUND},
    {.text = LAYER("GRU", "18", ", linear_before_reset = 1", ", float[1,36] b", ", b"), BOUND},
    {.text = LAYER("RNN", "6", ", direction = \"reverse\"", ", float[1,12] b", ", b"), BOUND},
    {.text = HEAD "g (float[7,3,5] x, float[2,24,5] w, float[2,24,6] r, float[2,48] b) => (float[] "
                  "y, float[] h, float[] c) "
                  "<int32[3] n = {7, 0, 4}> { y, h, c = LSTM <hidden_size = 6, direction = "
                  "\"bidirectional\"> (x, w, r, b, n) }",
     BOUND},
    {.text = HEAD
     "g (float[3,7,5] x, float[2,24,5] w, float[2,24,6] r) => (float[] c) { y, h, c = LSTM "
     "<hidden_size = 6, layout = 1, direction = \"bidirectional\"> (x, w, r) }",
     BOUND},
    {.text = HEAD "g (float[0,3,5] x, float[1,24,5] w, float[1,24,6] r) => (float[] y) { y = LSTM "
                  "<hidden_size = 6> (x, w, r) }",
     .lowered = "",
     BOUND},
};

static void recurrent_layers_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(recurrent_cases);
}

/* Constant weights and biases are laid out ahead. */
static void constant_layers_are_lowered(void **state) {
    (void)state;
    static const lowered_case c = {
        .text = HEAD "g (float[4,2,2] x) => (float[] y, float[] h) <float[1,3,2] w = {0.5, -0.25, "
                     "1.0, 0.125, -1.0, "
                     "0.75}, float[1,3,1] r = {0.5, -0.5, 0.25}, float[1,6] b = {0.5, 1.0, -1.0, "
                     "0.25, 0.75, 2.0}> { y, h = GRU <hidden_size = 1> (x, w, r, b) }",
        BOUND};
    expect_lowered_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(skip_norms_are_lowered),
                                       cmocka_unit_test(gelus_are_lowered),
                                       cmocka_unit_test(rotary_embeddings_are_lowered),
                                       cmocka_unit_test(recurrent_layers_are_lowered),
                                       cmocka_unit_test(constant_layers_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
