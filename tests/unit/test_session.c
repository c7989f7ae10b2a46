/* Sessions: inputs, outputs, and invalid calls. */
#include "run_model.h"

#define AFFINE                                                                                    \
  RUN_HEAD "g (float[n,2] x) => (float[n,2] y) <float[2] w = {10, 20}> { s = Mul (x, w) y = Add " \
           "(s, w) }"

static void a_model_computes(void **state) {
    (void)state;
    runner r = runner_of(AFFINE);
    assert_int_equal(hone_session_n_inputs(r.session), 1);
    assert_int_equal(hone_session_n_outputs(r.session), 1);
    assert_string_equal(hone_session_input_name(r.session, 0), "x");
    assert_string_equal(hone_session_output_name(r.session, 0), "y");
    assert_string_equal(hone_session_input_name(r.session, 1), "");
    hone_value *x = counting_floats(DIMS(2, 2)), *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 10, 40, 30, 80);
    expect_dims(y, DIMS(2, 2));
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* ---- refused --------------------------------------------------------------------------------- */

static void wrong_inputs_are_named(void **state) {
    (void)state;
    runner r = runner_of(AFFINE);
    int64_t whole[4] = {0};
    hone_value *x = counting_floats(DIMS(2, 2)), *narrow = counting_floats(DIMS(2, 3)),
               *flat = counting_floats(DIMS(4));
    hone_value *ints = tensor_of(ELEM_INT64, whole, DIMS(2, 2)), *y = NULL;
    const hone_value *twice[] = {x, x}, *none = NULL;
    const char *names[] = {"x", "x"}, *out = "y", *bad = "z";
    expect_failure(run_one(&r, "q", x, "y", &y, &error), HONE_E_NOT_FOUND,
                   "no input 'q'; it has x");
    expect_failure(run_one(&r, "x", x, "z", &y, &error), HONE_E_NOT_FOUND,
                   "no output 'z'; it has y");
    expect_failure(run_one(&r, NULL, NULL, "y", &y, &error), HONE_E_ARGUMENT,
                   "input 'x' is missing: float[n,2]");
    expect_failure(run_one(&r, "x", ints, "y", &y, &error), HONE_E_TYPE,
                   "is int64[2,2], but the model takes float[n,2]");
    expect_failure(run_one(&r, "x", narrow, "y", &y, &error), HONE_E_SHAPE,
                   "is float[2,3], but the model takes float[n,2]");
    expect_failure(run_one(&r, "x", flat, "y", &y, &error), HONE_E_SHAPE,
                   "is float[4], but the model takes float[n,2]");
    expect_failure(run_one(&r, "x", none, "y", &y, &error), HONE_E_ARGUMENT, "input 'x' is NULL");
    expect_failure(hone_session_run(r.session, NULL, 2, names, twice, 1, &out, &y, &error),
                   HONE_E_ARGUMENT, "given twice");
    expect_failure(hone_session_run(r.session, NULL, 1, names, twice, 1, &bad, &y, &error),
                   HONE_E_NOT_FOUND, "'z'");
    expect_failure(hone_session_run(r.session, NULL, 1, NULL, NULL, 1, &out, &y, &error),
                   HONE_E_ARGUMENT, "are NULL");
    assert_null(y);
    y = result_of(&r, "x", x, "y"); /* nothing of it is left behind */
    EXPECT_FLOATS(y, 10, 40, 30, 80);
    hone_value *all[] = {x, narrow, flat, ints, y};
    for (size_t i = 0; i < 5; i++)
        hone_value_free(all[i]);
    runner_free(&r);
}

static void providers_and_operators_must_exist(void **state) {
    (void)state;
    hone_model *model = model_from(AFFINE),
               *odd = model_from(RUN_HEAD "g (float[2] x) => (float[2] y) { y = my.Odd (x) }");
    hone_session *session;
    hone_session_options options;
    hone_session_options_init(&options);
    const char *const asked[] = {"cpu", "cuda"};
    options.n_providers = 2;
    options.providers = asked;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_UNSUPPORTED,
                   "'cuda'; this build has: cpu");
    assert_null(session);
    expect_failure(hone_session_create(odd, NULL, &session, &error), HONE_E_UNSUPPORTED, "Odd");
    options.size = 0;
    expect_failure(hone_session_create(model, &options, &session, &error), HONE_E_ARGUMENT,
                   "hone_session_options");
    hone_model_free(model);
    hone_model_free(odd);
}

