/* Evaluation of operators that cut along axes: Slice, Split, Crop. */
#include "ops/move.h"

/* ---- Slice --------------------------------------------------------------------------------------------------------------------- */

typedef struct slice_lists {
    uint32_t n;
    const int64_t *starts, *axes, *steps; /* axes and steps may be NULL: 0, 1, 2, ... and all 1 */
} slice_lists;

static hone_status slice_read_list(hn_eval *c, const char *name, uint32_t arg, uint32_t n, const int64_t **out) {
    uint32_t n_list;
    *out = NULL;
    if (!hn_list_arg(c, name, arg, &n_list, out))
        return HONE_OK;
    HN_TRY_PTR(*out);
    if (n_list != n)
        return hn_eval_fail(c, HONE_E_SHAPE, "%s has %u entries, but starts has %u", name, n_list, n);
    return HONE_OK;
}

static hone_status slice_read(hn_eval *c, slice_lists *s) {
    if (!hn_list_arg(c, "starts", 1, &s->n, &s->starts))
        return hn_eval_fail(c, HONE_E_INVALID, "starts is not given");
    HN_TRY_PTR(s->starts);
    HN_TRY(slice_read_list(c, "axes", 3, s->n, &s->axes));
    return slice_read_list(c, "steps", 4, s->n, &s->steps);
}

/* Where a slice begins in an axis of `size` elements. */
static int64_t slice_first(int64_t start, int64_t step, int64_t size) {
    if (start < 0)
        start = start < -size ? 0 : start + size;
    return HN_MIN(start, step > 0 ? size : size - 1);
}

/* Are first, first + step, ... (n of them) positions in an axis of `size` elements? */
static bool slice_fits(int64_t first, int64_t step, int64_t n, int64_t size) {
    int64_t span, last;
    return n == 0 || (hn_mul_i64(n - 1, step, &span) && hn_add_i64(first, span, &last) && first >= 0 && first < size && last >= 0 &&
                      last < size);
}

hone_status hn_eval_slice(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    int64_t from[HN_MAX_RANK], to[HN_MAX_RANK], first = 0;
    uint64_t seen = 0;
    slice_lists s;
    HN_TRY(slice_read(c, &s));
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_strides(x->rank, x->dims, from);
    hn_strides(y->rank, y->dims, to);
    for (uint32_t i = 0; i < s.n; i++) {
        int32_t axis;
        HN_TRY(hn_axis_of(c, s.axes ? s.axes[i] : (int64_t)i, x->rank, &axis));
        if ((seen >> axis) & 1)
            return hn_eval_fail(c, HONE_E_INVALID, "axes names axis %d twice", axis);
        seen |= (uint64_t)1 << axis;
        int64_t step = s.steps ? s.steps[i] : 1, begin = slice_first(s.starts[i], step, x->dims[axis]);
        if (!slice_fits(begin, step, y->dims[axis], x->dims[axis]))
            return hn_eval_fail(c, HONE_E_SHAPE, "axis %d: the slice leaves the input", axis);
        first += begin * from[axis];
        from[axis] *= y->dims[axis] > 1 ? step : 1; /* a step that is never taken may be any number */
    }
    return hn_move_grid(c, y->rank, y->dims, y, &(hn_grid){0, to}, x, &(hn_grid){first, from});
}

hone_status hn_eval_dynamic_slice(hn_eval *c) {
    return hn_eval_slice(c);
}

/* ---- Split --------------------------------------------------------------------------------------------------------------------- */

/* How much of the axis output i takes; without a list all take the same, rounded up, and the last what is left. */
static hone_status split_part(hn_eval *c, uint32_t i, uint32_t n, const int64_t *sizes, int64_t size, int64_t from, int64_t *part) {
    int64_t n_parts = hn_attr_i(hn_eval_node(c), "num_outputs", hn_n_rets(c));
    if (sizes && i >= n)
        return hn_eval_fail(c, HONE_E_SHAPE, "split has %u entries, but there are %u outputs", n, hn_n_rets(c));
    int64_t even = n_parts > 0 ? size / n_parts + (size % n_parts != 0) : size;
    *part = sizes ? sizes[i] : HN_MIN(even, size - from);
    if (*part < 0 || *part > size - from)
        return hn_eval_fail(c, HONE_E_SHAPE, "output %u would take %lld of the %lld elements that are left of the axis", i,
                            (long long)*part, (long long)(size - from));
    return HONE_OK;
}

hone_status hn_eval_split(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    const int64_t *sizes = NULL;
    uint32_t n = 0;
    int32_t axis;
    int64_t from = 0, part = 0, dims[HN_MAX_RANK];
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    if (hn_list_arg(c, "split", 1, &n, &sizes))
        HN_TRY_PTR(sizes);
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (uint32_t i = 0; i < hn_n_rets(c); i++, from += part) {
        hn_array *y;
        HN_TRY(split_part(c, i, n, sizes, x->dims[axis], from, &part));
        dims[axis] = part;
        HN_TRY(hn_ret_alloc(c, i, x->dtype, x->rank, dims, &y));
        if (y)
            HN_TRY(hn_move_from_axis(c, y, x, axis, from, part));
    }
    return HONE_OK;
}

/* ---- Crop ---------------------------------------------------------------------------------------------------------------------- */

/* Legacy: cuts the border [left, top, right, bottom] from images; scale names the size that remains instead. */
hone_status hn_eval_crop(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const int64_t *border;
    uint32_t n;
    int64_t from[4], to[4];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    bool has_border = hn_attr_ints(hn_eval_node(c), "border", &n, &border);
    if (!has_border || n != 4)
        return hn_eval_fail(c, HONE_E_INVALID, "border must have 4 entries: left, top, right, bottom");
    if (!slice_fits(border[1], 1, y->dims[2], x->dims[2]) || !slice_fits(border[0], 1, y->dims[3], x->dims[3]))
        return hn_eval_fail(c, HONE_E_SHAPE, "border leaves the image");
    hn_strides(4, x->dims, from);
    hn_strides(4, y->dims, to);
    return hn_move_grid(c, 4, y->dims, y, &(hn_grid){0, to}, x, &(hn_grid){border[1] * from[2] + border[0], from});
}
