/* Inference rules of operators that select elements; the number often depends on the data. */
#include "ops/infer/follow.h"

hone_status hn_infer_top_k(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_sint k = {HN_SINT_UNKNOWN, 0};
    const hn_sint *elems;
    uint32_t n;
    int32_t axis;
    if (hn_has_input(c, 1)) {
        HN_TRY(hn_expect_rank(c, 1, 1, 1));
        if (hn_in_ints(c, 1, &n, &elems, NULL)) {
            if (n != 1)
                return hn_infer_fail(c, HONE_E_SHAPE, "K is %s, but must hold one number",
                                     hn_in_text(c, 1));
            k = elems[0];
        }
    } else {
        k = hn_sint_const(hn_attr_i(c, "k", 0));
    }
    if (k.kind == HN_SINT_CONST && k.v < 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "K is %lld, but cannot be negative", (long long)k.v);
    if (!x)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -1), x->rank, &axis));
    if (k.kind == HN_SINT_CONST && hn_dim_is_known(x->dims[axis]) && k.v > x->dims[axis])
        return hn_infer_fail(c, HONE_E_SHAPE, "K is %lld, but axis %d of %s has fewer elements",
                             (long long)k.v, axis, hn_in_text(c, 0));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i == axis ? hn_sint_to_dim(k) : x->dims[i];
    HN_TRY(hn_out_shape(c, 0, x->rank, dims));
    return hn_out_shape(c, 1, x->rank, dims);
}

hone_status hn_infer_non_zero(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0);
    hn_dim dims[2] = {rank >= 0 ? rank : HN_DIM_UNKNOWN, HN_DIM_UNKNOWN};
    return hn_out_shape(c, 0, 2, dims);
}

/* With an axis, slices along it are compared; without, the elements of the flattened input. */
hone_status hn_infer_unique(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    bool has_axis = hn_has_attr(c, "axis");
    hn_dim found = HN_DIM_UNKNOWN, all = HN_DIM_UNKNOWN;
    int32_t axis = 0;
    if (x && has_axis) {
        HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), x->rank, &axis));
        all = x->dims[axis];
        hn_dim *dims = hn_infer_dims(c, x->rank);
        HN_TRY_PTR(dims);
        for (int32_t i = 0; i < x->rank; i++)
            dims[i] = i == axis ? HN_DIM_UNKNOWN : x->dims[i];
        HN_TRY(hn_out_shape(c, 0, x->rank, dims));
    } else if (x) {
        all = hn_shape_elems(hn_infer_syms(c), x);
    }
    if (!has_axis)
        HN_TRY(hn_out_shape(c, 0, 1, &found));
    HN_TRY(hn_out_shape(c, 1, 1, &found));
    HN_TRY(hn_out_shape(c, 2, 1, &all));
    return hn_out_shape(c, 3, 1, &found);
}

/* com.microsoft: values of a vector, the index of each element among them, and the counts. */
hone_status hn_infer_ms_unique(hn_infer *c) {
    hn_dim found = HN_DIM_UNKNOWN, all = hn_in_dim(c, 0, 0);
    HN_TRY(hn_expect_rank(c, 0, 1, 1));
    HN_TRY(hn_out_shape(c, 0, 1, &found));
    HN_TRY(hn_out_shape(c, 1, 1, &all));
    return hn_out_shape(c, 2, 1, &found);
}

/* Counts the true elements of the condition; false when it is unknown. */
static bool count_true(const hn_infer *c, uint32_t input, hn_dim *count) {
    const int64_t *flags;
    uint32_t n;
    if (!hn_in_i64s(c, input, &n, &flags))
        return false;
    *count = 0;
    for (uint32_t i = 0; i < n; i++)
        *count += flags[i] != 0;
    return true;
}

hone_status hn_infer_compress(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dim count = HN_DIM_UNKNOWN;
    int32_t axis;
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    count_true(c, 1, &count);
    if (!hn_has_attr(c, "axis"))
        return hn_out_shape(c, 0, 1, &count);
    if (!x)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), x->rank, &axis));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i == axis ? count : x->dims[i];
    return hn_out_shape(c, 0, x->rank, dims);
}

/* The number of classes may have any numeric type, so a constant float is accepted, too. */
static hone_status read_depth(hn_infer *c, hn_dim *depth) {
    const hn_tensor *t = hn_in_const(c, 1);
    const hn_sint *elems;
    uint32_t n;
    double v;
    *depth = HN_DIM_UNKNOWN;
    HN_TRY(hn_expect_rank(c, 1, 0, 1));
    hn_dim length = hn_in_rank(c, 1) == 1 ? hn_in_dim(c, 1, 0) : 1;
    if (hn_dim_is_known(length) && length != 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "depth is %s, but must hold one number",
                             hn_in_text(c, 1));
    if (hn_in_ints(c, 1, &n, &elems, NULL) && n == 1)
        *depth = hn_sint_to_dim(elems[0]);
    else if (t && t->n_elems == 1 && hn_tensor_get_f64(t, 0, &v) && v >= 0 &&
             v < (double)(1LL << 53))
        *depth = (hn_dim)v;
    return HONE_OK;
}

hone_status hn_infer_one_hot(hn_infer *c) {
    const hn_shape *indices = hn_in_shape(c, 0);
    hn_dim depth, n_values = hn_in_dim(c, 2, 0);
    int32_t axis, from = 0;
    HN_TRY(read_depth(c, &depth));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    if (hn_dim_is_known(n_values) && n_values != 2)
        return hn_infer_fail(c, HONE_E_SHAPE, "values is %s, but must hold two: off and on",
                             hn_in_text(c, 2));
    if (!indices)
        return HONE_OK;
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK - 1));
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -1), indices->rank + 1, &axis));
    hn_dim *dims = hn_infer_dims(c, indices->rank + 1);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i <= indices->rank; i++)
        dims[i] = i == axis ? depth : indices->dims[from++];
    return hn_out_shape(c, 0, indices->rank + 1, dims);
}
