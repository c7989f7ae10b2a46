/* BatchNormalization and constant Mul, Div, Add, Sub after a convolution or a product with constant
 * weights: y = scale * (W x + b) + shift, channel by channel, is a convolution or product with
 * other weights. */
#include "pass/weights.h"

#include <math.h>

/* Conv, ConvTranspose, Gemm or MatMul with constant weights, and where its channels are. */
typedef struct linear_node {
    hn_id node;
    hn_id x, weight, bias; /* values; bias may be HN_NONE */
    int32_t rank, axis;    /* of the result, and of its channels */
    uint64_t n_channels;
    hn_weight_layout layout;
    bool is_gemm, is_matmul;
    double beta; /* factor of the bias */
} linear_node;

/* ---- what is scaled -------------------------------------------------------------------------- */

static uint64_t product_of(const int64_t *dims, int32_t begin, int32_t end) {
    uint64_t n = 1;
    for (int32_t i = begin; i < end; i++)
        n *= (uint64_t)dims[i];
    return n;
}

static bool describe_conv(const hn_rule *r, const hn_tensor *w, linear_node *out) {
    bool is_transposed = hn_is_op(r, out->node, "ConvTranspose");
    uint64_t n_groups = (uint64_t)hn_node_i(r, out->node, "group", 1);
    if (w->rank < 3 || n_groups == 0)
        return false;
    uint64_t d0 = (uint64_t)w->dims[0], d1 = (uint64_t)w->dims[1];
    out->rank = w->rank;
    out->axis = 1;
    if (is_transposed) {
        if (d0 % n_groups != 0)
            return false;
        out->n_channels = d1 * n_groups;
        out->layout = (hn_weight_layout){d0, d1, product_of(w->dims, 2, w->rank), d0 / n_groups};
    } else {
        out->n_channels = d0;
        out->layout = (hn_weight_layout){1, d0, product_of(w->dims, 1, w->rank), 1};
    }
    return true;
}

static bool describe_product(const hn_rule *r, const hn_tensor *w, linear_node *out) {
    int32_t last = w->rank - 1;
    bool is_transposed = out->is_gemm && hn_node_i(r, out->node, "transB", 0) != 0;
    out->rank = out->is_gemm ? 2 : hn_rank_of(r, hn_out(r, out->node, 0));
    if (w->rank < 2 || out->rank < 2 || (out->is_gemm && w->rank != 2))
        return false;
    out->axis = out->rank - 1;
    if (is_transposed) {
        out->n_channels = (uint64_t)w->dims[0];
        out->layout = (hn_weight_layout){1, (uint64_t)w->dims[0], (uint64_t)w->dims[1], 1};
    } else {
        uint64_t n_outer = product_of(w->dims, 0, last);
        out->n_channels = (uint64_t)w->dims[last];
        out->layout = (hn_weight_layout){n_outer, out->n_channels, 1, n_outer};
    }
    if (out->is_gemm)
        out->beta = (double)hn_node_f(r, out->node, "beta", 1);
    return true;
}

static bool describe_linear(hn_rule *r, hn_id node, linear_node *out) {
    *out = (linear_node){.node = node, .beta = 1};
    out->x = hn_in(r, node, 0);
    out->weight = hn_in(r, node, 1);
    out->bias = hn_in(r, node, 2);
    out->is_gemm = hn_is_op(r, node, "Gemm");
    out->is_matmul = hn_is_op(r, node, "MatMul");
    const hn_tensor *w = hn_own_weight(r, out->weight);
    if (!w || w->n_elems == 0)
        return false;
    return out->is_gemm || out->is_matmul ? describe_product(r, w, out) : describe_conv(r, w, out);
}

/* ---- by what --------------------------------------------------------------------------------- */

static bool is_batch_inference(const hn_rule *r, hn_id node) {
    if (hn_node_i(r, node, "training_mode", 0) != 0 || hn_node_i(r, node, "spatial", 1) == 0)
        return false;
    for (uint32_t i = 1; i < hn_at(r, node)->n_outputs; i++)
        if (hn_out(r, node, i) != HN_NONE)
            return false;
    return true;
}