static void a_failed_run_leaves_the_session_sound(void **state) {
    (void)state;
    runner r = runner_of(
        RUN_HEAD
        "g (float[n] x, int64[k] i) => (float[m] y) { a = Neg (x) b = Gather (a, i) y = Neg (b) }");
    int64_t good[] = {1, 0}, bad[] = {0, 7};
    const char *names[] = {"x", "i"}, *out = "y";
    hone_value *x = counting_floats(DIMS(3)), *y = NULL;
    hone_value *picks[] = {tensor_of(ELEM_INT64, bad, DIMS(2)),
                           tensor_of(ELEM_INT64, good, DIMS(2))};
    for (int i = 0; i < 6; i++) {
        const hone_value *in[] = {x, picks[i % 2]};
        if (i % 2 == 0) {
            expect_failure(hone_session_run(r.session, NULL, 2, names, in, 1, &out, &y, &error),
                           HONE_E_INVALID, "Gather");
            assert_null(y);
            continue;
        }
        expect_ok(hone_session_run(r.session, NULL, 2, names, in, 1, &out, &y, &error));
        EXPECT_FLOATS(y, 1, 0);
        hone_value_free(y);
        y = NULL;
    }
    hone_value_free(x);
    hone_value_free(picks[0]);
    hone_value_free(picks[1]);
    runner_free(&r);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void outputs_can_be_chosen(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD "g (float[n] x) => (float[n] a, float[n] b, float[n] c) { a = "
                                  "Neg (x) b = Abs (a) c = Add (a, b) }");
    const char *in = "x", *some[] = {"c", "a"}, *twice[] = {"a", "a"};
    hone_value *x = counting_floats(DIMS(3)), *two[2] = {0}, *all[3] = {0};
    const hone_value *xs = x;
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 2, some, two, &error));
    EXPECT_FLOATS(two[0], 0, 0, 0);
    EXPECT_FLOATS(two[1], 0, -1, -2);
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, all, &error));
    EXPECT_FLOATS(all[1], 0, 1, 2);
    for (int i = 0; i < 3; i++)
        hone_value_free(all[i]);
    hone_value_free(two[0]);
    hone_value_free(two[1]);
    two[0] = two[1] = NULL;
    expect_failure(hone_session_run(r.session, NULL, 1, &in, &xs, 2, twice, two, &error),
                   HONE_E_ARGUMENT, "'a' is requested twice");
    assert_null(two[0]);
    assert_null(two[1]);
    hone_value_free(x);
    runner_free(&r);
}

static void results_go_to_the_callers_buffers(void **state) {
    (void)state;
    runner r = runner_of(
        RUN_HEAD "g (float[n] x) => (float[n] y, int64[1,k] i) { y = Neg (x) i = NonZero (x) }");
    float y_data[3] = {0};
    int64_t i_data[2] = {9, 9};
    const char *in = "x";
    hone_value *x = counting_floats(DIMS(3)), *bound[2], *wrong[2] = {0};
    const hone_value *xs = x;
    expect_ok(hone_value_borrow(ELEM_FLOAT, DIMS(3), y_data, sizeof y_data, &bound[0], &error));
    expect_ok(hone_value_borrow(ELEM_INT64, DIMS(1, 2), i_data, sizeof i_data, &bound[1], &error));
    expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, bound, &error));
    assert_float_equal(y_data[2], -2, 0);
    assert_int_equal(i_data[0], 1);
    assert_int_equal(i_data[1], 2);

    wrong[0] = counting_floats(DIMS(4)); /* a shape that is known before the run */
    expect_failure(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, wrong, &error),
                   HONE_E_SHAPE, "output 'y' is float[4], but the model computes float[3]");
    assert_null(wrong[1]);
    hone_value_free(wrong[0]);
    wrong[0] = NULL;
    wrong[1] = tensor_of(ELEM_INT64, NULL,
                         DIMS(2, 1)); /* and one that is not: as many elements are not enough */
    expect_failure(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, wrong, &error),
                   HONE_E_SHAPE, "output 'i' is int64[2,1], but the model computes int64[1,2]");
    assert_null(wrong[0]);
    hone_value_free(wrong[1]);
    hone_value_free(bound[0]);
    hone_value_free(bound[1]);
    hone_value_free(x);
    runner_free(&r);
}

static void outputs_may_be_inputs_or_initializers(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD "g (float[n] x, float[2] unused) => (float[n] x, float[2] w, "
                                  "float[n] v) <float[2] w = {5, 6}> "
                                  "{ v = Identity (x) }");
    const char *names[] = {"x", "unused"};
    hone_value *x = counting_floats(DIMS(2)), *out[3] = {0};
    const hone_value *in[] = {x, x};
    expect_ok(hone_session_run(r.session, NULL, 2, names, in, 0, NULL, out, &error));
    EXPECT_FLOATS(out[0], 0, 1);
    EXPECT_FLOATS(out[1], 5, 6);
    EXPECT_FLOATS(out[2], 0, 1);
    hone_value_free(x); /* the outputs are copies */
    for (int i = 0; i < 3; i++) {
        EXPECT_FLOATS(out[i], i == 1 ? 5 : 0, i == 1 ? 6 : 1);
        hone_value_free(out[i]);
    }
    runner_free(&r);
}

