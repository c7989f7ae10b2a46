/* Inference rules of operators that onnxruntime makes for other memory layouts: blocked channels
 * (com.microsoft.nchwc) and channels-last. A blocked tensor has the shape [N, C, spatial...] in the
 * graph, with C rounded up to whole blocks. */
#include "ops/infer/spatial.h"

/* ---- blocked channels ------------------------------------------------------------------------ */

/* Channels are padded to blocks, so those of data and weights may differ. */
hone_status hn_infer_nchwc_conv(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0), *w = hn_in_shape(c, 1);
    hn_window_attrs window;
    HN_TRY(hn_expect_rank(c, 0, 3, HN_MAX_RANK));
    if (!x)
        return HONE_OK;
    HN_TRY(hn_expect_rank(c, 1, x->rank, x->rank));
    HN_TRY(hn_window_attrs_read(c, x->rank - 2, &window));
    if (w)
        HN_TRY(hn_window_attrs_merge_kernel(c, &window, w->dims + 2));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    dims[0] = x->dims[0];
    dims[1] = w ? w->dims[0] : HN_DIM_UNKNOWN;
    for (int32_t i = 0; i < window.n_axes; i++)
        HN_TRY(hn_window_attrs_out(c, &window, i, x->dims[i + 2], &dims[i + 2]));
    return hn_out_shape(c, 0, x->rank, dims);
}

hone_status hn_infer_nchwc_pool(hn_infer *c) {
    return hn_pool_shape(c, 0, false);
}

hone_status hn_infer_nchwc_global_pool(hn_infer *c) {
    return hn_global_pool_shape(c, 0, false);
}

hone_status hn_infer_nchwc_upsample(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    uint32_t n;
    const int64_t *scales;
    if (!x || !hn_attr_ints(c, "scales", &n, &scales))
        return HONE_OK;
    if (n != (uint32_t)x->rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "scales has %u entries, but input 0 is %s", n,
                             hn_in_text(c, 0));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++) {
        if (scales[i] < 1)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "scales has the entry %lld; it must be 1 or more",
                                 (long long)scales[i]);
        dims[i] = hn_dim_mul_i(hn_infer_syms(c), x->dims[i], scales[i]);
    }
    return hn_out_shape(c, 0, x->rank, dims);
}

/* Converts a plain tensor to blocks and back. */
static hone_status reordered(hn_infer *c, bool from_last, bool to_last, hn_dim channels) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    dims[0] = x->dims[0];
    dims[hn_channel_axis(x->rank, to_last)] = channels;
    for (int32_t i = 0; i < x->rank - 2; i++)
        dims[hn_spatial_axis(i, to_last)] = x->dims[hn_spatial_axis(i, from_last)];
    return hn_out_shape(c, 0, x->rank, dims);
}

/* Blocks have 8 or 16 channels, depending on the machine that runs the model: only a multiple of 16
 * is the same everywhere. */
hone_status hn_infer_nchwc_reorder_input(hn_infer *c) {
    bool is_last = hn_attr_i(c, "channels_last", 0) != 0;
    int32_t rank = hn_in_rank(c, 0);
    hn_dim channels = rank < 2 ? HN_DIM_UNKNOWN : hn_in_dim(c, 0, hn_channel_axis(rank, is_last));
    bool is_whole = hn_dim_is_known(channels) && channels % 16 == 0;
    return reordered(c, is_last, false, is_whole ? channels : HN_DIM_UNKNOWN);
}

hone_status hn_infer_nchwc_reorder_output(hn_infer *c) {
    int64_t channels = hn_attr_i(c, "channels", 0);
    if (channels < 1)
        return hn_infer_fail(c, HONE_E_INVALID, "channels is %lld; it must be 1 or more",
                             (long long)channels);
    return reordered(c, false, hn_attr_i(c, "channels_last", 0) != 0, channels);
}

/* ---- channels-last --------------------------------------------------------------------------- */

/* The weights keep the standard layout. */
hone_status hn_infer_nhwc_conv(hn_infer *c) {
    return hn_conv_shape(c, &(hn_conv_form){.x = 0, .weight = 1, .bias = 2, .channels_last = true});
}

bool hn_macs_nhwc_conv(const hn_infer *c, uint64_t *macs) {
    return hn_conv_macs(c, 1, macs);
}

hone_status hn_infer_nhwc_pool(hn_infer *c) {
    return hn_pool_shape(c, 0, true);
}
