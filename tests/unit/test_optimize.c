/* The whole optimizer: which passes run, limits, reports, and invalid options. */
#include "optimize_model.h"

/* A no-op, a fusion that needs opset 20, and one that needs com.microsoft. */
#define GELU(opset)                                                                          \
  "<ir_version: 8, opset_import: [\"\" : " #opset "]>\n"                                     \
  "g (float[2,3,4] x) => (float[2,3,4] y)"                                                   \
  " <float half = {0.5}, float one = {1}, float root = {1.4142135}, float[4] b = {1,2,3,4}>" \
  " {\n"                                                                                     \
  "  same = Identity (x)\n"                                                                  \
  "  [bias] a = Add (same, b)\n"                                                             \
  "  [div] d = Div (a, root)\n"                                                              \
  "  [erf] e = Erf (d)\n"                                                                    \
  "  f = Add (e, one)\n"                                                                     \
  "  h = Mul (a, f)\n"                                                                       \
  "  y = Mul (h, half)\n"                                                                    \
  "}"

/* ---- which passes ---------------------------------------------------------------------------- */

static void levels_choose_passes(void **state) {
    (void)state;
    static const struct {
        hone_level level;
        hone_target target;
        const char *operators;
    } cases[] = {{HONE_LEVEL_NONE, HONE_TARGET_ONNX, "Identity Add Div Erf Add Mul Mul"},
                 {HONE_LEVEL_BASIC, HONE_TARGET_ONNX, "Add Div Erf Add Mul Mul"},
                 {HONE_LEVEL_EXTENDED, HONE_TARGET_ONNX, "Add Gelu"},
                 {HONE_LEVEL_ALL, HONE_TARGET_ONNX, "Add Gelu"},
                 {HONE_LEVEL_BASIC, HONE_TARGET_ONNXRUNTIME, "Add Div Erf Add Mul Mul"},
                 {HONE_LEVEL_EXTENDED, HONE_TARGET_ONNXRUNTIME, "com.microsoft.BiasGelu"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_optimize_options options = default_options();
        options.level = cases[i].level;
        options.target = cases[i].target;
        optimized o = optimize(GELU(20), &options);
        expect_operators(o.after, cases[i].operators);
        expect_operators(o.before, "Identity Add Div Erf Add Mul Mul");
        optimized_free(&o);
    }
}

static void passes_are_named_or_left_out(void **state) {
    (void)state;
    static const char *const only[] = {"activations"}, *const both[] = {"no-ops", "activations"};
    static const char *const rule[] = {"activations.gelu-erf"}, *const pass[] = {"no-ops"};
    hone_optimize_options options = default_options();
    options.level = HONE_LEVEL_NONE; /* whatever the level */
    options.passes = only;
    options.n_passes = 1;
    optimized o = optimize(GELU(20), &options);
    expect_operators(o.after, "Identity Add Gelu");
    assert_int_equal(o.info.n_passes, 1);
    optimized_free(&o);
    options.passes = both;
    options.n_passes = 2;
    options.disabled = pass;
    options.n_disabled = 1;
    o = optimize(GELU(20), &options);
    expect_operators(o.after, "Identity Add Gelu");
    optimized_free(&o);
    options.disabled = rule;
    o = optimize(GELU(20), &options);
    expect_operators(o.after, "Add Div Erf Add Mul Mul");
    optimized_free(&o);
}

static void strange_names_are_refused(void **state) {
    (void)state;
    static const char long_name[] = "a-name-that-is-longer-than-any-pass-could-ever-want-to-"
                                    "be-called-by-anybody.rule";
    static const char *const names[] = {"no-such-pass", "",       ".", "no-ops.",
                                        "no-ops.none",  long_name};
    static const bool may_disable[] = {false, false, false, true, true, false};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hone_model *m = model_from(GELU(20)), *out;
        hone_optimize_options options = default_options();
        options.passes = &names[i];
        options.n_passes = 1;
        expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_NOT_FOUND,
                       "there is no pass");
        assert_null(out);
        options = default_options();
        options.disabled = &names[i];
        options.n_disabled = 1;
        if (may_disable[i]) /* a rule of that name may come with a library */
            expect_ok(hone_model_optimize(m, &options, &out, NULL, &error));
        else
            expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_NOT_FOUND,
                           "there is no pass");
        hone_model_free(out);
        hone_model_free(m);
    }
}

