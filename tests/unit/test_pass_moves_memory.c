/* Passes on sizes, data movement and constants with allocation failures: the failure is reported,
 * and nothing leaks. */
#include "pass_memory.h"

/* A graph with work for each of them. */
static const char subject[] =
    "<ir_version: 10, opset_import: [\"\" : 17]>\n"
    "g (float[b,3,4,5] x, float[b,s,4] z, bool[b,s] k) => (float[b,3,4,5] y, float[b,s,4] v,"
    " float[b,s,2] e, bool[b,1,s,1] m, float[1,4] r, float[b,s,4] h)"
    " <float two = {2}, float one = {1}, float half = {0.5}, float[4,2] w = {1,2,3,4,5,6,7,8},"
    " float[3] c = {1, 2, 3}, int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] four = {4},"
    " int64 n0 = {0}, int64 n1 = {1}, int64[2] u = {1, 2}, int64[1] all = {-1},"
    " int64[2] flat = {-1, 4}, float[4,4] q = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}> {"
    " t = Transpose <perm = [0, 2, 3, 1]> (x) a = Add (t, c) l = Relu (a) l2 = Max (l, half)"
    " y = Transpose <perm = [0, 3, 1, 2]> (l2)"
    " sh = Shape (z) sb = Gather (sh, i0) ss = Gather (sh, i1) cs = Concat <axis = 0> (sb, ss, "
    "four)"
    " f = Reshape (z, all) g1 = Reshape (f, cs) p = Mul (g1, two) p2 = Add (p, one)"
    " p3 = Mul (p2, half) ex = Expand (two, cs) p4 = Mul (p3, ex)"
    " v = Einsum <equation = \"bsd,de->bse\"> (p4, q)"
    " e = Einsum <equation = \"bsd,dn->bsn\"> (v, w)"
    " kb = Gather (sh, n0) ks = Gather (sh, n1) r0 = Range (n0, kb, n1) r1 = Range (n0, ks, n1)"
    " ru = Unsqueeze (r0, u) rv = Unsqueeze (r1, i0) rm = Mul (ru, ks) ra = Add (rm, rv)"
    " kf = Flatten <axis = 2> (k) m = Gather (kf, ra)"
    " d1 = ReduceMax <axes = [0, 1], keepdims = 0> (z) r = Unsqueeze (d1, i0)"
    " o = Reshape (v, flat) o2 = MatMul (o, q) h = Reshape (o2, cs) }";

static const char *const passes[] = {
    "dead-code",     "fold-constants",  "fold-shapes", "share-sizes",
    "drop-expands",  "gather-all",      "keep-axes",   "merge-reshapes",
    "merge-moves",   "unflatten",       "algebra",     "clip-chains",
    "einsum-matmul", "push-transposes", "no-ops",      "common-subexpressions"};

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.trusts_names = true;
    o.only = passes;
    o.n_only = HN_COUNT(passes);
    expect_every_failure_told(subject, &o, 8, 18);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
