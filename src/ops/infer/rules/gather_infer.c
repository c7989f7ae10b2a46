/* Inference rules of operators that select or replace elements by index. */
#include "ops/infer/follow.h"

/* ---- Gather ---------------------------------------------------------------------------------- */

/* Selects elements of a vector in a shape computation. An index out of range gives an unknown
 * element, because the node may never run. */
static hone_status follow_gather(hn_infer *c) {
    const hn_sint *elems, *indices;
    uint32_t n_elems, n;
    bool is_scalar;
    if (!hn_in_ints(c, 0, &n_elems, &elems, NULL) || !hn_in_ints(c, 1, &n, &indices, &is_scalar))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
    HN_TRY_PTR(out);
    for (uint32_t i = 0; i < n; i++) {
        int64_t at = indices[i].v < 0 ? indices[i].v + (int64_t)n_elems : indices[i].v;
        if (indices[i].kind == HN_SINT_CONST && at >= 0 && at < (int64_t)n_elems)
            out[i] = elems[at];
    }
    return hn_out_followed(c, 0, hn_in_elem(c, 0), n, out, is_scalar);
}

hone_status hn_infer_gather(hn_infer *c) {
    const hn_shape *data = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    int32_t axis, n = 0;
    if (!data)
        return HONE_OK;
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), data->rank, &axis));
    if (!indices)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, data->rank - 1 + indices->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < axis; i++)
        dims[n++] = data->dims[i];
    for (int32_t i = 0; i < indices->rank; i++)
        dims[n++] = indices->dims[i];
    for (int32_t i = axis + 1; i < data->rank; i++)
        dims[n++] = data->dims[i];
    HN_TRY(hn_out_shape(c, 0, n, dims));
    return data->rank == 1 ? follow_gather(c) : HONE_OK;
}

/* ---- elements and slices by index ------------------------------------------------------------ */

/* Fails unless inputs a and b, when known, have one rank. */
static hone_status expect_same_rank(hn_infer *c, uint32_t a, uint32_t b) {
    int32_t rank_a = hn_in_rank(c, a), rank_b = hn_in_rank(c, b);
    if (rank_a < 0 || rank_b < 0 || rank_a == rank_b)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "input %u is %s and input %u is %s, but both must have one rank", a,
                         hn_in_text(c, a), b, hn_in_text(c, b));
}

static hone_status expect_axis(hn_infer *c, int64_t def) {
    int32_t rank = hn_in_rank(c, 0), axis;
    return rank < 0 ? HONE_OK : hn_infer_axis(c, "axis", hn_attr_i(c, "axis", def), rank, &axis);
}

hone_status hn_infer_gather_elements(hn_infer *c) {
    HN_TRY(expect_same_rank(c, 0, 1));
    HN_TRY(expect_axis(c, 0));
    return hn_out_shape_of(c, 0, 1);
}

/* The last axis of `indices` holds positions in the leading axes of `data` after the batch axes;
 * reads how many. False: unknown. */
static hone_status read_index_length(hn_infer *c, int32_t batch_dims, int32_t *length,
                                     bool *is_known) {
    const hn_shape *data = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, 1, 1, HN_MAX_RANK));
    hn_dim last = hn_in_dim(c, 1, -1);
    *is_known = data && indices && hn_dim_is_known(last);
    if (!*is_known)
        return HONE_OK;
    if (last > (hn_dim)data->rank - batch_dims)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the last axis of indices %s has size %lld, but data %s has %d axes to index",
            hn_in_text(c, 1), (long long)last, hn_in_text(c, 0), data->rank - batch_dims);
    *length = (int32_t)last;
    return HONE_OK;
}

/* The shape of the slices of `data` that `indices` selects, one per index tuple. */
static hone_status indexed_slices(hn_infer *c, int32_t batch_dims, int32_t length, int32_t *rank,
                                  hn_dim **out) {
    const hn_shape *data = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    int32_t skipped = batch_dims + length;
    *rank = 0;
    *out = hn_infer_dims(c, indices->rank + data->rank);
    HN_TRY_PTR(*out);
    for (int32_t i = 0; i < indices->rank - 1; i++) {
        (*out)[i] = indices->dims[i];
        if (i < batch_dims)
            HN_TRY(hn_merge_dim(c, "a batch dimension of data and indices", data->dims[i],
                                indices->dims[i], &(*out)[i]));
    }
    *rank = indices->rank - 1;
    for (int32_t i = skipped; i < data->rank; i++)
        (*out)[(*rank)++] = data->dims[i];
    return HONE_OK;
}

