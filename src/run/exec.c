/* The loop over steps. */
#define _POSIX_C_SOURCE 200809L
#include "run/run.h"

#include <time.h>

#define CONST_ELEMS 4096 /* arguments up to this size are shown to inference with their data */

struct hn_state {
    const hn_program *program;
    const hn_plan *plan;
    const hn_run_control *control;
    hn_eval_host host;
    uint64_t limit_bytes;
    void *block; /* planned values */
    uint64_t block_bytes;
    hn_object **values;  /* by value: what it is now; NULL before and after its life */
    hn_object *planned;  /* by value: tensors in the block */
    uint64_t planned_for; /* serial of the plan whose places `planned` shows */
    hn_object **args, **rets; /* of the step that runs now */
};

double hn_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const hn_graph *graph_of_state(const hn_state *s) { return s->program->model->graph; }

static bool is_run_stopped(void *run) {
    const hn_run_control *c = ((hn_state *)run)->control;
    return c && ((c->cancel && *c->cancel) || (c->deadline > 0 && hn_now() > c->deadline));
}

static hone_status fail_stopped(const hn_state *s, hone_error *err) {
    bool late = !(s->control->cancel && *s->control->cancel);
    return hn_fail(err, HONE_E_CANCELLED, late ? "the run was stopped: its deadline has passed" : "the run was cancelled");
}

/* ---- one step ------------------------------------------------------------------------------------------------------------------ */

typedef struct step_frame {
    hn_state *state;
    const hn_step *step;
    const hn_node *node;
    hn_eval eval;
} step_frame;

/* Are all arguments what the plan took them for? Then its places hold for the outputs. */
static bool is_static(const step_frame *f) {
    const hn_plan *plan = f->state->plan;
    if (f->node->block != 0 || f->step->has_body)
        return false;
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (f->node->inputs[i] != HN_NONE && !plan->places[f->node->inputs[i]].type)
            return false;
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && !plan->places[f->node->outputs[i]].type)
            return false;
    return true;
}

static hone_status make_output(step_frame *f, uint32_t i, const hn_type *t) {
    hn_state *s = f->state;
    hn_id id = f->node->outputs[i];
    bool in_place = f->node->block == 0 && s->plan->places[id].offset != HN_NO_OFFSET;
    if (in_place && hn_type_equal(t, s->plan->places[id].type))
        s->rets[i] = &s->planned[id];
    else if (!s->rets[i])
        s->rets[i] = hn_heap_tensor(s->host.heap, t->elem, t->shape.rank, t->shape.dims);
    return s->rets[i] ? HONE_OK : HONE_E_NOMEM;
}

/* Types and small data of the arguments as inference wants to see them. */
static hone_status describe_args(step_frame *f) {
    hn_arena *a = f->state->host.scratch;
    uint32_t n = f->node->n_inputs;
    const hn_type **types = HN_NEW_N(a, const hn_type *, (size_t)n + 1);
    const hn_tensor **consts = HN_NEW_N(a, const hn_tensor *, (size_t)n + 1);
    if (!types || !consts)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const hn_array *x = hn_arg(&f->eval, i);
        if (!x)
            continue;
        types[i] = hn_type_tensor(a, x->dtype, x->rank, x->dims);
        HN_TRY_PTR(types[i]);
        if (x->n_elems > CONST_ELEMS || x->dtype == HN_STRING)
            continue;
        consts[i] = hn_tensor_new(a, x->dtype, x->rank, x->dims, x->data, true);
        HN_TRY_PTR(consts[i]);
    }
    f->eval.node.arg_types = types;
    f->eval.node.arg_consts = consts;
    return HONE_OK;
}

static bool all_dims_known(const hn_type *t) {
    if (!t || t->kind != HN_TYPE_TENSOR || t->elem == HN_UNDEFINED || t->shape.rank < 0)
        return false;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] < 0)
            return false;
    return true;
}

/* Shapes from what the arguments really are. */
static hone_status infer_step(step_frame *f) {
    hn_infer *c = &f->eval.node;
    size_t n = (size_t)f->node->n_outputs + 1;
    HN_TRY(describe_args(f));
    c->out = HN_NEW_N(f->state->host.scratch, const hn_type *, n);
    c->out_ints = HN_NEW_N(f->state->host.scratch, const infer_ints *, n);
    c->out_consts = HN_NEW_N(f->state->host.scratch, const hn_tensor *, n);
    if (!c->out || !c->out_ints || !c->out_consts)
        return HONE_E_NOMEM;
    if (hn_node_types_ok(c, NULL)) {
        hone_status status = c->op->infer(c);
        if (status != HONE_OK)
            return hn_fail(f->eval.err, status, "%s", c->fail.message);
    }
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && all_dims_known(c->out[i]))
            HN_TRY(make_output(f, i, c->out[i]));
    return HONE_OK;
}

