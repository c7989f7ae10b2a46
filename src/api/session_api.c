/* hone.h: sessions. */
#include "api/value_int.h"
#include "run/session.h"

static hn_session *session_of(const hone_session *s) { return (hn_session *)(uintptr_t)s; }
static const hn_graph *session_graph(const hone_session *s) { return hn_session_program(session_of(s))->model->graph; }

void hone_session_options_init(hone_session_options *options) {
    *options = (hone_session_options){.size = sizeof *options, .max_plans = 16};
}

void hone_run_options_init(hone_run_options *options) { *options = (hone_run_options){.size = sizeof *options}; }

hone_status hone_session_create(const hone_model *model, const hone_session_options *options, hone_session **session,
                                hone_error *error) {
    hn_error_clear(error);
    *session = NULL;
    hone_session_options o;
    hone_session_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_session_options");
    if (o.provider && strcmp(o.provider, "cpu") != 0)
        return hn_fail(error, HONE_E_UNSUPPORTED, "there is no provider '%s'; this build has: cpu", o.provider);
    hn_session_options so = {.n_threads = o.n_threads, .memory_limit = o.memory_limit_bytes, .max_plans = o.max_plans};
    hn_session *s = NULL;
    hone_status status = hn_session_new(model_of(model), &so, &s, error);
    *session = (hone_session *)(void *)s;
    return hn_error_complete(error, status);
}

void hone_session_free(hone_session *session) { hn_session_free(session_of(session)); }

/* ---- names --------------------------------------------------------------------------------------------------------------------- */

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
    uint32_t n = 0;
    while (session_input(session, n))
        n++;
    return n;
}

const char *hone_session_input_name(const hone_session *session, uint32_t i) {
    const hn_value *v = session_input(session, i);
    return v ? hn_s(v->name) : "";
}

uint32_t hone_session_n_outputs(const hone_session *session) { return hn_block_at(session_graph(session), 0)->outputs.n; }

const char *hone_session_output_name(const hone_session *session, uint32_t i) {
    const hn_graph *g = session_graph(session);
    const hn_block *b = hn_block_at(g, 0);
    return i < b->outputs.n ? hn_s(hn_value_at(g, b->outputs.at[i])->name) : "";
}

/* Place of a name in a list of values; UINT32_MAX when it is not there. */
static uint32_t find_name(const hn_graph *g, uint32_t n, const hn_id *values, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(hn_s(hn_value_at(g, values[i])->name), name) == 0)
            return i;
    return UINT32_MAX;
}

static hone_status fail_name(const hn_graph *g, const char *what, uint32_t n, const hn_id *values, const char *name,
                             hone_error *error) {
    hn_strbuf list;
    hn_strbuf_init(&list, NULL);
    for (uint32_t i = 0; i < n; i++)
        hn_strbuf_printf(&list, "%s%s", i ? ", " : "", hn_s(hn_value_at(g, values[i])->name));
    hone_status status = hn_fail(error, HONE_E_NOT_FOUND, "the model has no %s '%s'; it has %s", what, name,
                                 list.n ? list.at : "none");
    hn_strbuf_free(&list);
    return status;
}

/* ---- inputs --------------------------------------------------------------------------------------------------------------------- */

typedef struct call {
    hn_session *session;
    const hn_graph *g;
    const hn_block *main;
    hn_arena *arena; /* of this call */
    const hn_object **inputs;
    bool *wanted;
    hn_heap **heaps;
    hn_object **outputs;
    hone_value **values; /* by graph output: the handle that gets it */
    hone_error *error;
} call;

/* Does the tensor fit what the model declares? Free dimensions take any size. */
static hone_status check_input(const call *c, hn_id id, const hn_object *given) {
    const hn_value *v = hn_value_at(c->g, id);
    const hn_type *t = v->type;
    if (!t || t->kind != HN_TYPE_TENSOR || given->kind != HN_OBJECT_TENSOR)
        return HONE_OK;
    const hn_array *a = &given->array;
    bool fits = a->dtype == t->elem && (t->shape.rank < 0 || t->shape.rank == a->rank);
    for (int32_t i = 0; fits && i < t->shape.rank; i++)
        fits = !hn_dim_is_known(t->shape.dims[i]) || t->shape.dims[i] == a->dims[i];
    if (fits)
        return HONE_OK;
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_printf(&text, "input '%s' is %s[", hn_s(v->name), hn_dtype_name(a->dtype));
    for (int32_t i = 0; i < a->rank; i++)
        hn_strbuf_printf(&text, "%s%lld", i ? "," : "", (long long)a->dims[i]);
    hn_strbuf_puts(&text, "], but the model takes ");
    hn_type_text(c->g->model->syms, t, &text);
    hone_status code = a->dtype == t->elem ? HONE_E_SHAPE : HONE_E_TYPE;
    hone_status status = hn_fail(c->error, code, "%s", text.failed ? "an input does not fit the model" : text.at);
    hn_strbuf_free(&text);
    return status;
}

static hone_status bind_call_inputs(call *c, uint32_t n, const char *const *names, const hone_value *const *values) {
    const hn_block *b = c->main;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = find_name(c->g, b->inputs.n, b->inputs.at, names[i]);
        if (at == UINT32_MAX)
            return fail_name(c->g, "input", b->inputs.n, b->inputs.at, names[i], c->error);
        if (!values[i])
            return hn_fail(c->error, HONE_E_ARGUMENT, "input '%s' is NULL", names[i]);
        c->inputs[at] = values[i]->object;
        HN_TRY(check_input(c, b->inputs.at[at], c->inputs[at]));
    }
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_value *v = hn_value_at(c->g, b->inputs.at[i]);
        bool is_optional = v->type && v->type->kind == HN_TYPE_OPTIONAL;
        if (!c->inputs[i] && !v->init && !v->sparse_init && !is_optional)
            return hn_fail(c->error, HONE_E_ARGUMENT, "input '%s' is missing", hn_s(v->name));
    }
    return HONE_OK;
}

