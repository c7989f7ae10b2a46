/* Sessions keep plans by shape and states by the number of runs that went on at once. */
#include "run/session.h"

#include <pthread.h>

#include "run/cache.h"

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
    hn_arena *notes;
    const char *cache_note, *kernels_note;
    pthread_mutex_t lock; /* guards all below */
    kept_plan *plans;
    uint32_t n_plans;
    uint64_t clock;
    hn_state **idle; /* states that no run uses now */
    uint32_t n_idle;
};

#define MAX_IDLE_STATES 64

static hone_status take_program(hn_session *s, const hn_model *m, hone_error *err) {
    const hn_session_options *o = &s->options;
    return o->shares_program ? hn_program_shared(m, o->level, &o->program, &s->program, err)
                             : hn_program_optimized(m, o->level, &o->program, &s->program, err);
}

static hone_status open_cache(hn_session *s, const hn_model *m, hn_cache **cache) {
    hn_strbuf asked;
    hn_strbuf_init(&asked, s->alloc);
    hn_program_describe(s->options.level, &s->options.program, &asked);
    hone_status status = asked.failed ? HONE_E_NOMEM
                                      : hn_cache_open(s->options.cache_folder, m, asked.at,
                                                      s->notes, cache, &s->cache_note);
    hn_strbuf_free(&asked);
    return status;
}

static hone_status take_cached_program(hn_session *s, const hn_model *m, hone_error *err) {
    hn_cache *cache;
    HN_TRY(open_cache(s, m, &cache));
    s->options.program.store = cache ? hn_cache_store(cache) : NULL;
    s->options.program.cache = cache;
    hone_status status = take_program(s, m, err);
    if (status == HONE_OK && cache)
        status = hn_cache_save(cache, s->notes, &s->cache_note);
    s->options.program.store = NULL;
    s->options.program.cache = NULL;
    hn_cache_free(cache);
    return status;
}

/* Whatever is wrong with the file, it keeps nobody from running. */
static hone_status read_kernels(hn_session *s, hn_kernel_choices *choices) {
    hone_error err;
    const char *path = s->options.kernels_path;
    hn_error_clear(&err);
    hone_status status = hn_kernel_choices_read(choices, path, &err);
    uint32_t n_skipped = hn_kernel_choices_n_skipped(choices);
    if (status == HONE_E_NOMEM)
        return status;
    if (status != HONE_OK)
        s->kernels_note =
            hn_arena_printf(s->notes, "kernels are not chosen by measurement: %s", err.message);
    else if (n_skipped > 0)
        s->kernels_note = hn_arena_printf(
            s->notes, "'%s': lines that are not understood and left out: %u", path, n_skipped);
    return s->kernels_note ? HONE_OK : HONE_E_NOMEM;
}

static hone_status take_chosen_program(hn_session *s, const hn_model *m, hone_error *err) {
    hn_kernel_choices *choices = NULL;
    hone_status status = HONE_OK;
    if (s->options.kernels_path) {
        choices = hn_kernel_choices_new(s->alloc, hn_pool_threads(s->pool));
        status = choices ? read_kernels(s, choices) : HONE_E_NOMEM;
    }
    s->options.program.choices = choices;
    s->options.program.is_lazy = !choices && !s->options.cache_folder;
    if (status == HONE_OK)
        status = s->options.cache_folder ? take_cached_program(s, m, err) : take_program(s, m, err);
    s->options.program.choices = NULL;
    hn_kernel_choices_free(choices);
    return status;
}

static void give_program_back(hn_session *s) {
    if (s->options.shares_program)
        hn_program_unshare(s->program);
    else
        hn_program_free(s->program);
}

hone_status hn_session_new(const hn_model *m, const hn_session_options *o, hn_session **out,
                           hone_error *err) {
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
    s->notes = hn_arena_new(alloc);
    s->cache_note = s->kernels_note = "";
    s->options.program.pool = s->pool;
    hone_status status = HONE_E_NOMEM;
    if (s->plans && s->idle && s->pool && s->notes)
        status = take_chosen_program(s, m, err);
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
    give_program_back(s);
    hn_pool_free(s->pool);
    hn_arena_free(s->notes);
    pthread_mutex_destroy(&s->lock);
    hn_free(s->alloc, s->plans, s->options.max_plans * sizeof *s->plans);
    hn_free(s->alloc, s->idle, MAX_IDLE_STATES * sizeof *s->idle);
    hn_free(s->alloc, s, sizeof *s);
}

const hn_program *hn_session_program(const hn_session *s) {
    return s->program;
}

const char *hn_session_cache_note(const hn_session *s) {
    return s->cache_note;
}

