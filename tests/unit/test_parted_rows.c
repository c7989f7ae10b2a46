/* Values that are columns of other values: results must not change. A graph output has its own
 * memory, so the same graph with all values as outputs copies everything and is the reference. */
#include "counted_model.h"

enum { N_ROWS = 6, MOST_COLS = 320, MOST_VALUES = 64, N_ENDS = 3 };

typedef struct made_columns {
    char nodes[8192], outputs[4096];
    uint32_t seed;
    int n_values, cols[MOST_VALUES];
} made_columns;

static uint32_t draw_below(made_columns *m, uint32_t n) {
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % n;
}

static void add_text(char *to, size_t size, const char *format, int a, int b, int c) {
    size_t n = strlen(to);
    snprintf(to + n, size - n, format, a, b, c);
}

static int new_value(made_columns *m, int cols) {
    m->cols[m->n_values] = cols;
    add_text(m->outputs, sizeof m->outputs, ", float[2,3,%d] v%d", cols, m->n_values, 0);
    return m->n_values++;
}

static int draw_like(made_columns *m, int like) {
    for (int i = 0; i < 8; i++) {
        int other = (int)draw_below(m, (uint32_t)m->n_values);
        if (m->cols[other] == m->cols[like])
            return other;
    }
    return like;
}

/* One node or several. */
static void grow(made_columns *m) {
    static const char *const alone[] = {" v%d = Sigmoid (v%d)", " v%d = Neg (v%d)",
                                        " v%d = Softmax (v%d)"};
    int a = (int)draw_below(m, (uint32_t)m->n_values), b = draw_like(m, a);
    int c = (int)draw_below(m, (uint32_t)m->n_values), cols = m->cols[a];
    uint32_t kind = draw_below(m, 9);
    if (kind < 3) {
        int self = new_value(m, cols);
        add_text(m->nodes, sizeof m->nodes, alone[kind], self, a, 0);
    } else if (kind == 3) {
        int self = new_value(m, cols);
        add_text(m->nodes, sizeof m->nodes, " v%d = Add (v%d, v%d)", self, a, b);
    } else if (kind < 7 && cols + m->cols[c] <= MOST_COLS) {
        int self = new_value(m, cols + m->cols[c]);
        add_text(m->nodes, sizeof m->nodes, " v%d = Concat <axis: int = -1> (v%d, v%d)", self, a,
                 c);
    } else if (kind >= 7 && cols % 2 == 0) {
        int first = new_value(m, cols / 2), second = new_value(m, cols / 2);
        add_text(m->nodes, sizeof m->nodes,
                 " v%d, v%d = Split <axis: int = 2, num_outputs: int = 2> (v%d)", first, second, a);
    }
}

static void make_columns(made_columns *m, uint32_t seed) {
    *m = (made_columns){.seed = seed};
    new_value(m, 20);
    add_text(m->nodes, sizeof m->nodes, " v%d = Sigmoid (x)", 0, 0, 0);
    while (m->n_values < MOST_VALUES - 2 - (int)(seed % 40) && strlen(m->nodes) < 6000)
        grow(m);
}

static runner runner_of_columns(const made_columns *m, bool shows_all) {
    char text[16384], ends[512] = "", types[512] = "";
    for (int i = 0; i < N_ENDS; i++) {
        int last = m->n_values - 1 - i;
        add_text(ends, sizeof ends, " y%d = Exp (v%d)", i, last, 0);
        add_text(types, sizeof types, i ? ", float[2,3,%d] y%d" : "float[2,3,%d] y%d",
                 m->cols[last], i, 0);
    }
    snprintf(text, sizeof text, RUN_HEAD "g (float[2,3,20] x) => (%s%s) {%s%s }", types,
             shows_all ? m->outputs : "", m->nodes, ends);
    return runner_as_written(text);
}

