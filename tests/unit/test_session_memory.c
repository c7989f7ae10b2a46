/* Memory of sessions: what a run allocates, what it keeps, and what happens when memory runs
 * out. */
#include "counted_model.h"

/* Fixed shapes, views, results in place, a softmax in scratch; and shapes that depend on data. */
#define PLANNED                                                                                   \
  RUN_HEAD "g (float[n,8] x) => (float[m] y) <float[8,8] w = {0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, "   \
           "10, 11, 12, 13, 14, 15, 16, 17, "                                                     \
           "18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, " \
           "39, 40, 41, 42, 43, 44, 45, "                                                         \
           "46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63}, int64[1] "   \
           "flat = {-1}> {\n"                                                                     \
           "  a = MatMul (x, w) b = Relu (a) c = Softmax (b) d = Add (c, x) e = Reshape (d, "     \
           "flat) y = Neg (e) }"
#define BY_DATA                                                                                  \
  RUN_HEAD "g (float[n] x) => (int64[1,m] y) { a = Neg (x) i = NonZero (a) j = Neg (i) k = Add " \
           "(j, i) y = Sub (k, j) }"
#define LOOPING                                                                               \
  RUN_HEAD "g (float[n] x, int64 trips) => (float[n] y, float[m,n] seen) {\n"                 \
           "  y, seen = Loop (trips, , x) <body = b (int64 i, bool go, float[n] c) => (bool " \
           "keep, float[n] next, float[n] s) { \n"                                            \
           "    keep = Identity (go) next = Add (c, x) s = Neg (next) }>\n}"

typedef struct counted {
    counting_allocator memory;
    runner runner;
} counted;

static void open_counted(counted *c, const char *text, uint64_t limit_bytes) {
    hone_load_options load;
    hone_session_options options;
    counting_init(&c->memory, 0);
    hone_load_options_init(&load);
    load.allocator = &c->memory.hook;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.memory_limit_bytes = limit_bytes;
    c->runner = runner_with(text, &load, &options);
}

static void close_counted(counted *c) {
    runner_free(&c->runner);
    assert_true(counting_is_clean(&c->memory));
}

/* ---- runs that repeat themselves ------------------------------------------------------------- */

static void expect_no_requests(const char *text, uint32_t n_in, const char *const *names,
                               const hone_value *const *in, uint32_t n_out, hone_value **bound) {
    counted c;
    open_counted(&c, text, 0);
    for (int i = 0; i < 6; i++) {
        size_t before = c.memory.n_requests;
        expect_ok(
            hone_session_run(c.runner.session, NULL, n_in, names, in, 0, NULL, bound, &error));
        if (i >= 2)
            assert_int_equal(c.memory.n_requests, before);
    }
    for (uint32_t i = 0; i < n_out; i++)
        hone_value_free(bound[i]);
    close_counted(&c);
}

static void repeated_runs_ask_for_no_memory(void **state) {
    (void)state;
    int64_t trips = 5;
    const char *names[] = {"x", "trips"};
    hone_value *wide = counting_floats(DIMS(9, 8)), *x = counting_floats(DIMS(200)),
               *t = tensor_of(ELEM_INT64, &trips, SCALAR);
    const hone_value *of_planned[] = {wide}, *of_loop[] = {x, t};
    hone_value *planned[] = {counting_floats(DIMS(72))};
    expect_no_requests(PLANNED, 1, names, of_planned, 1, planned);
    hone_value *by_data[] = {tensor_of(ELEM_INT64, NULL, DIMS(1, 199))};
    expect_no_requests(BY_DATA, 1, names, of_loop, 1, by_data);
    hone_value *looped[] = {counting_floats(DIMS(200)), counting_floats(DIMS(5, 200))};
    expect_no_requests(LOOPING, 2, names, of_loop, 2, looped);
    hone_value_free(wide);
    hone_value_free(x);
    hone_value_free(t);
}

