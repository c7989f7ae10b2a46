/* Steps that run concurrently: which ones form a group, and that results do not change. */
#include "counted_model.h"
#include "plan/plan.h"

enum { N_ROWS = 64, N_COLS = 32, N_ELEMS = N_ROWS * N_COLS };

/* ---- graphs made up -------------------------------------------------------------------------- */

typedef struct made_graph {
    char text[8192];
    uint32_t seed, n_nodes;
    int at[4]; /* by strand: the number of its last value; -1: the input */
} made_graph;

static uint32_t draw(made_graph *m, uint32_t n) {
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % n;
}

static void write_value(made_graph *m, int value) {
    size_t n = strlen(m->text);
    snprintf(m->text + n, sizeof m->text - n, value < 0 ? "x" : "v%d", value);
}

static void write_text(made_graph *m, const char *text) {
    strncat(m->text, text, sizeof m->text - strlen(m->text) - 1);
}

static void write_node(made_graph *m, int strand, const char *form) {
    int self = (int)m->n_nodes++;
    int others[] = {m->at[strand], m->at[draw(m, 8) ? strand : (int)draw(m, 4)]};
    size_t n_others = 0;
    for (const char *c = form; *c; c++) {
        if (*c == '$')
            write_value(m, others[n_others++ % 2]);
        else if (*c == '@')
            write_value(m, self);
        else
            write_text(m, (char[]){*c, '\0'});
    }
    m->at[strand] = self;
}

/* Forms of one node or several; @ is the value that is made, $ the ones that are read. */
static const char *const node_forms[] = {
    " @ = Neg ($)",
    " @ = Sigmoid ($)",
    " @ = Softmax ($)",
    " @ = Add ($, $)",
    " @ = Mul ($, $)",
    " t@ = Transpose ($) @ = Transpose (t@)",
    " c@ = Concat <axis: int = 0> ($, $) @ = Slice (c@, s0, s1)",
    " r@ = Reshape ($, flat) n@ = Abs (r@) @ = Reshape (n@, form)",
    " i@ = NonZero ($) k@ = Size (i@) f@ = Cast <to: int = 1> (k@) @ = Div ($, f@)",
    " m@ = ReduceMax <axes: ints = [1], keepdims: int = 1> ($) @ = Sub ($, m@)"};

static const char *graph_of_seed(made_graph *m, uint32_t seed) {
    *m = (made_graph){.seed = seed, .at = {-1, -1, -1, -1}};
    write_text(m, "<ir_version: 10, opset_import: [\"\" : 13]>\n"
                  "g (float[64,32] x) => (float[64,32] y0, float[64,32] y1, float[64,32] y2, "
                  "float[64,32] y3) <int64[1] s0 = {0}, int64[1] s1 = {64}, int64[1] flat = {-1}, "
                  "int64[2] form = {64, 32}> {\n");
    for (int i = 0; i < 32; i++) /* strands in sequence and interleaved */
        write_node(m, seed % 2 ? i / 8 : (int)draw(m, 4),
                   node_forms[draw(m, sizeof node_forms / sizeof *node_forms)]);
    for (int k = 0; k < 4; k++) {
        write_text(m, (const char *const[]){" y0", " y1", " y2", " y3"}[k]);
        write_text(m, " = Neg (");
        write_value(m, m->at[k]);
        write_text(m, ")");
    }
    write_text(m, " }");
    return m->text;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void expect_independent_strands(const hn_plan *p, const hn_group *group) {
    const hn_graph *g = p->program->model->graph;
    const hn_step *steps = p->program->blocks[0].steps;
    uint32_t strand_of[256], n = 0;
    memset(strand_of, 0xFF, sizeof strand_of);
    assert_true(group->end <= 256 && group->n_strands > 1);
    for (uint32_t k = 0; k < group->n_strands; k++)
        for (uint32_t i = group->starts[k]; i < group->starts[k + 1]; i++, n++) {
            assert_in_range(group->steps[i], group->begin, group->end - 1);
            assert_true(i == group->starts[k] || group->steps[i] > group->steps[i - 1]);
            strand_of[group->steps[i]] = k;
        }
    assert_int_equal(n, group->end - group->begin);
    for (uint32_t s = group->begin; s < group->end; s++)
        for (uint32_t i = 0; i < hn_node_at(g, steps[s].node)->n_inputs; i++) {
            hn_id maker = hn_value_at(g, hn_node_at(g, steps[s].node)->inputs[i])->producer;
            uint32_t at = maker == HN_NONE ? UINT32_MAX : p->program->position[maker];
            if (at >= group->begin && at < group->end)
                assert_int_equal(strand_of[at], strand_of[s]);
        }
}

/* The memory of a group is reserved from its beginning to its end. */
static void expect_stretched_ranges(const hn_plan *p, const hn_group *group) {
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        const hn_live_range *r = &p->ranges[i];
        assert_true(r->first <= group->begin || r->first >= group->end);
        assert_true(r->last < group->begin || r->last >= group->end - 1);
        for (uint32_t k = 0; k < i; k++) {
            const hn_live_range *o = &p->ranges[k];
            assert_true(r->last < o->first || o->last < r->first ||
                        r->offset + r->bytes <= o->offset || o->offset + o->bytes <= r->offset);
        }
    }
}

