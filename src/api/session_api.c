/* hone.h: sessions. */
#include "api/session_options.h"
#include "cpu/kernels/kernel.h"
#include "report/report.h"
#include "run/session.h"

static hn_session *session_of(const hone_session *s) {
    return (hn_session *)(uintptr_t)s;
}
static const hn_graph *session_graph(const hone_session *s) {
    return hn_session_program(session_of(s))->model->graph;
}

void hone_session_options_init(hone_session_options *options) {
    *options =
        (hone_session_options){.size = sizeof *options, .max_plans = 16, .level = HONE_LEVEL_ALL};
}

void hone_run_options_init(hone_run_options *options) {
    *options = (hone_run_options){.size = sizeof *options};
}

/* Nothing that was asked for is computed in another precision in silence. */
static hone_status check_compute(hone_precision compute, hone_error *error) {
    if (compute > HONE_PRECISION_BFLOAT16)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a precision to compute in", (int)compute);
    if (compute == HONE_PRECISION_FLOAT16)
        return hn_fail(error, HONE_E_UNSUPPORTED,
                       "no kernel computes in float16; use bfloat16 or float32");
    if (compute == HONE_PRECISION_BFLOAT16 && !hn_gemm_has_bf16())
        return hn_fail(
            error, HONE_E_UNSUPPORTED,
            "this processor has no instructions for bfloat16 (AVX512-BF16, AMX), or HONE_CPU "
            "does not admit them; use float32");
    return HONE_OK;
}

/* An unknown provider is an error even when no node needs it. */
static hone_status check_session_options(const hone_session_options *o, hone_error *error) {
    const hn_provider *provider;
    HN_TRY(hn_api_check_level(o->level, error));
    if (o->weights > HONE_PRECISION_BFLOAT16)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a precision of weights", (int)o->weights);
    HN_TRY(check_compute(o->compute, error));
    if (o->n_threads < 0)
        return hn_fail(error, HONE_E_ARGUMENT,
                       "a session cannot have %d threads; 0 means all processors", o->n_threads);
    if ((o->n_providers && !o->providers) || (o->n_dims && !o->dims))
        return hn_fail(error, HONE_E_ARGUMENT, "%s is NULL, but its count is not 0",
                       o->n_dims && !o->dims ? "dims" : "providers");
    for (uint32_t i = 0; i < o->n_providers; i++)
        HN_TRY(o->providers[i]
                   ? hn_provider_find(o->providers[i], &provider, error)
                   : hn_fail(error, HONE_E_ARGUMENT, "the name of provider %u is NULL", i));
    return HONE_OK;
}

hone_status hn_api_session_options(hone_session_options *ours, const hone_session_options *theirs,
                                   hone_error *error) {
    hone_session_options_init(ours);
    if (!hn_api_read_options(ours, theirs, sizeof *ours))
        return hn_api_fail_options(error, "hone_session_options");
    return check_session_options(ours, error);
}

hn_program_options hn_api_program_options(const hone_session_options *o) {
    static const hn_stored stored[] = {[HONE_PRECISION_KEEP] = HN_STORED_F32,
                                       [HONE_PRECISION_FLOAT16] = HN_STORED_F16,
                                       [HONE_PRECISION_BFLOAT16] = HN_STORED_BF16};
    return (hn_program_options){.n_dims = o->n_dims,
                                .dims = o->dims,
                                .n_providers = o->n_providers,
                                .providers = o->providers,
                                .stored = o->compute == HONE_PRECISION_BFLOAT16
                                              ? HN_STORED_BF16_PAIRS
                                              : stored[o->weights]};
}

const char *hone_provider_name(uint32_t i) {
    const hn_provider *provider = hn_provider_at(i);
    return provider ? provider->name : "";
}

hone_status hone_session_create(const hone_model *model, const hone_session_options *options,
                                hone_session **session, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(session, error);
    *session = NULL;
    HN_REQUIRE(model, error);
    hone_session_options o;
    HN_TRY(hn_api_session_options(&o, options, error));
    hn_session_options so = {.n_threads = o.n_threads,
                             .memory_limit = o.memory_limit_bytes,
                             .max_plans = o.max_plans,
                             .keep_denormals = o.keep_denormals,
                             .image_hook = {o.decode_image, o.decode_image_ctx},
                             .level = (hn_level)o.level,
                             .program = hn_api_program_options(&o),
                             .shares_program = true,
                             .cache_folder = o.cache_dir,
                             .kernels_path = o.kernel_choices,
                             .seed = o.seed};
    hn_session *s = NULL;
    hone_status status = hn_session_new(model_of(model), &so, &s, error);
    *session = (hone_session *)(void *)s;
    return hn_error_complete(error, status);
}

