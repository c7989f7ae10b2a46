/* The inference engine: visits nodes in order, calls the rule of each, and reconciles the result
 * with the types that the file declares. */
#include "ops/infer/infer_engine.h"

/* Real models use less than half of the proportional part; nested function calls can use any
 * amount. */
#define WORK_BASE_BYTES ((size_t)48 << 20)
#define WORK_BYTES_PER_FILE_BYTE 24u

/* ---- scopes ---------------------------------------------------------------------------------- */

/* The inputs of a model are checked against their declarations when it runs; nothing else is. */
static bool is_checked_in_runs(const infer_scope *s, const hn_value *v) {
    return v->is_input && v->block == 0 && !s->function && v->type->kind == HN_TYPE_TENSOR;
}

static hone_status declared_type(const infer_scope *s, const hn_value *v, const hn_type **out) {
    *out = v->is_declared && !s->job->ignore_declared ? v->type : NULL;
    if (!*out || !s->job->trusts_nodes || is_checked_in_runs(s, v))
        return HONE_OK;
    *out = hn_type_without_shapes(s->job->work, v->type);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

/* A caller may replace the default of an input by data of any shape that the declaration allows. Of
 * a declaration that does not even allow the default, nothing is known. */
static bool admits_default(const hn_type *declared, const hn_type *data) {
    const hn_shape *a = &declared->shape, *b = &data->shape;
    bool fits = a->rank == b->rank;
    for (int32_t i = 0; fits && i < a->rank; i++)
        fits = !hn_dim_is_known(a->dims[i]) || a->dims[i] == b->dims[i];
    return fits;
}

static hone_status type_of_default(const infer_scope *s, const hn_type *declared,
                                   const hn_type *data, const hn_type **out) {
    *out = declared;
    if (s->job->trusts_nodes && !admits_default(declared, data))
        *out = hn_type_without_shapes(s->job->work, declared);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_infer_seed(infer_scope *s, hn_id id) {
    const hn_value *v = hn_value_at(s->g, id);
    const hn_type *t;
    HN_TRY(declared_type(s, v, &t));
    const hn_tensor *init = v->init ? v->init : v->sparse_init ? v->sparse_init->values : NULL;
    if (init) {
        int32_t rank = v->init ? init->rank : v->sparse_init->rank;
        const int64_t *dims = v->init ? init->dims : v->sparse_init->dims;
        const hn_type *of_data = hn_type_tensor(s->job->work, init->dtype, rank, dims);
        HN_TRY_PTR(of_data);
        const hn_type *exact = hn_infer_reconcile(s, HN_NONE, id, t, of_data, false);
        if (v->is_input && t && t->shape.rank >= 0)
            HN_TRY(type_of_default(s, t, of_data, &t));
        else
            t = exact;
    }
    s->types[id] = t;
    s->consts[id] = hn_infer_initial_const(s->job->model, v);
    return HONE_OK;
}

hone_status hn_infer_open_scope(infer_scope *s, infer_job *job, const hn_graph *g) {
    *s = (infer_scope){.job = job, .g = g};
    size_t n = (size_t)g->values.n + 1;
    s->types = HN_NEW_N(job->work, const hn_type *, n);
    s->ints = HN_NEW_N(job->work, const infer_ints *, n);
    s->consts = HN_NEW_N(job->work, const hn_tensor *, n);
    if (!s->types || !s->ints || !s->consts)
        return HONE_E_NOMEM;
    for (hn_id id = 0; id < g->values.n; id++)
        HN_TRY(hn_infer_seed(s, id));
    return HONE_OK;
}

/* ---- calls of model-local functions ---------------------------------------------------------- */

static hone_status infer_call(hn_infer *c, const hn_function *f) {
    infer_scope *caller = c->scope;
    infer_job *job = caller->job;
    const hn_block *body = hn_block_at(f->graph, 0);
    if (caller->depth + 1 > HN_INFER_MAX_DEPTH)
        return hn_infer_fail(c, HONE_E_LIMIT, "functions call each other more than %d deep",
                             HN_INFER_MAX_DEPTH);
    if (c->node->n_inputs > body->inputs.n || c->node->n_outputs > body->outputs.n)
        return HONE_OK; /* the form check reports it */
    uint64_t cost = f->graph->values.n / 4 + 1;
    job->out_of_steps |= job->steps_left < cost;
    if (job->out_of_steps)
        return HONE_OK;
    job->steps_left -= cost;

    infer_scope callee;
    HN_TRY(hn_infer_open_scope(&callee, job, f->graph));
    callee.caller = caller;
    callee.call = c->node;
    callee.function = f;
    callee.depth = caller->depth + 1;
    for (uint32_t i = 0; i < c->node->n_inputs; i++) {
        hn_id from = c->node->inputs[i], to = body->inputs.at[i];
        if (from == HN_NONE)
            continue;
        callee.types[to] =
            hn_infer_reconcile(&callee, HN_NONE, to, callee.types[to], caller->types[from], false);
        callee.ints[to] = caller->ints[from];
        callee.consts[to] = caller->consts[from];
    }
    uint32_t n_problems = job->problems ? job->problems->list.n : 0;
    HN_TRY(hn_infer_block(&callee, 0));
    if (job->problems)
        hn_problems_in_function(job->problems, n_problems, f);
    for (uint32_t i = 0; i < c->node->n_outputs; i++) {
        hn_id from = body->outputs.at[i];
        c->out[i] = callee.types[from];
        c->out_ints[i] = callee.ints[from];
        c->out_consts[i] = callee.consts[from];
    }
    return HONE_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static hone_status settle_outputs(hn_infer *c) {
    infer_scope *s = c->scope;
    for (uint32_t i = 0; i < c->node->n_outputs; i++) {
        hn_id id = c->node->outputs[i];
        if (id == HN_NONE)
            continue;
        const hn_value *v = hn_value_at(s->g, id);
        const hn_type *declared;
        HN_TRY(declared_type(s, v, &declared));
        /* Graph outputs keep the symbol names that the file declares. */
        bool is_interface = hn_value_is_output(v, 0);
        s->types[id] = hn_infer_reconcile(s, c->id, id, declared, c->out[i], is_interface);
        s->ints[id] = c->out_ints[i];
        s->consts[id] = c->out_consts[i];
    }
    return HONE_OK;
}

static hone_status apply_rule(hn_infer *c, bool *fits) {
    const hn_model *m = c->scope->job->model;
    hn_str overload = c->node->extra ? c->node->extra->overload : NULL;
    const hn_function *f = hn_model_function(m, c->node->domain, c->node->op, overload);
    if (f)
        return infer_call(c, f);
    if (!hn_node_form_ok(c->scope->g, c->scope->function, c->id, NULL, &c->op, &c->version) ||
        !c->op)
        return HONE_OK;
    *fits = hn_node_types_ok(c, c->scope->job->problems);
    if (!*fits)
        return HONE_OK;
    HN_TRY(c->op->infer(c));
    *fits = hn_node_outputs_ok(c, c->scope->job->problems);
    return HONE_OK;
}

static hone_status note_validity(const infer_scope *s, hn_id node, bool is_valid) {
    if (!s->invalid_nodes)
        return HONE_OK;
    if (is_valid)
        hn_map_remove(s->invalid_nodes, node);
    else if (!hn_map_put(s->invalid_nodes, node, node))
        return HONE_E_NOMEM;
    return HONE_OK;
}

hone_status hn_infer_visit(infer_scope *s, hn_id id) {
    hn_count_decision(HN_DECISION_INFERENCE);
    const hn_node *node = hn_node_at(s->g, id);
    hn_infer c = {.scope = s, .id = id, .node = node};
    size_t n = (size_t)node->n_outputs + 1;
    c.out = HN_NEW_N(s->job->work, const hn_type *, n);
    c.out_ints = HN_NEW_N(s->job->work, const infer_ints *, n);
    c.out_consts = HN_NEW_N(s->job->work, const hn_tensor *, n);
    if (!c.out || !c.out_ints || !c.out_consts)
        return HONE_E_NOMEM;
    bool fits = true;
    hone_status status = apply_rule(&c, &fits);
    if (status == HONE_E_NOMEM)
        return status;
    HN_TRY(note_validity(s, id, status == HONE_OK && fits));
    if (status != HONE_OK && s->job->problems)
        hn_node_problem(s->job->problems, HN_SEVERITY_ERROR, status, s->g, id, HN_NONE, "%s",
                        c.fail.message);
    return settle_outputs(&c);
}

hone_status hn_infer_block(infer_scope *s, hn_id block) {
    const hn_block *b = hn_block_at(s->g, block);
    for (uint32_t i = 0; i < b->nodes.n && !s->job->out_of_steps; i++) {
        s->job->out_of_steps = s->job->steps_left == 0;
        if (s->job->out_of_steps)
            break;
        s->job->steps_left--;
        HN_TRY(hn_infer_visit(s, b->nodes.at[i]));
    }
    return HONE_OK;
}

/* Counts the inputs that a caller must provide: before IR version 4, initializers are listed as
 * inputs, too. */
static uint32_t count_parameters(const hn_graph *g, const hn_block *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inputs.n; i++)
        n += !hn_value_at(g, b->inputs.at[i])->init;
    return n;
}

hone_status hn_infer_body(hn_infer *c, const char *attr, uint32_t n_in, const hn_type *const *in,
                          uint32_t *n_out, const hn_type *const **out) {
    infer_scope *s = c->scope;
    *n_out = 0;
    *out = NULL;
    const hn_attr *a = hn_node_attr(c->node, attr);
    if (!a || a->ref ||
        a->kind !=
            HN_ATTR_GRAPH) /* a body passed to a function belongs to another graph: stays unknown */
        return HONE_OK;
    if (s->depth + 1 > HN_INFER_MAX_DEPTH)
        return hn_infer_fail(c, HONE_E_LIMIT, "subgraphs are nested more than %d deep",
                             HN_INFER_MAX_DEPTH);
    const hn_block *b = hn_block_at(s->g, a->v.block);
    if (count_parameters(s->g, b) > n_in)
        return hn_infer_fail(c, HONE_E_INVALID, "its subgraph '%s' (%s) has %u inputs, but gets %u",
                             hn_s(b->name), attr, count_parameters(s->g, b), n_in);
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_id id = b->inputs.at[i];
        const hn_value *v = hn_value_at(s->g, id);
        const hn_type *declared, *given = i < n_in ? in[i] : NULL;
        HN_TRY(declared_type(s, v, &declared));
        s->types[id] = hn_infer_reconcile(s, c->id, id, declared, given, false);
        s->ints[id] = NULL;
    }
    s->depth++;
    hone_status status = hn_infer_block(s, a->v.block);
    s->depth--;
    HN_TRY(status);
    const hn_type **types = HN_NEW_N(hn_infer_arena(c), const hn_type *, (size_t)b->outputs.n + 1);
    HN_TRY_PTR(types);
    for (uint32_t i = 0; i < b->outputs.n; i++)
        types[i] = b->outputs.at[i] == HN_NONE ? NULL : s->types[b->outputs.at[i]];
    *n_out = b->outputs.n;
    *out = types;
    return HONE_OK;
}

/* ---- whole models ---------------------------------------------------------------------------- */

/* Copies a type so that it lives as long as the model; denotations already do. The copy has no
 * serialized form. */
const hn_type *hn_infer_keep_type(hn_arena *a, const hn_type *t) {
    hn_type *copy = hn_arena_copy(a, t, sizeof *t);
    if (!copy)
        return NULL;
    copy->unknown = (hn_bytes){NULL, 0};
    if (t->inner && !(copy->inner = hn_infer_keep_type(a, t->inner)))
        return NULL;
    if (t->shape.rank >= 0) {
        copy->shape.dims = hn_arena_copy(a, t->shape.dims, (size_t)t->shape.rank * sizeof(hn_dim));
        if (!copy->shape.dims)
            return NULL;
    }
    return copy;
}

const hn_type *hn_type_without_shapes(hn_arena *a, const hn_type *t) {
    hn_type *copy = hn_arena_copy(a, t, sizeof *t);
    if (!copy)
        return NULL;
    copy->unknown = (hn_bytes){NULL, 0};
    copy->dim_denotations = NULL;
    copy->shape.rank = -1;
    copy->shape.dims = NULL;
    if (t->inner && !(copy->inner = hn_type_without_shapes(a, t->inner)))
        return NULL;
    return copy;
}

hone_status hn_infer_store(const infer_scope *s, bool keep_declared) {
    const hn_graph *g = s->g;
    for (hn_id id = 0; id < g->values.n; id++) {
        hn_value *v = hn_value_at(g, id);
        const hn_type *t = s->types[id];
        if (!t || t == v->type || (keep_declared && !v->is_declared) ||
            (v->type && hn_type_equal(t, v->type)))
            continue;
        const hn_type *kept = hn_infer_keep_type(s->job->model->arena, t);
        HN_TRY_PTR(kept);
        v->type = kept;
    }
    return HONE_OK;
}

/* Elements of an integer tensor, all of them known, as they lie in memory; NULL: they are not, or
 * there is no memory. */
static const void *known_elems(hn_arena *work, const hn_type *t, const infer_ints *ints) {
    if (!ints || !t || t->kind != HN_TYPE_TENSOR || (t->elem != HN_I64 && t->elem != HN_I32))
        return NULL;
    int64_t *wide = HN_NEW_N(work, int64_t, (size_t)ints->n + 1);
    int32_t *narrow = (int32_t *)(void *)wide;
    for (uint32_t i = 0; wide && i < ints->n; i++) {
        int64_t v = ints->elems[i].v;
        if (ints->elems[i].kind != HN_SINT_CONST)
            return NULL;
        if (t->elem == HN_I64)
            wide[i] = v;
        else
            narrow[i] = (int32_t)v;
    }
    return wide;
}

static hone_status keep_known(const infer_scope *s, hn_arena *work, hn_inferred *out) {
    uint32_t n = s->g->values.n;
    out->types = s->types;
    out->data = HN_NEW_N(work, const void *, (size_t)n + 1);
    HN_TRY_PTR(out->data);
    for (hn_id id = 0; id < n; id++)
        out->data[id] = known_elems(work, s->types[id], s->ints[id]);
    return HONE_OK;
}

hone_status hn_infer_shapes(const hn_graph *g, hn_arena *work, hn_id block, uint32_t n,
                            const hn_id *values, const hn_type *const *types,
                            const hn_tensor *const *consts, hn_inferred *out) {
    infer_job job = {.model = g->model, .work = work, .ignore_declared = true};
    job.steps_left = UINT64_MAX;
    infer_scope scope;
    HN_TRY(hn_infer_open_scope(&scope, &job, g));
    for (uint32_t i = 0; i < n; i++) {
        scope.types[values[i]] = types[i];
        if (consts)
            scope.consts[values[i]] = consts[i];
    }
    HN_TRY(hn_infer_block(&scope, block));
    HN_TRY(keep_known(&scope, work, out));
    return hn_syms_failed(g->model->syms) || hn_arena_has_failed(work) ? HONE_E_NOMEM : HONE_OK;
}

static uint64_t count_nodes(const hn_model *m) {
    uint64_t n = m->graph->nodes.n;
    for (uint32_t i = 0; i < m->functions.n; i++)
        n += m->functions.at[i]->graph->nodes.n;
    return n;
}

static hone_status run_job(infer_job *job, const hn_infer_options *o) {
    infer_scope main_scope;
    HN_TRY(hn_infer_open_scope(&main_scope, job, job->model->graph));
    HN_TRY(hn_infer_block(&main_scope, 0));
    if (job->out_of_steps && job->problems)
        hn_problem_add(job->problems, HN_SEVERITY_WARNING, HONE_E_LIMIT, NULL, HN_NONE, HN_NONE,
                       "functions and subgraphs expand to too many nodes: shapes are known for a "
                       "part of the model only");
    /* Rules treat a failed allocation as an unknown value and continue; it is reported here. */
    if (hn_syms_failed(job->model->syms) || hn_arena_has_failed(job->work) || job->lost_text)
        return HONE_E_NOMEM;
    return hn_infer_store(&main_scope, o->keep_declared);
}

hone_status hn_infer_model(hn_model *m, const hn_infer_options *o, hone_error *err) {
    infer_job job = {.model = m, .problems = o->problems, .err = err};
    job.steps_left = 100000 + 4 * count_nodes(m);
    job.work = hn_arena_new(hn_arena_allocator(m->arena));
    if (!job.work)
        return hn_error_complete(err, HONE_E_NOMEM);
    hn_arena_set_limit(job.work,
                       WORK_BASE_BYTES + (size_t)m->file_bytes * WORK_BYTES_PER_FILE_BYTE);
    hone_status status = run_job(&job, o);
    if (status == HONE_E_NOMEM && hn_arena_hit_limit(job.work))
        status =
            hn_fail(err, HONE_E_LIMIT,
                    "shape inference of this model needs too much memory; is the file damaged?");
    hn_arena_free(job.work);
    return hn_error_complete(err, status);
}

bool hn_node_macs(const hn_graph *g, hn_id node, uint64_t *macs) {
    const hn_node *n = hn_node_at(g, node);
    *macs = 0;
    hn_infer c = {.id = node, .node = n};
    if (!hn_node_form_ok(g, NULL, node, NULL, &c.op, &c.version) || !c.op || !c.op->macs)
        return true;
    infer_job job = {.model = g->model};
    infer_scope scope = {.job = &job,
                         .g = g}; /* no tables: the values themselves hold their types */
    job.work = hn_arena_new(hn_arena_allocator(g->model->arena));
    if (!job.work)
        return false;
    c.scope = &scope;
    c.out = HN_NEW_N(job.work, const hn_type *, (size_t)n->n_outputs + 1);
    for (uint32_t i = 0; c.out && i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            c.out[i] = hn_value_at(g, n->outputs[i])->type;
    bool known = c.out && c.op->macs(&c, macs);
    hn_arena_free(job.work);
    return known;
}
