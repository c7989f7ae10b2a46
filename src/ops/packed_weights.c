/* Weights laid out ahead of all runs, and shared by all sessions that have the same. */
#include "ops/node_state.h"

#include "kernels/kernel.h"

#define BLOB_RIGHT_SIDE 16   /* a kind of hn_blob_key; the plan's own kinds are smaller */
#define FEWEST_ELEMS 1024    /* smaller ones are laid out as fast as they are found */

static hone_status fill_right_side(void *ctx, void *out) {
    hn_gemm_pack_f32(ctx, out);
    return HONE_OK;
}

hone_status hn_prepare_right_side(hn_eval *c, void **state) {
    const hn_array *b = hn_arg(c, 1);
    *state = NULL;
    if (!b || b->dtype != HN_F32 || b->rank != 2 || b->n_elems < FEWEST_ELEMS)
        return HONE_OK;
    bool is_transposed = hn_attr_i(&c->node, "transB", 0) != 0;
    hn_gemm_job_f32 job = {.n = b->dims[!is_transposed],
                           .k = b->dims[is_transposed],
                           .b = b->data,
                           .b_row = is_transposed ? 1 : b->dims[1],
                           .b_col = is_transposed ? b->dims[1] : 1};
    int64_t n_elems = hn_gemm_packed_elems_f32(job.n, job.k);
    if (n_elems == 0)
        return HONE_OK;
    hn_blob_key key;
    int64_t form[3] = {job.n, job.k, is_transposed};
    hn_blob_key_init(&key, BLOB_RIGHT_SIDE, (uint64_t)n_elems * sizeof(float));
    hn_blob_key_mix(&key, form, sizeof form);
    hn_blob_key_mix(&key, b->data, b->n_elems * sizeof(float));
    hn_blob *blob;
    HN_TRY(hn_blob_get(hn_arena_allocator(c->node.scope->job->model->arena), &key, fill_right_side,
                       &job, &blob));
    *state = blob;
    c->taken_args |= UINT64_C(1) << 1;
    return HONE_OK;
}

void hn_release_weights(const hn_op *op, void *state) {
    (void)op;
    hn_blob_drop(state);
}

const float *hn_packed_right_side(const hn_eval *c) {
    return c->is_prepared && c->state ? hn_blob_data(c->state) : NULL;
}
