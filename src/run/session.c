/* Sessions keep plans by shape and states by the number of runs that went on at once. */
#include <unistd.h>

#include "run/cache.h"
#include "run/session_int.h"

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
                                      : hn_cache_open(s->options.cache_folder, m, asked.at, s->pool,
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

/* In the child of a fork nobody holds it: whoever made a session there does not go on. */
static void renew_split_lock(hn_fork_hook *hook) {
    hn_session *s = (hn_session *)(void *)((char *)hook - offsetof(hn_session, split_hook));
    pthread_mutex_init(&s->split_lock, NULL);
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
    s->model = m;
    s->n_edits = m->n_edits;
    s->newest = s;
    s->dims_note = "";
    if (!s->options.max_plans)
        s->options.max_plans = 16;
    pthread_mutex_init(&s->lock, NULL);
    s->fork_hook.lock = &s->lock;
    hn_fork_list(&s->fork_hook, HN_FORK_SESSION);
    renew_split_lock(&s->split_hook);
    s->split_hook.in_child = renew_split_lock;
    hn_fork_list(&s->split_hook, HN_FORK_SESSION);
    s->plans = hn_calloc(alloc, s->options.max_plans, sizeof *s->plans);
    s->idle = hn_calloc(alloc, MAX_IDLE_STATES, sizeof *s->idle);
    s->pool = o->pool ? o->pool : hn_pool_new(o->n_threads, alloc);
    s->notes = hn_arena_new(alloc);
    s->cache_note = s->kernels_note = "";
    s->options.program.pool = s->pool;
    bool has_all = s->plans && s->idle && s->pool && s->notes;
    hone_status status = has_all ? hn_model_check_files(m, err) : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = hn_session_keep_options(s);
    uint64_t start = hn_now_ns();
    if (status == HONE_OK)
        status = take_chosen_program(s, m, err);
    s->costs.optimize_ns = hn_now_ns() - start;
    if (status != HONE_OK)
        hn_session_free(s);
    else
        *out = s;
    return status;
}

void hn_session_drop_idle(hn_session *s) {
    pthread_mutex_lock(&s->lock);
    while (s->n_idle > 0)
        hn_state_free(s->idle[--s->n_idle]);
    pthread_mutex_unlock(&s->lock);
}

static void free_one_session(hn_session *s) {
    hn_fork_unlist(&s->fork_hook);
    hn_fork_unlist(&s->split_hook);
    if (s->idle)
        hn_session_drop_idle(s);
    for (uint32_t i = 0; i < s->n_plans; i++)
        hn_plan_free(s->plans[i].plan);
    give_program_back(s);
    if (!s->options.pool)
        hn_pool_free(s->pool);
    hn_arena_free(s->notes);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->split_lock);
    hn_free(s->alloc, s->plans, s->options.max_plans * sizeof *s->plans);
    hn_free(s->alloc, s->idle, MAX_IDLE_STATES * sizeof *s->idle);
    hn_free(s->alloc, s, sizeof *s);
}

