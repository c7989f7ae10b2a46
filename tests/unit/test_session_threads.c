/* Sessions and threads: concurrent runs, stopped runs, results that do not depend on the number of
 * threads. */
#include "run_model.h"

#include <pthread.h>
#include <time.h>

/* ---- many runs at once ----------------------------------------------------------------------- */

#define MIXED                                                                                  \
  RUN_HEAD                                                                                     \
  "g (float[n] x) => (float[n] y, int64[1,m] i, float[n] z) <int64[2] pair = {1, -1}, "        \
  "int64[1] flat = {-1}> {\n"                                                                  \
  "  a = Neg (x) b = Reshape (a, pair) c = Abs (b) y = Reshape (c, flat) i = NonZero (x)\n"    \
  "  n_found = Size (i) none = Constant <value_int: int = 0> () any = Greater (n_found, "      \
  "none)\n"                                                                                    \
  "  z = If (any) <then_branch = t () => (float[n] p) { p = Add (y, x) }, else_branch = e () " \
  "=> (float[n] q) { q = "                                                                     \
  "Neg (y) }> }"

typedef struct worker {
    const runner *runner;
    pthread_t thread;
    int number;
    int n_wrong;
} worker;

static void *run_many_shapes(void *arg) {
    worker *w = arg;
    const char *in = "x";
    for (int i = 0; i < 40; i++) {
        int64_t n = 1 + (i * 7 + w->number) % 25;
        float data[32];
        hone_error error;
        hone_value *x, *out[3] = {0};
        for (int64_t k = 0; k < n; k++)
            data[k] = (float)(k + w->number);
        if (hone_value_borrow(ELEM_FLOAT, 1, &n, data, sizeof data, &x, &error) != HONE_OK ||
            hone_session_run(w->runner->session, NULL, 1, &in, (const hone_value *const *)&x, 0,
                             NULL, out, &error) != HONE_OK) {
            w->n_wrong++;
            continue;
        }
        double last;
        if (!hone_value_get_f64(out[2], (uint64_t)n - 1, 1, &last) ||
            last != 2.0 * (double)data[n - 1])
            w->n_wrong++;
        for (int k = 0; k < 3; k++)
            hone_value_free(out[k]);
        hone_value_free(x);
    }
    return NULL;
}

static void one_session_serves_many_threads(void **state) {
    (void)state;
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.max_plans = 3; /* fewer than there are shapes at once */
    runner r = runner_with(MIXED, NULL, &options);
    worker workers[6];
    for (int i = 0; i < 6; i++) {
        workers[i] = (worker){.runner = &r, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_many_shapes, &workers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].n_wrong, 0);
    }
    runner_free(&r);
}

/* ---- runs that are stopped ------------------------------------------------------------------- */

#define ENDLESS                                                                               \
  RUN_HEAD "g (float[n] x, int64 trips) => (float[n] y) {\n"                                  \
           "  y = Loop (trips, , x) <body = b (int64 i, bool go, float[n] c) => (bool keep, " \
           "float[n] next) { \n"                                                              \
           "    keep = Identity (go) next = Add (c, x) }>\n}"

static hone_status run_trips(const runner *r, int64_t trips, const hone_run_options *options,
                             hone_value **y, hone_error *error) {
    const char *names[] = {"x", "trips"}, *out = "y";
    hone_value *x = counting_floats(DIMS(3)), *t = tensor_of(ELEM_INT64, &trips, SCALAR);
    const hone_value *in[] = {x, t};
    hone_status status = hone_session_run(r->session, options, 2, names, in, 1, &out, y, error);
    hone_value_free(x);
    hone_value_free(t);
    return status;
}

static void expect_still_works(const runner *r) {
    hone_value *y = NULL;
    expect_ok(run_trips(r, 2, NULL, &y, &error));
    EXPECT_FLOATS(y, 0, 3, 6);
    hone_value_free(y);
}

