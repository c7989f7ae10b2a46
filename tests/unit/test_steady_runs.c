/* A run that repeats itself decides nothing: no attribute is looked up, nothing is inferred, no
 * function is found by its name. (That it allocates nothing is test_session_memory.c's.) */
#include "run_model.h"

#include "base/base.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

typedef struct steady_case {
    const char *name, *text;
    int32_t rank;
    int64_t dims[4];
} steady_case;

static const steady_case steady_cases[] = {
    {"convolutions",
     HEAD
     "g (float[n,3,8,8] x) => (float[n,4] y)\n"
     "<float[4,3,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, "
     "6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, "
     "9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, "
     "3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9},\n"
     " float[4,1,3,3] d = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, "
     "6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[2] flat = {0, -1}> {\n"
     "  a = Conv <pads = [1, 1, 1, 1]> (x, w) b = Relu (a)\n"
     "  c = Conv <group = 4, pads = [1, 1, 1, 1]> (b, d) e = Sigmoid (c) f = Mul (c, e)\n"
     "  h = Add (f, b) i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (h)\n"
     "  j = GlobalAveragePool (i) y = Reshape (j, flat) }",
     4,
     {2, 3, 8, 8}},
    {"layers of a transformer",
     HEAD
     "g (float[n,8] x) => (float[n,8] y) <float[8,8] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, "
     "5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, "
     "3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, float[8] s = {1, 2, 3, "
     "4, 5, 6, 7, 8}, float eight = {0.125}> {\n"
     "  a = LayerNormalization (x, s, s) q = MatMul (a, w) t = Transpose (q)\n"
     "  k = MatMul (q, t) l = Mul (k, eight) p = Softmax (l) v = MatMul (p, q)\n"
     "  b = Add (v, x) c = Gelu (b) r = ReduceMean <keepdims = 1> (c) y = Sub (c, r) }",
     2,
     {4, 8, 0, 0}},
    {"bytes",
     HEAD "g (float[n,3,8,8] x) => (float[n,6] y)\n"
          "<float s = {0.02}, float t = {0.03}, uint8 z = {128}> {\n"
          "  xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z) a = HardSwish (xd)\n"
          "  aq = QuantizeLinear (a, t, z) ad = DequantizeLinear (aq, t, z)\n"
          "  m = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (ad)\n"
          "  mq = QuantizeLinear (m, t, z) md = DequantizeLinear (mq, t, z) b = Add (md, xd)\n"
          "  bq = QuantizeLinear (b, s, z) bd = DequantizeLinear (bq, s, z)\n"
          "  c = Concat <axis = 1> (bd, md) cq = QuantizeLinear (c, t, z)\n"
          "  cd = DequantizeLinear (cq, t, z) p = GlobalAveragePool (cd)\n"
          "  pq = QuantizeLinear (p, s, z) pd = DequantizeLinear (pq, s, z) y = Flatten (pd) }",
     4,
     {2, 3, 8, 8}},
    {"shapes that are computed",
     HEAD "g (float[n,6] x) => (float[a,b] y)\n"
          "<int64[1] two = {2}, int64[1] zero = {0}, int64[1] one = {1}, int64 first = {0}> {\n"
          "  s = Shape (x) n = Gather (s, zero) t = Concat <axis = 0> (two, one)\n"
          "  m = Mul (n, two) u = Concat <axis = 0> (m, zero) r = Add (u, t)\n"
          "  v = Slice (x, zero, n, zero) e = Expand (first, n) c = Cast <to = 1> (e)\n"
          "  w = Unsqueeze (c, one) z = Add (v, w) y = Identity (z) }",
     2,
     {3, 6, 0, 0}},
    {"shapes that data decide",
     HEAD "g (float[n] x) => (float[m] y) <int64[1] flat = {-1}, float half = {0.5}> {\n"
          "  i = NonZero (x) j = Reshape (i, flat) a = Gather (x, j) b = Mul (a, half)\n"
          "  c = Tanh (b) y = Add (c, a) }",
     1,
     {7, 0, 0, 0}},
    {"a loop",
     HEAD "g (float[n] x) => (float[n] y) <int64 trips = {5}, bool go = {1}> {\n"
          "  y = Loop (trips, go, x) <body = b (int64 i, bool on, float[n] c) => (bool keep, "
          "float[n] next) {\n"
          "    keep = Identity (on) m = Mul (c, x) t = Tanh (m) next = Add (t, c) }> }",
     1,
     {8, 0, 0, 0}},
    {"a branch",
     HEAD "g (float[n] x) => (float[n] y) <float zero = {0}> {\n"
          "  s = ReduceSum <keepdims = 0> (x) c = Greater (s, zero)\n"
          "  y = If (c) <then_branch = t () => (float[n] a) { b = Neg (x) a = Exp (b) },\n"
          "    else_branch = e () => (float[n] d) { d = Abs (x) }> }",
     1,
     {8, 0, 0, 0}},
    {"joined values",
     HEAD "g (float[n,32] x) => (float[m,32] y) {\n"
          "  a = Relu (x) b = Tanh (x) c = Concat <axis = 0> (a, b) y = Neg (c) }",
     2,
     {2, 32, 0, 0}},
    {"quantized values",
     HEAD "g (float[n,4] x) => (float[n,4] y) <float s = {0.5}, uint8 z = {128}> {\n"
          "  q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Clip (d) }",
     2,
     {3, 4, 0, 0}},
    {"products of bytes",
     HEAD "g (float[n,4] x) => (float[n,3] y) <int8[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "
          "12}, float s = {0.5}, int8 z = {1}, uint8 q = {3}, float[3] c = {1, 2, 3}> {\n"
          "  a, t, u = DynamicQuantizeLinear (x) b = MatMulInteger (a, w, u, z)\n"
          "  d = Cast <to = 1> (b) e = QLinearMatMul (a, s, q, w, s, z, s, q)\n"
          "  f = DequantizeLinear (e, s, q) h = Add (d, f)\n"
          "  i = com.microsoft.DynamicQuantizeMatMul (x, w, s, z, c) y = Add (h, i) }",
     2,
     {3, 4, 0, 0}},
};

