/* Inference rules of convolutions and transposed convolutions. */
#include "ops/infer/spatial.h"

/* ---- shared checks --------------------------------------------------------------------------- */

static hone_status read_group(hn_infer *c, int64_t *group) {
    *group = hn_attr_i(c, "group", 1);
    if (*group < 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "group is %lld, but must be at least 1",
                             (long long)*group);
    return HONE_OK;
}

/* Input and weights must have the same rank of at least 3. Returns it, or -1 when neither is
 * known. */
static hone_status conv_rank(hn_infer *c, uint32_t x, uint32_t weight, int32_t *rank) {
    HN_TRY(hn_expect_rank(c, x, 3, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, weight, 3, HN_MAX_RANK));
    int32_t x_rank = hn_in_rank(c, x), w_rank = hn_in_rank(c, weight);
    if (x_rank >= 0 && w_rank >= 0 && x_rank != w_rank)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "the input %s and the filter %s must have the same rank",
                             hn_in_text(c, x), hn_in_text(c, weight));
    *rank = HN_MAX(x_rank, w_rank);
    return HONE_OK;
}

/* The bias has one element per filter, which may determine their number. */
static hone_status merge_bias(hn_infer *c, uint32_t bias, hn_dim *filters) {
    HN_TRY(hn_expect_rank(c, bias, 1, 1));
    return hn_merge_dim(c, "the number of filters, by the weights and by the bias,", *filters,
                        hn_in_dim(c, bias, 0), filters);
}

/* ---- convolution ----------------------------------------------------------------------------- */

static hone_status conv_filters(hn_infer *c, const hn_conv_form *form, int32_t rank,
                                hn_dim *filters) {
    int64_t group, want;
    HN_TRY(read_group(c, &group));
    hn_dim channels = hn_in_dim(c, form->x, hn_channel_axis(rank, form->channels_last));
    hn_dim per_group =
        hn_in_dim(c, form->weight, hn_channel_axis(rank, form->weight_channels_last));
    *filters = hn_in_dim(c, form->weight, 0);
    if (hn_dim_is_known(channels) && hn_dim_is_known(per_group) &&
        (!hn_mul_i64(per_group, group, &want) || want != channels))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "the input %s has %lld channels, but the filter %s takes %lld in each "
                             "of %lld groups",
                             hn_in_text(c, form->x), (long long)channels,
                             hn_in_text(c, form->weight), (long long)per_group, (long long)group);
    if (hn_dim_is_known(*filters) && *filters % group != 0)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "%lld filters cannot be divided into %lld groups of equal size",
                             (long long)*filters, (long long)group);
    return merge_bias(c, form->bias, filters);
}

hone_status hn_conv_shape(hn_infer *c, const hn_conv_form *form) {
    int32_t rank;
    hn_window_attrs win;
    HN_TRY(conv_rank(c, form->x, form->weight, &rank));
    if (rank < 0)
        return HONE_OK;
    HN_TRY(hn_window_attrs_read(c, rank - 2, &win));
    const hn_shape *w = hn_in_shape(c, form->weight);
    if (w)
        HN_TRY(
            hn_window_attrs_merge_kernel(c, &win, w->dims + (form->weight_channels_last ? 1 : 2)));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    dims[0] = hn_in_dim(c, form->x, 0);
    bool to_last = form->channels_last != form->moves_channels;
    HN_TRY(conv_filters(c, form, rank, &dims[hn_channel_axis(rank, to_last)]));
    for (int32_t i = 0; i < win.n_axes; i++) {
        hn_dim in = hn_in_dim(c, form->x, hn_spatial_axis(i, form->channels_last));
        HN_TRY(hn_window_attrs_out(c, &win, i, in, &dims[hn_spatial_axis(i, to_last)]));
    }
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_conv(hn_infer *c) {
    return hn_conv_shape(c, &(hn_conv_form){.x = 0, .weight = 1, .bias = 2});
}

#define NO_BIAS UINT32_MAX /* an input number that no node has */

hone_status hn_infer_conv_integer(hn_infer *c) {
    return hn_conv_shape(c, &(hn_conv_form){.x = 0, .weight = 1, .bias = NO_BIAS});
}

hone_status hn_infer_qlinear_conv(hn_infer *c) {
    bool channels_last = hn_attr_i(c, "channels_last", 0) != 0;
    return hn_conv_shape(
        c, &(hn_conv_form){.x = 0, .weight = 3, .bias = 8, .channels_last = channels_last});
}

hone_status hn_infer_deform_conv(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0);
    if (rank >= 0) {
        HN_TRY(hn_expect_rank(c, 2, rank, rank));
        HN_TRY(hn_expect_rank(c, 4, rank, rank));
    }
    return hn_conv_shape(c, &(hn_conv_form){.x = 0, .weight = 1, .bias = 3});
}

