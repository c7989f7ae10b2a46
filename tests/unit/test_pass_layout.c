/* Channels-last layout in sessions: the result for each kind of operator, and the number of
 * Transposes that remain. */
#include "pass_case.h"

#include <stdio.h>

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset ", \"com.microsoft\" : 1]>\n"

/* Counts of operators in the resulting graph: "hone.Conv 2, Transpose 1". Other operators may
 * occur. */
typedef struct layout_case {
    const char *text, *counts;
} layout_case;

static uint32_t count_nodes(const hn_graph *g, const char *op) {
    uint32_t n = 0;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *node = hn_node_at(g, id);
        char name[128];
        snprintf(name, sizeof name, "%s%s%s", hn_s(node->domain),
                 hn_domain_is_onnx(node->domain) ? "" : ".", hn_s(node->op));
        n += node->block != HN_NONE && strcmp(name, op) == 0;
    }
    return n;
}

static void expect_counts(const hn_model *m, const layout_case *c) {
    char op[64];
    unsigned n;
    int used;
    for (const char *at = c->counts; sscanf(at, " %63s %u%n", op, &n, &used) == 2; at++) {
        at += used;
        if (count_nodes(m->graph, op) != n)
            fail_msg("%u nodes of %s instead of %u in\n%s", count_nodes(m->graph, op), op, n,
                     c->text);
        if (*at != ',')
            break;
    }
}

static void expect_layout(const layout_case *c) {
    pass_case p = {.passes = "channels-last,nhwc-epilogues,fold-constants,no-ops,merge-reshapes",
                   .target = HN_TARGET_SESSION,
                   .text = c->text,
                   .bound = 1e-5};
    hn_model *m = optimized_from(&p, NULL);
    expect_counts(m, c);
    expect_same_results(&p, m);
    hn_model_free(m);
}

/* A convolution that reads a channels-first image, an operator, and another convolution: one
 * Transpose after them. */
#define WEIGHTS                                                                                  \
  "float[4,3,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, " \
  "7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, "   \
  "-1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, "  \
  "4, 5, -6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "                   \
  "float[2,4,1,1] v = {1, 2, 3, 4, 5, 6, 7, 8}"
#define CHAIN(opset, inputs, inits, nodes)                     \
  HEAD(opset)                                                  \
  "g (" inputs ") => (float[n,2,i,j] y) <" WEIGHTS inits "> {" \
  " a = Conv <pads = [1, 1, 1, 1]> (x, w) " nodes " y = Conv (z, v) }"
#define BETWEEN(opset, inits, nodes) CHAIN(opset, "float[1,3,16,15] x", inits, nodes)
#define FREELY(opset, inits, nodes) CHAIN(opset, "float[n,3,h,k] x", inits, nodes)
#define FILTERED(opset, filters, inits, nodes) \
  CHAIN(opset, "float[1,3,16,15] x, " filters, inits, nodes)
#define WHOLE "hone.NchwConv 1, hone.Conv 1, Transpose 1"

static const layout_case elementwise[] = {
    {BETWEEN(17, "", "z = Relu (a)"), WHOLE ", Relu 0"},
    {BETWEEN(17, "", "b = Cos (a) z = Neg (b)"), WHOLE},
    {FREELY(17, "", "b = Cos (a) z = Neg (b)"), WHOLE},
    {BETWEEN(17, ", float[4,1,1] c = {1, 2, 3, 4}", "z = Mul (a, c)"), WHOLE},
    {BETWEEN(17, ", float[4,1,1] c = {1, 2, 3, 4}", "z = Sub (c, a)"), WHOLE},
    {BETWEEN(17, ", float[16,1] c = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}",
             "z = Add (a, c)"),
     WHOLE},
    {BETWEEN(17, ", float c = {2}", "z = Pow (a, c)"), WHOLE},
    {BETWEEN(17, ", float[4,1,1] c = {0.5, 1, 2, 0.25}", "z = PRelu (a, c)"), WHOLE},
    {BETWEEN(17, ", float lo = {-1}, float hi = {1}", "z = Clip (a, lo, hi)"), WHOLE},
    {BETWEEN(17, "", "b = Exp (a) m = Less (a, b) z = Where (m, a, b)"), WHOLE},
    /* A sum of convolutions, and a gate of [N, C, 1, 1]. */
    {BETWEEN(17, "", "b = Conv <pads = [1, 1, 1, 1]> (x, w) c = Add (a, b) z = Relu (c)"),
     "hone.NchwConv 2, hone.Conv 1, Transpose 1, Add 0, Relu 0"},
    {BETWEEN(17, "", "p = GlobalAveragePool (a) s = Sigmoid (p) z = Mul (a, s)"),
     WHOLE ", hone.GlobalAveragePool 1"},
};

