/* Models with operators that a test registers. */
#ifndef TEST_CUSTOM_OP_MODEL_H
#define TEST_CUSTOM_OP_MODEL_H

#include "run_model.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"t\" : 2]>\n"

static inline hone_op_def plain_op(const char *name) {
    return (hone_op_def){.abi = HONE_OP_ABI,
                         .domain = "t",
                         .name = name,
                         .versions = "1",
                         .inputs = "X:T",
                         .outputs = "Y:T",
                         .types = "T=float,int64"};
}

static inline hone_op_registry *registry_with(const hone_op_def *op) {
    hone_op_registry *r;
    expect_ok(hone_op_registry_create(NULL, &r, &error));
    expect_ok(hone_op_registry_add(r, op, &error));
    return r;
}

/* The registry is freed at once: the model holds a reference. */
static inline hone_model *model_with(const char *text, const hone_op_def *op) {
    hone_load_options load;
    hone_model *m;
    hone_load_options_init(&load);
    load.ops = registry_with(op);
    expect_ok(load_text(text, &load, &m, &error));
    hone_op_registry_free(load.ops);
    return m;
}

static inline void expect_problem(hone_model *m, hone_severity severity, const char *phrase) {
    hone_problems *problems;
    hone_problem p;
    expect_ok(hone_model_check(m, &problems, &error));
    assert_int_equal(hone_problems_listed(problems), 1);
    hone_problems_get(problems, 0, &p);
    assert_int_equal(p.severity, severity);
    if (!strstr(p.message, phrase))
        fail_msg("'%s' lacks '%s'", p.message, phrase);
    hone_problems_free(problems);
}

/* hone->fail is in parentheses, because cmocka has a macro of that name. */
static inline hone_status negate(const hone_op_api *hone, hone_op_node *node, void *state) {
    hone_tensor_info x;
    void *y;
    (void)state;
    if (!hone->input(node, 0, &x))
        return (hone->fail)(node, HONE_E_INTERNAL, "there is no input");
    hone_status status = hone->output(node, 0, x.elem_type, x.rank, x.dims, &y);
    for (uint64_t i = 0; status == HONE_OK && y && i < x.n_elements; i++)
        ((float *)y)[i] = -((const float *)x.data)[i];
    return status;
}

#endif
