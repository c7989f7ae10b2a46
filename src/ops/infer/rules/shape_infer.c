/* Inference rules of operators that read a shape or change the shape of their input. */
#include "ops/infer/follow.h"

/* ---- Shape and Size -------------------------------------------------------------------------- */

/* Clamps a bound of Shape's range of axes to [0, rank]; a negative one is relative to the end. */
static int32_t clamp_axis(int64_t axis, int32_t rank) {
    if (axis < 0)
        axis = axis < -(int64_t)rank ? 0 : axis + rank;
    return (int32_t)HN_MIN(axis, (int64_t)rank);
}

hone_status hn_infer_shape(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dim count = HN_DIM_UNKNOWN;
    if (!x)
        return hn_out_shape(c, 0, 1, &count);
    int32_t start = clamp_axis(hn_attr_i(c, "start", 0), x->rank);
    int32_t end = clamp_axis(hn_attr_i(c, "end", x->rank), x->rank);
    count = end > start ? end - start : 0;
    hn_sint *elems = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)count + 1);
    HN_TRY_PTR(elems);
    for (int32_t i = 0; i < (int32_t)count; i++)
        elems[i] = hn_sint_from_dim(x->dims[start + i]);
    HN_TRY(hn_out_shape(c, 0, 1, &count));
    return hn_out_followed(c, 0, HN_I64, (uint32_t)count, elems, false);
}

hone_status hn_infer_size(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_out_shape(c, 0, 0, NULL));
    if (!x)
        return HONE_OK;
    hn_sint size = hn_sint_from_dim(hn_shape_elems(hn_infer_syms(c), x));
    return hn_out_followed(c, 0, HN_I64, 1, &size, true);
}

/* ---- Transpose ------------------------------------------------------------------------------- */

static hone_status check_permutation(hn_infer *c, uint32_t n, const int64_t *perm) {
    uint64_t seen = 0;
    int32_t rank = hn_in_rank(c, 0);
    if (rank >= 0 && n != (uint32_t)rank)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "perm has %u entries, but the input is %s: it needs %d", n,
                             hn_in_text(c, 0), rank);
    if (n > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT, "perm has %u entries; hone supports up to rank %d", n,
                             HN_MAX_RANK);
    for (uint32_t i = 0; i < n; i++) {
        if (perm[i] < 0 || perm[i] >= (int64_t)n)
            return hn_infer_fail(c, HONE_E_SHAPE, "perm[%u] is %lld, but must lie in [0, %u)", i,
                                 (long long)perm[i], n);
        if ((seen >> perm[i]) & 1)
            return hn_infer_fail(c, HONE_E_SHAPE, "perm names axis %lld twice", (long long)perm[i]);
        seen |= (uint64_t)1 << perm[i];
    }
    return HONE_OK;
}

/* Propagates the elements of a small transposed matrix. */
static hone_status follow_transpose(hn_infer *c) {
    hn_int_matrix m;
    if (!hn_in_int_matrix(c, 0, &m))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)m.n_rows * m.n_cols);
    HN_TRY_PTR(out);
    for (uint32_t row = 0; row < m.n_rows; row++)
        for (uint32_t col = 0; col < m.n_cols; col++)
            out[col * m.n_rows + row] = m.elems[row * m.n_cols + col];
    return hn_out_int_matrix(c, 0, &(hn_int_matrix){m.n_cols, m.n_rows, out});
}

hone_status hn_infer_transpose(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const int64_t *perm = NULL;
    uint32_t n = 0;
    bool has_perm = hn_attr_ints(c, "perm", &n, &perm);
    if (has_perm)
        HN_TRY(check_permutation(c, n, perm));
    if (!x && !has_perm)
        return HONE_OK;
    int32_t rank = x ? x->rank : (int32_t)n;
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0; x && i < rank; i++)
        dims[i] = x->dims[has_perm ? perm[i] : rank - 1 - i];
    HN_TRY(hn_out_shape(c, 0, rank, dims));
    if (rank == 2 && (!has_perm || perm[0] == 1))
        return follow_transpose(c);
    return hn_out_followed_same(c, 0, 0, hn_in_elem(c, 0));
}

/* ---- Squeeze and Unsqueeze ------------------------------------------------------------------- */

