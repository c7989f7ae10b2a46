/* Sessions of one model that were asked for the same have one program: it is only read once it was
 * made. */
#include "run/session.h"

typedef struct shared_program {
    struct shared_program *next;
    const hn_model *model;
    uint64_t n_edits; /* of the model when the program was made */
    hn_strbuf asked;
    hn_program *program;
    uint32_t n_sessions;
} shared_program;

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static shared_program *programs;

void hn_program_describe(hn_level level, const hn_program_options *o, hn_strbuf *out) {
    hn_strbuf_printf(out, "%d", (int)level);
    for (uint32_t i = 0; i < o->n_dims; i++) {
        const char *name = o->dims[i].name ? o->dims[i].name : "";
        hn_strbuf_printf(out, " %zu %s %lld", strlen(name), name, (long long)o->dims[i].size);
    }
    for (uint32_t i = 0; i < o->n_providers; i++)
        hn_strbuf_printf(out, "\n%s", o->providers[i]);
    for (uint32_t i = 0; i < o->split.n; i++)
        hn_strbuf_printf(out, "\n\nsplit %zu %s", strlen(o->split.names[i]), o->split.names[i]);
    if (o->stored != HN_STORED_F32)
        hn_strbuf_printf(out, "\n\nstored %d", (int)o->stored);
    if (o->choices)
        hn_strbuf_printf(out, "\n\n%016llx",
                         (unsigned long long)hn_kernel_choices_hash(o->choices));
}

static bool is_asked_for(const shared_program *p, const hn_model *m, const hn_strbuf *asked) {
    return p->model == m && p->n_edits == m->n_edits && p->asked.n == asked->n &&
           memcmp(p->asked.at, asked->at, asked->n) == 0;
}

/* The lock is held. */
static hn_program *join_sessions(const hn_model *m, const hn_strbuf *asked) {
    for (shared_program *p = programs; p; p = p->next)
        if (is_asked_for(p, m, asked)) {
            p->n_sessions++;
            return p->program;
        }
    return NULL;
}

static hn_program *join_sessions_now(const hn_model *m, const hn_strbuf *asked) {
    pthread_mutex_lock(&programs_lock);
    hn_program *found = join_sessions(m, asked);
    pthread_mutex_unlock(&programs_lock);
    return found;
}

static void drop_entry(const hone_allocator *a, shared_program *p) {
    hn_program_free(p->program);
    hn_strbuf_free(&p->asked);
    hn_free(a, p, sizeof *p);
}

static void list_programs_lock(void) {
    static hn_fork_hook hook = {.lock = &programs_lock};
    hn_fork_list(&hook, HN_FORK_REGISTRY);
}

/* Programs are made without the lock; of two that were made at the same time one stays. */
hone_status hn_program_shared(const hn_model *m, hn_level level, const hn_program_options *o,
                              hn_program **out, hone_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_programs_lock);
    const hone_allocator *a = hn_arena_allocator(m->arena);
    shared_program *fresh = hn_calloc(a, 1, sizeof *fresh);
    *out = NULL;
    HN_TRY_PTR(fresh);
    *fresh = (shared_program){.model = m, .n_edits = m->n_edits, .n_sessions = 1};
    hn_strbuf_init(&fresh->asked, a);
    hn_program_describe(level, o, &fresh->asked);
    hone_status status = fresh->asked.failed ? HONE_E_NOMEM : HONE_OK;
    if (status == HONE_OK)
        *out = join_sessions_now(m, &fresh->asked);
    if (status == HONE_OK && !*out)
        status = hn_program_optimized(m, level, o, &fresh->program, err);
    if (status != HONE_OK || *out) {
        drop_entry(a, fresh);
        return status;
    }
    pthread_mutex_lock(&programs_lock);
    *out = join_sessions(m, &fresh->asked);
    if (!*out) {
        *out = fresh->program;
        fresh->next = programs;
        programs = fresh;
        fresh = NULL;
    }
    pthread_mutex_unlock(&programs_lock);
    if (fresh)
        drop_entry(a, fresh);
    return HONE_OK;
}

void hn_program_unshare(hn_program *program) {
    shared_program **at = &programs, *last = NULL;
    if (!program)
        return;
    pthread_mutex_lock(&programs_lock);
    while (*at && (*at)->program != program)
        at = &(*at)->next;
    if (*at && --(*at)->n_sessions == 0) {
        last = *at;
        *at = last->next;
    }
    pthread_mutex_unlock(&programs_lock);
    if (last)
        drop_entry(hn_arena_allocator(last->model->arena), last);
}
