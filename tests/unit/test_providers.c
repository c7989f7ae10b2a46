/* What providers add: passes in the lists, operators that only their own graphs know. */
#include "model_text.h"

#include "cpu/ops_cpu.h"
#include "run/session.h"

#define CONV_HEAD "<ir_version: 10, opset_import: [\"\" : 17, \"hone\" : 1, \"my\" : 1]>\n"

static hn_program *program_of(const hn_model *m, hn_level level, hone_error *err) {
    hn_program *program = NULL;
    hone_status status = hn_program_optimized(m, level, NULL, &program, err);
    assert_true((status == HONE_OK) == (program != NULL));
    return program;
}

/* At any level: what only a provider writes is unknown in a file. */
static void files_have_no_operators_of_providers(void **state) {
    (void)state;
    static const hn_level levels[] = {HN_LEVEL_NONE, HN_LEVEL_BASIC, HN_LEVEL_ALL};
    hn_model *m =
        model_from(CONV_HEAD "g (float[1,9,9,3] x, float[2,3,1,1] w) => (float[1,9,9,2] y) {"
                             " y = hone.Conv (x, w) }");
    for (size_t i = 0; i < HN_COUNT(levels); i++) {
        hone_error err = {0};
        assert_null(program_of(m, levels[i], &err));
        assert_int_equal(err.code, HONE_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "has no operator 'Conv'"));
    }
    hn_model_free(m);
}

static void models_learn_operators_once(void **state) {
    (void)state;
    hn_model *m =
        model_from(CONV_HEAD "g (float[1,9,9,3] x, float[2,3,1,1] w) => (float[1,9,9,2] y) {"
                             " y = hone.Conv (x, w) }");
    const hn_node *n = hn_node_at(m->graph, 0);
    int since;
    bool deprecated;
    assert_null(hn_node_op(m->graph, n, &since, &deprecated));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hn_model_add_ops(m, &hn_cpu_ops), HONE_OK);
        assert_int_equal(hn_op_count(hn_model_ops(m)), hn_op_count(NULL) + hn_cpu_ops.n);
        assert_non_null(hn_node_op(m->graph, n, &since, &deprecated));
    }
    hn_model *copy = hn_model_clone(m);
    assert_ptr_equal(hn_model_ops(copy), hn_model_ops(m));
    hn_model_free(m);
    assert_non_null(hn_node_op(copy->graph, hn_node_at(copy->graph, 0), &since, &deprecated));
    hn_model_free(copy);
}

static void rows_of_providers_are_sorted(void **state) {
    (void)state;
    for (uint32_t i = 1; i < hn_cpu_ops.n; i++)
        assert_true(strcmp(hn_op_name(&hn_cpu_ops.rows[i - 1]), hn_op_name(&hn_cpu_ops.rows[i])) <
                    0);
    for (uint32_t i = 0; i < hn_cpu_ops.n; i++)
        assert_int_equal(hn_cpu_ops.rows[i].domain, HN_DOMAIN_HONE);
}

static void passes_of_providers_are_listed(void **state) {
    (void)state;
    uint32_t n = 0;
    while (hn_pass_at(n))
        n++;
    assert_true(n > hn_portable_passes.n);
    assert_null(hn_pass_at(n + 1));
    assert_int_equal(hn_pass_find("channels-last", 13)->group, HN_GROUP_PROVIDER);
    assert_null(hn_pass_find("channels-last", 12));
    for (uint32_t i = 0; i < hn_portable_passes.n; i++)
        assert_true(hn_portable_passes.rows[i].group != HN_GROUP_PROVIDER);
}

/* Convolutions of the program are the provider's, unless its pass is switched off. */
static void passes_of_providers_can_be_disabled(void **state) {
    (void)state;
    static const char *const off[] = {"channels-last", "conv-chains.start"};
    for (uint32_t n_disabled = 0; n_disabled <= HN_COUNT(off); n_disabled++) {
        hone_error err = {0};
        hn_optimize_options o;
        hn_opt_log *log = hn_opt_log_new(NULL);
        hn_model *m = model_from("<ir_version: 10, opset_import: [\"\" : 17]>\n"
                                 "g (float[1,8,9,9] x) => (float[1,1,9,9] y) <float[1,8,1,1] w ="
                                 " {1, 2, 3, 4, 5, 6, 7, 8}> { y = Conv (x, w) }");
        hn_optimize_options_init(&o);
        o.level = HN_LEVEL_ALL;
        o.target = HN_TARGET_SESSION;
        o.n_disabled = n_disabled;
        o.disabled = off;
        assert_int_equal(hn_optimize_for_session(m, NULL, &o, log, &err), HONE_OK);
        assert_int_equal(hn_opset_version(&m->opsets, hn_intern_z(m->names, "hone")) >= 0,
                         n_disabled == 0);
        hn_opt_log_free(log);
        hn_model_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_no_operators_of_providers),
        cmocka_unit_test(models_learn_operators_once),
        cmocka_unit_test(rows_of_providers_are_sorted),
        cmocka_unit_test(passes_of_providers_are_listed),
        cmocka_unit_test(passes_of_providers_can_be_disabled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
