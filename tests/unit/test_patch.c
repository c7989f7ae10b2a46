/* Patches: what they change, what they reject, and that a failure leaves the graph unchanged. */
#include "model_text.h"

typedef struct fixture {
    hn_model *m;
    hn_graph *g;
    hn_arena *scratch;
    hn_patch *p;
} fixture;

static fixture start(const char *text) {
    fixture f = {.m = model_from(text), .scratch = hn_arena_new(NULL)};
    f.g = f.m->graph;
    f.p = hn_patch_new(f.scratch, f.g);
    assert_non_null(f.p);
    return f;
}

static void finish(fixture *f) {
    hn_arena_free(f->scratch);
    hn_model_free(f->m);
}

static void expect_applied(fixture *f, const char *after) {
    hone_error err = {0};
    if (hn_patch_apply(f->p, f->g, &err) != HONE_OK)
        fail_msg("%s", err.message);
    hn_graph_remove_dead(f->g, false);
    hn_model *expected = model_from(after);
    expect_sound(f->m);
    expect_same_text(f->m, expected);
    hn_model_free(expected);
    finish(f);
}

static void expect_refused(fixture *f, const char *text, const char *message_part) {
    hone_error err = {0};
    assert_int_equal(hn_patch_apply(f->p, f->g, &err), HONE_E_ARGUMENT);
    if (!strstr(err.message, message_part))
        fail_msg("'%s' does not say '%s'", err.message, message_part);
    hn_model *expected = model_from(text);
    expect_sound(f->m);
    expect_same_text(f->m, expected);
    hn_model_free(expected);
    finish(f);
}

static hn_id new_node(fixture *f, hn_id before, const char *op, hn_id input) {
    return hn_patch_node(f->p, before, NULL, hn_intern_z(f->m->names, op), NULL, 1, &input, 1, 0,
                         NULL);
}

#define TWO TEXT_HEAD "g (float[2] x) => (float[2] y) { a = Abs(x) y = Relu(a) }"

static void test_insert_between(void **state) {
    (void)state;
    fixture f = start(TWO);
    hn_id a = value_named(f.g, "a");
    hn_id node = new_node(&f, producer_of(f.g, "y"), "Neg", a);
    hn_patch_replace(f.p, a, hn_patch_output(f.p, node, 0)); /* the new node itself still reads a */
    expect_applied(&f, TEXT_HEAD
                   "g (float[2] x) => (float[2] y) { a = Abs(x) Neg_1 = Neg(a) y = Relu(Neg_1) }");
}

static void test_output_keeps_its_name(void **state) {
    (void)state;
    fixture f = start(TWO);
    hn_id node = new_node(&f, producer_of(f.g, "y"), "Exp", value_named(f.g, "a"));
    hn_patch_replace(f.p, value_named(f.g, "y"), hn_patch_output(f.p, node, 0));
    expect_applied(&f, TEXT_HEAD "g (float[2] x) => (float[2] y) { a = Abs(x) y = Exp(a) }");
}

static void test_output_from_old_value(void **state) {
    (void)state;
    fixture f = start(TWO);
    hn_patch_replace(f.p, value_named(f.g, "y"), value_named(f.g, "a"));
    expect_applied(&f, TEXT_HEAD "g (float[2] x) => (float[2] y) { y = Abs(x) }");
}

static void test_output_from_input_needs_identity(void **state) {
    (void)state;
    fixture f = start(TWO);
    hn_patch_replace(f.p, value_named(f.g, "y"), value_named(f.g, "x"));
    expect_applied(&f, TEXT_HEAD "g (float[2] x) => (float[2] y) { y = Identity(x) }");
}

static void test_two_outputs_become_one_value(void **state) {
    (void)state;
    fixture f =
        start(TEXT_HEAD "g (float[2] x) => (float[2] y, float[2] z) { y = Abs(x) z = Abs(x) }");
    hn_patch_replace(f.p, value_named(f.g, "z"), value_named(f.g, "y"));
    expect_applied(&f, TEXT_HEAD
                   "g (float[2] x) => (float[2] y, float[2] z) { y = Abs(x) z = Identity(y) }");
}

static void test_constant(void **state) {
    (void)state;
    fixture f =
        start(TEXT_HEAD "g (float[2] x) => (float[2] y) { a = Abs(x) b = Exp(a) y = Add(x, b) }");
    const int64_t dims[] = {2};
    const float data[] = {1, 2};
    const hn_tensor *t = hn_tensor_new(f.m->arena, HN_F32, 1, dims, data, false);
    hn_id k = hn_patch_const(f.p, 0, "k", t);
    hn_patch_replace(f.p, value_named(f.g, "b"), k);
    expect_applied(&f, TEXT_HEAD
                   "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { y = Add(x, k) }");
}

static void test_chain_and_set_input(void **state) {
    (void)state;
    fixture f =
        start(TEXT_HEAD
              "g (float[2] x) => (float[2] y) { a = Abs(x) b = Exp(a) d = Neg(b) y = Add(d, b) }");
    hn_id a = value_named(f.g, "a");
    hn_patch_replace(f.p, value_named(f.g, "d"), value_named(f.g, "b"));
    hn_patch_replace(f.p, value_named(f.g, "b"), a);
    hn_patch_set_input(f.p, producer_of(f.g, "y"), 1, value_named(f.g, "x"));
    expect_applied(&f, TEXT_HEAD "g (float[2] x) => (float[2] y) { a = Abs(x) y = Add(a, x) }");
}

