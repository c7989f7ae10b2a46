/* Constant weights of MatMulNBits, packed for the kernels of this processor. They stay as small as
 * they are. */
#include "cpu/pack/node_state.h"

enum { FEW_BITS_DATA = 1, FEW_BITS_SCALES, FEW_BITS_ZEROS, FEW_BITS_GROUPS };
enum { INT8_ACCURACY = 4 }; /* of the attribute accuracy_level: activations may have 8 bits */

static bool is_dims(const hn_array *a, hn_dtype dtype, int64_t n_elems) {
    return a && a->dtype == dtype && (int64_t)a->n_elems == n_elems;
}

/* False: weights that kernels do not have, or that are not there. */
static bool read_nbits_weights(const hn_eval *c, hn_nbits_form *form) {
    const hn_infer *node = &c->node;
    const hn_array *data = hn_arg(c, FEW_BITS_DATA), *zeros = hn_arg(c, FEW_BITS_ZEROS);
    int64_t n_scales, n_numbers, bits = hn_attr_i(node, "bits", 4);
    *form = (hn_nbits_form){.bits = (int)bits,
                            .n = hn_attr_i(node, "N", 0),
                            .k = hn_attr_i(node, "K", 0),
                            .block = hn_attr_i(node, "block_size", 0)};
    if (hn_has_input(node, FEW_BITS_GROUPS) || hn_attr_i(node, "weight_prepacked", 0) ||
        bits != form->bits || !hn_gemm_nbits_can(form) || form->k > INT64_MAX - form->block)
        return false;
    int64_t n_blocks = (form->k + form->block - 1) / form->block;
    if (!hn_mul_i64(form->n, n_blocks, &n_scales) ||
        !hn_mul_i64(n_scales, form->block, &n_numbers) || n_numbers > INT64_MAX / 64 ||
        !is_dims(data, HN_U8, n_numbers * bits / 8) ||
        !is_dims(hn_arg(c, FEW_BITS_SCALES), HN_F32, n_scales))
        return false;
    if (!hn_has_input(node, FEW_BITS_ZEROS))
        return true;
    form->zeros = zeros && zeros->dtype == HN_F32 ? HN_NBITS_FLOAT_ZEROS : HN_NBITS_INT_ZEROS;
    return is_dims(zeros, HN_F32, n_scales) ||
           is_dims(zeros, HN_U8, form->n * ((n_blocks * bits + 7) / 8));
}

static hone_status fill_nbits(void *job, void *out) {
    hn_gemm_nbits_pack(job, out);
    return HONE_OK;
}

hone_status hn_prepare_nbits(hn_eval *c, void **state) {
    hn_nbits_source source = {0};
    hn_nbits_form *form = &source.form;
    *state = NULL;
    if (!read_nbits_weights(c, form))
        return HONE_OK;
    source.data = hn_arg(c, FEW_BITS_DATA)->data;
    source.scales = hn_arg(c, FEW_BITS_SCALES)->data;
    if (form->zeros == HN_NBITS_INT_ZEROS)
        source.zeros = hn_arg(c, FEW_BITS_ZEROS)->data;
    if (form->zeros == HN_NBITS_FLOAT_ZEROS)
        source.float_zeros = hn_arg(c, FEW_BITS_ZEROS)->data;
    hn_weights_form weights = {
        .kind = HN_BLOB_NBITS,
        .n_args = form->zeros == HN_NBITS_NO_ZEROS ? FEW_BITS_SCALES : FEW_BITS_ZEROS,
        .n_elems = (int64_t)(hn_gemm_nbits_packed_bytes(form) / sizeof(float)),
        .sizes = {form->n, form->k, form->block * 8 + form->bits},
        .fill = fill_nbits,
        .job = &source};
    return hn_take_weights(c, &weights, state);
}

bool hn_packed_nbits(const hn_eval *c, hn_gemm_nbits_job *job) {
    *job = (hn_gemm_nbits_job){0};
    if (!c->is_prepared || !c->state || !read_nbits_weights(c, &job->form))
        return false;
    job->packed = hn_blob_data(c->state);
    job->is_int8 = hn_attr_i(&c->node, "accuracy_level", 0) == INT8_ACCURACY;
    return true;
}
