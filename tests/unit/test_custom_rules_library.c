/* Rules of shared libraries: the example, and libraries that are rejected. MY_OPS and MY_RULES are
 * the examples, BAD_RULES the folder of the others. */
#include "optimize_model.h"

static const char *bad_library(const char *fault) {
    static char path[512];
    snprintf(path, sizeof path, "%s/bad_rules_%s.so", getenv("BAD_RULES"), fault);
    return path;
}

static void the_example_fuses(void **state) {
    (void)state;
    hone_load_options load;
    hone_optimize_options options = default_options();
    hone_rule_set *rules;
    optimized o;
    hone_load_options_init(&load);
    expect_ok(hone_op_registry_create(NULL, &load.ops, &error));
    expect_ok(hone_op_registry_load(load.ops, getenv("MY_OPS"), &error));
    expect_ok(hone_rule_set_create(NULL, &rules, &error));
    expect_ok(hone_rule_set_load(rules, getenv("MY_RULES"), &error));
    options.rules = rules;
    options.verify = true;
    expect_ok(hone_model_load("examples/custom_rule/blend.onnxtxt", &load, &o.before, &error));
    hone_op_registry_free(load.ops);
    expect_ok(hone_model_optimize(o.before, &options, &o.after, &o.report, &error));
    hone_rule_set_free(rules); /* and the library with it */
    hone_optimization_get_info(o.report, &o.info);
    expect_operators(o.after, "my.ops.WeightedSum my.ops.KeepPositive");
    assert_int_equal(count_rewrites(&o, "custom-rules", "weighted-sum"), 1);
    assert_int_equal(count_rewrites(&o, "custom-rules", "keep-positive"), 1);
    assert_int_equal(o.info.n_guilty, 0);
    assert_true(o.info.is_verified && o.info.max_relative < 1e-6);
    optimized_free(&o);
}

static void other_libraries_are_refused(void **state) {
    (void)state;
    hone_rule_set *rules;
    expect_ok(hone_rule_set_create(NULL, &rules, &error));
    expect_failure(hone_rule_set_load(rules, "nowhere.so", &error), HONE_E_IO,
                   "cannot load the library 'nowhere.so'");
    expect_failure(hone_rule_set_load(rules, DIGITS, &error), HONE_E_IO, "cannot load the library");
    expect_failure(hone_rule_set_load(rules, getenv("MY_OPS"), &error), HONE_E_FORMAT,
                   "has no function hone_register_rules");
    expect_failure(hone_rule_set_load(rules, bad_library("no_entry"), &error), HONE_E_FORMAT,
                   "has no function hone_register_rules");
    expect_failure(hone_rule_set_load(rules, bad_library("none"), &error), HONE_E_FORMAT,
                   "registers no rule");
    expect_failure(hone_rule_set_load(rules, bad_library("other_abi"), &error), HONE_E_UNSUPPORTED,
                   "compiled for version 2 of the interface, but this is version 1");
    expect_failure(hone_rule_set_load(rules, bad_library("half"), &error), HONE_E_ARGUMENT,
                   "did not register its rules: rule 'bad' cannot be registered");
    expect_failure(hone_rule_set_load(rules, NULL, &error), HONE_E_ARGUMENT, "'path' is NULL");
    hone_optimize_options options = default_options();
    options.rules = rules; /* nothing is left of them */
    optimized o = optimize(RUN_HEAD "g (float[2] x) => (float[2] y) { y = Relu (x) }", &options);
    assert_int_equal(o.info.n_rewrites + o.info.n_guilty, 0);
    optimized_free(&o);
    hone_rule_set_free(rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_fuses),
                                       cmocka_unit_test(other_libraries_are_refused)};
    return cmocka_run_group_tests_name("libraries of rules", tests, enter_scratch, leave_scratch);
}
