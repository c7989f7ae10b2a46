/* The loop over steps, and what happens in one. */
#include "run/run_int.h"

#define FEW 16 /* arguments and results that need no memory of the heap */

/* Once stopped, always stopped: a loop that has seen it leaves its results undone. */
bool hn_run_is_stopped(void *run) {
    hn_state *s = run;
    const hn_run_control *c = s->control;
    if (hn_flag_is_set(&s->was_stopped))
        return true;
    bool stops = c && ((c->cancel && hn_flag_is_set(c->cancel)) ||
                       (c->deadline_ns && hn_now_ns() > c->deadline_ns));
    if (stops)
        hn_flag_set(&s->was_stopped);
    return stops;
}

static hone_status fail_stopped(const hn_state *s, hone_error *err) {
    bool is_cancelled = s->control && s->control->cancel && hn_flag_is_set(s->control->cancel);
    return hn_fail(err, HONE_E_CANCELLED,
                   is_cancelled ? "the run was cancelled"
                                : "the run was stopped: its deadline has passed");
}

typedef struct step_frame {
    hn_state *state;
    hn_lane *lane;
    const hn_step *step;
    const hn_node *node;
    hn_step_mode mode;
    hn_object **args, **rets;
    infer_job job;
    infer_scope scope;
    hn_eval eval;
} step_frame;

/* ---- outputs whose shape the plan does not know ---------------------------------------------- */

static bool is_argument(const hn_node *n, hn_id value) {
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] == value)
            return true;
    return false;
}

/* An argument of this type that ends with the step, and that nobody else holds or reads: the result
 * may be written over it. */
static hn_object *dying_object(const step_frame *f, const hn_type *t) {
    if (f->step->op->impl->memory != HN_MEMORY_IN_PLACE || t->elem == HN_STRING ||
        f->state->is_in_group)
        return NULL;
    for (uint32_t i = 0; i < f->step->n_dead; i++) {
        hn_object *o = f->state->values[f->step->dead[i]];
        if (o && o->n_refs == 1 && o->kind == HN_OBJECT_TENSOR && hn_array_has_type(&o->array, t) &&
            is_argument(f->node, f->step->dead[i]))
            return hn_heap_ref(f->state->heap, o);
    }
    return NULL;
}

static hone_status make_output(step_frame *f, uint32_t i, const hn_type *t) {
    hn_state *s = f->state;
    hn_id id = f->node->outputs[i];
    if (f->node->block == 0 && s->plan->places[id].offset != HN_NO_OFFSET)
        f->rets[i] = &s->planned[id];
    else if (!f->rets[i] && i == 0)
        f->rets[i] = dying_object(f, t);
    if (!f->rets[i])
        f->rets[i] = hn_heap_tensor(s->heap, t->elem, t->shape.rank, t->shape.dims);
    HN_TRY_PTR(f->rets[i]);
    if (!hn_array_has_type(&f->rets[i]->array, t))
        return hn_fail(f->eval.err, HONE_E_INTERNAL, "output %u has another shape than was planned",
                       i);
    return HONE_OK;
}

static hone_status infer_outputs(step_frame *f) {
    HN_TRY(hn_eval_infer(&f->eval));
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (hn_eval_knows_ret(&f->eval, i))
            HN_TRY(make_output(f, i, f->eval.node.out[i]));
    return HONE_OK;
}

/* Sequences, optionals and bodies make their outputs themselves. */
static bool can_infer(const step_frame *f) {
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (f->args[i] && f->args[i]->kind != HN_OBJECT_TENSOR)
            return false;
    return !f->step->has_body;
}

/* ---- one step -------------------------------------------------------------------------------- */

static hone_status prepare_outputs(step_frame *f) {
    if (f->mode == HN_STEP_DYNAMIC) {
        HN_TRY(hn_eval_check_args(&f->eval));
        return can_infer(f) ? infer_outputs(f) : HONE_OK;
    }
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i])
            HN_TRY(make_output(f, i, f->state->plan->places[f->node->outputs[i]].type));
    return HONE_OK;
}

/* Later steps rely on the plan: what it knows a value to be is what the value must be, where it
 * must be. */
