/* Chains of convolutions in sessions: the same bytes for any number of threads and images, a single
 * allocation, and failed allocations. */
#include "counted_model.h"

/* The intermediate maps have 0.5 MB: with one image and one thread they are computed one by one,
 * else as a chain. */
#define CHAINED                                                                               \
  RUN_HEAD "g (float[n,5,260,257] x) => (float[n,3,130,129] y) <"                             \
           "float[2,5,1,1] e = {1, 2, -3, 4, 5, 6, 7, -8, 9, 1}, float[2] s = {0.5, -1}, "    \
           "float[2,1,3,3] d = "                                                              \
           "{1, 2, 3, -4, 5, 6, 7, -8, 9, 1, -2, 3, 4, -5, 6, 7, -8, 9}, float[3,2,1,1] p = " \
           "{1, -2, 3, 4, 0.5, 0.25}> {"                                                      \
           " a = Conv (x, e, s) b = Relu (a) c = Conv <group = 2, strides = [2, 2], pads = "  \
           "[1, 1, 1, 1]> (b, d) f = HardSwish (c) y = Conv (f, p) }"

enum { RESULT = 3 * 130 * 129 };

static hone_value *images(int64_t n) {
    hone_value *v = tensor_of(ELEM_FLOAT, NULL, DIMS(n, 5, 260, 257));
    hone_tensor_info info;
    hone_value_tensor(v, &info);
    for (uint64_t i = 0; i < info.n_elements; i++)
        ((float *)(uintptr_t)info.data)[i] = (float)(i % 251) / 64 - 2;
    return v;
}

static hone_session_options threads(int n) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n;
    return options;
}

static const float *floats_of(const hone_value *v) {
    hone_tensor_info info;
    assert_true(hone_value_tensor(v, &info));
    return info.data;
}

/* Without optimization, other kernels compute it. */
static void expect_near(const hone_value *y, const hone_value *wanted, size_t n) {
    const float *a = floats_of(y), *b = floats_of(wanted);
    for (size_t i = 0; i < n; i++)
        if (!(a[i] - b[i] < 1e-3f && b[i] - a[i] < 1e-3f))
            fail_msg("element %zu is %g, not %g", i, (double)a[i], (double)b[i]);
}

static void test_same_bytes(void **state) {
    (void)state;
    hone_value *one = images(1), *three = images(3);
    runner plain = runner_as_written(CHAINED);
    hone_value *wanted = result_of(&plain, "x", three, "y"), *first = NULL;
    for (int n = 1; n <= 3; n++) {
        hone_session_options options = threads(n);
        runner r = runner_with(CHAINED, NULL, &options);
        hone_value *y = result_of(&r, "x", three, "y"), *alone = result_of(&r, "x", one, "y");
        expect_near(y, wanted, 3 * RESULT);
        assert_memory_equal(floats_of(y), floats_of(alone), RESULT * sizeof(float));
        if (first)
            assert_memory_equal(floats_of(y), floats_of(first), 3 * RESULT * sizeof(float));
        hone_value_free(alone);
        hone_value_free(first ? y : NULL);
        first = first ? first : y;
        runner_free(&r);
    }
    hone_value_free(first);
    hone_value_free(wanted);
    hone_value_free(one);
    hone_value_free(three);
    runner_free(&plain);
}

/* Two runs of a new session; the Nth request fails. False when there were fewer. */
static bool runs_without_memory(size_t n, const hone_value *x) {
    counting_allocator memory;
    hone_session_options options = threads(1);
    hone_error err;
    hone_session *session = NULL;
    const char *name = "x";
    hone_model *model = counted_model(CHAINED, &memory, n);
    hone_status status = hone_session_create(model, &options, &session, &err);
    for (int i = 0; i < 2 && status == HONE_OK; i++) {
        hone_value *y = NULL;
        status = hone_session_run(session, NULL, 1, &name, &x, 0, NULL, &y, &err);
        hone_value_free(y);
    }
    assert_true(status == HONE_OK || (status == HONE_E_NOMEM && memory.n_refused > 0));
    hone_session_free(session);
    hone_model_free(model);
    assert_true(counting_is_clean(&memory));
    return memory.n_refused > 0;
}

static void test_missing_memory(void **state) {
    (void)state;
    hone_value *x = images(2);
    size_t n = 1;
    while (runs_without_memory(n, x))
        n++;
    assert_true(n > 20);
    hone_value_free(x);
}

static void test_repeated_runs_ask_for_nothing(void **state) {
    (void)state;
    counting_allocator memory;
    hone_load_options load;
    hone_session_options options = threads(1);
    const char *name = "x";
    hone_value *x = images(2), *bound = tensor_of(ELEM_FLOAT, NULL, DIMS(2, 3, 130, 129));
    const hone_value *in = x;
    counting_init(&memory, 0);
    hone_load_options_init(&load);
    load.allocator = &memory.hook;
    runner r = runner_with(CHAINED, &load, &options);
    for (int i = 0; i < 4; i++) {
        size_t before = memory.n_requests;
        expect_ok(hone_session_run(r.session, NULL, 1, &name, &in, 0, NULL, &bound, &error));
        if (i >= 2)
            assert_int_equal(memory.n_requests, before);
    }
    runner_free(&r);
    hone_value_free(x);
    hone_value_free(bound);
    assert_true(counting_is_clean(&memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_missing_memory),
        cmocka_unit_test(test_repeated_runs_ask_for_nothing),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
