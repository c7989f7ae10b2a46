/* Initializers where evaluations can reach them: aligned, complete, dense. */
#include "plan/plan.h"

/* What had to be copied leaves the memory of its map, or a model would be resident twice. */
static hone_status const_tensor(hn_arena *a, const hn_model *source, const hn_tensor *t,
                                hn_object *out, hone_error *err) {
    HN_TRY(hn_object_init_tensor(out, a, t, err));
    for (uint32_t i = 0; i < source->maps.n && t->data && out->array.data != t->data; i++)
        hn_filemap_forget(&source->maps.at[i], t->data, t->data_bytes);
    return HONE_OK;
}

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

static hone_status const_sparse(hn_arena *a, const hn_sparse *s, hn_object *out, hone_error *err) {
    uint64_t n = 1, bytes;
    size_t elem = hn_elem_bytes(s->values->dtype);
    for (int32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || !hn_mul_u64(n, (uint64_t)s->dims[i], &n))
            return hn_fail(err, HONE_E_LIMIT, "sparse initializer '%s' is too large",
                           hn_s(s->values->name));
    if (!elem || s->values->dtype == HN_STRING || !hn_mul_u64(n, elem, &bytes) || bytes > SIZE_MAX)
        return hn_fail(err, HONE_E_UNSUPPORTED, "sparse initializer '%s' cannot be expanded",
                       hn_s(s->values->name));
    uint8_t *dense = hn_arena_calloc(a, (size_t)bytes + 1, 1);
    HN_TRY_PTR(dense);
    for (uint64_t k = 0; k < s->values->n_elems; k++) {
        uint64_t at;
        if (!sparse_position(s, k, &at) || at >= n || (k + 1) * elem > s->values->data_bytes)
            return hn_fail(err, HONE_E_INVALID, "sparse initializer '%s' has an index out of range",
                           hn_s(s->values->name));
        memcpy(dense + at * elem, (const uint8_t *)s->values->data + k * elem, elem);
    }
    hn_object_init_borrowed(out, s->values->dtype, s->rank, s->dims, dense);
    return HONE_OK;
}

hone_status hn_program_make_consts(hn_program *p, const hn_model *source, hone_error *err) {
    const hn_graph *g = p->model->graph;
    p->consts = HN_NEW_N(p->model->arena, hn_object, (size_t)g->values.n + 1);
    HN_TRY_PTR(p->consts);
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_value *v = hn_value_at(g, id);
        if (v->init)
            HN_TRY(const_tensor(p->model->arena, source, v->init, &p->consts[id], err));
        else if (v->sparse_init)
            HN_TRY(const_sparse(p->model->arena, v->sparse_init, &p->consts[id], err));
    }
    return HONE_OK;
}
