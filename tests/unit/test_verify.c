/* The structure checker: a model that violates each rule, and its message. */
#include "model_text.h"

static void expect_problem_in(const hn_model *m, const char *part) {
    hn_problems p = {.arena = hn_arena_new(NULL)};
    bool is_found = false;
    hn_model_verify(m, &p);
    for (uint32_t i = 0; i < p.list.n; i++)
        is_found |= strstr(p.list.at[i].message, part) != NULL;
    if (!is_found)
        fail_msg("%u problems, none says '%s'; first: %s", p.list.n, part,
                 p.list.n ? p.list.at[0].message : "-");
    hn_arena_free(p.arena);
}

#define G(body) TEXT_HEAD "g (float[2] x, bool c) => (float[2] y) " body
#define MY_DOMAIN "\n<domain: \"my\", opset_import: [\"\" : 21]> "

static const struct broken_text {
    const char *text, *part;
} broken_texts[] = {
    {G("{ y = Relu(q) }"), "node #0 (Relu) reads 'q', which no node computes"},
    {G("{ long_name = Abs(x) y = Relu(long_nane) }"), "did you mean 'long_name'?"},
    {G("{ [relu] y = Relu(a) a = Abs(x) }"), "node 'relu' (Relu) reads 'a' before node #1 (Abs)"},
    {G("{ y = Relu(x) y = Abs(x) }"), "value 'y' is defined twice in graph 'g'"},
    {G("{ x = Relu(x) y = Abs(x) }"), "by an input and by node #0 (Relu)"},
    {G("{ a = Relu(x) }"), "output 'y' of graph 'g' is computed by no node"},
    {TEXT_HEAD "g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }",
     "value 'x' is defined twice"},
    {TEXT_HEAD "g (float x, a) => (float[2] y) { y = Relu(x) }", "graph input 'a' has no type"},
    {TEXT_HEAD "g (float[] x) => (float[2] y) { y = Relu(x) }", "graph input 'x' has no shape"},
    {G("{ y = other.Relu(x) }"), "needs operator set 'other', which the model does not import"},
    {G("{ y = Relu<a = 1, a = 2>(x) }"), "has attribute 'a' more than once"},
    {G("{ y = Relu<a: int = @b>(x) }"), "refers to attribute 'b' of a calling node"},
    {G("{ a = Abs(x) y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, "
       "else_branch = e () => (float[2] s) { s = Neg(x) }> }"),
     "in subgraph 't' defines 'a', which hides the outer value"},
    {G("{ y = If(c) <then_branch = t () => (float[2] x) { }, "
       "else_branch = e () => (float[2] s) { s = Neg(x) }> }"),
     "output 'x' of subgraph 't' is a value of an outer graph"},
    {G("{ y = If(c) <then_branch = t () => (float[2] r) { r = Neg(z) }, "
       "else_branch = e () => (float[2] s) { s = Neg(x) }> z = Abs(x) }"),
     "reads 'z'"},
    {"<ir_version: 3, opset_import: [\"\" : 8]> g (float[2] x) => (float[2] y) <float[2] w = {1, "
     "2}> "
     "{ y = Add(x, w) }",
     "initializer 'w' is not listed among the inputs"},
    {"<ir_version: 99, opset_import: [\"\" : 8]> g (float[2] x) => (float[2] y) { y = Relu(x) }",
     "IR version 99 is newer than 14"},
    {"<ir_version: 10> g (float[2] x) => (float[2] y) { y = Relu(x) }", "imports no operator set"},
    {"<ir_version: 10, opset_import: [\"\" : 0]> g (float[2] x) => (float[2] y) { y = Relu(x) }",
     "versions begin with 1"},
    {"<ir_version: 10, opset_import: [\"\" : 21], metadata_props: [\"k\": \"1\", \"k\": \"2\"]> "
     "g (float[2] x) => (float[2] y) { y = Relu(x) }",
     "metadata key 'k' occurs more than once"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F (a) => (b) { b = Relu(q) }",
     "in function 'F': node #0 (Relu) reads 'q'"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F (a) => (b) { b = Relu(a) }" MY_DOMAIN
                                    "F (a) => (b) { b = Abs(a) }",
     "function 'F' of domain 'my' is defined twice"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F (a, a) => (b) { b = Relu(a) }",
     "value 'a' is defined twice"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F (a) => (b, b) { b = Relu(a) }",
     "function 'F' has output 'b' more than once"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F <k, k> (a) => (b) { b = Relu(a) }",
     "function 'F' has attribute 'k' more than once"},
    {G("{ y = my.F(x) }") "\n<domain: \"my\"> F (a) => (b) { b = Relu(a) }",
     "needs operator set 'ai.onnx', which the function does not import"},
    {G("{ y = my.F(x) }") MY_DOMAIN "F (a) => (b) { b = my.G(a) }" MY_DOMAIN
                                    "G (a) => (b) { b = my.F(a) }",
     "functions may not call themselves: "},
};

static void test_texts(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(broken_texts); i++) {
        hn_model *m = model_from(broken_texts[i].text);
        expect_problem_in(m, broken_texts[i].part);
        hn_model_free(m);
    }
}

