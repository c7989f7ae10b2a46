/* Inputs for a model, generated or given, and a run with them. */
#include "prove/sample_sizes.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static hone_status new_samples(const hn_model *m, hn_samples **out) {
    const hone_allocator *a = hn_arena_allocator(m->arena);
    const hn_block *b = hn_block_at(m->graph, 0);
    *out = NULL;
    hn_samples *s = hn_calloc(a, 1, sizeof *s);
    HN_TRY_PTR(s);
    s->alloc = a;
    hn_strbuf_init(&s->shapes, a);
    s->n_inputs = b->inputs.n;
    s->n_outputs = b->outputs.n;
    s->heap = hn_heap_new(a);
    s->inputs = hn_calloc(a, (size_t)s->n_inputs + 1, sizeof *s->inputs);
    s->outputs = hn_calloc(a, (size_t)s->n_outputs + 1, sizeof *s->outputs);
    if (!s->heap || !s->inputs || !s->outputs) {
        hn_samples_free(s);
        return HONE_E_NOMEM;
    }
    *out = s;
    return HONE_OK;
}

static void drop_objects(hn_heap *heap, uint32_t n, hn_object **list) {
    for (uint32_t i = 0; list && i < n; i++) {
        if (list[i])
            hn_heap_unref(heap, list[i]);
        list[i] = NULL;
    }
}

void hn_samples_free(hn_samples *s) {
    if (!s)
        return;
    const hone_allocator *a = s->alloc;
    drop_objects(s->heap, s->n_inputs, s->inputs);
    drop_objects(s->heap, s->n_outputs, s->outputs);
    hn_free(a, s->inputs, ((size_t)s->n_inputs + 1) * sizeof *s->inputs);
    hn_free(a, s->outputs, ((size_t)s->n_outputs + 1) * sizeof *s->outputs);
    hn_heap_free(s->heap);
    hn_strbuf_free(&s->shapes);
    hn_free(a, s, sizeof *s);
}

/* ---- generated inputs ------------------------------------------------------------------------ */

/* Parts of the time: of a verification that the search takes, of the search that one trial takes.
 */
#define SEARCH_SHARE 10
#define TRIAL_SHARE 4

struct hn_size_trial {
    hn_samples *samples;
    const hn_model *m;
    uint64_t seed;
    bool *is_given; /* by input: not made up */
    hn_shape *given;
    int64_t (*dims)[HN_MAX_RANK]; /* by input */
    uint64_t search_end_ns;       /* 0: none */
    uint64_t trial_ns;
    bool has_empty_result; /* some sizes run, but leave an output without elements */
    bool takes_empty;
};

const hn_shape *hn_trial_given(const hn_size_trial *t, uint32_t input) {
    return t->is_given[input] && t->given[input].rank >= 0 ? &t->given[input] : NULL;
}

int64_t *hn_trial_dims(hn_size_trial *t, uint32_t input) {
    return t->is_given[input] ? NULL : t->dims[input];
}

bool hn_trial_may_go_on(const hn_size_trial *t, hone_status status) {
    bool is_late = t->search_end_ns && hn_now_ns() > t->search_end_ns;
    return status != HONE_OK && status != HONE_E_NOMEM && status != HONE_E_UNSUPPORTED && !is_late;
}

static void fill_sample(hn_rng *rng, hn_array *a) {
    bool is_real = hn_dtype_is_float(a->dtype);
    for (uint64_t i = 0; i < a->n_elems; i++) {
        double v = is_real ? (double)hn_rng_normal(rng) : (double)hn_rng_below(rng, 2);
        hn_store_f64(a, i, 1, &v);
    }
}

static bool can_make(const hn_type *t) {
    if (!t || t->kind != HN_TYPE_TENSOR || t->shape.rank < 0 || t->shape.rank > HN_MAX_RANK)
        return false;
    return hn_dtype_is_float(t->elem) || hn_dtype_is_int(t->elem) || t->elem == HN_BOOL;
}

static const hn_value *sample_input(const hn_model *m, uint32_t i) {
    return hn_value_at(m->graph, hn_block_at(m->graph, 0)->inputs.at[i]);
}

static bool exceeds_limit(const hn_samples *s, const hn_type *t, const int64_t *dims) {
    uint64_t n = 8;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_mul_u64(n, (uint64_t)dims[i], &n))
            return true;
    return s->memory_limit && n > s->memory_limit;
}

