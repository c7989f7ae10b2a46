/* Registration of operators: names, notation, memory; unknown operators. */
#include "custom_op_model.h"

#include "counting_allocator.h"
#include "ops/schema/registry.h"

static void names_must_be_free(void **state) {
    (void)state;
    hone_op_def op = plain_op("Twice"), relu = plain_op("Relu"), bare = plain_op("Bare");
    op.compute = relu.compute = negate;
    hone_op_registry *r = registry_with(&op);
    expect_failure(hone_op_registry_add(r, &op, &error), HONE_E_ARGUMENT,
                   "t.Twice cannot be registered: its version 1 is registered already");
    op.versions = "2";
    expect_ok(hone_op_registry_add(r, &op, &error));
    relu.domain = "ai.onnx";
    expect_failure(hone_op_registry_add(r, &relu, &error), HONE_E_ARGUMENT, "built in");
    relu.domain = "";
    expect_failure(hone_op_registry_add(r, &relu, &error), HONE_E_ARGUMENT, "built in");
    relu.domain = "hone";
    expect_failure(hone_op_registry_add(r, &relu, &error), HONE_E_ARGUMENT, "for itself");
    expect_failure(hone_op_registry_add(r, &bare, &error), HONE_E_ARGUMENT,
                   "compute must be there");
    bare.abi = 99;
    expect_failure(hone_op_registry_add(r, &bare, &error), HONE_E_UNSUPPORTED, "version 99");
    hone_load_options load;
    hone_load_options_init(&load);
    load.ops = r;
    hone_model *m;
    expect_ok(
        load_text(HEAD "g (float[n] x) => (float[n] y) { y = t.Twice (x) }", &load, &m, &error));
    op.versions = "3";
    expect_failure(hone_op_registry_add(r, &op, &error), HONE_E_ARGUMENT,
                   "register operators first");
    hone_op_registry_free(r);
    hone_op_registry_free(NULL);
    hone_model_free(m);
}

static void unknown_operators_have_neighbours(void **state) {
    (void)state;
    hone_op_def op = plain_op("Frobnicate");
    op.compute = negate;
    hone_session *session;
    hone_model *m =
        model_with(HEAD "g (float[n] x) => (float[n] y) { [n] y = t.Frobnicat (x) }", &op);
    expect_problem(m, HONE_ERROR,
                   "operator set t version 2 has no operator 'Frobnicat'; near: Frobnicate");
    expect_failure(hone_session_create(m, NULL, &session, &error), HONE_E_UNSUPPORTED,
                   "node 'n' (t.Frobnicat): operator set t version 2 has no operator 'Frobnicat'; "
                   "near: Frobnicate");
    hone_model_free(m);
    m = model_from(HEAD "g (float[n] x) => (float[n] y) { [n] y = t.Gelu (x) }");
    expect_problem(m, HONE_WARNING,
                   "hone knows no operator set 't' with an operator 'Gelu'; near: "
                   "ai.onnx.Gelu");
    expect_failure(hone_session_create(m, NULL, &session, &error), HONE_E_UNSUPPORTED,
                   "'t' with an operator 'Gelu'; near: ai.onnx.Gelu");
    hone_model_free(m);
    op.versions = "3";
    m = model_with(HEAD "g (float[n] x) => (float[n] y) { [n] y = t.Frobnicate (x) }", &op);
    expect_problem(m, HONE_ERROR,
                   "was introduced in version 3 of operator set t, but the model imports "
                   "version 2");
    hone_model_free(m);
}

