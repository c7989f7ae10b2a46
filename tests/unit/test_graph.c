/* The tables of a graph: use lists stay exact through every edit. */
#include "model_text.h"

#define DIAMOND \
  TEXT_HEAD     \
  "g (float[2] x) => (float[2] y) { a = Relu(x) b = Add(a, a) c = Mul(a, b) y = Sub(c, a) }"

static void test_uses_follow_inputs(void **state) {
    (void)state;
    hn_model *m = model_from(DIAMOND);
    hn_graph *g = m->graph;
    hn_id a = value_named(g, "a"), x = value_named(g, "x");
    assert_int_equal(hn_value_at(g, a)->uses.n, 4);
    assert_true(hn_graph_set_input(g, producer_of(g, "b"), 0, x));
    assert_int_equal(hn_value_at(g, a)->uses.n, 3);
    assert_int_equal(hn_value_at(g, x)->uses.n, 2);
    expect_sound(m);
    assert_true(hn_graph_set_input(g, producer_of(g, "b"), 1, HN_NONE));
    assert_int_equal(hn_value_at(g, a)->uses.n, 2);
    expect_sound(m);
    hn_model_free(m);
}

static void test_replace_moves_outputs_too(void **state) {
    (void)state;
    hn_model *m = model_from(TEXT_HEAD "g (float[2] x) => (float[2] y, float[2] z, float[2] y) "
                                       "{ y = Relu(x) z = Abs(y) }");
    hn_graph *g = m->graph;
    hn_id x = value_named(g, "x"), y = value_named(g, "y");
    assert_true(hn_graph_replace_uses(g, y, x));
    assert_int_equal(hn_value_at(g, y)->uses.n, 0);
    assert_int_equal(hn_value_at(g, x)->uses.n, 4);
    assert_int_equal(hn_block_at(g, 0)->outputs.at[0], x);
    assert_int_equal(hn_block_at(g, 0)->outputs.at[2], x);
    assert_true(hn_graph_replace_uses(g, x, x));
    expect_sound(m);
    hn_model_free(m);
}

static void test_remove_takes_inner_blocks(void **state) {
    (void)state;
    hn_model *m = model_from(
        TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) { a = Abs(x) y = Relu(x) "
                  "q = If(c) <then_branch = t () => (float[2] r) { k = Neg(a) r = Add(k, x) }, "
                  "else_branch = e () => (float[2] s) { s = Mul(a, x) }> }");
    hn_graph *g = m->graph;
    assert_int_equal(hn_value_at(g, value_named(g, "a"))->uses.n, 2);
    hn_graph_remove_node(g, producer_of(g, "q"));
    assert_int_equal(hn_value_at(g, value_named(g, "a"))->uses.n, 0);
    assert_int_equal(hn_value_at(g, value_named(g, "x"))->uses.n, 2);
    assert_int_equal(hn_block_at(g, 1)->nodes.n, 0);
    assert_int_equal(hn_block_at(g, 1)->owner, HN_NONE);
    expect_ops(g, 0, "Abs Relu ");
    expect_sound(m);
    hn_model_free(m);
}

static void test_names(void **state) {
    (void)state;
    hn_model *m = model_from(DIAMOND);
    hn_graph *g = m->graph;
    hn_id b = value_named(g, "b");
    hn_str old = hn_value_at(g, b)->name, fresh = hn_graph_fresh_name(g, "b");
    assert_string_equal(fresh->s, "b_1");
    assert_true(hn_graph_rename(g, b, fresh));
    assert_int_equal(hn_graph_find_local(g, 0, old), HN_NONE);
    assert_int_equal(hn_graph_find(g, 0, fresh), b);
    assert_string_not_equal(hn_graph_fresh_name(g, "")->s, hn_graph_fresh_name(g, "")->s);
    expect_sound(m);
    hn_model_free(m);
}

static void test_blocks_nest_to_a_limit(void **state) {
    (void)state;
    hn_model *m = hn_model_new(NULL);
    hn_graph *g = hn_graph_new(m, &m->opsets);
    hn_id block = 0;
    for (int i = 0; i < HN_MAX_BLOCK_DEPTH; i++) {
        hn_id inner = hn_graph_add_block(g, block, HN_NONE);
        assert_int_not_equal(inner, HN_NONE);
        assert_true(hn_block_is_inside(g, inner, block));
        assert_false(hn_block_is_inside(g, block, inner));
        block = inner;
    }
    assert_int_equal(hn_graph_add_block(g, block, HN_NONE), HN_NONE);
    hn_model_free(m);
}

static void test_listing(void **state) {
    (void)state;
    hn_model *m = model_from(TEXT_HEAD "g (float[2] x, float[2] u, float[2] w) => (float[2] y) "
                                       "<float[2] k = {1, 2}> { y = Add(x, w) }");
    hn_graph *g = m->graph;
    hn_graph_remove_value_listing(g, value_named(g, "u"));
    hn_graph_remove_value_listing(g, value_named(g, "k"));
    assert_int_equal(hn_block_at(g, 0)->inputs.n, 2);
    assert_int_equal(hn_value_at(g, value_named(g, "w"))->slot, 1);
    assert_int_equal(hn_block_at(g, 0)->inits.n, 0);
    expect_sound(m);
    hn_model_free(m);
}

static void test_functions_are_found(void **state) {
    (void)state;
    hn_model *m = model_from(TEXT_HEAD "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                                       "<domain: \"my\", opset_import: [\"\" : 21]> "
                                       "F (a) => (b) { b = Relu(a) }");
    hn_str my = hn_intern_z(m->names, "my"), f = hn_intern_z(m->names, "F");
    assert_ptr_equal(hn_model_function(m, my, f, NULL), m->functions.at[0]);
    assert_ptr_equal(hn_model_function(m, my, f, hn_intern_z(m->names, "")), m->functions.at[0]);
    assert_null(hn_model_function(m, NULL, f, NULL));
    assert_null(hn_model_function(m, my, f, hn_intern_z(m->names, "other")));
    assert_ptr_equal(hn_node_function(m->graph, producer_of(m->graph, "y")), m->functions.at[0]);
    assert_int_equal(hn_opset_version(&m->opsets, hn_intern_z(m->names, "ai.onnx")), 21);
    assert_int_equal(hn_opset_version(&m->opsets, f), -1);
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uses_follow_inputs),
        cmocka_unit_test(test_replace_moves_outputs_too),
        cmocka_unit_test(test_remove_takes_inner_blocks),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_blocks_nest_to_a_limit),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_functions_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