/* What looks odd but is allowed, as onnx.checker sees it. */
static void test_allowed(void **state) {
    (void)state;
    static const char *const texts[] = {
        G("{ y = Relu(x) }"),
        TEXT_HEAD "g (float[2] x) => (float[2] x) { }",
        TEXT_HEAD "g (float[2] x) => (float[2] y, float[2] y) { y = Relu(x) }",
        G("{ y = If(c) <then_branch = t () => (float[2] y) { y = Neg(x) }, "
          "else_branch = e () => (float[2] y) { y = Neg(x) }> }"),
        G("{ y = If(c) <then_branch = t () => (float[2] z) { z = Neg(x) }, "
          "else_branch = e () => (float[2] s) { s = Neg(x) }> z = Abs(x) }"),
        G("{ y = my.Unknown(x) }"),
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++) {
        hn_model *m = model_from(texts[i]);
        expect_sound(m);
        hn_model_free(m);
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

#define WITH_WEIGHT G("<float[2] w = {1, 2}> { y = Add(x, w) }")

static void expect_tensor_problem(hn_tensor t, const char *part) {
    hn_model *m = model_from(WITH_WEIGHT);
    hn_value_at(m->graph, value_named(m->graph, "w"))->init = &t;
    expect_problem_in(m, part);
    hn_model_free(m);
}

static void test_tensors(void **state) {
    (void)state;
    static const int64_t two[] = {2}, negative[] = {-2};
    static const float data[] = {1, 2};
    static const hn_external nowhere = {.length = 8, .has_length = true};
    hn_tensor good = {
        .dtype = HN_F32, .rank = 1, .dims = two, .n_elems = 2, .data = data, .data_bytes = 8};
    hn_tensor t = good;
    t.data_bytes = 7;
    expect_tensor_problem(
        t, "initializer 'w': 2 elements of type float need 8 bytes, but there are 7");
    t = good;
    t.dtype = (hn_dtype)99;
    expect_tensor_problem(t, "element type 99");
    t = good;
    t.dims = negative;
    expect_tensor_problem(t, "dimension 0 is -2");
    t = good;
    t.dtype = HN_STRING;
    expect_tensor_problem(t, "strings are missing");
    t = good;
    t.data = NULL;
    t.external = &nowhere;
    expect_tensor_problem(t, "has no 'location'");
}

/* values and indices of a sparse tensor of shape [2,2] */
static void expect_sparse(int64_t index_rank, const int64_t *indices, int64_t n_values,
                          const char *part) {
    static const int64_t dense[] = {2, 2};
    static const float data[] = {1, 2};
    hn_model *m = model_from(WITH_WEIGHT);
    hn_graph *g = m->graph;
    hn_id w = value_named(g, "w");
    const int64_t shape[] = {2, 2};
    hn_sparse s = {.rank = 2, .dims = dense};
    s.values = hn_tensor_new(m->arena, HN_F32, 1, &n_values, data, false);
    s.indices = hn_tensor_new(m->arena, HN_I64, (int32_t)index_rank, shape, indices, false);
    hn_graph_remove_value_listing(g, w);
    hn_value_at(g, w)->sparse_init = &s;
    assert_true(HN_VEC_PUSH(m->arena, &hn_block_at(g, 0)->sparse_inits, w));
    if (part)
        expect_problem_in(m, part);
    else
        expect_sound(m);
    hn_model_free(m);
}

static void test_sparse(void **state) {
    (void)state;
    expect_sparse(1, (int64_t[]){0, 3}, 2, NULL);
    expect_sparse(2, (int64_t[]){0, 1, 1, 0}, 2, NULL);
    expect_sparse(1, (int64_t[]){3, 0}, 2, "must be strictly ascending");
    expect_sparse(1, (int64_t[]){3, 3}, 2, "must be strictly ascending");
    expect_sparse(1, (int64_t[]){0, 4}, 2, "sparse index 4 at position 1 is outside 0..3");
    expect_sparse(1, (int64_t[]){-1, 2}, 2, "sparse index -1");
    expect_sparse(2, (int64_t[]){1, 0, 0, 1}, 2, "must be strictly ascending");
    expect_sparse(2, (int64_t[]){0, 0, 0, 2}, 2, "sparse index 2 at position 1 is outside 0..1");
    expect_sparse(1, (int64_t[]){0, 1}, 1, "have the shape [1] or [1,2]");
}

static void test_list_is_capped(void **state) {
    (void)state;
    hn_model *m = model_from(G("{ y = Relu(q) z = Abs(r) w = Abs(s) }"));
    hn_problems p = {.arena = m->arena, .cap = 2};
    hn_model_verify(m, &p);
    assert_int_equal(p.list.n, 2);
    assert_int_equal(p.n_errors, 3);
    assert_string_equal(p.list.at[0].node, "#0 (Relu)");
    assert_string_equal(p.list.at[0].op, "Relu");
    assert_string_equal(p.list.at[0].value, "q");
    hn_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),          cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_tensors),        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_list_is_capped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
