/* Constant 8-bit integers, made ready before all runs. Right sides of products are packed; zero
 * points are not in them: they stay arguments. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "cpu/pack/node_state.h"

#define FEWEST_BYTES 1024 /* packing smaller ones takes no longer than finding them */

static hone_status fill_int8_side(void *job, void *out) {
    hn_gemm_int8_pack(NULL, job, out);
    return HONE_OK;
}

/* One matrix, which may be a stack of one, of bytes. */
static bool is_int8_matrix(const hn_array *b) {
    if (!b || !hn_dtype_is_byte(b->dtype) || b->n_elems < FEWEST_BYTES || b->rank < 2)
        return false;
    return hn_count(b->rank - 2, b->dims) == 1;
}

static hone_status prepare_int8_side(hn_eval *c, uint32_t arg, void **state) {
    const hn_array *b = hn_arg(c, arg);
    hn_blob_key key;
    hn_blob *blob;
    *state = NULL;
    if (!is_int8_matrix(b))
        return HONE_OK;
    bool is_transposed = hn_attr_i(&c->node, "transB", 0) != 0;
    const int64_t *dims = b->dims + b->rank - 2;
    hn_gemm_int8_job job = {.n = dims[!is_transposed],
                            .k = dims[is_transposed],
                            .b = b->data,
                            .b_is_signed = b->dtype == HN_I8,
                            .b_row = is_transposed ? 1 : dims[1],
                            .b_col = is_transposed ? dims[1] : 1};
    const int64_t form[] = {job.n, job.k, is_transposed, job.b_is_signed};
    hn_prepared_key(c, &key, HN_BLOB_RIGHT_SIDE_INT8, hn_gemm_int8_packed_bytes(job.n, job.k));
    hn_blob_key_mix(&key, form, sizeof form);
    hn_prepared_key_arg(c, &key, arg);
    HN_TRY(hn_prepared_blob(c, &key, fill_int8_side, &job, &blob));
    *state = blob;
    c->packed_args |= UINT64_C(1) << arg;
    return HONE_OK;
}

hone_status hn_prepare_int8_arg1(hn_eval *c, void **state) {
    return prepare_int8_side(c, 1, state);
}

hone_status hn_prepare_int8_arg3(hn_eval *c, void **state) {
    return prepare_int8_side(c, 3, state);
}

const void *hn_packed_int8(const hn_eval *c) {
    return c->is_prepared && c->state ? hn_blob_data(c->state) : NULL;
}
