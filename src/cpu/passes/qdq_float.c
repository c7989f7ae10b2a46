/* Dynamically quantized convolutions that floats compute faster: the input is not quantized, the
 * filters become floats once. */
#include "cpu/passes/qdq.h"

#include <math.h>

/* What decides: the shape of the filters, never the processor, so that results do not depend on
 * it. */
typedef struct conv_sizes {
    double n_filters, n_numbers; /* of a filter */
    double n_read;               /* elements of the input for each position of the output */
    bool is_depthwise, is_grouped, is_pointwise;
} conv_sizes;

static conv_sizes read_conv_sizes(const hn_rule *r, hn_id node, const hn_tensor *w) {
    const int64_t *strides;
    uint32_t n = 0;
    int64_t group = hn_node_i(r, node, "group", 1);
    conv_sizes s = {.n_filters = (double)w->dims[0],
                    .n_numbers = (double)w->dims[1],
                    .n_read = (double)(w->dims[1] * group),
                    .is_depthwise = group > 1 && w->dims[1] == 1,
                    .is_grouped = group > 1,
                    .is_pointwise = true};
    for (int32_t i = 2; i < w->rank; i++) {
        s.n_numbers *= (double)w->dims[i];
        s.is_pointwise = s.is_pointwise && w->dims[i] == 1;
    }
    if (hn_node_ints(r, node, "strides", &n, &strides))
        for (uint32_t i = 0; i < n; i++)
            s.n_read *= (double)strides[i];
    return s;
}

static double padded_to(double n, double step) {
    return ceil(n / step) * step;
}

/* Nanoseconds for each position of the output, measured on one core with AVX-512 VNNI over the
 * layers of MobileNets, EfficientNet, ResNets and SqueezeNet. Looking for the range and rounding
 * cost more than a depthwise convolution of floats, and than a product with 16 filters or less. */
static bool is_faster_in_float(const conv_sizes *s) {
    if (s->is_grouped)
        return s->is_depthwise;
    double lanes = s->n_filters <= 16 ? 16 : padded_to(s->n_filters, 32);
    double of_floats = 3.5 + 0.0187 * s->n_numbers * lanes;
    double of_bytes = 4 + 0.21 * s->n_read + 0.08 * s->n_filters +
                      0.006 * padded_to(s->n_numbers, 4) * padded_to(s->n_filters, 16) +
                      (s->is_pointwise ? 0 : 0.05 * s->n_numbers);
    return of_floats < of_bytes;
}

static hn_id float_filters(hn_rule *r, const hn_tensor *w, hn_id scale, hn_id zero) {
    uint64_t n_filter = w->n_elems / (uint64_t)w->dims[0];
    void *data;
    double v;
    hn_tensor *t = hn_new_tensor(r, HN_F32, w->rank, w->dims, &data);
    for (uint64_t i = 0; t && i < w->n_elems; i++) {
        if (!hn_tensor_get_f64(w, i, &v))
            return HN_NONE;
        v = (v - hn_param_at(r, zero, i / n_filter)) * hn_param_at(r, scale, i / n_filter);
        ((float *)data)[i] = (float)v;
    }
    return t ? hn_new_const(r, "filters", t) : HN_NONE;
}

hone_status hn_qdq_float_conv(hn_rule *r) {
    hn_id zero = hn_in(r, r->root, 3);
    const hn_tensor *w = hn_const(r, hn_in(r, r->root, 1));
    if (!w || !w->data || w->n_elems == 0 || hn_node_i(r, r->root, "channels_first", 0) == 0 ||
        hn_node_attr(hn_at(r, r->root), "activation") || hn_in(r, r->root, 5) != HN_NONE ||
        !hn_const(r, hn_in(r, r->root, 2)) || (zero != HN_NONE && !hn_const(r, zero)))
        return HONE_OK;
    conv_sizes s = read_conv_sizes(r, r->root, w);
    if (!is_faster_in_float(&s))
        return HONE_OK;
    hn_id filters = float_filters(r, w, hn_in(r, r->root, 2), zero);
    if (filters == HN_NONE)
        return HONE_OK;
    hn_detail(r, "%g%s filters of %g numbers: floats are faster", s.n_filters,
              s.is_depthwise ? " depthwise" : "", s.n_numbers);
    hn_rule_replace(
        r, hn_make_window_op(r, "Conv", r->root,
                             HN_VALUES(hn_in(r, r->root, 0), filters, hn_in(r, r->root, 4))));
    return HONE_OK;
}
