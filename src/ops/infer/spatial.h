/* Windows over spatial axes (kernel shape, stride, dilation, padding): Conv, pooling, their
 * transposes and their relatives in other domains. The attributes are read here for inference,
 * evaluation and passes alike. */
#ifndef HN_SPATIAL_H
#define HN_SPATIAL_H

#include "ops/infer/infer_int.h"

typedef enum hn_auto_pad {
    HN_PAD_EXPLICIT, /* NOTSET: the attribute `pads` */
    HN_PAD_VALID,    /* none */
    /* As much as makes the output ceil(input / stride); an odd element goes to the end, or to the
     * beginning. */
    HN_PAD_SAME_UPPER,
    HN_PAD_SAME_LOWER
} hn_auto_pad;

/* One spatial axis. */
typedef struct hn_window_attrs_axis {
    hn_dim kernel;              /* elements of the window, before dilation */
    int64_t stride, dilation;   /* >= 1 */
    int64_t pad_begin, pad_end; /* >= 0; only for HN_PAD_EXPLICIT */
} hn_window_attrs_axis;

typedef struct hn_window_attrs {
    int32_t n_axes; /* spatial ones */
    hn_auto_pad auto_pad;
    bool ceil_mode;
    hn_window_attrs_axis axes[HN_MAX_RANK];
} hn_window_attrs;

static inline bool hn_pads_same(const hn_window_attrs *w) {
    return w->auto_pad == HN_PAD_SAME_UPPER || w->auto_pad == HN_PAD_SAME_LOWER;
}

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for n_axes spatial axes; a
 * missing kernel_shape leaves the kernels unknown. auto_pad other than NOTSET wins over `pads`.
 * False: a list has another length or auto_pad is unknown; those count as absent. */
bool hn_window_attrs_get(const hn_infer *c, int32_t n_axes, hn_window_attrs *w);
/* The same with all lengths and values checked; fails with a message. */
hone_status hn_window_attrs_read(hn_infer *c, int32_t n_axes, hn_window_attrs *w);
/* The attribute auto_pad alone; false: it is unknown. */
bool hn_auto_pad_read(const hn_infer *c, hn_auto_pad *out);
/* Padding at the beginning of an axis that needs `total` elements of it in all, 0 when that is
 * negative. Modes other than SAME_UPPER put an odd element there. */
int64_t hn_auto_pad_begin(hn_auto_pad mode, int64_t total);
/* A list attribute that has `want` values, none below `least` or above INT32_MAX; *out is NULL when
 * it is absent. */
hone_status hn_window_attrs_list(hn_infer *c, const char *name, uint32_t want, int64_t least,
                                 const int64_t **out);
/* Merges the kernel sizes of a weight tensor: sets unknown ones, fails where kernel_shape
 * differs. */
hone_status hn_window_attrs_merge_kernel(hn_infer *c, hn_window_attrs *w, const hn_dim *sizes);
/* The number of window positions along an axis of `in` elements; SAME gives ceil(in / stride), also
 * for symbols. */
hone_status hn_window_attrs_out(hn_infer *c, const hn_window_attrs *w, int32_t axis, hn_dim in,
                                hn_dim *out);
/* The same for explicit padding where all sizes are numbers; 0 when the window does not fit. */
int64_t hn_window_attrs_positions(const hn_window_attrs *w, int32_t axis, int64_t in);
/* The other way: how many elements `in` windows cover, plus `extra` (output_padding) at the end. */
hone_status hn_window_attrs_cover(hn_infer *c, const hn_window_attrs *w, int32_t axis, hn_dim in,
                                  int64_t extra, hn_dim *out);

/* The axes of channels and spatial dimensions in a tensor of rank n_axes + 2. */
static inline int32_t hn_channel_axis(int32_t rank, bool channels_last) {
    return channels_last ? rank - 1 : 1;
}
static inline int32_t hn_spatial_axis(int32_t i, bool channels_last) {
    return channels_last ? i + 1 : i + 2;
}

/* Complete rules for output 0, whose element type the caller sets. `x`, `weight` and `bias` are
 * input numbers. Weights are [M, C/group, spatial...], or [M, spatial..., C/group] when
 * weight_channels_last. */
typedef struct hn_conv_form {
    uint32_t x, weight, bias;
    bool channels_last, weight_channels_last;
    bool moves_channels; /* the result has the channels at the other end */
} hn_conv_form;
hone_status hn_conv_shape(hn_infer *c, const hn_conv_form *form);
/* The same for the transposed convolution: X 0, weights 1 of [C, M/group, spatial...]. `pads`
 * replaces the attribute when it is an input of the node: all begins, then all ends. NULL: the
 * attribute applies. */
typedef struct hn_pads {
    uint32_t n;
    const int64_t *at; /* NULL: known at run time only, so the sizes stay unknown */
} hn_pads;
hone_status hn_conv_transpose_shape(hn_infer *c, uint32_t bias, const hn_pads *pads,
                                    bool channels_last);
/* Pooling of input x; writes the same shape to every output of the node. */
hone_status hn_pool_shape(hn_infer *c, uint32_t x, bool channels_last);
/* Global pooling: every spatial axis becomes 1. */
hone_status hn_global_pool_shape(hn_infer *c, uint32_t x, bool channels_last);

/* Multiplies *macs by n dimensions; false when one is not a number or the product overflows. */
bool hn_macs_times(uint64_t *macs, int32_t n, const hn_dim *dims);
/* Output elements times the elements of one filter, weight dims 1..rank-1. */
bool hn_conv_macs(const hn_infer *c, uint32_t weight, uint64_t *macs);

#endif /* HN_SPATIAL_H */
