/* Constant folding: nodes that are evaluated, and nodes that are left to the run. */
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20]>\n"
#define CASE(io, before, inits, after)                           \
  {                                                              \
    .passes = "fold-constants", .text = HEAD io " {" before "}", \
    .expected = HEAD io inits " {" after "}"                     \
  }
#define STAYS(io, nodes) \
  { .passes = "fold-constants", .text = HEAD io " {" nodes "}", .expected = HEAD io " {" nodes "}" }

#define FLOATS "g (float[2] x) => (float[2] y)"

static const pass_case constant_nodes[] = {
    CASE(FLOATS, "c = Constant <value = float[2] {1, 2}> () y = Add (x, c)",
         " <float[2] c = {1, 2}>", "y = Add (x, c)"),
    CASE(FLOATS, "c = Constant <value_float = 3.0> () y = Add (x, c)", " <float c = {3}>",
         "y = Add (x, c)"),
    CASE(FLOATS, "c = Constant <value_floats = [3.0, 4.0]> () y = Add (x, c)",
         " <float[2] c = {3, 4}>", "y = Add (x, c)"),
    CASE("g (float[2,2] x) => (float[4] y)",
         "c = Constant <value_ints = [-1]> () y = Reshape (x, c)", " <int64[1] c = {-1}>",
         "y = Reshape (x, c)"),
    CASE("g (int64[2] x) => (int64[2] y)", "c = Constant <value_int = 7> () y = Add (x, c)",
         " <int64 c = {7}>", "y = Add (x, c)"),
    CASE("g (int64[2] x) => (string[2] y)",
         "c = Constant <value_strings = [\"a\", \"bc\"]> () d = Constant <value_string = \"q\"> ()"
         " s = Cast <to = 8> (x) e = StringConcat (c, d) f = StringConcat (s, e)"
         " y = StringConcat (f, c)",
         " <string[2] e = {\"aq\", \"bcq\"}, string[2] c = {\"a\", \"bc\"}>",
         "s = Cast <to = 8> (x) f = StringConcat (s, e) y = StringConcat (f, c)"),
    /* A graph output becomes an initializer of its name. */
    CASE("g (float[2] x) => (float[2] y, float z)",
         "y = Neg (x) z = Constant <value_float = 1.0> ()", " <float z = {1}>", "y = Neg (x)"),
    /* A branch must return the result of a node. */
    STAYS("g (bool c) => (float y)",
          "y = If (c) <then_branch = t () => (float a) { a = Constant <value_float = 1.0> () },"
          " else_branch = e () => (float b) { b = Constant <value_float = 2.0> () }>"),
};

#define FOLDS(io, inits, before, new_inits, after)                           \
  {                                                                          \
    .passes = "fold-constants", .text = HEAD io " <" inits "> {" before "}", \
    .expected = HEAD io " <" new_inits "> {" after "}"                       \
  }

static const pass_case computed[] = {
    FOLDS(FLOATS, "float[2] a = {1, 2}, float b = {3}", "c = Mul (a, b) d = Neg (c) y = Add (x, d)",
          "float[2] d = {-3, -6}", "y = Add (x, d)"),
    FOLDS("g (float[2,2] x) => (float[2,2] y)", "float[2,2] w = {1, 2, 3, 4}",
          "t = Transpose (w) y = MatMul (x, t)", "float[2,2] t = {1, 3, 2, 4}",
          "y = MatMul (x, t)"),
    FOLDS("g (float[1] x) => (float[2] y)", "float[4] w = {1, 2, 3, 4}",
          "a, b = Split <num_outputs = 2> (w) c = Add (a, b) y = Add (x, c)", "float[2] c = {4, 6}",
          "y = Add (x, c)"),
    /* Shapes that depend on data. */
    FOLDS("g (int64[1] x) => (int64[2] y)", "bool[3] w = {1, 0, 1}",
          "a = NonZero (w) s = Constant <value_ints = [-1]> () b = Reshape (a, s) y = Add (x, b)",
          "int64[2] b = {0, 2}", "y = Add (x, b)"),
    /* In a branch, from constants outside. */
    FOLDS("g (bool c, float[2] x) => (float[2] y)", "float[2] w = {1, 2}",
          "y = If (c) <then_branch = t () => (float[2] a) { n = Neg (w) a = Add (x, n) },"
          " else_branch = e () => (float[2] b) { b = Exp (x) }>",
          "float[2] n = {-1, -2}",
          "y = If (c) <then_branch = t () => (float[2] a) { a = Add (x, n) },"
          " else_branch = e () => (float[2] b) { b = Exp (x) }>"),
};

static void test_constant_nodes(void **state) {
    (void)state;
    expect_passes(constant_nodes, HN_COUNT(constant_nodes));
}

static void test_computed(void **state) {
    (void)state;
    expect_passes(computed, HN_COUNT(computed));
}

