/* What an evaluation sees of its node. */
#include "ops/eval_engine.h"

const hn_infer *hn_eval_node(const hn_eval *c) {
    return &c->node;
}
uint32_t hn_n_args(const hn_eval *c) {
    return c->n_args;
}
uint32_t hn_n_rets(const hn_eval *c) {
    return c->n_rets;
}

const hn_object *hn_arg_object(const hn_eval *c, uint32_t i) {
    return i < c->n_args ? c->args[i] : NULL;
}

const hn_array *hn_arg(const hn_eval *c, uint32_t i) {
    const hn_object *o = hn_arg_object(c, i);
    return o && o->kind == HN_OBJECT_TENSOR ? &o->array : NULL;
}

bool hn_wants_ret(const hn_eval *c, uint32_t i) {
    return i < c->n_rets && c->wanted[i];
}

hn_array *hn_ret(const hn_eval *c, uint32_t i) {
    hn_object *o = i < c->n_rets ? c->rets[i] : NULL;
    return o && o->kind == HN_OBJECT_TENSOR ? &o->array : NULL;
}

static bool has_shape(const hn_array *a, hn_dtype dtype, int32_t rank, const int64_t *dims) {
    return a->dtype == dtype && a->rank == rank &&
           (rank == 0 || memcmp(a->dims, dims, (size_t)rank * sizeof *dims) == 0);
}

hone_status hn_ret_alloc(hn_eval *c, uint32_t i, hn_dtype dtype, int32_t rank, const int64_t *dims,
                         hn_array **out) {
    *out = hn_ret(c, i);
    if (!hn_wants_ret(c, i) || (*out && has_shape(*out, dtype, rank, dims)))
        return HONE_OK;
    hn_object *o = hn_object_tensor(c, dtype, rank, dims);
    HN_TRY_PTR(o);
    hn_object_unref(c, c->rets[i]);
    c->rets[i] = o;
    *out = &o->array;
    return HONE_OK;
}

hone_status hn_ret_object(hn_eval *c, uint32_t i, hn_object *o) {
    HN_TRY_PTR(o);
    if (!hn_wants_ret(c, i)) {
        hn_object_unref(c, o);
        return HONE_OK;
    }
    hn_object_unref(c, c->rets[i]);
    c->rets[i] = o;
    return HONE_OK;
}

/* Records outlive the plan's making: what needs tables that large is left to the evaluation, which
 * knows the limits of a run. */
static bool is_too_large_for_record(hn_eval *c, uint64_t bytes) {
    c->is_record_too_large |= c->records && bytes > HN_MOST_RECORD_BYTES;
    return c->is_record_too_large;
}

void *hn_eval_scratch(hn_eval *c, uint64_t bytes) {
    if (bytes > SIZE_MAX - 64 || is_too_large_for_record(c, bytes))
        return NULL;
    uint8_t *p = hn_arena_alloc(c->records ? c->records : c->host->scratch, (size_t)bytes + 64);
    return p ? p + (64 - (uintptr_t)p % 64) % 64 : NULL;
}

hn_pool *hn_eval_pool(const hn_eval *c) {
    return c->host->pool;
}
hn_rng *hn_eval_rng(hn_eval *c) {
    return &c->host->rng;
}
hn_image_hook hn_eval_image_hook(const hn_eval *c) {
    return c->host->image_hook;
}

bool hn_eval_stopped(const hn_eval *c) {
    return c->host->is_stopped && c->host->is_stopped(c->host->run);
}

hone_status hn_eval_fail(hn_eval *c, hone_status code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hn_failv(c->err, code, fmt, args);
    va_end(args);
    return code;
}

bool hn_eval_has_body(const hn_eval *c, hn_body_role role) {
    return c->bodies && c->bodies[role] != HN_NONE;
}

hone_status hn_eval_body(hn_eval *c, hn_body_role role, uint32_t n_in, hn_object *const *in,
                         uint32_t n_out, hn_object **out) {
    if (!hn_eval_has_body(c, role))
        return hn_eval_fail(c, HONE_E_INVALID, "has no body to run");
    HN_TRY(c->host->run_body(c->host->run, c->bodies[role], n_in, in, n_out, out, c->err));
    bool has_all = true;
    for (uint32_t i = 0; i < n_out; i++)
        has_all &= out[i] != NULL;
    if (has_all)
        return HONE_OK;
    for (uint32_t i = 0; i < n_out; i++) {
        hn_object_unref(c, out[i]);
        out[i] = NULL;
    }
    return hn_eval_fail(c, HONE_E_INVALID, "the body has fewer than %u outputs", n_out);
}

hone_status hn_eval_body_types(hn_eval *c, hn_body_role role, uint32_t n_in,
                               const hn_type *const *in, uint32_t n_out, const hn_type **out) {
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = NULL;
    if (!hn_eval_has_body(c, role) || !c->host->type_body)
        return HONE_OK;
    return c->host->type_body(c->host->run, c->bodies[role], n_in, in, n_out, out);
}
