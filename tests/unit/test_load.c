/* The ONNX reader: valid models, damaged models, limits, failed allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "onnx/onnx.h"
#include "proto_builder.h"

static hn_model *load_ok(const proto *p) {
    hn_model *m = NULL;
    hone_error err;
    hn_error_clear(&err);
    if (hn_load_buffer(p->at, p->n, true, NULL, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

static void load_fails(const proto *p, hone_status expected, const char *says) {
    hn_model *m = NULL;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_load_buffer(p->at, p->n, true, NULL, &m, &err), expected);
    assert_null(m);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static hn_id find(const hn_model *m, hn_id block, const char *name) {
    return hn_graph_find_local(m->graph, block, hn_intern_find(m->names, name, strlen(name)));
}

/* ---- structure ------------------------------------------------------------------------------- */

static void test_small_model(void **state) {
    (void)state;
    proto p = proto_small_model(2);
    hn_model *m = load_ok(&p);
    const hn_graph *g = m->graph;
    const hn_block *b = hn_block_at(g, 0);
    assert_true(m->ir_version == 8 && m->has_ir_version && !m->has_model_version);
    assert_int_equal(hn_opset_version(&m->opsets, NULL), 17);
    assert_true(b->nodes.n == 1 && b->inputs.n == 1 && b->outputs.n == 1 && b->inits.n == 1);
    assert_string_equal(hn_s(b->name), "g");
    const hn_node *n = hn_node_at(g, b->nodes.at[0]);
    assert_true(hn_str_is(n->op, "Add") && !n->name && !n->domain && !n->extra);
    assert_int_equal(n->inputs[0], b->inputs.at[0]);
    assert_int_equal(n->inputs[1], b->inits.at[0]);
    assert_int_equal(n->outputs[0], b->outputs.at[0]);
    const hn_value *x = hn_value_at(g, n->inputs[0]), *w = hn_value_at(g, n->inputs[1]);
    assert_true(x->is_input && x->is_declared && x->uses.n == 1);
    assert_true(x->type->elem == HN_F32 && x->type->shape.rank == 2 && x->type->shape.dims[0] == 2);
    assert_true(hn_dim_is_symbolic(x->type->shape.dims[1]));
    assert_true(w->init->n_elems == 2 && w->init->data_bytes == 8);
    const uint8_t *data = w->init->data;
    assert_true(data > p.at && data < p.at + p.n); /* a view */
    hn_model_free(m);
}

static void test_names(void **state) {
    (void)state;
    proto graph = {.n = 0};
    put_node(&graph, "Clip", (const char *const[]){"x", "", "nowhere", NULL}, "y");
    put_node(&graph, "Relu", (const char *const[]){"late", NULL}, "y");
    put_node(&graph, "Relu", (const char *const[]){"x", NULL}, "late");
    put_weight(&graph, "x", 1);
    put_value(&graph, 11, "x");
    put_value(&graph, 11, "x");
    put_value(&graph, 12, "y");
    put_value(&graph, 13, "stranger");
    proto p = proto_model(&graph);
    hn_model *m = load_ok(&p);
    const hn_graph *g = m->graph;
    const hn_node *clip = hn_node_at(g, 0), *relu = hn_node_at(g, 1);
    assert_int_equal(clip->inputs[1], HN_NONE);
    const hn_value *nowhere = hn_value_at(g, clip->inputs[2]);
    assert_true(nowhere->producer == HN_NONE && !nowhere->is_input && !nowhere->init);
    assert_int_equal(hn_value_at(g, relu->inputs[0])->producer,
                     2);                                      /* wrong order, found all the same */
    assert_int_not_equal(clip->outputs[0], relu->outputs[0]); /* twice defined: two values */
    assert_int_equal(find(m, 0, "y"), clip->outputs[0]);
    const hn_block *b = hn_block_at(g, 0);
    assert_true(b->inputs.n == 2 && b->inputs.at[0] != b->inputs.at[1]);
    assert_int_equal(b->inits.at[0], clip->inputs[0]);
    assert_int_equal(b->inputs.at[0], clip->inputs[0]); /* initializer and input are one */
    assert_int_equal(b->value_infos.at[0], find(m, 0, "stranger"));
    hn_model_free(m);
}

/* An If whose branch reads x from outside and shadows z. */
static proto model_with_branch(int depth) {
    proto inner = {.n = 0};
    put_node(&inner, "Add", (const char *const[]){"x", "z", NULL}, "out");
    put_weight(&inner, "z", 1);
    put_value(&inner, 12, "out");
    for (int i = 0; i < depth; i++) {
        proto attr = {.n = 0}, node = {.n = 0}, outer = {.n = 0};
        put_text(&attr, 1, "then_branch");
        put_message(&attr, 6, &inner);
        put_int(&attr, 20, 5);
        put_text(&node, 1, "x");
        put_text(&node, 2, "out");
        put_text(&node, 4, "If");
        put_message(&node, 5, &attr);
        put_message(&outer, 1, &node);
        put_value(&outer, 12, "out");
        inner = outer;
    }
    put_weight(&inner, "z", 2);
    put_value(&inner, 11, "x");
    return proto_model(&inner);
}

