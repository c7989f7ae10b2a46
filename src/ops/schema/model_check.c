/* Checks a model: its structure, its nodes against their schemas, types and shapes. */
#include "ops/infer/infer_engine.h"

static void check_forms(const hn_graph *g, const hn_function *f, hn_problems *p) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_op *op;
        int version = 0;
        if (hn_node_at(g, id)->block != HN_NONE)
            hn_node_form_ok(g, f, id, p, &op, &version);
    }
}

/* ---- versions -------------------------------------------------------------------------------- */

int hn_domain_newest(hn_domain d) {
    int newest = 0;
    for (uint32_t i = 0; i < hn_op_count(NULL); i++) {
        const hn_op *op = hn_op_row(NULL, i);
        bool deprecated;
        int version;
        for (uint32_t k = 0; op->domain == d && (version = hn_op_version(op, k, &deprecated)) > 0;
             k++)
            newest = HN_MAX(newest, version);
    }
    return newest;
}

/* Nodes are checked against the newest supported version, which may differ from the one the file
 * means. */
static void check_known_version(const hn_model *m, hn_problems *p) {
    int64_t imported = hn_opset_version(&m->opsets, NULL);
    int newest = hn_domain_newest(HN_DOMAIN_ONNX);
    if (imported > newest)
        hn_problem_add(
            p, HN_SEVERITY_WARNING, HONE_E_UNSUPPORTED, NULL, HN_NONE, HN_NONE,
            "version %lld of operator set ai.onnx is newer than %d, the newest that hone supports, "
            "which it is checked "
            "against",
            (long long)imported, newest);
}

/* The standard requires that the operators of a function mean the same in the versions of the
 * model. Nothing else depends on it: nodes are inferred and run by the version they are written
 * for. */
static void check_same_version(const hn_function *f, hn_id id, hn_problems *p) {
    const hn_node *n = hn_node_at(f->graph, id);
    const hn_model *m = f->graph->model;
    int64_t here = hn_opset_version(&f->opsets, n->domain);
    int64_t there = hn_opset_version(&m->opsets, n->domain);
    int since;
    bool deprecated;
    if (here < 0 || there < 0 || here == there || hn_node_function(f->graph, id) ||
        !hn_node_op(f->graph, n, &since, &deprecated) ||
        hn_same_op(m, n->domain, n->op, here, there))
        return;
    hn_node_problem(p, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, f->graph, id, HN_NONE,
                    "the function imports version %lld of the operator set and the model %lld, "
                    "between which %s changed: import one version in both",
                    (long long)here, (long long)there, hn_s(n->op));
}

/* Square matrices have them, but so do files whose exporter gave two sizes one name. */
static void check_names_of_input(const hn_model *m, hn_id input, hn_problems *p) {
    const hn_value *v = hn_value_at(m->graph, input);
    const hn_shape *s = v->type && v->type->kind == HN_TYPE_TENSOR ? &v->type->shape : NULL;
    for (int32_t i = 0; s && i < s->rank; i++)
        for (int32_t k = i + 1; k < s->rank; k++) {
            hn_str name;
            if (s->dims[i] != s->dims[k] || !hn_dim_is_symbol(m->syms, s->dims[i], &name))
                continue;
            hn_problem_add(p, HN_SEVERITY_WARNING, HONE_E_SHAPE, m->graph, HN_NONE, input,
                           "axes %d and %d of input '%s' are both named '%s'; where their sizes "
                           "may differ, give them two names",
                           i, k, hn_s(v->name), hn_s(name));
            return;
        }
}

static void check_function(const hn_function *f, hn_problems *p) {
    uint32_t first = p->list.n;
    check_forms(f->graph, f, p);
    for (hn_id id = 0; id < f->graph->nodes.n; id++)
        if (hn_node_at(f->graph, id)->block != HN_NONE)
            check_same_version(f, id, p);
    hn_problems_in_function(p, first, f);
}

hone_status hn_check_model(hn_model *m, hn_problems *p, hone_error *err) {
    hn_model_verify(m, p);
    check_known_version(m, p);
    check_forms(m->graph, NULL, p);
    for (uint32_t i = 0; i < m->functions.n; i++)
        check_function(m->functions.at[i], p);
    const hn_block *main_block = hn_block_at(m->graph, 0);
    for (uint32_t i = 0; i < main_block->inputs.n; i++)
        check_names_of_input(m, main_block->inputs.at[i], p);
    hn_infer_options o = {.problems = p, .keep_declared = true};
    HN_TRY(hn_infer_model(m, &o, err));
    return p->failed ? hn_error_complete(err, HONE_E_NOMEM) : HONE_OK;
}
