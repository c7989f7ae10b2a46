/* Folds BatchNormalization and constant Mul, Div, Add, Sub into the constant weights of the
 * convolution or product before them: y = scale * (W x + b) + shift per channel is a convolution or
 * product with other weights. A Transpose may stand in between. */
#include "pass/engine/weights.h"

/* Conv, ConvTranspose, Gemm or MatMul with constant weights, and the axis of its channels. */
typedef struct linear_node {
    hn_id node;
    /* nodes that follow: the Add of a MatMul's bias, a Transpose; or HN_NONE */
    hn_id add, transpose;
    hn_id x, weight, bias; /* values; bias may be HN_NONE */
    int32_t rank, axis;    /* of the result, and of its channels */
    int32_t seen_axis;     /* the channel axis after the Transpose */
    uint64_t n_channels;
    hn_channel_layout layout;
    bool is_gemm, is_matmul;
    double beta; /* factor of the bias */
} linear_node;

/* ---- the linear node ------------------------------------------------------------------------- */

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
        out->layout = (hn_channel_layout){d0, d1, product_of(w->dims, 2, w->rank), d0 / n_groups};
    } else {
        out->n_channels = d0;
        out->layout = (hn_channel_layout){1, d0, product_of(w->dims, 1, w->rank), 1};
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
        out->layout = (hn_channel_layout){1, (uint64_t)w->dims[0], (uint64_t)w->dims[1], 1};
    } else {
        uint64_t n_outer = product_of(w->dims, 0, last);
        out->n_channels = (uint64_t)w->dims[last];
        out->layout = (hn_channel_layout){n_outer, out->n_channels, 1, n_outer};
    }
    if (out->is_gemm)
        out->beta = (double)hn_node_f(r, out->node, "beta", 1);
    return true;
}

/* Returns the axis of the channels after the Transpose. */
static int32_t moved_axis(const hn_rule *r, hn_id transpose, int32_t rank, int32_t axis) {
    uint32_t n;
    const int64_t *perm;
    if (!hn_node_ints(r, transpose, "perm", &n, &perm))
        return rank - 1 - axis;
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] == axis)
            return (int32_t)i;
    return -1;
}

/* Finds the linear node and the nodes between it and input `slot` of the root. */
static bool find_linear(const hn_rule *r, uint32_t slot, linear_node *out) {
    hn_id value = hn_in(r, r->root, slot), reader = r->root;
    *out = (linear_node){.add = HN_NONE, .bias = HN_NONE, .beta = 1};
    out->transpose = hn_lone_maker(r, reader, value, "Transpose");
    if (out->transpose != HN_NONE) {
        reader = out->transpose;
        value = hn_in(r, reader, 0);
    }
    out->node = hn_lone_maker(r, reader, value, "Conv|ConvTranspose|Gemm|MatMul");
    hn_id add = hn_lone_maker(r, reader, value, "Add");
    for (uint32_t i = 0; add != HN_NONE && i < 2 && out->node == HN_NONE; i++) {
        out->node = hn_lone_maker(r, add, hn_in(r, add, i), "MatMul");
        out->add = add;
        out->bias = hn_in(r, add, 1 - i);
    }
    return out->node != HN_NONE;
}

static bool describe_linear(hn_rule *r, linear_node *l) {
    l->x = hn_in(r, l->node, 0);
    l->weight = hn_in(r, l->node, 1);
    if (l->add == HN_NONE)
        l->bias = hn_in(r, l->node, 2);
    l->is_gemm = hn_is_op(r, l->node, "Gemm");
    l->is_matmul = hn_is_op(r, l->node, "MatMul");
    const hn_tensor *w = hn_own_weight(r, l->weight);
    if (!w || w->n_elems == 0 || (l->is_matmul && hn_rule_opset(r) < 7))
        return false;
    if (!(l->is_gemm || l->is_matmul ? describe_product(r, w, l) : describe_conv(r, w, l)))
        return false;
    l->seen_axis =
        l->transpose == HN_NONE ? l->axis : moved_axis(r, l->transpose, l->rank, l->axis);
    return l->seen_axis >= 0;
}

/* ---- the new node ---------------------------------------------------------------------------- */

