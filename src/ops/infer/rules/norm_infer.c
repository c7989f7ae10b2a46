/* Inference rules of normalizations: the data keeps its shape, and scales and statistics have their
 * own. */
#include "ops/infer/infer_int.h"

/* A parameter per channel: one axis of `*n` elements, which may determine their number. */
static hone_status merge_channels(hn_infer *c, uint32_t input, hn_dim *n) {
    HN_TRY(hn_expect_rank(c, input, 1, 1));
    hn_dim have = hn_in_dim(c, input, 0);
    if (hn_dim_is_known(have) && hn_dim_is_known(*n) && have != *n)
        return hn_infer_fail(c, HONE_E_SHAPE, "input %u is %s, but must have %lld elements", input,
                             hn_in_text(c, input), (long long)*n);
    return hn_merge_dim(c, "the number of channels", *n, have, n);
}

/* A scale or bias that must broadcast to the data, never the other way round. */
static hone_status check_stretches_to_data(hn_infer *c, uint32_t input) {
    const hn_shape *x = hn_in_shape(c, 0), *s = hn_in_shape(c, input);
    if (!x || !s)
        return HONE_OK;
    bool fits = s->rank <= x->rank;
    for (int32_t i = 1; fits && i <= s->rank; i++) {
        hn_dim have = s->dims[s->rank - i], want = x->dims[x->rank - i];
        fits = !hn_dim_is_known(have) || !hn_dim_is_known(want) || have == 1 || have == want;
    }
    return fits ? HONE_OK
                : hn_infer_fail(c, HONE_E_SHAPE, "input %u, %s, does not broadcast to the data %s",
                                input, hn_in_text(c, input), hn_in_text(c, 0));
}

static hone_status out_like_data(hn_infer *c, uint32_t output) {
    const hn_shape *x = hn_in_shape(c, 0);
    return x ? hn_out_shape(c, output, x->rank, x->dims) : HONE_OK;
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* Since version 14 the running statistics are outputs in training, and only then. */
static hone_status check_batch_norm_outputs(hn_infer *c) {
    if (hn_infer_version(c) < 14) {
        bool fits = hn_n_outputs(c) == 1 || hn_n_outputs(c) == 5;
        return fits ? HONE_OK
                    : hn_infer_fail(c, HONE_E_INVALID,
                                    "has %u outputs, but must have 1, or 5 to train",
                                    hn_n_outputs(c));
    }
    bool is_training = hn_attr_i(c, "training_mode", 0) != 0;
    bool has_statistics = hn_has_output(c, 1) || hn_has_output(c, 2);
    if (is_training && hn_n_outputs(c) != 3)
        return hn_infer_fail(c, HONE_E_SHAPE, "training_mode is set, which needs 3 outputs, not %u",
                             hn_n_outputs(c));
    if (!is_training && has_statistics)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "running statistics are outputs, which needs training_mode = 1");
    return HONE_OK;
}

hone_status hn_infer_batch_norm(hn_infer *c) {
    HN_TRY(check_batch_norm_outputs(c));
    HN_TRY(out_like_data(c, 0));
    if (hn_attr_i(c, "spatial", 1) == 0) /* statistics per element: [C, D1, ...] */
        return HONE_OK;
    int32_t rank = hn_in_rank(c, 0);
    hn_dim channels = rank < 0 || rank > 1 ? hn_in_dim(c, 0, 1) : 1;
    for (uint32_t i = 1; i <= 4; i++)
        HN_TRY(merge_channels(c, i, &channels));
    for (uint32_t i = 1; i < hn_n_outputs(c); i++)
        HN_TRY(hn_out_shape(c, i, 1, &channels));
    return HONE_OK;
}

/* ---- layer ----------------------------------------------------------------------------------- */

static hone_status stash_type(hn_infer *c, hn_dtype *out) {
    int64_t t = hn_attr_i(c, "stash_type", HN_F32);
    bool is_float = t == HN_F32 || t == HN_F16 || t == HN_BF16 || t == HN_F64;
    *out = is_float ? (hn_dtype)t : HN_UNDEFINED;
    return is_float ? HONE_OK
                    : hn_infer_fail(c, HONE_E_TYPE,
                                    "stash_type is %lld, but must be a floating-point type",
                                    (long long)t);
}

hone_status hn_infer_layer_norm(hn_infer *c) {
    hn_dtype stash;
    HN_TRY(stash_type(c, &stash));
    for (uint32_t i = 1; i < hn_n_outputs(c); i++)
        HN_TRY(hn_out_elem(c, i, stash));
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    int32_t axis;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -1), x->rank, &axis));
    HN_TRY(check_stretches_to_data(c, 1));
    HN_TRY(check_stretches_to_data(c, 2));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = i < axis ? x->dims[i] : 1;
    for (uint32_t i = 1; i < hn_n_outputs(c); i++)
        HN_TRY(hn_out_shape(c, i, x->rank, dims));
    return out_like_data(c, 0);
}

/* ---- the others ------------------------------------------------------------------------------ */

static hone_status check_group_norm(hn_infer *c) {
    int64_t groups = hn_attr_i(c, "num_groups", 1);
    hn_dim channels = hn_in_dim(c, 0, 1);
    if (groups < 1 || (hn_dim_is_known(channels) && channels % groups != 0))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "num_groups is %lld, but must divide the channels of the input %s",
                             (long long)groups, hn_in_text(c, 0));
    hn_dim n = hn_infer_version(c) < 21 ? groups : channels;
    HN_TRY(merge_channels(c, 1, &n));
    return merge_channels(c, 2, &n);
}

static hone_status check_instance_norm(hn_infer *c) {
    hn_dim channels = hn_in_dim(c, 0, 1);
    HN_TRY(merge_channels(c, 1, &channels));
    return merge_channels(c, 2, &channels);
}

static hone_status check_rms_norm(hn_infer *c) {
    int32_t axis;
    if (hn_in_shape(c, 0))
        HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", -1), hn_in_rank(c, 0), &axis));
    return check_stretches_to_data(c, 1);
}

hone_status hn_infer_norm(hn_infer *c) {
    static const struct {
        const char *op;
        hone_status (*check)(hn_infer *c);
    } checks[] = {{"GroupNormalization", check_group_norm},
                  {"InstanceNormalization", check_instance_norm},
                  {"RMSNormalization", check_rms_norm}};
    for (size_t i = 0; i < HN_COUNT(checks); i++)
        if (strcmp(hn_infer_op(c), checks[i].op) == 0)
            HN_TRY(checks[i].check(c));
    return out_like_data(c, 0);
}

hone_status hn_infer_dropout(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 1, 0, 0));
    HN_TRY(hn_expect_rank(c, 2, 0, 0));
    HN_TRY(out_like_data(c, 0));
    return out_like_data(c, 1);
}