static hone_status settle_output(step_frame *f, uint32_t i) {
    hn_state *s = f->state;
    hn_object *o = f->rets[i];
    if (!o)
        return hn_fail(f->eval.err, HONE_E_SHAPE,
                       "the shape of output %u does not follow from these inputs", i);
    const hn_place *place = f->node->block == 0 ? &s->plan->places[f->node->outputs[i]] : NULL;
    if (!place || !place->type)
        return HONE_OK;
    if (o->kind != HN_OBJECT_TENSOR || !hn_array_has_type(&o->array, place->type))
        return hn_fail(f->eval.err, HONE_E_SHAPE,
                       "output %u has another shape than the model's own shapes promise", i);
    hn_object *planned = &s->planned[f->node->outputs[i]];
    if (place->offset == HN_NO_OFFSET || o == planned)
        return HONE_OK;
    f->rets[i] = planned;
    bool ok = hn_heap_copy_elems(s->heap, &planned->array, &o->array);
    hn_heap_unref(s->heap, o);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

static hone_status evaluate(step_frame *f) {
    HN_TRY(prepare_outputs(f));
    HN_TRY(f->step->op->impl->eval(&f->eval));
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i])
            HN_TRY(settle_output(f, i));
    return HONE_OK;
}

/* A view of planned memory has stood there since the plan was taken. */
static void show_view(step_frame *f) {
    hn_id id = f->node->outputs[0];
    hn_object *view = &f->state->planned[id];
    const hn_place *at = &f->state->plan->places[id];
    if (at->offset == HN_NO_OFFSET)
        hn_object_init_borrowed(view, at->type->elem, at->type->shape.rank, at->type->shape.dims,
                                f->args[0]->array.data);
    f->rets[0] = view;
}

static void gather_args(step_frame *f) {
    hn_state *s = f->state;
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        f->args[i] = f->node->inputs[i] == HN_NONE ? NULL : s->values[f->node->inputs[i]];
    for (uint32_t i = 0; i < f->node->n_outputs; i++) /* graph outputs may stand ready */
        f->rets[i] =
            f->step->wanted[i] && f->node->block == 0 ? s->values[f->node->outputs[i]] : NULL;
}

/* The frame of an evaluation: attributes, arguments and results as objects. */
static void open_eval(step_frame *f, hone_error *err) {
    const hn_state *s = f->state;
    f->job = (infer_job){
        .model = s->program->model, .work = f->lane->host.scratch, .ignore_declared = true};
    f->scope = (infer_scope){.job = &f->job, .g = hn_state_graph(s)};
    f->eval = (hn_eval){.node = {.scope = &f->scope,
                                 .id = f->step->node,
                                 .node = f->node,
                                 .op = f->step->op,
                                 .version = f->step->version},
                        .host = &f->lane->host,
                        .n_args = f->node->n_inputs,
                        .n_rets = f->node->n_outputs,
                        .args = f->args,
                        .rets = f->rets,
                        .wanted = f->step->wanted,
                        .is_prepared = true,
                        .state = f->step->state,
                        .err = err};
}

/* ---- lowered steps ---------------------------------------------------------------------------- */

static void *data_of(const hn_object *o) {
    return o ? o->array.data : NULL;
}

/* Memory of a lane, aligned to cache lines, until the step ends; NULL: there is none. */
static void *take_scratch(const step_frame *f, size_t bytes) {
    uint8_t *p = hn_arena_alloc(f->lane->host.scratch, bytes + 64);
    return p ? p + (64 - (uintptr_t)p % 64) % 64 : NULL;
}

/* Nothing is decided here: all shapes are those of the plan. */
static hone_status run_lowered(step_frame *f, const hn_lowered *l, hone_error *err) {
    const void *few_in[FEW], **in = few_in;
    void *few_out[FEW], **out = few_out;
    hn_arena *scratch = f->lane->host.scratch;
    if (f->node->n_inputs > FEW)
        in = hn_arena_alloc(scratch, f->node->n_inputs * sizeof *in);
    if (f->node->n_outputs > FEW)
        out = hn_arena_alloc(scratch, f->node->n_outputs * sizeof *out);
    void *own = l->scratch_bytes ? take_scratch(f, l->scratch_bytes) : NULL;
    if (!in || !out || (l->scratch_bytes && !own))
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        in[i] = data_of(f->args[i]);
    for (uint32_t i = 0; i < f->node->n_outputs; i++) {
        if (f->step->wanted[i])
            HN_TRY(make_output(f, i, f->state->plan->places[f->node->outputs[i]].type));
        out[i] = f->step->wanted[i] ? data_of(f->rets[i]) : NULL;
    }
    hn_step_io io = {.in = in, .out = out, .scratch = own, .pool = f->lane->host.pool, .err = err};
    return l->run(l->record, &io);
}