static const layout_case twins[] = {
    {BETWEEN(17, "", "z = MaxPool <kernel_shape = [3, 2], strides = [2, 1]> (a)"),
     WHOLE ", hone.MaxPool 1"},
    /* In version 12 the last window counts even where it begins in the padding. */
    {BETWEEN(17, "",
             "z = MaxPool <kernel_shape = [2, 2], strides = [3, 2], ceil_mode = 1,"
             " pads = [0, 0, 1, 1]> (a)"),
     WHOLE ", hone.MaxPool 1"},
    {BETWEEN(22, "",
             "z = MaxPool <kernel_shape = [2, 2], strides = [3, 2], ceil_mode = 1,"
             " pads = [0, 0, 1, 1]> (a)"),
     WHOLE ", hone.MaxPool 1"},
    {BETWEEN(17, "",
             "z = AveragePool <kernel_shape = [3, 3], count_include_pad = 1,"
             " pads = [1, 1, 1, 1]> (a)"),
     WHOLE ", hone.AveragePool 1"},
    {BETWEEN(17, "", "z = AveragePool <kernel_shape = [3, 3], auto_pad = \"SAME_LOWER\"> (a)"),
     WHOLE ", hone.AveragePool 1"},
    {BETWEEN(17, ", float[4] s = {1, 2, 3, 4}, float[4] q = {1, 4, 9, 16}",
             "n = BatchNormalization (a, s, s, s, q) z = Relu (n)"),
     WHOLE ", hone.BatchNormalization 1, Relu 0"},
    {BETWEEN(17, ", float[4] s = {1, 2, 3, 4}", "n = InstanceNormalization (a, s, s) z = Tanh (n)"),
     WHOLE ", hone.InstanceNormalization 1, Tanh 0"},
    {BETWEEN(21, ", float[4] s = {1, 2, 3, 4}",
             "z = GroupNormalization <num_groups = 2> (a, s, s)"),
     WHOLE ", hone.GroupNormalization 1"},
    {BETWEEN(17, "", "z = LRN <size = 3, alpha = 0.5, beta = 0.7> (a)"), WHOLE ", hone.LRN 1"},
    {BETWEEN(17, "", "z = LRN <size = 8> (a)"), WHOLE ", hone.LRN 1"},
    {FILTERED(17, "float[4,4,2,2] u", ", float[4] s = {1, 2, 3, 4}",
              "z = ConvTranspose <strides = [2, 2]> (a, u, s)"),
     WHOLE ", hone.ConvTranspose 1"},
    {FILTERED(17, "float[4,4,3,3] u", "",
              "z = ConvTranspose <strides = [2, 1], pads = [1, 0, 1, 1], output_padding = [1, 0]>"
              " (a, u)"),
     WHOLE ", hone.ConvTranspose 1"},
    {FILTERED(17, "float[16,4,1,1] u", "",
              "b = Conv (a, u) z = DepthToSpace <blocksize = 2, mode = \"CRD\"> (b)"),
     "hone.NchwConv 1, hone.Conv 2, Transpose 1, hone.DepthToSpace 1"},
    {FILTERED(17, "float[16,4,1,1] u", "", "b = Conv (a, u) z = DepthToSpace <blocksize = 2> (b)"),
     "hone.NchwConv 1, hone.Conv 2, Transpose 1, hone.DepthToSpace 1"},
    {BETWEEN(18, ", int64[2] axes = {3, 2}", "m = ReduceMean (a, axes) z = Mul (m, a)"),
     WHOLE ", hone.GlobalAveragePool 1"},
    {BETWEEN(17, "", "m = ReduceMax <axes = [2, 3]> (a) z = Sub (a, m)"),
     WHOLE ", hone.GlobalMaxPool 1"},
};

