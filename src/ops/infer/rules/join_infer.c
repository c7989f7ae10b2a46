/* Inference rules of operators that join or extend tensors: Concat, Pad, CenterCropPad. */
#include "ops/infer/follow.h"

/* ---- Concat ---------------------------------------------------------------------------------- */

/* The rank that all inputs share; -1 when none is known. */
static hone_status common_rank(hn_infer *c, int32_t *rank) {
    uint32_t first = 0;
    *rank = -1;
    for (uint32_t k = 0; k < hn_n_inputs(c); k++) {
        int32_t r = hn_in_rank(c, k);
        if (r < 0)
            continue;
        if (*rank >= 0 && r != *rank)
            return hn_infer_fail(
                c, HONE_E_SHAPE,
                "input %u is %s and input %u is %s, but all inputs must have one rank", first,
                hn_in_text(c, first), k, hn_in_text(c, k));
        first = *rank < 0 ? k : first;
        *rank = r;
    }
    return HONE_OK;
}

static hone_status merge_concat_input(hn_infer *c, uint32_t k, int32_t axis, int32_t rank,
                                      hn_dim *dims) {
    const hn_shape *s = hn_in_shape(c, k);
    dims[axis] = hn_dim_add(hn_infer_syms(c), dims[axis], hn_in_dim(c, k, axis));
    for (int32_t i = 0; s && i < rank; i++) {
        if (i == axis)
            continue;
        if (hn_dim_is_known(dims[i]) && hn_dim_is_known(s->dims[i]) && dims[i] != s->dims[i])
            return hn_infer_fail(
                c, HONE_E_SHAPE,
                "input %u is %s, but the inputs before it have size %lld at axis %d", k,
                hn_in_text(c, k), (long long)dims[i], i);
        HN_TRY(hn_merge_dim(c, "a dimension that all inputs share", dims[i], s->dims[i], &dims[i]));
    }
    return HONE_OK;
}

static hone_status follow_concat(hn_infer *c, uint32_t length) {
    const hn_sint *elems;
    uint32_t n, total = 0;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)length + 1);
    HN_TRY_PTR(out);
    for (uint32_t k = 0; k < hn_n_inputs(c); k++) {
        if (!hn_in_ints(c, k, &n, &elems, NULL) || n > length - total)
            return HONE_OK;
        if (n > 0)
            memcpy(out + total, elems, n * sizeof *out);
        total += n;
    }
    return hn_out_followed(c, 0, hn_in_elem(c, 0), total, out, false);
}

hone_status hn_infer_concat(hn_infer *c) {
    int32_t rank, axis;
    HN_TRY(common_rank(c, &rank));
    if (rank < 0)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 1), rank, &axis));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    dims[axis] = 0;
    for (uint32_t k = 0; k < hn_n_inputs(c); k++)
        HN_TRY(merge_concat_input(c, k, axis, rank, dims));
    HN_TRY(hn_out_shape(c, 0, rank, dims));
    bool is_short = hn_dim_is_known(dims[axis]) && dims[axis] <= HN_MAX_FOLLOWED;
    return rank == 1 && is_short ? follow_concat(c, (uint32_t)dims[axis]) : HONE_OK;
}

/* ---- Pad ------------------------------------------------------------------------------------- */

static hone_status check_pad_mode(hn_infer *c) {
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    bool has_wrap = hn_infer_version(c) >= 19;
    for (size_t i = 0; i < HN_COUNT(modes) - !has_wrap; i++)
        if (hn_attr_is(c, "mode", modes[i]))
            return HONE_OK;
    return hn_infer_fail(c, HONE_E_INVALID, "mode must be constant, reflect%s edge%s",
                         has_wrap ? "," : " or", has_wrap ? " or wrap" : "");
}

/* The size of a dimension with its padding before and after; negative pads crop. */
static hone_status padded_dim(hn_infer *c, int32_t axis, hn_sint before, hn_sint after,
                              hn_dim *dim) {
    hn_syms *s = hn_infer_syms(c);
    hn_sint size = hn_sint_apply(s, HN_SINT_ADD, hn_sint_from_dim(*dim),
                                 hn_sint_apply(s, HN_SINT_ADD, before, after));
    if (size.kind == HN_SINT_CONST && size.v < 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "pads cut more from axis %d than %s has", axis,
                             hn_in_text(c, 0));
    *dim = hn_sint_to_dim(size);
    return HONE_OK;
}

/* pads holds the amounts before every axis, then those after. Without axes it applies to all. */
static hone_status pad_axes(hn_infer *c, const hn_int_list *pads, const hn_int_list *axes) {
    const hn_shape *x = hn_in_shape(c, 0);
    uint32_t n = axes->is_counted ? axes->n : axes->is_given ? pads->n / 2 : (uint32_t)x->rank;
    hn_axis_set touched;
    if (pads->n % 2 != 0 || pads->n / 2 != n)
        return hn_infer_fail(c, HONE_E_SHAPE, "pads has %u entries, but %u axes need two each",
                             pads->n, n);
    HN_TRY(hn_axis_set_read(c, "axes", axes, x->rank, &touched));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    if (axes->is_given && !touched.is_known)
        return hn_out_shape(c, 0, x->rank, dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = (int32_t)i;
        if (axes->is_given)
            HN_TRY(hn_infer_axis(c, "axes", axes->elems[i].v, x->rank, &axis));
        HN_TRY(padded_dim(c, axis, pads->elems[i], pads->elems[n + i], &dims[axis]));
    }
    return hn_out_shape(c, 0, x->rank, dims);
}

hone_status hn_infer_pad(hn_infer *c) {
    hn_int_list pads, axes;
    int32_t rank = hn_in_rank(c, 0);
    HN_TRY(check_pad_mode(c));
    HN_TRY(hn_int_list_read(c, hn_infer_version(c) == 1 ? "paddings" : "pads", 1, &pads));
    HN_TRY(hn_int_list_read(c, "axes", 3, &axes));
    if (rank < 0)
        return HONE_OK;
    if (pads.is_counted)
        return pad_axes(c, &pads, &axes);
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    return hn_out_shape(c, 0, rank, dims);
}

/* ---- CenterCropPad --------------------------------------------------------------------------- */

hone_status hn_infer_center_crop_pad(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_sint *sizes;
    uint32_t n_sizes;
    hn_int_list axes;
    hn_axis_set touched;
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    HN_TRY(hn_int_list_read(c, "axes", HN_NO_INPUT, &axes));
    if (!x)
        return HONE_OK;
    HN_TRY(hn_axis_set_read(c, "axes", &axes, x->rank, &touched));
    uint32_t n = axes.is_given ? axes.n : (uint32_t)x->rank;
    bool is_counted = hn_in_ints(c, 1, &n_sizes, &sizes, NULL);
    if (is_counted && n_sizes != n)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "shape has %u entries, but %u axes are cropped or padded", n_sizes, n);
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = (int32_t)i;
        if (axes.is_given)
            HN_TRY(hn_infer_axis(c, "axes", axes.elems[i].v, x->rank, &axis));
        dims[axis] = is_counted ? hn_sint_to_dim(sizes[i]) : HN_DIM_UNKNOWN;
    }
    return hn_out_shape(c, 0, x->rank, dims);
}