/* ---- many shapes ----------------------------------------------------------------------------- */

static void run_rows(counted *c, int64_t rows) {
    hone_value *x = counting_floats(DIMS(rows, 8)), *y = result_of(&c->runner, "x", x, "y");
    expect_dims(y, DIMS(8 * rows));
    hone_value_free(x);
    hone_value_free(y);
}

static void many_shapes_do_not_grow_memory(void **state) {
    (void)state;
    counted c;
    uint32_t seed = 1;
    size_t most_of_first = 0;
    open_counted(&c, PLANNED, 0);
    run_rows(&c, 400);
    for (int i = 0; i < 500; i++) {
        seed = seed * 1664525 + 1013904223;
        run_rows(&c, 1 + (int64_t)(seed >> 16) % 400);
        if (i < 50)
            most_of_first = c.memory.n_bytes > most_of_first ? c.memory.n_bytes : most_of_first;
        else
            assert_in_range(c.memory.n_bytes, 0, most_of_first + most_of_first / 50);
    }
    close_counted(&c);
}

static void many_sizes_that_data_decides_do_not_grow_memory(void **state) {
    (void)state;
    counted c;
    uint32_t seed = 1;
    size_t most_of_first = 0;
    open_counted(&c, BY_DATA, 0);
    for (int i = 0; i < 500; i++) {
        seed = seed * 1664525 + 1013904223;
        hone_value *x = counting_floats(DIMS(i ? 1 + (int64_t)(seed >> 16) % 4000 : 4000)),
                   *y = result_of(&c.runner, "x", x, "y");
        hone_value_free(x);
        hone_value_free(y);
        if (i < 50)
            most_of_first = c.memory.n_bytes > most_of_first ? c.memory.n_bytes : most_of_first;
        else
            assert_in_range(c.memory.n_bytes, 0, most_of_first + most_of_first / 50);
    }
    close_counted(&c);
}