static void the_table_of_passes_is_sound(void **state) {
    (void)state;
    hone_pass_info p, q;
    assert_true(hone_pass_count() > 20);
    for (uint32_t i = 0; i < hone_pass_count(); i++) {
        assert_true(hone_pass_get(i, &p));
        assert_true(*p.name && *p.summary);
        for (uint32_t k = 0; k < i; k++) {
            assert_true(hone_pass_get(k, &q));
            assert_string_not_equal(p.name, q.name);
        }
    }
    assert_false(hone_pass_get(hone_pass_count(), &p));
}

/* ---- how far --------------------------------------------------------------------------------- */

static void rewrites_can_be_counted_off(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    optimized o = optimize(GELU(20), &options);
    uint32_t n_all = o.info.n_rewrites;
    assert_true(n_all >= 2);
    assert_false(o.info.is_stopped);
    optimized_free(&o);
    for (uint32_t n = 0; n < n_all; n++) {
        options.stop_after = n;
        o = optimize(GELU(20), &options);
        assert_int_equal(o.info.n_rewrites, n);
        assert_true(o.info.is_stopped);
        optimized_free(&o);
    }
}

static void constants_do_not_grow_for_ever(void **state) {
    (void)state;
    const char *text =
        RUN_HEAD "g (float[2] x) => (float[1000,2] y) <int64[2] s = {1000, 2}, float[2]"
                 " w = {1, 2}> { e = Expand (w, s)  y = Mul (x, e) }";
    hone_optimize_options options = default_options();
    static const char *const rule[] = {"drop-expands"};
    options.disabled = rule;
    options.n_disabled = 1;
    options.max_fold_bytes = 1000;
    optimized o = optimize(text, &options);
    expect_operators(o.after, "Expand Mul");
    optimized_free(&o);
    options.max_fold_bytes = 10000;
    o = optimize(text, &options);
    expect_operators(o.after, "Mul");
    optimized_free(&o);
}

/* ---- opsets ---------------------------------------------------------------------------------- */

static void the_opset_rises_where_it_may(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    optimized o = optimize(GELU(17), &options);
    expect_operators(o.after, "Add Div Erf Add Mul Mul");
    expect_near_miss(&o, "gelu-erf", "Gelu is an operator of opset 20, the model has opset 17");
    assert_int_equal(o.info.opset_after, 17);
    optimized_free(&o);
    options.opset = 20;
    o = optimize(GELU(17), &options);
    expect_operators(o.after, "Add Gelu");
    assert_int_equal(o.info.opset_before, 17);
    assert_int_equal(o.info.opset_after, 20);
    optimized_free(&o);
    const char *norm = "<ir_version: 8, opset_import: [\"\" : 14]>\n"
                       "g (float[2,4] x) => (float[2,4] y) <float[4] g = {1,2,3,4}, float[4] b = "
                       "{1,1,1,1}, float e = {0.00001}, float two = {2}> {\n"
                       "  m = ReduceMean <axes: ints = [-1]> (x)\n  d = Sub (x, m)\n"
                       "  s = Pow (d, two)\n  v = ReduceMean <axes: ints = [-1]> (s)\n"
                       "  w = Add (v, e)\n  r = Sqrt (w)\n  q = Div (d, r)\n"
                       "  p = Mul (q, g)\n  y = Add (p, b)\n}";
    options.opset = 0;
    options.target = HONE_TARGET_ONNXRUNTIME;
    o = optimize(norm, &options);
    expect_operators(o.after, "LayerNormalization");
    assert_int_equal(o.info.opset_after, 17);
    optimized_free(&o);
    options.opset = 14; /* asked for: it stays */
    o = optimize(norm, &options);
    assert_int_equal(o.info.opset_after, 14);
    optimized_free(&o);
}

static void an_opset_that_cannot_be_is_refused(void **state) {
    (void)state;
    hone_model *m = model_from(GELU(20)), *out;
    hone_optimize_options options = default_options();
    options.opset = 99;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "opset 99 does not exist");
    options.opset = -3;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT, "-3");
    hone_model_free(m);
}

/* ---- on the way ------------------------------------------------------------------------------ */

typedef struct diary {
    char text[512];
    uint32_t n_rewrites, stop_at;
} diary;

