/* The whole check: structure, operators against their schemas, types and shapes. */
#include "ops/infer_engine.h"

static void check_forms(const hn_graph *g, const hn_function *f, hn_problems *p) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_op *op;
        int version = 0;
        if (hn_node_at(g, id)->block != HN_NONE)
            hn_node_form_ok(g, f, id, p, &op, &version);
    }
}

hone_status hn_check_model(hn_model *m, hn_problems *p, hone_error *err) {
    hn_model_verify(m, p);
    check_forms(m->graph, NULL, p);
    for (uint32_t i = 0; i < m->functions.n; i++)
        check_forms(m->functions.at[i]->graph, m->functions.at[i], p);
    hn_infer_options o = {.problems = p, .keep_declared = true};
    HN_TRY(hn_infer_model(m, &o, err));
    return p->failed ? hn_error_complete(err, HONE_E_NOMEM) : HONE_OK;
}
