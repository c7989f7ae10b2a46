/* Chains of convolutions in sessions: which are formed, and that results do not change. */
#include "pass_memory.h"

#include <stdio.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
#define FILTERS                                                                                    \
  "float[2,5,1,1] e = {1, 2, -3, 4, 5, 6, 7, -8, 9, 1}, float[2] s = {0.5, -1},"                   \
  " float[2,1,3,3] d = {1, 2, 3, -4, 5, 6, 7, -8, 9, 1, -2, 3, 4, -5, 6, 7, -8, 9},"               \
  " float[2,1,5,5] d5 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3,"           \
  " 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6,"           \
  " 7}, float[2,2,1,1] p = {1, -2, 3, 4}, float[5,2,1,1] q = {1, 2, -3, 4, 5, 6, 7, -8, 9, 1},"    \
  " float[2,5,2,2] k = {-9, -2, 5, -7, 0, 7, -5, 2, 9, -3, 4, -8, -1, 6, -6, 1, 8, -4, 3, -9, "    \
  "-2, 5, -7, 0, 7, -5, 2, 9, -3, 4, -8, -1, 6, -6, 1, 8, -4, 3, -9, -2}, float[2,3,2,2] h = {1, " \
  "-2, 3, 4, 5, -6, 7, 8, 9, 1, 2, -3, 4, 5, 6, 7, 8, -9, 1, 2, 3, 4, 5, -6}, float lo = {0}, "    \
  "float "                                                                                         \
  "hi = {6}"
#define OVER(x, y, nodes) HEAD "g (" x ") => (" y ") <" FILTERS "> {" nodes " }"
/* A map of two channels has the smallest size for which chains are formed. */
#define SMALL(nodes) OVER("float[n,5,128,128] x", "float[a,b,c,f] y", nodes)
/* This size is large enough that they also run as chains, in bands and steps. */
#define LARGE(nodes) OVER("float[2,5,260,257] x", "float[a,b,c,f] y", nodes)
#define PLANES(nodes) OVER("float[4,3,260,257] x", "float[a,b,c,f] y", nodes)
#define PADDED "<group = 2, pads = [1, 1, 1, 1]>"

typedef struct chain_counts {
    const char *text;
    uint32_t n_chains, n_convs;
} chain_counts;

/* Both kinds: channels-last and channels-first input. */
static uint32_t count_in_hone(const hn_graph *g, const char *op) {
    uint32_t n = 0;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *node = hn_node_at(g, id);
        const char *name = hn_s(node->op);
        name += strncmp(name, "Nchw", 4) == 0 ? 4 : 0;
        n += node->block != HN_NONE && strcmp(hn_s(node->domain), "hone") == 0 &&
             strcmp(name, op) == 0;
    }
    return n;
}

static void expect_chains(const chain_counts *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const chain_counts *t = &cases[i];
        pass_case p = {.passes = "channels-last,nhwc-epilogues,conv-chains,fold-constants,no-ops",
                       .target = HN_TARGET_SESSION,
                       .text = t->text,
                       .bound = 1e-5};
        hn_model *m = optimized_from(&p, NULL);
        uint32_t n_chains = count_in_hone(m->graph, "ConvChain"),
                 n_convs = count_in_hone(m->graph, "Conv");
        if (n_chains != t->n_chains || n_convs != t->n_convs)
            fail_msg("%u chains and %u convolutions in\n%s", n_chains, n_convs, t->text);
        expect_same_results(&p, m);
        hn_model_free(m);
    }
}

static void test_formed(void **state) {
    (void)state;
    static const chain_counts cases[] = {
        {SMALL("a1 = Conv (x, e) y = Conv " PADDED " (a1, d)"), 1, 0},
        {SMALL("a1 = Conv (x, e) a2 = Conv " PADDED " (a1, d) y = Conv (a2, p)"), 1, 0},
        {LARGE("a1 = Conv <strides = [2, 1]> (x, k, s) y = Conv " PADDED " (a1, d, s)"), 1, 0},
        /* Four in a row are three and one; six are two chains. */
        {SMALL("a1 = Conv (x, e) a2 = Conv " PADDED " (a1, d) a3 = Conv (a2, p)"
               " y = Conv " PADDED " (a3, d)"),
         1, 1},
        {SMALL("a1 = Conv (x, e) a2 = Conv " PADDED " (a1, d) a3 = Conv (a2, q)"
               " a4 = Conv (a3, e) a5 = Conv " PADDED " (a4, d) y = Conv (a5, p)"),
         2, 0},
    };
    expect_chains(cases, HN_COUNT(cases));
}