static hn_plan *plan_for_threads(const hn_program *program, int n_threads) {
    hn_object x;
    const hn_object *given = &x;
    hn_plan *plan;
    hn_object_init_borrowed(&x, HN_F32, DIMS(N_ROWS, N_COLS), NULL);
    expect_ok(hn_plan_new(program, n_threads, 1, &given, &plan, &error));
    return plan;
}

static void strands_do_not_need_each_other(void **state) {
    (void)state;
    uint32_t n_groups = 0;
    for (uint32_t seed = 0; seed < 60; seed++) {
        static made_graph made;
        hn_model *m;
        hn_program *program;
        graph_of_seed(&made, seed);
        expect_ok(hn_model_parse(made.text, strlen(made.text), NULL, &m, &error));
        expect_ok(hn_program_new(m, NULL, &program, &error));
        for (int n_threads = 1; n_threads <= 4; n_threads++) {
            hn_plan *p = plan_for_threads(program, n_threads);
            assert_true(n_threads > 1 || p->n_groups == 0);
            for (uint32_t i = 0; i < p->n_groups; i++) {
                assert_true(i == 0 || p->groups[i].begin >= p->groups[i - 1].end);
                expect_independent_strands(p, &p->groups[i]);
                expect_stretched_ranges(p, &p->groups[i]);
            }
            n_groups += p->n_groups;
            hn_plan_free(p);
        }
        hn_program_free(program);
        hn_model_free(m);
    }
    assert_true(n_groups > 60);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static runner runner_on(const char *text, int n_threads) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    options.level = HONE_LEVEL_NONE;
    return runner_with(text, NULL, &options);
}

static void run_into(const runner *r, float (*y)[N_ELEMS]) {
    static float data[N_ELEMS];
    const char *in = "x";
    hone_value *x, *out[4];
    for (int i = 0; i < N_ELEMS; i++)
        data[i] = (float)(i * 7919 % 1009) / 500 - 1;
    expect_ok(hone_value_borrow(ELEM_FLOAT, DIMS(N_ROWS, N_COLS), data, sizeof data, &x, &error));
    for (int k = 0; k < 4; k++)
        expect_ok(hone_value_borrow(ELEM_FLOAT, DIMS(N_ROWS, N_COLS), y[k], sizeof y[k], &out[k],
                                    &error));
    expect_ok(hone_session_run(r->session, NULL, 1, &in, (const hone_value *const *)&x, 0, NULL,
                               out, &error));
    for (int k = 0; k < 4; k++)
        hone_value_free(out[k]);
    hone_value_free(x);
}

static void groups_change_no_bit(void **state) {
    (void)state;
    static float alone[4][N_ELEMS], together[4][N_ELEMS];
    for (uint32_t seed = 0; seed < 40; seed++) {
        static made_graph made;
        runner one = runner_on(graph_of_seed(&made, seed), 1);
        run_into(&one, alone);
        runner_free(&one);
        for (int n_threads = 2; n_threads <= 3; n_threads++) {
            runner many = runner_on(made.text, n_threads);
            for (int i = 0; i < 4; i++) {
                memset(together, 0, sizeof together);
                run_into(&many, together);
                assert_memory_equal(alone, together, sizeof alone);
            }
            runner_free(&many);
        }
    }
}

/* Both strands fail; the one that is first in program order fails later in time. */
#define TWO_FAULTS                                                                          \
  RUN_HEAD                                                                                  \
  "g (float[64,32] x, int64[2] s) => (float[n,k] y, float[m,l] z) {\n"                      \
  "  a = Softmax (x) b = Softmax (a) c = Softmax (b) [first] y = Reshape (c, s)\n"          \
  "  d = Softmax (x) e = Softmax (d) [second] z = Reshape (e, s) f = Neg (z) h = Neg (f)\n" \
  "  }"