static bool batch_norm_map(hn_rule *r, const linear_node *l, hn_channel_map *out) {
    double *param[4]; /* gamma, beta, mean, variance */
    double epsilon = (double)hn_node_f(r, r->root, "epsilon", 1e-5f);
    if (l->axis != 1 || !is_batch_inference(r, r->root))
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        const hn_tensor *t = hn_const(r, hn_in(r, r->root, i + 1));
        if (!t || t->rank != 1 || t->n_elems != l->n_channels || !t->data)
            return false;
        param[i] = hn_const_f64s(r, t);
        if (!param[i])
            return false;
    }
    for (uint64_t c = 0; c < l->n_channels; c++) {
        param[0][c] /= sqrt(param[3][c] + epsilon);
        param[1][c] -= param[2][c] * param[0][c];
    }
    out->scale = param[0];
    out->shift = param[1];
    return true;
}

/* x * c, x / c, x + c, x - c, c - x. */
static bool read_arithmetic(hn_rule *r, const linear_node *l, hn_channel_map *out) {
    bool is_div = hn_is_op(r, r->root, "Div"), is_sub = hn_is_op(r, r->root, "Sub");
    bool is_second = hn_in(r, r->root, 1) == hn_out(r, l->node, 0); /* c - x */
    double *c;
    if ((is_div && is_second) || (is_second && hn_node_version(r, r->root) < 7))
        return false;
    if (!hn_channel_const(r, r->root, hn_in(r, r->root, is_second ? 0 : 1), l->rank, l->axis,
                          l->n_channels, &c))
        return false;
    if (is_div || hn_is_op(r, r->root, "Mul")) {
        for (uint64_t i = 0; is_div && i < l->n_channels; i++)
            c[i] = 1 / c[i];
        out->scale = c;
        return true;
    }
    out->shift = c;
    if (is_sub && is_second) {
        out->scale = HN_NEW_N(r->pass->rule_scratch, double, l->n_channels);
        for (uint64_t i = 0; out->scale && i < l->n_channels; i++)
            out->scale[i] = -1;
        return out->scale != NULL;
    }
    for (uint64_t i = 0; is_sub && i < l->n_channels; i++)
        c[i] = -c[i];
    return true;
}

static bool is_finite_affine(const hn_channel_map *a) {
    for (uint64_t i = 0; i < a->n; i++)
        if ((a->scale && !isfinite(a->scale[i])) || (a->shift && !isfinite(a->shift[i])))
            return false;
    return true;
}

/* ---- the new node ---------------------------------------------------------------------------- */

/* The bias as one number per channel; zeros when there is none. NULL when it is something else. */
static double *read_bias(hn_rule *r, const linear_node *l) {
    double *bias = HN_NEW_N(r->pass->rule_scratch, double, l->n_channels);
    const hn_tensor *t = hn_const(r, l->bias);
    if (l->bias == HN_NONE || l->beta == 0)
        return bias;
    if (!t || !t->data || (t->n_elems != 1 && t->n_elems != l->n_channels))
        return NULL;
    if (t->n_elems != 1 && t->dims[t->rank - 1] != (int64_t)l->n_channels)
        return NULL; /* one number per row */
    double *given = hn_const_f64s(r, t);
    for (uint64_t i = 0; bias && given && i < l->n_channels; i++)
        bias[i] = l->beta * given[t->n_elems == 1 ? 0 : i];
    return given ? bias : NULL;
}

