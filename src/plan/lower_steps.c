/* Lowering: what attributes, shapes, packed weights and the processor decide about a step is
 * decided here, once per plan. */
#include "plan/plan_int.h"

void *hn_lower_alloc(hn_eval *c, size_t bytes) {
    c->is_record_too_large |= bytes > HN_MOST_RECORD_BYTES;
    return c->is_record_too_large ? NULL : hn_arena_calloc(c->records, 1, bytes);
}

/* One step, with what a lowering sees of its arguments and results. */
typedef struct lowering_frame {
    hn_plan *plan;
    const void *const *data; /* by value: known elements */
    const hn_step *step;
    const hn_node *node;
    hn_object *objects; /* of arguments, then of results */
    hn_object **args, **rets;
} lowering_frame;

/* The elements of a value, where no run can change them. */
static void *known_data(const lowering_frame *f, hn_id id) {
    const hn_program *p = f->plan->program;
    const hn_object *o = &p->consts[id];
    if (o->kind == HN_OBJECT_TENSOR && !p->is_deferred[id] &&
        hn_infer_initial_const(p->model, hn_value_at(p->model->graph, id)))
        return o->array.data;
    return (void *)(uintptr_t)f->data[id];
}

static hn_object *operand_of(const lowering_frame *f, hn_object *o, hn_id id) {
    const hn_place *at = id == HN_NONE ? NULL : &f->plan->places[id];
    if (!at || !at->type)
        return NULL;
    hn_object_init_borrowed(o, at->type->elem, at->type->shape.rank, at->type->shape.dims, NULL);
    o->array.row_stride = at->row_stride;
    return o;
}

static hone_status list_operands(lowering_frame *f, hn_arena *work) {
    const hn_node *n = f->node;
    f->objects = HN_NEW_N(work, hn_object, (size_t)n->n_inputs + n->n_outputs + 1);
    f->args = HN_NEW_N(work, hn_object *, (size_t)n->n_inputs + 1);
    f->rets = HN_NEW_N(work, hn_object *, (size_t)n->n_outputs + 1);
    if (!f->objects || !f->args || !f->rets)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        f->args[i] = operand_of(f, &f->objects[i], n->inputs[i]);
        if (f->args[i])
            f->args[i]->array.data = known_data(f, n->inputs[i]);
    }
    for (uint32_t i = 0; i < n->n_outputs; i++)
        f->rets[i] =
            f->step->wanted[i] ? operand_of(f, &f->objects[n->n_inputs + i], n->outputs[i]) : NULL;
    return HONE_OK;
}

/* Sizes whose products lowerings need not check: no array is larger than memory could be. */
static bool has_possible_size(const hn_object *o) {
    uint64_t n = 1, bytes;
    for (int32_t i = 0; o && i < o->array.rank; i++)
        if (!hn_mul_u64(n, (uint64_t)HN_MAX(o->array.dims[i], 1), &n))
            return false;
    return !o || o->array.dtype == HN_STRING ||
           (hn_dtype_bytes(o->array.dtype, n, &bytes) && bytes < (uint64_t)1 << 48);
}

static bool can_lower(const hn_program *p, const hn_step *step, const hn_node *node,
                      hn_object *const *args, hn_object *const *rets) {
    if (!step->lowering || !step->lowering->lower || p->evaluates_all)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!has_possible_size(args[i]))
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (!has_possible_size(rets[i]))
            return false;
    return true;
}

/* A lowering that fails, memory aside, has met something wrong: the evaluation says what. */
hone_status hn_lower_step(const hn_program *p, const hn_step *step, hn_object *const *args,
                          hn_object **rets, int n_threads, hn_arena *records, hn_arena *work,
                          hn_lowered *out) {
    const hn_node *node = hn_node_at(p->model->graph, step->node);
    infer_job job = {.model = p->model, .work = work, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = p->model->graph};
    hn_eval c = {.node = {.scope = &scope,
                          .id = step->node,
                          .node = node,
                          .op = step->op,
                          .version = step->version},
                 .n_args = node->n_inputs,
                 .n_rets = node->n_outputs,
                 .args = args,
                 .rets = rets,
                 .wanted = step->wanted,
                 .is_prepared = true,
                 .state = step->state,
                 .records = records,
                 .n_threads = n_threads};
    *out = (hn_lowered){0};
    if (!can_lower(p, step, node, args, rets))
        return HONE_OK;
    hone_status status = step->lowering->lower(&c, out);
    if (status != HONE_OK)
        *out = (hn_lowered){0};
    return status == HONE_E_NOMEM && !c.is_record_too_large ? status : HONE_OK;
}

static hone_status lower_planned(lowering_frame *f, hn_arena *work, hn_lowered *out) {
    HN_TRY(list_operands(f, work));
    return hn_lower_step(f->plan->program, f->step, f->args, f->rets, f->plan->n_threads,
                         f->plan->arena, work, out);
}

hone_status hn_plan_lower(hn_plan *p, const void *const *data) {
    const hn_step_list *list = p->list;
    hn_arena *work = hn_arena_new(hn_arena_allocator(p->program->model->arena));
    p->lowered = HN_NEW_N(p->arena, hn_lowered, (size_t)list->n_steps + 1);
    hone_status status = work && p->lowered ? HONE_OK : HONE_E_NOMEM;
    for (uint32_t i = 0; status == HONE_OK && i < list->n_steps; i++) {
        const hn_step *step = &list->steps[i];
        if (p->modes[i] != HN_STEP_PLANNED || !step->lowering)
            continue;
        hn_arena_mark mark = hn_arena_save(work);
        lowering_frame f = {.plan = p,
                            .data = data,
                            .step = step,
                            .node = hn_node_at(p->program->model->graph, step->node)};
        status = lower_planned(&f, work, &p->lowered[i]);
        hn_arena_restore(work, mark);
    }
    hn_arena_free(work);
    return status;
}
