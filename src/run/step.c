/* What happens in one step: a lowered one is called with pointers; for the others the frame of an
 * evaluation is filled, and where the plan does not know the shapes they are found first. */
#include "run/run_int.h"

#define FEW 16 /* arguments and results that need no memory of the heap */

enum {
    QUESTION_NS = 20000000, /* between two questions; one may have to wait for a lock */
    STEPS_PER_QUESTION = 32 /* at least: reading the clock takes as long as a small step */
};

static bool is_asked_to_stop(hn_state *s) {
    if (!pthread_equal(pthread_self(), s->caller))
        return false;
    uint64_t now_ns = hn_now_ns();
    if (now_ns < s->next_question_ns)
        return false;
    s->next_question_ns = now_ns + QUESTION_NS;
    bool stops = s->control->should_stop(s->control->should_stop_ctx);
    if (stops)
        hn_flag_set(&s->was_cancelled);
    return stops;
}

/* Once stopped, always stopped: a loop that has seen it leaves its results undone. */
static bool is_state_stopped(hn_state *s, bool asks) {
    const hn_run_control *c = s->control;
    if (hn_flag_is_set(&s->was_stopped))
        return true;
    bool stops = c && ((c->cancel && hn_flag_is_set(c->cancel)) ||
                       (c->deadline_ns && hn_now_ns() > c->deadline_ns) ||
                       (asks && c->should_stop && is_asked_to_stop(s)));
    if (stops)
        hn_flag_set(&s->was_stopped);
    return stops;
}

bool hn_run_is_stopped(void *run) {
    return is_state_stopped(run, true);
}

static hone_status fail_stopped(const hn_state *s, hone_error *err) {
    bool is_cancelled = hn_flag_is_set(&s->was_cancelled) ||
                        (s->control && s->control->cancel && hn_flag_is_set(s->control->cancel));
    return hn_fail(err, HONE_E_CANCELLED,
                   is_cancelled ? "the run was cancelled"
                                : "the run was stopped: its deadline has passed");
}

hone_status hn_run_tell_step(const hn_state *s, const hn_step *step, hone_status status,
                             hone_error *err) {
    if (status == HONE_E_CANCELLED)
        return fail_stopped(s, err);
    if (status == HONE_E_NOMEM)
        status = hn_run_refuse_memory(s, err);
    if (status != HONE_OK)
        hn_error_at_node(err, hn_state_graph(s), step->node);
    return status;
}

/* ---- results that do not stand ready --------------------------------------------------------- */

static bool is_argument(const hn_node *n, hn_id value) {
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] == value)
            return true;
    return false;
}

/* An argument of this type that ends with the step, and that nobody else holds or reads: the result
 * may be written over it. */
static hn_object *dying_object(const hn_step_frame *f, const hn_type *t) {
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

static hone_status make_output(hn_step_frame *f, uint32_t i, const hn_type *t) {
    hn_state *s = f->state;
    if (!f->rets[i] && i == 0)
        f->rets[i] = dying_object(f, t);
    if (!f->rets[i])
        f->rets[i] = hn_heap_tensor(s->heap, t->elem, t->shape.rank, t->shape.dims);
    HN_TRY_PTR(f->rets[i]);
    if (!hn_array_has_type(&f->rets[i]->array, t))
        return hn_fail(f->err, HONE_E_INTERNAL, "output %u has another shape than was planned", i);
    return HONE_OK;
}

/* Types of results, where they are known, by output. */
static hone_status make_outputs(hn_step_frame *f, const hn_type *const *types) {
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && types[i])
            HN_TRY(make_output(f, i, types[i]));
    return HONE_OK;
}

/* ---- lowered steps --------------------------------------------------------------------------- */

static void *data_of(const hn_object *o) {
    return o ? o->array.data : NULL;
}

/* Memory of a lane, aligned to cache lines, until the step ends; NULL: there is none. */
static void *take_scratch(const hn_lane *lane, size_t bytes) {
    uint8_t *p = hn_arena_alloc(lane->host.scratch, bytes + 64);
    return p ? p + (64 - (uintptr_t)p % 64) % 64 : NULL;
}

