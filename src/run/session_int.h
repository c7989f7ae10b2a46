/* Inside run/: what a session holds. */
#ifndef HN_SESSION_INT_H
#define HN_SESSION_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "run/run_int.h"
#include "run/session.h"

/* Plans of the shapes seen last. */
typedef struct hn_kept_plan {
    hn_plan *plan;
    uint64_t last_used;
    uint32_t n_users;
} hn_kept_plan;

struct hn_session {
    const hone_allocator *alloc;
    hn_program *program;
    hn_pool *pool;
    hn_session_options options;
    const hn_model *model;
    uint64_t n_edits; /* of the model when the session was made */
    hn_arena *notes;
    const char *cache_note, *kernels_note;
    hn_fork_hook fork_hook; /* of the lock */
    pthread_mutex_t lock;   /* guards all below */
    hn_session_costs costs;
    hn_kept_plan *plans;
    uint32_t n_plans;
    uint64_t clock;
    uint64_t n_runs;
    hn_state **idle; /* states that no run uses now */
    uint32_t n_idle;
    /* Where inputs contradict a name of their dimensions, a session that does without it takes
     * over. All of them live as long as the first, which has the fields below. */
    struct hn_session *older;            /* from which this one took over; NULL: the first */
    _Atomic(struct hn_session *) newest; /* that runs now; the first itself to begin with */
    _Atomic(const char *) dims_note;
    pthread_mutex_t split_lock; /* held while one is made; guards `notes`, too */
    hn_fork_hook split_hook;    /* of that */
};

/* split_session.c: copies what the options point to, which the caller may free; in `notes`. */
hone_status hn_session_keep_options(hn_session *s);
/* The session that can run this call: the newest one, or one that is made for it because the call
 * contradicts a name that the newest one relies on. */
hone_status hn_session_for_call(hn_session *first, const hn_call *c, hn_session **out,
                                hone_error *err);
/* session.c: has this one run such a call before? */
bool hn_session_knows_call(hn_session *s, const hn_call *c);
void hn_session_drop_idle(hn_session *s);

#endif /* HN_SESSION_INT_H */