static const layout_case moves[] = {
    {FILTERED(17, "float[2,8,1,1] u", "",
              "b = Concat <axis = 1> (a, a) c = Conv (b, u)"
              " z = Concat <axis = 1> (c, c)"),
     "hone.NchwConv 1, hone.Conv 2, Transpose 1"},
    {BETWEEN(17, ", int64[2] p = {2, 2}",
             "b, c = Split <axis = 1> (a, p) z = Concat <axis = 1> (c, b)"),
     WHOLE},
    {BETWEEN(17, ", int64[1] s = {1}, int64[1] e = {9}, int64[1] d = {2}",
             "z = Slice (a, s, e, d)"),
     WHOLE},
    {BETWEEN(17, ", int64[8] p = {0, 0, 1, 2, 0, 0, 0, 1}", "z = Pad <mode = \"reflect\"> (a, p)"),
     WHOLE},
    {BETWEEN(17, ", float[4] s = {1, 1, 2, 1.5}", "z = Resize <mode = \"linear\"> (a, , s)"),
     WHOLE},
    {BETWEEN(17, ", int64[4] s = {1, 4, 9, 7}", "z = Resize <mode = \"cubic\"> (a, , , s)"), WHOLE},
    {BETWEEN(18, ", int64[2] s = {9, 7}",
             "z = Resize <axes = [2, 3], mode = \"linear\"> (a, , , s)"),
     WHOLE},
    {BETWEEN(9, ", float[4] s = {1, 1, 2, 2}", "z = Upsample (a, s)"), WHOLE},
    {BETWEEN(17, "", "z = Softmax <axis = 1> (a)"), WHOLE},
    {BETWEEN(17, "", "z = Transpose <perm = [0, 1, 3, 2]> (a)"),
     "hone.NchwConv 1, hone.Conv 1, Transpose 2"},
    /* A channel shuffle swaps groups. */
    {BETWEEN(17, ", int64[5] s = {1, 2, 2, 16, 15}, int64[4] t = {1, 4, 16, 15}",
             "b = Reshape (a, s) c = Transpose <perm = [0, 2, 1, 3, 4]> (b) z = Reshape (c, t)"),
     "hone.NchwConv 1, hone.Conv 1, Transpose 2"},
    /* A Shape returns the dimensions in the other order. */
    {FREELY(17, ", int64 one = {2}",
            "s = Shape (a) i = Gather (s, one) f = Cast <to = 1> (i)"
            " z = Mul (a, f)"),
     WHOLE},
};