static hone_status call_lowered(hn_step_frame *f, const hn_lowered *l) {
    const void *few_in[FEW], **in = few_in;
    void *few_out[FEW], **out = few_out, *scratch = NULL;
    const hn_node *n = f->node;
    if (n->n_inputs > FEW)
        HN_TRY_PTR(in = hn_arena_alloc(f->lane->host.scratch, n->n_inputs * sizeof *in));
    if (n->n_outputs > FEW)
        HN_TRY_PTR(out = hn_arena_alloc(f->lane->host.scratch, n->n_outputs * sizeof *out));
    if (l->scratch_bytes)
        HN_TRY_PTR(scratch = take_scratch(f->lane, l->scratch_bytes));
    for (uint32_t i = 0; i < n->n_inputs; i++)
        in[i] = data_of(f->args[i]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        out[i] = f->step->wanted[i] ? data_of(f->rets[i]) : NULL;
    hn_step_io io = {
        .in = in, .out = out, .scratch = scratch, .pool = f->lane->host.pool, .err = f->err};
    return l->run(l->record, &io);
}

/* Results in planned memory and in memory of the caller stand ready; those of a body do not. */
static hone_status run_lowered(hn_step_frame *f, const hn_lowered *l) {
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && !f->rets[i])
            HN_TRY(make_output(f, i, f->plan->places[f->node->outputs[i]].type));
    return call_lowered(f, l);
}

/* ---- evaluated steps -------------------------------------------------------------------------- */

void hn_run_open_eval(const hn_step_frame *f, hn_eval_frame *e) {
    const hn_state *s = f->state;
    e->job = (infer_job){
        .model = s->program->model, .work = f->lane->host.scratch, .ignore_declared = true};
    e->scope = (infer_scope){.job = &e->job, .g = hn_state_graph(s)};
    e->eval = (hn_eval){.node = {.scope = &e->scope,
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
                        .bodies = f->step->bodies,
                        .is_prepared = true,
                        .state = f->step->state,
                        .err = f->err};
}

/* Later steps rely on the plan: what it knows a value to be is what the value must be, where it
 * must be. */
static hone_status settle_result(hn_step_frame *f, uint32_t i) {
    hn_state *s = f->state;
    hn_object *o = f->rets[i];
    if (!o)
        return hn_fail(f->err, HONE_E_SHAPE,
                       "the shape of output %u does not follow from these inputs", i);
    const hn_place *place = f->plan ? &f->plan->places[f->node->outputs[i]] : NULL;
    if (!place || !place->type)
        return HONE_OK;
    if (o->kind != HN_OBJECT_TENSOR || !hn_array_has_type(&o->array, place->type))
        return hn_fail(f->err, HONE_E_SHAPE,
                       "output %u has another shape than the model's own shapes promise", i);
    hn_object *planned = &s->planned[f->node->outputs[i]];
    if (place->offset == HN_NO_OFFSET || o == planned)
        return HONE_OK;
    f->rets[i] = planned;
    bool ok = hn_heap_copy_elems(s->heap, &planned->array, &o->array);
    hn_heap_unref(s->heap, o);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

static hone_status settle_results(hn_step_frame *f) {
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i])
            HN_TRY(settle_result(f, i));
    return HONE_OK;
}

static hone_status evaluate(hn_step_frame *f, hn_eval_frame *e) {
    const hn_state *s = f->state;
    const uint64_t parts[] = {s->control ? s->control->seed : 0,
                              f->node->block ? s->n_body_runs : 0, f->step->node};
    hn_rng_seed(&f->lane->host.rng, hn_hash64(parts, sizeof parts, 0));
    return f->step->op->impl->eval(&e->eval);
}

static hone_status evaluate_planned(hn_step_frame *f) {
    hn_eval_frame e;
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i])
            HN_TRY(make_output(f, i, f->plan->places[f->node->outputs[i]].type));
    hn_run_open_eval(f, &e);
    HN_TRY(evaluate(f, &e));
    return settle_results(f);
}

/* Sequences, optionals and bodies make their outputs themselves. */
static bool can_infer(const hn_step_frame *f) {
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (f->args[i] && f->args[i]->kind != HN_OBJECT_TENSOR)
            return false;
    return !f->step->has_body;
}

/* What was found the last time holds as long as arguments have the same types. */
static hone_status run_dynamic(hn_step_frame *f) {
    hn_eval_frame e;
    bool infers = can_infer(f);
    const hn_memo *known = infers ? hn_memo_find(f) : NULL;
    if (!known || !known->lowered.run)
        hn_run_open_eval(f, &e);
    if (!known)
        HN_TRY(hn_eval_check_args(&e.eval));
    if (!known && infers)
        HN_TRY(hn_memo_make(f, &e, &known));
    if (known)
        HN_TRY(make_outputs(f, known->out));
    f->lowered = known && known->lowered.run ? &known->lowered : NULL;
    HN_TRY(f->lowered ? call_lowered(f, f->lowered) : evaluate(f, &e));
    return settle_results(f);
}