static hone_status make_input(hn_size_trial *t, hn_rng *rng, uint32_t i, hone_error *err) {
    hn_samples *s = t->samples;
    const hn_value *v = sample_input(t->m, i);
    if (t->is_given[i] || v->init)
        return HONE_OK;
    if (!can_make(v->type))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "no values can be generated for input '%s'; give it a value", hn_s(v->name));
    if (exceeds_limit(s, v->type, t->dims[i]))
        return hn_fail(err, HONE_E_LIMIT, "input '%s' is larger than the limit", hn_s(v->name));
    if (s->inputs[i])
        hn_heap_unref(s->heap, s->inputs[i]);
    s->inputs[i] = hn_heap_tensor(s->heap, v->type->elem, v->type->shape.rank, t->dims[i]);
    HN_TRY_PTR(s->inputs[i]);
    fill_sample(rng, &s->inputs[i]->array);
    return HONE_OK;
}

/* Such a run proves little. */
static bool has_empty_output(const hn_samples *s) {
    for (uint32_t i = 0; i < s->n_outputs; i++)
        if (s->outputs[i] && s->outputs[i]->kind == HN_OBJECT_TENSOR &&
            s->outputs[i]->array.n_elems == 0)
            return true;
    return false;
}

bool hn_trial_take_empty(hn_size_trial *t) {
    t->takes_empty = true;
    return t->has_empty_result;
}

/* A quarter of the memory and a part of the time: larger sizes that run need not be the best. */
hone_status hn_trial_run(hn_size_trial *t, hone_error *err) {
    hn_samples *s = t->samples;
    uint64_t end_ns = s->deadline_ns, limit = s->memory_limit;
    hn_rng rng;
    hn_rng_seed(&rng, t->seed);
    s->memory_limit = limit / 4;
    if (t->trial_ns)
        s->deadline_ns = HN_MIN(hn_now_ns() + t->trial_ns, t->search_end_ns);
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < s->n_inputs && status == HONE_OK; i++)
        status = make_input(t, &rng, i, err);
    if (status == HONE_OK)
        status = hn_samples_run(s, t->m, err);
    if (status == HONE_OK && has_empty_output(s) && !t->takes_empty) {
        t->has_empty_result = true;
        status = hn_fail(err, HONE_E_SHAPE, "an output has no elements");
    }
    s->deadline_ns = end_ns;
    s->memory_limit = limit;
    return status;
}

static void put_shapes(const hn_size_trial *t, hn_strbuf *out) {
    for (uint32_t i = 0; i < t->samples->n_inputs; i++) {
        const hn_object *o = t->samples->inputs[i];
        if (t->is_given[i] || !o)
            continue;
        hn_strbuf_printf(out, "%s%s%s", out->n ? ", " : "", hn_s(sample_input(t->m, i)->name),
                         o->array.rank ? " " : "");
        for (int32_t k = 0; k < o->array.rank; k++)
            hn_strbuf_printf(out, "%s%lld", k ? "x" : "", (long long)o->array.dims[k]);
    }
}

static hone_status open_trial(hn_size_trial *t, hn_arena *arena) {
    const hn_samples *s = t->samples;
    size_t n = (size_t)s->n_inputs + 1;
    t->is_given = HN_NEW_N(arena, bool, n);
    t->given = HN_NEW_N(arena, hn_shape, n);
    t->dims = hn_arena_calloc(arena, n, sizeof *t->dims);
    if (!t->is_given || !t->given || !t->dims)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const hn_object *o = s->inputs[i];
        bool is_tensor = o && o->kind == HN_OBJECT_TENSOR;
        t->is_given[i] = o != NULL;
        t->given[i] = is_tensor ? (hn_shape){o->array.rank, o->array.dims} : (hn_shape){-1, NULL};
    }
    uint64_t now = hn_now_ns();
    if (s->deadline_ns > now) {
        t->search_end_ns = now + (s->deadline_ns - now) / SEARCH_SHARE;
        t->trial_ns = (t->search_end_ns - now) / TRIAL_SHARE;
    }
    return HONE_OK;
}