static void expect_same_value(const hone_value *a, const hone_value *b, uint32_t seed) {
    hone_tensor_info x, y;
    assert_true(hone_value_tensor(a, &x) && hone_value_tensor(b, &y));
    assert_int_equal(x.data_bytes, y.data_bytes);
    if (memcmp(x.data, y.data, x.data_bytes) != 0)
        fail_msg("graph %u computes something else", (unsigned)seed);
}

static void columns_make_no_difference(void **state) {
    (void)state;
    static made_columns m;
    const char *in = "x", *ends[N_ENDS] = {"y0", "y1", "y2"};
    hone_value *x = counting_floats(DIMS(2, 3, 20));
    for (uint32_t seed = 1; seed <= 120; seed++) {
        hone_value *joined[N_ENDS] = {0}, *apart[N_ENDS] = {0};
        make_columns(&m, seed);
        runner some = runner_of_columns(&m, false), all = runner_of_columns(&m, true);
        for (int again = 0; again < 2; again++) {
            expect_ok(hone_session_run(some.session, NULL, 1, &in, (const hone_value *const *)&x,
                                       N_ENDS, ends, joined, &error));
            for (int i = 0; again == 0 && i < N_ENDS; i++) {
                hone_value_free(joined[i]);
                joined[i] = NULL;
            }
        }
        expect_ok(hone_session_run(all.session, NULL, 1, &in, (const hone_value *const *)&x, N_ENDS,
                                   ends, apart, &error));
        for (int i = 0; i < N_ENDS; i++) {
            expect_same_value(joined[i], apart[i], seed);
            hone_value_free(joined[i]);
            hone_value_free(apart[i]);
        }
        runner_free(&some);
        runner_free(&all);
    }
    hone_value_free(x);
}

/* ---- operators with more to do --------------------------------------------------------------- */

/* Nodes from x [1,2,3,16] to c; a, b and d, which become columns of it, may be outputs, too. */
typedef struct parted_case {
    const char *inits, *nodes;
} parted_case;

static const parted_case parted_cases[] = {
    {"float[4] s = {1, 2, 2, 1}", "a = Resize (e, , s) b = Resize <mode = \"linear\"> (e, , s) d = "
                                  "Add (a, b) c = Concat <axis = 3> (a, b, d)"},
    {"float[4] s = {1, 2, 1, 2}", "a = Resize (e, , s) b = Resize <mode = \"cubic\"> (e, , s) d = "
                                  "Mul (a, b) c = Concat <axis = -1> (d, a, b, a)"},
    {"float[4] s = {1, 1, 2, 1}",
     "f = Concat <axis = 3> (e, e) p, q = Split <axis = 3, num_outputs = 2> (f) a = Resize (p, , s)"
     " b = Resize <mode = \"linear\"> (q, , s) d = Sub (b, a) c = Concat <axis = 3> (a, b, d)"},
    {"int64[2] t = {1, 2}",
     "i = Cast <to = 7> (x) j = Neg (i) k = Concat <axis = 3> (j, i) n = Abs (k) h = Concat <axis "
     "= "
     "3> (k, n) a = Cast <to = 1> (h) b = Relu (a) d = Add (a, b) c = Concat <axis = 3> (b, a, d)"},
    {"int64[2] t = {1, 2}",
     "a, b = Split <axis = 2> (e, t) d = Concat <axis = 2> (b, a) c = Concat "
     "<axis = 3> (d, d)"},
};

static void write_case(const parted_case *p, bool shows_all, char *text, size_t size) {
    snprintf(text, size,
             RUN_HEAD "g (float[1,2,3,16] x) => (%sfloat[k,l,m,n] y) <%s> { e = "
                      "Exp (x) %s y = Neg (c) }",
             shows_all ? "float[a0,a1,a2,a3] a, float[b0,b1,b2,b3] b, float[d0,d1,d2,d3] d, " : "",
             p->inits, p->nodes);
}

