/* Sessions with values other than tensors of numbers: strings, sequences, optionals; and subgraphs,
 * functions, observers. */
#include "run_model.h"

static void expect_text(const hone_value *v, uint64_t i, const char *wanted) {
    const char *text;
    size_t n;
    assert_true(hone_value_string(v, i, &text, &n));
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(text, wanted, n);
}

static hone_value *strings_of(const char *const *texts, int64_t n) {
    hone_value *v;
    expect_ok(hone_value_create_strings(DIMS(n), texts, NULL, &v, &error));
    return v;
}

static void strings_flow(void **state) {
    (void)state;
    runner r = runner_of(
        RUN_HEAD
        "g (string[n] x) => (string[1,n] y, string[m] twice) <int64[1] front = {0}> "
        "{ a = Identity (x) y = Unsqueeze (a, front) twice = Concat <axis: int = 0> (a, x) }");
    const char *texts[] = {"", "a longer text that needs memory", "c"}, *in = "x";
    const char *olds[] = {"old", "old", "old"};
    hone_value *x = strings_of(texts, 3), *out[2] = {0};
    const hone_value *xs = x;
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, out, &error));
    expect_dims(out[0], DIMS(1, 3));
    expect_text(out[0], 0, "");
    expect_text(out[1], 4, texts[1]);
    hone_value_free(out[0]);
    expect_ok(hone_value_create_strings(DIMS(1, 3), olds, NULL, &out[0],
                                        &error)); /* bound: its texts are replaced */
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, out, &error));
    expect_text(out[0], 1, texts[1]);
    expect_text(out[0], 2, "c");
    hone_value_free(x);
    expect_text(out[1], 1, texts[1]);
    hone_value_free(out[0]);
    hone_value_free(out[1]);
    runner_free(&r);
}

static void sequences_flow(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD "g (seq(float[n]) s, float[k] x) => (seq(float[n]) longer, "
                                  "float[m] second, int64 n_items, seq(float[n]) s) "
                                  "<int64 one = {1}> { longer = SequenceInsert (s, x) second = "
                                  "SequenceAt (longer, one) n_items = "
                                  "SequenceLength (longer) }");
    hone_value *a = counting_floats(DIMS(2)), *x = counting_floats(DIMS(3)), *s, *out[4];
    const hone_value *items[] = {a};
    const char *names[] = {"s", "x"};
    expect_ok(hone_value_create_sequence(1, items, &s, &error));
    for (int i = 0; i < 3; i++) {
        const hone_value *in[] = {s, x};
        memset(out, 0, sizeof out);
        expect_ok(hone_session_run(r.session, NULL, 2, names, in, 0, NULL, out, &error));
        assert_int_equal(hone_value_kind(out[0]), HONE_TYPE_SEQUENCE);
        assert_int_equal(hone_value_n_items(out[0]), 2);
        EXPECT_FLOATS(hone_value_item(out[0], 1), 0, 1, 2);
        EXPECT_FLOATS(out[1], 0, 1, 2);
        assert_int_equal(hone_value_n_items(out[3]), 1);
        assert_null(hone_value_item(out[3], 1));
        for (int k = 0; k < 4; k++)
            hone_value_free(out[k]);
    }
    hone_value *wrong[4] = {counting_floats(DIMS(3)), NULL, NULL, NULL};
    const hone_value *in[] = {s, x};
    expect_failure(hone_session_run(r.session, NULL, 2, names, in, 0, NULL, wrong, &error),
                   HONE_E_TYPE, "'longer' is no tensor");
    hone_value_free(wrong[0]);
    hone_value_free(a);
    hone_value_free(x);
    hone_value_free(s);
    runner_free(&r);
}

static void a_tensor_is_no_sequence(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD
                         "g (seq(float[n]) s) => (int64 n_items) { n_items = SequenceLength (s) }");
    hone_value *x = counting_floats(DIMS(2)), *s, *y = NULL;
    const hone_value *items[] = {x};
    expect_failure(run_one(&r, "s", x, "n_items", &y, &error), HONE_E_TYPE,
                   "input 's' is float[2], but the model takes seq(float[n])");
    expect_ok(hone_value_create_sequence(1, items, &s, &error));
    runner_free(&r);
    r = runner_of(RUN_HEAD "g (float[n] x) => (float[n] y) { y = Neg (x) }");
    expect_failure(run_one(&r, "x", s, "y", &y, &error), HONE_E_TYPE,
                   "input 'x' is a sequence, but the model takes float[n]");
    hone_value_free(x);
    hone_value_free(s);
    runner_free(&r);
}

static void optionals_may_be_left_out(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD
                         "g (optional(float[n]) o) => (bool has) { has = OptionalHasElement (o) }");
    hone_value *x = counting_floats(DIMS(2)), *y = NULL;
    const char *out = "has";
    int64_t has;
    expect_ok(hone_session_run(r.session, NULL, 0, NULL, NULL, 1, &out, &y, &error));
    assert_true(hone_value_get_i64(y, 0, 1, &has));
    assert_int_equal(has, 0);
    hone_value_free(y);
    y = result_of(&r, "o", x, "has");
    assert_true(hone_value_get_i64(y, 0, 1, &has));
    assert_int_equal(has, 1);
    hone_value_free(y);
    hone_value_free(x);
    runner_free(&r);
}

/* x + 1 2 3 or x * 2.5, then `trips` times max(0, x): captured values, carried values, a function
 * with an attribute. */
