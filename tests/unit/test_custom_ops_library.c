/* Operators of shared libraries: the example, and libraries that are rejected. MY_OPS is the
 * example, BAD_OPS the folder of the others. */
#include "run_model.h"

static const char *bad_library(const char *fault) {
    static char path[512];
    snprintf(path, sizeof path, "%s/bad_ops_%s.so", getenv("BAD_OPS"), fault);
    return path;
}

static void the_example_runs(void **state) {
    (void)state;
    hone_load_options load;
    runner r;
    hone_load_options_init(&load);
    expect_ok(hone_op_registry_create(NULL, &load.ops, &error));
    expect_ok(hone_op_registry_load(load.ops, getenv("MY_OPS"), &error));
    expect_ok(hone_model_load("examples/custom_op/gate.onnxtxt", &load, &r.model, &error));
    hone_op_registry_free(load.ops);
    expect_ok(hone_session_create(r.model, NULL, &r.session, &error));
    const float in[] = {-1, 0, 1, 2};
    hone_value *x = tensor_of(ELEM_FLOAT, in, DIMS(1, 4)), *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 0.75f * 0.880797f + 0.125f, 0.75f * 1.964028f + 0.25f);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

static void other_libraries_are_refused(void **state) {
    (void)state;
    hone_op_registry *r;
    expect_ok(hone_op_registry_create(NULL, &r, &error));
    expect_failure(hone_op_registry_load(r, "nowhere.so", &error), HONE_E_IO,
                   "cannot load the library 'nowhere.so'");
    expect_failure(hone_op_registry_load(r, DIGITS, &error), HONE_E_IO, "cannot load the library");
    expect_failure(hone_op_registry_load(r, bad_library("no_entry"), &error), HONE_E_FORMAT,
                   "has no function hone_register_ops");
    expect_failure(hone_op_registry_load(r, bad_library("none"), &error), HONE_E_FORMAT,
                   "registers no operator");
    expect_failure(hone_op_registry_load(r, bad_library("other_abi"), &error), HONE_E_UNSUPPORTED,
                   "compiled for version 2 of the interface, but this is version 1");
    expect_failure(hone_op_registry_load(r, bad_library("clash"), &error), HONE_E_ARGUMENT,
                   "operator ai.onnx.Relu cannot be registered: hone has it built in");
    expect_failure(hone_op_registry_load(r, bad_library("half"), &error), HONE_E_NOT_FOUND,
                   "did not register its operators: not found");
    expect_failure(hone_op_registry_load(r, NULL, &error), HONE_E_ARGUMENT, "'path' is NULL");
    expect_ok(hone_op_registry_load(r, getenv("MY_OPS"), &error)); /* nothing is left behind */
    expect_failure(hone_op_registry_load(r, getenv("MY_OPS"), &error), HONE_E_ARGUMENT,
                   "my.ops.Swish cannot be registered: its version 1 is registered already");
    hone_op_registry_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_runs),
                                       cmocka_unit_test(other_libraries_are_refused)};
    return cmocka_run_group_tests_name("libraries of operators", tests, enter_scratch,
                                       leave_scratch);
}