static void test_inner_blocks_see_outward(void **state) {
    (void)state;
    proto p = model_with_branch(2);
    hn_model *m = load_ok(&p);
    const hn_graph *g = m->graph;
    assert_int_equal(g->blocks.n, 3);
    const hn_block *leaf = hn_block_at(g, 2);
    assert_true(leaf->parent == 1 && hn_block_at(g, 1)->parent == 0);
    assert_int_equal(hn_block_at(g, 1)->owner, hn_block_at(g, 0)->nodes.at[0]);
    const hn_node *add = hn_node_at(g, leaf->nodes.at[0]);
    assert_int_equal(add->inputs[0], find(m, 0, "x"));
    assert_int_equal(add->inputs[1], find(m, 2, "z"));
    assert_int_equal(hn_value_at(g, add->inputs[0])->uses.n, 3);
    hn_model_free(m);
}

static void test_depth_is_limited(void **state) {
    (void)state;
    proto p = model_with_branch(20);
    hn_model *m = NULL;
    hone_error err;
    hn_error_clear(&err);
    hn_load_options o = {.max_depth = 20};
    assert_int_equal(hn_load_buffer(p.at, p.n, false, &o, &m, &err), HONE_OK);
    hn_model_free(m);
    o.max_depth = 19;
    assert_int_equal(hn_load_buffer(p.at, p.n, false, &o, &m, &err), HONE_E_LIMIT);
    assert_non_null(strstr(err.message, "nested deeper than 19"));
    assert_true(err.offset > 0);

    proto type = {.n = 0}; /* seq(seq(seq(...))) */
    for (int i = 0; i < 100; i++) {
        proto sequence = {.n = 0}, outer = {.n = 0};
        put_message(&sequence, 1, &type);
        put_message(&outer, 4, &sequence);
        type = outer;
    }
    proto value = {.n = 0}, graph = {.n = 0};
    put_text(&value, 1, "x");
    put_message(&value, 2, &type);
    put_message(&graph, 11, &value);
    p = proto_model(&graph);
    load_fails(&p, HONE_E_LIMIT, "nested deeper");
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const hn_attr *load_attr_of(const proto *attr, hn_model **m) {
    proto node = {.n = 0}, graph = {.n = 0};
    put_text(&node, 4, "Op");
    put_message(&node, 5, attr);
    put_message(&graph, 1, &node);
    proto p = proto_model(&graph);
    hone_error err;
    hn_error_clear(&err);
    if (hn_load_buffer(p.at, p.n, false, NULL, m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return &hn_node_at((*m)->graph, 0)->attrs[0];
}

static void test_attribute_kinds(void **state) {
    (void)state;
    hn_model *m;
    proto a = {.n = 0};
    put_text(&a, 1, "axes");
    put_int(&a, 8, -1);
    const uint8_t packed[] = {2, 0x80, 1};
    put_bytes(&a, 8, packed, sizeof(packed));
    put_int(&a, 20, HN_ATTR_INTS);
    const hn_attr *attr = load_attr_of(&a, &m);
    assert_true(attr->n == 3 && attr->v.ints[0] == -1 && attr->v.ints[1] == 2 &&
                attr->v.ints[2] == 128);
    hn_model_free(m);

    a.n = 0; /* no type, as in the oldest files; a list both ways */
    put_float(&a, 7, 1.5f);
    put_bytes(&a, 7, &(float){2.5f}, sizeof(float));
    attr = load_attr_of(&a, &m);
    assert_true(attr->kind == HN_ATTR_FLOATS && attr->n == 2 && attr->v.floats[0] == 1.5f);
    assert_true(attr->v.floats[1] == 2.5f && hn_str_is(attr->name, ""));
    hn_model_free(m);

    a.n = 0; /* a number that is left out is zero; what does not belong is kept for saving */
    put_int(&a, 20, HN_ATTR_INT);
    put_text(&a, 4, "stray");
    attr = load_attr_of(&a, &m);
    assert_true(attr->n == 1 && attr->v.i == 0 && attr->extra->unknown.n == 7);
    hn_model_free(m);

    a.n = 0;
    put_int(&a, 20, HN_ATTR_INT);
    put_text(&a, 21, "alpha");
    attr = load_attr_of(&a, &m);
    assert_true(attr->kind == HN_ATTR_INT && attr->n == 0 && hn_str_is(attr->ref, "alpha"));
    hn_model_free(m);

    a.n = 0;
    put_int(&a, 20, 99);
    attr = load_attr_of(&a, &m);
    assert_true(attr->kind == HN_ATTR_UNDEFINED && attr->extra->unknown.n == 3);
    hn_model_free(m);
}

static void test_absent_messages_are_refused(void **state) {
    (void)state;
    static const int kinds[] = {HN_ATTR_TENSOR, HN_ATTR_GRAPH, HN_ATTR_SPARSE, HN_ATTR_TYPE};
    for (size_t i = 0; i < HN_COUNT(kinds); i++) {
        proto attr = {.n = 0}, node = {.n = 0}, graph = {.n = 0};
        put_text(&attr, 1, "value");
        put_int(&attr, 20, kinds[i]);
        put_message(&node, 5, &attr);
        put_message(&graph, 1, &node);
        proto p = proto_model(&graph);
        load_fails(&p, HONE_E_FORMAT, "attribute 'value'");
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static void test_odd_dimensions(void **state) {
    (void)state;
    proto shape = {.n = 0}, tensor = {.n = 0}, type = {.n = 0}, value = {.n = 0}, graph = {.n = 0};
    proto negative = {.n = 0}, nameless = {.n = 0}, absent = {.n = 0};
    put_int(&negative, 1, INT64_MIN + 5);
    put_text(&nameless, 2, "");
    put_message(&shape, 1, &negative);
    put_message(&shape, 1, &nameless);
    put_message(&shape, 1, &absent);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, "x");
    put_message(&value, 2, &type);
    put_message(&graph, 11, &value);
    proto p = proto_model(&graph);
    hn_model *m = load_ok(&p);
    const hn_type *t = hn_value_at(m->graph, 0)->type;
    assert_true(t->elem == HN_UNDEFINED && t->shape.rank == 3);
    for (int i = 0; i < 3; i++)
        assert_true(t->shape.dims[i] == HN_DIM_UNKNOWN);
    assert_true(t->unknown.n == type.n); /* comes back as it was */
    hn_model_free(m);
}

/* ---- hostile files --------------------------------------------------------------------------- */

static void test_models_without_sense(void **state) {
    (void)state;
    proto p = {.n = 0};
    put_int(&p, 1, 8);
    load_fails(&p, HONE_E_FORMAT, "no graph");
    proto graph = {.n = 0};
    p = proto_model(&graph);
    put_message(&p, 7, &graph);
    load_fails(&p, HONE_E_FORMAT, "two graphs");
}

/* Cut anywhere and with any byte changed: an error or a model, nothing else. */
static void test_damage_everywhere(void **state) {
    (void)state;
    proto whole = model_with_branch(3);
    for (size_t n = 0; n < whole.n; n++) {
        hn_model *m = NULL;
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, whole.at, n);
        hone_status status = hn_load_buffer(exact, n, true, NULL, &m, NULL);
        assert_true((status == HONE_OK) == (m != NULL));
        hn_model_free(m);
        free(exact);
        static const uint8_t masks[] = {0x01, 0x80, 0x7f, 0xff, 0x08};
        for (size_t i = 0; i < HN_COUNT(masks); i++) {
            proto damaged = whole;
            damaged.at[n] ^= masks[i];
            m = NULL;
            status = hn_load_buffer(damaged.at, damaged.n, true, NULL, &m, NULL);
            assert_true((status == HONE_OK) == (m != NULL));
            hn_model_free(m);
        }
    }
}

static void test_memory_limit(void **state) {
    (void)state;
    proto p = proto_small_model(4);
    hn_model *m = NULL;
    hone_error err;
    hn_error_clear(&err);
    hn_load_options o = {.max_arena_bytes = 64};
    assert_int_equal(hn_load_buffer(p.at, p.n, true, &o, &m, &err), HONE_E_LIMIT);
    assert_non_null(strstr(err.message, "limit"));
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    proto p = model_with_branch(3);
    hone_status status = HONE_E_NOMEM;
    for (size_t n = 1; status != HONE_OK; n++) {
        counting_allocator c;
        hn_model *m = NULL;
        hone_error err;
        counting_init(&c, n);
        hn_error_clear(&err);
        hn_load_options o = {.alloc = &c.hook};
        status = hn_load_buffer(p.at, p.n, false, &o, &m, &err);
        assert_true(status == HONE_OK || status == HONE_E_NOMEM);
        assert_true((status == HONE_OK) == (err.code == HONE_OK));
        hn_model_free(m);
        assert_true(counting_is_clean(&c));
        assert_true(n < 10000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_model),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_inner_blocks_see_outward),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_attribute_kinds),
        cmocka_unit_test(test_absent_messages_are_refused),
        cmocka_unit_test(test_odd_dimensions),
        cmocka_unit_test(test_models_without_sense),
        cmocka_unit_test(test_damage_everywhere),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
