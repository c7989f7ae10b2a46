/* The order of work: steps per block, who reads what last, constants where evaluations can reach
 * them. */
#include "plan/plan.h"

/* ---- checking ------------------------------------------------------------------------------------------------------------ */

/* Some rules of the standard do not matter to a run: shapes that the file declares wrongly or not
 * at all, since the real ones are inferred from the inputs, and operators that are deprecated but
 * known. */
static bool keeps_from_running(const hn_problem *p) {
    return p->severity == HN_SEVERITY_ERROR && p->code != HONE_E_SHAPE &&
           p->code != HONE_E_UNSUPPORTED;
}

static hone_status refuse_invalid(hn_model *m, hone_error *err) {
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    if (!arena)
        return HONE_E_NOMEM;
    hn_problems problems = {.arena = arena,
                            .cap = 100000}; /* harmless ones must not crowd out the others */
    hone_status status = hn_check_model(m, &problems, err);
    for (uint32_t i = 0; status == HONE_OK && i < problems.list.n; i++)
        if (keeps_from_running(&problems.list.at[i]))
            status = hn_fail(err, problems.list.at[i].code, "the model cannot be run: %s",
                             problems.list.at[i].message);
    hn_arena_free(arena);
    return status;
}

/* ---- symbols ---------------------------------------------------------------------------------------------------------------- */

/* Nesting is limited by the loader. */
static const hn_type *without_symbols(hn_arena *a, const hn_type *t) {
    hn_type *copy = hn_arena_copy(a, t, sizeof *t);
    size_t rank = copy && t->shape.rank > 0 ? (size_t)t->shape.rank : 0;
    hn_dim *dims = rank ? HN_NEW_N(a, hn_dim, rank) : NULL;
    if (!copy || (rank && !dims))
        return NULL;
    for (size_t i = 0; i < rank; i++)
        dims[i] = hn_dim_is_known(t->shape.dims[i]) ? t->shape.dims[i] : HN_DIM_UNKNOWN;
    copy->shape.dims = dims;
    copy->inner = t->inner ? without_symbols(a, t->inner) : NULL;
    return t->inner && !copy->inner ? NULL : copy;
}

/* At run time every size is a number. Without symbols in the types that attributes hold, inference
 * never touches the model's table of symbols, so that any number of threads may plan and run. */
static hone_status forget_symbols(hn_model *m) {
    const hn_graph *g = m->graph;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        for (uint32_t i = 0; i < n->n_attrs; i++) {
            hn_attr *a = &n->attrs[i];
            if (a->kind != HN_ATTR_TYPE || !a->v.type)
                continue;
            a->v.type = without_symbols(m->arena, a->v.type);
            HN_TRY_PTR(a->v.type);
        }
    }
    return HONE_OK;
}

/* ---- steps -------------------------------------------------------------------------------------------------------------------- */

/* The node of `block` that a reader stands in: itself, or the one whose body it belongs to. */
static hn_id reader_in_block(const hn_graph *g, hn_id node, hn_id block) {
    while (node != HN_NONE && hn_node_at(g, node)->block != block)
        node = hn_block_at(g, hn_node_at(g, node)->block)->owner;
    return node;
}

/* Reader for a use; HN_NONE when the value must live to the end of its block. */
static hn_id use_in_block(const hn_graph *g, const hn_value *v, const hn_use *u) {
    if (u->node != HN_NONE)
        return reader_in_block(g, u->node, v->block);
    return u->slot == v->block ? HN_NONE
                               : reader_in_block(g, hn_block_at(g, u->slot)->owner, v->block);
}

typedef struct lifetimes {
    uint32_t *position; /* by node: place in its block */
    uint32_t *last;     /* by value: position of the last reader; UINT32_MAX: lives to the end */
} lifetimes;

static hone_status find_lifetimes(const hn_graph *g, hn_arena *a, lifetimes *l) {
    l->position = HN_NEW_N(a, uint32_t, (size_t)g->nodes.n + 1);
    l->last = HN_NEW_N(a, uint32_t, (size_t)g->values.n + 1);
    if (!l->position || !l->last)
        return HONE_E_NOMEM;
    for (hn_id b = 0; b < g->blocks.n; b++)
        for (uint32_t i = 0; i < hn_block_at(g, b)->nodes.n; i++)
            l->position[hn_block_at(g, b)->nodes.at[i]] = i;
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        l->last[id] = v->producer != HN_NONE ? l->position[v->producer] : 0;
        for (uint32_t i = 0; i < v->uses.n; i++) {
            hn_id reader = use_in_block(g, v, &v->uses.at[i]);
            uint32_t at = reader == HN_NONE ? UINT32_MAX : l->position[reader];
            l->last[id] = HN_MAX(l->last[id], at);
        }
    }
    return HONE_OK;
}