/* Without axes, every dimension of size 1 is removed; false when a size is unknown. */
static bool find_ones(const hn_shape *x, hn_axis_set *out) {
    *out = (hn_axis_set){.is_known = x->rank <= HN_MAX_RANK};
    for (int32_t i = 0; out->is_known && i < x->rank; i++) {
        out->is_known = hn_dim_is_known(x->dims[i]);
        if (x->dims[i] == 1) {
            out->bits |= (uint64_t)1 << i;
            out->n++;
        }
    }
    return out->is_known;
}

static hone_status out_squeezed(hn_infer *c, const hn_shape *x, const hn_axis_set *gone) {
    hn_dim *dims = hn_infer_dims(c, x->rank);
    int32_t rank = 0;
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++) {
        if (!hn_axis_set_has(gone, i))
            dims[rank++] = x->dims[i];
        else if (hn_dim_is_known(x->dims[i]) && x->dims[i] != 1)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "axis %d of input %s has size %lld: only size 1 can be squeezed",
                                 i, hn_in_text(c, 0), (long long)x->dims[i]);
    }
    return hn_out_shape(c, 0, rank, dims);
}

/* Sets only the rank, when the number of axes is known but not which. */
static hone_status out_rank_only(hn_infer *c, int64_t rank) {
    if (rank < 0 || rank > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s with these axes has no valid rank (%lld)",
                             hn_in_text(c, 0), (long long)rank);
    hn_dim *dims = hn_infer_dims(c, (int32_t)rank);
    HN_TRY_PTR(dims);
    return hn_out_shape(c, 0, (int32_t)rank, dims);
}

/* A vector of one element and a scalar propagate the same integer. */
static hone_status follow_to_rank(hn_infer *c, int32_t rank) {
    const hn_sint *elems;
    uint32_t n;
    if (rank > 1 || !hn_in_ints(c, 0, &n, &elems, NULL) || (rank == 0 && n != 1))
        return HONE_OK;
    return hn_out_followed(c, 0, hn_in_elem(c, 0), n, elems, rank == 0);
}

hone_status hn_infer_squeeze(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_int_list axes;
    hn_axis_set gone;
    HN_TRY(hn_int_list_read(c, "axes", 1, &axes));
    if (!x)
        return HONE_OK;
    if (!axes.is_given) {
        if (!find_ones(x, &gone))
            return HONE_OK;
    } else {
        HN_TRY(hn_axis_set_read(c, "axes", &axes, x->rank, &gone));
        if (!gone.is_known)
            return axes.is_counted && axes.n == 1 /* several may be the same */
                       ? out_rank_only(c, (int64_t)x->rank - 1)
                       : HONE_OK;
    }
    HN_TRY(out_squeezed(c, x, &gone));
    return follow_to_rank(c, x->rank - (int32_t)gone.n);
}

/* Adds dimensions of size 1 at the axes of `fresh`, which refer to the result. */
static hone_status out_unsqueezed(hn_infer *c, const hn_shape *x, const hn_axis_set *fresh) {
    int32_t rank = x->rank + (int32_t)fresh->n;
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    for (int32_t i = 0, from = 0; i < rank; i++)
        dims[i] = hn_axis_set_has(fresh, i) ? 1 : x->dims[from++];
    HN_TRY(hn_out_shape(c, 0, rank, dims));
    return follow_to_rank(c, rank);
}

hone_status hn_infer_unsqueeze(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_int_list axes;
    hn_axis_set fresh;
    HN_TRY(hn_int_list_read(c, "axes", 1, &axes));
    if (!x || !axes.is_counted)
        return HONE_OK;
    int64_t rank = (int64_t)x->rank + axes.n;
    if (rank > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "the output would have rank %lld; hone supports up to %d",
                             (long long)rank, HN_MAX_RANK);
    HN_TRY(hn_axis_set_read(c, "axes", &axes, (int32_t)rank, &fresh));
    if (!fresh.is_known)
        return out_rank_only(c, rank);
    if (fresh.n != axes.n)
        return hn_infer_fail(c, HONE_E_SHAPE, "axes names one axis twice; the output has rank %lld",
                             (long long)rank);
    return out_unsqueezed(c, x, &fresh);
}

/* com.microsoft: one axis, as an int32 scalar. */
hone_status hn_infer_expand_dims(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_axis_set fresh = {.is_known = true, .n = 1};
    int64_t given;
    int32_t axis;
    if (!x || x->rank >= HN_MAX_RANK)
        return HONE_OK;
    if (!hn_in_i64(c, 1, &given))
        return out_rank_only(c, (int64_t)x->rank + 1);
    HN_TRY(hn_infer_axis(c, "axis", given, x->rank + 1, &axis));
    fresh.bits = (uint64_t)1 << axis;
    return out_unsqueezed(c, x, &fresh);
}