static hone_status run_faults(const runner *r, const hone_run_options *options, hone_error *err) {
    const char *names[] = {"x", "s"};
    hone_value *x = counting_floats(DIMS(N_ROWS, N_COLS)), *y[2] = {0};
    hone_value *s = tensor_of(ELEM_INT64, (const int64_t[]){3, 5}, DIMS(2));
    const hone_value *in[] = {x, s};
    hone_status status = hone_session_run(r->session, options, 2, names, in, 0, NULL, y, err);
    assert_null(y[0]);
    assert_null(y[1]);
    hone_value_free(x);
    hone_value_free(s);
    return status;
}

static void the_first_error_in_the_program_is_told(void **state) {
    (void)state;
    runner r = runner_on(TWO_FAULTS, 2);
    for (int i = 0; i < 50; i++) {
        hone_error err;
        assert_int_equal(run_faults(&r, NULL, &err), HONE_E_SHAPE);
        assert_non_null(strstr(err.message, "node 'first' (Reshape): "));
        assert_string_equal(err.node, "first");
        assert_string_equal(err.op, "Reshape");
    }
    volatile int flag = 1;
    hone_run_options options;
    hone_run_options_init(&options);
    options.cancel = &flag;
    expect_failure(run_faults(&r, &options, &error), HONE_E_CANCELLED, "the run was cancelled");
    runner_free(&r);
}

/* The Nth request of a session's first run fails; false when there were fewer. */
static bool group_survives_failing(const char *text, size_t n) {
    counting_allocator memory;
    hone_session_options options;
    hone_session *session;
    hone_error err;
    hone_model *model = counted_model(text, &memory, 0);
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.level = HONE_LEVEL_NONE;
    expect_ok(hone_session_create(model, &options, &session, &error));
    hone_value *x = counting_floats(DIMS(N_ROWS, N_COLS)), *y[4] = {0};
    memory.n_requests = 0;
    memory.fail_at = n;
    hone_status status = hone_session_run(session, NULL, 1, &(const char *){"x"},
                                          (const hone_value *const *)&x, 0, NULL, y, &err);
    assert_true(status == (memory.n_refused ? HONE_E_NOMEM : HONE_OK));
    memory.fail_at = 0;
    for (int i = 0; i < 4; i++) {
        assert_true((y[i] == NULL) == (status != HONE_OK));
        hone_value_free(y[i]);
    }
    hone_session_free(session);
    hone_model_free(model);
    hone_value_free(x);
    assert_true(counting_is_clean(&memory));
    return memory.n_refused > 0;
}

static void missing_memory_in_a_group_is_told(void **state) {
    (void)state;
    static made_graph made;
    size_t n = 1;
    graph_of_seed(&made, 3);
    assert_non_null(strstr(made.text, "NonZero"));
    while (group_survives_failing(made.text, n))
        n++;
    assert_true(n > 20);
}

/* ---- whoever watches ------------------------------------------------------------------------- */

typedef struct watch {
    int n_seen;
    char ops[512];
} watch;

static void note_step(void *ctx, const hone_step *step) {
    watch *w = ctx;
    w->n_seen++;
    strncat(w->ops, step->op, sizeof w->ops - strlen(w->ops) - 1);
}

static void watchers_see_steps_in_order(void **state) {
    (void)state;
    static made_graph made;
    static watch seen[2];
    graph_of_seed(&made, 1);
    for (int k = 0; k < 2; k++) {
        runner r = runner_on(made.text, k + 1);
        hone_run_options options;
        hone_run_options_init(&options);
        options.observe = note_step;
        options.observe_ctx = &seen[k];
        hone_value *x = counting_floats(DIMS(N_ROWS, N_COLS)), *y[4] = {0};
        expect_ok(hone_session_run(r.session, &options, 1, &(const char *){"x"},
                                   (const hone_value *const *)&x, 0, NULL, y, &error));
        for (int i = 0; i < 4; i++)
            hone_value_free(y[i]);
        hone_value_free(x);
        runner_free(&r);
    }
    assert_true(seen[0].n_seen > 36);
    assert_int_equal(seen[0].n_seen, seen[1].n_seen);
    assert_string_equal(seen[0].ops, seen[1].ops);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strands_do_not_need_each_other),
        cmocka_unit_test(groups_change_no_bit),
        cmocka_unit_test(the_first_error_in_the_program_is_told),
        cmocka_unit_test(missing_memory_in_a_group_is_told),
        cmocka_unit_test(watchers_see_steps_in_order),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
