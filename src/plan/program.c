/* The order of work: steps per block, who reads what last, constants where evaluations can reach them. */
#include "plan/plan.h"

/* ---- checking ------------------------------------------------------------------------------------------------------------ */

static hone_status refuse_invalid(hn_model *m, hone_error *err) {
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    if (!arena)
        return HONE_E_NOMEM;
    hn_problems problems = {.arena = arena, .cap = 64};
    hone_status status = hn_check_model(m, &problems, err);
    for (uint32_t i = 0; status == HONE_OK && i < problems.list.n; i++)
        if (problems.list.at[i].severity == HN_SEVERITY_ERROR)
            status = hn_fail(err, problems.list.at[i].code, "the model cannot be run: %s", problems.list.at[i].message);
    hn_arena_free(arena);
    return status;
}

/* ---- constants ------------------------------------------------------------------------------------------------------------- */

static size_t type_alignment(hn_dtype t) {
    size_t bytes = hn_elem_bytes(t);
    return t == HN_STRING || bytes > 8 ? 8 : bytes ? bytes : 1;
}

/* Evaluations want aligned data of full length; a view into a file may be neither. */
static hone_status const_tensor(hn_arena *a, const hn_tensor *t, hn_object *out, hone_error *err) {
    uint64_t bytes;
    if (t->dtype == HN_STRING) {
        hn_object_init_borrowed(out, t->dtype, t->rank, t->dims, (void *)(uintptr_t)t->strings);
        return HONE_OK;
    }
    if (!hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes || (bytes && !t->data))
        return hn_fail(err, HONE_E_INVALID, "initializer '%s' has no data, or less than its shape needs", hn_s(t->name));
    const void *data = t->data;
    if ((uintptr_t)data % type_alignment(t->dtype) || !data) {
        data = hn_arena_copy(a, data ? data : "", bytes ? (size_t)bytes : 1);
        HN_TRY_PTR(data);
    }
    hn_object_init_borrowed(out, t->dtype, t->rank, t->dims, (void *)(uintptr_t)data);
    return HONE_OK;
}

/* Position of entry k in the dense tensor: indices are linear, or one coordinate per dimension. */
static bool sparse_position(const hn_sparse *s, uint64_t k, uint64_t *at) {
    int64_t i;
    if (s->indices->rank == 1) {
        if (!hn_tensor_get_i64(s->indices, k, &i) || i < 0)
            return false;
        *at = (uint64_t)i;
        return true;
    }
    *at = 0;
    for (int32_t d = 0; d < s->rank; d++) {
        if (!hn_tensor_get_i64(s->indices, k * (uint64_t)s->rank + (uint64_t)d, &i) || i < 0 || i >= s->dims[d])
            return false;
        *at = *at * (uint64_t)s->dims[d] + (uint64_t)i;
    }
    return true;
}

static hone_status const_sparse(hn_arena *a, const hn_sparse *s, hn_object *out, hone_error *err) {
    uint64_t n = 1, bytes;
    size_t elem = hn_elem_bytes(s->values->dtype);
    for (int32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || !hn_mul_u64(n, (uint64_t)s->dims[i], &n))
            return hn_fail(err, HONE_E_LIMIT, "sparse initializer '%s' is too large", hn_s(s->values->name));
    if (!elem || s->values->dtype == HN_STRING || !hn_mul_u64(n, elem, &bytes) || bytes > SIZE_MAX)
        return hn_fail(err, HONE_E_UNSUPPORTED, "sparse initializer '%s' cannot be expanded", hn_s(s->values->name));
    uint8_t *dense = hn_arena_calloc(a, (size_t)bytes + 1, 1);
    HN_TRY_PTR(dense);
    for (uint64_t k = 0; k < s->values->n_elems; k++) {
        uint64_t at;
        if (!sparse_position(s, k, &at) || at >= n || (k + 1) * elem > s->values->data_bytes)
            return hn_fail(err, HONE_E_INVALID, "sparse initializer '%s' has an index out of range", hn_s(s->values->name));
        memcpy(dense + at * elem, (const uint8_t *)s->values->data + k * elem, elem);
    }
    hn_object_init_borrowed(out, s->values->dtype, s->rank, s->dims, dense);
    return HONE_OK;
}

static hone_status make_consts(hn_program *p, hone_error *err) {
    const hn_graph *g = p->model->graph;
    p->consts = HN_NEW_N(p->model->arena, hn_object, (size_t)g->values.n + 1);
    HN_TRY_PTR(p->consts);
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        if (v->init)
            HN_TRY(const_tensor(p->model->arena, v->init, &p->consts[id], err));
        else if (v->sparse_init)
            HN_TRY(const_sparse(p->model->arena, v->sparse_init, &p->consts[id], err));
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
    return u->slot == v->block ? HN_NONE : reader_in_block(g, hn_block_at(g, u->slot)->owner, v->block);
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
    step->node = node;
    char who[200];
    if (!hn_node_form_ok(g, NULL, node, NULL, &step->op, &step->version) || !step->op || !step->op->eval)
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s: hone cannot run this operator%s%s", hn_node_text(g, node, who, sizeof who),
                       hn_domain_is_onnx(n->domain) ? "" : " of domain ", hn_domain_is_onnx(n->domain) ? "" : hn_s(n->domain));
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
        status = make_consts(p, err);
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
