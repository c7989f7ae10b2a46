/* Windows over spatial axes, with all their sizes. */
#include "ops/eval/onnx/window_eval.h"

bool hn_window_is_same(const hn_infer *node) {
    return hn_attr_is(node, "auto_pad", "SAME_UPPER") || hn_attr_is(node, "auto_pad", "SAME_LOWER");
}

int64_t hn_window_same_pad(const hn_infer *node, int64_t total) {
    total = HN_MAX(total, 0);
    return hn_attr_is(node, "auto_pad", "SAME_LOWER") ? total - total / 2 : total / 2;
}

static const int64_t *window_list(const hn_infer *node, const char *name) {
    uint32_t n;
    const int64_t *list;
    return hn_attr_ints(node, name, &n, &list) && n > 0 ? list : NULL;
}

void hn_window_read(const hn_infer *node, int32_t n_axes, const int64_t *in, const int64_t *out,
                    const int64_t *kernel, hn_window *s) {
    const int64_t *strides = window_list(node, "strides"),
                  *dilations = window_list(node, "dilations");
    const int64_t *pads = window_list(node, "pads");
    bool same = hn_window_is_same(node), valid = hn_attr_is(node, "auto_pad", "VALID");
    if (!kernel)
        kernel = window_list(node, "kernel_shape");
    s->n_axes = n_axes;
    s->in_elems = s->out_elems = s->kernel_elems = 1;
    for (int32_t i = 0; i < n_axes; i++) {
        s->in[i] = in[i];
        s->out[i] = out[i];
        s->kernel[i] = kernel[i];
        s->stride[i] = strides ? strides[i] : 1;
        s->dilation[i] = dilations ? dilations[i] : 1;
        s->pad[i] = pads && !valid ? pads[i] : 0;
        if (same)
            s->pad[i] = hn_window_same_pad(node, (out[i] - 1) * s->stride[i] +
                                                     (kernel[i] - 1) * s->dilation[i] + 1 - in[i]);
        s->in_elems *= in[i];
        s->out_elems *= out[i];
        s->kernel_elems *= kernel[i];
    }
}

void hn_window_pad_end(const hn_infer *node, const hn_window *s, int64_t *pad_end) {
    const int64_t *pads = window_list(node, "pads");
    bool same = hn_window_is_same(node), valid = hn_attr_is(node, "auto_pad", "VALID");
    for (int32_t i = 0; i < s->n_axes; i++) {
        int64_t rest = (s->out[i] - 1) * s->stride[i] + (s->kernel[i] - 1) * s->dilation[i] + 1 -
                       s->in[i] - s->pad[i];
        pad_end[i] = same ? HN_MAX(rest, 0) : pads && !valid ? pads[s->n_axes + i] : 0;
    }
}
