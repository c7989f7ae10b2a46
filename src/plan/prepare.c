/* What steps do once, before any run. */
#include "plan/plan.h"

/* Constants among the arguments; the others are left out. */
static void find_const_args(const hn_program *p, const hn_node *n, hn_object **args) {
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id id = n->inputs[i];
        if (id != HN_NONE && p->consts[id].kind != HN_OBJECT_NONE &&
            hn_infer_initial_const(p->model, hn_value_at(p->model->graph, id)))
            args[i] = &p->consts[id];
    }
}

static hone_status prepare_step(const hn_program *p, hn_step *step, hn_arena *scratch,
                                hone_error *err) {
    const hn_graph *g = p->model->graph;
    const hn_node *n = hn_node_at(g, step->node);
    char who[200];
    infer_job job = {.model = p->model, .work = scratch, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = g};
    hn_object **args = HN_NEW_N(scratch, hn_object *, (size_t)n->n_inputs + 1);
    HN_TRY_PTR(args);
    find_const_args(p, n, args);
    hn_eval c = {.node = {.scope = &scope,
                          .id = step->node,
                          .node = n,
                          .op = step->op,
                          .version = step->version},
                 .n_args = n->n_inputs,
                 .args = args,
                 .err = err};
    hone_status status = hn_eval_prepare(&c, &step->state);
    if (status != HONE_OK)
        hn_error_prefix(err, "%s", hn_node_text(g, step->node, who, sizeof who));
    return status;
}

hone_status hn_program_prepare(hn_program *p, hone_error *err) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(p->model->arena));
    hone_status status = scratch ? HONE_OK : HONE_E_NOMEM;
    for (hn_id b = 0; b < p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; status == HONE_OK && i < p->blocks[b].n_steps; i++)
            status = prepare_step(p, &p->blocks[b].steps[i], scratch, err);
    hn_arena_free(scratch);
    return status;
}

void hn_program_release(hn_program *p) {
    for (hn_id b = 0; p->blocks && b < p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; p->blocks[b].steps && i < p->blocks[b].n_steps; i++)
            hn_eval_release(p->blocks[b].steps[i].op, p->blocks[b].steps[i].state);
}