static hone_value *case_result(const parted_case *p, bool shows_all, const hone_value *x) {
    char text[2048];
    write_case(p, shows_all, text, sizeof text);
    runner r = runner_as_written(text);
    hone_value *y = result_of(&r, "x", x, "y");
    runner_free(&r);
    return y;
}

static void operators_deal_with_parted_rows(void **state) {
    (void)state;
    hone_value *x = counting_floats(DIMS(1, 2, 3, 16));
    for (size_t i = 0; i < sizeof parted_cases / sizeof *parted_cases; i++) {
        hone_value *joined = case_result(&parted_cases[i], false, x);
        hone_value *apart = case_result(&parted_cases[i], true, x);
        expect_same_value(joined, apart, (uint32_t)i);
        hone_value_free(joined);
        hone_value_free(apart);
    }
    hone_value_free(x);
}

/* The Nth request of a session and its first run fails; false when there were fewer. */
static bool survives_failing(const char *text, const hone_value *x, size_t n) {
    counting_allocator memory;
    hone_session_options options;
    hone_session *session = NULL;
    hone_value *y = NULL;
    hone_error err;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.level = HONE_LEVEL_NONE;
    hone_model *model = counted_model(text, &memory, n);
    hone_status status = hone_session_create(model, &options, &session, &err);
    if (status == HONE_OK)
        status = hone_session_run(session, NULL, 1, &(const char *){"x"}, &x, 1,
                                  &(const char *){"y"}, &y, &err);
    assert_true(status == (memory.n_refused ? HONE_E_NOMEM : HONE_OK));
    memory.fail_at = 0;
    hone_value_free(y);
    hone_session_free(session);
    hone_model_free(model);
    assert_true(counting_is_clean(&memory));
    return memory.n_refused > 0;
}

static void missing_memory_is_told(void **state) {
    (void)state;
    hone_value *x = counting_floats(DIMS(1, 2, 3, 16));
    for (size_t i = 0; i < sizeof parted_cases / sizeof *parted_cases; i++) {
        char text[2048];
        size_t n = 1;
        write_case(&parted_cases[i], false, text, sizeof text);
        while (survives_failing(text, x, n))
            n++;
        assert_true(n > 20);
    }
    hone_value_free(x);
}

/* ---- observers ------------------------------------------------------------------------------- */

/* The last element of each Sigmoid's result. */
static void keep_last(void *ctx, const hone_step *step) {
    double *last = ctx;
    hone_tensor_info info;
    if (strcmp(step->op, "Sigmoid") != 0)
        return;
    assert_true(hone_value_tensor(step->outputs[0], &info));
    assert_int_equal(info.n_elements, 32);
    assert_true(hone_value_get_f64(step->outputs[0], 31, 1, last));
    assert_true(*last == (double)((const float *)info.data)[31]);
}

static void observers_see_rows_side_by_side(void **state) {
    (void)state;
    runner r =
        runner_as_written(RUN_HEAD "g (float[2,16] x) => (float[2,32] y) { a = Sigmoid (x) b = "
                                   "Exp (x) c = Concat <axis: int = 1> (a, b) y = Neg (c) }");
    hone_value *x = counting_floats(DIMS(2, 16)), *y = NULL;
    const char *in = "x", *out = "y";
    double last = 0, want;
    hone_run_options o;
    hone_run_options_init(&o);
    o.observe = keep_last;
    o.observe_ctx = &last;
    expect_ok(hone_session_run(r.session, &o, 1, &in, (const hone_value *const *)&x, 1, &out, &y,
                               &error));
    assert_true(hone_value_get_f64(y, 47, 1, &want)); /* row 1, column 15 */
    assert_true(last == -want);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_make_no_difference),
        cmocka_unit_test(operators_deal_with_parted_rows),
        cmocka_unit_test(missing_memory_is_told),
        cmocka_unit_test(observers_see_rows_side_by_side),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
