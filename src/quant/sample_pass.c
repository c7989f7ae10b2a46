/* A pass over samples: the model runs on each, and values are shown while they are there, so that
 * memory does not grow with samples or values. */
#include "quant/quant_int.h"
#include "run/session.h"

typedef struct pass_run {
    hn_quant_pass *pass;
    const hn_graph *g; /* of the model; that of the session has the same numbers */
    bool has_failed;   /* out of memory */
} pass_run;

static void show_value(pass_run *r, hn_id value, const hn_object *o) {
    if (!r->has_failed && o && o->kind == HN_OBJECT_TENSOR && o->array.dtype == HN_F32 &&
        o->array.n_elems > 0 && !r->pass->watch(r->pass->ctx, value, &o->array))
        r->has_failed = true;
}

static void show_step(void *ctx, const hn_step_event *event) {
    pass_run *r = ctx;
    const hn_node *n = hn_node_at(event->g, event->step->node);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && event->outputs[i])
            show_value(r, n->outputs[i], event->outputs[i]);
}

const float *hn_quant_dense(const hone_allocator *a, const hn_array *x, float **copy) {
    *copy = NULL;
    if (!x->row_stride || x->rank == 0)
        return x->data;
    uint64_t row = (uint64_t)x->dims[x->rank - 1], n_rows = row ? x->n_elems / row : 0;
    *copy = hn_alloc(a, x->n_elems * sizeof **copy);
    for (uint64_t i = 0; *copy && i < n_rows; i++)
        memcpy(*copy + i * row, (const float *)x->data + i * (uint64_t)x->row_stride,
               row * sizeof **copy);
    return *copy;
}

/* ---- one sample ---------------------------------------------------------------------------------- */

static hone_status check_sample_type(const hn_value *v, const hn_object *o, hone_error *err) {
    const hn_type *t = v->type;
    const char *name = hn_s(v->name);
    if (!t || t->kind != HN_TYPE_TENSOR || o->kind != HN_OBJECT_TENSOR)
        return HONE_OK;
    const hn_array *x = &o->array;
    if (x->dtype != t->elem)
        return hn_fail(err, HONE_E_TYPE, "input '%s' takes %s, the sample has %s", name,
                       hn_dtype_name(t->elem), hn_dtype_name(x->dtype));
    if (t->shape.rank >= 0 && t->shape.rank != x->rank)
        return hn_fail(err, HONE_E_SHAPE, "input '%s' has %d dimensions, the sample %d", name,
                       t->shape.rank, x->rank);
    for (int32_t k = 0; k < t->shape.rank; k++)
        if (hn_dim_is_known(t->shape.dims[k]) && t->shape.dims[k] != x->dims[k])
            return hn_fail(err, HONE_E_SHAPE,
                           "dimension %d of input '%s' is %lld, that of the sample %lld", k, name,
                           (long long)t->shape.dims[k], (long long)x->dims[k]);
    return HONE_OK;
}

static hone_status bind_sample(pass_run *r, hn_call *call, const hn_quant_sample *s,
                               hone_error *err) {
    const hn_block *b = hn_block_at(r->g, 0);
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t i = 0;
        while (i < b->inputs.n &&
               strcmp(hn_s(hn_value_at(r->g, b->inputs.at[i])->name), s->inputs[k]) != 0)
            i++;
        if (i >= b->inputs.n || i >= call->n_inputs)
            return hn_fail(err, HONE_E_NOT_FOUND, "the model has no input '%s'", s->inputs[k]);
        HN_TRY(check_sample_type(hn_value_at(r->g, b->inputs.at[i]), s->values[k], err));
        call->inputs[i] = s->values[k];
    }
    for (uint32_t i = 0; i < b->inputs.n && i < call->n_inputs; i++)
        if (!call->inputs[i] && !hn_value_at(r->g, b->inputs.at[i])->init)
            return hn_fail(err, HONE_E_NOT_FOUND, "no value for input '%s'",
                           hn_s(hn_value_at(r->g, b->inputs.at[i])->name));
    return HONE_OK;
}

