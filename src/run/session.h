/* Sessions: a program, the plans for the shapes seen last, and states for concurrent runs. */
#ifndef HN_SESSION_H
#define HN_SESSION_H

#include "run/run.h"

typedef struct hn_session hn_session;
typedef struct hn_session_options {
    int n_threads;         /* 0: as many as there are processors */
    uint64_t memory_limit; /* of intermediate values; 0: none */
    uint32_t max_plans;    /* kept; 0: 16 */
} hn_session_options;
hone_status hn_session_new(const hn_model *m, const hn_session_options *o, hn_session **out, hone_error *err);
void hn_session_free(hn_session *s);
const hn_program *hn_session_program(const hn_session *s);
/* As hn_state_run, from any number of threads at once. */
hone_status hn_session_run(hn_session *s, const hn_run_control *control, const hn_object *const *inputs, const bool *wanted,
                           hn_heap *const *out_heaps, hn_object **outputs, hone_error *err);
/* Bytes that a run with these inputs takes for intermediate values of known shape. */
hone_status hn_session_plan_bytes(hn_session *s, const hn_object *const *inputs, uint64_t *bytes, hone_error *err);

#endif /* HN_SESSION_H */
