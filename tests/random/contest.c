#include "random/contest.h"

#include "ops/eval_engine.h"
#include "random/noise.h"

#include <stdio.h>
#include <stdlib.h>

#define RAISED_OPSET 23 /* what the command allows for onnxruntime */

const contest_setup contest_setups[] = {
    {"exact passes, onnx", HN_LEVEL_EXTENDED, HN_TARGET_ONNX, true, false},
    {"exact passes, onnxruntime", HN_LEVEL_EXTENDED, HN_TARGET_ONNXRUNTIME, true, false},
    {"basic, onnx", HN_LEVEL_BASIC, HN_TARGET_ONNX, false, false},
    {"basic, onnxruntime", HN_LEVEL_BASIC, HN_TARGET_ONNXRUNTIME, false, false},
    {"basic, session", HN_LEVEL_BASIC, HN_TARGET_SESSION, false, false},
    {"extended, onnx", HN_LEVEL_EXTENDED, HN_TARGET_ONNX, false, false},
    {"extended, onnxruntime", HN_LEVEL_EXTENDED, HN_TARGET_ONNXRUNTIME, false, false},
    {"extended, session", HN_LEVEL_EXTENDED, HN_TARGET_SESSION, false, false},
    {"all, session", HN_LEVEL_ALL, HN_TARGET_SESSION, false, false},
    {"all, in a session", HN_LEVEL_ALL, HN_TARGET_SESSION, false, true},
};
const uint32_t n_contest_setups = HN_COUNT(contest_setups);

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct run_job {
    const contest *c;
    hn_level level;
    const hn_run_control *control;
    hn_object **outputs; /* taken by the caller, objects of the contest's heap */
} run_job;

static hone_status run_in_session(const run_job *job, hn_session *session, hone_error *err) {
    const contest *c = job->c;
    hn_state *state = hn_session_open(session);
    HN_TRY_PTR(state);
    hn_call *call = hn_state_call(state);
    hone_status status = HONE_OK;
    if (call->n_inputs != c->n_inputs || call->n_outputs != c->n_outputs)
        status = hn_fail(err, HONE_E_INTERNAL, "there are %u inputs and %u outputs", call->n_inputs,
                         call->n_outputs);
    for (uint32_t i = 0; status == HONE_OK && i < call->n_inputs; i++)
        call->inputs[i] = c->inputs[i];
    for (uint32_t i = 0; status == HONE_OK && i < call->n_outputs; i++) {
        call->wanted[i] = true;
        call->heaps[i] = c->heap;
    }
    if (status == HONE_OK)
        status = hn_session_run(session, state, job->control, err);
    for (uint32_t i = 0; status == HONE_OK && i < call->n_outputs; i++) {
        job->outputs[i] = call->outputs[i];
        call->outputs[i] = NULL;
    }
    hn_session_close(session, state);
    return status;
}

static hone_status run_model(const run_job *job, const hn_model *m, hone_error *err) {
    hn_session_options options = {.n_threads = 1, .level = job->level, .keep_denormals = true};
    hn_session *session;
    HN_TRY(hn_session_new(m, &options, &session, err));
    hone_status status = run_in_session(job, session, err);
    hn_session_free(session);
    return status;
}

static void drop_outputs(hn_heap *heap, uint32_t n, hn_object **outputs) {
    for (uint32_t i = 0; outputs && i < n; i++) {
        if (outputs[i])
            hn_heap_unref(heap, outputs[i]);
        outputs[i] = NULL;
    }
}

bool contest_watch(contest *c, contest_sight_fn see, void *ctx, hone_error *err) {
    hn_run_control control = {.after_step = see, .ctx = ctx};
    run_job job = {.c = c, .control = see ? &control : NULL, .outputs = c->outputs};
    drop_outputs(c->heap, c->n_outputs, c->outputs);
    return run_model(&job, c->model, err) == HONE_OK;
}

void contest_close(contest *c) {
    drop_outputs(c->heap, c->n_outputs, c->outputs);
    free(c->outputs);
    c->outputs = NULL;
}

/* ---- optimizing ------------------------------------------------------------------------------ */

#define MAX_INEXACT 64