static hone_status run_bound(pass_run *r, hn_session *session, hn_state *state, hn_heap *heap,
                             hone_error *err) {
    hn_call *call = hn_state_call(state);
    hn_run_control control = {.after_step = show_step, .ctx = r, .seed = 1};
    const hn_block *b = hn_block_at(r->g, 0);
    for (uint32_t i = 0; i < call->n_inputs; i++)
        show_value(r, b->inputs.at[i], call->inputs[i]);
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        call->wanted[i] = true;
        call->heaps[i] = heap;
    }
    hone_status status = hn_session_run(session, state, &control, err);
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        if (status == HONE_OK && call->outputs[i])
            hn_heap_unref(heap, call->outputs[i]);
        call->outputs[i] = NULL;
    }
    return status == HONE_OK && r->has_failed ? HONE_E_NOMEM : status;
}

static hone_status run_sample(pass_run *r, hn_session *session, const hn_quant_sample *s,
                              hn_heap *heap, hone_error *err) {
    hn_state *state = hn_session_open(session);
    HN_TRY_PTR(state);
    hone_status status = bind_sample(r, hn_state_call(state), s, err);
    if (status == HONE_OK)
        status = run_bound(r, session, state, heap, err);
    hn_session_close(session, state);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------------ */

static hone_status run_all_samples(pass_run *r, hn_session *session, hn_heap *heap,
                                   hone_error *err) {
    hn_quant_pass *pass = r->pass;
    uint64_t n = pass->source->n_samples, most = pass->max_samples;
    n = most && (n == 0 || most < n) ? most : n;
    for (uint64_t i = 0; n == 0 || i < n; i++) {
        hn_quant_sample s = {0};
        HN_TRY(pass->source->read(pass->source->ctx, i, &s, err));
        if (s.n == 0)
            break;
        hone_status status = run_sample(r, session, &s, heap, err);
        if (status != HONE_OK) {
            hn_error_complete(err, status);
            hn_error_prefix(err, "calibration sample %llu%s%s%s", (unsigned long long)i,
                            s.name ? " (" : "", s.name ? s.name : "", s.name ? ")" : "");
            return status;
        }
        pass->n_samples += HN_MAX(s.batch, 1);
        if (pass->progress && pass->progress(pass->progress_ctx, i + 1, HN_MAX(n, i + 1)))
            return hn_fail(err, HONE_E_CANCELLED, "the calibration was stopped by its caller");
    }
    if (pass->n_samples == 0)
        return hn_fail(err, HONE_E_ARGUMENT, "the calibration data have no samples");
    return HONE_OK;
}

hone_status hn_quant_run_samples(hn_quant_pass *pass, hone_error *err) {
    pass_run r = {.pass = pass, .g = pass->model->graph};
    hn_session_options options = {.pool = pass->pool, .seed = 1};
    hn_session *session;
    pass->n_samples = 0;
    HN_TRY(hn_session_new(pass->model, &options, &session, err));
    hn_heap *heap = hn_heap_new(hn_arena_allocator(pass->model->arena));
    hone_status status = heap ? run_all_samples(&r, session, heap, err) : HONE_E_NOMEM;
    hn_session_free(session);
    hn_heap_free(heap);
    return status;
}

hn_quant_pass hn_quant_pass_of(const hn_quant_plan *p,
                               bool (*watch)(void *ctx, hn_id value, const hn_array *x),
                               void *ctx) {
    return (hn_quant_pass){.model = p->model,
                           .source = p->source,
                           .max_samples = p->options->max_samples,
                           .pool = p->pool,
                           .progress = p->options->progress,
                           .progress_ctx = p->options->progress_ctx,
                           .watch = watch,
                           .ctx = ctx};
}
