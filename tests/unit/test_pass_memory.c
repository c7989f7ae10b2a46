/* Optimizing when memory runs out: the failure is told, nothing is lost. */
#include "counting_allocator.h"
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]>\n"

/* Something for every basic pass. */
static const char subject[] =
    HEAD "g (float[b,2] x, int64[2] k) => (float[b,2] y, string[2] z) <bool c = {1}, float[2] w = "
         "{1, 2},"
         " float[2] u = {1, 2}, float one = {1}> {"
         " s = Constant <value_strings = [\"a\", \"bc\"]> () q = StringConcat (s, s)"
         " t = Cast <to = 8> (k) z = StringConcat (t, q)"
         " n = Neg (w) d = Identity (x) e = Add (d, n) f = Mul (e, u)"
         " g1 = Exp (f) g2 = Exp (f) h = Add (g1, g2) h1 = Mul (h, one)"
         " i = If (c) <then_branch = yes () => (float[b,2] r) { a = Neg (h1) r = Abs (a) },"
         " else_branch = no () => (float[b,2] r2) { r2 = Neg (x) }>"
         " r1 = Relu (i) r3 = Relu (r1) sh = Shape (r3) j = Reshape (r3, sh) dead = Tanh (j)"
         " l = SequenceConstruct (j, x) pos = Constant <value_int = 0> () m = SequenceAt (l, pos)"
         " y = Cast <to = 1> (m) }";

static hone_status optimize_subject(const hone_allocator *a, uint32_t *n_nodes) {
    hn_optimize_options o;
    hone_error err = {0};
    hn_model *m = NULL;
    HN_TRY(hn_model_parse(subject, sizeof subject - 1, a, &m, NULL));
    hn_opt_log *log = hn_opt_log_new(a);
    hn_optimize_options_init(&o);
    o.level = HN_LEVEL_BASIC;
    hone_status status = log ? hn_optimize(m, &o, log, &err) : HONE_E_NOMEM;
    if (status == HONE_OK)
        *n_nodes = hn_block_at(m->graph, 0)->nodes.n;
    hn_opt_log_free(log);
    hn_model_free(m);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    counting_allocator c;
    uint32_t n_nodes = 0, n_fewest;
    counting_init(&c, 0);
    assert_int_equal(optimize_subject(&c.hook, &n_fewest), HONE_OK);
    assert_true(counting_is_clean(&c));
    assert_true(n_fewest < 12);
    size_t n_requests = c.n_requests;
    for (size_t fail_at = 1; fail_at <= n_requests; fail_at++) {
        counting_init(&c, fail_at);
        hone_status status = optimize_subject(&c.hook, &n_nodes);
        bool is_spared = status == HONE_OK && n_nodes == n_fewest; /* heaps ask twice */
        if (status != HONE_E_NOMEM && !is_spared)
            fail_msg("allocation %zu failed, but the status is %d", fail_at, status);
        assert_true(counting_is_clean(&c));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
