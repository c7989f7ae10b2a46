/* Windows over spatial axes, with all their sizes. */
#include "ops/eval/onnx/window_eval.h"

/* Padding along an axis in all, so that the last window ends where the padded input does. */
static int64_t needed_padding(const hn_window *s, int32_t axis) {
    return (s->out[axis] - 1) * s->stride[axis] + (s->kernel[axis] - 1) * s->dilation[axis] + 1 -
           s->in[axis];
}

void hn_window_set(const hn_window_attrs *attrs, const int64_t *in, const int64_t *out,
                   const int64_t *kernel, hn_window *s) {
    s->n_axes = attrs->n_axes;
    s->in_elems = s->out_elems = s->kernel_elems = 1;
    for (int32_t i = 0; i < attrs->n_axes; i++) {
        const hn_window_attrs_axis *axis = &attrs->axes[i];
        s->in[i] = in[i];
        s->out[i] = out[i];
        s->kernel[i] = kernel ? kernel[i] : axis->kernel;
        s->stride[i] = axis->stride;
        s->dilation[i] = axis->dilation;
        s->pad[i] = axis->pad_begin;
        if (hn_pads_same(attrs))
            s->pad[i] = hn_auto_pad_begin(attrs->auto_pad, needed_padding(s, i));
        s->in_elems *= s->in[i];
        s->out_elems *= s->out[i];
        s->kernel_elems *= s->kernel[i];
    }
}

void hn_window_read(const hn_infer *node, int32_t n_axes, const int64_t *in, const int64_t *out,
                    const int64_t *kernel, hn_window *s) {
    hn_window_attrs attrs;
    hn_window_attrs_get(node, n_axes, &attrs);
    hn_window_set(&attrs, in, out, kernel, s);
}

void hn_window_pad_end(const hn_infer *node, const hn_window *s, int64_t *pad_end) {
    hn_window_attrs attrs;
    hn_window_attrs_get(node, s->n_axes, &attrs);
    for (int32_t i = 0; i < s->n_axes; i++)
        pad_end[i] = hn_pads_same(&attrs) ? HN_MAX(needed_padding(s, i) - s->pad[i], 0)
                                          : attrs.axes[i].pad_end;
}

/* A wanted output_shape and SAME remove at both ends what is too much. */
void hn_window_read_transposed(const hn_infer *node, int32_t n_axes, const int64_t *image,
                               const int64_t *positions, const int64_t *kernel, hn_window *s) {
    uint32_t n_extra, n_shape;
    const int64_t *extra = NULL, *output_shape = NULL;
    bool has_extra = hn_attr_ints(node, "output_padding", &n_extra, &extra) && n_extra > 0;
    bool has_shape = hn_attr_ints(node, "output_shape", &n_shape, &output_shape) && n_shape > 0;
    hn_window_attrs attrs;
    hn_window_attrs_get(node, n_axes, &attrs);
    hn_window_set(&attrs, image, positions, kernel, s);
    for (int32_t i = 0; i < n_axes && (has_shape || hn_pads_same(&attrs)); i++)
        s->pad[i] =
            hn_auto_pad_begin(attrs.auto_pad, needed_padding(s, i) + (has_extra ? extra[i] : 0));
}
