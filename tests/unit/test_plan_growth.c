/* Planning takes time in proportion to the graph, also when one node has thousands of operands. */
#include "run_model.h"

#include "base/base.h"

#ifdef HONE_COUNT_DECISIONS

enum { N_OPERANDS = 20000, MOST_PER_OPERAND = 32 };

static uint64_t n_looks(void) {
    return hn_decisions_made(HN_DECISION_JOIN) + hn_decisions_made(HN_DECISION_PLACE);
}

/* Runs a model of one input as it is written; few operands are looked at more than once. */
static void expect_few_looks(const char *text, const char *out) {
    runner r = runner_as_written(text);
    hone_value *x = counting_floats(DIMS(1)), *y = NULL;
    uint64_t before = n_looks();
    y = result_of(&r, "x", x, out);
    assert_in_range(n_looks() - before, 0, (uint64_t)N_OPERANDS * MOST_PER_OPERAND);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* "a0, a1, ...": with another name in front of each. */
static char *put_names(char *at, const char *name) {
    for (int i = 0; i < N_OPERANDS; i++)
        at += sprintf(at, "%s%s%d", i ? ", " : "", name, i);
    return at;
}

static void concatenations_of_many(void **state) {
    (void)state;
    char *text = malloc(N_OPERANDS * 64), *at = text;
    at += sprintf(at, RUN_HEAD "g (float[1] x) => (float[%d] y) {\n", N_OPERANDS);
    for (int i = 0; i < N_OPERANDS; i++)
        at += sprintf(at, "a%d = Add (x, x)\n", i);
    at += sprintf(at, "b = Concat <axis: int = 0> (");
    at = put_names(at, "a");
    sprintf(at, ") y = Neg (b) }");
    expect_few_looks(text, "y");
    free(text);
}

static void splits_into_many(void **state) {
    (void)state;
    char *text = malloc(N_OPERANDS * 64), *at = text;
    at += sprintf(at,
                  RUN_HEAD "g (float[1] x) => (float[%d] y) <int64[1] many = {%d}> {\n"
                           "w = Expand (x, many) v = Neg (w) ",
                  N_OPERANDS, N_OPERANDS);
    at = put_names(at, "p");
    at += sprintf(at, " = Split <axis: int = 0, num_outputs: int = %d> (v)\n", N_OPERANDS);
    for (int i = 0; i < N_OPERANDS; i++)
        at += sprintf(at, "a%d = Neg (p%d)\n", i, i);
    at += sprintf(at, "b = Concat <axis: int = 0> (");
    at = put_names(at, "a");
    sprintf(at, ") y = Neg (b) }");
    expect_few_looks(text, "y");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concatenations_of_many),
        cmocka_unit_test(splits_into_many),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}

#else

int main(void) {
    return 77; /* nothing is counted in this build */
}

#endif
