#include "run/session.h"

#include <pthread.h>

typedef struct kept_plan {
    hn_plan *plan;
    uint64_t last_used;
    uint32_t n_users;
} kept_plan;

struct hn_session {
    const hone_allocator *alloc;
    hn_program *program;
    hn_pool *pool;
    hn_session_options options;
    pthread_mutex_t lock; /* guards all below */
    kept_plan *plans;
    uint32_t n_plans;
    uint64_t clock;
    hn_state **idle; /* states that no run uses now */
    uint32_t n_idle;
};

#define MAX_IDLE_STATES 64

hone_status hn_session_new(const hn_model *m, const hn_session_options *o, hn_session **out, hone_error *err) {
    const hone_allocator *alloc = hn_arena_allocator(m->arena);
    *out = NULL;
    hn_session *s = hn_calloc(alloc, 1, sizeof *s);
    if (!s)
        return HONE_E_NOMEM;
    s->alloc = alloc;
    s->options = *o;
    if (!s->options.max_plans)
        s->options.max_plans = 16;
    pthread_mutex_init(&s->lock, NULL);
    s->plans = hn_calloc(alloc, s->options.max_plans, sizeof *s->plans);
    s->idle = hn_calloc(alloc, MAX_IDLE_STATES, sizeof *s->idle);
    s->pool = hn_pool_new(o->n_threads, alloc);
    hone_status status = s->plans && s->idle && s->pool ? hn_program_new(m, &s->program, err) : HONE_E_NOMEM;
    if (status != HONE_OK)
        hn_session_free(s);
    else
        *out = s;
    return status;
}

void hn_session_free(hn_session *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_idle; i++)
        hn_state_free(s->idle[i]);
    for (uint32_t i = 0; i < s->n_plans; i++)
        hn_plan_free(s->plans[i].plan);
    hn_program_free(s->program);
    hn_pool_free(s->pool);
    pthread_mutex_destroy(&s->lock);
    hn_free(s->alloc, s->plans, s->options.max_plans * sizeof *s->plans);
    hn_free(s->alloc, s->idle, MAX_IDLE_STATES * sizeof *s->idle);
    hn_free(s->alloc, s, sizeof *s);
}

const hn_program *hn_session_program(const hn_session *s) { return s->program; }

static uint32_t n_graph_inputs(const hn_session *s) { return hn_block_at(s->program->model->graph, 0)->inputs.n; }

static kept_plan *find_plan(hn_session *s, const hn_object *const *inputs) {
    for (uint32_t i = 0; i < s->n_plans; i++)
        if (hn_plan_fits(s->plans[i].plan, n_graph_inputs(s), inputs))
            return &s->plans[i];
    return NULL;
}

/* Room for one more: a free slot, or that of the plan unused for the longest time. NULL when all are in use right now. */
static kept_plan *free_slot(hn_session *s) {
    if (s->n_plans < s->options.max_plans)
        return &s->plans[s->n_plans++];
    kept_plan *oldest = NULL;
    for (uint32_t i = 0; i < s->n_plans; i++)
        if (!s->plans[i].n_users && (!oldest || s->plans[i].last_used < oldest->last_used))
            oldest = &s->plans[i];
    if (oldest)
        hn_plan_free(oldest->plan);
    return oldest;
}

typedef struct borrowed_run {
    hn_state *state;
    hn_plan *plan;
    bool is_kept; /* the plan is in the list */
} borrowed_run;

/* Under the lock: planning uses the program's table of symbols. */
static hone_status borrow_plan(hn_session *s, const hn_object *const *inputs, borrowed_run *r, hone_error *err) {
    kept_plan *kept = find_plan(s, inputs);
    if (!kept) {
        HN_TRY(hn_plan_new(s->program, n_graph_inputs(s), inputs, &r->plan, err));
        r->plan->serial = ++s->clock;
        kept = free_slot(s);
        if (kept)
            *kept = (kept_plan){.plan = r->plan};
    }
    r->is_kept = kept != NULL;
    if (kept) {
        r->plan = kept->plan;
        kept->n_users++;
        kept->last_used = ++s->clock;
    }
    return HONE_OK;
}

static hone_status borrow(hn_session *s, const hn_object *const *inputs, borrowed_run *r, hone_error *err) {
    pthread_mutex_lock(&s->lock);
    hone_status status = borrow_plan(s, inputs, r, err);
    if (status == HONE_OK && s->n_idle)
        r->state = s->idle[--s->n_idle];
    pthread_mutex_unlock(&s->lock);
    if (status == HONE_OK && !r->state) {
        r->state = hn_state_new(s->program, s->pool, s->options.memory_limit);
        status = r->state ? HONE_OK : HONE_E_NOMEM;
    }
    return status;
}

static void give_back(hn_session *s, borrowed_run *r) {
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; r->is_kept && i < s->n_plans; i++)
        if (s->plans[i].plan == r->plan)
            s->plans[i].n_users--;
    if (r->state && s->n_idle < MAX_IDLE_STATES) {
        s->idle[s->n_idle++] = r->state;
        r->state = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    hn_state_free(r->state);
    if (!r->is_kept)
        hn_plan_free(r->plan);
}

hone_status hn_session_run(hn_session *s, const hn_run_control *control, const hn_object *const *inputs, const bool *wanted,
                           hn_heap *const *out_heaps, hn_object **outputs, hone_error *err) {
    borrowed_run r = {0};
    hone_status status = borrow(s, inputs, &r, err);
    if (status == HONE_OK)
        status = hn_state_run(r.state, r.plan, control, inputs, wanted, out_heaps, outputs, err);
    give_back(s, &r);
    return status;
}

hone_status hn_session_plan_bytes(hn_session *s, const hn_object *const *inputs, uint64_t *bytes, hone_error *err) {
    borrowed_run r = {0};
    hone_status status = borrow(s, inputs, &r, err);
    if (status == HONE_OK)
        *bytes = r.plan->block_bytes;
    give_back(s, &r);
    return status;
}