/* Sequences, optionals and bodies make their outputs themselves. */
static bool can_infer(const step_frame *f) {
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (f->state->args[i] && f->state->args[i]->kind != HN_OBJECT_TENSOR)
            return false;
    return !f->step->has_body;
}

static hone_status prepare_outputs(step_frame *f) {
    if (is_static(f)) {
        for (uint32_t i = 0; i < f->node->n_outputs; i++)
            if (f->step->wanted[i])
                HN_TRY(make_output(f, i, f->state->plan->places[f->node->outputs[i]].type));
        return HONE_OK;
    }
    return can_infer(f) ? infer_step(f) : HONE_OK;
}

static hone_status evaluate(step_frame *f) {
    HN_TRY(prepare_outputs(f));
    HN_TRY(f->step->op->eval(&f->eval));
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && !f->state->rets[i])
            return hn_fail(f->eval.err, HONE_E_INTERNAL, "output %u was not computed", i);
    return HONE_OK;
}

static void drop_value(hn_state *s, hn_id id) {
    hn_object *is_const = &s->program->consts[id];
    hn_heap_unref(s->host.heap, s->values[id]);
    s->values[id] = is_const->kind == HN_OBJECT_NONE ? NULL : is_const;
}

static void observe(const step_frame *f, double start) {
    const hn_run_control *c = f->state->control;
    if (c && c->after_step)
        c->after_step(c->ctx, graph_of_state(f->state), f->step->node, hn_now() - start, f->state->rets, f->node->n_outputs);
}

static hone_status run_step(hn_state *s, const hn_step *step, hone_error *err) {
    step_frame f = {.state = s, .step = step, .node = hn_node_at(graph_of_state(s), step->node)};
    infer_job job = {.model = s->program->model, .work = s->host.scratch, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = graph_of_state(s)};
    bool is_observed = s->control && s->control->after_step;
    double start = is_observed ? hn_now() : 0;
    hn_object *args[16], *rets[16]; /* bodies run inside: their steps have frames of their own */
    hn_object **saved_args = s->args, **saved_rets = s->rets;
    size_t n_args = (size_t)f.node->n_inputs, n_rets = (size_t)f.node->n_outputs;
    hn_arena_mark mark = hn_arena_save(s->host.scratch);
    s->args = n_args <= HN_COUNT(args) ? args : hn_arena_alloc(s->host.scratch, n_args * sizeof *args);
    s->rets = n_rets <= HN_COUNT(rets) ? rets : hn_arena_alloc(s->host.scratch, n_rets * sizeof *rets);
    hone_status status = s->args && s->rets ? HONE_OK : HONE_E_NOMEM;
    if (status == HONE_OK) {
        for (size_t i = 0; i < n_args; i++)
            s->args[i] = f.node->inputs[i] == HN_NONE ? NULL : s->values[f.node->inputs[i]];
        for (size_t i = 0; i < n_rets; i++) /* graph outputs may stand ready */
            s->rets[i] = step->wanted[i] && f.node->block == 0 ? s->values[f.node->outputs[i]] : NULL;
        f.eval = (hn_eval){.node = {.scope = &scope, .id = step->node, .node = f.node, .op = step->op, .version = step->version},
                           .host = &s->host, .n_args = f.node->n_inputs, .n_rets = f.node->n_outputs, .args = s->args,
                           .rets = s->rets, .wanted = step->wanted, .err = err};
        status = evaluate(&f);
    }
    for (size_t i = 0; s->rets && s->args && i < n_rets; i++)
        if (step->wanted[i])
            s->values[f.node->outputs[i]] = s->rets[i];
    if (status == HONE_OK && is_observed)
        observe(&f, start);
    hn_arena_restore(s->host.scratch, mark);
    s->args = saved_args;
    s->rets = saved_rets;
    return status;
}