static const pass_case kept[] = {
    STAYS("g (float[2] x) => (float[2] y) <uint8[2] q = {1, 2}, float s = {0.5}>",
          "w = DequantizeLinear (q, s) y = Add (x, w)"),
    STAYS("g (float[2] x) => (uint8[2] y) <float[2] w = {1, 2}, float s = {0.5}, uint8 z = {0}>",
          "y = QuantizeLinear (w, s, z)"),
    /* An initializer that the caller may replace is not a constant. */
    STAYS("g (float[2] x, float[2] w = {1, 2}) => (float[2] y)", "a = Neg (w) y = Add (x, a)"),
    STAYS("g (float[2] x) => (float[2] y)", "a = Neg (x) y = Add (x, a)"),
};

/* Before IR 4 every initializer is listed as an input, and none can be replaced. */
static void test_listed_initializers(void **state) {
    (void)state;
    static const pass_case c = {
        .passes = "fold-constants,dead-code",
        .text =
            "<ir_version: 3, opset_import: [\"\" : 8]>\n"
            "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { a = Neg (w) y = Add (x, a) }",
        .expected = "<ir_version: 4, opset_import: [\"\" : 8]>\n"
                    "g (float[2] x) => (float[2] y) <float[2] a = {-1, -2}> { y = Add (x, a) }"};
    expect_pass(&c);
}

static void test_others_stay(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
}

static uint32_t nodes_left(const char *text, uint64_t max_fold_bytes, hn_opt_log **log) {
    hn_optimize_options o;
    const char *only[] = {"fold-constants"};
    hn_model *m = model_from(text);
    *log = hn_opt_log_new(NULL);
    hn_optimize_options_init(&o);
    o.only = only;
    o.n_only = 1;
    o.max_fold_bytes = max_fold_bytes;
    assert_int_equal(hn_optimize(m, &o, *log, NULL), HONE_OK);
    uint32_t n = hn_block_at(m->graph, 0)->nodes.n;
    hn_model_free(m);
    return n;
}

#define GROWING                                                                   \
  HEAD "g (float[1] x) => (float[1000] y) <float w = {2}, int64[1] s = {1000}> {" \
       " a = Expand (w, s) y = Add (x, a) }"
#define SHRINKING                                                                          \
  HEAD "g (float[1] x) => (float[2] y) <float[4] w = {1, 2, 3, 4}, int64[2] k = {0, 1}> {" \
       " a = Gather (w, k) y = Add (x, a) }"
#define SHARED                                                        \
  HEAD "g (float[1] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {" \
       " a = Neg (w) b = Add (x, a) y = Add (b, w) }"
#define HIDDEN_SIZE                                                                                \
  HEAD                                                                                             \
      "g (int64[1] x) => (int64[n] y) <bool[1] w = {1}, int64[1] s = {1000}, int64[1] k = {-1}> {" \
      " a = Expand (w, s) b = NonZero (a) c = Reshape (b, k) y = Add (x, c) }"

static void test_files_do_not_grow(void **state) {
    (void)state;
    hn_opt_log *log;
    assert_int_equal(nodes_left(GROWING, 4000, &log), 1);
    hn_opt_log_free(log);
    assert_int_equal(nodes_left(GROWING, 3999, &log), 2);
    assert_int_equal(log->misses.n, 1);
    assert_non_null(strstr(log->misses.at[0].reason, "larger than"));
    hn_opt_log_free(log);
    assert_int_equal(nodes_left(SHRINKING, 0, &log), 1); /* its input is removed */
    hn_opt_log_free(log);
    assert_int_equal(nodes_left(SHARED, 15, &log), 3); /* its input stays */
    hn_opt_log_free(log);
    assert_int_equal(nodes_left(HIDDEN_SIZE, 2000, &log), 3);
    hn_opt_log_free(log);
}

static void test_random_stays_random(void **state) {
    (void)state;
    hn_opt_log *log;
    uint32_t n = nodes_left(HEAD "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {"
                                 " a = RandomNormalLike (w) b = RandomUniform <shape = [2]> ()"
                                 " c = Add (a, b) y = Add (x, c) }",
                            1000, &log);
    assert_int_equal(n, 4);
    hn_opt_log_free(log);
}

/* A node that fails in a run is left to fail in the run. */
static void test_wrong_nodes_stay(void **state) {
    (void)state;
    hn_opt_log *log;
    uint32_t n =
        nodes_left(HEAD "g (float[2] x) => (float[1] y) <float[2] w = {1, 2}, int64[1] k = {9}> {"
                        " a = Gather (w, k) y = Add (x, a) }",
                   1000, &log);
    assert_int_equal(n, 2);
    hn_opt_log_free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_nodes),    cmocka_unit_test(test_computed),
        cmocka_unit_test(test_others_stay),       cmocka_unit_test(test_listed_initializers),
        cmocka_unit_test(test_files_do_not_grow), cmocka_unit_test(test_random_stays_random),
        cmocka_unit_test(test_wrong_nodes_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