/* ---- outputs --------------------------------------------------------------------------------------------------------------------- */

static hone_status bind_call_outputs(call *c, uint32_t n, const char *const *names, hone_value **values) {
    const hn_block *b = c->main;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = names ? find_name(c->g, b->outputs.n, b->outputs.at, names[i]) : i;
        if (at == UINT32_MAX)
            return fail_name(c->g, "output", b->outputs.n, b->outputs.at, names[i], c->error);
        hone_value *v = values[i] ? values[i] : hn_value_handle(hn_arena_allocator(c->g->model->arena));
        HN_TRY_PTR(v);
        c->wanted[at] = true;
        c->values[at] = v;
        c->heaps[at] = v->heap;
        c->outputs[at] = values[i] ? v->object : NULL;
    }
    return HONE_OK;
}

static void give_outputs(call *c, hone_status status, uint32_t n, const char *const *names, hone_value **values) {
    const hn_block *b = c->main;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = names ? find_name(c->g, b->outputs.n, b->outputs.at, names[i]) : i;
        if (at == UINT32_MAX || !c->values[at] || values[i])
            continue;
        c->values[at]->object = c->outputs[at];
        if (status == HONE_OK)
            values[i] = c->values[at];
        else
            hone_value_free(c->values[at]);
        c->values[at] = NULL; /* asked for twice: the second entry stays NULL */
    }
}

/* ---- runs --------------------------------------------------------------------------------------------------------------------- */

typedef struct observer {
    const hone_run_options *options;
} observer;

static void tell_observer(void *ctx, const hn_graph *g, hn_id node, double seconds, hn_object *const *outputs, uint32_t n_outputs) {
    const hone_run_options *o = ((observer *)ctx)->options;
    enum { MOST = 64 };
    hone_value handles[MOST];
    const hone_value *shown[MOST];
    uint32_t n = HN_MIN(n_outputs, (uint32_t)MOST);
    for (uint32_t i = 0; i < n; i++) {
        handles[i] = (hone_value){.object = outputs[i]};
        shown[i] = outputs[i] ? &handles[i] : NULL;
    }
    o->observe(o->observe_ctx, (const hone_graph *)(const void *)g, node, seconds, shown, n);
    for (uint32_t i = 0; i < n; i++) /* items that the observer looked at */
        hn_value_free_items(&handles[i]);
}

static hone_status open_call(call *c, hone_session *session, hone_error *error) {
    *c = (call){.session = session_of(session), .g = session_graph(session), .error = error};
    c->main = hn_block_at(c->g, 0);
    c->arena = hn_arena_new(hn_arena_allocator(c->g->model->arena));
    HN_TRY_PTR(c->arena);
    size_t n_out = (size_t)c->main->outputs.n + 1;
    c->inputs = HN_NEW_N(c->arena, const hn_object *, (size_t)c->main->inputs.n + 1);
    c->wanted = HN_NEW_N(c->arena, bool, n_out);
    c->heaps = HN_NEW_N(c->arena, hn_heap *, n_out);
    c->outputs = HN_NEW_N(c->arena, hn_object *, n_out);
    c->values = HN_NEW_N(c->arena, hone_value *, n_out);
    return c->inputs && c->wanted && c->heaps && c->outputs && c->values ? HONE_OK : HONE_E_NOMEM;
}

hone_status hone_session_run(hone_session *session, const hone_run_options *options, uint32_t n_inputs,
                             const char *const *input_names, const hone_value *const *inputs, uint32_t n_outputs,
                             const char *const *output_names, hone_value **outputs, hone_error *error) {
    hn_error_clear(error);
    hone_run_options o;
    hone_run_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_run_options");
    call c;
    observer watch = {.options = &o};
    hn_run_control control = {.cancel = o.cancel, .deadline = o.timeout_seconds > 0 ? hn_now() + o.timeout_seconds : 0,
                              .after_step = o.observe ? tell_observer : NULL, .ctx = &watch};
    hone_status status = open_call(&c, session, error);
    if (status == HONE_OK && !output_names)
        n_outputs = c.main->outputs.n;
    if (status == HONE_OK)
        status = bind_call_inputs(&c, n_inputs, input_names, inputs);
    if (status == HONE_OK)
        status = bind_call_outputs(&c, n_outputs, output_names, outputs);
    if (status == HONE_OK)
        status = hn_session_run(c.session, &control, c.inputs, c.wanted, c.heaps, c.outputs, error);
    if (c.values)
        give_outputs(&c, status, n_outputs, output_names, outputs);
    hn_arena_free(c.arena);
    return hn_error_complete(error, status);
}

hone_status hone_session_peak_bytes(hone_session *session, uint32_t n_inputs, const char *const *input_names,
                                    const hone_value *const *inputs, uint64_t *bytes, hone_error *error) {
    hn_error_clear(error);
    call c;
    hone_status status = open_call(&c, session, error);
    if (status == HONE_OK)
        status = bind_call_inputs(&c, n_inputs, input_names, inputs);
    if (status == HONE_OK)
        status = hn_session_plan_bytes(c.session, c.inputs, bytes, error);
    hn_arena_free(c.arena);
    return hn_error_complete(error, status);
}