static hone_status run_steps(hn_state *s, hn_id block, hone_error *err) {
    const hn_step_list *list = &s->program->blocks[block];
    for (uint32_t i = 0; i < list->n_steps; i++) {
        const hn_step *step = &list->steps[i];
        hone_status status = is_run_stopped(s) ? fail_stopped(s, err) : run_step(s, step, err);
        if (status != HONE_OK) {
            char who[200];
            if (status != HONE_E_CANCELLED)
                hn_error_prefix(err, "%s", hn_node_text(graph_of_state(s), step->node, who, sizeof who));
            return status;
        }
        for (uint32_t k = 0; k < step->n_dead; k++)
            drop_value(s, step->dead[k]);
    }
    return HONE_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------------------------------------------- */

static hone_status run_body(void *run, hn_id block, uint32_t n_in, hn_object *const *in, uint32_t n_out, hn_object **out,
                            hone_error *err) {
    hn_state *s = run;
    const hn_block *b = hn_block_at(graph_of_state(s), block);
    const hn_step_list *list = &s->program->blocks[block];
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = NULL;
    for (uint32_t i = 0; i < b->inputs.n && i < n_in && status == HONE_OK; i++) {
        s->values[b->inputs.at[i]] = in[i] ? hn_heap_ref(s->host.heap, in[i]) : NULL;
        if (in[i] && !s->values[b->inputs.at[i]])
            status = HONE_E_NOMEM;
    }
    if (status == HONE_OK)
        status = run_steps(s, block, err);
    for (uint32_t i = 0; i < n_out && i < b->outputs.n && status == HONE_OK; i++) {
        hn_object *o = s->values[b->outputs.at[i]];
        out[i] = o ? hn_heap_ref(s->host.heap, o) : NULL;
        if (!out[i])
            status = o ? HONE_E_NOMEM : hn_fail(err, HONE_E_INTERNAL, "the subgraph did not compute its output %u", i);
    }
    for (uint32_t i = 0; i < list->n_owned; i++)
        drop_value(s, list->owned[i]);
    for (uint32_t i = 0; i < n_out && status != HONE_OK; i++) {
        hn_heap_unref(s->host.heap, out[i]);
        out[i] = NULL;
    }
    return status;
}

/* ---- states -------------------------------------------------------------------------------------------------------------------------- */

hn_state *hn_state_new(const hn_program *p, hn_pool *pool, uint64_t memory_limit) {
    const hone_allocator *alloc = hn_arena_allocator(p->model->arena);
    size_t n = (size_t)p->model->graph->values.n + 1;
    hn_state *s = hn_calloc(alloc, 1, sizeof *s);
    if (!s)
        return NULL;
    s->program = p;
    s->limit_bytes = memory_limit;
    s->values = hn_calloc(alloc, n, sizeof *s->values);
    s->planned = hn_calloc(alloc, n, sizeof *s->planned);
    s->host = (hn_eval_host){.heap = hn_heap_new(alloc), .scratch = hn_arena_new(alloc), .pool = pool, .run = s,
                             .run_body = run_body, .is_stopped = is_run_stopped};
    if (!s->values || !s->planned || !s->host.heap || !s->host.scratch) {
        hn_state_free(s);
        return NULL;
    }
    for (hn_id id = 0; id + 1 < n; id++)
        if (p->consts[id].kind != HN_OBJECT_NONE)
            s->values[id] = &p->consts[id];
    return s;
}

void hn_state_free(hn_state *s) {
    if (!s)
        return;
    const hone_allocator *alloc = hn_arena_allocator(s->program->model->arena);
    size_t n = (size_t)s->program->model->graph->values.n + 1;
    if (s->host.heap && s->block)
        hn_heap_give(s->host.heap, s->block, (size_t)s->block_bytes);
    hn_heap_free(s->host.heap);
    hn_arena_free(s->host.scratch);
    hn_free(alloc, s->values, n * sizeof *s->values);
    hn_free(alloc, s->planned, n * sizeof *s->planned);
    hn_free(alloc, s, sizeof *s);
}

uint64_t hn_state_peak_bytes(const hn_state *s) { return hn_heap_peak(s->host.heap); }

/* The block of the plan, and headers for the values that lie in it. */
static hone_status take_plan(hn_state *s, const hn_plan *plan, hone_error *err) {
    if (s->planned_for == plan->serial)
        return HONE_OK;
    if (s->limit_bytes && plan->block_bytes > s->limit_bytes)
        return hn_fail(err, HONE_E_LIMIT, "the run needs %llu bytes for intermediate values at its peak, but the limit is %llu",
                       (unsigned long long)plan->block_bytes, (unsigned long long)s->limit_bytes);
    if (plan->block_bytes > s->block_bytes) {
        hn_heap_give(s->host.heap, s->block, (size_t)s->block_bytes);
        s->block_bytes = 0;
        hn_heap_trim(s->host.heap);
        s->block = hn_heap_alloc(s->host.heap, (size_t)plan->block_bytes);
        HN_TRY_PTR(s->block);
        s->block_bytes = plan->block_bytes;
    }
    const hn_graph *g = graph_of_state(s);
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_place *at = &plan->places[id];
        if (at->offset != HN_NO_OFFSET)
            hn_object_init_borrowed(&s->planned[id], at->type->elem, at->type->shape.rank, at->type->shape.dims,
                                    (uint8_t *)s->block + at->offset);
    }
    s->planned_for = plan->serial;
    return HONE_OK;
}

