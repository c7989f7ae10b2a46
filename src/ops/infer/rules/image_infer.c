/* Inference rules of sampling, regions and other image operators. */
#include "ops/infer/infer_int.h"

/* ---- sampling -------------------------------------------------------------------------------- */

hone_status hn_infer_grid_sample(hn_infer *c) {
    HN_TRY(hn_out_elem(c, 0, hn_in_elem(c, 0)));
    HN_TRY(hn_expect_rank(c, 0, 3, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, 1, 3, HN_MAX_RANK));
    int32_t x_rank = hn_in_rank(c, 0), grid_rank = hn_in_rank(c, 1);
    if (x_rank >= 0 && grid_rank >= 0 && x_rank != grid_rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "X is %s and the grid is %s: their ranks must agree",
                             hn_in_text(c, 0), hn_in_text(c, 1));
    int32_t rank = HN_MAX(x_rank, grid_rank);
    if (rank < 0)
        return HONE_OK;
    hn_dim coordinates = hn_in_dim(c, 1, -1);
    if (hn_dim_is_known(coordinates) && coordinates != rank - 2)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "the grid %s must have %d coordinates in its last dimension",
                             hn_in_text(c, 1), rank - 2);
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    HN_TRY(hn_merge_dim(c, "the batch size", hn_in_dim(c, 0, 0), hn_in_dim(c, 1, 0), &dims[0]));
    dims[1] = hn_in_dim(c, 0, 1);
    for (int32_t i = 2; i < rank; i++)
        dims[i] = hn_in_dim(c, 1, i - 1);
    return hn_out_shape(c, 0, rank, dims);
}

/* theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W]. */
hone_status hn_infer_affine_grid(hn_infer *c) {
    const hn_sint *size;
    uint32_t n;
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    if (!hn_in_ints(c, 1, &n, &size, NULL))
        return HONE_OK;
    if (n != 4 && n != 5)
        return hn_infer_fail(c, HONE_E_SHAPE, "size has %u values, but must have 4 or 5", n);
    int32_t n_axes = (int32_t)n - 2;
    hn_dim rows, cols, batch;
    HN_TRY(hn_merge_dim(c, "the number of rows of theta", n_axes, hn_in_dim(c, 0, 1), &rows));
    HN_TRY(
        hn_merge_dim(c, "the number of columns of theta", n_axes + 1, hn_in_dim(c, 0, 2), &cols));
    HN_TRY(hn_merge_dim(c, "the batch size", hn_sint_to_dim(size[0]), hn_in_dim(c, 0, 0), &batch));
    hn_dim dims[5] = {batch};
    for (int32_t i = 1; i <= n_axes; i++)
        dims[i] = hn_sint_to_dim(size[i + 1]);
    dims[n_axes + 1] = n_axes;
    return hn_out_shape(c, 0, n_axes + 2, dims);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* X [N, C, H, W], rois [R, 4], batch_indices [R]; gives [R, C, height, width]. */
static hone_status pool_regions(hn_infer *c, hn_dim height, hn_dim width) {
    hn_dim four, regions;
    HN_TRY(hn_expect_rank(c, 0, 4, 4));
    HN_TRY(hn_expect_rank(c, 1, 2, 2));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    HN_TRY(
        hn_merge_dim(c, "the length of a region (x1, y1, x2, y2)", hn_in_dim(c, 1, 1), 4, &four));
    HN_TRY(
        hn_merge_dim(c, "the number of regions", hn_in_dim(c, 1, 0), hn_in_dim(c, 2, 0), &regions));
    return hn_out_shape(c, 0, 4, (hn_dim[]){regions, hn_in_dim(c, 0, 1), height, width});
}

hone_status hn_infer_roi_align(hn_infer *c) {
    int64_t height = hn_attr_i(c, "output_height", 1), width = hn_attr_i(c, "output_width", 1);
    if (height < 1 || width < 1)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "output_height and output_width are %lld and %lld, but must be positive",
            (long long)height, (long long)width);
    return pool_regions(c, height, width);
}

hone_status hn_infer_crop_and_resize(hn_infer *c) {
    const hn_sint *size;
    uint32_t n;
    HN_TRY(hn_expect_rank(c, 3, 1, 1));
    if (!hn_in_ints(c, 3, &n, &size, NULL))
        return pool_regions(c, HN_DIM_UNKNOWN, HN_DIM_UNKNOWN);
    if (n != 2)
        return hn_infer_fail(c, HONE_E_SHAPE, "crop_size has %u values, but must have 2", n);
    return pool_regions(c, hn_sint_to_dim(size[0]), hn_sint_to_dim(size[1]));
}

