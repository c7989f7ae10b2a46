/* Blobs of constants, before all runs: found by what the constants are, made where they are not. */
#include "cpu/pack/node_state.h"

void hn_prepared_key(const hn_eval *c, hn_blob_key *key, hn_blob_kind kind, uint64_t n_bytes) {
    hn_blob_key_init(key, c->consts ? c->consts->store : NULL, kind, n_bytes);
}

void hn_prepared_key_arg(const hn_eval *c, hn_blob_key *key, uint32_t arg) {
    const hn_array *a = hn_arg(c, arg);
    if (c->consts)
        c->consts->name(c->consts->ctx, arg, key);
    else
        hn_blob_key_mix(key, a->data, a->n_elems * hn_elem_bytes(a->dtype));
}

typedef struct blob_making {
    const hn_eval *c;
    hn_blob_fill_fn fill;
    void *job;
} blob_making;

static hone_status read_and_fill(void *ctx, void *out) {
    const blob_making *making = ctx;
    const hn_const_host *consts = making->c->consts;
    if (consts)
        HN_TRY(consts->read(consts->ctx));
    return making->fill(making->job, out);
}

hone_status hn_prepared_blob(const hn_eval *c, const hn_blob_key *key, hn_blob_fill_fn fill,
                             void *job, hn_blob **out) {
    blob_making making = {c, fill, job};
    return hn_blob_get(hn_arena_allocator(c->node.scope->job->model->arena),
                       c->consts ? c->consts->store : NULL, key, read_and_fill, &making, out);
}