static hn_id make_linear(hn_rule *r, const linear_node *l, hn_id weight, hn_id bias) {
    bool needs_bias = l->is_gemm && hn_rule_opset(r) < 11;
    if (bias == HN_NONE && !needs_bias && l->bias == HN_NONE)
        return hn_make_like(r, l->node, HN_VALUES(l->x, weight), HN_NO_ATTRS);
    if (l->is_matmul)
        return hn_make(r, "Gemm", HN_VALUES(l->x, weight, bias), 1, HN_NO_ATTRS);
    if (!l->is_gemm)
        return hn_make_like(r, l->node, HN_VALUES(l->x, weight, bias), HN_NO_ATTRS);
    if (hn_rule_opset(r) < 7)
        return hn_make_like(r, l->node, HN_VALUES(l->x, weight, bias),
                            HN_ATTRS(hn_new_f(r, "beta", 1), hn_new_i(r, "broadcast", 1)));
    return hn_make_like(r, l->node, HN_VALUES(l->x, weight, bias),
                        HN_ATTRS(hn_new_f(r, "beta", 1)));
}

static hone_status fold_into(hn_rule *r, const linear_node *l, const hn_channel_map *by) {
    const char *stem = hn_s(hn_value_at(r->g, hn_in(r, l->node, l->bias == HN_NONE ? 1 : 2))->name);
    hn_id weight = l->weight, bias = HN_NONE;
    int64_t dims[1] = {(int64_t)l->n_channels};
    hn_dtype elem = hn_const(r, l->weight)->dtype;
    if (l->bias != HN_NONE || by->shift) {
        double *numbers = read_bias(r, l);
        if (!numbers)
            return hn_miss(r, "the bias is not one constant number per channel");
        for (uint64_t i = 0; i < l->n_channels; i++)
            numbers[i] =
                (by->scale ? by->scale[i] : 1) * numbers[i] + (by->shift ? by->shift[i] : 0);
        bias = hn_new_const_f64s(r, stem, elem, 1, dims, numbers);
        if (bias == HN_NONE)
            return hn_miss(r, "the new bias leaves the range of %s", hn_dtype_name(elem));
    }
    if (by->scale)
        weight = hn_scaled_weight(r, l->weight, &l->layout, by->scale);
    if (weight == HN_NONE)
        return hn_miss(r, "the new weights leave the range of %s", hn_dtype_name(elem));
    hn_rule_replace(r, hn_out(r, make_linear(r, l, weight, bias), 0));
    return HONE_OK;
}

/* A MatMul has no bias: only a Gemm could take the shift. */
static bool can_shift(const hn_rule *r, const linear_node *l) {
    return !l->is_matmul || (l->rank == 2 && hn_rank_of(r, l->x) == 2 && hn_rule_opset(r) >= 7);
}

static hone_status fold_affine(hn_rule *r) {
    bool is_batch_norm = hn_is_op(r, r->root, "BatchNormalization");
    linear_node l;
    hn_id node = HN_NONE;
    for (uint32_t i = 0; node == HN_NONE && i < (is_batch_norm ? 1u : 2u); i++)
        node = hn_lone_maker(r, hn_in(r, r->root, i), "Conv|ConvTranspose|Gemm|MatMul");
    hn_id second = hn_in(r, r->root, 1);
    if (node == HN_NONE || !(hn_const(r, second) || hn_const(r, hn_in(r, r->root, 0))) ||
        !describe_linear(r, node, &l))
        return HONE_OK;
    hn_channel_map by = {.n = l.n_channels};
    if (!(is_batch_norm ? batch_norm_map(r, &l, &by) : read_arithmetic(r, &l, &by)))
        return HONE_OK;
    if (by.shift && !can_shift(r, &l))
        return HONE_OK;
    if (!is_finite_affine(&by))
        return hn_miss(r, "a channel is scaled or shifted by a number that is not finite");
    return fold_into(r, &l, &by);
}

/* A shift after a MatMul alone is a bias that other rules want to see: it becomes a Gemm later. */
static hone_status fold_shift(hn_rule *r) {
    for (uint32_t i = 0; i < 2; i++)
        if (hn_maker(r, hn_in(r, r->root, i), "MatMul") != HN_NONE)
            return HONE_OK;
    return fold_affine(r);
}

hone_status hn_pass_fold_affine(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"batch-norm", "BatchNormalization", fold_affine, true, NULL},
        {"scale", "Mul|Div", fold_affine, true, NULL},
        {"shift", "Add|Sub", fold_shift, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