/* The first one owns the threads of all. */
void hn_session_free(hn_session *first) {
    hn_session *next = first ? first->newest : NULL;
    while (next) {
        hn_session *s = next;
        next = s->older;
        free_one_session(s);
    }
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

const char *hn_session_dims_note(const hn_session *s) {
    return s->dims_note;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static hn_kept_plan *find_plan(hn_session *s, const hn_call *c) {
    for (uint32_t i = 0; i < s->n_plans; i++)
        if (hn_plan_fits(s->plans[i].plan, c->n_inputs, c->inputs))
            return &s->plans[i];
    return NULL;
}

/* Room for one more: a free slot, or that of the plan unused for the longest time. NULL when all
 * are in use right now. */
static hn_kept_plan *free_slot(hn_session *s) {
    if (s->n_plans < s->options.max_plans)
        return &s->plans[s->n_plans++];
    hn_kept_plan *oldest = NULL;
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

static void use_kept(hn_session *s, hn_kept_plan *kept, borrowed_plan *b) {
    *b = (borrowed_plan){kept->plan, true};
    kept->n_users++;
    kept->last_used = ++s->clock;
}

static bool borrow_kept(hn_session *s, const hn_call *c, borrowed_plan *b) {
    pthread_mutex_lock(&s->lock);
    hn_kept_plan *kept = find_plan(s, c);
    if (kept)
        use_kept(s, kept, b);
    pthread_mutex_unlock(&s->lock);
    return kept != NULL;
}

bool hn_session_knows_call(hn_session *s, const hn_call *c) {
    pthread_mutex_lock(&s->lock);
    bool is_known = find_plan(s, c) != NULL;
    pthread_mutex_unlock(&s->lock);
    return is_known;
}

/* Another thread may have planned the same shapes meanwhile: one plan is enough. */
static void keep_plan(hn_session *s, const hn_call *c, hn_plan *fresh, borrowed_plan *b) {
    pthread_mutex_lock(&s->lock);
    hn_kept_plan *kept = find_plan(s, c);
    bool is_spare = kept != NULL;
    fresh->serial = ++s->clock;
    if (!kept && (kept = free_slot(s)) != NULL)
        *kept = (hn_kept_plan){.plan = fresh};
    *b = (borrowed_plan){.plan = fresh};
    if (kept)
        use_kept(s, kept, b);
    pthread_mutex_unlock(&s->lock);
    if (is_spare)
        hn_plan_free(fresh);
}

static void add_costs(hn_session *s, uint64_t pack_ns, uint64_t plan_ns) {
    pthread_mutex_lock(&s->lock);
    s->costs.pack_ns += pack_ns;
    s->costs.plan_ns += plan_ns;
    s->costs.n_plans++;
    pthread_mutex_unlock(&s->lock);
}

/* Of all sessions that took over, too. */
hn_session_costs hn_session_get_costs(hn_session *first) {
    hn_session_costs sum = {0};
    for (hn_session *s = first->newest; s; s = s->older) {
        pthread_mutex_lock(&s->lock);
        sum.optimize_ns += s->costs.optimize_ns;
        sum.pack_ns += s->costs.pack_ns;
        sum.plan_ns += s->costs.plan_ns;
        sum.n_plans += s->costs.n_plans;
        pthread_mutex_unlock(&s->lock);
    }
    return sum;
}

static hone_status borrow_plan(hn_session *s, const hn_call *c, borrowed_plan *b, hone_error *err) {
    hn_plan *fresh;
    if (borrow_kept(s, c, b))
        return HONE_OK;
    uint64_t start = hn_now_ns();
    HN_TRY(hn_program_pack(s->program, s->pool, err));
    uint64_t packed = hn_now_ns();
    HN_TRY(hn_plan_new(s->program, hn_pool_threads(s->pool), c->n_inputs, c->inputs, &fresh, err));
    add_costs(s, packed - start, hn_now_ns() - packed);
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

/* The plan, and the session that it is of. */
static hone_status borrow_for_call(hn_session *first, const hn_call *c, hn_session **s,
                                   borrowed_plan *b, hone_error *err) {
    *s = first->newest;
    if (borrow_kept(*s, c, b))
        return HONE_OK;
    HN_TRY(hn_session_for_call(first, c, s, err));
    return borrow_plan(*s, c, b, err);
}

hone_status hn_session_with_plan(hn_session *first, hn_state *state, hn_plan_fn look, void *ctx,
                                 hone_error *err) {
    hn_session *s;
    borrowed_plan b;
    HN_TRY(borrow_for_call(first, hn_state_call(state), &s, &b, err));
    hone_status status = look(b.plan, ctx, err);
    give_plan_back(s, &b);
    return status;
}

/* ---- states ---------------------------------------------------------------------------------- */

static hn_state *open_state(hn_session *s) {
    pthread_mutex_lock(&s->lock);
    hn_state *state = s->n_idle ? s->idle[--s->n_idle] : NULL;
    pthread_mutex_unlock(&s->lock);
    hn_state_options o = {.pool = s->pool,
                          .memory_limit = s->options.memory_limit,
                          .keep_denormals = s->options.keep_denormals,
                          .image_hook = s->options.image_hook};
    return state ? state : hn_state_new(s->program, &o);
}

static void close_state(hn_session *s, hn_state *state) {
    hn_state_clear_call(state);
    pthread_mutex_lock(&s->lock);
    bool has_room = s->n_idle < MAX_IDLE_STATES;
    if (has_room)
        s->idle[s->n_idle++] = state;
    pthread_mutex_unlock(&s->lock);
    if (!has_room)
        hn_state_free(state);
}

static hn_session *owner_of(hn_session *first, const hn_state *state) {
    hn_session *s = first->newest;
    while (s->program != state->program)
        s = s->older;
    return s;
}

hn_state *hn_session_open(hn_session *first) {
    return open_state(first->newest);
}

void hn_session_close(hn_session *first, hn_state *state) {
    if (state)
        close_state(owner_of(first, state), state);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void copy_call(const hn_call *from, const hn_call *to) {
    memcpy(to->inputs, from->inputs, from->n_inputs * sizeof *from->inputs);
    memcpy(to->wanted, from->wanted, from->n_outputs * sizeof *from->wanted);
    memcpy(to->is_bound, from->is_bound, from->n_outputs * sizeof *from->is_bound);
    memcpy(to->heaps, from->heaps, from->n_outputs * sizeof *from->heaps);
    memcpy(to->outputs, from->outputs, from->n_outputs * sizeof *from->outputs);
}

/* The state belongs to a session that another one has taken over from: its call runs there. */
static hone_status run_elsewhere(hn_session *s, const hn_plan *plan, hn_state *asked,
                                 const hn_run_control *control, hone_error *err) {
    hn_state *state = open_state(s);
    HN_TRY_PTR(state);
    copy_call(hn_state_call(asked), hn_state_call(state));
    hone_status status = hn_state_run(state, plan, control, err);
    copy_call(hn_state_call(state), hn_state_call(asked));
    close_state(s, state);
    return status;
}

/* Without a seed, runs of other sessions and processes draw other numbers. */
static uint64_t seed_of_run(hn_session *s) {
    pthread_mutex_lock(&s->lock);
    uint64_t run = ++s->n_runs;
    pthread_mutex_unlock(&s->lock);
    const uint64_t parts[] = {s->options.seed, run,
                              s->options.seed ? 0 : hn_now_ns() ^ (uint64_t)getpid() << 40};
    return hn_hash64(parts, sizeof parts, 0);
}

hone_status hn_session_run(hn_session *first, hn_state *state, const hn_run_control *control,
                           hone_error *err) {
    hn_session *s;
    borrowed_plan b;
    hn_run_control own = control ? *control : (hn_run_control){0};
    HN_TRY(hn_model_check_files(first->program->model, err));
    HN_TRY(borrow_for_call(first, hn_state_call(state), &s, &b, err));
    own.seed = seed_of_run(first);
    hone_status status = s->program == state->program ? hn_state_run(state, b.plan, &own, err)
                                                      : run_elsewhere(s, b.plan, state, &own, err);
    give_plan_back(s, &b);
    return status;
}
