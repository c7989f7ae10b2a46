/* Inference rules of operators whose output has the shape of their first input. */
#include "ops/infer/follow.h"

static hn_sint negated(hn_syms *s, hn_sint v) {
    return hn_sint_apply(s, HN_SINT_SUB, hn_sint_const(0), v);
}

static hn_sint magnitude_of_sint(hn_syms *s, hn_sint v) {
    return hn_sint_apply(s, HN_SINT_MAX, v, negated(s, v));
}

static hn_sint inverted(hn_syms *s, hn_sint v) {
    return hn_sint_apply(s, HN_SINT_SUB, hn_sint_const(1), v);
}

/* Unary operators that occur in shape computations. */
static const struct {
    const char *op;
    hn_sint (*apply)(hn_syms *s, hn_sint v);
} followed_unary[] = {{"Abs", magnitude_of_sint}, {"Neg", negated}, {"Not", inverted}};

static hone_status follow_unary(hn_infer *c, hn_sint (*apply)(hn_syms *, hn_sint)) {
    const hn_sint *elems;
    uint32_t n;
    bool is_scalar;
    if (!hn_in_ints(c, 0, &n, &elems, &is_scalar))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
    HN_TRY_PTR(out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = apply(hn_infer_syms(c), elems[i]);
    return hn_out_followed(c, 0, hn_in_elem(c, 0), n, out, is_scalar);
}

/* An absent bound does not apply; an unknown one makes the result unknown. */
static bool clip_bound(hn_infer *c, uint32_t input, hn_sint *bound) {
    const hn_sint *elems;
    uint32_t n;
    if (!hn_in_ints(c, input, &n, &elems, NULL) || n != 1)
        return false;
    *bound = elems[0];
    return true;
}

static hone_status follow_clip(hn_infer *c) {
    const hn_sint *elems;
    hn_sint low = {HN_SINT_UNKNOWN, 0}, high = low;
    uint32_t n;
    bool is_scalar, has_low = hn_has_input(c, 1), has_high = hn_has_input(c, 2);
    if (!hn_in_ints(c, 0, &n, &elems, &is_scalar) || (has_low && !clip_bound(c, 1, &low)) ||
        (has_high && !clip_bound(c, 2, &high)))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
    HN_TRY_PTR(out);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = elems[i];
        if (has_low)
            out[i] = hn_sint_apply(hn_infer_syms(c), HN_SINT_MAX, out[i], low);
        if (has_high)
            out[i] = hn_sint_apply(hn_infer_syms(c), HN_SINT_MIN, out[i], high);
    }
    return hn_out_followed(c, 0, hn_in_elem(c, 0), n, out, is_scalar);
}

hone_status hn_infer_elementwise(hn_infer *c) {
    const char *op = hn_infer_op(c);
    HN_TRY(hn_out_same(c, 0, 0));
    if (strcmp(op, "Identity") == 0) {
        const hn_tensor *t = hn_in_const(c, 0);
        return t ? hn_out_const(c, 0, t) : hn_out_followed_same(c, 0, 0, hn_in_elem(c, 0));
    }
    if (strcmp(op, "Clip") == 0)
        return follow_clip(c);
    for (size_t i = 0; i < HN_COUNT(followed_unary); i++)
        if (strcmp(op, followed_unary[i].op) == 0)
            return follow_unary(c, followed_unary[i].apply);
    return HONE_OK;
}

hone_status hn_infer_elementwise_bool(hn_infer *c) {
    return hn_out_shape_of(c, 0, 0);
}

/* Version 1 of Softmax and related operators flattens the input to a matrix at the axis, which may
 * then equal the rank. */
hone_status hn_infer_softmax(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0), axis;
    int64_t given = hn_attr_i(c, "axis", -1);
    bool is_flattened = hn_infer_version(c) == 1 && strcmp(hn_infer_op(c), "LpNormalization") != 0;
    bool is_behind = is_flattened && given == rank;
    if (rank >= 0 && !is_behind)
        HN_TRY(hn_infer_axis(c, "axis", given, rank, &axis));
    return hn_out_shape_of(c, 0, 0);
}

/* The slope must broadcast to the shape of X. Before version 7 it is one number, or one per
 * channel. */
hone_status hn_infer_prelu(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0), *slope = hn_in_shape(c, 1);
    for (int32_t i = 1; x && slope && hn_infer_version(c) >= 7 && i <= slope->rank; i++) {
        hn_dim want = i <= x->rank ? x->dims[x->rank - i] : 0, have = slope->dims[slope->rank - i];
        bool fits = !hn_dim_is_known(have) || have == 1 || !hn_dim_is_known(want) || have == want;
        if (i > x->rank || !fits)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "slope is %s, which does not broadcast to the shape of X, %s",
                                 hn_in_text(c, 1), hn_in_text(c, 0));
    }
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_cumulative(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0), axis;
    int64_t given;
    HN_TRY(hn_expect_rank(c, 1, 0, 1));
    if (rank >= 0 && hn_in_i64(c, 1, &given))
        HN_TRY(hn_infer_axis(c, "axis", given, rank, &axis));
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_trilu(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_reverse_sequence(hn_infer *c) {
    int64_t batch_axis = hn_attr_i(c, "batch_axis", 1), time_axis = hn_attr_i(c, "time_axis", 0);
    hn_dim batch;
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    if (batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "batch_axis is %lld and time_axis is %lld, but one must be 0 and the other 1",
            (long long)batch_axis, (long long)time_axis);
    HN_TRY(hn_merge_dim(c, "the batch size", hn_in_dim(c, 0, (int32_t)batch_axis),
                        hn_in_dim(c, 1, 0), &batch));
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_swiglu(hn_infer *c) {
    const hn_shape *a = hn_in_shape(c, 0), *b = hn_in_shape(c, 1);
    if (!a || !b)
        return hn_out_shape_of(c, 0, a ? 0 : 1);
    if (a->rank != b->rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "A is %s and B is %s, but both must have one shape",
                             hn_in_text(c, 0), hn_in_text(c, 1));
    hn_dim *dims = hn_infer_dims(c, a->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < a->rank; i++)
        HN_TRY(hn_merge_dim(c, "a dimension of A and B", a->dims[i], b->dims[i], &dims[i]));
    return hn_out_shape(c, 0, a->rank, dims);
}