bool hn_conv_macs(const hn_infer *c, uint32_t weight, uint64_t *macs) {
    const hn_shape *y = hn_out_shape_known(c, 0), *w = hn_in_shape(c, weight);
    *macs = 1;
    return y && w && w->rank > 0 && hn_macs_times(macs, y->rank, y->dims) &&
           hn_macs_times(macs, w->rank - 1, w->dims + 1);
}

bool hn_macs_conv(const hn_infer *c, uint64_t *macs) {
    return hn_conv_macs(c, strcmp(hn_infer_op(c), "QLinearConv") == 0 ? 3 : 1, macs);
}

/* ---- transpose ------------------------------------------------------------------------------- */

static hone_status transpose_filters(hn_infer *c, uint32_t bias, int32_t channel_axis,
                                     hn_dim *filters) {
    int64_t group;
    hn_dim channels;
    HN_TRY(read_group(c, &group));
    HN_TRY(hn_merge_dim(c, "the number of channels, by input 0 and by the filter,",
                        hn_in_dim(c, 0, channel_axis), hn_in_dim(c, 1, 0), &channels));
    if (hn_dim_is_known(channels) && channels % group != 0)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "%lld channels cannot be divided into %lld groups of equal size",
                             (long long)channels, (long long)group);
    *filters = hn_dim_mul_i(hn_infer_syms(c), hn_in_dim(c, 1, 1), group);
    return merge_bias(c, bias, filters);
}

static hone_status replace_pads(hn_infer *c, hn_window_attrs *win, const hn_pads *pads) {
    if (pads->n != 2 * (uint32_t)win->n_axes)
        return hn_infer_fail(c, HONE_E_SHAPE, "there are %u pads, but %d spatial axes need %d",
                             pads->n, win->n_axes, 2 * win->n_axes);
    for (int32_t i = 0; i < win->n_axes; i++) {
        win->axes[i].pad_begin = pads->at[i];
        win->axes[i].pad_end = pads->at[win->n_axes + i];
        if (win->axes[i].pad_begin < 0 || win->axes[i].pad_end < 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "pads must not be negative");
    }
    win->auto_pad = HN_PAD_EXPLICIT;
    return HONE_OK;
}

/* dims[0] is the first spatial dimension, axis `first` of input 0. */
static hone_status transpose_spatial(hn_infer *c, const hn_window_attrs *win, bool has_sizes,
                                     int32_t first, hn_dim *dims) {
    const int64_t *output_shape, *output_padding;
    HN_TRY(hn_window_attrs_list(c, "output_shape", (uint32_t)win->n_axes, 0, &output_shape));
    HN_TRY(hn_window_attrs_list(c, "output_padding", (uint32_t)win->n_axes, 0, &output_padding));
    for (int32_t i = 0; i < win->n_axes; i++) {
        int64_t extra = output_padding ? output_padding[i] : 0;
        if (output_shape)
            dims[i] = output_shape[i];
        else if (has_sizes)
            HN_TRY(hn_window_attrs_cover(c, win, i, hn_in_dim(c, 0, i + first), extra, &dims[i]));
    }
    return HONE_OK;
}

hone_status hn_conv_transpose_shape(hn_infer *c, uint32_t bias, const hn_pads *pads,
                                    bool channels_last) {
    int32_t rank;
    hn_window_attrs win;
    HN_TRY(conv_rank(c, 0, 1, &rank));
    if (rank < 0)
        return HONE_OK;
    HN_TRY(hn_window_attrs_read(c, rank - 2, &win));
    if (hn_in_shape(c, 1))
        HN_TRY(hn_window_attrs_merge_kernel(c, &win, hn_in_shape(c, 1)->dims + 2));
    if (pads && pads->at)
        HN_TRY(replace_pads(c, &win, pads));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    dims[0] = hn_in_dim(c, 0, 0);
    int32_t channel_axis = hn_channel_axis(rank, channels_last),
            first = hn_spatial_axis(0, channels_last);
    HN_TRY(transpose_filters(c, bias, channel_axis, &dims[channel_axis]));
    HN_TRY(transpose_spatial(c, &win, !pads || pads->at, first, dims + first));
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_conv_transpose(hn_infer *c) {
    hn_auto_pad auto_pad;
    if (hn_infer_version(c) >= 11 && hn_auto_pad_read(c, &auto_pad) &&
        auto_pad != HN_PAD_EXPLICIT && hn_has_attr(c, "pads"))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "attributes pads and auto_pad cannot be used together; remove one");
    return hn_conv_transpose_shape(c, 2, NULL, false);
}

