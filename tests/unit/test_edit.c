/* Whole-graph edits: dead code, order, inlining, extraction. */
#include "model_text.h"

static void expect_edit(hone_status (*edit)(hn_model *, hone_error *), const char *before,
                        const char *after) {
    hn_model *m = model_from(before), *expected = model_from(after);
    hone_error err = {0};
    if (edit(m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    expect_sound(m);
    expect_same_text(m, expected);
    hn_model_free(m);
    hn_model_free(expected);
}

static void expect_refused(hone_status (*edit)(hn_model *, hone_error *), const char *text,
                           hone_status code, const char *message_part) {
    hn_model *m = model_from(text);
    hone_error err = {0};
    assert_int_equal(edit(m, &err), code);
    if (!strstr(err.message, message_part))
        fail_msg("'%s' does not say '%s'", err.message, message_part);
    hn_model_free(m);
}

/* ---- dead code ------------------------------------------------------------------------------- */

static hone_status edit_dead(hn_model *m, hone_error *err) {
    (void)err;
    hn_graph_remove_dead(m->graph, true);
    return HONE_OK;
}

static void test_dead(void **state) {
    (void)state;
    expect_edit(
        edit_dead,
        TEXT_HEAD "g (float[2] x, float[2] u, bool c) => (float[2] y) <float[2] k = {1, 2}, "
                  "float[2] w = {3, 4}> { d1 = Abs(x) d2 = Add(d1, k) a = Add(x, w) z = Neg(a) "
                  "d3 = If(c) <then_branch = t () => (float[2] r) { r = Neg(d2) }, "
                  "else_branch = e () => (float[2] s) { s = Mul(a, x) }> "
                  "y = If(c) <then_branch = t2 () => (float[2] r2) { q = Abs(x) r2 = Neg(z) }, "
                  "else_branch = e2 () => (float[2] s2) { s2 = Mul(a, x) }> }",
        TEXT_HEAD "g (float[2] x, float[2] u, bool c) => (float[2] y) <float[2] w = {3, 4}> "
                  "{ a = Add(x, w) z = Neg(a) "
                  "y = If(c) <then_branch = t2 () => (float[2] r2) { r2 = Neg(z) }, "
                  "else_branch = e2 () => (float[2] s2) { s2 = Mul(a, x) }> }");
}

/* One value with very many dead readers: quadratic removal would take minutes. */
static void test_dead_is_linear(void **state) {
    (void)state;
    hn_model *m = model_from(TEXT_HEAD "g (float[2] x) => (float[2] y) { y = Relu(x) }");
    hn_graph *g = m->graph;
    hn_str op = hn_intern_z(m->names, "Abs");
    hn_id x = value_named(g, "x");
    const uint32_t n_dead = 300000;
    for (uint32_t i = 0; i < n_dead; i++) {
        hn_id node = hn_graph_add_node(g, 0, NULL, op, NULL, 1, 0, 0, NULL);
        assert_true(hn_graph_set_input(g, node, 0, x));
    }
    assert_int_equal(hn_graph_remove_dead(g, true), n_dead);
    assert_int_equal(hn_value_at(g, x)->uses.n, 1);
    expect_sound(m);
    hn_model_free(m);
}

/* ---- order ----------------------------------------------------------------------------------- */

static hone_status edit_sort(hn_model *m, hone_error *err) {
    return hn_graph_sort(m->graph, err);
}

static void swap_nodes(hn_graph *g, uint32_t i, uint32_t j) {
    hn_id *nodes = hn_block_at(g, 0)->nodes.at, kept = nodes[i];
    nodes[i] = nodes[j];
    nodes[j] = kept;
}

static void test_sort(void **state) {
    (void)state;
    const char *text =
        TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { a = Abs(x) b = Neg(x) "
                  "q = If(c) <then_branch = t () => (float[2] r) { r = Neg(a) }, "
                  "else_branch = e () => (float[2] s) { s = Mul(b, x) }> y = Relu(q) }";
    hn_model *m = model_from(text), *expected = model_from(text);
    hone_error err = {0};
    assert_int_equal(edit_sort(m, &err), HONE_OK); /* in order already: nothing moves */
    expect_same_text(m, expected);
    swap_nodes(m->graph, 0, 3); /* Relu Neg If Abs */
    assert_int_equal(edit_sort(m, &err), HONE_OK);
    expect_ops(m->graph, 0, "Neg Abs If Relu ");
    expect_sound(m);
    hn_model_free(m);
    hn_model_free(expected);
}

static void test_sort_names_the_cycle(void **state) {
    (void)state;
    hn_model *m = model_from(TEXT_HEAD "g (float[2] x) => (float[2] y) { a = Abs(x) b = Neg(a) "
                                       "d = Relu(b) y = Exp(d) }");
    hn_graph *g = m->graph;
    hone_error err = {0};
    assert_true(hn_graph_set_input(g, producer_of(g, "a"), 0, value_named(g, "d")));
    assert_int_equal(edit_sort(m, &err), HONE_E_INVALID);
    assert_non_null(strstr(err.message, "cycle of 3 nodes"));
    assert_non_null(strstr(err.message, "(Neg)"));
    assert_null(strstr(err.message, "(Exp)"));
    hn_model_free(m);
}

/* ---- inlining -------------------------------------------------------------------------------- */

#define MY_DOMAIN "<domain: \"my\", opset_import: [\"\" : 21, \"my\" : 1]> "
#define INLINED_HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

/* As if every version were another operator. */
static bool never_same(const hn_model *m, hn_str domain, hn_str op, int64_t a, int64_t b) {
    (void)m, (void)domain, (void)op, (void)a, (void)b;
    return false;
}

static hone_status edit_inline(hn_model *m, hone_error *err) {
    return hn_model_inline(m, never_same, err);
}

static void test_inline(void **state) {
    (void)state;
    expect_edit(
        edit_inline,
        TEXT_HEAD
        "g (float[2] x, bool c) => (float[2] y) { t = my.F<alpha = 0.5>(x) "
        "y = If(c) <then_branch = tb () => (float[2] a) { a = my.F(t) }, "
        "else_branch = eb () => (float[2] b) { b = Identity(t) }> }\n" MY_DOMAIN
        "F <alpha> (a) => (b) { h = my.G(a) b = LeakyRelu<alpha: float = @alpha>(h) }\n" MY_DOMAIN
        "G (a) => (b) { b = Relu(a) }",
        INLINED_HEAD "g (float[2] x, bool c) => (float[2] y) { \"F/h\" = Relu(x) "
                     "t = LeakyRelu<alpha: float = 0.5>(\"F/h\") "
                     "y = If(c) <then_branch = tb () => (float[2] a) { \"F/h_1\" = Relu(t) "
                     "a = LeakyRelu(\"F/h_1\") }, "
                     "else_branch = eb () => (float[2] b) { b = Identity(t) }> }");
}

static void test_inline_defaults_and_subgraphs(void **state) {
    (void)state;
    expect_edit(
        edit_inline,
        TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { y = my.F(x, c) }\n" MY_DOMAIN
                  "F <alpha: float = 0.25> (a, k) => (b) { b = If(k) <then_branch = t () => "
                  "(float[2] r) { r = LeakyRelu<alpha: float = @alpha>(a) }, "
                  "else_branch = e () => (float[2] s) { s = Neg(a) }> }",
        INLINED_HEAD "g (float[2] x, bool c) => (float[2] y) { y = If(c) <then_branch = t () => "
                     "(float[2] \"F/r\") { \"F/r\" = LeakyRelu<alpha: float = 0.25>(x) }, "
                     "else_branch = e () => (float[2] \"F/s\") { \"F/s\" = Neg(x) }> }");
}

static void test_inline_passes_values_through(void **state) {
    (void)state;
    expect_edit(
        edit_inline,
        TEXT_HEAD "g (float[2] x) => (float[2] y, float[2] z) { y, z = my.F(x) }\n" MY_DOMAIN
                  "F (a, unused) => (b, a) { b = Relu(a) }",
        INLINED_HEAD "g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Identity(x) }");
}

/* A subgraph that the call hands over is used twice: each reader has its own copy. */
static void test_inline_subgraph_arguments(void **state) {
    (void)state;
    expect_edit(
        edit_inline,
        TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { z = Abs(x) "
                  "y = my.F<body = t () => (float[2] r) { q = Neg(z) r = Exp(q) }>(c) }\n" MY_DOMAIN
                  "F <body> (k) => (b) { b = If(k) <then_branch: graph = @body, "
                  "else_branch: graph = @body> }",
        INLINED_HEAD "g (float[2] x, bool c) => (float[2] y) { z = Abs(x) "
                     "y = If(c) <then_branch = t () => (float[2] \"F/r\") { \"F/q\" = Neg(z) "
                     "\"F/r\" = Exp(\"F/q\") }, else_branch = t () => (float[2] \"F/r_2\") "
                     "{ \"F/q_1\" = Neg(z) \"F/r_2\" = Exp(\"F/q_1\") }> }");
}

static void test_inline_refuses(void **state) {
    (void)state;
    expect_refused(edit_inline,
                   TEXT_HEAD "g (float[2] x) => (float[2] y) { y = my.F(x) }\n" MY_DOMAIN
                             "F (a) => (b) { b = my.G(a) }\n" MY_DOMAIN
                             "G (a) => (b) { b = my.F(a) }",
                   HONE_E_INVALID, "F -> G -> F");
    expect_refused(edit_inline,
                   TEXT_HEAD
                   "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                   "<domain: \"my\", opset_import: [\"\" : 13]> F (a) => (b) { b = Relu(a) }",
                   HONE_E_UNSUPPORTED,
                   "version 13 of operator set 'ai.onnx' and the model imports version 21, "
                   "between which Relu changed");
    expect_refused(edit_inline,
                   TEXT_HEAD "g (float[2] x) => (float[2] y) { y = my.F(x, x) }\n" MY_DOMAIN
                             "F (a) => (b) { b = Relu(a) }",
                   HONE_E_INVALID, "with 2 inputs");
}

/* Thirty functions that each call the next one twice: a thousand million nodes. */
static void test_inline_limits_growth(void **state) {
    (void)state;
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_puts(&text, TEXT_HEAD "g (float[2] x) => (float[2] y) { y = my.F0(x) }\n");
    for (int i = 0; i < 30; i++)
        hn_strbuf_printf(&text, MY_DOMAIN "F%d (a) => (b) { h = my.F%d(a) b = my.F%d(h) }\n", i,
                         i + 1, i + 1);
    hn_strbuf_puts(&text, MY_DOMAIN "F30 (a) => (b) { b = Relu(a) }");
    hn_model *m = model_from(text.at);
    hn_arena_set_limit(m->arena, (size_t)64 << 20);
    assert_int_equal(hn_model_inline(m, never_same, NULL), HONE_E_LIMIT);
    hn_model_free(m);
    hn_strbuf_free(&text);
}

/* ---- extraction ------------------------------------------------------------------------------ */

#define CHAIN                                                                              \
  TEXT_HEAD                                                                                \
  "g (float[2] x, float[2] u) => (float[2] y) <float[2] w = {1, 2}, float[2] k = {3, 4}> " \
  "{ a = Add(x, w) b = Mul(a, u) d = Add(b, k) y = my.F(d) }\n"                            \
  "<domain: \"my\", opset_import: [\"\" : 21]> F (a) => (b) { b = Relu(a) }"

static hone_status extract_between(hn_model *m, const char *in, const char *out, hone_error *err) {
    hn_str input = hn_intern_z(m->names, in), output = hn_intern_z(m->names, out);
    return hn_graph_extract(m->graph, 1, &input, 1, &output, err);
}

static hone_status edit_extract(hn_model *m, hone_error *err) {
    hn_value_at(m->graph, value_named(m->graph, "b"))->type =
        hn_value_at(m->graph, value_named(m->graph, "x"))->type;
    hn_value_at(m->graph, value_named(m->graph, "d"))->type =
        hn_value_at(m->graph, value_named(m->graph, "x"))->type;
    return extract_between(m, "b", "d", err);
}

static hone_status edit_extract_too_little(hn_model *m, hone_error *err) {
    return extract_between(m, "x", "y", err);
}

static hone_status edit_extract_missing(hn_model *m, hone_error *err) {
    return extract_between(m, "x", "yy", err);
}

static void test_extract(void **state) {
    (void)state;
    expect_edit(edit_extract, CHAIN,
                INLINED_HEAD
                "g (float[2] b) => (float[2] d) <float[2] k = {3, 4}> { d = Add(b, k) }");
    expect_refused(edit_extract_too_little, CHAIN, HONE_E_INVALID, "depends on graph input 'u'");
    expect_refused(edit_extract_missing, CHAIN, HONE_E_NOT_FOUND, "did you mean 'y'?");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static hone_status parse_and_edit(const hone_allocator *a) {
    const char *text =
        TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { t = my.F<alpha = 0.5>(x) z = Abs(x) "
                  "y = If(c) <then_branch = tb () => (float[2] a) { a = my.F(t) }, "
                  "else_branch = eb () => (float[2] b) { b = Identity(t) }> }\n" MY_DOMAIN
                  "F <alpha> (a) => (b) { h = Neg(a) b = LeakyRelu<alpha: float = @alpha>(h) }";
    hn_model *m = NULL;
    HN_TRY(hn_model_parse(text, strlen(text), a, &m, NULL));
    hn_problems p = {.arena = m->arena};
    hn_model_verify(m, &p);
    hone_status status = p.failed ? HONE_E_NOMEM : hn_model_inline(m, never_same, NULL);
    if (status == HONE_OK)
        status = hn_graph_sort(m->graph, NULL);
    if (status == HONE_OK) {
        hn_graph_remove_dead(m->graph, true);
        status = extract_between(m, "t", "t", NULL);
    }
    hn_model_free(m);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    counting_allocator c;
    size_t fail_at = 0;
    do {
        counting_init(&c, ++fail_at);
        hone_status status = parse_and_edit(&c.hook);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true(counting_is_clean(&c));
    } while (c.n_requests >= fail_at);
    assert_true(fail_at > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dead),
        cmocka_unit_test(test_dead_is_linear),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sort_names_the_cycle),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_inline_defaults_and_subgraphs),
        cmocka_unit_test(test_inline_passes_values_through),
        cmocka_unit_test(test_inline_subgraph_arguments),
        cmocka_unit_test(test_inline_refuses),
        cmocka_unit_test(test_inline_limits_growth),
        cmocka_unit_test(test_extract),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