static void *raise_flag(void *arg) {
    struct timespec soon = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&soon, NULL);
    __atomic_store_n((volatile int *)arg, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void runs_can_be_cancelled(void **state) {
    (void)state;
    runner r = runner_of(ENDLESS);
    volatile int flag = 0;
    hone_run_options options;
    hone_run_options_init(&options);
    options.cancel = &flag;
    hone_value *y = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, raise_flag, (void *)(uintptr_t)&flag), 0);
    expect_failure(run_trips(&r, INT64_MAX, &options, &y, &error), HONE_E_CANCELLED,
                   "the run was cancelled");
    pthread_join(thread, NULL);
    assert_null(y);
    expect_failure(run_trips(&r, 1, &options, &y, &error), HONE_E_CANCELLED,
                   "the run was cancelled"); /* the flag is still set */
    expect_still_works(&r);
    runner_free(&r);
}

static void runs_have_a_deadline(void **state) {
    (void)state;
    runner r = runner_of(ENDLESS);
    hone_run_options options;
    hone_run_options_init(&options);
    options.timeout_seconds = 0.02;
    hone_value *y = NULL;
    expect_failure(run_trips(&r, INT64_MAX, &options, &y, &error), HONE_E_CANCELLED, "deadline");
    assert_null(y);
    expect_still_works(&r);
    runner_free(&r);
}

/* ---- any number of threads ------------------------------------------------------------------- */

static void fill(float *data, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

#define HEAVY                                                                                     \
  RUN_HEAD "g (float[1,8,40,40] x, float[16,8,3,3] k, float[1600,70] w) => (float[1,16,70] y, "   \
           "float mean) <int64[3] rows = {1, 16, -1}> {\n"                                        \
           "  a = Conv <pads: ints = [1, 1, 1, 1]> (x, k) b = Sigmoid (a) c = Reshape (b, rows) " \
           "d = MatMul (c, w)\n"                                                                  \
           "  y = Softmax (d) e = Mul (d, d) mean = ReduceMean <keepdims: int = 0> (e) }"

static float heavy_x[8 * 40 * 40], heavy_k[16 * 8 * 9], heavy_w[1600 * 70];

static void run_heavy(int n_threads, float *y, float *mean) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    runner r = runner_with(HEAVY, NULL, &options);
    const char *names[] = {"x", "k", "w"};
    hone_value *x = tensor_of(ELEM_FLOAT, heavy_x, DIMS(1, 8, 40, 40)),
               *k = tensor_of(ELEM_FLOAT, heavy_k, DIMS(16, 8, 3, 3));
    hone_value *w = tensor_of(ELEM_FLOAT, heavy_w, DIMS(1600, 70)), *out[2];
    const hone_value *in[] = {x, k, w};
    expect_ok(
        hone_value_borrow(ELEM_FLOAT, DIMS(1, 16, 70), y, 16 * 70 * sizeof *y, &out[0], &error));
    expect_ok(hone_value_borrow(ELEM_FLOAT, SCALAR, mean, sizeof *mean, &out[1], &error));
    for (int i = 0; i < 3; i++)
        expect_ok(hone_session_run(r.session, NULL, 3, names, in, 0, NULL, out, &error));
    hone_value *all[] = {x, k, w, out[0], out[1]};
    for (size_t i = 0; i < 5; i++)
        hone_value_free(all[i]);
    runner_free(&r);
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    static float alone[16 * 70], together[16 * 70];
    float mean_alone, mean_together;
    fill(heavy_x, sizeof heavy_x / sizeof *heavy_x, 1);
    fill(heavy_k, sizeof heavy_k / sizeof *heavy_k, 2);
    fill(heavy_w, sizeof heavy_w / sizeof *heavy_w, 3);
    run_heavy(1, alone, &mean_alone);
    static const int counts[] = {2, 3, 8};
    for (size_t i = 0; i < 3; i++) {
        memset(together, 0, sizeof together);
        run_heavy(counts[i], together, &mean_together);
        assert_memory_equal(alone, together, sizeof alone);
        assert_memory_equal(&mean_alone, &mean_together, sizeof mean_alone);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_session_serves_many_threads),
        cmocka_unit_test(runs_can_be_cancelled),
        cmocka_unit_test(runs_have_a_deadline),
        cmocka_unit_test(results_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
