/* Runs a model and records every step. */
#define _POSIX_C_SOURCE 200809L
#include "profile/profile_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_PROFILED = 5, MOST_PROFILED = 500 };

double profile_clock_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void keep_steps(profile *p, const hone_plan *plan, const hone_plan_info *info) {
    p->step_names = calloc((size_t)info->n_nodes + 1, sizeof *p->step_names);
    p->step_bytes = calloc((size_t)info->n_nodes + 1, sizeof *p->step_bytes);
    p->failed |= !p->step_names || !p->step_bytes;
    for (uint32_t i = 0; !p->failed && i < info->n_nodes; i++) {
        hone_plan_step step;
        hone_plan_get_step(plan, i, &step);
        p->step_names[i] = profile_text(p, step.node);
        p->step_bytes[i] = step.live_bytes;
        if (step.live_bytes > p->peak_bytes) {
            p->peak_bytes = step.live_bytes;
            p->peak_step = i;
        }
        p->n_steps = i + 1;
    }
}

static void keep_values(profile *p, const hone_plan *plan, const hone_plan_info *info) {
    p->values = calloc((size_t)info->n_all_values + 1, sizeof *p->values);
    p->failed |= !p->values;
    for (uint32_t i = 0; p->values && i < info->n_all_values; i++) {
        hone_plan_value v;
        hone_plan_get_any_value(plan, i, &v);
        p->values[i] = (profile_value){.name = profile_text(p, v.name),
                                       .bytes = v.bytes,
                                       .offset = v.offset,
                                       .first = v.first,
                                       .last = v.last};
        p->n_values = i + 1;
    }
}

/* Live bytes of each event, where its node is planned. */
static void keep_live_bytes(profile *p, const hone_plan *plan, const profile_recorder *r) {
    uint64_t *live = calloc((size_t)p->n_nodes + 1, sizeof *live);
    p->failed |= !live;
    for (uint32_t i = 0; live && i < p->n_steps; i++) {
        hone_plan_step step;
        hone_plan_get_step(plan, i, &step);
        uint32_t at = step.node_id < r->n_node_at ? r->node_at[step.node_id] : 0;
        if (at)
            live[at - 1] = step.live_bytes;
    }
    for (uint32_t i = 0; live && i < p->n_events; i++)
        p->events[i].live_bytes = live[p->events[i].node];
    free(live);
}

static void keep_memory_plan(profile *p, const hone_plan *plan) {
    hone_plan_info info;
    hone_plan_get_info(plan, &info);
    p->block_bytes = info.block_bytes;
    p->weight_bytes = info.weight_bytes;
    keep_steps(p, plan, &info);
    keep_values(p, plan, &info);
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct recorded_session {
    const profile_runs *r;
    hone_session *session;
    hone_plan *plan;
    profile_recorder recorder;
    hone_value **outputs;
    uint32_t n_outputs;
} recorded_session;

/* Of the run that has just ended. */
static void keep_output_sizes(recorded_session *s) {
    profile *p = s->recorder.p;
    if (!p->outputs)
        p->outputs = calloc((size_t)s->n_outputs + 1, sizeof *p->outputs);
    for (uint32_t i = 0; p->outputs && i < s->n_outputs; i++) {
        hone_tensor_info info;
        if (i == p->n_outputs) {
            p->outputs[i].name = profile_text(p, hone_session_output_name(s->session, i));
            p->n_outputs++;
        }
        if (s->outputs[i] && hone_value_tensor(s->outputs[i], &info))
            p->outputs[i].bytes = info.data_bytes;
    }
}

static bool run_recorded(recorded_session *s, double *us, hone_error *error) {
    const cli_feed *feed = s->r->feed;
    hone_run_options options;
    hone_run_options_init(&options);
    options.cancel = s->r->interrupted;
    options.timeout_seconds = s->r->timeout_seconds;
    options.observe = profile_record_step;
    options.observe_ctx = &s->recorder;
    double start_us = profile_clock_us();
    hone_status status =
        hone_session_run(s->session, &options, feed->n, feed->names,
                         (const hone_value *const *)feed->values, 0, NULL, s->outputs, error);
    *us = profile_clock_us() - start_us;
    keep_output_sizes(s);
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        hone_value_free(s->outputs[i]);
        s->outputs[i] = NULL;
    }
    profile_phase *phase =
        profile_add_phase(s->recorder.p, "model_run", start_us - s->recorder.zero_us, *us);
    if (phase)
        phase->is_run = true;
    s->recorder.run++;
    return status == HONE_OK;
}

static uint64_t n_wanted_runs(const profile_runs *r, double second_us) {
    double fit = 1e6 / (second_us > 1 ? second_us : 1);
    if (r->n_runs)
        return r->n_runs;
    return fit < LEAST_PROFILED  ? LEAST_PROFILED
           : fit > MOST_PROFILED ? MOST_PROFILED
                                 : (uint64_t)fit;
}

/* The first run finds memory and pages; the second one says how many fit into a second. */
static bool run_all_recorded(recorded_session *s, hone_error *error) {
    double us;
    if (!run_recorded(s, &us, error) || !run_recorded(s, &us, error))
        return false;
    uint64_t n = n_wanted_runs(s->r, us);
    for (uint64_t i = 1; i < n; i++) {
        cli_progress_step(s->r->progress, i, n);
        if (!run_recorded(s, &us, error))
            return false;
    }
    return true;
}

static bool open_recorded(recorded_session *s, hone_error *error) {
    const profile_runs *r = s->r;
    profile *p = s->recorder.p;
    double start_us = profile_clock_us();
    s->recorder.zero_us = start_us - r->load_us;
    profile_add_phase(p, "model_loading_uri", 0, r->load_us);
    if (hone_session_create(r->model, &r->session, &s->session, error) != HONE_OK)
        return false;
    double made_us = profile_clock_us();
    profile_add_phase(p, "session_initialization", r->load_us, made_us - start_us);
    if (hone_session_get_plan(s->session, r->feed->n, r->feed->names,
                              (const hone_value *const *)r->feed->values, &s->plan,
                              error) != HONE_OK)
        return false;
    profile_add_phase(p, "plan_and_pack", made_us - s->recorder.zero_us,
                      profile_clock_us() - made_us);
    keep_memory_plan(p, s->plan);
    s->n_outputs = hone_session_n_outputs(s->session);
    s->outputs = calloc((size_t)s->n_outputs + 1, sizeof *s->outputs);
    return s->outputs ? true : cli_refuse(error, "out of memory");
}

bool profile_record(const profile_runs *r, profile *p, hone_error *error) {
    recorded_session s = {.r = r, .recorder = {.p = p, .keeps_events = true}};
    p->source = profile_text(p, r->path);
    p->writer = "hone";
    bool ok = open_recorded(&s, error) && run_all_recorded(&s, error);
    if (ok)
        keep_live_bytes(p, s.plan, &s.recorder);
    profile_count(p);
    hone_plan_free(s.plan);
    free(s.outputs);
    profile_recorder_free(&s.recorder);
    hone_session_free(s.session);
    return ok && p->failed ? cli_refuse(error, "out of memory") : ok;
}
