/* Sizes of inputs that a verification makes up, and its limits. */
#include "optimize_model.h"

static hone_optimize_options verifying(void) {
    hone_optimize_options o = default_options();
    o.level = HONE_LEVEL_ALL;
    o.verify = true;
    return o;
}

#define HEAD17 "<ir_version: 10, opset_import: [\"\" : 17]>\n"

static const struct found_case {
    const char *text, *shapes;
} found_cases[] = {
    /* Small sizes run. */
    {HEAD17 "g (float[n,c] x) => (float[n,c] y) { e = Exp (x) y = Relu (e) }", "x 2x3"},
    /* A window of 127 samples. */
    {HEAD17 "g (float[n,1,t] x) => (float[n,1,u] y)"
            " { y = MaxPool <kernel_shape = [127], strides = [3]> (x) }",
     "x 2x1x256"},
    /* An axis that must be gone after strides. */
    {HEAD17 "g (float[n,1,32,w] x) => (float[n,1,u] y) <int64[1] a = {2}>"
            " { p = MaxPool <kernel_shape = [32, 4], strides = [32, 4]> (x) y = Squeeze (p, a) }",
     "x 2x1x32x256"},
    /* A length that is the sum of two others, without saying so. */
    {HEAD17 "g (float[batch,past] x, float[batch,seq] z, float[batch,total] w) =>"
            " (float[batch,total] y) { c = Concat <axis = 1> (x, z) y = Mul (c, w) }",
     "x 1x8, z 1x8, w 1x16"},
    /* And saying so. */
    {HEAD17 "g (float[past] x, float[seq] z, float[\"past + seq\"] w) =>"
            " (float[t] y) { c = Concat <axis = 0> (x, z) y = Mul (c, w) }",
     "x 2, z 3, w 5"},
    /* A batch at another place than the first axis. */
    {HEAD17 "g (float[n,1,t] x, float[3,m] z) => (float[n,3,u] y)"
            " { p = MaxPool <kernel_shape = [127], strides = [40]> (x) y = Add (p, z) }",
     "x 1x1x256, z 3x1"},
    /* Names that lie: sizes that contradict them run. */
    {HEAD17 "g (float[n,n] x) => (float[n,n] y) { e = Exp (x) y = Relu (e) }", "x 2x4"},
    {HEAD17 "g (float[n,c] x, float[n,c] z) => (float[n,c] y, float[n,c] w)"
            " { y = Exp (x) w = Exp (z) }",
     "x 2x3, z 4x6"},
    {HEAD17 "g (float[n,c] x, float[n,c] z) => (float[n,c] y) { y = Add (x, z) }", "x 2x3, z 1x1"},
};

static void sizes_that_run_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof found_cases / sizeof *found_cases; i++) {
        const struct found_case *c = &found_cases[i];
        hone_optimize_options options = verifying();
        optimized o = optimize(c->text, &options);
        assert_true(o.info.is_verified);
        assert_int_equal(o.info.n_guilty, 0);
        assert_string_equal(o.info.verify_shapes, c->shapes);
        optimized_free(&o);
    }
}

/* The shape of x is read where that of z was asked for. */
static const char two_sizes[] =
    HEAD17 "g (float[n,c] x, float[n,c] z, float[1,1] o) => (float[n,c] y, float[n,c] w)"
           " { e = Exp (x) f = Exp (z) s = Shape (e) y = Expand (o, s) t = Shape (f)"
           " w = Expand (o, t) }";

static void a_name_that_lies_is_found(void **state) {
    (void)state;
    hone_optimize_options options = verifying();
    options.trust_dim_names = true;
    optimized o = optimize(two_sizes, &options);
    assert_true(o.info.n_guilty > 0);
    assert_true(o.info.max_difference == 0);
    optimized_free(&o);
    options.trust_dim_names = false;
    o = optimize(two_sizes, &options);
    assert_int_equal(o.info.n_guilty, 0);
    optimized_free(&o);
}

/* Sizes of inputs that are given hold for the others. */
static void given_inputs_fix_names(void **state) {
    (void)state;
    const char *name = "z";
    const hone_value *z = counting_floats(DIMS(7, 5));
    hone_optimize_options options = verifying();
    options.n_verify_inputs = 1;
    options.verify_input_names = &name;
    options.verify_inputs = &z;
    optimized o = optimize(
        HEAD17 "g (float[n,c] x, float[n,c] z) => (float[n,d] y) { y = Concat <axis = 1> (x, z) }",
        &options);
    assert_string_equal(o.info.verify_shapes, "x 7x5");
    optimized_free(&o);
    hone_value_free((hone_value *)(uintptr_t)z);
}

static void expect_verification_refused(const char *text, const hone_optimize_options *options,
                                        hone_status wanted, const char *phrase) {
    hone_model *m, *after;
    expect_ok(load_text(text, NULL, &m, &error));
    expect_failure(hone_model_optimize(m, options, &after, NULL, &error), wanted, phrase);
    hone_model_free(m);
}

static void limits_hold(void **state) {
    (void)state;
    static const char text[] = HEAD17 "g (float[512,512] x) => (float[512,512] y)"
                                      " { a = MatMul (x, x) b = MatMul (a, a) y = MatMul (b, b) }";
    hone_optimize_options options = verifying();
    options.verify_timeout_seconds = 1e-6;
    expect_verification_refused(text, &options, HONE_E_CANCELLED, "its deadline has passed");
    options = verifying();
    options.verify_memory_limit_bytes = 1 << 20;
    expect_verification_refused(text, &options, HONE_E_LIMIT, "limit");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_run_are_found), cmocka_unit_test(a_name_that_lies_is_found),
        cmocka_unit_test(given_inputs_fix_names), cmocka_unit_test(limits_hold)};
    return cmocka_run_group_tests_name("sizes of verifications", tests, enter_scratch,
                                       leave_scratch);
}