#ifdef HONE_COUNT_DECISIONS
static void expect_no_decision(const steady_case *c, hone_level level, int32_t n_threads) {
    static const char *const names[] = {"attribute lookups", "inferences", "selections"};
    const char *in = "x", *out = "y";
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    options.level = level;
    runner r = runner_with(c->text, NULL, &options);
    hone_value *x = counting_floats(c->rank, c->dims);
    uint64_t before[HN_N_DECISIONS];
    for (int run = 0; run < 6; run++) {
        hone_value *y = NULL;
        for (int d = 0; d < HN_N_DECISIONS; d++)
            before[d] = hn_decisions_made((hn_decision)d);
        expect_ok(hone_session_run(r.session, NULL, 1, &in, (const hone_value *const *)&x, 1, &out,
                                   &y, &error));
        hone_value_free(y);
    }
    for (int d = 0; d < HN_N_DECISIONS; d++)
        if (hn_decisions_made((hn_decision)d) != before[d])
            fail_msg("%s, level %d: %llu %s in a run that repeats itself", c->name, (int)level,
                     (unsigned long long)(hn_decisions_made((hn_decision)d) - before[d]), names[d]);
    hone_value_free(x);
    runner_free(&r);
}

static void steady_runs_decide_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(steady_cases); i++)
        for (int32_t n_threads = 1; n_threads <= 2; n_threads++) {
            expect_no_decision(&steady_cases[i], HONE_LEVEL_NONE, n_threads);
            expect_no_decision(&steady_cases[i], HONE_LEVEL_ALL, n_threads);
        }
}

/* The counts are no constants: first runs make decisions of each kind. */
static void first_runs_decide(void **state) {
    (void)state;
    uint64_t before[HN_N_DECISIONS];
    for (int d = 0; d < HN_N_DECISIONS; d++)
        before[d] = hn_decisions_made((hn_decision)d);
    for (size_t i = 0; i < HN_COUNT(steady_cases); i++)
        expect_no_decision(&steady_cases[i], HONE_LEVEL_NONE, 1);
    for (int d = 0; d < HN_N_DECISIONS; d++)
        assert_true(hn_decisions_made((hn_decision)d) > before[d]);
}
#else
static void steady_runs_decide_nothing(void **state) {
    (void)state, (void)steady_cases;
    print_message("skipped: this build does not count decisions (HONE_COUNT_DECISIONS)\n");
    skip();
}
static void first_runs_decide(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steady_runs_decide_nothing),
                                       cmocka_unit_test(first_runs_decide)};
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
