/* Weights packed before all runs, and shared by all sessions that have the same. */
#include "cpu/pack/node_state.h"

#define FEWEST_ELEMS 1024 /* packing smaller ones takes no longer than finding them */

hone_status hn_take_weights(hn_eval *c, const hn_weights_form *form, void **state) {
    hn_blob_key key;
    hn_blob *blob;
    uint64_t elem_bytes = form->is_half ? sizeof(uint16_t) : sizeof(float);
    hn_prepared_key(c, &key, form->kind, (uint64_t)form->n_elems * elem_bytes);
    hn_blob_key_mix(&key, form->sizes, sizeof form->sizes);
    for (uint32_t i = 1; i <= form->n_args; i++)
        hn_prepared_key_arg(c, &key, i);
    HN_TRY(hn_prepared_blob(c, &key, form->fill, form->job, &blob));
    *state = blob;
    for (uint32_t i = 1; i <= form->n_args; i++)
        c->packed_args |= UINT64_C(1) << i;
    return HONE_OK;
}

static hone_status fill_right_side(void *job, void *out) {
    const hn_gemm_job_f32 *g = job;
    if (g->packed_as == HN_STORED_F32)
        hn_gemm_pack_f32(g, out);
    else if (g->packed_as == HN_STORED_BF16_PAIRS)
        hn_gemm_pack_bf16(g, out);
    else if (!hn_gemm_pack_half_f32(g, g->packed_as, out))
        return HONE_E_UNSUPPORTED;
    return HONE_OK;
}

/* One matrix, which may be a stack of one. */
static bool is_one_matrix(const hn_array *b) {
    for (int32_t i = 0; i < b->rank - 2; i++)
        if (b->dims[i] != 1)
            return false;
    return b->rank >= 2;
}

static const hn_blob_kind right_side_kinds[] = {[HN_STORED_F32] = HN_BLOB_RIGHT_SIDE,
                                                [HN_STORED_F16] = HN_BLOB_RIGHT_SIDE_F16,
                                                [HN_STORED_BF16] = HN_BLOB_RIGHT_SIDE_BF16,
                                                [HN_STORED_BF16_PAIRS] =
                                                    HN_BLOB_RIGHT_SIDE_BF16_PAIRS};

/* HONE_E_UNSUPPORTED: it has numbers that this type cannot hold. */
static hone_status take_right_side(hn_eval *c, const hn_array *b, hn_stored as, void **state) {
    bool is_transposed = hn_attr_i(&c->node, "transB", 0) != 0;
    bool is_pairs = as == HN_STORED_BF16_PAIRS;
    const int64_t *dims = b->dims + b->rank - 2;
    hn_gemm_job_f32 job = {.n = dims[!is_transposed],
                           .k = dims[is_transposed],
                           .b = b->data,
                           .b_row = is_transposed ? 1 : dims[1],
                           .b_col = is_transposed ? dims[1] : 1,
                           .packed_as = as};
    hn_weights_form form = {.kind = right_side_kinds[as],
                            .n_args = 1,
                            .n_elems = is_pairs ? hn_gemm_packed_elems_bf16(job.n, job.k)
                                                : hn_gemm_packed_elems_f32(job.n, job.k),
                            .is_half = as == HN_STORED_F16 || as == HN_STORED_BF16,
                            .sizes = {job.n, job.k, is_transposed},
                            .fill = fill_right_side,
                            .job = &job};
    return hn_take_weights(c, &form, state);
}

/* Weights that were in half precision stay so without loss. */
static hn_stored stored_as(const hn_eval *c, uint32_t arg) {
    const hn_const_host *host = c->consts;
    hn_dtype origin = host && host->stored == HN_STORED_F32 ? host->origin(host->ctx, arg) : HN_F32;
    return origin == HN_F16    ? HN_STORED_F16
           : origin == HN_BF16 ? HN_STORED_BF16
           : host              ? host->stored
                               : HN_STORED_F32;
}

hone_status hn_prepare_right_side(hn_eval *c, void **state) {
    const hn_array *b = hn_arg(c, 1);
    *state = NULL;
    if (!b || b->dtype != HN_F32 || !is_one_matrix(b) || b->n_elems < FEWEST_ELEMS ||
        hn_attr_i(&c->node, "transBatchB", 0) != 0)
        return HONE_OK;
    if (hn_gemm_packed_elems_f32(1, 1) == 0)
        return HONE_OK;
    hone_status status = take_right_side(c, b, stored_as(c, 1), state);
    return status == HONE_E_UNSUPPORTED ? take_right_side(c, b, HN_STORED_F32, state) : status;
}

hn_packed_side hn_packed_right_side(const hn_eval *c) {
    hn_packed_side side = {NULL, HN_STORED_F32};
    if (!c->is_prepared || !c->state)
        return side;
    side.at = hn_blob_data(c->state);
    while (right_side_kinds[side.as] != hn_blob_key_of(c->state)->kind)
        side.as++;
    return side;
}

static hone_status fill_filters(void *job, void *out) {
    hn_conv_pack_f32(job, out);
    return HONE_OK;
}

hone_status hn_prepare_filters(hn_eval *c, void **state) {
    const hn_array *w = hn_arg(c, 1);
    int64_t groups = hn_attr_i(&c->node, "group", 1);
    *state = NULL;
    if (!w || w->dtype != HN_F32 || w->rank < 3 || w->n_elems < FEWEST_ELEMS || groups < 1 ||
        w->dims[0] % groups != 0)
        return HONE_OK;
    int64_t per_filter = (int64_t)w->n_elems / w->dims[0];
    hn_window window = {.kernel_elems = per_filter / w->dims[1]};
    hn_conv_job_f32 job = {.window = &window,
                           .channels = w->dims[1] * groups,
                           .filters = w->dims[0],
                           .groups = groups,
                           .w = w->data};
    hn_weights_form form = {.kind = HN_BLOB_FILTERS,
                            .n_args = 1,
                            .n_elems = hn_conv_packed_elems_f32(&job),
                            .sizes = {job.filters, groups, per_filter},
                            .fill = fill_filters,
                            .job = &job};
    return form.n_elems ? hn_take_weights(c, &form, state) : HONE_OK;
}

void hn_release_weights(const hn_op *op, void *state) {
    (void)op;
    hn_blob_drop(state);
}

const float *hn_packed_weights(const hn_eval *c) {
    return c->is_prepared && c->state ? hn_blob_data(c->state) : NULL;
}