static const layout_case ends[] = {
    /* Existing Transposes to channels-last cancel. */
    {HEAD(17) "g (float[1,16,15,3] x) => (float[1,16,15,4] y) <" WEIGHTS "> {"
              " t = Transpose <perm = [0, 3, 1, 2]> (x) a = Conv <pads = [1, 1, 1, 1]> (t, w)"
              " y = Transpose <perm = [0, 2, 3, 1]> (a) }",
     "hone.Conv 1, Transpose 0"},
    {HEAD(17) "g (float[1,7,3] x, float[4,3,3] w) => (float[1,7,4] y) {"
              " t = Transpose <perm = [0, 2, 1]> (x) a = Conv <pads = [1, 1]> (t, w)"
              " b = Tanh (a) y = Transpose <perm = [0, 2, 1]> (b) }",
     "hone.Conv 1, Transpose 0"},
    /* Boxes of a detector. */
    {HEAD(17) "g (float[1,3,16,15] x) => (float[1,480,2] y) <" WEIGHTS
              ", int64[5] s = {1, 2, 2, 16, 15}, int64[3] t = {1, 480, 2}> {"
              " a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Reshape (a, s)"
              " c = Transpose <perm = [0, 3, 4, 1, 2]> (b) y = Reshape (c, t) }",
     "hone.NchwConv 1, Transpose 0"},
    /* Patches of a transformer. */
    {HEAD(17) "g (float[n,3,16,15] x) => (float[n,240,4] y) <" WEIGHTS
              ", int64[3] s = {0, 4, -1}> {"
              " a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Reshape (a, s)"
              " y = Transpose <perm = [0, 2, 1]> (b) }",
     "hone.NchwConv 1, Transpose 0"},
    /* An axis of size 1 is in both orders at once. */
    {HEAD(17) "g (float[n,3,16,15] x) => (float[n,4] y) <" WEIGHTS "> {"
              " a = Conv <pads = [1, 1, 1, 1]> (x, w) p = GlobalAveragePool (a) y = Flatten (p) }",
     "hone.NchwConv 1, Transpose 0"},
    {HEAD(18) "g (float[n,3,16,15] x) => (float[n,4] y) <" WEIGHTS ", int64[2] axes = {-1, -2}> {"
              " a = Conv <pads = [1, 1, 1, 1]> (x, w) y = ReduceMean <keepdims = 0> (a, axes) }",
     "hone.NchwConv 1, Transpose 0"},
    {HEAD(17) "g (float[n,1,16,15] x, float[1,1,3,3] w) => (float[n,1,16,15] y) {"
              " y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
     "hone.NchwConv 1, Transpose 0"},
    /* A residual of an operator that was fused before. */
    {HEAD(17) "g (float[1,3,16,15] x, float[3,3,1,1] k) => (float[1,3,16,15] y) {"
              " a = Conv (x, k) y = com.microsoft.FusedConv <activation = \"Relu\"> (a, k, , a) }",
     "hone.NchwConv 1, hone.Conv 1, Transpose 1"},
    {HEAD(17) "g (float[1,3,16,15] x, float[3,3,1,1] k) => (float[1,3,16,15] y) {"
              " a = Conv (x, k) b = com.microsoft.QuickGelu (a) c = Conv (b, k) d = Conv (c, k)"
              " y = Add (d, b) }",
     "hone.NchwConv 1, hone.Conv 2, Transpose 1, com.microsoft.QuickGelu 0, Add 0"},
    {HEAD(17) "g (float[1,3,4,4,4] x, float[2,3,3,3,3] k) => (float[1,2,2,2,2] y) {"
              " y = Conv (x, k) }",
     "hone.NchwConv 1, Transpose 1"},
    {HEAD(17) "g (float[2,3,199] x, float[4,3,3] k) => (float[2,4,100] y) {"
              " y = Conv <strides = [2], auto_pad = \"SAME_UPPER\"> (x, k) }",
     "hone.NchwConv 1, Transpose 1"},
    {HEAD(17) "g (float[2,4,17,19] x, float[5,4,3,2] k, float[5] b) => (float[2,5,13,18] y) {"
              " y = Conv <dilations = [2, 1]> (x, k, b) }",
     "hone.NchwConv 1, Transpose 1"},
    /* An input with more channels than an image is transposed. */
    {HEAD(
         17) "g (float[1,5,30,30] x, float[9,5,3,3] k) => (float[1,9,28,28] y) { y = Conv (x, k) }",
     "hone.Conv 1, hone.NchwConv 0, Transpose 2"},
    /* So is an image that another node needs transposed. */
    {HEAD(17) "g (float[1,16,15,3] x, float[2,3,3,3] k) => (float[1,2,14,13] y) {"
              " t = Transpose <perm = [0, 3, 1, 2]> (x) s = Tanh (t) y = Conv (s, k) }",
     "hone.Conv 1, hone.NchwConv 0, Transpose 1"},
    /* Inside a branch, with values from outside. */
    {HEAD(17) "g (bool c, float[1,3,16,15] x) => (float[1,a,16,15] y) <" WEIGHTS "> {"
              " t = Relu (x) y = If (c) <then_branch = then () => (float[1,4,16,15] a) {"
              " b = Conv <pads = [1, 1, 1, 1]> (t, w) a = Tanh (b) },"
              " else_branch = other () => (float[1,3,16,15] d) { d = Neg (t) }> }",
     "hone.NchwConv 1, Transpose 1"},
};

