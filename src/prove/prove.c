/* Optimization with verification: results are compared before and after every pass, and a bisection
 * finds the rewrite that changed them. */
#include "prove/prove.h"

#include <stdio.h>

#define MAX_GUILTY 64 /* maximum number of rules to disable before giving up */

hn_proof *hn_proof_new(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    hn_proof *p = arena ? HN_NEW(arena, hn_proof) : NULL;
    if (p)
        p->arena = arena;
    else
        hn_arena_free(arena);
    return p;
}

void hn_proof_free(hn_proof *p) {
    if (p)
        hn_arena_free(p->arena);
}

/* State of one verified optimization. */
typedef struct proof_job {
    const hn_model *original;
    hn_optimize_options options; /* including the rules disabled so far */
    HN_VEC(const char *) disabled;
    hn_samples *samples; /* NULL: no verification */
    hn_proof *proof;
    hn_object **before; /* results before the pass that runs now */
    hn_object **first;  /* of the original */
    hone_status (*users_hook)(void *ctx, hn_model *m, const hn_pass_row *pass,
                              const hn_opt_log *log, hone_error *err);
    void *users_ctx;
    /* The first pass that changed results. */
    const hn_pass_row *bad_pass;
    uint32_t n_good, n_bad; /* rewrites before and after it */
    uint32_t n_seen;        /* rewrites when results were last compared */
    hn_difference difference;
    bool is_over_limit; /* a run took more time or memory than it may */
} proof_job;

/* ---- runs ------------------------------------------------------------------------------------ */

static void drop_results(proof_job *job, hn_object **list) {
    for (uint32_t i = 0; i < job->samples->n_outputs; i++) {
        if (list[i])
            hn_heap_unref(job->samples->heap, list[i]);
        list[i] = NULL;
    }
}

/* Moves the results out of the samples. */
static hone_status run_into(proof_job *job, const hn_model *m, hn_object **list, hone_error *err) {
    hn_samples *s = job->samples;
    drop_results(job, list);
    HN_TRY(hn_samples_run(s, m, err));
    job->proof->n_runs++;
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        list[i] = s->outputs[i];
        s->outputs[i] = NULL;
    }
    return HONE_OK;
}

/* A graph that no longer runs counts as different. */
static hone_status compare_run(proof_job *job, const hn_model *m, hn_object *const *with,
                               hn_object **now, hn_difference *d, hone_error *err) {
    hone_error why = {0};
    hone_status status = run_into(job, m, now, &why);
    job->is_over_limit = status == HONE_E_CANCELLED || status == HONE_E_LIMIT;
    if (status == HONE_E_NOMEM || job->is_over_limit)
        return hn_fail(err, status, "the verification exceeds its limits: %s", why.message);
    if (status == HONE_OK)
        hn_samples_compare(job->samples->n_outputs, with, now, d);
    else
        *d = (hn_difference){.is_other_type = true};
    return HONE_OK;
}

/* Results of the graph after the pass become those before the next one. */
static hone_status compare_after_pass(void *ctx, hn_model *m, const hn_pass_row *pass,
                                      const hn_opt_log *log, hone_error *err) {
    proof_job *job = ctx;
    hn_object **now = HN_NEW_N(job->proof->arena, hn_object *, (size_t)job->samples->n_outputs + 1);
    HN_TRY_PTR(now);
    HN_TRY(compare_run(job, m, job->before, now, &job->difference, err));
    drop_results(job, job->before);
    memcpy(job->before, now, job->samples->n_outputs * sizeof *now);
    if (!hn_difference_is_fine(&job->difference, pass->numerics)) {
        job->bad_pass = pass;
        job->n_good = job->n_seen;
        job->n_bad = log->rewrites.n;
        return hn_fail(err, HONE_E_INTERNAL, "pass %s changes results", pass->name);
    }
    job->n_seen = log->rewrites.n;
    return job->users_hook ? job->users_hook(job->users_ctx, m, pass, log, err) : HONE_OK;
}

static hone_status find_large_values(void *ctx, const hn_model *m, double limit, bool *is_large,
                                     hone_error *err) {
    proof_job *job = ctx;
    job->proof->n_runs++;
    return hn_samples_find_large(job->samples, m, limit, is_large, err);
}

/* ---- trials ---------------------------------------------------------------------------------- */

static hone_status optimize_copy(proof_job *job, hn_model **out, hn_opt_log **log,
                                 hone_error *err) {
    *log = hn_opt_log_new(hn_arena_allocator(job->original->arena));
    *out = *log ? hn_model_clone(job->original) : NULL;
    job->options.n_disabled = job->disabled.n;
    job->options.disabled = job->disabled.at;
    hone_status status = *out ? hn_model_repair(*out, false, NULL, err) : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = hn_optimize(*out, &job->options, *log, err);
    if (status != HONE_OK) {
        hn_model_free(*out);
        *out = NULL;
    }
    return hn_error_complete(err, status);
}

/* Does the result differ after this many rewrites of the bad pass? */
static hone_status differs_after(proof_job *job, uint32_t n_rewrites, hn_object **good,
                                 hn_object **now, bool *is_bad, hone_error *err) {
    hn_model *m;
    hn_opt_log *log;
    hn_difference d = {0};
    hn_optimize_options saved = job->options;
    job->options.stop_after = n_rewrites;
    job->options.after_pass = NULL;
    hone_status status = optimize_copy(job, &m, &log, err);
    job->options = saved;
    if (status == HONE_OK)
        status = compare_run(job, m, good, now, &d, err);
    *is_bad = !hn_difference_is_fine(&d, job->bad_pass->numerics);
    hn_model_free(m);
    hn_opt_log_free(log);
    return status;
}

