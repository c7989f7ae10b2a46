/* Inference rules of pooling and unpooling. */
#include "ops/infer/spatial.h"

hone_status hn_pool_shape(hn_infer *c, uint32_t x, bool channels_last) {
    HN_TRY(hn_expect_rank(c, x, 3, HN_MAX_RANK));
    const hn_shape *in = hn_in_shape(c, x);
    if (!in)
        return HONE_OK;
    hn_window_attrs win;
    HN_TRY(hn_window_attrs_read(c, in->rank - 2, &win));
    hn_dim *dims = hn_infer_dims(c, in->rank);
    HN_TRY_PTR(dims);
    int32_t channel = hn_channel_axis(in->rank, channels_last);
    dims[0] = in->dims[0];
    dims[channel] = in->dims[channel];
    for (int32_t i = 0; i < win.n_axes; i++) {
        int32_t axis = hn_spatial_axis(i, channels_last);
        HN_TRY(hn_window_attrs_out(c, &win, i, in->dims[axis], &dims[axis]));
    }
    for (uint32_t i = 0; i < hn_n_outputs(c); i++)
        HN_TRY(hn_out_shape(c, i, in->rank, dims));
    return HONE_OK;
}

hone_status hn_infer_pool(hn_infer *c) {
    return hn_pool_shape(c, 0, false);
}

hone_status hn_global_pool_shape(hn_infer *c, uint32_t x, bool channels_last) {
    HN_TRY(hn_expect_rank(c, x, 2, HN_MAX_RANK));
    const hn_shape *in = hn_in_shape(c, x);
    if (!in)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, in->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < in->rank; i++)
        dims[i] = i == 0 || i == hn_channel_axis(in->rank, channels_last) ? in->dims[i] : 1;
    return hn_out_shape(c, 0, in->rank, dims);
}

hone_status hn_infer_global_pool(hn_infer *c) {
    return hn_global_pool_shape(c, 0, false);
}

/* ---- unpooling ------------------------------------------------------------------------------- */

/* Takes the output shape from input 2; sizes that are unknown there stay unknown. */
static hone_status unpool_to_given(hn_infer *c, const hn_shape *x) {
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    const hn_sint *sizes;
    uint32_t n = (uint32_t)x->rank;
    bool has_sizes = hn_in_ints(c, 2, &n, &sizes, NULL);
    if (n != (uint32_t)x->rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "output_shape has %u sizes, but X is %s", n,
                             hn_in_text(c, 0));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; has_sizes && i < x->rank; i++)
        dims[i] = hn_sint_to_dim(sizes[i]);
    return hn_out_shape(c, 0, x->rank, dims);
}

hone_status hn_infer_max_unpool(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    const hn_shape *x = hn_in_shape(c, 0), *indices = hn_in_shape(c, 1);
    if (!x)
        return HONE_OK;
    hn_window_attrs win;
    HN_TRY(hn_window_attrs_read(c, x->rank - 2, &win));
    HN_TRY(hn_expect_rank(c, 1, x->rank, x->rank));
    if (hn_has_input(c, 2))
        return unpool_to_given(c, x);
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++) {
        hn_dim merged;
        HN_TRY(hn_merge_dim(c, "a dimension of X and of its indices I", x->dims[i],
                            indices ? indices->dims[i] : HN_DIM_UNKNOWN, &merged));
        if (i < 2)
            dims[i] = merged;
        else
            HN_TRY(hn_window_attrs_cover(c, &win, i - 2, merged, 0, &dims[i]));
    }
    return hn_out_shape(c, 0, x->rank, dims);
}

/* ---- regions --------------------------------------------------------------------------------- */

hone_status hn_infer_max_roi_pool(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 4, 4));
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    hn_dim five = hn_in_dim(c, 1, 1);
    HN_TRY(hn_merge_dim(c, "the length of a region (batch, x1, y1, x2, y2)", five, 5, &five));
    uint32_t n = 0;
    const int64_t *pooled = NULL;
    hn_attr_ints(c, "pooled_shape", &n, &pooled);
    if (n != 2 || pooled[0] < 1 || pooled[1] < 1)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "pooled_shape must be two positive sizes, height and width");
    return hn_out_shape(c, 0, 4,
                        (hn_dim[]){hn_in_dim(c, 1, 0), hn_in_dim(c, 0, 1), pooled[0], pooled[1]});
}
