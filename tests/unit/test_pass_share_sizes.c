/* The sharing of symbolic sizes. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define CASE(opset, io, before, after)                               \
  {                                                                  \
    .passes = "share-sizes", .text = HEAD(opset) io " {" before "}", \
    .expected = HEAD(opset) io " {" after "}"                        \
  }
#define STAYS(opset, io, nodes) CASE(opset, io, nodes, nodes)

#define TWO "g (float[b,s] x, float[b,s] z, float[1,1] o) => (float[b,s] y, float[b,s] w)"
#define INDEX " <int64[1] i = {0}, int64[1] j = {1}>"

static const pass_case shared[] = {
    /* Two computations of [b, s]; the shape of the first tensor with these sizes replaces both. */
    CASE(17, TWO,
         "e = Exp (x) f = Exp (z) s = Shape (e) y = Expand (o, s) t = Shape (f) w = Expand (o, t)",
         "s = Shape (x) y = Expand (o, s) w = Expand (o, s)"),
    /* A shape that is split and concatenated again. */
    CASE(17, "g (float[b,s] x, float[1,1] o) => (float[b,s] y)" INDEX,
         "e = Relu (x) s = Shape (e) p = Gather (s, i) t = Shape (e) q = Gather (t, j)"
         " c = Concat <axis = 0> (p, q) y = Expand (o, c)",
         "s = Shape (x) y = Expand (o, s)"),
    /* Sizes among numbers: a part of a shape, with start and end since opset 15. */
    CASE(17,
         "g (float[b,s] x, float[1,1] o) => (float[b,3] y) <int64 i = {0}, int64[1] a = {0},"
         " int64[1] t = {3}>",
         "s = Shape (x) p = Gather (s, i) u = Unsqueeze (p, a) v = Abs (u)"
         " c = Concat <axis = 0> (v, t) y = Expand (o, c)",
         "p = Shape <start = 0, end = 1> (x) c = Concat <axis = 0> (p, t) y = Expand (o, c)"),
    /* Branches share values computed outside. */
    CASE(17, "g (bool c, float[b] x, float[1] o) => (float[b] y, int64[1] s)",
         "s = Shape (x) y = If (c) <then_branch = t () => (float[b] r) { e = Exp (x) u = Shape (e)"
         " r = Expand (o, u) }, else_branch = e () => (float[b] q) { q = Neg (x) }>",
         "s = Shape (x) y = If (c) <then_branch = t () => (float[b] r) { r = Expand (o, s) },"
         " else_branch = e () => (float[b] q) { q = Neg (x) }>"),
};

static const pass_case kept[] = {
    STAYS(17, "g (float[b] x, float[c] z, float[1] o) => (float[b] y, float[c] w)",
          "s = Shape (x) y = Expand (o, s) t = Shape (z) w = Expand (o, t)"),
    /* As many nodes as the original. */
    STAYS(14, "g (float[b,s] x, float[1] o) => (float[b] y) <int64[1] i = {0}>",
          "s = Shape (x) p = Gather (s, i) y = Expand (o, p)"),
};

static void test_shared(void **state) {
    (void)state;
    expect_passes(shared, HN_COUNT(shared));
}

static void test_kept(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
}

/* Reused values do not count as savings, so the passes terminate. */
static void test_comes_to_an_end(void **state) {
    (void)state;
    hn_opt_log *log;
    pass_case c = CASE(17,
                       "g (float[b,2] x, float[1,1,2] o) => (float[b,1,2] y)"
                       " <int64 i = {0}, int64[1] a = {0}, int64[2] t = {1, 1}>",
                       "s = Shape (x) p = Gather (s, i) u = Unsqueeze (p, a)"
                       " c = Concat <axis = 0> (u, t) y = Expand (o, c)",
                       "");
    hn_model *m = optimized_from(&c, &log);
    assert_int_equal(log->rewrites.n, 1);
    assert_true(log->stats.at[0].n_runs <= 3);
    hn_opt_log_free(log);
    hn_model_free(m);
}

/* In a loop body a symbol may be another size in each iteration: no value from outside is used. */
static void test_loop_bodies_are_apart(void **state) {
    (void)state;
    expect_pass(&(pass_case)STAYS(
        17, "g (float[n] x, float[1] o) => (float[n] y, int64[1] s) <int64 t = {3}, bool c = {1}>",
        "s = Shape (x) y = Loop (t, c, x) <body = b (int64 i, bool k, float[n] v) =>"
        " (bool k2, float[n] w) { k2 = Identity (k) u = Shape (v) w = Expand (o, u) }>"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_comes_to_an_end),
        cmocka_unit_test(test_loop_bodies_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
