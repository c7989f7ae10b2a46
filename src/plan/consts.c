/* Initializers where evaluations can reach them: aligned, complete, dense. */
#include "plan/plan.h"

#define COPIED_BYTES ((uint64_t)4 << 20)
#define LEAST_SHARED_BYTES 4096 /* smaller copies are not worth looking up */

static const hn_blob_store *store_of(const hn_program_options *o) {
    return o ? o->store : NULL;
}

static hone_status own_blob(hn_program *p, const hn_program_options *o, const hn_blob_key *key,
                            hn_blob_fill_fn fill, void *ctx, void **data) {
    hn_blob *b;
    if (!HN_VEC_RESERVE(p->model->arena, &p->blobs, 1))
        return HONE_E_NOMEM;
    HN_TRY(hn_blob_get(hn_arena_allocator(p->model->arena), store_of(o), key, fill, ctx, &b));
    p->blobs.at[p->blobs.n++] = b;
    *data = hn_blob_data(b);
    return HONE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Piece by piece, so that no constant is resident twice as a whole. */
void hn_program_read_const(const hn_program *p, const hn_tensor *t, void *out) {
    if (hn_tensor_is_deferred(t)) {
        hn_tensor_compute(t, out);
        hn_model_let_go(p->model, hn_tensor_stored(t));
        return;
    }
    hn_tensor part = *t;
    for (uint64_t at = 0; at < t->data_bytes; at += part.data_bytes) {
        part.data = (const uint8_t *)t->data + at;
        part.data_bytes = HN_MIN(t->data_bytes - at, COPIED_BYTES);
        memcpy((uint8_t *)out + at, part.data, (size_t)part.data_bytes);
        hn_model_let_go(p->model, &part);
    }
}

typedef struct const_copy {
    const hn_program *p;
    const hn_tensor *t;
} const_copy;

static hone_status copy_const_bytes(void *ctx, void *out) {
    const const_copy *copy = ctx;
    hn_program_read_const(copy->p, copy->t, out);
    return HONE_OK;
}

/* Rewriting the graph has read constants, perhaps for the last time. */
static void forget_source(const hn_model *source) {
    for (hn_id id = 0; id < source->graph->values.n; id++)
        if (hn_value_at(source->graph, id)->init)
            hn_model_let_go(source, hn_value_at(source->graph, id)->init);
}

/* A large constant that lies where it cannot be read, or has to be computed. Most of them are laid
 * out by the only step that reads them: nobody needs a copy as well. */
static bool is_late_const(const hn_tensor *t) {
    uint64_t n_bytes;
    if (hn_tensor_is_deferred(t))
        return true;
    return hn_dtype_bytes(t->dtype, t->n_elems, &n_bytes) && n_bytes <= t->data_bytes && t->data &&
           n_bytes >= LEAST_SHARED_BYTES && (uintptr_t)t->data % hn_dtype_alignment(t->dtype) != 0;
}

void hn_program_name_const(const hn_program *p, const hn_tensor *t, const hn_blob_store *store,
                           hn_blob_key *key) {
    uint64_t place[3];
    const hn_scaling *s = hn_tensor_scaling(t);
    if (s) {
        hn_blob_key_mix(key, &s->layout, sizeof s->layout);
        hn_blob_key_mix(key, s->scale, s->n_channels * sizeof *s->scale);
        t = hn_tensor_stored(t);
    }
    if (hn_model_locate(p->model, t->data, t->data_bytes, store != NULL, place))
        hn_blob_key_mix(key, place, sizeof place);
    else
        hn_blob_key_mix(key, t->data, t->data_bytes);
}

hone_status hn_program_copy_const(hn_program *p, const hn_program_options *o, hn_id value,
                                  hone_error *err) {
    const hn_tensor *t = hn_value_at(p->model->graph, value)->init;
    uint64_t bytes;
    hn_blob_key key;
    void *data;
    if (!hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes)
        return hn_fail(err, HONE_E_INVALID, "initializer '%s' has less data than its shape needs",
                       hn_s(t->name));
    hn_blob_key_init(&key, store_of(o), HN_BLOB_COPY, t->data_bytes);
    hn_program_name_const(p, t, store_of(o), &key);
    HN_TRY(own_blob(p, o, &key, copy_const_bytes, &(const_copy){p, t}, &data));
    p->is_deferred[value] = false;
    p->consts[value].array.data = data; /* alone: states that are made meanwhile read the rest */
    return HONE_OK;
}

static hone_status const_tensor(hn_program *p, const hn_model *source, hn_id value,
                                hone_error *err) {
    const hn_tensor *t = hn_value_at(p->model->graph, value)->init;
    hn_object *out = &p->consts[value];
    p->is_deferred[value] = is_late_const(t);
    if (p->is_deferred[value]) {
        hn_object_init_borrowed(out, t->dtype, t->rank, t->dims, (void *)(uintptr_t)t->data);
        return HONE_OK;
    }
    HN_TRY(hn_object_init_tensor(out, p->model->arena, t, err));
    if (out->array.data != t->data)
        hn_model_let_go(source, t);
    return HONE_OK;
}

/* ---- sparse tensors -------------------------------------------------------------------------- */

/* Position of entry k in the dense tensor: indices are linear, or one coordinate per dimension. */
static bool sparse_position(const hn_sparse *s, uint64_t k, uint64_t *at) {
    int64_t i;
    if (s->indices->rank == 1) {
        if (!hn_tensor_get_i64(s->indices, k, &i) || i < 0)
            return false;
        *at = (uint64_t)i;
        return true;
    }
    *at = 0;
    for (int32_t d = 0; d < s->rank; d++) {
        if (!hn_tensor_get_i64(s->indices, k * (uint64_t)s->rank + (uint64_t)d, &i) || i < 0 ||
            i >= s->dims[d])
            return false;
        *at = *at * (uint64_t)s->dims[d] + (uint64_t)i;
    }
    return true;
}

typedef struct dense_job {
    const hn_sparse *s;
    uint64_t n_elems;
    size_t elem_bytes;
    hone_error *err;
} dense_job;

static hone_status fill_dense(void *ctx, void *out) {
    const dense_job *job = ctx;
    const hn_tensor *values = job->s->values;
    size_t elem = job->elem_bytes;
    memset(out, 0, (size_t)job->n_elems * elem);
    for (uint64_t k = 0; k < values->n_elems; k++) {
        uint64_t at;
        if (!sparse_position(job->s, k, &at) || at >= job->n_elems ||
            (k + 1) * elem > values->data_bytes)
            return hn_fail(job->err, HONE_E_INVALID,
                           "sparse initializer '%s' has an index out of range", hn_s(values->name));
        memcpy((uint8_t *)out + at * elem, (const uint8_t *)values->data + k * elem, elem);
    }
    return HONE_OK;
}

static hone_status const_sparse(hn_program *p, const hn_program_options *o, const hn_sparse *s,
                                hn_object *out, hone_error *err) {
    dense_job job = {
        .s = s, .n_elems = 1, .elem_bytes = hn_elem_bytes(s->values->dtype), .err = err};
    uint64_t bytes;
    hn_blob_key key;
    void *dense;
    for (int32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || !hn_mul_u64(job.n_elems, (uint64_t)s->dims[i], &job.n_elems))
            return hn_fail(err, HONE_E_LIMIT, "sparse initializer '%s' is too large",
                           hn_s(s->values->name));
    if (!job.elem_bytes || s->values->dtype == HN_STRING ||
        !hn_mul_u64(job.n_elems, job.elem_bytes, &bytes) || bytes > SIZE_MAX)
        return hn_fail(err, HONE_E_UNSUPPORTED, "sparse initializer '%s' cannot be expanded",
                       hn_s(s->values->name));
    hn_blob_key_init(&key, store_of(o), HN_BLOB_DENSE, bytes);
    hn_blob_key_mix(&key, s->dims, (uint64_t)s->rank * sizeof *s->dims);
    hn_blob_key_mix(&key, s->values->data, s->values->data_bytes);
    hn_blob_key_mix(&key, s->indices->data, s->indices->data_bytes);
    HN_TRY(own_blob(p, o, &key, fill_dense, &job, &dense));
    hn_object_init_borrowed(out, s->values->dtype, s->rank, s->dims, dense);
    return HONE_OK;
}

hone_status hn_program_make_consts(hn_program *p, const hn_model *source,
                                   const hn_program_options *o, hone_error *err) {
    const hn_graph *g = p->model->graph;
    p->consts = HN_NEW_N(p->model->arena, hn_object, (size_t)g->values.n + 1);
    p->is_deferred = HN_NEW_N(p->model->arena, bool, (size_t)g->values.n + 1);
    if (!p->consts || !p->is_deferred)
        return HONE_E_NOMEM;
    forget_source(source);
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        if (!v->uses.n)
            continue;
        if (v->init)
            HN_TRY(const_tensor(p, source, id, err));
        else if (v->sparse_init)
            HN_TRY(const_sparse(p, o, v->sparse_init, &p->consts[id], err));
    }
    return HONE_OK;
}

void hn_program_drop_consts(hn_program *p) {
    for (uint32_t i = 0; i < p->blobs.n; i++)
        hn_blob_drop(p->blobs.at[i]);
}