static void branches_and_loops_see_outer_values(void **state) {
    (void)state;
    runner r = runner_of(BRANCHES);
    float data[] = {-2, -4, 8};
    const char *names[] = {"x", "flag", "trips"};
    for (int64_t k = 0; k < 6; k++) {
        bool flag = k % 2 == 0;
        int64_t trips = k / 2 + (flag ? 0 : 1),
                wanted = flag ? trips : 0; /* `go` is the same flag: no trip at all without it */
        hone_value *x = tensor_of(ELEM_FLOAT, data, DIMS(1, 3)),
                   *f = tensor_of(ELEM_BOOL, &flag, SCALAR);
        hone_value *t = tensor_of(ELEM_INT64, &trips, SCALAR), *out[2] = {0};
        const hone_value *in[] = {x, f, t};
        expect_ok(hone_session_run(r.session, NULL, 3, names, in, 0, NULL, out, &error));
        if (!flag)
            EXPECT_FLOATS(out[0], -5, -10, 20);
        else if (trips)
            EXPECT_FLOATS(out[0], 0, 0, 11);
        else
            EXPECT_FLOATS(out[0], -1, -2, 11);
        hone_tensor_info info;
        hone_value_tensor(out[1], &info);
        assert_int_equal(info.dims[0], wanted);
        hone_value *all[] = {x, f, t, out[0], out[1]};
        for (size_t i = 0; i < 5; i++)
            hone_value_free(all[i]);
    }
    runner_free(&r);
}

/* A branch returns an outer value that still has readers. */
static void branches_may_pass_outer_values_on(void **state) {
    (void)state;
    runner r =
        runner_of(RUN_HEAD "g (float[n] x, bool flag) => (float[n] y, float[n] z) {\n"
                           "  a = Neg (x)\n"
                           "  b = If (flag) <then_branch = t () => (float[n] d) { d = Identity (a) "
                           "}, else_branch = e () => (float[n] c) { c = Neg (a) }>\n"
                           "  y = Neg (b)\n"
                           "  z = Add (a, b)\n"
                           "}");
    const char *names[] = {"x", "flag"};
    for (int k = 0; k < 4; k++) {
        bool flag = k % 2;
        hone_value *x = counting_floats(DIMS(2)), *f = tensor_of(ELEM_BOOL, &flag, SCALAR),
                   *out[2] = {0};
        const hone_value *in[] = {x, f};
        expect_ok(hone_session_run(r.session, NULL, 2, names, in, 0, NULL, out, &error));
        EXPECT_FLOATS(out[0], 0, flag ? 1 : -1);
        EXPECT_FLOATS(out[1], 0, flag ? -2 : 0);
        hone_value *all[] = {x, f, out[0], out[1]};
        for (size_t i = 0; i < 4; i++)
            hone_value_free(all[i]);
    }
    runner_free(&r);
}

typedef struct sightings {
    int n_nodes, n_inputs, n_outputs;
    char ops[128];
    uint64_t last_ns;
} sightings;

static void see(void *ctx, const hone_step *step) {
    sightings *s = ctx;
    hone_node_info info;
    hone_tensor_info t;
    hone_graph_get_node(step->graph, step->node, &info);
    assert_string_equal(info.op, step->op);
    assert_string_equal(info.name, step->name);
    assert_string_equal(step->provider, "cpu");
    assert_true(s->last_ns <= step->start_ns && step->start_ns <= step->end_ns);
    s->last_ns = step->end_ns;
    s->n_nodes++;
    snprintf(s->ops + strlen(s->ops), sizeof s->ops - strlen(s->ops), "%s ", step->op);
    for (uint32_t i = 0; i < step->n_inputs; i++)
        s->n_inputs += step->inputs[i] && hone_value_tensor(step->inputs[i], &t) && t.rank <= 2;
    for (uint32_t i = 0; i < step->n_outputs; i++)
        s->n_outputs += step->outputs[i] && (hone_value_n_items(step->outputs[i]) == 0 ||
                                             hone_value_item(step->outputs[i], 0));
}

static void observers_see_every_node(void **state) {
    (void)state;
    runner r = runner_as_written(
        RUN_HEAD "g (float[n] x) => (float[k,n] y, int64 n_items) <int64[1] front = {0}> {\n"
                 "  a = Neg (x) s = SequenceConstruct (x, a) n_items = SequenceLength (s) y = "
                 "Unsqueeze (a, front) }");
    sightings seen = {0};
    hone_run_options options;
    hone_run_options_init(&options);
    options.observe = see;
    options.observe_ctx = &seen;
    const char *in = "x";
    hone_value *x = counting_floats(DIMS(2)), *out[2] = {0};
    const hone_value *xs = x;
    expect_ok(hone_session_run(r.session, &options, 1, &in, &xs, 0, NULL, out, &error));
    assert_int_equal(seen.n_nodes, 4);
    assert_int_equal(seen.n_inputs, 5); /* one is a sequence */
    assert_int_equal(seen.n_outputs, 4);
    assert_string_equal(seen.ops, "Neg SequenceConstruct SequenceLength Unsqueeze ");
    hone_value_free(x);
    hone_value_free(out[0]);
    hone_value_free(out[1]);
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_flow),
        cmocka_unit_test(sequences_flow),
        cmocka_unit_test(a_tensor_is_no_sequence),
        cmocka_unit_test(optionals_may_be_left_out),
        cmocka_unit_test(branches_and_loops_see_outer_values),
        cmocka_unit_test(branches_may_pass_outer_values_on),
        cmocka_unit_test(observers_see_every_node),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
