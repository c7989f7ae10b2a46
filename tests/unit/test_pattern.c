/* Patterns: matches, captures, near misses, and invalid syntax. */
#include "model_text.h"
#include "pass/engine/pattern.h"

typedef struct place {
    hn_model *m;
    hn_pass pass;
    hn_rule_row row;
    hn_rule rule;
    hn_match match;
    hn_strbuf why;
} place;

/* A rule about to be tried at the node that makes `root`. */
static void open_place(place *p, const char *text, const char *root) {
    hone_error err = {0};
    *p = (place){.m = model_from(text)};
    p->pass.model = p->m;
    p->pass.g = p->m->graph;
    p->pass.scratch = hn_arena_new(NULL);
    p->pass.rule_scratch = hn_arena_new(NULL);
    assert_int_equal(hn_facts_new(p->m, NULL, &p->pass.facts, &err), HONE_OK);
    p->rule = (hn_rule){.pass = &p->pass, .row = &p->row, .g = p->m->graph, .match = &p->match};
    p->rule.root = producer_of(p->m->graph, root);
    hn_strbuf_init(&p->why, NULL);
}

static void close_place(place *p) {
    hn_strbuf_free(&p->why);
    hn_facts_free(p->pass.facts);
    hn_arena_free(p->pass.scratch);
    hn_arena_free(p->pass.rule_scratch);
    hn_model_free(p->m);
}

static bool matches(place *p, const char *pattern) {
    hone_error err = {0};
    hn_pattern *parsed;
    if (hn_pattern_parse(p->pass.scratch, pattern, &parsed, &err) != HONE_OK)
        fail_msg("%s", err.message);
    hn_strbuf_free(&p->why);
    hn_strbuf_init(&p->why, NULL);
    return hn_pattern_match(parsed, &p->rule, &p->match, &p->why);
}

static void expect_match(place *p, const char *pattern) {
    if (!matches(p, pattern))
        fail_msg("'%s' does not match: %s", pattern, p->why.n > 0 ? p->why.at : "no reason");
}

static void expect_no_match(place *p, const char *pattern) {
    if (matches(p, pattern))
        fail_msg("'%s' matches", pattern);
}

static void expect_near_miss(place *p, const char *pattern, const char *why) {
    expect_no_match(p, pattern);
    assert_string_equal(p->why.n > 0 ? p->why.at : "", why);
}

static void expect_cap(const place *p, const char *name, const char *value) {
    hn_id id = hn_cap(&p->rule, name);
    assert_string_equal(id == HN_NONE ? "-" : hn_s(hn_value_at(p->m->graph, id)->name), value);
}

#define GELU                                                                            \
  TEXT_HEAD "g (float[2] x) => (float[2] y)"                                            \
            "<float half = {0.5}, float one = {1}, float root = {1.41421}> {"           \
            "[d] d = Div(x, root) [e] e = Erf(d) [s] s = Add(one, e) [m] m = Mul(x, s)" \
            "[y] y = Mul(half, m) }"

static void test_nested_terms_and_captures(void **state) {
    (void)state;
    place p;
    open_place(&p, GELU, "y");
    expect_match(&p, "Mul(Mul(v, Add(Erf(Div(v, #c)):erf, 1)), 0.5)");
    expect_cap(&p, "v", "x");
    expect_cap(&p, "c", "root");
    expect_cap(&p, "erf", "e");
    expect_cap(&p, "nobody", "-");
    assert_int_equal(hn_cap_node(&p.rule, "erf"), producer_of(p.m->graph, "e"));
    assert_int_equal(hn_cap_node(&p.rule, "v"), HN_NONE);
    expect_match(&p, "Mul(0.5, Mul(Add(1, Erf(_)), _))");
    expect_match(&p, "Add|Mul(Mul, _)");
    expect_match(&p, "Mul(#h, Mul(a, b))");
    expect_cap(&p, "a", "x");
    expect_no_match(&p, "Mul(Mul(v, Add(Erf(Div(v, 2)), 1)), 0.5)");
    expect_no_match(&p, "Mul(x, x)");
    expect_no_match(&p, "Mul(x)");
    expect_no_match(&p, "ms.Mul(x, y)");
    expect_no_match(&p, "Relu(x)");
    close_place(&p);
}

/* The order that fits the first term may be wrong for a later one. */
static void test_goes_back(void **state) {
    (void)state;
    place p;
    open_place(&p,
               TEXT_HEAD "g (float[2] x) => (float[2] y) {"
                         "a = Abs(x) b = Neg(x) s = Add(a, b) t = Sub(b, a) y = Mul(s, t) }",
               "y");
    expect_match(&p, "Mul(Add(u, v), Sub(u, v))");
    expect_cap(&p, "u", "b");
    expect_cap(&p, "v", "a");
    p.row.allow_shared = true;
    expect_match(&p, "Mul(Sub(Neg(u), Abs(u)), Add(Abs(u), Neg(u)))");
    close_place(&p);
}

