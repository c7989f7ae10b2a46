/* Describes an operator with constants as a scale and a shift per channel of its input. */
#include "pass/engine/weights.h"

#include <math.h>

static bool is_batch_inference(const hn_rule *r, hn_id node) {
    if (hn_node_i(r, node, "training_mode", 0) != 0 || hn_node_i(r, node, "spatial", 1) == 0)
        return false;
    for (uint32_t i = 1; i < hn_at(r, node)->n_outputs; i++)
        if (hn_out(r, node, i) != HN_NONE)
            return false;
    return true;
}

static bool batch_norm_map(hn_rule *r, hn_id node, hn_channel_map *out) {
    double *param[4]; /* gamma, beta, mean, variance */
    double epsilon = (double)hn_node_f(r, node, "epsilon", 1e-5f);
    for (uint32_t i = 0; i < 4; i++) {
        const hn_tensor *t = hn_const(r, hn_in(r, node, i + 1));
        if (!t || t->rank != 1 || t->n_elems != out->n || !t->data)
            return false;
        param[i] = hn_const_f64s(r, t);
        if (!param[i])
            return false;
    }
    for (uint64_t c = 0; c < out->n; c++) {
        param[0][c] /= sqrt(param[3][c] + epsilon);
        param[1][c] -= param[2][c] * param[0][c];
    }
    out->scale = param[0];
    out->shift = param[1];
    return true;
}

static double *all_minus_one(hn_rule *r, uint64_t n) {
    double *out = HN_NEW_N(r->pass->rule_scratch, double, n);
    for (uint64_t i = 0; out && i < n; i++)
        out[i] = -1;
    return out;
}

/* x * c, x / c, x + c, x - c, c - x. */
static bool arithmetic_map(hn_rule *r, hn_id node, uint32_t slot, int32_t rank, int32_t axis,
                           hn_channel_map *out) {
    bool is_div = hn_is_op(r, node, "Div"), is_sub = hn_is_op(r, node, "Sub");
    double *c;
    if (slot == 1 && (is_div || hn_node_version(r, node) < 7))
        return false;
    if (!hn_channel_const(r, node, hn_in(r, node, 1 - slot), rank, axis, out->n, &c))
        return false;
    if (is_div || hn_is_op(r, node, "Mul")) {
        for (uint64_t i = 0; is_div && i < out->n; i++)
            c[i] = 1 / c[i];
        out->scale = c;
        return true;
    }
    out->shift = c;
    if (is_sub && slot == 1) {
        out->scale = all_minus_one(r, out->n);
        return out->scale != NULL;
    }
    for (uint64_t i = 0; is_sub && i < out->n; i++)
        c[i] = -c[i];
    return true;
}

bool hn_channel_map_of(hn_rule *r, hn_id node, uint32_t slot, int32_t rank, int32_t axis,
                       hn_channel_map *out) {
    if (hn_is_op(r, node, "BatchNormalization"))
        return axis == 1 && is_batch_inference(r, node) && batch_norm_map(r, node, out);
    return hn_is_op(r, node, "Mul|Div|Add|Sub") && arithmetic_map(r, node, slot, rank, axis, out);
}

bool hn_is_finite_map(const hn_channel_map *m) {
    for (uint64_t i = 0; i < m->n; i++)
        if ((m->scale && !isfinite(m->scale[i])) || (m->shift && !isfinite(m->shift[i])))
            return false;
    return true;
}