/* ---- all kinds ------------------------------------------------------------------------------- */

/* A view of planned memory is there since the plan was taken. */
static void show_view(hn_step_frame *f) {
    hn_id id = f->node->outputs[0];
    hn_object *view = &f->state->planned[id];
    const hn_place *at = &f->plan->places[id];
    if (at->offset == HN_NO_OFFSET)
        hn_object_init_borrowed(view, at->type->elem, at->type->shape.rank, at->type->shape.dims,
                                f->args[0]->array.data);
    f->rets[0] = view;
}

static void gather_args(hn_step_frame *f) {
    hn_object **values = f->state->values;
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        f->args[i] = f->node->inputs[i] == HN_NONE ? NULL : values[f->node->inputs[i]];
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        f->rets[i] = f->step->wanted[i] ? values[f->node->outputs[i]] : NULL;
}

static hone_status compute(hn_step_frame *f, const hn_lowered *lowered) {
    if (f->mode == HN_STEP_DYNAMIC)
        return run_dynamic(f);
    f->lowered = f->mode == HN_STEP_PLANNED && lowered->run ? lowered : NULL;
    if (f->mode == HN_STEP_PLANNED)
        return f->lowered ? run_lowered(f, lowered) : evaluate_planned(f);
    show_view(f);
    return HONE_OK;
}

static hone_status compute_watched(hn_step_frame *f, const hn_lowered *lowered) {
    hn_step_clock clock;
    hn_run_begin_watch(f, &clock);
    hone_status status = compute(f, lowered);
    if (status == HONE_OK)
        hn_run_end_watch(f, &clock);
    return status;
}

/* What a step that failed has made of a planned value must not stay in its place. */
static void keep_results(hn_step_frame *f, bool has_failed) {
    hn_state *s = f->state;
    for (uint32_t i = 0; i < f->node->n_outputs; i++) {
        hn_id id = f->node->outputs[i];
        if (!f->step->wanted[i])
            continue;
        bool is_placed = f->plan && f->plan->places[id].offset != HN_NO_OFFSET;
        if (has_failed && is_placed && f->rets[i] != &s->planned[id]) {
            hn_heap_unref(s->heap, f->rets[i]);
            f->rets[i] = &s->planned[id];
        }
        s->values[id] = f->rets[i];
    }
}

static hone_status take_operands(hn_step_frame *f, hn_object **few_args, hn_object **few_rets) {
    hn_arena *scratch = f->lane->host.scratch;
    uint32_t n_in = f->node->n_inputs, n_out = f->node->n_outputs;
    f->args = n_in <= FEW ? few_args : hn_arena_alloc(scratch, n_in * sizeof *f->args);
    f->rets = n_out <= FEW ? few_rets : hn_arena_alloc(scratch, n_out * sizeof *f->rets);
    return f->args && f->rets ? HONE_OK : HONE_E_NOMEM;
}

/* A loop that was stopped within the step makes its results worthless. */
hone_status hn_run_step(hn_state *s, hn_lane *lane, const hn_plan *plan, const hn_step *step,
                        uint32_t i, hone_error *err) {
    hn_object *args[FEW], *rets[FEW];
    hn_step_frame f = {.state = s,
                       .lane = lane,
                       .plan = plan,
                       .step = step,
                       .node = hn_node_at(hn_state_graph(s), step->node),
                       .mode = plan ? (hn_step_mode)plan->modes[i] : HN_STEP_DYNAMIC,
                       .err = err};
    if (is_state_stopped(s, i % STEPS_PER_QUESTION == 0))
        return HONE_E_CANCELLED;
    hn_arena *scratch = lane->host.scratch;
    hn_arena_mark mark = hn_arena_save(scratch);
    HN_TRY(take_operands(&f, args, rets));
    gather_args(&f);
    const hn_lowered *lowered = plan ? &plan->lowered[i] : NULL;
    hone_status status =
        hn_run_is_watched(s->control) ? compute_watched(&f, lowered) : compute(&f, lowered);
    keep_results(&f, status != HONE_OK);
    lane->scratch_need = HN_MAX(lane->scratch_need, hn_arena_bytes(scratch));
    hn_arena_restore(scratch, mark);
    return status == HONE_OK && hn_flag_is_set(&s->was_stopped) ? HONE_E_CANCELLED : status;
}