static hone_status compute_step(step_frame *f, const hn_lowered *lowered, hone_error *err) {
    gather_args(f);
    if (f->mode == HN_STEP_VIEW) {
        show_view(f);
        return HONE_OK;
    }
    if (lowered && lowered->run)
        return run_lowered(f, lowered, err);
    open_eval(f, err);
    return evaluate(f);
}

static void observe(step_frame *f, uint64_t start_ns) {
    const hn_run_control *c = f->state->control;
    uint64_t end_ns = hn_now_ns();
    open_eval(f, NULL);
    c->after_step(c->ctx,
                  &(hn_step_event){.g = hn_state_graph(f->state),
                                   .step = f->step,
                                   .start_ns = start_ns,
                                   .end_ns = end_ns,
                                   .macs = f->mode == HN_STEP_VIEW ? 0 : hn_eval_macs(&f->eval),
                                   .inputs = f->args,
                                   .outputs = f->rets});
}

static hone_status run_step(hn_state *s, hn_lane *lane, const hn_step *step, hn_step_mode mode,
                            const hn_lowered *lowered, hone_error *err) {
    step_frame f; /* whose evaluation is filled by those that need one: it is large */
    f.state = s;
    f.lane = lane;
    f.step = step;
    f.node = hn_node_at(hn_state_graph(s), step->node);
    f.mode = mode;
    hn_object *args[FEW], *rets[FEW];
    bool is_observed = s->control && s->control->after_step;
    uint64_t start_ns = is_observed ? hn_now_ns() : 0;
    hn_arena *scratch = lane->host.scratch;
    hn_arena_mark mark = hn_arena_save(scratch);
    f.args =
        f.node->n_inputs <= FEW ? args : hn_arena_alloc(scratch, f.node->n_inputs * sizeof *args);
    f.rets =
        f.node->n_outputs <= FEW ? rets : hn_arena_alloc(scratch, f.node->n_outputs * sizeof *rets);
    hone_status status = f.args && f.rets ? compute_step(&f, lowered, err) : HONE_E_NOMEM;
    for (uint32_t i = 0; f.args && f.rets && i < f.node->n_outputs; i++)
        if (step->wanted[i])
            s->values[f.node->outputs[i]] = f.rets[i];
    if (status == HONE_OK && is_observed)
        observe(&f, start_ns);
    lane->scratch_need = HN_MAX(lane->scratch_need, hn_arena_bytes(scratch));
    hn_arena_restore(scratch, mark);
    return status;
}

/* ---- blocks of steps ------------------------------------------------------------------------- */

static void drop_value(hn_state *s, hn_id id) {
    hn_object *is_const = &s->program->consts[id];
    hn_heap_unref(s->heap, s->values[id]);
    s->values[id] = is_const->kind == HN_OBJECT_NONE ? NULL : is_const;
}

void hn_run_drop_values(hn_state *s, hn_id block) {
    const hn_step_list *list = &s->program->blocks[block];
    for (uint32_t i = 0; i < list->n_owned; i++)
        drop_value(s, list->owned[i]);
}

hone_status hn_run_tell_step(const hn_state *s, const hn_step *step, hone_status status,
                             hone_error *err) {
    if (status == HONE_E_CANCELLED)
        return fail_stopped(s, err);
    if (status != HONE_OK)
        hn_error_at_node(err, hn_state_graph(s), step->node);
    return status;
}

/* A loop that was stopped within the step makes its results worthless. */
static hone_status run_unless_stopped(hn_state *s, hn_lane *lane, const hn_step *step,
                                      hn_step_mode mode, const hn_lowered *lowered,
                                      hone_error *err) {
    if (hn_run_is_stopped(s))
        return HONE_E_CANCELLED;
    hone_status status = run_step(s, lane, step, mode, lowered, err);
    return status == HONE_OK && hn_flag_is_set(&s->was_stopped) ? HONE_E_CANCELLED : status;
}