static void one_large_run_is_forgotten(void **state) {
    (void)state;
    counted c;
    open_counted(&c, PLANNED, 0);
    run_rows(&c, 2);
    size_t small = c.memory.n_bytes;
    run_rows(&c, 20000);
    assert_true(c.memory.n_bytes > small + 20000 * 8 * sizeof(float));
    for (int i = 0; i < 100; i++)
        run_rows(&c, 2);
    assert_in_range(c.memory.n_bytes, 0, small + 64 * 1024); /* its plan is still in the list */
    close_counted(&c);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static uint64_t peak_of(const runner *r, const hone_value *x) {
    const char *in = "x";
    uint64_t bytes = 0;
    expect_ok(hone_session_peak_bytes(r->session, 1, &in, &x, &bytes, &error));
    return bytes;
}

static void limits_name_the_peak(void **state) {
    (void)state;
    counted c;
    hone_value *x = counting_floats(DIMS(100, 8)), *less = counting_floats(DIMS(50, 8)), *y = NULL;
    char phrase[64];
    open_counted(&c, PLANNED, 3200);
    uint64_t peak = peak_of(&c.runner, x);
    assert_int_equal(peak, 3200); /* each step runs in place */
    y = result_of(&c.runner, "x", x, "y");
    hone_value_free(y);
    y = NULL;
    close_counted(&c);
    open_counted(&c, PLANNED, 3199);
    snprintf(phrase, sizeof phrase, "needs %llu bytes", (unsigned long long)peak);
    expect_failure(run_one(&c.runner, "x", x, "y", &y, &error), HONE_E_LIMIT, phrase);
    assert_null(y);
    y = result_of(&c.runner, "x", less, "y");
    hone_value_free(y);
    close_counted(&c);
    hone_value_free(x);
    hone_value_free(less);
}

static void limits_hold_for_sizes_that_data_decides(void **state) {
    (void)state;
    counted c;
    hone_value *x = counting_floats(DIMS(1000)), *less = counting_floats(DIMS(10)), *y = NULL;
    open_counted(&c, BY_DATA, 8000);
    expect_failure(run_one(&c.runner, "x", x, "y", &y, &error), HONE_E_LIMIT,
                   "but the limit is 8000");
    assert_null(y);
    y = result_of(&c.runner, "x", less, "y");
    hone_value_free(y);
    close_counted(&c);
    hone_value_free(x);
    hone_value_free(less);
}

/* Scratch counts, and the message names the node and the bytes. */
#define BY_SCRATCH                                                                         \
  RUN_HEAD                                                                                 \
  "g (float[n] x) => (int64[m] y) { a = Neg (x) b, y, c, d = Unique <sorted: int = 1> (a)" \
  " }"

static void limits_hold_for_scratch(void **state) {
    (void)state;
    counted c;
    hone_value *x = counting_floats(DIMS(100000)), *y = NULL;
    open_counted(&c, BY_SCRATCH, 900000); /* enough for the argument and what is read of it */
    expect_failure(run_one(&c.runner, "x", x, "y", &y, &error), HONE_E_LIMIT, "(Unique): needs");
    assert_null(y);
    close_counted(&c);
    open_counted(&c, BY_SCRATCH, 40000000);
    y = result_of(&c.runner, "x", x, "y");
    hone_value_free(y);
    close_counted(&c);
    hone_value_free(x);
}

/* Without a limit it is the machine that is too small. */
#define HUGE_EXPAND                                            \
  RUN_HEAD "g (float[1] x, int64[2] dims) => (float[1] y) {\n" \
           "  a = Expand (x, dims) b = Neg (a) y = ReduceMax <keepdims: int = 0> (b) }"

static void machines_have_limits(void **state) {
    (void)state;
    const char *names[] = {"x", "dims"}, *out = "y";
    int64_t dims[] = {1 << 30, 1 << 22};
    runner r = runner_of(HUGE_EXPAND);
    hone_value *x = counting_floats(DIMS(1)), *d = tensor_of(ELEM_INT64, dims, DIMS(2)), *y = NULL;
    const hone_value *in[] = {x, d};
    expect_failure(hone_session_run(r.session, NULL, 2, names, in, 1, &out, &y, &error),
                   HONE_E_NOMEM, "(Expand): needs 180143985094");
    assert_null(y);
    hone_value_free(x);
    hone_value_free(d);
    runner_free(&r);
}

/* ---- buffers that are input and output --------------------------------------------------------- */

#define SWAP \
  RUN_HEAD "g (float[4] a, float[4] b) => (float[4] x, float[4] y) { x = Neg (b) y = Neg (a) }"

static void inputs_may_be_overwritten(void **state) {
    (void)state;
    const char *in_names[] = {"a", "b"};
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    int64_t n = 4;
    runner r = runner_of(SWAP);
    hone_value *of_a, *of_b;
    expect_ok(hone_value_borrow(ELEM_FLOAT, 1, &n, a, sizeof a, &of_a, &error));
    expect_ok(hone_value_borrow(ELEM_FLOAT, 1, &n, b, sizeof b, &of_b, &error));
    const hone_value *in[] = {of_a, of_b};
    hone_value *out[] = {of_a, of_b}, *same[] = {of_a, of_a};
    expect_ok(hone_session_run(r.session, NULL, 2, in_names, in, 0, NULL, out, &error));
    EXPECT_FLOATS(of_a, -5, -6, -7, -8);
    EXPECT_FLOATS(of_b, -1, -2, -3, -4);
    expect_failure(hone_session_run(r.session, NULL, 2, in_names, in, 0, NULL, same, &error),
                   HONE_E_ARGUMENT, "overlaps that of another output");
    hone_value_free(of_a);
    hone_value_free(of_b);
    runner_free(&r);
}

/* ---- constants ------------------------------------------------------------------------------- */

enum { N_WEIGHTS = 100 * 1000 };

static hone_model *heavy_model(void) {
    char *text = malloc(N_WEIGHTS * 8 + 400);
    char *at =
        text + sprintf(text, RUN_HEAD "g (float[n] x) => (float[m] y) <float[%d] w = {", N_WEIGHTS);
    for (int i = 0; i < N_WEIGHTS; i++)
        at += sprintf(at, "%s%d", i ? "," : "", i);
    sprintf(at, "}> { y = Add (x, w) }");
    hone_model *m = model_from(text);
    free(text);
    return m;
}

/* The serialized model `shift` bytes into `room`: its weights are aligned for one of four
 * shifts. */
static hone_model *shifted_model(const void *data, size_t n, size_t shift, char *room,
                                 const hone_allocator *allocator) {
    hone_load_options options;
    hone_model *m;
    hone_load_options_init(&options);
    options.allocator = allocator;
    options.borrow_buffer = true;
    memcpy(room + shift, data, n);
    expect_ok(hone_model_load_buffer(room + shift, n, &options, &m, &error));
    return m;
}

static hone_session *open_session(const hone_model *m) {
    hone_session_options options;
    hone_session *s;
    hone_session_options_init(&options);
    options.n_threads = 1;
    expect_ok(hone_session_create(m, &options, &s, &error));
    return s;
}

/* A second session costs its own state and nothing else, until the model is changed. */
static void sessions_of_one_model_share_their_program(void **state) {
    (void)state;
    enum { MANY = 10, STATE_BYTES = 4000 };
    counting_allocator memory;
    hone_session *sessions[MANY + 1];
    hone_model *model = counted_model(PLANNED, &memory, 0);
    for (size_t i = 0; i < MANY; i++) {
        size_t before = memory.n_bytes;
        sessions[i] = open_session(model);
        if (i)
            assert_in_range(memory.n_bytes - before, 1, STATE_BYTES);
        else
            assert_true(memory.n_bytes - before > STATE_BYTES);
    }
    expect_ok(hone_model_rename(model, "y", "z", &error));
    sessions[MANY] = open_session(model);
    assert_string_equal(hone_session_output_name(sessions[0], 0), "y");
    assert_string_equal(hone_session_output_name(sessions[MANY], 0), "z");
    for (size_t i = 0; i <= MANY; i++)
        hone_session_free(sessions[i]);
    hone_model_free(model);
    assert_true(counting_is_clean(&memory));
}

/* Weights are copied before the first plan is made. */
static hone_session *open_planned_session(const hone_model *m) {
    hone_session *s = open_session(m);
    hone_value *x = counting_floats(DIMS(1));
    const char *name = "x";
    const hone_value *given = x;
    uint64_t bytes;
    expect_ok(hone_session_peak_bytes(s, 1, &name, &given, &bytes, &error));
    hone_value_free(x);
    return s;
}

/* Weights that must be copied are copied once, shared by a second session of the model and by
 * sessions of its copies. */
static void sessions_share_their_constants(void **state) {
    (void)state;
    enum { MODELS = 4, EACH = 10, WEIGHT_BYTES = N_WEIGHTS * 4 };
    counting_allocator memory;
    hone_model *original = heavy_model(), *models[MODELS];
    hone_session *sessions[MODELS][EACH];
    void *data;
    size_t n;
    counting_init(&memory, 0);
    expect_ok(hone_model_save_buffer(original, &data, &n, &error));
    char *rooms = malloc(MODELS * (n + 64));
    for (size_t i = 0; i < MODELS; i++)
        models[i] = shifted_model(data, n, i, rooms + i * ((n + 64) / 16 * 16), &memory.hook);
    size_t before = memory.n_bytes;
    for (size_t i = 0; i < MODELS; i++)
        for (size_t k = 0; k < EACH; k++)
            sessions[i][k] = open_planned_session(models[i]);
    assert_in_range(memory.n_bytes - before, WEIGHT_BYTES, WEIGHT_BYTES + MODELS * EACH * 20000);
    for (size_t i = 0; i < MODELS; i++)
        for (size_t k = 1; k < EACH; k++)
            hone_session_free(sessions[i][k]);
    for (size_t i = 0; i < MODELS; i++) {
        runner r = {models[i], sessions[i][0]};
        hone_value *x = counting_floats(DIMS(1)), *y = result_of(&r, "x", x, "y");
        hone_tensor_info info;
        hone_value_tensor(y, &info);
        assert_float_equal(((const float *)info.data)[N_WEIGHTS - 1], N_WEIGHTS - 1, 0);
        hone_value_free(x);
        hone_value_free(y);
        runner_free(&r);
    }
    assert_true(counting_is_clean(&memory));
    hone_buffer_free(original, data, n);
    hone_model_free(original);
    free(rooms);
}

/* ---- no memory ------------------------------------------------------------------------------- */

/* The session is made, run twice with different shapes, and freed; the Nth request fails. False
 * when there were fewer. */
static bool survives_failing(const char *text, size_t n, bool keeps_failing) {
    counting_allocator memory;
    hone_session_options options;
    hone_error err;
    hone_session *session = NULL;
    int64_t trips = 3;
    const char *names[] = {"x", "trips"};
    bool has_loop = strstr(text, "trips") != NULL, is_matrix = strstr(text, "[n,8]") != NULL;
    hone_value *t = tensor_of(ELEM_INT64, &trips, SCALAR), *xs[2], *out[2] = {0};
    hone_session_options_init(&options);
    options.n_threads = 1;
    hone_model *model = counted_model(text, &memory, n);
    memory.keeps_failing = keeps_failing;
    hone_status status = hone_session_create(model, &options, &session, &err);
    for (int i = 0; i < 2; i++) {
        xs[i] =
            is_matrix ? counting_floats(DIMS(2 + 7 * i, 8)) : counting_floats(DIMS(20 + 70 * i));
        const hone_value *in[] = {xs[i], t};
        if (status == HONE_OK)
            status =
                hone_session_run(session, NULL, has_loop ? 2 : 1, names, in, 0, NULL, out, &err);
        for (int k = 0; k < 2; k++) {
            assert_true(status == HONE_OK || !out[k]);
            hone_value_free(out[k]);
            out[k] = NULL;
        }
    }
    bool has_failed = memory.n_refused > 0;
    if (status != HONE_OK) {
        assert_true(has_failed);
        assert_int_equal(status, HONE_E_NOMEM);
        assert_int_equal(err.code, HONE_E_NOMEM);
    }
    hone_session_free(session);
    hone_model_free(model);
    hone_value_free(xs[0]);
    hone_value_free(xs[1]);
    hone_value_free(t);
    assert_true(counting_is_clean(&memory));
    return has_failed;
}

static void missing_memory_is_told(void **state) {
    (void)state;
    static const char *const texts[] = {PLANNED, BY_DATA, LOOPING};
    for (size_t i = 0; i < 3; i++) {
        size_t n = 1;
        while (survives_failing(texts[i], n, false))
            n++;
        assert_true(n > 20);
        for (size_t k = 1; k < n; k++)
            survives_failing(texts[i], k, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_runs_ask_for_no_memory),
        cmocka_unit_test(many_shapes_do_not_grow_memory),
        cmocka_unit_test(many_sizes_that_data_decides_do_not_grow_memory),
        cmocka_unit_test(one_large_run_is_forgotten),
        cmocka_unit_test(limits_name_the_peak),
        cmocka_unit_test(limits_hold_for_sizes_that_data_decides),
        cmocka_unit_test(limits_hold_for_scratch),
        cmocka_unit_test(machines_have_limits),
        cmocka_unit_test(inputs_may_be_overwritten),
        cmocka_unit_test(sessions_of_one_model_share_their_program),
        cmocka_unit_test(sessions_share_their_constants),
        cmocka_unit_test(missing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
