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
    step->taken_args = c.taken_args;
    if (status != HONE_OK)
        hn_error_prefix(err, "%s", hn_node_text(g, step->node, who, sizeof who));
    return status;
}

static bool is_taken(const hn_step *step, uint32_t arg) {
    return arg < 64 && step->taken_args >> arg & 1;
}

/* Do all readers of a value hold what they need of it? */
static bool is_taken_by_all(const hn_program *p, const hn_value *v) {
    const hn_graph *g = p->model->graph;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        if (node == HN_NONE ||
            !is_taken(&p->blocks[hn_node_at(g, node)->block].steps[p->position[node]],
                      v->uses.at[i].slot))
            return false;
    }
    return true;
}

/* Constants go one by one as they are taken: at no time are all of them there twice. */
static void let_taken_go(hn_program *p, const hn_step *step) {
    const hn_node *n = hn_node_at(p->model->graph, step->node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (is_taken(step, i) && is_taken_by_all(p, hn_value_at(p->model->graph, n->inputs[i])))
            hn_program_let_const_go(p, n->inputs[i]);
}

hone_status hn_program_prepare(hn_program *p, hone_error *err) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(p->model->arena));
    hone_status status = scratch ? HONE_OK : HONE_E_NOMEM;
    for (hn_id b = 0; b < p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; status == HONE_OK && i < p->blocks[b].n_steps; i++) {
            hn_step *step = &p->blocks[b].steps[i];
            status = prepare_step(p, step, scratch, err);
            let_taken_go(p, step);
        }
    hn_arena_free(scratch);
    return status;
}

void hn_program_release(hn_program *p) {
    for (hn_id b = 0; p->blocks && b < p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; p->blocks[b].steps && i < p->blocks[b].n_steps; i++)
            hn_eval_release(p->blocks[b].steps[i].op, p->blocks[b].steps[i].state);
}
