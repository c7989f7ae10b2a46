/* Sessions whose inputs contradict the names of their dimensions: another session that does not
 * rely on those names takes over. The old one stays for the runs that are under way. */
#include "run/session_int.h"

/* ---- options that outlive their caller ------------------------------------------------------- */

static const char *keep_note(hn_arena *a, const char *text) {
    return text ? hn_arena_copy(a, text, strlen(text) + 1) : NULL;
}

static hone_status keep_names_of_dims(hn_arena *a, hn_program_options *o) {
    hone_dim_size *dims = o->n_dims ? HN_NEW_N(a, hone_dim_size, o->n_dims) : NULL;
    if (o->n_dims && !dims)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < o->n_dims; i++) {
        dims[i] = o->dims[i];
        dims[i].name = keep_note(a, o->dims[i].name);
        if (o->dims[i].name && !dims[i].name)
            return HONE_E_NOMEM;
    }
    o->dims = dims;
    return HONE_OK;
}

static hone_status keep_list(hn_arena *a, uint32_t n, const char *const **list) {
    const char **kept = n ? HN_NEW_N(a, const char *, n) : NULL;
    if (n && !kept)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        kept[i] = keep_note(a, (*list)[i]);
        HN_TRY_PTR(kept[i]);
    }
    *list = kept;
    return HONE_OK;
}

hone_status hn_session_keep_options(hn_session *s) {
    hn_session_options *o = &s->options;
    HN_TRY(keep_names_of_dims(s->notes, &o->program));
    HN_TRY(keep_list(s->notes, o->program.n_providers, &o->program.providers));
    HN_TRY(keep_list(s->notes, o->program.split.n, &o->program.split.names));
    const char *folder = keep_note(s->notes, o->cache_folder);
    const char *kernels = keep_note(s->notes, o->kernels_path);
    if ((o->cache_folder && !folder) || (o->kernels_path && !kernels))
        return HONE_E_NOMEM;
    o->cache_folder = folder;
    o->kernels_path = kernels;
    return HONE_OK;
}

/* ---- sizes that contradict names ------------------------------------------------------------- */

static hn_shape shape_of_input(const hn_session *s, const hn_call *c, uint32_t i) {
    const hn_program *p = s->program;
    const hn_object *o = c->inputs[i] ? c->inputs[i] : &p->consts[p->blocks[0].entries[i]];
    return o->kind == HN_OBJECT_TENSOR ? (hn_shape){o->array.rank, o->array.dims}
                                       : (hn_shape){-1, NULL};
}

static hone_status find_clashes(const hn_session *s, const hn_call *c, hn_arena *arena,
                                hn_dim_clashes *out) {
    hn_shape *shapes = HN_NEW_N(arena, hn_shape, (size_t)c->n_inputs + 1);
    HN_TRY_PTR(shapes);
    for (uint32_t i = 0; i < c->n_inputs; i++)
        shapes[i] = shape_of_input(s, c, i);
    return hn_claims_check(s->program->model, &s->options.program.split, shapes, arena, out);
}

/* ---- taking over ----------------------------------------------------------------------------- */

static hone_status note_clashes(hn_session *first, const hn_dim_clashes *clashes) {
    const char *note = first->dims_note;
    for (uint32_t i = 0; i < clashes->n && note; i++) {
        const hn_dim_clash *c = &clashes->at[i];
        note = hn_arena_printf(first->notes,
                               "%s%sdimension '%s' is %lld and %lld in one run: the name does not "
                               "mean one size, and is not relied on any more",
                               note, *note ? "; " : "", c->name, (long long)c->sizes[0],
                               (long long)c->sizes[1]);
    }
    HN_TRY_PTR(note);
    first->dims_note = note;
    return HONE_OK;
}

static hone_status add_split_names(hn_arena *a, const hn_dim_clashes *clashes,
                                   hn_split_dims *split) {
    const char **names = HN_NEW_N(a, const char *, (size_t)split->n + clashes->n + 1);
    HN_TRY_PTR(names);
    for (uint32_t i = 0; i < split->n; i++)
        names[i] = split->names[i];
    for (uint32_t i = 0; i < clashes->n; i++)
        names[split->n + i] = clashes->at[i].name;
    split->n += clashes->n;
    split->names = names;
    return HONE_OK;
}

/* The first session's split_lock is held; `s` is the newest. */
static hone_status take_over(hn_session *first, hn_session *s, const hn_dim_clashes *clashes,
                             hn_arena *arena, hone_error *err) {
    hn_session_options o = s->options;
    hn_session *next;
    if (first->model->n_edits != first->n_edits)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "dimension '%s' is %lld and %lld, which needs the model as it was when the "
                       "session was made, but it was edited since; make another session",
                       clashes->at[0].name, (long long)clashes->at[0].sizes[0],
                       (long long)clashes->at[0].sizes[1]);
    o.pool = first->pool;
    HN_TRY(add_split_names(arena, clashes, &o.program.split));
    HN_TRY(hn_session_new(first->model, &o, &next, err));
    hone_status status = note_clashes(first, clashes);
    if (status != HONE_OK) {
        hn_session_free(next);
        return status;
    }
    next->older = s;
    first->newest = next;
    hn_session_drop_idle(s);
    return HONE_OK;
}

static hone_status replace_newest(hn_session *first, hn_session *s, const hn_dim_clashes *clashes,
                                  hn_arena *arena, hone_error *err) {
    pthread_mutex_lock(&first->split_lock);
    hone_status status = first->newest == s ? take_over(first, s, clashes, arena, err) : HONE_OK;
    pthread_mutex_unlock(&first->split_lock);
    return status;
}

/* Ends, because each round has one name less that could be contradicted. */
static hone_status find_session(hn_session *first, const hn_call *c, hn_arena *arena,
                                hn_session **out, hone_error *err) {
    for (;;) {
        hn_dim_clashes clashes;
        *out = first->newest;
        if (hn_session_knows_call(*out, c))
            return HONE_OK;
        HN_TRY(find_clashes(*out, c, arena, &clashes));
        if (clashes.n == 0)
            return HONE_OK;
        HN_TRY(replace_newest(first, *out, &clashes, arena, err));
    }
}

hone_status hn_session_for_call(hn_session *first, const hn_call *c, hn_session **out,
                                hone_error *err) {
    *out = first->newest;
    bool relies_on_names = first->options.level != HN_LEVEL_NONE;
    if (!relies_on_names || hn_session_knows_call(*out, c))
        return HONE_OK;
    hn_arena *arena = hn_arena_new(first->alloc);
    HN_TRY_PTR(arena);
    hone_status status = find_session(first, c, arena, out, err);
    hn_arena_free(arena);
    return status;
}