const char *hn_session_model_note(const hn_session *s) {
    return s->program->repairs;
}

const char *hn_session_kernels_note(const hn_session *s) {
    return s->kernels_note;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static kept_plan *find_plan(hn_session *s, const hn_call *c) {
    for (uint32_t i = 0; i < s->n_plans; i++)
        if (hn_plan_fits(s->plans[i].plan, c->n_inputs, c->inputs))
            return &s->plans[i];
    return NULL;
}

/* Room for one more: a free slot, or that of the plan unused for the longest time. NULL when all
 * are in use right now. */
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

typedef struct borrowed_plan {
    hn_plan *plan;
    bool is_kept; /* in the list */
} borrowed_plan;

static void use_kept(hn_session *s, kept_plan *kept, borrowed_plan *b) {
    *b = (borrowed_plan){kept->plan, true};
    kept->n_users++;
    kept->last_used = ++s->clock;
}

static bool borrow_kept(hn_session *s, const hn_call *c, borrowed_plan *b) {
    pthread_mutex_lock(&s->lock);
    kept_plan *kept = find_plan(s, c);
    if (kept)
        use_kept(s, kept, b);
    pthread_mutex_unlock(&s->lock);
    return kept != NULL;
}

/* Another thread may have planned the same shapes meanwhile: one plan is enough. */
static void keep_plan(hn_session *s, const hn_call *c, hn_plan *fresh, borrowed_plan *b) {
    pthread_mutex_lock(&s->lock);
    kept_plan *kept = find_plan(s, c);
    bool is_spare = kept != NULL;
    fresh->serial = ++s->clock;
    if (!kept && (kept = free_slot(s)) != NULL)
        *kept = (kept_plan){.plan = fresh};
    *b = (borrowed_plan){.plan = fresh};
    if (kept)
        use_kept(s, kept, b);
    pthread_mutex_unlock(&s->lock);
    if (is_spare)
        hn_plan_free(fresh);
}

static hone_status borrow_plan(hn_session *s, const hn_call *c, borrowed_plan *b, hone_error *err) {
    hn_plan *fresh;
    if (borrow_kept(s, c, b))
        return HONE_OK;
    HN_TRY(hn_program_pack(s->program, s->pool, err));
    HN_TRY(hn_plan_new(s->program, hn_pool_threads(s->pool), c->n_inputs, c->inputs, &fresh, err));
    keep_plan(s, c, fresh, b);
    return HONE_OK;
}

static void give_plan_back(hn_session *s, const borrowed_plan *b) {
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; b->is_kept && i < s->n_plans; i++)
        if (s->plans[i].plan == b->plan)
            s->plans[i].n_users--;
    pthread_mutex_unlock(&s->lock);
    if (!b->is_kept)
        hn_plan_free(b->plan);
}

hone_status hn_session_with_plan(hn_session *s, hn_state *state, hn_plan_fn look, void *ctx,
                                 hone_error *err) {
    borrowed_plan b;
    HN_TRY(borrow_plan(s, hn_state_call(state), &b, err));
    hone_status status = look(b.plan, ctx, err);
    give_plan_back(s, &b);
    return status;
}

/* ---- states ---------------------------------------------------------------------------------- */

hn_state *hn_session_open(hn_session *s) {
    pthread_mutex_lock(&s->lock);
    hn_state *state = s->n_idle ? s->idle[--s->n_idle] : NULL;
    pthread_mutex_unlock(&s->lock);
    hn_state_options o = {.pool = s->pool,
                          .memory_limit = s->options.memory_limit,
                          .keep_denormals = s->options.keep_denormals,
                          .image_hook = s->options.image_hook};
    return state ? state : hn_state_new(s->program, &o);
}

void hn_session_close(hn_session *s, hn_state *state) {
    if (!state)
        return;
    hn_state_clear_call(state);
    pthread_mutex_lock(&s->lock);
    bool has_room = s->n_idle < MAX_IDLE_STATES;
    if (has_room)
        s->idle[s->n_idle++] = state;
    pthread_mutex_unlock(&s->lock);
    if (!has_room)
        hn_state_free(state);
}

typedef struct planned_run {
    hn_state *state;
    const hn_run_control *control;
} planned_run;

static hone_status run_planned(const hn_plan *plan, void *ctx, hone_error *err) {
    const planned_run *r = ctx;
    return hn_state_run(r->state, plan, r->control, err);
}

hone_status hn_session_run(hn_session *s, hn_state *state, const hn_run_control *control,
                           hone_error *err) {
    planned_run r = {state, control};
    return hn_session_with_plan(s, state, run_planned, &r, err);
}