/* The number of boxes that remain depends on the data. */
hone_status hn_infer_non_max_suppression(hn_infer *c) {
    hn_dim four, same;
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_expect_rank(c, 1, 3, 3));
    HN_TRY(hn_merge_dim(c, "the length of a box", hn_in_dim(c, 0, 2), 4, &four));
    HN_TRY(hn_merge_dim(c, "the batch size", hn_in_dim(c, 0, 0), hn_in_dim(c, 1, 0), &same));
    HN_TRY(hn_merge_dim(c, "the number of boxes", hn_in_dim(c, 0, 1), hn_in_dim(c, 1, 2), &same));
    return hn_out_shape(c, 0, 2, (hn_dim[]){HN_DIM_UNKNOWN, 3});
}

/* ---- whole images ---------------------------------------------------------------------------- */

hone_status hn_infer_image_decoder(hn_infer *c) {
    bool is_gray = hn_attr_is(c, "pixel_format", "Grayscale");
    HN_TRY(hn_expect_rank(c, 0, 1, 1));
    if (!is_gray && !hn_attr_is(c, "pixel_format", "RGB") && !hn_attr_is(c, "pixel_format", "BGR"))
        return hn_infer_fail(c, HONE_E_SHAPE, "pixel_format must be RGB, BGR or Grayscale");
    return hn_out_shape(c, 0, 3, (hn_dim[]){HN_DIM_UNKNOWN, HN_DIM_UNKNOWN, is_gray ? 1 : 3});
}

/* The number of spatial axes, from every input and attribute with one value per axis; -1 when none
 * is known. */
static hone_status col2im_axes(hn_infer *c, hn_dim *n_axes) {
    static const struct {
        const char *name;
        uint32_t per_axis;
    } lists[] = {{"dilations", 1}, {"pads", 2}, {"strides", 1}};
    HN_TRY(hn_merge_dim(c, "the number of spatial axes", hn_in_dim(c, 1, 0), hn_in_dim(c, 2, 0),
                        n_axes));
    for (size_t i = 0; i < HN_COUNT(lists); i++) {
        uint32_t n;
        const int64_t *values;
        if (!hn_attr_ints(c, lists[i].name, &n, &values))
            continue;
        if (n % lists[i].per_axis != 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "%s must have an even number of values",
                                 lists[i].name);
        HN_TRY(
            hn_merge_dim(c, "the number of spatial axes", *n_axes, n / lists[i].per_axis, n_axes));
    }
    return HONE_OK;
}

/* Elements of one block; unknown unless the block is a constant. */
static hone_status block_elems(hn_infer *c, hn_dim *out) {
    const hn_sint *block;
    uint32_t n;
    *out = HN_DIM_UNKNOWN;
    if (!hn_in_ints(c, 2, &n, &block, NULL))
        return HONE_OK;
    *out = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (block[i].kind == HN_SINT_CONST && block[i].v < 1)
            return hn_infer_fail(c, HONE_E_SHAPE, "block_shape holds %lld, but must be positive",
                                 (long long)block[i].v);
        *out = hn_dim_mul(hn_infer_syms(c), *out, hn_sint_to_dim(block[i]));
    }
    return HONE_OK;
}

static hone_status col2im_channels(hn_infer *c, hn_dim *channels) {
    hn_dim block, columns = hn_in_dim(c, 0, 1);
    HN_TRY(block_elems(c, &block));
    if (hn_dim_is_known(block) && hn_dim_is_known(columns) && columns % block != 0)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the input %s has %lld rows, which blocks of %lld elements do not divide",
            hn_in_text(c, 0), (long long)columns, (long long)block);
    *channels = hn_dim_floor_div(hn_infer_syms(c), columns, block);
    return HONE_OK;
}

hone_status hn_infer_col2im(hn_infer *c) {
    hn_dim n_axes;
    HN_TRY(hn_expect_rank(c, 0, 3, 3));
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    HN_TRY(col2im_axes(c, &n_axes));
    if (!hn_dim_is_known(n_axes) || n_axes > HN_MAX_RANK - 2)
        return HONE_OK;
    int32_t rank = (int32_t)n_axes + 2;
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    dims[0] = hn_in_dim(c, 0, 0);
    HN_TRY(col2im_channels(c, &dims[1]));
    const hn_sint *sizes;
    uint32_t n;
    bool has_sizes = hn_in_ints(c, 1, &n, &sizes, NULL);
    for (uint32_t i = 0; has_sizes && i < n && i < (uint32_t)n_axes; i++)
        dims[i + 2] = hn_sint_to_dim(sizes[i]);
    return hn_out_shape(c, 0, rank, dims);
}
