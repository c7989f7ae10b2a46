/* What an observer learns of the steps of a run, and what the plan of a session says. */
#include "run_model.h"

/* Large enough to be partitioned; a view, a loop of two turns, a value whose size data decide. */
#define WATCHED                                                                              \
  RUN_HEAD                                                                                   \
  "g (float[64,256] x) => (float[64,64] y, int64[2,n] i) <int64[2] wide = {256, 64}, "       \
  "int64[2] flat = {1, -1}, int64[2] back = {64, 64}, int64 two = {2}, bool go = {1}> {\n"   \
  "  [fill] w = ConstantOfShape (wide) [mul] a = MatMul (x, w)\n"                            \
  "  [flat] b = Reshape (a, flat) [back] c = Reshape (b, back)\n"                            \
  "  [loop] y = Loop (two, go, c) <body = t (int64 k, bool on, float[64,64] v) => (bool o, " \
  "float[64,64] r) { [inner] r = Relu (v) o = Identity (on) }>\n"                            \
  "  [found] i = NonZero (b) }"

typedef struct step_log {
    int n_begun, n_ended, n_inner, n_wrong;
    char last_begun[64];
    char kernels[512];
    uint32_t n_threads;
} step_log;

static void log_begin(void *ctx, const hone_step *step) {
    step_log *log = ctx;
    log->n_begun++;
    log->n_wrong += step->n_outputs != 0 || step->end_ns != 0;
    snprintf(log->last_begun, sizeof log->last_begun, "%s", step->name);
}

static void log_end(void *ctx, const hone_step *step) {
    step_log *log = ctx;
    size_t n = strlen(log->kernels);
    uint64_t whole = step->end_ns - step->start_ns;
    log->n_ended++;
    log->n_inner += strcmp(step->name, "inner") == 0;
    log->n_wrong += step->n_outputs == 0 || step->end_ns < step->start_ns;
    log->n_threads = step->n_threads;
    for (uint32_t i = 0; i < step->n_threads; i++)
        log->n_wrong += step->thread_ns[i] > whole + 1000000;
    snprintf(log->kernels + n, sizeof log->kernels - n, "%s=%s ", step->name, step->kernel);
}

static hone_status run_logged(runner *r, step_log *log, hone_value **out) {
    hone_run_options options;
    hone_run_options_init(&options);
    options.observe = log ? log_end : NULL;
    options.observe_begin = log ? log_begin : NULL;
    options.observe_ctx = log;
    hone_value *x = counting_floats(DIMS(64, 256));
    hone_error error;
    hone_status status = hone_session_run(r->session, &options, 1, &(const char *){"x"},
                                          (const hone_value *const *)&x, 0, NULL, out, &error);
    hone_value_free(x);
    return status;
}

static void free_outputs(hone_value **out) {
    hone_value_free(out[0]);
    hone_value_free(out[1]);
}

static runner runner_of_two(void) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.level = HONE_LEVEL_NONE;
    return runner_with(WATCHED, NULL, &options);
}

static void steps_begin_and_end_with_their_kernel(void **state) {
    (void)state;
    runner r = runner_of_two();
    hone_value *out[2] = {0};
    step_log log = {0};
    expect_ok(run_logged(&r, &log, out));
    free_outputs(out);
    assert_int_equal(log.n_begun, log.n_ended);
    assert_int_equal(log.n_inner, 2);
    assert_int_equal(log.n_wrong, 0);
    assert_int_equal(log.n_threads, 2);
    assert_non_null(strstr(log.kernels, "mul=matmul "));
    assert_non_null(strstr(log.kernels, "flat=view "));
    assert_non_null(strstr(log.kernels, "loop=evaluation "));
    runner_free(&r);
}

static void results_do_not_depend_on_observers(void **state) {
    (void)state;
    runner r = runner_of_two();
    hone_value *plain[2] = {0}, *watched[2] = {0};
    hone_tensor_info a, b;
    step_log log = {0};
    expect_ok(run_logged(&r, NULL, plain));
    expect_ok(run_logged(&r, &log, watched));
    assert_true(hone_value_tensor(plain[0], &a) && hone_value_tensor(watched[0], &b));
    assert_memory_equal(a.data, b.data, a.data_bytes);
    free_outputs(plain);
    free_outputs(watched);
    runner_free(&r);
}

static void plans_of_sessions_tell_lives_of_values(void **state) {
    (void)state;
    runner r = runner_of_two();
    hone_value *x = counting_floats(DIMS(64, 256));
    hone_plan *plan;
    hone_plan_info info;
    uint64_t most = 0;
    expect_ok(hone_session_get_plan(r.session, 1, &(const char *){"x"},
                                    (const hone_value *const *)&x, &plan, &error));
    hone_value_free(x);
    hone_plan_get_info(plan, &info);
    assert_int_equal(info.n_nodes, 6);
    assert_true(info.n_all_values >= 1);
    for (uint32_t i = 0; i < info.n_nodes; i++) {
        hone_plan_step step;
        uint64_t live = 0;
        hone_plan_get_step(plan, i, &step);
        for (uint32_t k = 0; k < info.n_all_values; k++) {
            hone_plan_value v;
            hone_plan_get_any_value(plan, k, &v);
            live += v.first <= i && i <= v.last ? v.bytes : 0;
        }
        assert_int_equal(step.live_bytes, live);
        most = live > most ? live : most;
    }
    assert_true(most > 0 && most <= info.block_bytes);
    hone_plan_step none;
    hone_plan_get_step(plan, info.n_nodes, &none);
    assert_int_equal(none.node_id, HONE_NONE);
    hone_plan_free(plan);
    runner_free(&r);
}

static void peaks_are_measured(void **state) {
    (void)state;
    hone_peaks peaks;
    expect_ok(hone_measure_peaks(1, &peaks, &error));
    assert_true(peaks.flops > 0 && peaks.read_bytes > 0 && peaks.cache_bytes > 0);
    assert_int_equal(hone_measure_peaks(1, NULL, NULL), HONE_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_begin_and_end_with_their_kernel),
        cmocka_unit_test(results_do_not_depend_on_observers),
        cmocka_unit_test(plans_of_sessions_tell_lives_of_values),
        cmocka_unit_test(peaks_are_measured),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
