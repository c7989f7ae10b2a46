/* Scales, zero points and biases of quantized groups. */
#include "cpu/passes/qdq.h"

#include <math.h>

#define LEAST_SCALE 1e-30
#define MOST_SCALE 1e30
#define SAME_SCALE 1e-6 /* relative difference of scales that were rounded in another order */
#define MOST_INT32_BIAS 1.073e9 /* half of what int32 holds: sums need the rest */

double hn_param_at(const hn_rule *r, hn_id value, uint64_t i) {
    const hn_tensor *t = value == HN_NONE ? NULL : hn_const(r, value);
    double v = 0;
    return t && t->n_elems > 0 && hn_tensor_get_f64(t, t->n_elems == 1 ? 0 : i, &v) ? v : 0;
}

static bool has_data(const hn_tensor *t) {
    return t && t->data && !hn_tensor_is_deferred(t) && t->n_elems > 0;
}

/* Constant floats with which division undoes multiplication. */
static const hn_tensor *plain_scales(const hn_rule *r, hn_id scale) {
    const hn_tensor *t = scale == HN_NONE ? NULL : hn_const(r, scale);
    double v;
    if (!has_data(t) || t->dtype != HN_F32 || t->rank > 1)
        return NULL;
    for (uint64_t i = 0; i < t->n_elems; i++)
        if (!hn_tensor_get_f64(t, i, &v) || !(v > LEAST_SCALE && v < MOST_SCALE))
            return NULL;
    return t;
}

static bool zeros_fit(const hn_rule *r, hn_id zero, const hn_tensor *scales) {
    const hn_tensor *t = zero == HN_NONE ? NULL : hn_const(r, zero);
    return zero == HN_NONE || (has_data(t) && t->n_elems == scales->n_elems);
}

bool hn_dequantized_read_any(const hn_rule *r, hn_id value, hn_dequantized *out) {
    hn_id node = value == HN_NONE ? HN_NONE : hn_value_at(r->g, value)->producer;
    if (node == HN_NONE ||
        !(hn_is_op(r, node, "DequantizeLinear") || hn_is_op(r, node, "ms.DequantizeLinear")))
        return false;
    *out = (hn_dequantized){.node = node,
                            .x = hn_in(r, node, 0),
                            .scale = hn_in(r, node, 1),
                            .zero = hn_in(r, node, 2),
                            .elem = hn_elem_of(r, hn_in(r, node, 0)),
                            .scales = plain_scales(r, hn_in(r, node, 1)),
                            .axis = -1};
    if (!out->scales || !zeros_fit(r, out->zero, out->scales) || !hn_dtype_is_int(out->elem) ||
        hn_elem_of(r, value) != HN_F32 || hn_node_i(r, node, "block_size", 0) != 0)
        return false;
    int64_t axis = hn_node_i(r, node, "axis", 1);
    int32_t rank = hn_rank_of(r, out->x);
    axis += axis < 0 ? rank : 0;
    if (out->scales->n_elems > 1)
        out->axis = rank < 0 || axis < 0 || axis >= rank ? -1 : (int32_t)axis;
    return out->scales->n_elems == 1 || out->axis >= 0;
}

bool hn_dequantized_read(const hn_rule *r, hn_id value, hn_dequantized *out) {
    return hn_dequantized_read_any(r, value, out) && hn_dtype_is_byte(out->elem);
}

static hn_id new_zero_points(hn_rule *r, hn_dtype elem, const hn_tensor *like) {
    void *data;
    return hn_new_const(r, "zero_point", hn_new_tensor(r, elem, like->rank, like->dims, &data));
}

hn_id hn_dequantized_zero(hn_rule *r, const hn_dequantized *d) {
    return d->zero != HN_NONE ? d->zero : new_zero_points(r, d->elem, d->scales);
}

