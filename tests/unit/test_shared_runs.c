/* Runs share a program and change nothing of it: shapes that follow from data are found by many
 * threads at once, in parallel groups and in concurrent runs of one session. */
#include "run_model.h"

#include <pthread.h>

/* One branch: [lo, hi) by Range and by Slice, then as one row. */
#define BRANCH(k)                                                                                 \
  "  lo" k " = ReduceMin <keepdims: int = 1> (x" k ") hi" k                                       \
  " = ReduceMax <keepdims: int = 1> (x" k ")\n"                                                   \
  "  from" k " = Squeeze (lo" k ") to" k " = Squeeze (hi" k ") all" k " = Range (from" k ", to" k \
  ", one)\n"                                                                                      \
  "  part" k " = Slice (v, lo" k ", hi" k ") length" k " = Sub (hi" k ", lo" k ")\n"              \
  "  shape" k " = Concat <axis: int = 0> (unit, length" k ") row" k " = Reshape (part" k          \
  ", shape" k ")\n"                                                                               \
  "  whole" k " = Cast <to: int = 1> (all" k ") y" k " = Add (whole" k ", row" k ")\n"

#define THREE_SLICES                                                                         \
  RUN_HEAD                                                                                   \
  "g (int64[n] xa, int64[n] xb, int64[n] xc, float[m] v) => (float[1,a] ya, float[1,b] yb, " \
  "float[1,c] yc) <int64 one = {1}, int64[1] unit = {1}> {\n" BRANCH("a") BRANCH("b")        \
      BRANCH("c") "}"

enum { N_BRANCHES = 3, N_DATA = 64, N_CALLERS = 4 };

typedef struct caller {
    const runner *runner;
    pthread_t thread;
    int number;
    int n_wrong;
} caller;

/* Branch k of run i gives v[lo .. hi) + lo .. hi. */
static void bounds_of(int run, int k, int64_t *lo, int64_t *hi) {
    *lo = (run * 5 + k * 3) % 20;
    *hi = *lo + 1 + (run * 7 + k * 11) % 30;
}

static bool is_right(const hone_value *y, int64_t lo, int64_t hi) {
    hone_tensor_info info;
    if (!hone_value_tensor(y, &info) || info.rank != 2 || info.dims[1] != hi - lo)
        return false;
    for (int64_t i = lo; i < hi; i++)
        if (((const float *)info.data)[i - lo] != 2 * (float)i)
            return false;
    return true;
}

static bool run_branches(const runner *r, int run) {
    static const char *const names[] = {"xa", "xb", "xc", "v"};
    int64_t x[N_BRANCHES][3], n = 3, m = N_DATA;
    float v[N_DATA];
    hone_value *in[N_BRANCHES + 1] = {0}, *out[N_BRANCHES] = {0};
    hone_error error;
    bool ok = true;
    for (int i = 0; i < N_DATA; i++)
        v[i] = (float)i;
    for (int k = 0; k < N_BRANCHES; k++) {
        bounds_of(run, k, &x[k][1], &x[k][2]);
        x[k][0] = x[k][1];
        ok &= hone_value_borrow(ELEM_INT64, 1, &n, x[k], sizeof x[k], &in[k], &error) == HONE_OK;
    }
    ok &= hone_value_borrow(ELEM_FLOAT, 1, &m, v, sizeof v, &in[N_BRANCHES], &error) == HONE_OK;
    ok = ok && hone_session_run(r->session, NULL, N_BRANCHES + 1, names,
                                (const hone_value *const *)in, 0, NULL, out, &error) == HONE_OK;
    for (int k = 0; k < N_BRANCHES; k++) {
        ok = ok && is_right(out[k], x[k][1], x[k][2]);
        hone_value_free(out[k]);
    }
    for (int k = 0; k <= N_BRANCHES; k++)
        hone_value_free(in[k]);
    return ok;
}

static void *run_again_and_again(void *arg) {
    caller *c = arg;
    for (int i = 0; i < 60; i++)
        c->n_wrong += !run_branches(c->runner, i + 17 * c->number);
    return NULL;
}

static void share_a_session(int n_threads, hone_level level) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    options.level = level;
    runner r = runner_with(THREE_SLICES, NULL, &options);
    caller callers[N_CALLERS];
    for (int i = 0; i < N_CALLERS; i++) {
        callers[i] = (caller){.runner = &r, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run_again_and_again, &callers[i]),
                         0);
    }
    for (int i = 0; i < N_CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].n_wrong, 0);
    }
    runner_free(&r);
}

static void callers_share_a_session_of_one_thread(void **state) {
    (void)state;
    share_a_session(1, HONE_LEVEL_NONE);
    share_a_session(1, HONE_LEVEL_ALL);
}

static void callers_share_a_session_of_two_threads(void **state) {
    (void)state;
    share_a_session(2, HONE_LEVEL_NONE);
    share_a_session(2, HONE_LEVEL_ALL);
}

static void groups_find_shapes(void **state) {
    (void)state;
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    static const hone_level levels[] = {HONE_LEVEL_NONE, HONE_LEVEL_BASIC, HONE_LEVEL_ALL};
    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
        options.level = levels[k];
        runner r = runner_with(THREE_SLICES, NULL, &options);
        for (int i = 0; i < 100; i++)
            assert_true(run_branches(&r, i));
        runner_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_share_a_session_of_one_thread),
        cmocka_unit_test(callers_share_a_session_of_two_threads),
        cmocka_unit_test(groups_find_shapes),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