static void test_optional_terms(void **state) {
    (void)state;
    place p;
    open_place(&p,
               TEXT_HEAD "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,2] y) {"
                         "c = Conv(x, w) n = Neg(c) y = Relu(n) }",
               "y");
    expect_match(&p, "Relu(Cast?(Neg(Cast?(c):cast)))");
    expect_cap(&p, "c", "c");
    expect_cap(&p, "cast", "-");
    expect_match(&p, "Relu(Neg?(v):neg)");
    expect_cap(&p, "v", "c");
    expect_cap(&p, "neg", "n");
    expect_match(&p, "Relu(Neg(Conv(x, w, b?)))");
    expect_cap(&p, "w", "w");
    expect_cap(&p, "b", "-");
    expect_match(&p, "Relu(Neg(Conv(x, w, #b?)))");
    expect_match(&p, "Relu(Neg(Conv(x, w, _)))");
    expect_match(&p, "Relu(Neg(Conv(x, ...)))");
    expect_no_match(&p, "Relu(Neg(Conv(x, w, b)))");
    expect_no_match(&p, "Relu(Neg(Conv(x)))");
    close_place(&p);
}

static void test_alternatives(void **state) {
    (void)state;
    place p;
    open_place(&p, GELU, "y");
    expect_match(&p, "Mul|Div({Mul(v, {Relu(_) | Add(Erf({Mul(v, #c) | Div(v, #c)}), 1)})}, #h)");
    expect_cap(&p, "v", "x");
    expect_cap(&p, "c", "root");
    expect_no_match(&p, "Mul(Mul(v, {Relu(_) | Add(Erf({Mul(v, #c)}), 1)}), #h)");
    expect_near_miss(&p, "Mul(Mul(v, Add({Tanh(_) | Sin(_)}, 1)), 0.5)",
                     "'e' comes from node 'e' (Erf) where Tanh(_) was expected");
    close_place(&p);
}

static void test_attributes(void **state) {
    (void)state;
    place p;
    open_place(&p,
               TEXT_HEAD "g (float[2,3,4,5] x) => (float[2,4,3,5] y) {"
                         "s = Softmax(x) l = LeakyRelu<alpha=0.25>(s) "
                         "t = Transpose<perm=[0,2,1,3]>(l) y = Gelu<approximate=\"tanh\">(t) }",
               "y");
    expect_match(&p, "Gelu[approximate=tanh](Transpose[perm=0,2,1,3](LeakyRelu[alpha=0.25]("
                     "Softmax[axis=-1](x))))");
    expect_no_match(&p, "Gelu[approximate=none]");
    expect_no_match(&p, "Gelu(Transpose[perm=0,2,1])");
    expect_no_match(&p, "Gelu(Transpose[perm=0, 1, 2, 3])");
    expect_no_match(&p, "Gelu(Transpose(LeakyRelu[alpha=0.5]))");
    expect_no_match(&p, "Gelu[unheard=1]");
    expect_near_miss(&p,
                     "Gelu(Transpose[perm=0, 2, 1, 3](LeakyRelu[alpha=0.25](Softmax[axis=1](x))))",
                     "node #0 (Softmax) has another axis than 1");
    close_place(&p);
}

#define SHARED(outputs, more)                   \
  TEXT_HEAD "g (float[2] x) => (" outputs ") {" \
            "[a] a = Abs(x) [e] e = Exp(a) [n] n = Neg(e) [y] y = Relu(n)" more "}"
#define CHAIN "Relu(Neg(Exp(Abs(x))))"

static void test_other_readers(void **state) {
    (void)state;
    place p;
    open_place(&p, SHARED("float[2] y", ""), "y");
    expect_match(&p, CHAIN);
    close_place(&p);

    open_place(&p, SHARED("float[2] y, float[2] z", "[z] z = Abs(e)"), "y");
    expect_near_miss(&p, CHAIN, "'e' is also read by node 'z' (Abs)");
    p.row.allow_shared = true;
    expect_match(&p, CHAIN);
    close_place(&p);

    open_place(&p, SHARED("float[2] y, float[2] n", ""), "y");
    expect_near_miss(&p, CHAIN, "'n' is an output of the graph");
    close_place(&p);
}