/* ---- Expand and Tile ------------------------------------------------------------------------- */

hone_status hn_infer_expand(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_sint *target, *elems;
    uint32_t n, n_elems;
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    if (!x || !hn_in_ints(c, 1, &n, &target, NULL) || n > HN_MAX_RANK)
        return HONE_OK;
    hn_dim *wanted = hn_infer_dims(c, (int32_t)n);
    HN_TRY_PTR(wanted);
    for (uint32_t i = 0; i < n; i++)
        wanted[i] = hn_sint_to_dim(target[i]);
    const hn_shape goal = {(int32_t)n, wanted}, *both[] = {x, &goal};
    int32_t rank;
    const hn_dim *dims;
    HN_TRY(hn_broadcast(c, 2, both, &rank, &dims));
    HN_TRY(hn_out_shape(c, 0, rank, dims));
    bool is_filled = rank == 1 && hn_dim_is_known(dims[0]) && dims[0] <= HN_MAX_FOLLOWED;
    if (!is_filled || !hn_in_ints(c, 0, &n_elems, &elems, NULL) ||
        (n_elems != 1 && n_elems != (uint64_t)dims[0]))
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)dims[0] + 1);
    HN_TRY_PTR(out);
    for (hn_dim i = 0; i < dims[0]; i++)
        out[i] = elems[n_elems == 1 ? 0 : i];
    return hn_out_followed(c, 0, hn_in_elem(c, 0), (uint32_t)dims[0], out, false);
}

/* Version 1: scalars of the data's type give the repetitions of one axis. */
static hone_status infer_tile_axis(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_tensor *tiles = hn_in_const(c, 1), *axis_data = hn_in_const(c, 2);
    double times = 0, given = 0;
    int32_t axis;
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    if (!axis_data || !hn_tensor_get_f64(axis_data, 0, &given) ||
        !(given >= -HN_MAX_RANK && given <= HN_MAX_RANK))
        return hn_out_shape(c, 0, x->rank, dims);
    HN_TRY(hn_infer_axis(c, "axis", (int64_t)given, x->rank, &axis));
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    bool is_counted =
        tiles && hn_tensor_get_f64(tiles, 0, &times) && times >= 0 && times < (double)(1LL << 53);
    dims[axis] =
        is_counted ? hn_dim_mul_i(hn_infer_syms(c), dims[axis], (int64_t)times) : HN_DIM_UNKNOWN;
    return hn_out_shape(c, 0, x->rank, dims);
}

/* A vector repeated end to end. */
static hone_status follow_tile(hn_infer *c, hn_sint times) {
    const hn_sint *elems;
    uint32_t n;
    if (!hn_in_ints(c, 0, &n, &elems, NULL) || times.kind != HN_SINT_CONST || times.v < 0 ||
        times.v > HN_MAX_FOLLOWED || (uint64_t)times.v * n > HN_MAX_FOLLOWED)
        return HONE_OK;
    uint32_t total = (uint32_t)times.v * n;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)total + 1);
    HN_TRY_PTR(out);
    for (uint32_t i = 0; i < total; i++)
        out[i] = elems[i % n];
    return hn_out_followed(c, 0, hn_in_elem(c, 0), total, out, false);
}

hone_status hn_infer_tile(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_sint *repeats = NULL;
    uint32_t n = 0;
    if (hn_infer_version(c) < 6)
        return infer_tile_axis(c);
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    bool is_counted = hn_in_ints(c, 1, &n, &repeats, NULL);
    if (!x && !is_counted)
        return HONE_OK;
    if (x && is_counted && n != (uint32_t)x->rank)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "repeats has %u entries, but the input is %s: it needs %d", n,
                             hn_in_text(c, 0), x->rank);
    if (!x || !is_counted)
        return out_rank_only(c, x ? x->rank : (int64_t)n);
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (uint32_t i = 0; i < n; i++) {
        if (repeats[i].kind == HN_SINT_CONST && repeats[i].v < 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "repeats[%u] is %lld, but cannot be negative", i,
                                 (long long)repeats[i].v);
        dims[i] = hn_dim_mul(hn_infer_syms(c), x->dims[i], hn_sint_to_dim(repeats[i]));
    }
    HN_TRY(hn_out_shape(c, 0, x->rank, dims));
    return n == 1 ? follow_tile(c, repeats[0]) : HONE_OK;
}