static hn_optimize_options options_for(const contest_setup *s, uint32_t stop_after,
                                       const char **disabled) {
    hn_optimize_options o;
    hn_optimize_options_init(&o);
    o.level = s->level;
    o.target = s->target;
    o.stop_after = stop_after;
    o.max_opset = s->target == HN_TARGET_SESSION ? HN_LATEST_OPSET : RAISED_OPSET;
    o.disabled = disabled;
    for (uint32_t i = 0; s->is_exact && hn_pass_at(i) && o.n_disabled < MAX_INEXACT; i++)
        if (hn_pass_at(i)->numerics != HN_NUMERICS_EXACT)
            disabled[o.n_disabled++] = hn_pass_at(i)->name;
    return o;
}

static hone_status optimize_as(const contest_setup *s, hn_model *m, const hn_optimize_options *o,
                               hn_opt_log *log, hone_error *err) {
    return s->target == HN_TARGET_SESSION ? hn_optimize_for_session(m, NULL, o, log, err)
                                          : hn_optimize(m, o, log, err);
}

/* Operators against their schemas, types, shapes. */
static bool is_valid(hn_model *m, char *complaint, size_t n_bytes) {
    hn_problems problems = {.arena = hn_arena_new(NULL)};
    hone_error err = {0};
    bool ok = problems.arena && hn_check_model(m, &problems, &err) == HONE_OK;
    const char *message = err.message;
    for (uint32_t i = 0; ok && i < problems.list.n; i++)
        if (problems.list.at[i].severity == HN_SEVERITY_ERROR) {
            ok = false;
            message = problems.list.at[i].message;
        }
    if (!ok)
        snprintf(complaint, n_bytes, "it is not valid: %s", message);
    hn_arena_free(problems.arena);
    return ok;
}

bool contest_open(contest *c, const hn_model *m, hn_heap *heap, uint32_t n_inputs,
                  hn_object *const *inputs, hone_error *err) {
    *c = (contest){.model = m,
                   .heap = heap,
                   .n_inputs = n_inputs,
                   .n_outputs = hn_block_at(m->graph, 0)->outputs.n,
                   .inputs = inputs};
    c->outputs = calloc((size_t)c->n_outputs + 1, sizeof *c->outputs);
    hn_model *copy = hn_model_clone(m); /* a check stores what it finds */
    bool ok = c->outputs && copy && is_valid(copy, err->message, sizeof err->message) &&
              contest_watch(c, NULL, NULL, err);
    hn_model_free(copy);
    return ok;
}

static bool keeps_port(const hn_model *m, const hn_model *n, hn_id a, hn_id b) {
    const hn_value *x = hn_value_at(m->graph, a), *y = hn_value_at(n->graph, b);
    if (strcmp(hn_s(x->name), hn_s(y->name)) != 0 || !y->type || x->type->kind != y->type->kind)
        return false;
    return x->type->elem == y->type->elem &&
           (x->type->shape.rank < 0 || x->type->shape.rank == y->type->shape.rank);
}

