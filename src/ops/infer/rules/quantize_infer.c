/* Inference rules of quantization and dequantization: shapes stay, element types change. */
#include "ops/infer/infer_int.h"

static hone_status read_output_dtype(hn_infer *c, hn_dtype *out) {
    int64_t t = hn_attr_i(c, "output_dtype", HN_UNDEFINED);
    if (t < 0 || t >= HN_DTYPE_COUNT || t == HN_STRING || t == HN_BOOL)
        return hn_infer_fail(c, HONE_E_TYPE, "output_dtype is %lld, which is not a numeric type",
                             (long long)t);
    *out = (hn_dtype)t;
    return HONE_OK;
}

/* Blocks along `axis`: the scale has the shape of x, but one element per block on that axis. */
static hone_status check_blocked_scale(hn_infer *c, int64_t axis_attr, int64_t block) {
    const hn_shape *x = hn_in_shape(c, 0), *scale = hn_in_shape(c, 1);
    HN_TRY(hn_expect_rank(c, 1, x->rank, x->rank));
    int32_t axis;
    HN_TRY(hn_infer_axis(c, "axis", axis_attr, x->rank, &axis));
    for (int32_t i = 0; i < x->rank; i++) {
        hn_dim want = x->dims[i];
        if (i == axis)
            want = block > 0 ? hn_dim_ceil_div(hn_infer_syms(c), want, block) : HN_DIM_UNKNOWN;
        if (hn_dim_is_known(want) && hn_dim_is_known(scale->dims[i]) && want != scale->dims[i])
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "the scale is %s, but blocks of %lld along axis %d of %s need "
                                 "%lld elements in dimension %d",
                                 hn_in_text(c, 1), (long long)block, axis, hn_in_text(c, 0),
                                 (long long)want, i);
    }
    return HONE_OK;
}

/* One scale per tensor (a scalar or a single element), per slice of an axis, or per block. */
static hone_status check_scale(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0), *scale = hn_in_shape(c, 1);
    int64_t block = hn_attr_i(c, "block_size", 0), axis_attr = hn_attr_i(c, "axis", 1);
    if (block < 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "block_size is %lld, but must not be negative",
                             (long long)block);
    if (!x || !scale || scale->rank == 0)
        return HONE_OK;
    if (block > 0 || scale->rank > 1)
        return check_blocked_scale(c, axis_attr, block);
    int32_t axis;
    if (!hn_dim_is_known(scale->dims[0]) || scale->dims[0] == 1)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", axis_attr, x->rank, &axis));
    if (hn_dim_is_known(x->dims[axis]) && x->dims[axis] != scale->dims[0])
        return hn_infer_fail(
            c, HONE_E_SHAPE, "%lld scales for axis %d of %s, which has %lld elements",
            (long long)scale->dims[0], axis, hn_in_text(c, 0), (long long)x->dims[axis]);
    return HONE_OK;
}

static hone_status out_like_x(hn_infer *c) {
    HN_TRY(check_scale(c));
    const hn_shape *x = hn_in_shape(c, 0);
    return x ? hn_out_shape(c, 0, x->rank, x->dims) : HONE_OK;
}

hone_status hn_infer_quantize_linear(hn_infer *c) {
    hn_dtype wanted, elem = hn_in_elem(c, 2);
    HN_TRY(read_output_dtype(c, &wanted));
    if (wanted && elem && wanted != elem)
        return hn_infer_fail(c, HONE_E_TYPE, "output_dtype is %s, but the zero point is %s",
                             hn_dtype_name(wanted), hn_in_text(c, 2));
    if (!elem)
        elem = wanted || hn_has_input(c, 2) ? wanted : HN_U8;
    HN_TRY(hn_out_elem(c, 0, elem));
    return out_like_x(c);
}

hone_status hn_infer_dequantize_linear(hn_infer *c) {
    hn_dtype elem;
    HN_TRY(read_output_dtype(c, &elem));
    if (!elem)
        elem = hn_in_elem(c, 1);
    if (elem == HN_F8E8M0)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "the scale is %s, so output_dtype must give the type of the output",
                             hn_in_text(c, 1));
    HN_TRY(hn_out_elem(c, 0, elem));
    return out_like_x(c);
}

hone_status hn_infer_dynamic_quantize_linear(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    if (x)
        HN_TRY(hn_out_shape(c, 0, x->rank, x->dims));
    HN_TRY(hn_out_shape(c, 1, 0, NULL));
    return hn_out_shape(c, 2, 0, NULL);
}