static const layout_case kept[] = {
    /* long windows of one channel, as filters of sounds, and sounds made of many channels */
    {HEAD(17) "g (float[1,1,300] x, float[1,1,31] w) => (float[1,1,270] y) { y = Conv (x, w) }",
     "Conv 1, hone.Conv 0, hone.NchwConv 0, Transpose 0"},
    {HEAD(17) "g (float[1,2,300] x, float[2,1,31] w) => (float[1,2,90] y) {"
              " y = Conv <group = 2, strides = [3]> (x, w) }",
     "Conv 1, hone.Conv 0, Transpose 0"},
    {HEAD(17) "g (float[n,1,1,t] x, float[1,1,1,28] w) => (float[n,1,1,u] y) {"
              " y = Conv <strides = [1, 2], pads = [0, 13, 0, 15]> (x, w) }",
     "Conv 1, hone.Conv 0, hone.NchwConv 0, Transpose 0"},
    {HEAD(17) "g (float[1,8,30] x, float[8,1,16] w) => (float[1,1,248] y) {"
              " y = ConvTranspose <strides = [8]> (x, w) }",
     "ConvTranspose 1, hone.ConvTranspose 0, Transpose 0"},
    /* Other types, grouped weights, indices of maxima, training, unknown ranks. */
    {HEAD(17) "g (double[1,3,16,15] x, double[3,3,1,1] k) => (double[1,3,16,15] y) { y = Conv (x, "
              "k) }",
     "Conv 1, hone.Conv 0, Transpose 0"},
    /* Few filters over a small map are faster as they are. */
    {HEAD(17) "g (float[1,4,5,4] x, float[4,4,3,3] k) => (float[1,4,5,4] y) {"
              " a = Conv <pads = [1, 1, 1, 1]> (x, k) y = Conv <pads = [1, 1, 1, 1]> (a, k) }",
     "Conv 2, hone.Conv 0, hone.NchwConv 0, Transpose 0"},
    {HEAD(17) "g (float[1,4,16,15] x, float[4,1,1,1] k) => (float[1,2,16,15] y) {"
              " y = ConvTranspose <group = 2> (x, k) }",
     "ConvTranspose 1, Transpose 0"},
    {HEAD(17) "g (float[1,3,16,15] x) => (float[1,3,15,14] y, int64[1,3,15,14] i) {"
              " y, i = MaxPool <kernel_shape = [2, 2]> (x) }",
     "MaxPool 1, Transpose 0"},
    {HEAD(17) "g (float[1,2,16,15] x) => (float[1,2,16,15] y, float[2] m) <float[2] s = {1, 2}> {"
              " y, m, n = BatchNormalization <training_mode = 1> (x, s, s, s, s) }",
     "BatchNormalization 1, Transpose 0"},
    /* A pool alone does not pay for two Transposes, and neither does a graph without
     * convolutions. */
    {HEAD(17) "g (float[1,3,16,15] x) => (float[1,3,15,14] y) {"
              " y = AveragePool <kernel_shape = [2, 2]> (x) }",
     "AveragePool 1, Transpose 0"},
    {HEAD(17) "g (float[1,3,16,15] x) => (float[1,3,16,15] y) { a = Relu (x) y = Softmax (a) }",
     "Transpose 0"},
};

static void expect_layouts(const layout_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_layout(&cases[i]);
}

static void test_elementwise(void **state) {
    (void)state;
    expect_layouts(elementwise, HN_COUNT(elementwise));
}

static void test_twins(void **state) {
    (void)state;
    expect_layouts(twins, HN_COUNT(twins));
}

static void test_moves(void **state) {
    (void)state;
    expect_layouts(moves, HN_COUNT(moves));
}

static void test_ends(void **state) {
    (void)state;
    expect_layouts(ends, HN_COUNT(ends));
}

static void test_kept(void **state) {
    (void)state;
    expect_layouts(kept, HN_COUNT(kept));
}

/* Files never contain channels-last operators. */
static void test_other_targets(void **state) {
    (void)state;
    const hn_target targets[] = {HN_TARGET_ONNX, HN_TARGET_ONNXRUNTIME};
    for (size_t i = 0; i < HN_COUNT(targets); i++) {
        pass_case p = {.level = HN_LEVEL_ALL, .target = targets[i], .text = moves[8].text};
        hn_model *m = optimized_from(&p, NULL);
        assert_int_equal(count_nodes(m->graph, "hone.Conv"), 0);
        hn_model_free(m);
    }
}

/* The whole text of one, and what the log says of it. */
static void test_text_and_log(void **state) {
    (void)state;
    pass_case c = {
        .passes = "channels-last",
        .target = HN_TARGET_SESSION,
        .text = HEAD(17) "g (float[1,3,9,9] x) => (float[1,2,9,9] y) <float[2,3,1,1] k = "
                         "{1, 2, 3, 4, 5, 6}> { a = Conv <strides = [1, 1]> (x, k) y = Cos (a) }",
        .expected =
            "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1, \"hone\" : 1]>\n"
            "g (float[1,3,9,9] x) => (float[1,2,9,9] y) <float[2,3,1,1] k = "
            "{1, 2, 3, 4, 5, 6}> { b = hone.NchwConv <strides = [1, 1]> (x, k)"
            " [channels_first] a = Transpose <perm = [0, 3, 1, 2]> (b) y = Cos (a) }"};
    hn_opt_log *log;
    expect_pass(&c);
    hn_model *m = optimized_from(&c, &log);
    assert_int_equal(log->rewrites.n, 1);
    assert_string_equal(log->rewrites.at[0].detail, "1 nodes, 1 transpositions");
    hn_opt_log_free(log);
    hn_model_free(m);
    c.text = HEAD(17) "g (float[1,3,4,4] x, float[m] r, int64[n] s) => (float[1,2,3,3] y) {"
                      " k = Reshape (r, s) y = Conv (x, k) }";
    expect_miss(&c, "layout", "whose rank is known");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),  cmocka_unit_test(test_twins),
        cmocka_unit_test(test_moves),        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_other_targets),
        cmocka_unit_test(test_text_and_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