hone_status hn_infer_gather_nd(hn_infer *c) {
    int64_t batch_dims = hn_attr_i(c, "batch_dims", 0);
    const hn_shape *data = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    int32_t length, rank;
    hn_dim *dims;
    bool is_known;
    bool is_valid = batch_dims >= 0 && (!data || batch_dims < HN_MAX(data->rank, 1)) &&
                    (!indices || batch_dims < HN_MAX(indices->rank, 1)) && batch_dims < HN_MAX_RANK;
    if (!is_valid)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "batch_dims is %lld, but must be at least 0 and below the ranks of data %s and "
            "indices %s",
            (long long)batch_dims, hn_in_text(c, 0), hn_in_text(c, 1));
    HN_TRY(read_index_length(c, (int32_t)batch_dims, &length, &is_known));
    if (!is_known)
        return HONE_OK;
    HN_TRY(indexed_slices(c, (int32_t)batch_dims, length, &rank, &dims));
    return hn_out_shape(c, 0, rank, dims);
}

/* ---- scatters: the output is the first input with some elements replaced --------------------- */

/* Version 18 is the first that names max and min, but exporters write them for 16, and the checker
 * of onnx and onnxruntime take them. */
static hone_status check_reduction(hn_infer *c) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    if (!hn_has_attr(c, "reduction"))
        return HONE_OK;
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(c, "reduction", names[i]))
            return HONE_OK;
    return hn_infer_fail(c, HONE_E_INVALID, "reduction must be none, add, mul, max or min");
}

/* Fails unless `updates` (input 2) has this shape. */
static hone_status expect_updates(hn_infer *c, int32_t rank, const hn_dim *dims) {
    const hn_shape *updates = hn_in_shape(c, 2);
    bool fits = !updates || updates->rank == rank;
    for (int32_t i = 0; updates && fits && i < rank; i++)
        fits = !hn_dim_is_known(updates->dims[i]) || !hn_dim_is_known(dims[i]) ||
               updates->dims[i] == dims[i];
    return fits ? HONE_OK
                : hn_infer_fail(c, HONE_E_SHAPE,
                                "updates is %s, but data %s with indices %s needs the shape %s",
                                hn_in_text(c, 2), hn_in_text(c, 0), hn_in_text(c, 1),
                                hn_shape_str(c, rank, dims));
}

static hone_status check_scatter_nd(hn_infer *c) {
    int32_t length, rank;
    hn_dim *dims;
    bool is_known;
    HN_TRY(read_index_length(c, 0, &length, &is_known));
    if (!is_known)
        return HONE_OK;
    HN_TRY(indexed_slices(c, 0, length, &rank, &dims));
    return expect_updates(c, rank, dims);
}

static hone_status check_scatter_elements(hn_infer *c) {
    const hn_shape *indices = hn_in_shape(c, 1);
    HN_TRY(expect_same_rank(c, 0, 1));
    HN_TRY(expect_same_rank(c, 0, 2));
    HN_TRY(expect_axis(c, 0));
    return indices ? expect_updates(c, indices->rank, indices->dims) : HONE_OK;
}

/* A cache [batch, ..., length, ...] with an update of the same shape except for its length. */
static hone_status check_tensor_scatter(hn_infer *c) {
    const hn_shape *cache = hn_in_shape(c, 0), *update = hn_in_shape(c, 1);
    int32_t axis;
    hn_dim same;
    if (!hn_attr_is(c, "mode", "linear") && !hn_attr_is(c, "mode", "circular"))
        return hn_infer_fail(c, HONE_E_INVALID, "mode must be linear or circular");
    HN_TRY(expect_same_rank(c, 0, 1));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    if (!cache)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -2), cache->rank, &axis));
    if (axis == 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "axis must not be the batch axis 0");
    for (int32_t i = 0; update && i < cache->rank; i++)
        if (i != axis)
            HN_TRY(hn_merge_dim(c, "a dimension of past_cache and update", cache->dims[i],
                                update->dims[i], &same));
    if (hn_has_input(c, 2))
        HN_TRY(hn_merge_dim(c, "the batch size", cache->dims[0], hn_in_dim(c, 2, 0), &same));
    return HONE_OK;
}

hone_status hn_infer_scatter(hn_infer *c) {
    const char *op = hn_infer_op(c);
    HN_TRY(check_reduction(c));
    if (strcmp(op, "TensorScatter") == 0)
        HN_TRY(check_tensor_scatter(c));
    else if (strcmp(op, "ScatterND") == 0)
        HN_TRY(check_scatter_nd(c));
    else
        HN_TRY(check_scatter_elements(c));
    return hn_out_shape_of(c, 0, 0);
}