/* ---- Flatten, DepthToSpace, SpaceToDepth ----------------------------------------------------- */

hone_status hn_infer_flatten(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dim dims[2] = {HN_DIM_UNKNOWN, HN_DIM_UNKNOWN};
    int64_t axis = hn_attr_i(c, "axis", 1);
    if (!x)
        return hn_out_shape(c, 0, 2, dims);
    int32_t lowest = hn_infer_version(c) < 11 ? 0 : -x->rank;
    if (axis < lowest || axis > x->rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "axis is %lld, but must lie in [%d, %d] for input %s",
                             (long long)axis, lowest, x->rank, hn_in_text(c, 0));
    int32_t cut = (int32_t)(axis < 0 ? axis + x->rank : axis);
    /* dims of a scalar is NULL, so it must not be offset. */
    const hn_shape head = {cut, x->dims}, tail = {x->rank - cut, cut ? x->dims + cut : x->dims};
    dims[0] = hn_shape_elems(hn_infer_syms(c), &head);
    dims[1] = hn_shape_elems(hn_infer_syms(c), &tail);
    return hn_out_shape(c, 0, 2, dims);
}

/* A block is a square of pixels: its size is limited to 31 bits so that its square fits 62. */
static hone_status read_block_size(hn_infer *c, int64_t *size) {
    *size = hn_attr_i(c, "blocksize", 0);
    if (*size < 1 || *size > INT32_MAX)
        return hn_infer_fail(c, HONE_E_INVALID, "blocksize is %lld, but must be 1 or more",
                             (long long)*size);
    return hn_expect_rank(c, 0, 4, 4);
}

/* A dimension divided by a factor that must divide it. */
static hone_status divide_dim(hn_infer *c, int32_t axis, int64_t by, hn_dim *out) {
    hn_dim d = hn_in_dim(c, 0, axis);
    if (hn_dim_is_known(d) && d % by != 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "axis %d of input %s must be a multiple of %lld",
                             axis, hn_in_text(c, 0), (long long)by);
    *out = hn_dim_floor_div(hn_infer_syms(c), d, by);
    return HONE_OK;
}

static hone_status check_block_mode(hn_infer *c) {
    if (!hn_attr_is(c, "mode", "DCR") && !hn_attr_is(c, "mode", "CRD"))
        return hn_infer_fail(c, HONE_E_INVALID, "mode must be DCR or CRD");
    return HONE_OK;
}

/* The channels are axis `channel`, rows and columns are `row` and the next axis. */
static hone_status blocks_to_space(hn_infer *c, int32_t channel, int32_t row) {
    int64_t block;
    hn_dim dims[4] = {hn_in_dim(c, 0, 0)};
    HN_TRY(read_block_size(c, &block));
    HN_TRY(divide_dim(c, channel, block * block, &dims[channel]));
    for (int32_t i = row; i < row + 2; i++)
        dims[i] = hn_dim_mul_i(hn_infer_syms(c), hn_in_dim(c, 0, i), block);
    return hn_out_shape(c, 0, 4, dims);
}

static hone_status blocks_to_depth(hn_infer *c, int32_t channel, int32_t row) {
    int64_t block;
    hn_dim dims[4] = {hn_in_dim(c, 0, 0)};
    HN_TRY(read_block_size(c, &block));
    dims[channel] = hn_dim_mul_i(hn_infer_syms(c), hn_in_dim(c, 0, channel), block * block);
    for (int32_t i = row; i < row + 2; i++)
        HN_TRY(divide_dim(c, i, block, &dims[i]));
    return hn_out_shape(c, 0, 4, dims);
}

hone_status hn_infer_depth_to_space(hn_infer *c) {
    if (hn_infer_version(c) >= 11)
        HN_TRY(check_block_mode(c));
    return blocks_to_space(c, 1, 2);
}

hone_status hn_infer_space_to_depth(hn_infer *c) {
    if (hn_infer_version(c) >= 28)
        HN_TRY(check_block_mode(c));
    return blocks_to_depth(c, 1, 2);
}

hone_status hn_infer_depth_to_space_nhwc(hn_infer *c) {
    HN_TRY(check_block_mode(c));
    return blocks_to_space(c, 3, 1);
}

hone_status hn_infer_space_to_depth_nhwc(hn_infer *c) {
    HN_TRY(check_block_mode(c));
    return blocks_to_depth(c, 3, 1);
}