/* Inputs of a Concat are computed in its result, and read there. */
static void joined_values_are_right(void **state) {
    (void)state;
    runner r = runner_of(
        RUN_HEAD
        "g (float[1,n] x) => (float[1,m] y, float[1,n] z) {\n"
        "  a = Neg (x) b = Exp (x) l = Log (b) c = Concat <axis: int = 1> (a, l, x, a) q = "
        "Add (a, l) d = Concat <axis: int = 0> (c, c) s = ReduceSum <keepdims: int = 0> "
        "(d) e = Add (c, s) h = Concat <axis: int = 1> (q, e) y = Neg (h) z = Sub (q, a) }");
    hone_value *x = counting_floats(DIMS(1, 2)), *out[2] = {0};
    const hone_value *xs = x;
    const char *in = "x";
    for (int i = 0; i < 2; i++) {
        expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, out, &error));
        EXPECT_FLOATS(out[0], 0, 0, 0, 1, 0, -1, 0, -1, 0, 1);
        EXPECT_FLOATS(out[1], 0, 1);
        hone_value_free(out[0]);
        hone_value_free(out[1]);
        out[0] = out[1] = NULL;
    }
    hone_value_free(x);
    runner_free(&r);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void initializers_are_defaults(void **state) {
    (void)state;
    runner r =
        runner_of("<ir_version: 8, opset_import: [\"\" : 21]>\n"
                  "g (float[n] x, float[2] w = {10, 20}) => (float[n] y) { y = Mul (x, w) }");
    const char *names[] = {"x", "w"}, *out = "y";
    hone_value *x = counting_floats(DIMS(2)), *w = counting_floats(DIMS(2)), *y = NULL;
    const hone_value *in[] = {x, w};
    assert_int_equal(hone_session_n_inputs(r.session), 1);
    for (int i = 0; i < 4; i++) {
        expect_ok(hone_session_run(r.session, NULL, i % 2 ? 2 : 1, names, in, 1, &out, &y, &error));
        EXPECT_FLOATS(y, 0, i % 2 ? 1 : 20);
        hone_value_free(y);
        y = NULL;
    }
    runner_free(&r);
    r = runner_as_written(
        "<ir_version: 3, opset_import: [\"\" : 8]>\n"
        "g (float[n] x, float[2] w = {10, 20}) => (float[n] y) { y = Mul (x, w) }");
    expect_failure(hone_session_run(r.session, NULL, 2, names, in, 1, &out, &y, &error),
                   HONE_E_ARGUMENT, "constant of this model");
    y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 0, 20);
    hone_value_free(y);
    hone_value_free(x);
    hone_value_free(w);
    runner_free(&r);
}

static void tensors_may_be_empty(void **state) {
    (void)state;
    runner r = runner_of(
        RUN_HEAD
        "g (float[n,2] x) => (float[m,2] y, float[k] flat) <int64[1] all = {-1}> "
        "{ a = Neg (x) y = Concat <axis: int = 0> (a, x) b = Abs (a) flat = Reshape (b, all) }");
    const char *in = "x";
    for (int64_t n = 0; n < 3; n++) {
        hone_value *x = counting_floats(DIMS(n, 2)), *out[2] = {0};
        const hone_value *xs = x;
        expect_ok(hone_session_run(r.session, NULL, 1, &in, &xs, 0, NULL, out, &error));
        expect_dims(out[0], DIMS(2 * n, 2));
        expect_dims(out[1], DIMS(2 * n));
        hone_value_free(x);
        hone_value_free(out[0]);
        hone_value_free(out[1]);
    }
    runner_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_computes),
        cmocka_unit_test(wrong_inputs_are_named),
        cmocka_unit_test(providers_and_operators_must_exist),
        cmocka_unit_test(a_failed_run_leaves_the_session_sound),
        cmocka_unit_test(outputs_can_be_chosen),
        cmocka_unit_test(results_go_to_the_callers_buffers),
        cmocka_unit_test(outputs_may_be_inputs_or_initializers),
        cmocka_unit_test(joined_values_are_right),
        cmocka_unit_test(initializers_are_defaults),
        cmocka_unit_test(tensors_may_be_empty),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