void hone_session_free(hone_session *session) {
    hn_session_free(session_of(session));
}

const char *hone_session_cache_note(const hone_session *session) {
    return hn_session_cache_note(session_of(session));
}

const char *hone_session_kernels_note(const hone_session *session) {
    return hn_session_kernels_note(session_of(session));
}

const char *hone_session_dims_note(const hone_session *session) {
    return hn_session_dims_note(session_of(session));
}

const char *hone_session_model_note(const hone_session *session) {
    return hn_session_model_note(session_of(session));
}

void hone_session_get_costs(const hone_session *session, hone_session_costs *costs) {
    hn_session_costs c = hn_session_get_costs(session_of(session));
    *costs = (hone_session_costs){1e-9 * (double)c.optimize_ns, 1e-9 * (double)c.pack_ns,
                                  1e-9 * (double)c.plan_ns, c.n_plans};
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Inputs with a default come after those without. */
static const hn_value *session_input(const hone_session *s, uint32_t i) {
    const hn_graph *g = session_graph(s);
    const hn_block *b = hn_block_at(g, 0);
    for (uint32_t k = 0; k < b->inputs.n; k++) {
        const hn_value *v = hn_value_at(g, b->inputs.at[k]);
        if (!v->init && !v->sparse_init && i-- == 0)
            return v;
    }
    return NULL;
}

uint32_t hone_session_n_inputs(const hone_session *session) {
    const hn_graph *g = session_graph(session);
    const hn_block *b = hn_block_at(g, 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_value *v = hn_value_at(g, b->inputs.at[i]);
        n += !v->init && !v->sparse_init;
    }
    return n;
}

const char *hone_session_input_name(const hone_session *session, uint32_t i) {
    const hn_value *v = session_input(session, i);
    return v ? hn_s(v->name) : "";
}

uint32_t hone_session_n_outputs(const hone_session *session) {
    return hn_block_at(session_graph(session), 0)->outputs.n;
}

const char *hone_session_output_name(const hone_session *session, uint32_t i) {
    const hn_graph *g = session_graph(session);
    const hn_block *b = hn_block_at(g, 0);
    return i < b->outputs.n ? hn_s(hn_value_at(g, b->outputs.at[i])->name) : "";
}

/* Index of a name in a list of values; UINT32_MAX: not found. Most callers give all names in their
 * order: `guess` is looked at first. */
static uint32_t find_name(const hn_graph *g, uint32_t n, const hn_id *values, const char *name,
                          uint32_t guess) {
    if (guess < n && strcmp(hn_s(hn_value_at(g, values[guess])->name), name) == 0)
        return guess;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(hn_s(hn_value_at(g, values[i])->name), name) == 0)
            return i;
    return UINT32_MAX;
}

