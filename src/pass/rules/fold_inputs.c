/* BatchNormalization before a convolution or a product, and constant factors before a convolution,
 * become part of its weights: W (scale * x + shift) is (W scale) x + W shift. Padding is 0 behind
 * the shift, so only convolutions that do not pad take one. */
#include "ops/infer/spatial.h"
#include "pass/engine/weights.h"

/* Conv, Gemm or MatMul at the root, described by its input channels. */
typedef struct input_folder {
    uint64_t n_in, n_out;
    hn_channel_layout layout; /* of the input channels */
    bool sums_rows;           /* output channels are `outer` in the layout, else `inner` */
    int32_t rank, axis;       /* of the input and its channels */
    bool takes_shift;
} input_folder;

static bool pads_nothing(const hn_rule *r, hn_id conv, int32_t n_axes) {
    hn_infer c;
    hn_window_attrs window;
    if (!hn_facts_view(r->pass->facts, conv, &c) || !hn_window_attrs_get(&c, n_axes, &window) ||
        hn_pads_same(&window))
        return false;
    for (int32_t i = 0; i < n_axes; i++)
        if (window.axes[i].pad_begin != 0 || window.axes[i].pad_end != 0)
            return false;
    return true;
}

static bool describe_conv_taker(const hn_rule *r, const hn_tensor *w, input_folder *out) {
    int64_t n_groups = hn_node_i(r, r->root, "group", 1);
    if (w->rank < 3 || n_groups < 1 || w->dims[0] % n_groups != 0)
        return false;
    uint64_t m = (uint64_t)w->dims[0], c = (uint64_t)w->dims[1], g = (uint64_t)n_groups;
    *out = (input_folder){.n_in = c * g, .n_out = m, .sums_rows = true, .rank = w->rank, .axis = 1};
    out->layout = (hn_channel_layout){m, c, w->n_elems / (m * c), m / g};
    out->takes_shift = pads_nothing(r, r->root, w->rank - 2);
    return true;
}

/* Matrices only, because the shift needs a Gemm. */
static bool describe_product_folder(const hn_rule *r, const hn_tensor *w, input_folder *out) {
    bool is_transposed = hn_node_i(r, r->root, "transB", 0) != 0;
    if (w->rank != 2 || hn_rank_of(r, hn_in(r, r->root, 0)) != 2 ||
        hn_node_i(r, r->root, "transA", 0) != 0 || hn_node_f(r, r->root, "alpha", 1) != 1 ||
        hn_node_f(r, r->root, "beta", 1) != 1 || hn_rule_opset(r) < 7)
        return false;
    uint64_t d0 = (uint64_t)w->dims[0], d1 = (uint64_t)w->dims[1];
    *out = (input_folder){.rank = 2, .axis = 1, .takes_shift = true};
    out->sums_rows = is_transposed;
    out->n_in = is_transposed ? d1 : d0;
    out->n_out = is_transposed ? d0 : d1;
    out->layout =
        is_transposed ? (hn_channel_layout){d0, d1, 1, d0} : (hn_channel_layout){1, d0, d1, 1};
    return true;
}

/* The old bias plus the product of the weights and the shift. */
static hn_id shifted_bias(hn_rule *r, const input_folder *t, const double *shift) {
    hn_id old = hn_in(r, r->root, 2);
    const hn_tensor *bias = hn_const(r, old), *w = hn_const(r, hn_in(r, r->root, 1));
    const hn_channel_layout *l = &t->layout;
    int64_t dims[1] = {(int64_t)t->n_out};
    double *sums = HN_NEW_N(r->pass->rule_scratch, double, t->n_out);
    double *numbers = hn_const_f64s(r, w);
    if (!sums || !numbers)
        return HN_NONE;
    if (old != HN_NONE) {
        bool is_plain = bias && bias->data && bias->rank == 1 && bias->n_elems == t->n_out;
        double *given = is_plain ? hn_const_f64s(r, bias) : NULL;
        if (!given)
            return HN_NONE;
        sums = given;
    }
    for (uint64_t i = 0; i < w->n_elems; i++) {
        uint64_t inner = i % l->n_inner, mid = i / l->n_inner % l->n_mid;
        uint64_t outer = i / l->n_inner / l->n_mid;
        sums[t->sums_rows ? outer : inner] +=
            numbers[i] * shift[outer / l->outer_per_group * l->n_mid + mid];
    }
    return hn_new_const_f64s(r, "bias", w->dtype, 1, dims, sums);
}

static hone_status fold_input(hn_rule *r, hn_id x, const input_folder *t,
                              const hn_channel_map *by) {
    hn_id bias = hn_in(r, r->root, 2), weight = hn_in(r, r->root, 1);
    if (by->shift)
        bias = shifted_bias(r, t, by->shift);
    if (by->shift && bias == HN_NONE)
        return hn_miss(r, "the bias is not one constant number per channel");
    if (by->scale)
        weight = hn_scaled_weight(r, weight, &t->layout, by);
    if (weight == HN_NONE)
        return hn_miss(r, "the new weights exceed the range of their type");
    hn_id in[3] = {x, weight, bias};
    if (hn_is_op(r, r->root, "MatMul"))
        hn_rule_replace(r, hn_make1(r, bias == HN_NONE ? "MatMul" : "Gemm", 3, in, HN_NO_ATTRS));
    else
        hn_rule_replace(r, hn_out(r, hn_make_like(r, r->root, 3, in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

/* Returns which input of the node is not constant; the other one is. */
static uint32_t open_slot(const hn_rule *r, hn_id node) {
    return !hn_is_op(r, node, "BatchNormalization") && hn_const(r, hn_in(r, node, 0)) ? 1 : 0;
}

static hone_status fold_inputs(hn_rule *r) {
    bool is_conv = hn_is_op(r, r->root, "Conv");
    hn_id node = hn_lone_maker(r, r->root, hn_in(r, r->root, 0),
                               is_conv ? "BatchNormalization|Mul|Div" : "BatchNormalization");
    if (node == HN_NONE)
        return HONE_OK;
    const hn_tensor *w = hn_own_weight(r, hn_in(r, r->root, 1));
    input_folder t;
    if (!w || w->n_elems == 0 ||
        !(is_conv ? describe_conv_taker(r, w, &t) : describe_product_folder(r, w, &t)))
        return HONE_OK;
    uint32_t slot = open_slot(r, node);
    hn_id x = hn_in(r, node, slot);
    if (hn_rank_of(r, x) != t.rank || hn_dim_of(r, x, t.axis) != (hn_dim)t.n_in)
        return HONE_OK; /* the constant may enlarge the result */
    hn_channel_map by = {.n = t.n_in};
    if (!hn_channel_map_of(r, node, slot, t.rank, t.axis, &by))
        return HONE_OK;
    if (by.shift && !t.takes_shift)
        return hn_miss(r, "the convolution has padding, which the shift does not apply to");
    if (!hn_is_finite_map(&by))
        return hn_miss(r, "a channel is scaled or shifted by an infinite number or NaN");
    return fold_input(r, x, &t, &by);
}

hone_status hn_pass_fold_inputs(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"before", "Conv|Gemm|MatMul", fold_inputs, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