static void test_run_as_chains(void **state) {
    (void)state;
    static const chain_counts cases[] = {
        {LARGE("a1 = Conv (x, e, s) r1 = Relu (a1) a2 = Conv " PADDED " (r1, d, s)"
               " r2 = Clip (a2, lo, hi) a3 = Conv (r2, q) y = Add (a3, x)"),
         1, 0},
        {LARGE("a1 = Conv (x, e) r1 = HardSwish (a1) a2 = Conv <group = 2, strides = [2, 2],"
               " auto_pad = \"SAME_UPPER\"> (r1, d5, s) y = LeakyRelu <alpha = 0.25> (a2)"),
         1, 0},
        {LARGE("a1 = Conv (x, e) a2 = Conv <group = 2, dilations = [2, 1], strides = [1, 2],"
               " auto_pad = \"SAME_LOWER\"> (a1, d) r2 = HardSigmoid (a2)"
               " y = Conv (r2, p)"),
         1, 0},
        {LARGE("a1 = Conv (x, e) a2 = Conv <group = 2, pads = [2, 0, 1, 3]> (a1, d)"
               " y = Conv <auto_pad = \"VALID\"> (a2, p)"),
         1, 0},
        /* the first convolution reads the channels-first image */
        {PLANES("a1 = Conv <strides = [1, 2], auto_pad = \"SAME_UPPER\"> (x, h, s) r1 = Relu (a1)"
                " a2 = Conv " PADDED " (r1, d) r2 = HardSwish (a2) y = Conv (r2, p)"),
         1, 0},
        {PLANES("a1 = Conv <strides = [2, 1], pads = [1, 0, 2, 1]> (x, h)"
                " y = Conv <group = 2, strides = [2, 2]> (a1, d5)"),
         1, 0},
        /* an input of a Concat */
        {LARGE("r = Relu (x) a1 = Conv (r, e) a2 = Conv " PADDED " (a1, d)"
               " b = Concat <axis = 1> (r, a2, r) y = Abs (b)"),
         1, 0},
    };
    expect_chains(cases, HN_COUNT(cases));
}

static void test_not_formed(void **state) {
    (void)state;
    static const chain_counts cases[] = {
        /* small maps */
        {OVER("float[n,5,64,64] x", "float[a,b,c,f] y",
              "a1 = Conv (x, e) y = Conv " PADDED " (a1, d)"),
         0, 2},
        /* dense windows of stride 1; two that are not depthwise; two that are */
        {SMALL("a1 = Conv (x, k) y = Conv " PADDED " (a1, d)"), 0, 2},
        {SMALL("a1 = Conv (x, e) y = Conv (a1, p)"), 0, 2},
        {SMALL("t1 = Relu (x) a1 = Conv (t1, k) a2 = Conv " PADDED " (a1, d) y = Conv " PADDED
               " (a2, d)"),
         0, 3},
        /* the intermediate value has other readers */
        {OVER("float[n,5,128,128] x", "float[a,b,c,f] y, float[a2,b2,c2,f2] z",
              "z = Conv (x, e) y = Conv " PADDED " (z, d)"),
         0, 2},
        {SMALL("a1 = Conv (x, e) a2 = Conv " PADDED " (a1, d) y = Add (a2, a1)"), 0, 2},
        /* a sum in the middle ends the chain */
        {SMALL("a0 = Conv (x, e) r = Abs (a0) a1 = Conv (r, p) a2 = Conv " PADDED " (a1, d)"
               " b2 = Add (a2, r) y = Conv (b2, p)"),
         1, 2},
        /* weights that are graph inputs */
        {OVER("float[n,5,128,128] x, float[2,1,3,3] w", "float[a,b,c,f] y",
              "a1 = Conv (x, e) y = Conv " PADDED " (a1, w)"),
         0, 2},
        /* one axis, three */
        {OVER("float[1,5,40000] x, float[2,5,1] w, float[2,1,3] v", "float[a,b,c] y",
              "a1 = Conv (x, w) y = Conv <group = 2> (a1, v)"),
         0, 2},
    };
    expect_chains(cases, HN_COUNT(cases));
}

static void test_unknown_sizes(void **state) {
    (void)state;
    pass_case c = {.passes = "channels-last,nhwc-epilogues,conv-chains",
                   .target = HN_TARGET_SESSION,
                   .text = OVER("float[n,5,h,w] x", "float[a,b,c,f] y",
                                "a1 = Conv (x, e) y = Conv " PADDED " (a1, d)")};
    expect_miss(&c, "start", "sizes of the maps");
}

static void test_memory(void **state) {
    (void)state;
    const char *passes[] = {"channels-last", "nhwc-epilogues", "conv-chains"};
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.target = HN_TARGET_SESSION;
    o.only = passes;
    o.n_only = HN_COUNT(passes);
    expect_every_failure_told(
        SMALL("a1 = Conv (x, e) r1 = LeakyRelu (a1) a2 = Conv " PADDED " (r1, d) y = Conv (a2, p)"),
        &o, 1, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formed),     cmocka_unit_test(test_run_as_chains),
        cmocka_unit_test(test_not_formed), cmocka_unit_test(test_unknown_sizes),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
