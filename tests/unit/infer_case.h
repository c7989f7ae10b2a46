/* Inference of models given as text, for tests of the rules. */
#ifndef TEST_INFER_CASE_H
#define TEST_INFER_CASE_H

#include "model_text.h"
#include "ops/ops.h"

/* Infers the whole text; `problems` receives the problems. */
static inline hn_model *inferred_from(const char *text, hn_problems *problems) {
    hn_model *m = model_from(text);
    hone_error err = {0};
#ifdef INFER_CASE_OPS /* operators of a provider */
    assert_int_equal(hn_model_add_ops(m, INFER_CASE_OPS), HONE_OK);
#endif
    *problems = (hn_problems){.arena = hn_arena_new(NULL)};
    assert_non_null(problems->arena);
    if (hn_infer_model(m, &(hn_infer_options){.problems = problems}, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

/* Inference reports no problem and infers this type: "float[2,?]", "float" for a scalar, "float[]"
 * for an unknown rank, "none" when nothing is known. */
static inline void expect_type(const char *text, const char *value, const char *expected) {
    hn_problems p;
    hn_model *m = inferred_from(text, &p);
    if (p.list.n > 0)
        fail_msg("%s\nin\n%s", p.list.at[0].message, text);
    const hn_type *t = hn_value_at(m->graph, value_named(m->graph, value))->type;
    hn_strbuf b;
    hn_strbuf_init(&b, NULL);
    if (t)
        hn_type_text(m->syms, t, &b);
    else
        hn_strbuf_puts(&b, "none");
    if (strcmp(b.at, expected) != 0)
        fail_msg("'%s' is %s, not %s, in\n%s", value, b.at, expected, text);
    hn_strbuf_free(&b);
    hn_arena_free(p.arena);
    hn_model_free(m);
}

/* Inference reports a problem whose message contains this part. */
static inline void expect_problem(const char *text, const char *part) {
    hn_problems p;
    hn_model *m = inferred_from(text, &p);
    bool is_found = false;
    for (uint32_t i = 0; i < p.list.n; i++)
        is_found |= strstr(p.list.at[i].message, part) != NULL;
    if (!is_found)
        fail_msg("no problem speaks of '%s' (the first of %u: %s) in\n%s", part, p.list.n,
                 p.list.n ? p.list.at[0].message : "none", text);
    hn_arena_free(p.arena);
    hn_model_free(m);
}

/* Tables of cases. */
typedef struct typed_case {
    const char *text, *type, *value;
} typed_case;
static inline void expect_types(const typed_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_type(cases[i].text, cases[i].value, cases[i].type);
}

typedef struct wrong_case {
    const char *text, *part; /* of the message */
} wrong_case;
static inline void expect_problems(const wrong_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_problem(cases[i].text, cases[i].part);
}

/* Multiply-accumulates of the node that computes a value. */
static inline void expect_macs(const char *text, const char *value, uint64_t expected) {
    hn_problems p;
    hn_model *m = inferred_from(text, &p);
    uint64_t macs = 0;
    assert_int_equal(p.list.n, 0);
    assert_true(hn_node_macs(m->graph, producer_of(m->graph, value), &macs));
    assert_int_equal(macs, expected);
    hn_arena_free(p.arena);
    hn_model_free(m);
}

/* The program of a file with the tables `typed` and `wrong`, and more tests when they are given. */
#define RUN_TABLE_TESTS(...)                                                          \
  static void test_types(void **state) {                                              \
    (void)state;                                                                      \
    expect_types(typed, HN_COUNT(typed));                                             \
  }                                                                                   \
  static void test_problems(void **state) {                                           \
    (void)state;                                                                      \
    expect_problems(wrong, HN_COUNT(wrong));                                          \
  }                                                                                   \
  int main(void) {                                                                    \
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types),                  \
                                       cmocka_unit_test(test_problems), __VA_ARGS__}; \
    return cmocka_run_group_tests(tests, NULL, NULL);                                 \
  }

#endif /* TEST_INFER_CASE_H */
