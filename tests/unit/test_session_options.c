/* Session options: dimensions, denormals, providers, requested outputs, deadlines, costs. */
#include "run_model.h"

#include <math.h>

/* ---- dimensions ------------------------------------------------------------------------------ */

#define MOVING                                                                             \
  RUN_HEAD "g (float[n,k] x, float[n,4] z) => (float[n,m] y) <int64[2] s = {0, 4}> { r = " \
           "Reshape (x, s) y = Add (r, z) }"

static hone_status open_sized(const char *text, uint32_t n, const hone_dim_size *dims, runner *r,
                              hone_error *error) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.n_dims = n;
    options.dims = dims;
    r->model = model_from(text);
    hone_status status = hone_session_create(r->model, &options, &r->session, error);
    if (status != HONE_OK)
        hone_model_free(r->model);
    return status;
}

static void a_session_may_fix_dimensions(void **state) {
    (void)state;
    runner r;
    const hone_dim_size sizes[] = {{"n", 2}, {"k", 4}, {"n", 2}};
    const char *names[] = {"x", "z"}, *out = "y";
    hone_value *fits = counting_floats(DIMS(2, 4)), *other = counting_floats(DIMS(3, 4)), *y = NULL;
    expect_ok(open_sized(MOVING, 3, sizes, &r, &error));
    expect_ok(hone_session_run(r.session, NULL, 2, names, (const hone_value *[]){fits, fits}, 1,
                               &out, &y, &error));
    expect_dims(y, DIMS(2, 4));
    hone_value_free(y);
    y = NULL;
    expect_failure(hone_session_run(r.session, NULL, 2, names, (const hone_value *[]){other, other},
                                    1, &out, &y, &error),
                   HONE_E_SHAPE, "'x' is float[3,4], but the model takes float[2,4]");
    runner_free(&r);
    expect_ok(open_sized(MOVING, 0, NULL, &r, &error)); /* the model itself has not changed */
    expect_ok(hone_session_run(r.session, NULL, 2, names, (const hone_value *[]){other, other}, 1,
                               &out, &y, &error));
    runner_free(&r);
    hone_value_free(y);
    hone_value_free(fits);
    hone_value_free(other);
}

static void contradicting_dimensions_are_refused(void **state) {
    (void)state;
    runner r;
    expect_failure(open_sized(MOVING, 1, (const hone_dim_size[]){{"q", 2}}, &r, &error),
                   HONE_E_NOT_FOUND, "no symbolic dimension 'q'; it has n, k");
    expect_failure(open_sized(MOVING, 1, (const hone_dim_size[]){{"n", -1}}, &r, &error),
                   HONE_E_ARGUMENT, "cannot be -1");
    expect_failure(open_sized(MOVING, 2, (const hone_dim_size[]){{"n", 2}, {"n", 3}}, &r, &error),
                   HONE_E_ARGUMENT, "'n' is given two sizes: 2 and 3");
    expect_failure(open_sized(MOVING, 1, (const hone_dim_size[]){{NULL, 3}}, &r, &error),
                   HONE_E_ARGUMENT, "dimension 0 is NULL");
    expect_failure(open_sized(MOVING, 1, NULL, &r, &error), HONE_E_ARGUMENT, "dims is NULL");
    expect_failure(open_sized(MOVING, 2, (const hone_dim_size[]){{"n", 2}, {"k", 3}}, &r, &error),
                   HONE_E_SHAPE, "cannot take these dimensions");
}

/* ---- denormals ------------------------------------------------------------------------------- */

#define HALVING RUN_HEAD "g (float[n] x) => (float[n] y) <float h = {0.5}> { y = Mul (x, h) }"

static float smallest_half(bool keep, int n_threads) {
    enum { MANY = 1 << 20 };
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    options.keep_denormals = keep;
    runner r = runner_with(HALVING, NULL, &options);
    hone_value *x = counting_floats(DIMS(MANY)), *y;
    hone_tensor_info info;
    float least = 1;
    hone_value_tensor(x, &info);
    for (int i = 0; i < MANY; i++)
        ((float *)(uintptr_t)info.data)[i] = 0x1p-126f;
    y = result_of(&r, "x", x, "y");
    hone_value_tensor(y, &info);
    for (int i = 0; i < MANY; i++)
        least = fminf(least, ((const float *)info.data)[i]);
    assert_float_equal(least, ((const float *)info.data)[0], 0); /* in every thread the same */
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
    return least;
}

static void denormals_count_as_zero_unless_kept(void **state) {
    (void)state;
    volatile float least = 0x1p-126f;
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        assert_true(smallest_half(true, n_threads) == 0x1p-127f);
#if defined(__x86_64__) || defined(__aarch64__)
        assert_true(smallest_half(false, n_threads) == 0);
#endif
        assert_true(least * 0.5f == 0x1p-127f); /* the caller's mode is restored */
    }
}

/* ---- providers ------------------------------------------------------------------------------- */

