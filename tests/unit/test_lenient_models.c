/* Models that the checker refuses and sessions run, as other runtimes do, with a note. */
#include "run_model.h"

#define LENIENT(ir, imports) "<ir_version: " ir ", opset_import: [" imports "]>\n"
#define ONNX17 LENIENT("10", "\"\" : 17")
#define X_TO_Y "g (float[2] x) => (float[2] y) "

typedef struct lenient_case {
    const char *text;
    float wanted; /* of -1, which stands in both places of x */
    const char *note;
} lenient_case;

static const lenient_case lenient[] = {
    {ONNX17 X_TO_Y "{ y = Neg (b) b = Exp (a) a = Relu (x) }", -1, "not in topological order"},
    {ONNX17 X_TO_Y "<bool[1] c = {1}> { y = If (c) <then_branch = t () => (float[2] u) {"
                   " u = Neg (v) v = Abs (a) }, else_branch = e () => (float[2] w) { w = Neg (a) }>"
                   " a = Relu (x) }",
     0, "not in topological order"},
    {ONNX17 "g (float[2] x) => (y) { y = Neg (x) }", 1, ""},
    {ONNX17 "g (float[2] x) => (z, y) { z = Exp (x) y = Neg (x) }", 1, ""},
    {ONNX17 X_TO_Y "{ y = com.microsoft.QuickGelu <alpha = 0.0> (x) }", -0.5,
     "does not import operator set 'com.microsoft'; version 1 is assumed"},
    {LENIENT("10", "\"com.microsoft\" : 1") X_TO_Y
     "{ a = com.microsoft.QuickGelu <alpha = 0.0> (x) y = Neg (a) }",
     0.5, "does not import operator set 'ai.onnx'"},
    {LENIENT("2", "\"\" : 13") X_TO_Y "{ y = Neg (x) }", 1, "IR version 2"},
    {LENIENT("0", "\"\" : 13") X_TO_Y "{ y = Neg (x) }", 1, "no IR version; 3 is assumed"},
    {LENIENT("4", "\"\" : 7") X_TO_Y
     "{ s = Constant <value = int64[1] {2}> () y = Reshape (x, s) }",
     -1, "(Constant) has a type that version 7 of operator set ai.onnx does not allow"},
};

static uint32_t count_errors_of(hone_model *m) {
    hone_problems *problems;
    expect_ok(hone_model_check(m, &problems, &error));
    uint32_t n = hone_problems_count(problems, HONE_ERROR);
    hone_problems_free(problems);
    return n;
}

static void expect_lenient(const lenient_case *c, hone_level level) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.level = level;
    runner r = runner_with(c->text, NULL, &options);
    if (!count_errors_of(r.model))
        fail_msg("the checker finds nothing wrong with %s", c->text);
    const char *note = hone_session_model_note(r.session);
    if (*c->note ? !strstr(note, c->note) : *note != '\0')
        fail_msg("'%s' instead of '%s' for %s", note, c->note, c->text);
    hone_value *x = tensor_of(ELEM_FLOAT, (const float[]){-1, -1}, DIMS(2));
    hone_value *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, c->wanted, c->wanted);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

static void test_runs_what_others_run(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lenient / sizeof *lenient; i++) {
        expect_lenient(&lenient[i], HONE_LEVEL_NONE);
        expect_lenient(&lenient[i], HONE_LEVEL_ALL);
    }
}

/* Optimized models are valid: sorted, with all imports. */
static void test_optimized_models_are_valid(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lenient / sizeof *lenient; i++) {
        hone_model *m, *optimized;
        if (strstr(lenient[i].text, "=> (y)") || strstr(lenient[i].text, "=> (z, y)"))
            continue; /* outputs stay as the file declares them */
        expect_ok(load_text(lenient[i].text, NULL, &m, &error));
        expect_ok(hone_model_optimize(m, NULL, &optimized, NULL, &error));
        assert_int_equal(count_errors_of(optimized), 0);
        hone_model_free(optimized);
        hone_model_free(m);
    }
}

static void test_valid_models_have_no_note(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD X_TO_Y "{ y = Neg (x) }");
    assert_string_equal(hone_session_model_note(r.session), "");
    runner_free(&r);
}

static void expect_not_run(const char *text, const char *why) {
    hone_model *m;
    hone_session *session;
    hone_error problem;
    expect_ok(load_text(text, NULL, &m, &error));
    assert_int_not_equal(hone_session_create(m, NULL, &session, &problem), HONE_OK);
    if (!strstr(problem.message, why))
        fail_msg("'%s' does not say '%s'", problem.message, why);
    hone_model_free(m);
}

static void test_other_faults_stay(void **state) {
    (void)state;
    expect_not_run(ONNX17 X_TO_Y "{ y = Add (x, b) b = Neg (y) }", "cycle of 2 nodes");
    expect_not_run(ONNX17 X_TO_Y "{ y = Neg (nowhere) }", "which no node computes");
    expect_not_run(ONNX17 X_TO_Y "{ y = hone.Conv (x, x) }", "needs operator set 'hone'");
    expect_not_run(ONNX17 X_TO_Y "{ y = other.Neg (x) }", "needs operator set 'other'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_what_others_run),
        cmocka_unit_test(test_optimized_models_are_valid),
        cmocka_unit_test(test_valid_models_have_no_note),
        cmocka_unit_test(test_other_faults_stay),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
