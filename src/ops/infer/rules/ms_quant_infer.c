/* Inference rules of quantized operators of com.microsoft except products: elementwise operators,
 * pooling, reductions, block formats. */
#include "ops/infer/follow.h"
#include "ops/infer/spatial.h"

/* ---- elementwise ----------------------------------------------------------------------------- */

/* Broadcasts the given inputs into output 0, whose element type the schema defines. */
static hone_status broadcast_inputs(hn_infer *c, uint32_t n, const uint32_t *inputs) {
    const hn_shape *shapes[3];
    int32_t rank;
    const hn_dim *dims;
    for (uint32_t i = 0; i < n; i++)
        shapes[i] = hn_in_shape(c, inputs[i]);
    HN_TRY(hn_broadcast(c, n, shapes, &rank, &dims));
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_qlinear_binary(hn_infer *c) {
    return broadcast_inputs(c, 2, (const uint32_t[]){0, 3});
}

hone_status hn_infer_qlinear_where(hn_infer *c) {
    return broadcast_inputs(c, 3, (const uint32_t[]){0, 1, 4});
}

hone_status hn_infer_mul_integer(hn_infer *c) {
    return broadcast_inputs(c, 2, (const uint32_t[]){0, 2});
}

hone_status hn_infer_qlinear_unary(hn_infer *c) {
    int32_t axis, rank = hn_in_rank(c, 0);
    if (rank >= 0 && strcmp(hn_infer_op(c), "QLinearSoftmax") == 0)
        HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -1), rank, &axis));
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_qordered_unary(hn_infer *c) {
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_quantize_with_order(hn_infer *c) {
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_dequantize_with_order(hn_infer *c) {
    hn_dtype elem;
    HN_TRY(hn_attr_dtype(c, "to", 0, HN_F32, &elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    return hn_out_shape_of(c, 0, 0);
}

/* ---- pooling and reductions ------------------------------------------------------------------ */

hone_status hn_infer_qlinear_pool(hn_infer *c) {
    return hn_pool_shape(c, 0, hn_attr_i(c, "channels_last", 0) != 0);
}

hone_status hn_infer_qlinear_global_pool(hn_infer *c) {
    return hn_global_pool_shape(c, 0, hn_attr_i(c, "channels_last", 0) != 0);
}

hone_status hn_infer_qlinear_reduce(hn_infer *c) {
    return hn_infer_reduce(c);
}

hone_status hn_infer_reduce_sum_integer(hn_infer *c) {
    hn_dtype from = hn_in_elem(c, 0);
    HN_TRY(hn_out_elem(c, 0, from == HN_I8 ? HN_I32 : from == HN_U8 ? HN_U32 : HN_UNDEFINED));
    return hn_infer_reduce(c);
}

/* ---- QLinearConcat --------------------------------------------------------------------------- */

/* Adds the length of input `i` along the axis, and merges its other dimensions. */
static hone_status append_quantized(hn_infer *c, uint32_t i, int32_t axis, int32_t rank,
                                    hn_dim *dims) {
    const hn_shape *x = hn_in_shape(c, i);
    HN_TRY(hn_expect_rank(c, i, rank, rank));
    for (int32_t k = 0; k < rank; k++) {
        hn_dim size = x ? x->dims[k] : HN_DIM_UNKNOWN;
        if (k == axis)
            dims[k] = hn_dim_add(hn_infer_syms(c), dims[k], size);
        else
            HN_TRY(hn_merge_dim(c, "a dimension besides the axis", dims[k], size, &dims[k]));
    }
    return HONE_OK;
}

/* The inputs are scale and zero point of the result, then triples of data, scale, zero point. */
hone_status hn_infer_qlinear_concat(hn_infer *c) {
    uint32_t n = hn_n_inputs(c);
    int32_t rank = -1, axis;
    if (n < 5 || (n - 2) % 3 != 0)
        return hn_infer_fail(
            c, HONE_E_INVALID,
            "has %u inputs, but needs scale and zero point, then three for each tensor", n);
    for (uint32_t i = 2; i < n && rank < 0; i += 3)
        rank = hn_in_rank(c, i);
    if (rank < 0)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), rank, &axis));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    dims[axis] = 0;
    for (uint32_t i = 2; i < n; i += 3)
        HN_TRY(append_quantized(c, i, axis, rank, dims));
    return hn_out_shape(c, 0, rank, dims);
}

/* ---- block formats --------------------------------------------------------------------------- */

/* The size of the blob depends on the format; shape and strides of the tensor are other outputs. */
hone_status hn_infer_quantize_bfp(hn_infer *c) {
    const hn_dim blob = HN_DIM_UNKNOWN;
    hn_dim rank = hn_in_rank(c, 0);
    HN_TRY(hn_out_shape(c, 0, 1, &blob));
    HN_TRY(hn_out_shape(c, 1, 1, &rank)); /* -1 is HN_DIM_UNKNOWN */
    return hn_out_shape(c, 2, 1, &rank);
}

hone_status hn_infer_dequantize_bfp(hn_infer *c) {
    hn_dtype elem;
    uint32_t rank;
    const hn_sint *sizes;
    HN_TRY(hn_expect_rank(c, 0, 1, 1));
    HN_TRY(hn_attr_dtype(c, "dtype", 0, HN_F32, &elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    if (!hn_in_ints(c, 1, &rank, &sizes, NULL) || rank > HN_MAX_RANK)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, (int32_t)rank);
    HN_TRY_PTR(dims);
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = hn_sint_to_dim(sizes[i]);
    return hn_out_shape(c, 0, (int32_t)rank, dims);
}

/* Bytes of the data may hold several elements each, along its last axis. */
static hone_status numbers_per_byte(hn_infer *c, int64_t *out) {
    int64_t bits = hn_attr_i(c, "bits", 4);
    *out = 1;
    if (hn_in_elem(c, 0) != HN_U8)
        return HONE_OK;
    if (bits != 2 && bits != 4 && bits != 8)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "bits is %lld; it must be 2, 4 or 8 for data of uint8",
                             (long long)bits);
    *out = 8 / bits;
    return HONE_OK;
}

/* There is one scale per block along the quantized axis. */
static hone_status check_block_scales(hn_infer *c, int32_t quantize_axis, int64_t per_byte) {
    const hn_shape *data = hn_in_shape(c, 0), *scales = hn_in_shape(c, 2);
    int64_t block = hn_attr_i(c, "block_size", 128);
    HN_TRY(hn_expect_rank(c, 2, data->rank, data->rank));
    if (block < 1)
        return hn_infer_fail(c, HONE_E_INVALID, "block_size is %lld; it must be positive",
                             (long long)block);
    for (int32_t i = 0; scales && i < data->rank; i++) {
        hn_dim want = data->dims[i];
        if (i == quantize_axis) {
            want = hn_dim_mul_i(hn_infer_syms(c), want, per_byte);
            want = hn_dim_ceil_div(hn_infer_syms(c), want, block);
        }
        if (hn_dim_is_known(want) && hn_dim_is_known(scales->dims[i]) && want != scales->dims[i])
            return hn_infer_fail(
                c, HONE_E_SHAPE,
                "scales are %s, but data %s in blocks of %lld need %lld at dimension %d",
                hn_in_text(c, 2), hn_in_text(c, 0), (long long)block, (long long)want, i);
    }
    return HONE_OK;
}

/* The axes of the indices replace the gathered axis. */
hone_status hn_infer_gather_block_quantized(hn_infer *c) {
    const hn_shape *data = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    int32_t gather_axis, quantize_axis, n = 0;
    int64_t per_byte;
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    HN_TRY(numbers_per_byte(c, &per_byte));
    if (!data)
        return HONE_OK;
    HN_TRY(
        hn_infer_axis(c, "gather_axis", hn_attr_i(c, "gather_axis", 0), data->rank, &gather_axis));
    HN_TRY(hn_infer_axis(c, "quantize_axis", hn_attr_i(c, "quantize_axis", 1), data->rank,
                         &quantize_axis));
    if (hn_in_elem(c, 0) == HN_U8 && gather_axis != 0)
        return hn_infer_fail(c, HONE_E_INVALID, "gather_axis is %d; it must be 0 for data of uint8",
                             gather_axis);
    HN_TRY(check_block_scales(c, quantize_axis, per_byte));
    if (!indices)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, data->rank + indices->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < data->rank; i++) {
        if (i == gather_axis)
            for (int32_t k = 0; k < indices->rank; k++)
                dims[n++] = indices->dims[k];
        else
            dims[n++] = i == data->rank - 1
                            ? hn_dim_mul_i(hn_infer_syms(c), data->dims[i], per_byte)
                            : data->dims[i];
    }
    return hn_out_shape(c, 0, n, dims);
}
