/* The public API: editing. After every edit the model is valid and survives saving and loading. */
#include "api_model.h"

/* Sound, and the same after a way through bytes. */
static void expect_sound(hone_model *model) {
    void *bytes;
    size_t n;
    hone_model *back;
    assert_int_equal(count_problems(model), 0);
    expect_ok(hone_model_save_buffer(model, &bytes, &n, &error));
    expect_ok(hone_model_load_buffer(bytes, n, NULL, &back, &error));
    expect_same_model(model, back);
    hone_model_free(back);
    hone_buffer_free(model, bytes, n);
}

static void expect_node_counts(const hone_model *model, uint32_t main_nodes, uint32_t functions) {
    hone_subgraph_info top;
    hone_model_info info;
    hone_graph_get_subgraph(hone_model_graph(model), 0, &top);
    hone_model_get_info(model, &info);
    assert_int_equal(top.n_nodes, main_nodes);
    assert_int_equal(info.n_functions, functions);
}

/* ---- extract --------------------------------------------------------------------------------- */

static void a_part_is_cut_out(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    const char *from = "stem.relu.out", *to = "pool.out";
    hone_subgraph_info top;
    expect_ok(hone_model_extract(model, 1, &from, 1, &to, &error));
    hone_graph_get_subgraph(hone_model_graph(model), 0, &top);
    assert_true(top.n_inputs == 1 && top.n_outputs == 1 && top.n_nodes == 8);
    expect_type(model, from, "float[batch,32,8,8]"); /* an input needs a type: inferred */
    expect_sound(model);
    hone_model_free(model);
}

static void functions_that_lost_their_callers_go(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const char *from[] = {"c", "flag", "trips"}, *to = "y";
    expect_ok(hone_model_extract(model, 3, from, 1, &to, &error));
    expect_node_counts(model, 1, 0);
    expect_sound(model);
    hone_model_free(model);
}

static void what_cannot_be_cut_is_said(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    hone_model *before = model_from(BRANCHES);
    const char *x = "x", *c = "c", *none = "nowhere", *null = NULL;
    const char *both[] = {"x", "x"};
    expect_failure(hone_model_extract(model, 1, &none, 1, &c, &error), HONE_E_NOT_FOUND, "nowhere");
    expect_failure(hone_model_extract(model, 1, &x, 1, &none, &error), HONE_E_NOT_FOUND, "nowhere");
    expect_failure(hone_model_extract(model, 1, &x, 1, &c, &error), HONE_E_INVALID, "'flag'");
    expect_failure(hone_model_extract(model, 2, both, 1, &c, &error), HONE_E_ARGUMENT, "twice");
    expect_failure(hone_model_extract(model, 1, &x, 0, NULL, &error), HONE_E_ARGUMENT, "output");
    expect_failure(hone_model_extract(model, 1, &null, 1, &c, &error), HONE_E_ARGUMENT, "NULL");
    expect_failure(hone_model_extract(model, 1, NULL, 1, &c, &error), HONE_E_ARGUMENT, "NULL");
    expect_same_model(model, before); /* nothing of it was done */
    hone_model_free(before);
    hone_model_free(model);
}

/* ---- rename ---------------------------------------------------------------------------------- */

