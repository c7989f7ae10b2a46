/* L4: running a program. A state holds the memory of one run at a time; sessions keep several, one per concurrent run. */
#ifndef HN_RUN_H
#define HN_RUN_H

#include "plan/plan.h"

/* What a caller may watch and stop. */
typedef struct hn_run_control {
    const volatile int *cancel;  /* nonzero stops the run; may be NULL */
    double deadline;             /* hn_now() after which the run stops; 0: none */
    void (*after_step)(void *ctx, const hn_graph *g, hn_id node, double seconds, hn_object *const *outputs, uint32_t n_outputs);
    void *ctx;
} hn_run_control;

typedef struct hn_state hn_state;
hn_state *hn_state_new(const hn_program *p, hn_pool *pool, uint64_t memory_limit);
void hn_state_free(hn_state *s);
/* One run of the main graph. inputs: in the order of its inputs, NULL to take the initializer of that name. outputs: one per graph output; an entry
 * that is not NULL is a tensor of the right type and shape to write to; others are made in `out_heaps[i]`. Entries of `wanted` may be false. */
hone_status hn_state_run(hn_state *s, const hn_plan *plan, const hn_run_control *control, const hn_object *const *inputs,
                         const bool *wanted, hn_heap *const *out_heaps, hn_object **outputs, hone_error *err);
uint64_t hn_state_peak_bytes(const hn_state *s);
double hn_now(void); /* seconds, monotonic */

#endif /* HN_RUN_H */
