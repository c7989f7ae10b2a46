/* Sessions in a process that was forked: the child has no workers and must not wait for them, nor
 * for a lock that another thread of its parent held. */
#define _GNU_SOURCE /* alarm */
#include "run_model.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRODUCTS                                        \
  RUN_HEAD "g (float[96,96] x) => (float[96,96] y) {\n" \
           "  a = MatMul (x, x) b = Sigmoid (a) c = MatMul (b, x) y = Add (c, x) }"

enum { SIDE = 96, N_ELEMS = SIDE * SIDE, N_CALLERS = 3 };

static runner make_products(int n_threads) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    return runner_with(PRODUCTS, NULL, &options);
}

static bool run_products(const runner *r, float *y) {
    static float x[N_ELEMS];
    const char *in = "x";
    int64_t dims[2] = {SIDE, SIDE};
    hone_error error;
    hone_value *fed = NULL, *out = NULL;
    for (int i = 0; i < N_ELEMS && x[N_ELEMS - 1] == 0; i++)
        x[i] = (float)(i % 7) / 7 + 0.125f;
    bool ok = hone_value_borrow(ELEM_FLOAT, 2, dims, x, sizeof x, &fed, &error) == HONE_OK &&
              hone_value_borrow(ELEM_FLOAT, 2, dims, y, sizeof x, &out, &error) == HONE_OK &&
              hone_session_run(r->session, NULL, 1, &in, (const hone_value *const *)&fed, 0, NULL,
                               &out, &error) == HONE_OK;
    hone_value_free(fed);
    hone_value_free(out);
    return ok;
}

/* Runs the session of the parent, makes one of its own, and frees both. */
static bool use_all(runner *r, const float *wanted) {
    static float y[N_ELEMS];
    bool ok = run_products(r, y) && memcmp(y, wanted, sizeof y) == 0;
    runner fresh = make_products(2);
    memset(y, 0, sizeof y);
    ok = run_products(&fresh, y) && memcmp(y, wanted, sizeof y) == 0 && ok;
    runner_free(&fresh);
    runner_free(r);
    return ok;
}

/* A child that hangs is ended by the signal. */
static void expect_child_works(runner *r, const float *wanted) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(3000);
        _exit(use_all(r, wanted) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void skip_under_sanitizers(void) {
/* The thread sanitizer refuses threads in the child of a process with threads. The address
 * sanitizer does not take the locks of its allocator before a fork: one that another thread held
 * stays locked. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip();
#endif
}

static void children_run_create_and_free(void **state) {
    (void)state;
    static float wanted[N_ELEMS];
    skip_under_sanitizers();
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        runner r = make_products(n_threads);
        assert_true(run_products(&r, wanted));
        expect_child_works(&r, wanted);
        assert_true(run_products(&r, wanted)); /* the parent keeps its workers */
        runner_free(&r);
    }
}

typedef struct busy_caller {
    const runner *runner;
    volatile int *is_over;
    pthread_t thread;
} busy_caller;

static void *keep_busy(void *arg) {
    const busy_caller *c = arg;
    float *y = malloc(N_ELEMS * sizeof *y);
    while (y && !__atomic_load_n(c->is_over, __ATOMIC_RELAXED)) {
        hone_session *another = NULL;
        hone_error error;
        run_products(c->runner, y);
        hone_session_create(c->runner->model, NULL, &another, &error);
        hone_session_free(another);
    }
    free(y);
    return NULL;
}

/* Other threads are anywhere in a run when the process forks. */
static void children_of_busy_parents_work(void **state) {
    (void)state;
    static float wanted[N_ELEMS];
    volatile int is_over = 0;
    busy_caller callers[N_CALLERS];
    skip_under_sanitizers();
    runner r = make_products(2);
    assert_true(run_products(&r, wanted));
    for (int i = 0; i < N_CALLERS; i++) {
        callers[i] = (busy_caller){.runner = &r, .is_over = &is_over};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, keep_busy, &callers[i]), 0);
    }
    for (int i = 0; i < 20; i++)
        expect_child_works(&r, wanted);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < N_CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_run_create_and_free),
        cmocka_unit_test(children_of_busy_parents_work),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