bool hn_quantized_read(const hn_rule *r, hn_id node, hn_quantized *out) {
    if (!hn_is_op(r, node, "QuantizeLinear") && !hn_is_op(r, node, "ms.QuantizeLinear"))
        return false;
    *out = (hn_quantized){.node = node,
                          .scale = hn_in(r, node, 1),
                          .zero = hn_in(r, node, 2),
                          .elem = hn_elem_of(r, hn_out(r, node, 0))};
    const hn_tensor *scales = plain_scales(r, out->scale);
    return scales && scales->n_elems == 1 && zeros_fit(r, out->zero, scales) &&
           hn_dtype_is_byte(out->elem) && hn_elem_of(r, hn_in(r, node, 0)) == HN_F32 &&
           hn_node_i(r, node, "block_size", 0) == 0 &&
           hn_node_i(r, node, "precision", 0) == HN_UNDEFINED;
}

hn_id hn_quantized_zero(hn_rule *r, const hn_quantized *q) {
    return q->zero != HN_NONE ? q->zero : new_zero_points(r, q->elem, hn_const(r, q->scale));
}

bool hn_quantized_reader(const hn_rule *r, hn_id value, hn_quantized *out) {
    hn_id node = hn_only_reader(r, value);
    return node != HN_NONE && hn_at(r, node)->block == hn_at(r, r->root)->block &&
           hn_in(r, node, 0) == value && hn_quantized_read(r, node, out);
}

bool hn_same_bytes(const hn_rule *r, const hn_dequantized *d, const hn_quantized *q) {
    return d->axis < 0 && d->elem == q->elem &&
           hn_param_at(r, d->scale, 0) == hn_param_at(r, q->scale, 0) &&
           hn_param_at(r, d->zero, 0) == hn_param_at(r, q->zero, 0);
}

/* ---- biases ---------------------------------------------------------------------------------- */

static float bias_scale(const hn_tensor *a, const hn_tensor *b, uint64_t i) {
    double x = 0, y = 0;
    hn_tensor_get_f64(a, 0, &x);
    hn_tensor_get_f64(b, b->n_elems == 1 ? 0 : i, &y);
    return (float)x * (float)y;
}

/* Integers of the wanted scales already? */
static bool has_bias_scales(const hn_rule *r, const hn_dequantized *d, const hn_tensor *a,
                            const hn_tensor *b, uint64_t n) {
    bool is_zero = true;
    for (uint64_t i = 0; i < n && is_zero; i++) {
        double want = (double)bias_scale(a, b, i), have = hn_param_at(r, d->scale, i);
        is_zero = fabs(have - want) <= SAME_SCALE * want && hn_param_at(r, d->zero, i) == 0;
    }
    return is_zero && d->elem == HN_I32 && hn_rank_of(r, d->x) == 1;
}

static bool bias_number(const hn_rule *r, hn_id bias, const hn_dequantized *d, uint64_t i,
                        double *out) {
    const hn_tensor *t = hn_const(r, d ? d->x : bias);
    if (!hn_tensor_get_f64(t, i, out))
        return false;
    if (d)
        *out = (*out - hn_param_at(r, d->zero, i)) * hn_param_at(r, d->scale, i);
    return true;
}

hn_id hn_int32_bias(hn_rule *r, hn_id bias, const hn_tensor *a, const hn_tensor *b, uint64_t n,
                    bool *is_bad) {
    hn_dequantized d;
    void *data;
    double v;
    *is_bad = false;
    if (bias == HN_NONE)
        return HN_NONE;
    bool is_int = hn_dequantized_read_any(r, bias, &d);
    const hn_tensor *t = hn_const(r, is_int ? d.x : bias);
    *is_bad = true;
    if (!has_data(t) || t->n_elems != n || (!is_int && t->dtype != HN_F32) ||
        (is_int && d.scales->n_elems != 1 && d.scales->n_elems != n))
        return HN_NONE;
    if (is_int && has_bias_scales(r, &d, a, b, n)) {
        *is_bad = false;
        return d.x;
    }
    hn_tensor *ints = hn_new_tensor(r, HN_I32, 1, (int64_t[]){(int64_t)n}, &data);
    for (uint64_t i = 0; ints && i < n; i++) {
        if (!bias_number(r, bias, is_int ? &d : NULL, i, &v))
            return HN_NONE;
        v = nearbyint(v / (double)bias_scale(a, b, i));
        if (!(fabs(v) <= MOST_INT32_BIAS))
            return HN_NONE;
        ((int32_t *)data)[i] = (int32_t)v;
    }
    *is_bad = false;
    return hn_new_const(r, "bias", ints);
}