/* Reads the bias as one number per channel, zeros when there is none. NULL for any other bias. */
static double *read_bias(hn_rule *r, const linear_node *l) {
    double *bias = HN_NEW_N(r->pass->rule_scratch, double, l->n_channels);
    const hn_tensor *t = hn_const(r, l->bias);
    if (!bias || l->bias == HN_NONE || l->beta == 0)
        return bias;
    if (l->add != HN_NONE)
        return hn_channel_const(r, l->add, l->bias, l->rank, l->axis, l->n_channels, &bias) ? bias
                                                                                            : NULL;
    if (!t || !t->data || (t->n_elems != 1 && t->n_elems != l->n_channels))
        return NULL;
    if (t->n_elems != 1 && t->dims[t->rank - 1] != (int64_t)l->n_channels)
        return NULL; /* one number per row */
    double *given = hn_const_f64s(r, t);
    for (uint64_t i = 0; given && i < l->n_channels; i++)
        bias[i] = l->beta * given[t->n_elems == 1 ? 0 : i];
    return given ? bias : NULL;
}

/* A MatMul gets its bias from an Add, or becomes a Gemm when there was no Add. */
static hn_id make_biased_product(hn_rule *r, const linear_node *l, hn_id weight, hn_id bias) {
    if (l->add == HN_NONE && l->rank == 2 && hn_rank_of(r, l->x) == 2)
        return hn_make1(r, "Gemm", HN_VALUES(l->x, weight, bias), HN_NO_ATTRS);
    hn_id product = hn_make1(r, "MatMul", HN_VALUES(l->x, weight), HN_NO_ATTRS);
    return hn_make1(r, "Add", HN_VALUES(product, bias), HN_NO_ATTRS);
}

static hn_id make_linear(hn_rule *r, const linear_node *l, hn_id weight, hn_id bias) {
    hn_attr attrs[2];
    uint32_t n_attrs = 0;
    if (l->is_matmul && bias != HN_NONE)
        return make_biased_product(r, l, weight, bias);
    if (l->is_gemm && bias != HN_NONE)
        attrs[n_attrs++] = hn_new_f(r, "beta", 1);
    if (l->is_gemm && hn_rule_opset(r) < 7)
        attrs[n_attrs++] = hn_new_i(r, "broadcast", 1);
    return hn_out(r, hn_make_like(r, l->node, HN_VALUES(l->x, weight, bias), n_attrs, attrs), 0);
}

static hone_status fold_into(hn_rule *r, const linear_node *l, const hn_channel_map *by) {
    const char *stem = hn_s(hn_value_at(r->g, l->bias == HN_NONE ? l->weight : l->bias)->name);
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
            return hn_miss(r, "the new bias exceeds the range of %s", hn_dtype_name(elem));
    }
    if (by->scale)
        weight = hn_scaled_weight(r, l->weight, &l->layout, by);
    if (weight == HN_NONE)
        return hn_miss(r, "the new weights exceed the range of %s", hn_dtype_name(elem));
    hn_id y = make_linear(r, l, weight, bias);
    if (l->transpose != HN_NONE)
        y = hn_out(r, hn_make_like(r, l->transpose, HN_VALUES(y), HN_NO_ATTRS), 0);
    hn_rule_replace(r, y);
    return HONE_OK;
}

static hone_status fold_affine(hn_rule *r) {
    bool is_batch_norm = hn_is_op(r, r->root, "BatchNormalization");
    bool is_first = is_batch_norm || hn_const(r, hn_in(r, r->root, 1));
    uint32_t slot = is_first ? 0 : 1; /* of the input that is scaled or shifted */
    linear_node l;
    if (!hn_const(r, hn_in(r, r->root, 1 - slot)) || !find_linear(r, slot, &l) ||
        !describe_linear(r, &l))
        return HONE_OK;
    hn_channel_map by = {.n = l.n_channels};
    if (!hn_channel_map_of(r, r->root, slot, l.rank, l.seen_axis, &by))
        return HONE_OK;
    if (!by.scale && l.is_matmul)
        return HONE_OK; /* a bias, which other rules match */
    if (!hn_is_finite_map(&by))
        return hn_miss(r, "a channel is scaled or shifted by an infinite number or NaN");
    return fold_into(r, &l, &by);
}

hone_status hn_pass_fold_affine(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"batch-norm", "BatchNormalization", fold_affine, true, NULL},
        {"scale", "Mul|Div", fold_affine, true, NULL},
        {"shift", "Add|Sub", fold_affine, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