static bool note(void *ctx, const hone_model *m, const char *pass, uint32_t n_rewrites) {
    diary *d = ctx;
    size_t used = strlen(d->text);
    assert_non_null(hone_model_graph(m));
    snprintf(d->text + used, sizeof d->text - used, "%s ", pass);
    d->n_rewrites += n_rewrites;
    return d->stop_at && d->n_rewrites >= d->stop_at;
}

static void a_caller_may_watch_and_stop(void **state) {
    (void)state;
    diary d = {.text = ""};
    hone_optimize_options options = default_options();
    options.after_pass = note;
    options.after_pass_ctx = &d;
    optimized o = optimize(GELU(20), &options);
    assert_non_null(strstr(d.text, "no-ops "));
    assert_true(strstr(d.text, "activations ") > strstr(d.text, "no-ops "));
    assert_int_equal(d.n_rewrites, o.info.n_rewrites);
    options.verify = true;
    d = (diary){.text = ""};
    optimized p = optimize(GELU(20), &options);
    assert_int_equal(d.n_rewrites, p.info.n_rewrites);
    optimized_free(&p);
    d = (diary){.stop_at = 1};
    hone_model *out;
    expect_failure(hone_model_optimize(o.before, &options, &out, NULL, &error), HONE_E_CANCELLED,
                   "stopped by its caller");
    assert_null(out);
    optimized_free(&o);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void the_report_adds_up(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    options.measure = true;
    optimized o = optimize(GELU(20), &options);
    uint32_t n_rewrites = 0;
    int64_t n_saved = 0;
    for (uint32_t i = 0; i < o.info.n_passes; i++) {
        hone_pass_stats s;
        hone_optimization_get_pass(o.report, i, &s);
        assert_true(*s.pass && s.n_runs > 0 && s.seconds >= 0);
        n_rewrites += strcmp(s.pass, "dead-code") ? s.n_rewrites : 0;
        n_saved += s.nodes_saved;
    }
    assert_int_equal(n_rewrites, o.info.n_rewrites);
    assert_int_equal(n_saved, 5);
    assert_false(o.info.is_verified);
    hone_rewrite w;
    hone_near_miss m;
    hone_pass_stats s;
    hone_optimization_get_rewrite(o.report, 1000, &w);
    hone_optimization_get_near_miss(o.report, 1000, &m);
    hone_optimization_get_guilty(o.report, 1000, &m);
    hone_optimization_get_pass(o.report, 1000, &s);
    assert_true(!*w.pass && !*m.rule && !*s.pass);
    optimized_free(&o);
}

static void the_report_is_written_as_json(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    options.verify = true;
    optimized o = optimize(GELU(20), &options);
    text_sink sink = {0};
    expect_ok(hone_optimization_write_json(o.report, "a \"label\"", collect_text, &sink, &error));
    static const char *const parts[] = {
        "\"model\": \"a \\\"label\\\"\"", "\"opset_before\": 20",   "\"stopped\": false",
        "\"pass\": \"no-ops\"",           "\"rule\": \"gelu-erf\"", "\"near_misses\": [",
        "\"switched_off\": []",           "\"verification\": {",    "\"max_relative\": "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(sink.at, parts[i]))
            fail_msg("no %s in %s", parts[i], sink.at);
    free(sink.at);
    optimized_free(&o);
}

/* ---- verification ---------------------------------------------------------------------------- */

static void given_inputs_are_used(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    hone_value *x = counting_floats(DIMS(2, 3, 4));
    const char *name = "x", *wrong = "nobody";
    const hone_value *values[] = {x};
    hone_model *out;
    options.verify = true;
    options.n_verify_inputs = 1;
    options.verify_input_names = &name;
    options.verify_inputs = values;
    optimized o = optimize(GELU(20), &options);
    assert_true(o.info.is_verified && o.info.n_runs > 2);
    assert_true(o.info.max_relative < 1e-5);
    assert_string_equal(o.info.difference_at, "y");
    options.verify_input_names = &wrong;
    expect_failure(hone_model_optimize(o.before, &options, &out, NULL, &error), HONE_E_NOT_FOUND,
                   "the model has no input 'nobody'");
    options.verify_input_names = NULL;
    expect_failure(hone_model_optimize(o.before, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "'verify_inputs' is NULL");
    optimized_free(&o);
    hone_value_free(x);
}

static void what_cannot_run_cannot_be_verified(void **state) {
    (void)state;
    hone_model *m =
        model_from(RUN_HEAD "g (seq(float[2]) x) => (int64 y) { y = SequenceLength (x) }");
    hone_model *out;
    hone_optimize_options options = default_options();
    options.verify = true;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_UNSUPPORTED,
                   "no values can be generated for input 'x'");
    hone_model_free(m);
}

/* ---- hostile calls --------------------------------------------------------------------------- */

static void strange_options_are_refused(void **state) {
    (void)state;
    hone_model *m = model_from(GELU(20)), *out;
    hone_optimize_options options = default_options();
    options.level = (hone_level)7;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "7 is not a level");
    options = default_options();
    options.target = (hone_target)7;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "7 is not a target");
    options = default_options();
    options.n_passes = 3;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "'passes'");
    options = default_options();
    options.n_disabled = 3;
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "'disabled'");
    options = (hone_optimize_options){.size = 1};
    expect_failure(hone_model_optimize(m, &options, &out, NULL, &error), HONE_E_ARGUMENT,
                   "hone_optimize_options");
    expect_failure(hone_model_optimize(NULL, NULL, &out, NULL, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_optimize(m, NULL, NULL, NULL, &error), HONE_E_ARGUMENT,
                   "'optimized'");
    expect_ok(hone_model_optimize(m, NULL, &out, NULL, &error)); /* the defaults */
    hone_model_free(out);
    hone_optimization_free(NULL);
    hone_model_free(m);
}