static void test_refusals(void **state) {
    (void)state;
    fixture f = start(TWO);
    hn_patch_set_input(f.p, 77, 0, value_named(f.g, "x"));
    expect_refused(&f, TWO, "do not exist");

    f = start(TWO);
    hn_patch_replace(f.p, value_named(f.g, "a"), value_named(f.g, "x"));
    hn_patch_replace(f.p, value_named(f.g, "x"), value_named(f.g, "a"));
    expect_refused(&f, TWO, "cycle of replacements");

    f = start(TWO);
    new_node(&f, producer_of(f.g, "y"), "Neg", value_named(f.g, "a"));
    hn_graph_add_value(f.g, 0, NULL);
    expect_refused(&f, TWO, "changed since");
}

#define NESTED                                                                          \
  TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { a = Abs(x) "                      \
            "y = If(c) <then_branch = t () => (float[2] r) { q = Exp(a) r = Neg(q) }, " \
            "else_branch = e () => (float[2] s) { s = Neg(a) }> }"

static void test_scopes(void **state) {
    (void)state;
    fixture f = start(NESTED);
    hn_id q = hn_graph_find(f.g, 1, hn_intern_z(f.m->names, "q"));
    hn_patch_replace(f.p, value_named(f.g, "a"), q);
    expect_refused(&f, NESTED, "'q' is not visible");

    f = start(NESTED); /* readers in subgraphs follow */
    hn_patch_replace(f.p, value_named(f.g, "a"), value_named(f.g, "x"));
    expect_applied(&f, TEXT_HEAD
                   "g (float[2] x, bool c) => (float[2] y) { "
                   "y = If(c) <then_branch = t () => (float[2] r) { q = Exp(x) r = Neg(q) }, "
                   "else_branch = e () => (float[2] s) { s = Neg(x) }> }");

    f = start(NESTED); /* a node that goes takes the readers inside along */
    hn_id node = new_node(&f, HN_NONE, "Exp", value_named(f.g, "x"));
    hn_patch_replace(f.p, value_named(f.g, "y"), hn_patch_output(f.p, node, 0));
    expect_applied(&f, TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { y = Exp(x) }");
}

/* Many new nodes and readers, so that every table and list must grow. */
static hone_status grow(hn_model *m, hn_arena *scratch) {
    hn_graph *g = m->graph;
    hn_patch *p = hn_patch_new(scratch, g);
    HN_TRY_PTR(p);
    hn_id relu = producer_of(g, "y"), a = value_named(g, "a"), value = a;
    for (int i = 0; i < 50; i++) {
        hn_id inputs[] = {value, a};
        hn_str op = hn_intern_z(m->names, "Add");
        HN_TRY_PTR(op);
        hn_id node = hn_patch_node(p, relu, NULL, op, NULL, 2, inputs, 1, 0, NULL);
        value = node == HN_NONE ? HN_NONE : hn_patch_output(p, node, 0);
    }
    if (value != HN_NONE)
        hn_patch_replace(p, a, value);
    return hn_patch_apply(p, g, NULL);
}

/* A subgraph hands out what it computes itself: an outer value needs an Identity there. */
static void test_subgraph_outputs(void **state) {
    (void)state;
    fixture f = start(NESTED);
    hn_id q = hn_graph_find(f.g, 1, hn_intern_z(f.m->names, "q"));
    hn_id r = hn_graph_find(f.g, 1, hn_intern_z(f.m->names, "r"));
    hn_id a = value_named(f.g, "a");
    assert_true(hn_replace_needs_identity(f.g, r, a));
    assert_false(hn_replace_needs_identity(f.g, r, q));
    assert_false(hn_replace_needs_identity(f.g, q, a));
    hn_patch_replace(f.p, r, a);
    expect_applied(&f, TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { a = Abs(x) "
                                 "y = If(c) <then_branch = t () => (float[2] Identity_1) { "
                                 "Identity_1 = Identity(a) }, "
                                 "else_branch = e () => (float[2] s) { s = Neg(a) }> }");
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    counting_allocator c;
    size_t n_failures = 0;
    for (size_t fail_at = 1;; fail_at++) {
        hn_model *m = NULL, *expected = model_from(TWO);
        counting_init(&c, 0);
        assert_int_equal(hn_model_parse(TWO, strlen(TWO), &c.hook, &m, NULL), HONE_OK);
        hn_arena *scratch = hn_arena_new(&c.hook);
        c.fail_at = c.n_requests + fail_at;
        hone_status status = grow(m, scratch);
        bool has_failed = c.n_requests >= c.fail_at;
        expect_sound(m);
        assert_int_equal(status, has_failed ? HONE_E_NOMEM : HONE_OK);
        if (has_failed)
            expect_same_text(m, expected);
        else
            assert_int_equal(hn_block_at(m->graph, 0)->nodes.n, 52);
        n_failures += has_failed;
        hn_arena_free(scratch);
        hn_model_free(m);
        hn_model_free(expected);
        assert_true(counting_is_clean(&c));
        if (!has_failed)
            break;
    }
    assert_true(n_failures > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_insert_between),
        cmocka_unit_test(test_output_keeps_its_name),
        cmocka_unit_test(test_output_from_old_value),
        cmocka_unit_test(test_output_from_input_needs_identity),
        cmocka_unit_test(test_two_outputs_become_one_value),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_chain_and_set_input),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_subgraph_outputs),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