static hone_status fail_name(const hn_graph *g, const char *what, uint32_t n, const hn_id *values,
                             const char *name, hone_error *error) {
    hn_strbuf list;
    hn_strbuf_init(&list, NULL);
    for (uint32_t i = 0; i < n; i++)
        hn_strbuf_printf(&list, "%s%s", i ? ", " : "", hn_s(hn_value_at(g, values[i])->name));
    hone_status status = hn_fail(error, HONE_E_NOT_FOUND, "the model has no %s '%s'; it has %s",
                                 what, name, list.n ? list.at : "none");
    hn_strbuf_free(&list);
    return status;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* One call of the API: a state of the session, and the requested inputs and outputs. */
typedef struct api_call {
    hn_session *session;
    const hn_graph *g;
    const hn_block *main;
    hn_state *state;
    hn_call *io;
    hone_error *error;
} api_call;

static bool kind_fits(hn_type_kind kind, const hn_object *given) {
    switch (given->kind) {
    case HN_OBJECT_TENSOR:
        return kind == HN_TYPE_TENSOR || kind == HN_TYPE_OPTIONAL;
    case HN_OBJECT_SEQUENCE:
        return kind == HN_TYPE_SEQUENCE || kind == HN_TYPE_OPTIONAL;
    case HN_OBJECT_MAP:
        return kind == HN_TYPE_MAP;
    default:
        return kind == HN_TYPE_OPTIONAL;
    }
}

/* Free dimensions take any size. */
static bool tensor_fits(const hn_type *t, const hn_array *a) {
    bool fits = a->dtype == t->elem && (t->shape.rank < 0 || t->shape.rank == a->rank);
    for (int32_t i = 0; fits && i < t->shape.rank; i++)
        fits = !hn_dim_is_known(t->shape.dims[i]) || t->shape.dims[i] == a->dims[i];
    return fits;
}

static void put_given(hn_strbuf *text, const hn_object *given) {
    static const char *const kinds[] = {"an empty optional", "", "a sequence", "a map"};
    const hn_array *a = &given->array;
    if (given->kind != HN_OBJECT_TENSOR) {
        hn_strbuf_puts(text, kinds[given->kind]);
        return;
    }
    hn_strbuf_printf(text, "%s[", hn_dtype_name(a->dtype));
    for (int32_t i = 0; i < a->rank; i++)
        hn_strbuf_printf(text, "%s%lld", i ? "," : "", (long long)a->dims[i]);
    hn_strbuf_puts(text, "]");
}

/* Does the value match the declared type? */
static hone_status check_input(const api_call *c, hn_id id, const hn_object *given) {
    const hn_value *v = hn_value_at(c->g, id);
    const hn_type *t = v->type;
    bool is_tensor = given->kind == HN_OBJECT_TENSOR && t && t->kind == HN_TYPE_TENSOR;
    if (!t || (kind_fits(t->kind, given) && (!is_tensor || tensor_fits(t, &given->array))))
        return HONE_OK;
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_printf(&text, "input '%s' is ", hn_s(v->name));
    put_given(&text, given);
    hn_strbuf_puts(&text, ", but the model takes ");
    hn_type_text(c->g->model->syms, t, &text);
    hone_status code = is_tensor && given->array.dtype == t->elem ? HONE_E_SHAPE : HONE_E_TYPE;
    hone_status status =
        hn_fail(c->error, code, "%s", text.failed ? "an input does not fit the model" : text.at);
    hn_strbuf_free(&text);
    return status;
}

static bool has_default(const hn_value *v) {
    return v->init || v->sparse_init;
}

static hone_status bind_call_input(api_call *c, uint32_t i, const char *name,
                                   const hone_value *value) {
    const hn_block *b = c->main;
    uint32_t at = find_name(c->g, b->inputs.n, b->inputs.at, name, i);
    if (at == UINT32_MAX)
        return fail_name(c->g, "input", b->inputs.n, b->inputs.at, name, c->error);
    if (!value || !value->object)
        return hn_fail(c->error, HONE_E_ARGUMENT, "input '%s' is NULL", name);
    if (c->io->inputs[at])
        return hn_fail(c->error, HONE_E_ARGUMENT, "input '%s' is given twice", name);
    if (has_default(hn_value_at(c->g, b->inputs.at[at])) && c->g->model->ir_version < 4)
        return hn_fail(
            c->error, HONE_E_ARGUMENT,
            "input '%s' is a constant of this model: an initializer can only be overridden from "
            "IR version 4 on",
            name);
    c->io->inputs[at] = value->object;
    return check_input(c, b->inputs.at[at], value->object);
}

static hone_status bind_call_inputs(api_call *c, uint32_t n, const char *const *names,
                                    const hone_value *const *values) {
    const hn_block *b = c->main;
    if (n && (!names || !values))
        return hn_fail(c->error, HONE_E_ARGUMENT, "the inputs are NULL, but their count is %u", n);
    for (uint32_t i = 0; i < n; i++)
        HN_TRY(names[i] ? bind_call_input(c, i, names[i], values[i])
                        : hn_fail(c->error, HONE_E_ARGUMENT, "the name of input %u is NULL", i));
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_value *v = hn_value_at(c->g, b->inputs.at[i]);
        bool is_optional = v->type && v->type->kind == HN_TYPE_OPTIONAL;
        if (c->io->inputs[i] || has_default(v) || is_optional)
            continue;
        hn_strbuf text;
        hn_strbuf_init(&text, NULL);
        hn_type_text(c->g->model->syms, v->type, &text);
        hn_fail(c->error, HONE_E_ARGUMENT, "input '%s' is missing: %s", hn_s(v->name),
                text.at && !text.failed ? text.at : "a value");
        hn_strbuf_free(&text);
        return HONE_E_ARGUMENT;
    }
    return HONE_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* The output of the graph that was requested as the i-th; UINT32_MAX: none. */
static uint32_t requested_output_index(const api_call *c, const char *const *names, uint32_t i) {
    if (!names)
        return i;
    return names[i] ? find_name(c->g, c->main->outputs.n, c->main->outputs.at, names[i], i)
                    : UINT32_MAX;
}

/* Outputs that are not bound get a new handle now: its heap receives the value. */
static hone_status bind_call_output(api_call *c, const char *const *names, uint32_t i,
                                    hone_value **value) {
    const hn_block *b = c->main;
    uint32_t at = requested_output_index(c, names, i);
    if (at == UINT32_MAX)
        return fail_name(c->g, "output", b->outputs.n, b->outputs.at, names[i] ? names[i] : "",
                         c->error);
    if (c->io->wanted[at])
        return hn_fail(c->error, HONE_E_ARGUMENT, "output '%s' is requested twice",
                       hn_s(hn_value_at(c->g, b->outputs.at[at])->name));
    bool is_bound = *value != NULL;
    if (!is_bound)
        *value = hn_value_handle(hn_arena_allocator(c->g->model->arena));
    HN_TRY_PTR(*value);
    c->io->wanted[at] = true;
    c->io->is_bound[at] = is_bound;
    c->io->heaps[at] = (*value)->heap;
    c->io->outputs[at] = (*value)->object;
    return HONE_OK;
}

static hone_status bind_call_outputs(api_call *c, uint32_t n, const char *const *names,
                                     hone_value **values) {
    for (uint32_t i = 0; i < n; i++)
        HN_TRY(bind_call_output(c, names, i, &values[i]));
    return HONE_OK;
}

/* Passes the values to the caller, or frees the new handles. */
static void finish_outputs(api_call *c, hone_status status, uint32_t n, const char *const *names,
                           hone_value **values) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = requested_output_index(c, names, i);
        if (at == UINT32_MAX || !c->io->wanted[at] || c->io->is_bound[at] || !values[i] ||
            values[i]->heap != c->io->heaps[at])
            continue;
        values[i]->object = c->io->outputs[at];
        if (status == HONE_OK)
            continue;
        hone_value_free(values[i]);
        values[i] = NULL;
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

enum { MOST_SHOWN = 64 }; /* maximum of inputs, and of outputs, that an observer sees */

/* Handles on values that belong to the run. */
typedef struct shown_values {
    hone_value handles[MOST_SHOWN];
    const hone_value *at[MOST_SHOWN];
    uint32_t n;
} shown_values;

static void show_values(shown_values *v, hn_object *const *objects, uint32_t n) {
    v->n = HN_MIN(n, (uint32_t)MOST_SHOWN);
    for (uint32_t i = 0; i < v->n; i++) {
        v->handles[i] = (hone_value){.object = objects[i]};
        v->at[i] = objects[i] ? &v->handles[i] : NULL;
    }
}

static void hide_values(shown_values *v) { /* copies made for the observer */
    for (uint32_t i = 0; i < v->n; i++) {
        hn_value_free_items(&v->handles[i]);
        if (v->handles[i].heap && v->handles[i].object->array.row_stride == 0)
            hn_heap_unref(v->handles[i].heap, v->handles[i].object);
        hn_heap_free(v->handles[i].heap);
    }
}

enum { MOST_SHOWN_ORIGINS = 32 };

static uint32_t show_origins(const hn_node *n, const char *names[MOST_SHOWN_ORIGINS]) {
    uint32_t k = 0;
    for (uint32_t i = 0; n->extra && i < n->extra->props.n && k < MOST_SHOWN_ORIGINS; i++)
        if (strcmp(hn_s(n->extra->props.at[i].key), HN_ORIGIN_KEY) == 0)
            names[k++] = hn_s(n->extra->props.at[i].value);
    return k;
}

static void show_event(const hn_step_event *event, void (*observe)(void *, const hone_step *),
                       void *ctx) {
    const hn_node *n = hn_node_at(event->g, event->step->node);
    shown_values in, out;
    const char *origins[MOST_SHOWN_ORIGINS];
    show_values(&in, event->inputs, n->n_inputs);
    show_values(&out, event->outputs, event->outputs ? n->n_outputs : 0);
    observe(ctx, &(hone_step){.graph = (const hone_graph *)(const void *)event->g,
                              .node = event->step->node,
                              .name = hn_s(n->name),
                              .domain = hn_s(n->domain),
                              .op = hn_s(n->op),
                              .provider = event->step->provider->name,
                              .start_ns = event->start_ns,
                              .end_ns = event->end_ns,
                              .macs = event->macs,
                              .inputs = in.at,
                              .outputs = out.at,
                              .n_inputs = in.n,
                              .n_outputs = out.n,
                              .origins = origins,
                              .n_origins = show_origins(n, origins),
                              .kernel = event->kernel,
                              .thread_ns = event->thread_ns,
                              .n_threads = event->n_threads,
                              .dynamic_bytes = event->dynamic_bytes});
    hide_values(&in);
    hide_values(&out);
}

static void notify_observer(void *ctx, const hn_step_event *event) {
    const hone_run_options *o = ctx;
    show_event(event, o->observe, o->observe_ctx);
}

static void notify_of_begin(void *ctx, const hn_step_event *event) {
    const hone_run_options *o = ctx;
    show_event(event, o->observe_begin, o->observe_ctx);
}

/* The deadline; 0: none, also when it exceeds the range of the clock. */
static uint64_t deadline_after(double seconds) {
    return seconds > 0 && seconds < 1e9 ? hn_now_ns() + (uint64_t)(seconds * 1e9) : 0;
}

static hone_status open_call_of(api_call *c, hone_session *session, hone_error *error) {
    HN_REQUIRE(session, error);
    *c = (api_call){.session = session_of(session), .g = session_graph(session), .error = error};
    c->main = hn_block_at(c->g, 0);
    c->state = hn_session_open(c->session);
    HN_TRY_PTR(c->state);
    c->io = hn_state_call(c->state);
    return HONE_OK;
}

static hone_status run_call(api_call *c, const hone_run_options *o, uint32_t n_inputs,
                            const char *const *input_names, const hone_value *const *inputs,
                            uint32_t n_outputs, const char *const *output_names,
                            hone_value **outputs) {
    hn_run_control control = {.cancel = o->cancel,
                              .deadline_ns = deadline_after(o->timeout_seconds),
                              .should_stop = o->should_stop,
                              .should_stop_ctx = o->should_stop_ctx,
                              .before_step = o->observe_begin ? notify_of_begin : NULL,
                              .after_step = o->observe ? notify_observer : NULL,
                              .ctx = (void *)(uintptr_t)o};
    HN_TRY(bind_call_inputs(c, n_inputs, input_names, inputs));
    hone_status status = bind_call_outputs(c, n_outputs, output_names, outputs);
    if (status == HONE_OK)
        status = hn_session_run(c->session, c->state, &control, c->error);
    finish_outputs(c, status, n_outputs, output_names, outputs);
    return status;
}

hone_status hone_session_run(hone_session *session, const hone_run_options *options,
                             uint32_t n_inputs, const char *const *input_names,
                             const hone_value *const *inputs, uint32_t n_outputs,
                             const char *const *output_names, hone_value **outputs,
                             hone_error *error) {
    hn_error_clear(error);
    hone_run_options o;
    hone_run_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_run_options");
    HN_REQUIRE(outputs, error);
    api_call c = {0};
    hone_status status = open_call_of(&c, session, error);
    if (status == HONE_OK)
        status = run_call(&c, &o, n_inputs, input_names, inputs,
                          output_names ? n_outputs : c.main->outputs.n, output_names, outputs);
    hn_session_close(c.session, c.state);
    return hn_error_complete(error, status);
}

static hone_status read_block_bytes(const hn_plan *plan, void *ctx, hone_error *err) {
    (void)err;
    *(uint64_t *)ctx = plan->block_bytes;
    return HONE_OK;
}

static hone_status read_whole_plan(const hn_plan *plan, void *ctx, hone_error *err) {
    (void)err;
    return hn_plan_report_of(plan, ctx);
}

/* Looks at the plan for inputs of these shapes. */
static hone_status look_at_plan(hone_session *session, uint32_t n_inputs,
                                const char *const *input_names, const hone_value *const *inputs,
                                hn_plan_fn look, void *ctx, hone_error *error) {
    hn_error_clear(error);
    api_call c = {0};
    hone_status status = open_call_of(&c, session, error);
    if (status == HONE_OK)
        status = bind_call_inputs(&c, n_inputs, input_names, inputs);
    if (status == HONE_OK)
        status = hn_session_with_plan(c.session, c.state, look, ctx, error);
    hn_session_close(c.session, c.state);
    return hn_error_complete(error, status);
}

hone_status hone_session_peak_bytes(hone_session *session, uint32_t n_inputs,
                                    const char *const *input_names, const hone_value *const *inputs,
                                    uint64_t *bytes, hone_error *error) {
    return look_at_plan(session, n_inputs, input_names, inputs, read_block_bytes, bytes, error);
}

hone_status hone_session_get_plan(hone_session *session, uint32_t n_inputs,
                                  const char *const *input_names, const hone_value *const *inputs,
                                  hone_plan **plan, hone_error *error) {
    hn_plan_report *report = NULL;
    hn_error_clear(error);
    HN_REQUIRE(plan, error);
    *plan = NULL;
    HN_TRY(look_at_plan(session, n_inputs, input_names, inputs, read_whole_plan, &report, error));
    *plan = (hone_plan *)(void *)report;
    return HONE_OK;
}
