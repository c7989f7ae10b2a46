/* L4: running a program. A state holds the memory of one run at a time; sessions keep several, one
 * per concurrent run. */
#ifndef HN_RUN_H
#define HN_RUN_H

#include "plan/plan.h"

/* A step that begins, or has just run; its values are valid while it is shown. */
typedef struct hn_step_event {
    const hn_graph *g;
    const hn_step *step;
    uint64_t start_ns, end_ns, macs;
    hn_object *const *inputs, *const *outputs; /* as many as the node has; NULL where left out */
    const char *kernel;                        /* what ran it, in a word */
    uint64_t dynamic_bytes;                    /* in use outside planned memory */
    const uint64_t *thread_ns;                 /* that each thread worked for it */
    uint32_t n_threads;
} hn_step_event;

/* What a caller may watch and stop. */
typedef struct hn_run_control {
    const volatile int *cancel;     /* nonzero stops the run; may be NULL */
    uint64_t deadline_ns;           /* hn_now_ns() after which the run stops; 0: none */
    bool (*should_stop)(void *ctx); /* asked now and then by the thread of the run; may be NULL */
    void *should_stop_ctx;
    uint64_t seed; /* of random numbers */
    /* Either may be NULL. The step that begins has no times and no outputs. */
    void (*before_step)(void *ctx, const hn_step_event *event);
    void (*after_step)(void *ctx, const hn_step_event *event);
    void *ctx;
} hn_run_control;

static inline bool hn_run_is_watched(const hn_run_control *c) {
    return c && (c->after_step || c->before_step);
}

/* What goes in and out of one run of the main graph, by the place of its inputs and outputs.
 * Belongs to a state; cleared by hn_state_clear_call. */
typedef struct hn_call {
    uint32_t n_inputs, n_outputs;
    const hn_object **inputs; /* NULL: take the initializer of that name */
    bool *wanted;             /* outputs that somebody asked for */
    bool *is_bound;           /* outputs[i] is a tensor of the right type and shape to write to */
    hn_heap **heaps;          /* what is in outputs[i], or will be made for it, lives there */
    hn_object **outputs;
} hn_call;

typedef struct hn_state_options {
    hn_pool *pool;         /* whose workers help; outlives the state */
    uint64_t memory_limit; /* 0: none */
    bool keep_denormals;
    hn_image_hook image_hook;
} hn_state_options;

typedef struct hn_state hn_state;
hn_state *hn_state_new(const hn_program *p, const hn_state_options *o); /* NULL: no memory */
void hn_state_free(hn_state *s);
hn_call *hn_state_call(hn_state *s);
void hn_state_clear_call(hn_state *s);
/* Runs the call. On failure, outputs that were not bound are NULL. */
hone_status hn_state_run(hn_state *s, const hn_plan *plan, const hn_run_control *control,
                         hone_error *err);

#endif /* HN_RUN_H */
