/* Normalizations with one scale and one bias per channel: fuses InstanceNormalization between
 * Reshapes into GroupNormalization, and folds constant factors and shifts that follow into scale
 * and bias. */
#include "pass/engine/weights.h"

/* ---- GroupNormalization ---------------------------------------------------------------------- */

/* Expands a parameter per group to one per channel. */
static hn_id repeat_param(hn_rule *r, hn_id param, uint64_t n_groups, uint64_t n_channels) {
    const hn_tensor *t = hn_const(r, param);
    if (!t || t->rank != 1 || t->n_elems != n_groups || !hn_dtype_is_float(t->dtype))
        return HN_NONE;
    double *from = hn_const_f64s(r, t);
    double *to = HN_NEW_N(r->pass->rule_scratch, double, n_channels + 1);
    if (!from || !to)
        return HN_NONE;
    for (uint64_t i = 0; i < n_channels; i++)
        to[i] = from[i / (n_channels / n_groups)];
    int64_t dims[1] = {(int64_t)n_channels};
    return hn_new_const_f64s(r, "param", t->dtype, 1, dims, to);
}

/* True when [N, C, ...] is viewed as [N, G, ...], where each group is a run of whole channels. */
static bool splits_channels(const hn_rule *r, hn_id x, hn_id grouped, hn_dim *n_groups,
                            hn_dim *n_channels) {
    *n_groups = hn_dim_of(r, grouped, 1);
    *n_channels = hn_dim_of(r, x, 1);
    return hn_rank_of(r, x) >= 3 && hn_dim_of(r, x, 0) != HN_DIM_UNKNOWN &&
           hn_dim_of(r, x, 0) == hn_dim_of(r, grouped, 0) && *n_groups > 0 && *n_channels > 0 &&
           *n_channels % *n_groups == 0;
}

/* onnxruntime computes GroupNormalization as a function of many nodes and InstanceNormalization as
 * one kernel, so the fusion gains nothing there. */
static hone_status fuse_group_norm(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), grouped = hn_cap(r, "grouped");
    hn_dim n_groups, n_channels;
    if (r->pass->options->target == HN_TARGET_ONNXRUNTIME ||
        !hn_same_shape(r, x, hn_out(r, r->root, 0)) ||
        !splits_channels(r, x, grouped, &n_groups, &n_channels) ||
        !hn_can_write(r, "GroupNormalization"))
        return HONE_OK;
    hn_id scale = repeat_param(r, hn_cap(r, "scale"), (uint64_t)n_groups, (uint64_t)n_channels);
    hn_id bias = repeat_param(r, hn_cap(r, "bias"), (uint64_t)n_groups, (uint64_t)n_channels);
    if (scale == HN_NONE || bias == HN_NONE)
        return HONE_OK;
    float epsilon = hn_node_f(r, hn_cap_node(r, "norm"), "epsilon", 1e-5f);
    hn_rule_replace(r, hn_make1(r, "GroupNormalization", HN_VALUES(x, scale, bias),
                                HN_ATTRS(hn_new_f(r, "epsilon", epsilon),
                                         hn_new_i(r, "num_groups", n_groups))));
    hn_detail(r, "%lld groups of %lld channels", (long long)n_groups,
              (long long)(n_channels / n_groups));
    return HONE_OK;
}

/* ---- constants after a normalization
 * ---------------------------------------------------------- */

/* Finds the axis along which the normalization has one scale and one bias per element. */
static bool norm_axis(const hn_rule *r, hn_id norm, int32_t rank, int32_t *axis) {
    if (hn_is_op(r, norm, "GroupNormalization") && hn_node_version(r, norm) < 21)
        return false; /* old versions have them per group */
    bool is_layer = hn_is_op(r, norm, "LayerNormalization");
    int64_t layer_axis = is_layer ? hn_node_i(r, norm, "axis", -1) : 1;
    *axis = is_layer ? rank - 1 : 1;
    return rank >= 2 && (layer_axis == *axis || layer_axis == *axis - rank);
}

/* scale*k and bias*k + shift as new constants; an absent bias is 0. */
static hn_id combined_param(hn_rule *r, hn_id param, const hn_tensor *like, const double *factor,
                            const double *shift) {
    const hn_tensor *t = param == HN_NONE ? NULL : hn_const(r, param);
    double *from = t ? hn_const_f64s(r, t) : NULL;
    double *to = HN_NEW_N(r->pass->rule_scratch, double, like->n_elems + 1);
    if ((t && (!from || t->n_elems != like->n_elems)) || !to)
        return HN_NONE;
    for (uint64_t i = 0; i < like->n_elems; i++)
        to[i] = (from ? from[i] * (factor ? factor[i] : 1) : 0) + (shift ? shift[i] : 0);
    return hn_new_const_f64s(r, "param", like->dtype, 1, like->dims, to);
}

static hone_status fold_into_norm(hn_rule *r) {
    hn_id norm = hn_cap_node(r, "norm"), y = hn_cap(r, "norm"), bias = hn_cap(r, "bias");
    const hn_tensor *scale = hn_const(r, hn_cap(r, "scale"));
    int32_t rank = hn_rank_of(r, y), axis;
    double *k;
    if (scale->rank != 1 || !norm_axis(r, norm, rank, &axis) ||
        hn_dim_of(r, y, axis) != scale->dims[0] ||
        !hn_channel_const(r, r->root, hn_cap(r, "k"), rank, axis, scale->n_elems, &k))
        return HONE_OK;
    bool is_factor = hn_is_op(r, r->root, "Mul");
    hn_id new_scale =
        is_factor ? combined_param(r, hn_cap(r, "scale"), scale, k, NULL) : hn_cap(r, "scale");
    hn_id new_bias =
        is_factor && bias == HN_NONE
            ? HN_NONE
            : combined_param(r, bias, scale, is_factor ? k : NULL, is_factor ? NULL : k);
    if (new_scale == HN_NONE || (new_bias == HN_NONE && !(is_factor && bias == HN_NONE)))
        return HONE_OK;
    hn_id node = hn_make_like(r, norm, HN_VALUES(hn_cap(r, "x"), new_scale, new_bias), HN_NO_ATTRS);
    hn_rule_replace(r, hn_out(r, node, 0));
    return HONE_OK;
}

#define NORM_OF \
  "InstanceNormalization|GroupNormalization|LayerNormalization(x, #scale, #bias?):norm"

static const hn_rule_row channel_norm_rules[] = {
    {"group-norm",
     "Reshape(InstanceNormalization(Reshape(x, ...):grouped, #scale, #bias):norm, ...)",
     fuse_group_norm, false, NULL},
    {"norm-scale", "Mul(" NORM_OF ", #k)", fold_into_norm, false, NULL},
    {"norm-bias", "Add(" NORM_OF ", #k)", fold_into_norm, false, NULL},
};

hone_status hn_pass_channel_norm(hn_pass *p) {
    return hn_pass_rules(p, channel_norm_rules, HN_COUNT(channel_norm_rules));
}