static void providers_are_asked_in_order(void **state) {
    (void)state;
    hone_model *model = model_from(HALVING);
    hone_session_options options;
    hone_session *session;
    const char *cpu[] = {"cpu"}, *missing[] = {"cpu", "npu"}, *null[] = {NULL};
    assert_string_equal(hone_provider_name(0), "cpu");
    assert_string_equal(hone_provider_name(99), "");
    hone_session_options_init(&options);
    options.n_providers = 1;
    options.providers = cpu;
    expect_ok(hone_session_create(model, &options, &session, &error));
    hone_session_free(session);
    options.providers = null;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_ARGUMENT,
                   "provider 0 is NULL");
    options.providers = NULL;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_ARGUMENT,
                   "providers is NULL");
    options.n_providers = 2;
    options.providers = missing;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_UNSUPPORTED,
                   "no provider 'npu'; this build has: cpu");
    hone_model_free(model);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void threads_are_not_negative(void **state) {
    (void)state;
    hone_model *model = model_from(HALVING);
    hone_session_options options;
    hone_session *session;
    hone_session_options_init(&options);
    options.n_threads = -1;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_ARGUMENT,
                   "cannot have -1 threads; 0 means all processors");
    hone_model_free(model);
}

/* ---- chosen outputs -------------------------------------------------------------------------- */

static void list_ops(void *ctx, const hone_step *step) {
    strncat(ctx, step->op, 127 - strlen(ctx));
    strncat(ctx, " ", 127 - strlen(ctx));
}

static const char *ops_run_for(const runner *r, const hone_value *x, uint32_t n,
                               const char *const *outputs) {
    static char ops[128];
    const char *in = "x";
    hone_value *values[4] = {0};
    hone_run_options options;
    hone_run_options_init(&options);
    options.observe = list_ops;
    options.observe_ctx = ops;
    ops[0] = '\0';
    expect_ok(hone_session_run(r->session, &options, 1, &in, &x, n, outputs, values, &error));
    for (uint32_t i = 0; i < n; i++)
        hone_value_free(values[i]);
    return ops;
}

/* The body of the If reads `a` from outside; the result of Exp has no reader. */
static void nodes_that_no_output_needs_are_not_run(void **state) {
    (void)state;
    runner r = runner_as_written(
        RUN_HEAD
        "g (float[n] x) => (float[n] p, float[n] q, float[n] u) <bool yes = {1}> {\n"
        "  a = Neg (x) b = Abs (x) c = Exp (x) p = If (yes) <then_branch = t () => (float[n] s) "
        "{ s = Relu (a) }, else_branch = e () => (float[n] s2) { s2 = Sqrt (a) }> q = Sin (b) u = "
        "RandomNormalLike (b) }");
    hone_value *x = counting_floats(DIMS(3));
    static const char *const p[] = {"p"}, *const q[] = {"q"}, *const both[] = {"q", "p"};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(ops_run_for(&r, x, 1, p), "Neg Relu If ");
        assert_string_equal(ops_run_for(&r, x, 1, q), "Abs Sin ");
        assert_string_equal(ops_run_for(&r, x, 2, both), "Neg Abs Relu If Sin ");
    }
    hone_value_free(x);
    runner_free(&r);
}

#define NOISE                                                  \
  RUN_HEAD "g (float[n] x) => (float[n] a, float[n] b) { a = " \
           "RandomNormalLike (x) b = RandomNormalLike (x) }"

static runner runner_with_seed(const char *text, uint64_t seed) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.seed = seed;
    return runner_with(text, NULL, &options);
}

static void random_numbers_do_not_depend_on_other_outputs(void **state) {
    (void)state;
    runner r = runner_with_seed(NOISE, 3), other = runner_with_seed(NOISE, 3);
    const char *in = "x";
    hone_value *x = counting_floats(DIMS(3)), *alone = result_of(&other, "x", x, "b"),
               *both[2] = {0};
    runner_free(&other);
    const hone_value *xs = x;
    hone_tensor_info info;
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, both, &error));
    hone_value_tensor(both[1], &info);
    expect_floats(alone, 3, info.data);
    double first[2];
    hone_value_get_f64(both[0], 0, 1, &first[0]);
    hone_value_get_f64(both[1], 0, 1, &first[1]);
    assert_true(first[0] != first[1]);
    hone_value *all[] = {x, alone, both[0], both[1]};
    for (size_t i = 0; i < 4; i++)
        hone_value_free(all[i]);
    runner_free(&r);
}

static double first_of(const runner *r, const hone_value *x, const char *out) {
    hone_value *y = result_of(r, "x", x, out);
    double first = 0;
    hone_value_get_f64(y, 0, 1, &first);
    hone_value_free(y);
    return first;
}