/* Steps of the main graph draw random numbers of their own each, whichever others run. */
hone_status hn_run_main_step(hn_state *s, hn_lane *lane, uint32_t i, hone_error *err) {
    const hn_step *step = &s->program->blocks[0].steps[i];
    if (!s->needed_steps[i])
        return HONE_OK;
    hn_rng_seed(&lane->host.rng, step->node);
    return run_unless_stopped(s, lane, step, (hn_step_mode)s->plan->modes[i], &s->plan->lowered[i],
                              err);
}

static void drop_dead(hn_state *s, const hn_step *step) {
    for (uint32_t k = 0; k < step->n_dead; k++)
        drop_value(s, step->dead[k]);
}

/* Whoever watches sees steps one after the other. */
static bool runs_groups(const hn_state *s) {
    return s->n_lanes > 1 && !(s->control && s->control->after_step);
}

static hone_status run_main_alone(hn_state *s, uint32_t i, hone_error *err) {
    hone_status status = hn_run_main_step(s, &s->lanes[0], i, err);
    return hn_run_tell_step(s, &s->program->blocks[0].steps[i], status, err);
}

hone_status hn_run_main(hn_state *s, hone_error *err) {
    const hn_step_list *list = &s->program->blocks[0];
    const hn_group *group = s->plan->groups;
    const hn_group *last = runs_groups(s) ? group + s->plan->n_groups : group;
    for (uint32_t i = 0, end; i < list->n_steps; i = end) {
        bool is_group = group < last && group->begin == i;
        end = is_group ? group->end : i + 1;
        HN_TRY(is_group ? hn_run_group(s, group++, err) : run_main_alone(s, i, err));
        for (uint32_t k = i; k < end; k++)
            if (s->needed_steps[k])
                drop_dead(s, &list->steps[k]);
    }
    return HONE_OK;
}

static hone_status run_body_steps(hn_state *s, hn_id block, hone_error *err) {
    const hn_step_list *list = &s->program->blocks[block];
    for (uint32_t i = 0; i < list->n_steps; i++) {
        const hn_step *step = &list->steps[i];
        hone_status status = run_unless_stopped(s, &s->lanes[0], step, HN_STEP_DYNAMIC, NULL, err);
        HN_TRY(hn_run_tell_step(s, step, status, err));
        drop_dead(s, step);
    }
    return HONE_OK;
}

static hone_status give_body_inputs(hn_state *s, const hn_block *b, uint32_t n_in,
                                    hn_object *const *in) {
    for (uint32_t i = 0; i < b->inputs.n && i < n_in; i++) {
        if (!in[i])
            continue;
        s->values[b->inputs.at[i]] = hn_heap_ref(s->heap, in[i]);
        HN_TRY_PTR(s->values[b->inputs.at[i]]);
    }
    return HONE_OK;
}

static hone_status take_body_outputs(hn_state *s, const hn_block *b, uint32_t n_out,
                                     hn_object **out, hone_error *err) {
    for (uint32_t i = 0; i < n_out && i < b->outputs.n; i++) {
        hn_object *o = s->values[b->outputs.at[i]];
        if (!o)
            return hn_fail(err, HONE_E_INTERNAL, "the subgraph did not compute its output %u", i);
        out[i] = hn_heap_ref(s->heap, o);
        HN_TRY_PTR(out[i]);
    }
    return HONE_OK;
}

hone_status hn_run_subgraph(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                            uint32_t n_out, hn_object **out, hone_error *err) {
    hn_state *s = run;
    const hn_block *b = hn_block_at(hn_state_graph(s), block);
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = NULL;
    hone_status status = give_body_inputs(s, b, n_in, in);
    if (status == HONE_OK)
        status = run_body_steps(s, block, err);
    if (status == HONE_OK)
        status = take_body_outputs(s, b, n_out, out, err);
    hn_run_drop_values(s, block);
    for (uint32_t i = 0; i < n_out && status != HONE_OK; i++) {
        hn_heap_unref(s->heap, out[i]);
        out[i] = NULL;
    }
    return status;
}