hone_status hn_samples_fill(hn_samples *s, const hn_model *m, uint64_t seed, bool obeys_names,
                            hone_error *err) {
    hn_size_trial t = {.samples = s, .m = m, .seed = seed};
    hn_arena *arena = hn_arena_new(s->alloc);
    hone_status status = arena ? open_trial(&t, arena) : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = hn_sample_sizes_search(&t, m, obeys_names, arena, err);
    if (status == HONE_OK)
        put_shapes(&t, &s->shapes);
    else if (status != HONE_E_NOMEM)
        hn_error_prefix(err, "the model does not run with generated inputs; give it some");
    hn_arena_free(arena);
    return hn_error_complete(err, s->shapes.failed ? HONE_E_NOMEM : status);
}

hone_status hn_samples_make(const hn_model *m, uint64_t seed, hn_samples **out, hone_error *err) {
    hone_status status = new_samples(m, out);
    if (status == HONE_OK)
        status = hn_samples_fill(*out, m, seed, true, err);
    if (status != HONE_OK) {
        hn_samples_free(*out);
        *out = NULL;
    }
    return hn_error_complete(err, status);
}

hone_status hn_samples_empty(const hn_model *m, hn_samples **out, hone_error *err) {
    return hn_error_complete(err, new_samples(m, out));
}

/* ---- running --------------------------------------------------------------------------------- */

/* A copy of an input in the type that the model declares; NULL when it already has that type. */
static hone_status copy_for(hn_samples *s, const hn_model *m, uint32_t i, hn_object **out) {
    const hn_type *t = hn_value_at(m->graph, hn_block_at(m->graph, 0)->inputs.at[i])->type;
    const hn_object *given = s->inputs[i];
    bool is_other = given && given->kind == HN_OBJECT_TENSOR && t && t->kind == HN_TYPE_TENSOR &&
                    t->elem != given->array.dtype && hn_dtype_is_float(t->elem) &&
                    hn_dtype_is_float(given->array.dtype);
    if (!is_other)
        return HONE_OK;
    const hn_array *from = &given->array;
    *out = hn_heap_tensor(s->heap, t->elem, from->rank, from->dims);
    HN_TRY_PTR(*out);
    for (uint64_t at = 0; at < from->n_elems; at += HN_TILE) {
        double tile[HN_TILE];
        uint64_t n = HN_MIN(from->n_elems - at, (uint64_t)HN_TILE);
        hn_load_f64(from, at, n, tile);
        hn_store_f64(&(*out)->array, at, n, tile);
    }
    return HONE_OK;
}

/* `copies` has one entry per input. */
static hone_status run_state(hn_samples *s, const hn_model *m, hn_session *session, hn_state *state,
                             hn_object **copies, hone_error *err) {
    hn_call *call = hn_state_call(state);
    hn_run_control control = {.deadline_ns = s->deadline_ns};
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < call->n_inputs && i < s->n_inputs && status == HONE_OK; i++) {
        status = copy_for(s, m, i, &copies[i]);
        call->inputs[i] = copies[i] ? copies[i] : s->inputs[i];
    }
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        call->wanted[i] = true;
        call->heaps[i] = s->heap;
    }
    if (status == HONE_OK)
        status = hn_session_run(session, state, &control, err);
    for (uint32_t i = 0; status == HONE_OK && i < call->n_outputs && i < s->n_outputs; i++) {
        s->outputs[i] = call->outputs[i];
        call->outputs[i] = NULL;
    }
    return status;
}

hone_status hn_samples_run(hn_samples *s, const hn_model *m, hone_error *err) {
    hn_session *session;
    hn_session_options options = {.memory_limit = s->memory_limit,
                                  .seed = 1}; /* runs before and after a pass are compared */
    drop_objects(s->heap, s->n_outputs, s->outputs);
    HN_TRY(hn_session_new(m, &options, &session, err));
    hn_state *state = hn_session_open(session);
    size_t n = (size_t)s->n_inputs + 1;
    hn_object **copies = hn_calloc(s->alloc, n, sizeof *copies);
    hone_status status =
        state && copies ? run_state(s, m, session, state, copies, err) : HONE_E_NOMEM;
    if (state)
        hn_session_close(session, state);
    drop_objects(s->heap, s->n_inputs, copies);
    hn_free(s->alloc, copies, n * sizeof *copies);
    hn_session_free(session);
    return hn_error_complete(err, status);
}