static void every_run_draws_new_numbers(void **state) {
    (void)state;
    runner free_one = runner_of(NOISE), seeded = runner_with_seed(NOISE, 4),
           again = runner_with_seed(NOISE, 4);
    hone_value *x = counting_floats(DIMS(3));
    double before = first_of(&free_one, x, "a"), drawn[2];
    assert_true(first_of(&free_one, x, "a") != before);
    for (int i = 0; i < 2; i++) {
        drawn[i] = first_of(&seeded, x, "a");
        assert_true(first_of(&again, x, "a") == drawn[i]);
    }
    assert_true(drawn[0] != drawn[1]);
    hone_value_free(x);
    runner_free(&free_one);
    runner_free(&seeded);
    runner_free(&again);
}

/* Each trip of a loop draws its own. */
static void loops_draw_new_numbers(void **state) {
    (void)state;
    runner r = runner_with_seed(
        RUN_HEAD
        "g (float[1] x) => (float[t,1] y) <int64 trips = {8}, bool start = {1}> {\n"
        "  y = Loop (trips, start) <body = b (int64 i, bool go) => (bool keep, float[1] drawn) "
        "{ keep = Identity (go) drawn = RandomUniformLike (x) }> }",
        5);
    hone_value *x = counting_floats(DIMS(1)), *y = result_of(&r, "x", x, "y");
    double drawn[8];
    assert_true(hone_value_get_f64(y, 0, 8, drawn));
    for (int i = 1; i < 8; i++)
        assert_true(drawn[i] != drawn[i - 1]);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* One node that runs for minutes: only its kernel can notice the deadline. */
static void expect_stopped_within(const char *text, int32_t rank, const int64_t *dims) {
    runner r = runner_of(text);
    hone_value *x = counting_floats(rank, dims), *y = NULL;
    const hone_value *xs = x;
    const char *in = "x", *out = "y";
    hone_run_options options;
    hone_run_options_init(&options);
    options.timeout_seconds = 0.02;
    expect_failure(hone_session_run(r.session, &options, 1, &in, &xs, 1, &out, &y, &error),
                   HONE_E_CANCELLED, "deadline");
    assert_null(y);
    hone_value_free(x);
    runner_free(&r);
}

static void kernels_look_at_the_deadline(void **state) {
    (void)state;
    expect_stopped_within(RUN_HEAD "g (float[n,n] x) => (float[n,n] y) { y = MatMul (x, x) }",
                          DIMS(4000, 4000));
    expect_stopped_within(RUN_HEAD "g (float[1,1,n] x) => (float[1,1,m] y) { y = Conv <pads = "
                                   "[1000000, 1000000]> (x, x) }",
                          DIMS(1, 1, 1000000));
    expect_stopped_within(RUN_HEAD "g (float[1,2,n] x) => (float[1,1,m] y) { y = Conv <pads = "
                                   "[1000000, 1000000]> (x, x) }",
                          DIMS(1, 2, 1000000));
    expect_stopped_within(RUN_HEAD "g (float[1,1,n] x) => (float[1,1,m] y) { y = MaxPool "
                                   "<kernel_shape = [500000]> (x) }",
                          DIMS(1, 1, 1000000));
}

/* ---- costs ----------------------------------------------------------------------------------- */

static void run_rows(const runner *r, int64_t rows) {
    hone_value *x = counting_floats(DIMS(rows, 4));
    hone_value *y = result_of(r, "x", x, "y");
    hone_value_free(x);
    hone_value_free(y);
}

static void a_session_tells_its_costs(void **state) {
    (void)state;
    hone_session_costs before, first, again, other;
    runner r =
        runner_of(RUN_HEAD "g (float[n,4] x) => (float[n,4] y) { a = Relu (x) y = Neg (a) }");
    hone_session_get_costs(r.session, &before);
    assert_true(before.optimize_seconds > 0 && before.plan_seconds == 0 && before.n_plans == 0);
    run_rows(&r, 2);
    hone_session_get_costs(r.session, &first);
    assert_true(first.plan_seconds > 0 && first.pack_seconds >= 0);
    assert_int_equal(first.n_plans, 1);
    run_rows(&r, 2);
    hone_session_get_costs(r.session, &again);
    assert_memory_equal(&first, &again, sizeof first); /* the plan was kept */
    run_rows(&r, 3);
    hone_session_get_costs(r.session, &other);
    assert_int_equal(other.n_plans, 2);
    assert_true(other.plan_seconds > first.plan_seconds);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_may_fix_dimensions),
        cmocka_unit_test(contradicting_dimensions_are_refused),
        cmocka_unit_test(denormals_count_as_zero_unless_kept),
        cmocka_unit_test(providers_are_asked_in_order),
        cmocka_unit_test(threads_are_not_negative),
        cmocka_unit_test(nodes_that_no_output_needs_are_not_run),
        cmocka_unit_test(random_numbers_do_not_depend_on_other_outputs),
        cmocka_unit_test(every_run_draws_new_numbers),
        cmocka_unit_test(loops_draw_new_numbers),
        cmocka_unit_test(kernels_look_at_the_deadline),
        cmocka_unit_test(a_session_tells_its_costs),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