/* The first rewrite after which results differ from those before the pass. */
static hone_status bisect(proof_job *job, uint32_t *guilty, hone_error *err) {
    size_t n = (size_t)job->samples->n_outputs + 1;
    hn_object **good = HN_NEW_N(job->proof->arena, hn_object *, n);
    hn_object **now = HN_NEW_N(job->proof->arena, hn_object *, n);
    if (!good || !now)
        return HONE_E_NOMEM;
    uint32_t lo = job->n_good, hi = job->n_bad;
    bool is_bad;
    hone_status status = differs_after(job, lo, job->first, good, &is_bad, err);
    while (status == HONE_OK && hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        status = differs_after(job, mid, good, now, &is_bad, err);
        *(is_bad ? &hi : &lo) = mid;
    }
    drop_results(job, good);
    drop_results(job, now);
    *guilty = hi - 1;
    return status;
}

/* ---- switching rules off --------------------------------------------------------------------- */

static hone_status disable_rule(proof_job *job, const char *pass, const char *rule,
                                const char *node, const char *reason) {
    hn_arena *a = job->proof->arena;
    hn_guilty g = {.pass = pass,
                   .rule = hn_arena_printf(a, "%s", rule),
                   .node = hn_arena_printf(a, "%s", node),
                   .reason = hn_arena_printf(a, "%s", reason)};
    const char *name = hn_arena_printf(a, "%s%s%s", pass, *rule ? "." : "", rule);
    bool ok = g.rule && g.node && g.reason && name && HN_VEC_PUSH(a, &job->disabled, name) &&
              HN_VEC_PUSH(a, &job->proof->guilty, g);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

static hone_status disable_changing_rule(proof_job *job, const hn_opt_log *log, hone_error *err) {
    uint32_t i;
    char reason[200];
    HN_TRY(bisect(job, &i, err));
    const hn_rewrite *w = &log->rewrites.at[i];
    if (job->difference.is_other_type)
        snprintf(reason, sizeof reason,
                 "after it output %u has another shape or cannot be computed",
                 job->difference.output);
    else
        snprintf(reason, sizeof reason,
                 "output %u differs by %.3g, which is %.3g of its largest element",
                 job->difference.output, job->difference.max_abs, job->difference.max_relative);
    return disable_rule(job, w->pass->name, w->rule, w->node, reason);
}

/* The log or the comparison identifies the rule that failed; other errors are returned. */
static hone_status disable_failed_rule(proof_job *job, const hn_opt_log *log, hone_status status,
                                       hone_error *err) {
    if (status == HONE_E_NOMEM || job->is_over_limit || job->proof->guilty.n >= MAX_GUILTY)
        return status;
    if (job->bad_pass)
        return disable_changing_rule(job, log, err);
    if (log && log->failed.pass)
        return disable_rule(job, log->failed.pass->name, log->failed.rule, log->failed.node,
                            err ? err->message : "it failed");
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static hone_status start_trial(proof_job *job, hone_error *err) {
    job->bad_pass = NULL;
    job->n_seen = 0;
    return job->samples ? run_into(job, job->original, job->before, err) : HONE_OK;
}

static hone_status prove(proof_job *job, hn_model **out, hn_opt_log **log, hone_error *err) {
    for (;;) {
        HN_TRY(start_trial(job, err));
        hone_status status = optimize_copy(job, out, log, err);
        if (status == HONE_OK)
            return HONE_OK;
        hone_status settled = disable_failed_rule(job, *log, status, err);
        hn_opt_log_free(*log);
        *log = NULL;
        HN_TRY(settled);
        if (err)
            *err = (hone_error){.offset = -1};
    }
}

static hone_status prove_with_samples(proof_job *job, hn_model **out, hn_opt_log **log,
                                      hone_error *err) {
    size_t n = (size_t)job->samples->n_outputs + 1;
    job->before = HN_NEW_N(job->proof->arena, hn_object *, n);
    job->first = HN_NEW_N(job->proof->arena, hn_object *, n);
    if (!job->before || !job->first)
        return HONE_E_NOMEM;
    job->users_hook = job->options.after_pass;
    job->users_ctx = job->options.ctx;
    job->options.after_pass = compare_after_pass;
    job->options.ctx = job;
    job->options.precision.find_large = find_large_values;
    job->options.precision.ctx = job;
    hone_status status = run_into(job, job->original, job->first, err);
    if (status == HONE_OK)
        status = prove(job, out, log, err);
    if (status == HONE_OK)
        hn_samples_compare(job->samples->n_outputs, job->first, job->before,
                           &job->proof->remaining);
    drop_results(job, job->before);
    drop_results(job, job->first);
    return status;
}

hone_status hn_prove_optimize(const hn_model *m, const hn_optimize_options *o, hn_samples *samples,
                              hn_model **out, hn_opt_log **log, hn_proof *proof, hone_error *err) {
    proof_job job = {.original = m, .options = *o, .samples = samples, .proof = proof};
    *out = NULL;
    *log = NULL;
    for (uint32_t i = 0; i < o->n_disabled; i++)
        if (!HN_VEC_PUSH(proof->arena, &job.disabled, o->disabled[i]))
            return hn_error_complete(err, HONE_E_NOMEM);
    hone_status status =
        samples ? prove_with_samples(&job, out, log, err) : prove(&job, out, log, err);
    return hn_error_complete(err, status);
}