static bool same_shape(const hn_array *a, const hn_type *t) {
    return a->dtype == t->elem && a->rank == t->shape.rank &&
           (a->rank == 0 || memcmp(a->dims, t->shape.dims, (size_t)a->rank * sizeof(int64_t)) == 0);
}

/* Shows memory of somebody else as the value: it is read or written there, and never freed by us. */
static void lend(hn_state *s, hn_id id, const hn_array *a) {
    hn_object_init_borrowed(&s->planned[id], a->dtype, a->rank, a->dims, a->data);
    s->values[id] = &s->planned[id];
}

/* Outputs whose shape is planned are computed right where the caller wants them. */
static hone_status prepare_graph_outputs(hn_state *s, const bool *wanted, hn_heap *const *heaps, hn_object **outputs,
                                         hone_error *err) {
    const hn_block *b = hn_block_at(graph_of_state(s), 0);
    for (uint32_t i = 0; i < b->outputs.n; i++) {
        hn_id id = b->outputs.at[i];
        const hn_type *t = s->plan->places[id].type;
        bool is_computed = hn_value_at(graph_of_state(s), id)->producer != HN_NONE;
        if (outputs[i] && t && !same_shape(&outputs[i]->array, t))
            return hn_fail(err, HONE_E_SHAPE, "the buffer for output '%s' has another type or shape than the model computes",
                           hn_s(hn_value_at(graph_of_state(s), id)->name));
        if (!wanted[i] || !is_computed || !t || t->elem == HN_STRING || s->values[id])
            continue;
        if (!outputs[i])
            outputs[i] = hn_heap_tensor(heaps[i], t->elem, t->shape.rank, t->shape.dims);
        HN_TRY_PTR(outputs[i]);
        lend(s, id, &outputs[i]->array);
    }
    return HONE_OK;
}

/* Tensors are read where they lie; sequences and maps are copied, so that nobody else's reference counts are touched. */
static hone_status take_inputs(hn_state *s, const hn_object *const *inputs) {
    const hn_block *b = hn_block_at(graph_of_state(s), 0);
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_id id = b->inputs.at[i];
        if (!inputs[i])
            continue;
        if (inputs[i]->kind == HN_OBJECT_TENSOR)
            lend(s, id, &inputs[i]->array);
        else
            s->values[id] = hn_heap_copy(s->host.heap, inputs[i]);
        HN_TRY_PTR(s->values[id]);
    }
    return HONE_OK;
}

/* A value that could not be computed in place: a copy in the caller's heap. */
static hone_status collect_output(hn_state *s, hn_id id, hn_heap *heap, hn_object **output, hone_error *err) {
    hn_object *o = s->values[id];
    if (!o)
        return hn_fail(err, HONE_E_INTERNAL, "output '%s' was not computed", hn_s(hn_value_at(graph_of_state(s), id)->name));
    if (*output && o->kind == HN_OBJECT_TENSOR && o->array.data == (*output)->array.data)
        return HONE_OK;
    if (*output) {
        uint64_t bytes = 0;
        if (o->kind != HN_OBJECT_TENSOR || o->array.dtype != (*output)->array.dtype || o->array.n_elems != (*output)->array.n_elems)
            return hn_fail(err, HONE_E_SHAPE, "the buffer for output '%s' has another type or size than what was computed",
                           hn_s(hn_value_at(graph_of_state(s), id)->name));
        hn_dtype_bytes(o->array.dtype, o->array.n_elems, &bytes);
        if (bytes)
            memcpy((*output)->array.data, o->array.data, (size_t)bytes);
        return HONE_OK;
    }
    *output = hn_heap_copy(heap, o);
    return *output ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_state_run(hn_state *s, const hn_plan *plan, const hn_run_control *control, const hn_object *const *inputs,
                         const bool *wanted, hn_heap *const *out_heaps, hn_object **outputs, hone_error *err) {
    const hn_block *b = hn_block_at(graph_of_state(s), 0);
    const hn_step_list *list = &s->program->blocks[0];
    HN_TRY(take_plan(s, plan, err));
    s->plan = plan;
    s->control = control;
    hn_rng_seed(&s->host.rng, 0);
    hone_status status = take_inputs(s, inputs);
    if (status == HONE_OK)
        status = prepare_graph_outputs(s, wanted, out_heaps, outputs, err);
    if (status == HONE_OK)
        status = run_steps(s, 0, err);
    for (uint32_t i = 0; i < b->outputs.n && status == HONE_OK; i++)
        if (wanted[i])
            status = collect_output(s, b->outputs.at[i], out_heaps[i], &outputs[i], err);
    for (uint32_t i = 0; i < list->n_owned; i++)
        drop_value(s, list->owned[i]);
    return status;
}