static bool keeps_ports(const hn_model *m, const hn_model *n, char *complaint, size_t n_bytes) {
    const hn_block *x = hn_block_at(m->graph, 0), *y = hn_block_at(n->graph, 0);
    bool ok = x->inputs.n == y->inputs.n && x->outputs.n == y->outputs.n;
    for (uint32_t i = 0; ok && i < x->inputs.n; i++)
        ok = keeps_port(m, n, x->inputs.at[i], y->inputs.at[i]);
    for (uint32_t i = 0; ok && i < x->outputs.n; i++)
        ok = keeps_port(m, n, x->outputs.at[i], y->outputs.at[i]);
    if (!ok)
        snprintf(complaint, n_bytes, "inputs or outputs have other names or types");
    return ok;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The output that differs; n_outputs when there is none. */
static uint32_t first_other(const contest *c, hn_object *const *a, hn_object *const *b) {
    uint32_t i = 0;
    while (i < c->n_outputs && noise_is_same(a[i], b[i]))
        i++;
    return i;
}

static void forget_sign_of_zero(void *ctx, const hn_step_event *sight) {
    const hn_node *n = hn_node_at(sight->g, sight->step->node);
    (void)ctx;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (sight->outputs[i] && sight->outputs[i]->kind == HN_OBJECT_TENSOR)
            noise_forget_signs(&sight->outputs[i]->array);
}

/* x + 0 is taken for x, which is right but for the sign of zero; by a division that shows. */
static bool is_same_without_signs(const contest *c, const hn_model *m) {
    hone_error err = {0};
    contest x = *c, y = *c;
    y.model = m;
    x.outputs = calloc((size_t)c->n_outputs + 1, sizeof *x.outputs);
    y.outputs = calloc((size_t)c->n_outputs + 1, sizeof *y.outputs);
    bool ok = x.outputs && y.outputs && contest_watch(&x, forget_sign_of_zero, NULL, &err) &&
              contest_watch(&y, forget_sign_of_zero, NULL, &err) &&
              first_other(c, x.outputs, y.outputs) == c->n_outputs;
    contest_close(&x);
    contest_close(&y);
    return ok;
}

/* A formula that is computed at once meets NaN elsewhere: wild numbers are for exact passes. */
static bool compare(const contest *c, const contest_setup *s, const hn_model *m,
                    hn_object *const *outputs, char *complaint, size_t n_bytes) {
    uint32_t output = first_other(c, c->outputs, outputs);
    if (output == c->n_outputs)
        return true;
    double worst = noise_distance(c->outputs[output], outputs[output]);
    if (s->is_exact ? is_same_without_signs(c, m)
                    : noise_is_wild(c) || noise_explains(c, outputs, &output, &worst))
        return true;
    hn_id value = hn_block_at(c->model->graph, 0)->outputs.at[output];
    snprintf(complaint, n_bytes, "output '%s' differs by %g",
             hn_s(hn_value_at(c->model->graph, value)->name), worst);
    return false;
}

static bool run_and_compare(const contest *c, const contest_setup *s, const hn_model *m,
                            char *complaint, size_t n_bytes) {
    hone_error err = {0};
    run_job job = {.c = c, .level = s->in_session ? s->level : HN_LEVEL_NONE};
    job.outputs = calloc((size_t)c->n_outputs + 1, sizeof *job.outputs);
    bool ok = job.outputs && run_model(&job, m, &err) == HONE_OK;
    if (!ok)
        snprintf(complaint, n_bytes, "it does not run: %s", err.message);
    ok = ok && compare(c, s, m, job.outputs, complaint, n_bytes);
    drop_outputs(c->heap, c->n_outputs, job.outputs);
    free(job.outputs);
    return ok;
}

bool contest_hold(const contest *c, const contest_setup *s, uint32_t stop_after, hn_opt_log *log,
                  char *complaint, size_t complaint_bytes) {
    const char *disabled[MAX_INEXACT];
    hn_optimize_options o = options_for(s, stop_after, disabled);
    hone_error err = {0};
    if (s->in_session)
        return run_and_compare(c, s, c->model, complaint, complaint_bytes);
    hn_model *m = hn_model_clone(c->model);
    bool ok = m && optimize_as(s, m, &o, log, &err) == HONE_OK;
    if (!ok)
        snprintf(complaint, complaint_bytes, "it fails: %s", err.message);
    ok = ok && keeps_ports(c->model, m, complaint, complaint_bytes) &&
         is_valid(m, complaint, complaint_bytes) &&
         run_and_compare(c, s, m, complaint, complaint_bytes);
    hn_model_free(m);
    return ok;
}

bool contest_is_won(const contest *c, const contest_setup *s, uint32_t stop_after) {
    char unused[512];
    hn_opt_log *log = hn_opt_log_new(NULL);
    bool ok = log && contest_hold(c, s, stop_after, log, unused, sizeof unused);
    hn_opt_log_free(log);
    return ok;
}

/* ---- who did it ------------------------------------------------------------------------------ */

/* Number n of a log, from 1; or what failed. */
static void name_rewrite(const hn_opt_log *log, uint32_t n, char *text, size_t n_bytes) {
    if (n <= log->rewrites.n) {
        const hn_rewrite *w = &log->rewrites.at[n - 1];
        snprintf(text, n_bytes, "%s.%s at %s", w->pass->name, w->rule, w->node);
    } else if (log->failed.pass) {
        snprintf(text, n_bytes, "%s.%s at %s", log->failed.pass->name, log->failed.rule,
                 log->failed.node);
    }
}

void contest_blame(const contest *c, const contest_setup *s, char *text, size_t text_bytes) {
    char unused[512];
    hn_opt_log *log = hn_opt_log_new(NULL);
    snprintf(text, text_bytes, "nobody");
    if (log && !contest_hold(c, s, UINT32_MAX, log, unused, sizeof unused)) {
        uint32_t good = 0, bad = log->rewrites.n + 1; /* one that fails is not in the list */
        while (bad - good > 1) {
            uint32_t middle = good + (bad - good) / 2;
            *(contest_is_won(c, s, middle) ? &good : &bad) = middle;
        }
        name_rewrite(log, bad, text, text_bytes);
    }
    hn_opt_log_free(log);
}