/* Every input element meets every element of its channel's filters once. */
bool hn_macs_conv_transpose(const hn_infer *c, uint64_t *macs) {
    const hn_shape *x = hn_in_shape(c, 0), *w = hn_in_shape(c, 1);
    *macs = 1;
    return x && w && w->rank > 0 && hn_macs_times(macs, x->rank, x->dims) &&
           hn_macs_times(macs, w->rank - 1, w->dims + 1);
}

/* ---- causal, with state ---------------------------------------------------------------------- */

/* The number of positions carried from call to call: all that a window reaches back to. */
static hone_status carried_length(hn_infer *c, hn_dim *length) {
    int64_t dilation = hn_attr_i(c, "dilation", 1);
    hn_dim taps = hn_in_dim(c, 1, -1);
    if (dilation < 1 || taps == 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "dilation and kernel size must be positive");
    hn_syms *s = hn_infer_syms(c);
    *length = hn_dim_mul_i(s, hn_dim_add_i(s, taps, -1), dilation);
    return HONE_OK;
}

static hone_status check_causal_form(hn_infer *c, int32_t *n_axes, bool *channels_last) {
    int64_t ndim = hn_attr_i(c, "ndim", 1);
    *channels_last = hn_attr_i(c, "channels_last", 0) != 0;
    *n_axes = (int32_t)ndim;
    if (ndim < 1 || ndim > 3 || (*channels_last && ndim != 1))
        return hn_infer_fail(c, HONE_E_SHAPE, "ndim must be 1, 2 or 3, and 1 with channels_last");
    if (hn_attr_is(c, "activation", "none") || hn_attr_is(c, "activation", "silu") ||
        hn_attr_is(c, "activation", "swish"))
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE, "activation must be none, silu or swish");
}

/* Depthwise filters [C, 1, k...] over [N, C, ...]: the output keeps the input's shape, and the
 * state is a piece of the input as long as the filter reaches back along the causal axis. A window
 * of states stands in front of the batch. */
hone_status hn_infer_causal_conv(hn_infer *c) {
    int32_t n_axes;
    bool channels_last;
    hn_dim length = HN_DIM_UNKNOWN, channels = HN_DIM_UNKNOWN, one = 1;
    HN_TRY(check_causal_form(c, &n_axes, &channels_last));
    HN_TRY(hn_expect_rank(c, 0, n_axes + 2, channels_last ? HN_MAX_RANK : n_axes + 2));
    HN_TRY(hn_expect_rank(c, 1, n_axes + 2, n_axes + 2));
    HN_TRY(hn_merge_dim(c, "the number of channels per filter", hn_in_dim(c, 1, 1), one, &one));
    HN_TRY(carried_length(c, &length));
    if (!channels_last)
        HN_TRY(hn_merge_dim(c, "the number of channels", hn_in_dim(c, 0, 1), hn_in_dim(c, 1, 0),
                            &channels));
    HN_TRY(merge_bias(c, 2, &channels));
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    HN_TRY(hn_out_shape(c, 0, x->rank, x->dims));
    int64_t window = hn_attr_i(c, "state_window", 0);
    int32_t front = window > 0 ? 1 : 0;
    HN_TRY(hn_expect_rank(c, 3, x->rank + front, x->rank + front));
    hn_dim *state = hn_infer_dims(c, x->rank + front);
    HN_TRY_PTR(state);
    state[0] = window;
    for (int32_t i = 0; i < x->rank; i++)
        state[front + i] = x->dims[i];
    if (!channels_last)
        state[front + 1] = channels;
    state[front + (channels_last ? 1 : x->rank - 1)] = length;
    for (int32_t i = 0; i < x->rank + front; i++)
        HN_TRY(
            hn_merge_dim(c, "a dimension of the state", hn_in_dim(c, 3, i), state[i], &state[i]));
    return hn_out_shape(c, 1, x->rank + front, state);
}

bool hn_macs_causal_conv(const hn_infer *c, uint64_t *macs) {
    return hn_conv_macs(c, 1, macs);
}
