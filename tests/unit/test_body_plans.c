/* Bodies that get a plan compute what they did without one: the first run of a session has none,
 * later ones do. And states do not hold on to plans that their session has freed. */
#include "run_model.h"

#include "base/base.h"

typedef struct body_case {
    const char *text;
    int32_t rank;
    int64_t dims[2];
} body_case;

static const body_case body_cases[] = {
    /* a body input that is viewed after its last reader */
    {RUN_HEAD
     "g (float[n,4] x) => (float[a,b] y) <int64[2] flat = {4, -1}, int64 first = {1}> {\n"
     "  t = Neg (x) s = SequenceConstruct (x, t, x, x)\n"
     "  m = SequenceMap (s, t) <body = b (float[n,4] e, float[n,4] u) => (float[p,q] z) {\n"
     "    v = Reshape (u, flat) w = Reshape (e, flat) r = Exp (w) z = Add (r, v) }>\n"
     "  y = SequenceAt (m, first) }",
     2,
     {3, 4}},
    /* loops in loops, with a captured value and stacked elements */
    {RUN_HEAD "g (float[n,4] x) => (float[a,b,c] y) <int64 three = {3}, bool on = {1}> {\n"
              "  l, y = Loop (three, on, x) <body = b (int64 i, bool go, float[n,4] c) => "
              "(bool keep, float[n,4] next, float[n,4] s) {\n"
              "    keep = Identity (go) h = Mul (c, x)\n"
              "    k = Loop (three, on, h) <body = d (int64 j, bool gg, float[n,4] e) => "
              "(bool kk, float[n,4] f) { kk = Identity (gg) f = Tanh (e) }>\n"
              "    next = Add (k, x) s = Sub (next, h) }> }",
     2,
     {2, 4}},
    /* shapes that grow in every turn */
    {RUN_HEAD "g (float[n,4] x) => (float[a,4] y) <int64 five = {5}, bool on = {1}> {\n"
              "  y = Loop (five, on, x) <body = b (int64 i, bool go, float[m,4] c) => (bool keep, "
              "float[k,4] next) { keep = Identity (go) t = Neg (x) next = Concat <axis = 0> (c, t) "
              "}> }",
     2,
     {2, 4}},
    /* outputs that are inputs, outer values, constants, and one value twice */
    {RUN_HEAD
     "g (float[n,4] x) => (float[n,4] y) <int64 four = {4}, bool on = {1}> {\n"
     "  a, b, c = Loop (four, on, x, x, x) <body = d (int64 i, bool go, float[n,4] p, "
     "float[n,4] q, float[n,4] r) => (bool go, float[n,4] q, float[n,4] s, float[n,4] s) {\n"
     "    s = Add (p, r) }>\n"
     "  u = Add (a, b) y = Add (u, c) }",
     2,
     {3, 4}},
    /* both branches, by turns */
    {RUN_HEAD
     "g (float[n,4] x) => (float[n,4] y) <int64 six = {6}, bool on = {1}, int64 two = {2}, "
     "int64 zero = {0}> {\n"
     "  y = Loop (six, on, x) <body = b (int64 i, bool go, float[n,4] c) => (bool keep, "
     "float[n,4] next) { keep = Identity (go) m = Mod (i, two) e = Equal (m, zero)\n"
     "    next = If (e) <then_branch = t () => (float[n,4] p) { q = Abs (c) p = Add (q, x) },\n"
     "      else_branch = f () => (float[n,4] r) { r = Neg (c) }> }> }",
     2,
     {3, 4}},
};

static void expect_same_runs(const body_case *c, int32_t n_threads) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    runner r = runner_with(c->text, NULL, &options);
    hone_value *x = counting_floats(c->rank, c->dims);
    hone_value *first = result_of(&r, "x", x, "y");
    hone_tensor_info wanted, got;
    hone_value_tensor(first, &wanted);
    for (int run = 0; run < 5; run++) {
        hone_value *y = result_of(&r, "x", x, "y");
        hone_value_tensor(y, &got);
        assert_int_equal(got.n_elements, wanted.n_elements);
        assert_memory_equal(got.data, wanted.data, wanted.n_elements * sizeof(float));
        hone_value_free(y);
    }
    hone_value_free(first);
    hone_value_free(x);
    runner_free(&r);
}

static void planned_bodies_compute_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(body_cases); i++) {
        expect_same_runs(&body_cases[i], 1);
        expect_same_runs(&body_cases[i], 2);
    }
}

/* The plan of the first shape is freed for the second one, which is over the limit. */
static void a_refused_plan_leaves_nothing(void **state) {
    (void)state;
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.max_plans = 1;
    options.memory_limit_bytes = 4096;
    runner r = runner_with(RUN_HEAD "g (float[n] x) => (float[n] y) { a = Exp (x) b = Neg (x) "
                                    "c = Mul (a, b) y = Add (c, b) }",
                           NULL, &options);
    hone_value *small = counting_floats(DIMS(8)), *large = counting_floats(DIMS(1 << 16));
    for (int i = 0; i < 3; i++) {
        hone_value *y = result_of(&r, "x", small, "y"), *none = NULL;
        hone_value_free(y);
        expect_failure(run_one(&r, "x", large, "y", &none, &error), HONE_E_LIMIT, "limit");
        assert_null(none);
    }
    hone_value_free(small);
    hone_value_free(large);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(planned_bodies_compute_the_same),
                                       cmocka_unit_test(a_refused_plan_leaves_nothing)};
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