static void any_value_is_renamed(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    static const char *const pairs[][2] = {
        {"x", "image"}, {"y", "out"}, {"c", "picked"}, {"w", "bias"}, {"next", "inner"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        uint32_t id = value_named(model, pairs[i][0]);
        expect_ok(hone_model_rename(model, pairs[i][0], pairs[i][1], &error));
        assert_int_equal(hone_graph_find_value(graph, pairs[i][0]), HONE_NONE);
        assert_int_equal(value_named(model, pairs[i][1]), id);
    }
    expect_sound(model);
    hone_model_free(model);
}

static void bad_names_are_refused(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    hone_model *before = model_from(BRANCHES);
    expect_failure(hone_model_rename(model, "nowhere", "z", &error), HONE_E_NOT_FOUND, "nowhere");
    expect_failure(hone_model_rename(model, "x", "y", &error), HONE_E_ARGUMENT, "taken");
    expect_failure(hone_model_rename(model, "x", "carried", &error), HONE_E_ARGUMENT, "taken");
    expect_failure(hone_model_rename(model, "x", "", &error), HONE_E_ARGUMENT, "empty");
    expect_failure(hone_model_rename(model, NULL, "z", &error), HONE_E_ARGUMENT, "'from'");
    expect_failure(hone_model_rename(model, "x", NULL, &error), HONE_E_ARGUMENT, "'to'");
    expect_ok(hone_model_rename(model, "x", "x", &error));
    expect_same_model(model, before);
    hone_model_free(before);
    hone_model_free(model);
}

/* ---- strip ----------------------------------------------------------------------------------- */

#define COMMENTED                                                                             \
  "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1, \"spare\" : 1], doc_string: \"m\"," \
  " metadata_props: [\"k\": \"v\"]>\n"                                                        \
  "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] unread = {3, 4},"         \
  " float[2] a> {\n"                                                                          \
  "  #hone graph doc_string: \"a graph\", metadata_props: [\"a\": \"b\"]\n"                   \
  "  #hone value x doc_string: \"an input\"\n"                                                \
  "  #hone initializer w doc_string: \"weights\"\n"                                           \
  "  [first] a = Add (x, w)\n"                                                                \
  "  #hone node doc_string: \"adds\", metadata_props: [\"n\": \"1\"]\n"                       \
  "  [idle] z = Neg (a)\n"                                                                    \
  "  [last] y = my.used (a)\n"                                                                \
  "}\n"                                                                                       \
  "<domain: \"my\", opset_import: [\"\" : 21], doc_string: \"f\">\n"                          \
  "used (p) => (q) { [one] inner = Relu (p) [idle] no = Neg (p) [two] q = Neg (inner) }\n"    \
  "<domain: \"spare\", opset_import: [\"\" : 21]>\n"                                          \
  "unused (p) => (q) { q = Relu (p) }\n"

static hone_model *stripped(unsigned what) {
    hone_model *model = model_from(COMMENTED);
    expect_ok(hone_model_strip(model, what, &error));
    expect_sound(model);
    return model;
}

static void expect_text(const hone_model *model, const char *phrase, bool wanted) {
    char *text = printed(model);
    if ((strstr(text, phrase) != NULL) != wanted)
        fail_msg("%s '%s' in:\n%s", wanted ? "no" : "still", phrase, text);
    free(text);
}

static void docs_and_metadata_go(void **state) {
    (void)state;
    hone_model *model = stripped(HONE_STRIP_DOCS);
    expect_text(model, "doc_string", false);
    expect_text(model, "metadata_props", true);
    hone_model_free(model);
    model = stripped(HONE_STRIP_METADATA);
    expect_text(model, "doc_string", true);
    expect_text(model, "metadata_props", false);
    hone_model_free(model);
}

static void names_go(void **state) {
    (void)state;
    hone_model *model = stripped(HONE_STRIP_NODE_NAMES);
    expect_text(model, "[first]", false);
    expect_text(model, "[one]", false);
    hone_model_free(model);
    model = stripped(HONE_STRIP_VALUE_NAMES);
    assert_int_equal(hone_graph_find_value(hone_model_graph(model), "w"), HONE_NONE);
    value_named(model, "x"); /* the interface keeps its names */
    value_named(model, "y");
    expect_text(model, "inner", false);
    expect_text(model, "(p) => (q)", true);
    hone_model_free(model);
}

static void stored_types_go(void **state) {
    (void)state;
    hone_model *model = stripped(HONE_STRIP_VALUE_INFO);
    hone_value_info a;
    hone_graph_get_value(hone_model_graph(model), value_named(model, "a"), &a);
    assert_false(a.is_declared);
    hone_model_free(model);
}

static void what_nobody_reads_goes(void **state) {
    (void)state;
    hone_model *model = stripped(HONE_STRIP_UNUSED);
    hone_model_info info;
    hone_model_get_info(model, &info);
    expect_node_counts(model, 2, 1);
    assert_int_equal(info.n_opsets, 2); /* nobody needs "spare" any more */
    expect_text(model, "unread", false);
    expect_text(model, "idle", false);
    hone_model_free(model);
    hone_model *all = stripped(~0u);
    expect_text(all, "doc_string", false);
    hone_model_free(all);
}

static void nothing_goes_unasked(void **state) {
    (void)state;
    hone_model *model = stripped(0), *before = model_from(COMMENTED);
    expect_same_model(model, before);
    hone_model_free(before);
    hone_model_free(model);
}

/* ---- functions, shapes ----------------------------------------------------------------------- */

static void functions_are_inlined(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    expect_ok(hone_model_inline_functions(model, &error));
    expect_node_counts(model, 3, 0);
    assert_string_equal(producer_of(model, "e").op, "Mul");
    expect_sound(model);
    hone_model_free(model);
}

static void shapes_are_stored(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES), *back;
    void *bytes;
    size_t n;
    expect_ok(hone_model_store_shapes(model, &error));
    expect_sound(model);
    expect_ok(hone_model_save_buffer(model, &bytes, &n, &error));
    expect_ok(hone_model_load_buffer(bytes, n, NULL, &back, &error));
    expect_type(back, "c", "float[batch,3]"); /* without inference */
    expect_ok(hone_model_store_shapes(back, &error));
    expect_same_model(model, back); /* twice is once */
    hone_buffer_free(model, bytes, n);
    hone_model_free(back);
    hone_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_cut_out),
        cmocka_unit_test(functions_that_lost_their_callers_go),
        cmocka_unit_test(what_cannot_be_cut_is_said),
        cmocka_unit_test(any_value_is_renamed),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(docs_and_metadata_go),
        cmocka_unit_test(names_go),
        cmocka_unit_test(stored_types_go),
        cmocka_unit_test(what_nobody_reads_goes),
        cmocka_unit_test(nothing_goes_unasked),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(shapes_are_stored),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