/* A value of the outer graph is computed once, what reads it in a loop many times. */
static void test_other_blocks(void **state) {
    (void)state;
    place p;
    open_place(&p,
               TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { s = Sigmoid(x) "
                         "y = If(c) <then_branch = t () => (float[2] a) { a = Mul(x, s) }, "
                         "else_branch = f () => (float[2] b) { b = Abs(x) }> }",
               "y");
    const hn_graph *g = p.m->graph;
    for (hn_id id = 0; id < g->nodes.n; id++)
        if (hn_str_is(hn_node_at(g, id)->op, "Mul"))
            p.rule.root = id;
    expect_no_match(&p, "Mul(x, Sigmoid(x))");
    p.row.allow_shared = true;
    expect_match(&p, "Mul(x, Sigmoid(x))");
    close_place(&p);
}

static void test_near_misses(void **state) {
    (void)state;
    place p;
    open_place(&p, GELU, "y");
    expect_near_miss(&p, "Mul(Mul(v, Add(Erf(Div(v, #c)), 1)), 0.25)", "'half' is 0.5, not 0.25");
    expect_near_miss(&p, "Mul(Mul(v, Add(Tanh(_), 1)), 0.5)",
                     "'e' comes from node 'e' (Erf) where Tanh(_) was expected");
    expect_near_miss(&p, "Mul(Mul(#v, Add(Erf(Div(_, #c)), 1)), 0.5)", "'x' is not constant");
    expect_near_miss(&p, "Mul(Mul(v, Add(Erf(Div(w, v)), 1)), 0.5)",
                     "'root' stands where 'x' was expected");
    expect_near_miss(&p, "Mul(Mul(v, Add(Erf(Div(Relu(v), #c)), 1)), 0.5)",
                     "'x' stands where Relu(v) was expected");
    /* Too much is missing, or there was not enough to miss. */
    expect_near_miss(&p, "Mul(Mul(v, Add(Tanh(Pow(v, 3)), 1)), 0.25)", "");
    expect_near_miss(&p, "Mul(Mul(v, w), 0.25)", "");
    close_place(&p);
}

/* Sums of sums have more orders than anybody tries. */
static void test_search_ends(void **state) {
    (void)state;
    hn_strbuf text, pattern;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_init(&pattern, NULL);
    hn_strbuf_puts(&text, TEXT_HEAD "g (float[2] v0) => (float[2] v30) {");
    for (int i = 0; i < 30; i++) {
        hn_strbuf_printf(&text, "v%d = Add(v%d, v%d)", i + 1, i, i);
        hn_strbuf_puts(&pattern, "Add(_, ");
    }
    hn_strbuf_puts(&text, "}");
    hn_strbuf_puts(&pattern, "Relu(x)");
    for (int i = 0; i < 30; i++)
        hn_strbuf_puts(&pattern, ")");
    place p;
    open_place(&p, text.at, "v30");
    expect_no_match(&p, pattern.at);
    close_place(&p);
    hn_strbuf_free(&text);
    hn_strbuf_free(&pattern);
}

static void expect_refused(const char *text, const char *message) {
    hone_error err = {0};
    hn_pattern *p;
    hn_arena *arena = hn_arena_new(NULL);
    assert_int_not_equal(hn_pattern_parse(arena, text, &p, &err), HONE_OK);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    hn_arena_free(arena);
}

static void expect_refused_repeat(const char *begin, const char *part, int n, const char *message) {
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_puts(&text, begin);
    for (int i = 0; i < n; i++)
        hn_strbuf_puts(&text, part);
    expect_refused(text.at, message);
    hn_strbuf_free(&text);
}

static void test_refused_texts(void **state) {
    (void)state;
    expect_refused("", "position 1: expected a name");
    expect_refused("x", "begins with an operator");
    expect_refused("Relu?(x)", "begins with an operator");
    expect_refused("Add(x", "position 6: expected ',' or ')'");
    expect_refused("Add(x,)", "position 7: expected a name");
    expect_refused("Add(x) y", "position 8: expected the end");
    expect_refused("Add(x, Cast?)", "needs an input to stand");
    expect_refused("Add|(x)", "position 5: expected an operator");
    expect_refused("Add({x | 1, y)", "position 11: expected '|' or '}'");
    expect_refused("{Add(x) | Mul(x)}", "begins with an operator");
    expect_refused("Add[=1](x)", "position 5: expected the name of an attribute");
    expect_refused("Add[a 1](x)", "position 6: expected '='");
    expect_refused("Add[a=](x)", "position 7: expected a number or a word");
    expect_refused("Add[a=1(x)", "expected ',' or ']'");
    expect_refused("Add(x, 1e)", "no digits");
    expect_refused("Add(x, 1e999)", "too large");
    expect_refused("Add(x, y):Sum", "begins with a small letter");
    expect_refused_repeat("", "Relu(", 100, "too large");
    expect_refused_repeat("Add(x", ", x", 20, "too many inputs");
    expect_refused_repeat("Add(Concat(_, ...)", " ", 5000, "bytes");
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        counting_allocator c;
        counting_init(&c, fail_at);
        hn_arena *arena = hn_arena_new(&c.hook);
        hn_pattern *p = NULL;
        hone_error err = {0};
        hone_status status =
            arena
                ? hn_pattern_parse(arena, "Add[a=1,2, b=x](Cast?(#c):n, Mul|Div(x, ...))", &p, &err)
                : HONE_E_NOMEM;
        hn_arena_free(arena);
        assert_true(counting_is_clean(&c));
        if (status == HONE_OK)
            break;
        assert_int_equal(status, HONE_E_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_terms_and_captures),
        cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_optional_terms),
        cmocka_unit_test(test_alternatives),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_other_readers),
        cmocka_unit_test(test_other_blocks),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_search_ends),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