static hone_status make_step(hn_program *p, hn_id node, hn_step *step, hone_error *err) {
    hn_graph *g = p->model->graph;
    const hn_node *n = hn_node_at(g, node);
    hn_domain d = hn_domain_find(hn_s(n->domain), n->domain ? n->domain->n : 0);
    bool is_deprecated;
    char who[200];
    step->node = node;
    if (d != HN_DOMAIN_COUNT)
        step->op = hn_op_find(d, hn_s(n->op), hn_opset_version(g->opsets, n->domain),
                              &step->version, &is_deprecated);
    if (!step->op || !step->op->eval)
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s: hone cannot run this operator%s%s",
                       hn_node_text(g, node, who, sizeof who),
                       hn_domain_is_onnx(n->domain) ? "" : " of domain ",
                       hn_domain_is_onnx(n->domain) ? "" : hn_s(n->domain));
    bool *wanted = HN_NEW_N(p->model->arena, bool, (size_t)n->n_outputs + 1);
    HN_TRY_PTR(wanted);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        wanted[i] = n->outputs[i] != HN_NONE && hn_value_at(g, n->outputs[i])->uses.n > 0;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        step->has_body |= n->attrs[i].kind == HN_ATTR_GRAPH;
    step->wanted = wanted;
    return HONE_OK;
}

/* Hands every value of a block to the step after which nobody reads it. */
static hone_status assign_dead(hn_program *p, const lifetimes *l, hn_step_list *list) {
    uint32_t n_assigned = 0;
    for (uint32_t i = 0; i < list->n_owned; i++)
        if (l->last[list->owned[i]] < list->n_steps)
            list->steps[l->last[list->owned[i]]].n_dead++;
    hn_id *dead = HN_NEW_N(p->model->arena, hn_id, (size_t)list->n_owned + 1);
    HN_TRY_PTR(dead);
    for (uint32_t i = 0; i < list->n_steps; i++) {
        list->steps[i].dead = dead + n_assigned;
        n_assigned += list->steps[i].n_dead;
        list->steps[i].n_dead = 0;
    }
    for (uint32_t i = 0; i < list->n_owned; i++) {
        uint32_t at = l->last[list->owned[i]];
        if (at < list->n_steps) {
            hn_step *s = &list->steps[at];
            ((hn_id *)(uintptr_t)s->dead)[s->n_dead++] = list->owned[i];
        }
    }
    return HONE_OK;
}

static hone_status make_block(hn_program *p, const lifetimes *l, hn_id block, hone_error *err) {
    const hn_graph *g = p->model->graph;
    const hn_block *b = hn_block_at(g, block);
    hn_step_list *list = &p->blocks[block];
    list->n_steps = b->nodes.n;
    list->steps = HN_NEW_N(p->model->arena, hn_step, (size_t)b->nodes.n + 1);
    hn_id *owned = HN_NEW_N(p->model->arena, hn_id, (size_t)g->values.n + 1);
    if (!list->steps || !owned)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->nodes.n; i++)
        HN_TRY(make_step(p, b->nodes.at[i], &list->steps[i], err));
    for (uint32_t i = 0; i < b->inputs.n; i++)
        owned[list->n_owned++] = b->inputs.at[i];
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hn_node *n = hn_node_at(g, b->nodes.at[i]);
        for (uint32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] != HN_NONE)
                owned[list->n_owned++] = n->outputs[k];
    }
    list->owned = owned;
    return assign_dead(p, l, list);
}

static hone_status make_blocks(hn_program *p, hone_error *err) {
    const hn_graph *g = p->model->graph;
    lifetimes l;
    HN_TRY(find_lifetimes(g, p->model->arena, &l));
    p->blocks = HN_NEW_N(p->model->arena, hn_step_list, g->blocks.n);
    HN_TRY_PTR(p->blocks);
    for (hn_id b = 0; b < g->blocks.n; b++)
        HN_TRY(make_block(p, &l, b, err));
    return HONE_OK;
}

hone_status hn_program_new(const hn_model *m, hn_program **out, hone_error *err) {
    *out = NULL;
    hn_model *copy = hn_model_clone(m);
    hn_program *p = copy ? HN_NEW(copy->arena, hn_program) : NULL;
    if (!p) {
        hn_model_free(copy);
        return HONE_E_NOMEM;
    }
    p->model = copy;
    hone_status status = refuse_invalid(copy, err);
    if (status == HONE_OK)
        status = hn_model_inline(copy, err);
    if (status == HONE_OK)
        status = forget_symbols(copy);
    if (status == HONE_OK)
        status = hn_program_make_consts(p, m, err);
    if (status == HONE_OK)
        status = make_blocks(p, err);
    if (status != HONE_OK)
        hn_model_free(copy);
    else
        *out = p;
    return status;
}

void hn_program_free(hn_program *p) {
    if (p)
        hn_model_free(p->model);
}
