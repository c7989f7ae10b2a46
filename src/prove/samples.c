/* Inputs for a model, generated or given, and a run with them. */
#include "prove/prove.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static hone_status new_samples(const hn_model *m, hn_samples **out) {
    const hone_allocator *a = hn_arena_allocator(m->arena);
    const hn_block *b = hn_block_at(m->graph, 0);
    *out = NULL;
    hn_samples *s = hn_calloc(a, 1, sizeof *s);
    HN_TRY_PTR(s);
    s->alloc = a;
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
    hn_free(a, s, sizeof *s);
}

/* ---- generated inputs ------------------------------------------------------------------------ */

/* Sizes of symbols, assigned in the order of first use. */
typedef struct sizes {
    hn_model *model;
    hn_map by_symbol; /* string id -> number */
    uint32_t n;
    uint32_t scale;
} sizes;

static const uint32_t free_sizes[] = {2, 3, 4, 6};
static const uint32_t scales[] = {1, 8, 256}; /* windows of audio models span hundreds */

static hn_dim size_of(sizes *z, hn_dim d) {
    hn_str name;
    if (hn_dim_is_known(d))
        return d;
    if (!hn_dim_is_symbol(z->model->syms, d, &name))
        return 2 * (hn_dim)z->scale; /* unknown, or an expression: any size may work */
    uint32_t known = hn_map_get(&z->by_symbol, name->id);
    if (known == HN_MAP_NONE) {
        known = z->scale * free_sizes[z->n % HN_COUNT(free_sizes)];
        z->n++;
        hn_map_put(&z->by_symbol, name->id, known);
    }
    return known;
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

static hone_status make_input(hn_samples *s, sizes *z, hn_rng *rng, uint32_t i, hone_error *err) {
    const hn_value *v = hn_value_at(z->model->graph, hn_block_at(z->model->graph, 0)->inputs.at[i]);
    const hn_type *t = v->type;
    int64_t dims[HN_MAX_RANK];
    if (v->init)
        return HONE_OK;
    if (!can_make(t))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "no values can be generated for input '%s'; give it a value", hn_s(v->name));
    for (int32_t k = 0; k < t->shape.rank; k++)
        dims[k] = size_of(z, t->shape.dims[k]);
    s->inputs[i] = hn_heap_tensor(s->heap, t->elem, t->shape.rank, dims);
    HN_TRY_PTR(s->inputs[i]);
    fill_sample(rng, &s->inputs[i]->array);
    return HONE_OK;
}

static hone_status make_inputs(const hn_model *m, uint64_t seed, uint32_t scale, hn_samples **out,
                               hone_error *err) {
    HN_TRY(new_samples(m, out));
    hn_rng rng;
    hn_rng_seed(&rng, seed);
    hn_arena *scratch = hn_arena_new((*out)->alloc);
    hone_status status = scratch ? HONE_OK : HONE_E_NOMEM;
    sizes z = {.model = (hn_model *)(uintptr_t)m, .scale = scale};
    if (scratch)
        hn_map_init(&z.by_symbol, scratch);
    for (uint32_t i = 0; i < (*out)->n_inputs && status == HONE_OK; i++)
        status = make_input(*out, &z, &rng, i, err);
    hn_arena_free(scratch);
    return status;
}

hone_status hn_samples_make(const hn_model *m, uint64_t seed, hn_samples **out, hone_error *err) {
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < HN_COUNT(scales); i++) {
        hone_error why = {.offset = -1};
        status = make_inputs(m, seed, scales[i], out, &why);
        if (status == HONE_OK)
            status = hn_samples_run(*out, m, &why);
        if (status == HONE_OK)
            return HONE_OK;
        hn_samples_free(*out);
        *out = NULL;
        if (err && i == 0)
            *err = why; /* the smallest sizes give the clearest message */
        if (status != HONE_E_SHAPE)
            break;
    }
    if (status != HONE_E_NOMEM)
        hn_error_prefix(err, "the model does not run with generated inputs; give it some");
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
        status = hn_session_run(session, state, NULL, err);
    for (uint32_t i = 0; status == HONE_OK && i < call->n_outputs && i < s->n_outputs; i++) {
        s->outputs[i] = call->outputs[i];
        call->outputs[i] = NULL;
    }
    return status;
}

hone_status hn_samples_run(hn_samples *s, const hn_model *m, hone_error *err) {
    hn_session *session;
    hn_session_options options = {.seed = 1}; /* runs before and after a pass are compared */
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