static void functions_are_inlined_and_ports_kept(void **state) {
    (void)state;
    optimized o = optimize(BRANCHES, NULL);
    const hone_graph *g = hone_model_graph(o.after);
    hone_subgraph_info top;
    hone_value_info v;
    hone_model_info info;
    static const char *const inputs[] = {"x", "flag", "trips"}, *const outputs[] = {"y", "last"};
    hone_graph_get_subgraph(g, 0, &top);
    assert_int_equal(top.n_inputs, 3);
    assert_int_equal(top.n_outputs, 2);
    for (uint32_t i = 0; i < 3; i++) {
        hone_graph_get_value(g, top.inputs[i], &v);
        assert_string_equal(v.name, inputs[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        hone_graph_get_value(g, top.outputs[i], &v);
        assert_string_equal(v.name, outputs[i]);
    }
    hone_model_get_info(o.after, &info);
    assert_int_equal(info.n_functions, 0);
    optimized_free(&o);
}

/* BiasGelu is made of Gelu, which was made of five nodes, two without names. */
static void new_nodes_know_what_they_replace(void **state) {
    (void)state;
    static const char *const origins[] = {"bias", "div", "erf", "f", "h", "y"};
    for (int keeps = 0; keeps < 2; keeps++) {
        hone_optimize_options options = default_options();
        options.target = HONE_TARGET_ONNXRUNTIME;
        options.keep_origins = keeps;
        optimized o = optimize(GELU(20), &options);
        const hone_graph *g = hone_model_graph(o.after);
        hone_subgraph_info top;
        hone_graph_get_subgraph(g, 0, &top);
        assert_int_equal(top.n_nodes, 1);
        for (uint32_t i = 0; i < 6; i++)
            assert_string_equal(hone_node_origin(g, top.nodes[0], i), keeps ? origins[i] : "");
        assert_string_equal(hone_node_origin(g, top.nodes[0], 6), "");
        optimized_free(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_choose_passes),
                                       cmocka_unit_test(passes_are_named_or_left_out),
                                       cmocka_unit_test(strange_names_are_refused),
                                       cmocka_unit_test(the_table_of_passes_is_sound),
                                       cmocka_unit_test(rewrites_can_be_counted_off),
                                       cmocka_unit_test(constants_do_not_grow_for_ever),
                                       cmocka_unit_test(the_opset_rises_where_it_may),
                                       cmocka_unit_test(an_opset_that_cannot_be_is_refused),
                                       cmocka_unit_test(a_caller_may_watch_and_stop),
                                       cmocka_unit_test(the_report_adds_up),
                                       cmocka_unit_test(the_report_is_written_as_json),
                                       cmocka_unit_test(given_inputs_are_used),
                                       cmocka_unit_test(what_cannot_run_cannot_be_verified),
                                       cmocka_unit_test(strange_options_are_refused),
                                       cmocka_unit_test(functions_are_inlined_and_ports_kept),
                                       cmocka_unit_test(new_nodes_know_what_they_replace)};
    return cmocka_run_group_tests_name("optimizer", tests, enter_scratch, leave_scratch);
}
