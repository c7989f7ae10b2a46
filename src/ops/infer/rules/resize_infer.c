/* Inference rules of Resize and Upsample: target sizes, or scales of dimensions that may be
 * symbolic. */
#include "ops/infer/infer_int.h"

#include <math.h>

/* The axes that are resized; the others keep their size. */
typedef struct resize_axes {
    uint32_t n;
    int32_t at[HN_MAX_RANK];
} resize_axes;

static hone_status read_resize_axes(hn_infer *c, int32_t rank, resize_axes *axes) {
    uint32_t n;
    const int64_t *list;
    bool taken[HN_MAX_RANK] = {false};
    if (rank > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT, "rank %d; hone allows %d", rank, HN_MAX_RANK);
    bool is_given = hn_attr_ints(c, "axes", &n, &list);
    axes->n = is_given ? n : (uint32_t)rank;
    if (axes->n > (uint32_t)rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "axes has %u entries for %s", n, hn_in_text(c, 0));
    for (uint32_t i = 0; i < axes->n; i++) {
        HN_TRY(hn_infer_axis(c, "a value of axes", is_given ? list[i] : i, rank, &axes->at[i]));
        if (taken[axes->at[i]])
            return hn_infer_fail(c, HONE_E_SHAPE, "axes names axis %d twice", axes->at[i]);
        taken[axes->at[i]] = true;
    }
    return HONE_OK;
}

static hone_status check_resize_count(hn_infer *c, const char *what, uint64_t n,
                                      const resize_axes *axes) {
    if (n == axes->n)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE, "%s has %llu values, but %u axes of %s are resized", what,
                         (unsigned long long)n, axes->n, hn_in_text(c, 0));
}

/* ---- scales ---------------------------------------------------------------------------------- */

/* 2^62 or more is not a valid size. */
static bool is_size(double v) {
    return v < 4611686018427387904.0;
}

/* floor(d * scale). For symbols the scale is converted to a fraction: 0.5 gives floor(d/2). */
static hn_dim scaled_dim(hn_syms *s, hn_dim d, double scale) {
    const int64_t largest_fraction = 1 << 20;
    if (hn_dim_is_known(d)) {
        double product = floor((double)d * scale);
        return is_size(product) ? (int64_t)product : HN_DIM_UNKNOWN;
    }
    int64_t denominator = 1;
    while (scale != floor(scale) && denominator < largest_fraction) {
        scale *= 2;
        denominator *= 2;
    }
    if (scale != floor(scale) || !is_size(scale))
        return HN_DIM_UNKNOWN;
    return hn_dim_floor_div(s, hn_dim_mul_i(s, d, (int64_t)scale), denominator);
}

static hone_status apply_scale(hn_infer *c, double scale, hn_dim *d) {
    if (!(scale > 0))
        return hn_infer_fail(c, HONE_E_SHAPE, "a scale is %g, but scales must be positive", scale);
    *d = scaled_dim(hn_infer_syms(c), *d, scale);
    return HONE_OK;
}

/* Scales from an input. Only a constant determines sizes. */
static hone_status resize_by_input(hn_infer *c, uint32_t input, const resize_axes *axes,
                                   hn_dim *dims) {
    const hn_tensor *t = hn_in_const(c, input);
    HN_TRY(hn_expect_rank(c, input, 1, 1));
    hn_dim n = hn_in_dim(c, input, 0);
    if (hn_dim_is_known(n))
        HN_TRY(check_resize_count(c, "scales", (uint64_t)n, axes));
    for (uint32_t i = 0; i < axes->n; i++) {
        double scale;
        if (t && hn_tensor_get_f64(t, i, &scale))
            HN_TRY(apply_scale(c, scale, &dims[axes->at[i]]));
        else
            dims[axes->at[i]] = HN_DIM_UNKNOWN;
    }
    return HONE_OK;
}