static void bad_notation_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *versions, *inputs, *types, *attributes, *phrase;
    } cases[] = {
        {"2nd", "1", "X:T", "T=float", "", "'2nd' in its name is not a name for an operator"},
        {"Op", "", "X:T", "T=float", "", "'' in its versions must name a version"},
        {"Op", "2 1", "X:T", "T=float", "", "'1' in its versions must be a version"},
        {"Op", "0", "X:T", "T=float", "", "'0' in its versions must be a version"},
        {"Op", "1x", "X:T", "T=float", "", "'1x' in its versions"},
        {"Op", "9999999999", "X:T", "T=float", "", "'9999999999' in its versions"},
        {"Op", "1", "X", "T=float", "", "'X' in its inputs must look like name:type"},
        {"Op", "1", "X:T  Y:T", "T=float", "", "'' in its inputs must look like name:type"},
        {"Op", "1", "X:U", "T=float", "", "has a type that is neither a variable"},
        {"Op", "1", "X:T*1 Y:T", "T=float", "", "'Y:T' in its inputs follows a variadic parameter"},
        {"Op", "1", "X:T?2", "T=float", "", "unknown mark; use ?, *N or ~N"},
        {"Op", "1", "X:T@", "T=float", "", "'X:T@' in its inputs"},
        {"Op", "1", "X:T", "T", "", "'T' in its types must look like T=float"},
        {"Op", "1", "X:T", "T=quad", "", "'quad' in its types is neither an element type"},
        {"Op", "1", "X:T", "T=$none", "", "'$none' in its types"},
        {"Op", "1", "X:T", "T=seq(float)", "", "has parentheses"},
        {"Op", "1", "X:T", "T=float", "a", "'a' in its attributes must look like name:kind"},
        {"Op", "1", "X:T", "T=float", "a:g!", "has an unknown kind"},
        {"Op", "1", "X:T", "T=float", "a:i=x", "'a:i=x' in its attributes has a default"},
        {"Op", "1", "X:T", "T=float", "a:f=1e", "has a default that cannot be read"},
        {"Op", "1", "X:T", "T=float", "a:ints=1,x", "has a default"},
        {"Op", "1", "X:T", "T=float", "a:t=1", "has a default"},
    };
    hone_op_registry *r;
    expect_ok(hone_op_registry_create(NULL, &r, &error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_op_def op = plain_op(cases[i].name);
        op.versions = cases[i].versions;
        op.inputs = cases[i].inputs;
        op.types = cases[i].types;
        op.attributes = cases[i].attributes;
        op.compute = negate;
        expect_failure(hone_op_registry_add(r, &op, &error), HONE_E_ARGUMENT, cases[i].phrase);
    }
    hone_op_registry_free(r);
}

/* The table is written in the same notation: what others may say of it passes. */
static void the_table_passes(void **state) {
    (void)state;
    uint32_t n_passed = 0;
    for (uint32_t i = 0; i < hn_op_count(NULL); i++) {
        const hn_op *row = hn_op_row(NULL, i);
        hone_op_def op = {.domain = "t",
                          .name = hn_op_name(row),
                          .versions = hn_op_text(row, HN_OP_VERSIONS),
                          .inputs = hn_op_text(row, HN_OP_INPUTS),
                          .outputs = hn_op_text(row, HN_OP_OUTPUTS),
                          .types = hn_op_text(row, HN_OP_TYPES),
                          .attributes = hn_op_text(row, HN_OP_ATTRS)};
        hone_error error = {.code = HONE_OK};
        bool passes = hn_op_columns_ok(&op, &error) == HONE_OK;
        n_passed += passes;
        if (!passes && !hn_op_is_extension(row) && !strstr(error.message, "parentheses") &&
            !strstr(error.message, "has an unknown kind"))
            fail_msg("%s", error.message);
    }
    assert_true(n_passed > hn_op_count(NULL) / 2);
}

static hone_status use_registry(const hone_allocator *alloc, hone_error *error) {
    hone_op_def op = plain_op("Negate");
    hone_load_options load;
    hone_model *m = NULL;
    hone_session *session = NULL;
    op.compute = negate;
    hone_load_options_init(&load);
    load.allocator = alloc;
    hone_status status = hone_op_registry_create(alloc, &load.ops, error);
    if (status == HONE_OK)
        status = hone_op_registry_add(load.ops, &op, error);
    if (status == HONE_OK)
        status =
            load_text(HEAD "g (float[n] x) => (float[n] y) { y = t.Negate (x) }", &load, &m, error);
    if (status == HONE_OK)
        status = hone_session_create(m, NULL, &session, error);
    hone_session_free(session);
    hone_model_free(m);
    hone_op_registry_free(load.ops);
    return status;
}

static void memory_may_run_out(void **state) {
    (void)state;
    hone_status status = HONE_E_NOMEM;
    for (size_t n = 1; status != HONE_OK; n++) {
        counting_allocator c;
        hone_error error;
        counting_init(&c, n);
        status = use_registry(&c.hook, &error);
        assert_true(counting_is_clean(&c));
        assert_true(status == HONE_OK || (status == HONE_E_NOMEM && error.message[0]));
        assert_true(n < 10000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_must_be_free),
        cmocka_unit_test(unknown_operators_have_neighbours),
        cmocka_unit_test(bad_notation_is_refused),
        cmocka_unit_test(the_table_passes),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("registry", tests, enter_scratch, leave_scratch);
}
