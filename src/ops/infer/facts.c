/* Facts: inference results that are kept current while the graph is edited. */
#include "ops/facts.h"

struct hn_facts {
    hn_model *model;
    infer_job job;
    infer_scope scope;
    hn_claims *claims;
    hn_map invalid_nodes;
    uint32_t n_values;  /* that the tables cover */
    uint32_t n_entries; /* allocated in the tables */
};

static hone_status open_facts(hn_facts *f, const hn_split_dims *split) {
    HN_TRY(hn_claims_set_aside(f->model, split, f->job.work, &f->claims));
    hn_map_init(&f->invalid_nodes, f->job.work);
    HN_TRY(hn_infer_open_scope(&f->scope, &f->job, f->model->graph));
    f->scope.invalid_nodes = &f->invalid_nodes;
    f->n_values = f->n_entries = f->model->graph->values.n;
    HN_TRY(hn_infer_block(&f->scope, 0));
    HN_TRY(hn_infer_store(&f->scope, false));
    return hn_syms_failed(f->model->syms) || hn_arena_has_failed(f->job.work) ? HONE_E_NOMEM
                                                                              : HONE_OK;
}

hone_status hn_facts_new(hn_model *m, const hn_split_dims *split, hn_facts **out, hone_error *err) {
    *out = NULL;
    const hone_allocator *a = hn_arena_allocator(m->arena);
    hn_arena *work = hn_arena_new(a);
    hn_facts *f = work ? HN_NEW(work, hn_facts) : NULL;
    if (!f) {
        hn_arena_free(work);
        return hn_error_complete(err, HONE_E_NOMEM);
    }
    *f = (hn_facts){
        .model = m,
        .job = {.model = m, .work = work, .steps_left = UINT64_MAX, .trusts_nodes = true}};
    hone_status status = open_facts(f, split);
    if (status == HONE_OK)
        *out = f;
    else
        hn_facts_free(f);
    return hn_error_complete(err, status);
}

void hn_facts_free(hn_facts *f) {
    if (!f)
        return;
    hn_claims_restore(f->claims);
    hn_arena_free(f->job.work);
}

/* ---- updates after edits --------------------------------------------------------------------- */

static void *grown(hn_arena *a, const void *old, uint32_t n_old, uint32_t n_new, size_t bytes) {
    char *copy = hn_arena_calloc(a, n_new, bytes);
    if (copy && n_old)
        memcpy(copy, old, n_old * bytes);
    return copy;
}

static hone_status make_room(hn_facts *f, uint32_t n_values) {
    if (n_values <= f->n_entries)
        return HONE_OK;
    uint32_t n = HN_MAX(n_values, f->n_entries + f->n_entries / 2);
    infer_scope *s = &f->scope;
    hn_arena *a = f->job.work;
    const hn_type **types = grown(a, s->types, f->n_values, n, sizeof *types);
    const infer_ints **ints = grown(a, s->ints, f->n_values, n, sizeof *ints);
    const hn_tensor **consts = grown(a, s->consts, f->n_values, n, sizeof *consts);
    if (!types || !ints || !consts)
        return HONE_E_NOMEM;
    s->types = types;
    s->ints = ints;
    s->consts = consts;
    f->n_entries = n;
    return HONE_OK;
}

hone_status hn_facts_learn(hn_facts *f) {
    const hn_graph *g = f->scope.g;
    HN_TRY(make_room(f, g->values.n));
    for (; f->n_values < g->values.n; f->n_values++) {
        HN_TRY(hn_infer_seed(&f->scope, f->n_values));
        if (!f->scope.types[f->n_values]) /* a new output that got the type of an old one */
            f->scope.types[f->n_values] = hn_value_at(g, f->n_values)->type;
    }
    return HONE_OK;
}

/* Facts about an output stay valid, because an edit changes no values. */
static hone_status settle_with_old(hn_facts *f, hn_id node, hn_id value) {
    hn_value *v = hn_value_at(f->scope.g, value);
    const hn_type *found = f->scope.types[value];
    const hn_type *t =
        v->type ? hn_infer_reconcile(&f->scope, node, value, v->type, found, true) : found;
    f->scope.types[value] = t;
    if (!t || t == v->type || (v->type && hn_type_equal(t, v->type)))
        return HONE_OK;
    v->type = hn_infer_keep_type(f->model->arena, t);
    HN_TRY_PTR(v->type);
    f->scope.types[value] = v->type;
    return HONE_OK;
}

static hone_status visit(hn_facts *f, hn_id node, hn_problems *problems) {
    const hn_op *op;
    int version;
    const hn_node *n = hn_node_at(f->scope.g, node);
    HN_TRY(hn_facts_learn(f));
    hn_node_form_ok(f->scope.g, NULL, node, problems, &op, &version);
    HN_TRY(hn_infer_visit(&f->scope, node));
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            HN_TRY(settle_with_old(f, node, n->outputs[i]));
    return hn_syms_failed(f->model->syms) || hn_arena_has_failed(f->job.work) || problems->failed
               ? HONE_E_NOMEM
               : HONE_OK;
}

hone_status hn_facts_visit(hn_facts *f, hn_id node, hone_error *err) {
    hn_problems problems = {.arena = f->job.work};
    f->job.problems = &problems;
    hone_status status = visit(f, node, &problems);
    f->job.problems = NULL;
    if (status == HONE_OK && problems.n_errors > 0)
        return hn_fail(err, problems.list.at[0].code, "%s", problems.list.at[0].message);
    return status;
}

/* ---- queries --------------------------------------------------------------------------------- */

const hn_tensor *hn_facts_const(const hn_facts *f, hn_id value) {
    return value < f->n_values ? f->scope.consts[value] : NULL;
}

bool hn_facts_ints(const hn_facts *f, hn_id value, uint32_t *n, const hn_sint **elems,
                   bool *is_scalar) {
    if (value >= f->n_values)
        return false;
    hn_node reader = {.n_inputs = 1, .inputs = &value};
    hn_infer c = {.scope = (infer_scope *)&f->scope, .id = HN_NONE, .node = &reader};
    return hn_in_ints(&c, 0, n, elems, is_scalar);
}

bool hn_facts_is_invalid(const hn_facts *f, hn_id node) {
    return f->invalid_nodes.n > 0 && hn_map_get(&f->invalid_nodes, node) != HN_MAP_NONE;
}

bool hn_facts_view(const hn_facts *f, hn_id node, hn_infer *c) {
    *c = (hn_infer){
        .scope = (infer_scope *)&f->scope, .id = node, .node = hn_node_at(f->scope.g, node)};
    return hn_node_form_ok(f->scope.g, NULL, node, NULL, &c->op, &c->version) && c->op;
}