/* Upsample's attributes: a list (7), or height and width of an image (1). */
static hone_status resize_by_attributes(hn_infer *c, const resize_axes *axes, hn_dim *dims) {
    if (hn_infer_version(c) < 7) {
        HN_TRY(hn_expect_rank(c, 0, 4, 4));
        HN_TRY(apply_scale(c, (double)hn_attr_f(c, "height_scale", 1), &dims[2]));
        return apply_scale(c, (double)hn_attr_f(c, "width_scale", 1), &dims[3]);
    }
    const hn_attr *scales = hn_attr_raw(c, "scales");
    if (!scales)
        return HONE_OK;
    HN_TRY(check_resize_count(c, "scales", scales->n, axes));
    for (uint32_t i = 0; i < axes->n; i++)
        HN_TRY(apply_scale(c, (double)scales->v.floats[i], &dims[axes->at[i]]));
    return HONE_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The single scale that keeps the aspect ratio: the smallest or the largest that the sizes imply.
 * All sizes must be known. */
static bool common_scale(const hn_dim *dims, const resize_axes *axes, const hn_dim *sizes,
                         bool smallest, double *scale) {
    for (uint32_t i = 0; i < axes->n; i++) {
        hn_dim d = dims[axes->at[i]];
        if (!hn_dim_is_known(sizes[i]) || !hn_dim_is_known(d) || d == 0)
            return false;
        double s = (double)sizes[i] / (double)d;
        if (i == 0 || (smallest ? s < *scale : s > *scale))
            *scale = s;
    }
    return axes->n > 0;
}

static hone_status resize_to_sizes(hn_infer *c, uint32_t input, const resize_axes *axes,
                                   hn_dim *dims) {
    hn_dim sizes[HN_MAX_RANK];
    const hn_sint *elems;
    uint32_t n;
    HN_TRY(hn_expect_rank(c, input, 1, 1));
    bool has_elems = hn_in_ints(c, input, &n, &elems, NULL);
    if (has_elems)
        HN_TRY(check_resize_count(c, "sizes", n, axes));
    for (uint32_t i = 0; i < axes->n; i++)
        sizes[i] = has_elems ? hn_sint_to_dim(elems[i]) : HN_DIM_UNKNOWN;
    bool smallest = hn_attr_is(c, "keep_aspect_ratio_policy", "not_larger");
    bool stretch = !smallest && !hn_attr_is(c, "keep_aspect_ratio_policy", "not_smaller");
    double scale = 0;
    bool has_scale = !stretch && common_scale(dims, axes, sizes, smallest, &scale);
    for (uint32_t i = 0; i < axes->n; i++) {
        hn_dim *d = &dims[axes->at[i]];
        double kept = round(scale * (double)*d);
        if (stretch)
            *d = sizes[i] == 0 ? HN_DIM_UNKNOWN : sizes[i];
        else
            *d = has_scale && is_size(kept) ? (int64_t)kept : HN_DIM_UNKNOWN;
    }
    return HONE_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static hone_status check_policy(hn_infer *c, bool has_scales) {
    static const char *const policies[] = {"", "stretch", "not_larger", "not_smaller"};
    for (size_t i = 0; i < HN_COUNT(policies); i++) {
        if (!hn_attr_is(c, "keep_aspect_ratio_policy", policies[i]))
            continue;
        if (i >= 2 && has_scales)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "keep_aspect_ratio_policy '%s' needs sizes, but scales are given",
                                 policies[i]);
        return HONE_OK;
    }
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller");
}

/* An empty list stands for an absent input. */
static bool has_values(const hn_infer *c, uint32_t input) {
    return hn_has_input(c, input) && hn_in_dim(c, input, 0) != 0;
}

static hone_status resize_by_either(hn_infer *c, const resize_axes *axes, hn_dim *dims) {
    const uint32_t scales = 2, sizes = 3;
    bool has_scales = has_values(c, scales), has_sizes = has_values(c, sizes);
    if (hn_infer_version(c) >= 13 && has_scales == has_sizes)
        return hn_infer_fail(c, HONE_E_SHAPE, "either scales or sizes must be given, and not both");
    HN_TRY(check_policy(c, has_scales));
    if (has_sizes)
        return resize_to_sizes(c, sizes, axes, dims);
    return has_scales ? resize_by_input(c, scales, axes, dims) : HONE_OK;
}

hone_status hn_infer_resize(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    resize_axes axes;
    HN_TRY(read_resize_axes(c, x->rank, &axes));
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    if (hn_infer_version(c) >= 11)
        HN_TRY(resize_by_either(c, &axes, dims));
    else if (hn_infer_version(c) >= 9)
        HN_TRY(resize_by_input(c, 1, &axes, dims));
    else
        HN_TRY(resize_by_attributes(c, &axes, dims));
    return hn_out_shape(c, 0, x->rank, dims);
}
