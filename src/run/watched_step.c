/* What whoever watches a run learns of a step: times, also of each thread, and what ran it. */
#include "run/run_int.h"

#include <stdatomic.h>

static uint32_t n_timed_threads(const hn_state *s) {
    return s->n_lanes <= HN_TIMED_THREADS ? (uint32_t)s->n_lanes : 0;
}

void hn_run_watch_threads(hn_state *s) {
    bool is_timed = hn_run_is_watched(s->control) && n_timed_threads(s) > 0;
    hn_pool_time_threads(s->pool, is_timed ? s->thread_ns : NULL);
}

static const char *kernel_of_step(const hn_step_frame *f) {
    if (f->mode == HN_STEP_VIEW)
        return "view";
    if (!f->lowered)
        return "evaluation";
    const hn_provider *provider = f->step->provider;
    const char *name = provider->lowering_name ? provider->lowering_name(f->step->op) : NULL;
    return f->lowered->kernel ? f->lowered->kernel : name ? name : provider->name;
}

void hn_run_begin_watch(const hn_step_frame *f, hn_step_clock *clock) {
    const hn_state *s = f->state;
    const hn_run_control *c = s->control;
    if (c->before_step)
        c->before_step(
            c->ctx, &(hn_step_event){
                        .g = hn_state_graph(s), .step = f->step, .inputs = f->args, .kernel = ""});
    memcpy(clock->thread_ns, s->thread_ns, n_timed_threads(s) * sizeof *s->thread_ns);
    clock->start_ns = hn_now_ns();
}

/* The thread of the run works whenever it does not wait for the others. */
void hn_run_end_watch(const hn_step_frame *f, const hn_step_clock *clock) {
    uint64_t end_ns = hn_now_ns(), thread_ns[HN_TIMED_THREADS];
    const hn_state *s = f->state;
    const hn_run_control *c = s->control;
    hn_eval_frame e;
    if (!c->after_step)
        return;
    for (uint32_t i = 0; i < n_timed_threads(s); i++)
        thread_ns[i] = s->thread_ns[i] - clock->thread_ns[i];
    uint64_t whole_ns = end_ns - clock->start_ns;
    thread_ns[0] = n_timed_threads(s) ? whole_ns - HN_MIN(thread_ns[0], whole_ns) : whole_ns;
    hn_run_open_eval(f, &e);
    c->after_step(c->ctx,
                  &(hn_step_event){.g = hn_state_graph(s),
                                   .step = f->step,
                                   .start_ns = clock->start_ns,
                                   .end_ns = end_ns,
                                   .macs = f->mode == HN_STEP_VIEW ? 0 : hn_eval_macs(&e.eval),
                                   .inputs = f->args,
                                   .outputs = f->rets,
                                   .kernel = kernel_of_step(f),
                                   .dynamic_bytes =
                                       atomic_load_explicit(&s->budget.used, memory_order_relaxed),
                                   .thread_ns = thread_ns,
                                   .n_threads = n_timed_threads(s)});
}
