/* Evaluation of operators that cut along axes: Slice, Split, Crop. */
#include "ops/eval/copy.h"

/* ---- Slice ----------------------------------------------------------------------------------- */

typedef struct slice_lists {
    uint32_t n;
    const int64_t *starts, *ends, *axes,
        *steps; /* axes and steps may be NULL: 0, 1, 2, ... and all 1 */
} slice_lists;

static hone_status slice_read_list(hn_eval *c, const char *name, uint32_t arg, uint32_t n,
                                   const int64_t **out) {
    uint32_t n_list;
    *out = NULL;
    if (!hn_list_arg(c, name, arg, &n_list, out))
        return HONE_OK;
    HN_TRY_PTR(*out);
    if (n_list != n)
        return hn_eval_fail(c, HONE_E_SHAPE, "%s has %u entries, but starts has %u", name, n_list,
                            n);
    return HONE_OK;
}

static hone_status slice_read(hn_eval *c, slice_lists *s) {
    if (!hn_list_arg(c, "starts", 1, &s->n, &s->starts))
        return hn_eval_fail(c, HONE_E_INVALID, "starts is not given");
    HN_TRY_PTR(s->starts);
    HN_TRY(slice_read_list(c, "ends", 2, s->n, &s->ends));
    if (!s->ends)
        return hn_eval_fail(c, HONE_E_INVALID, "ends is not given");
    HN_TRY(slice_read_list(c, "axes", 3, s->n, &s->axes));
    return slice_read_list(c, "steps", 4, s->n, &s->steps);
}

/* What a slice takes of one axis: n elements from `first` on. */
typedef struct slice_range {
    int64_t first, step, n;
} slice_range;

/* A bound that may count from the end, within [low, high]. */
static int64_t slice_bound(int64_t bound, int64_t size, int64_t low, int64_t high) {
    if (bound < 0)
        bound = bound < -size ? low : bound + size;
    return HN_MAX(low, HN_MIN(bound, high));
}

/* step is not 0. A step that is never taken may be any number: it becomes 1. */
static slice_range slice_of_axis(int64_t start, int64_t end, int64_t step, int64_t size) {
    bool is_forward = step > 0;
    int64_t first = slice_bound(start, size, 0, is_forward ? size : size - 1);
    int64_t stop =
        is_forward ? slice_bound(end, size, 0, size) : slice_bound(end, size, -1, size - 1);
    int64_t distance = stop - first, n = 0;
    if (size > 0 && (is_forward ? distance > 0 : distance < 0)) /* bounds of nothing cross */
        n = (distance + (is_forward ? -1 : 1)) / step + 1;
    return (slice_range){first, n > 1 ? step : 1, n};
}

hone_status hn_slice_box(hn_eval *c, hn_box_move *m) {
    const hn_array *x = hn_arg(c, 0);
    uint64_t seen = 0;
    slice_lists s;
    HN_TRY(slice_read(c, &s));
    hn_strides(x->rank, x->dims, m->from_strides);
    if (x->rank > 0)
        memcpy(m->dims, x->dims, (size_t)x->rank * sizeof *m->dims);
    m->rank = x->rank;
    m->to_first = m->from_first = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        int32_t axis;
        int64_t step = s.steps ? s.steps[i] : 1;
        HN_TRY(hn_axis_of(c, s.axes ? s.axes[i] : (int64_t)i, x->rank, &axis));
        if (step == 0 || ((seen >> axis) & 1))
            return hn_eval_fail(c, HONE_E_INVALID, "axis %d has a step of 0, or is named twice",
                                axis);
        seen |= (uint64_t)1 << axis;
        slice_range r = slice_of_axis(s.starts[i], s.ends[i], step, x->dims[axis]);
        m->dims[axis] = r.n;
        m->from_first += r.first * m->from_strides[axis];
        m->from_strides[axis] *= r.step;
    }
    hn_strides(x->rank, m->dims, m->to_strides);
    return HONE_OK;
}

static hone_status eval_slice(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y;
    hn_box_move m;
    HN_TRY(hn_slice_box(c, &m));
    HN_TRY(hn_ret_alloc(c, 0, x->dtype, x->rank, m.dims, &y));
    return y ? hn_copy_box(c, y, x, &m) : HONE_OK;
}
const hn_impl hn_impl_slice[1] = {{.eval = eval_slice, .reads_part = true}};

static hone_status eval_dynamic_slice(hn_eval *c) {
    return eval_slice(c);
}
const hn_impl hn_impl_dynamic_slice[1] = {{.eval = eval_dynamic_slice}};

/* ---- Split ----------------------------------------------------------------------------------- */

/* How much of the axis output i takes; without a list all take the same, rounded up, and the last
 * what is left. */
static hone_status split_part(hn_eval *c, uint32_t i, uint32_t n, const int64_t *sizes,
                              int64_t size, int64_t from, int64_t *part) {
    int64_t n_parts = hn_attr_i(hn_eval_node(c), "num_outputs", hn_n_rets(c));
    if (sizes && i >= n)
        return hn_eval_fail(c, HONE_E_SHAPE, "split has %u entries, but there are %u outputs", n,
                            hn_n_rets(c));
    int64_t even = n_parts > 0 ? size / n_parts + (size % n_parts != 0) : size;
    *part = sizes ? sizes[i] : HN_MIN(even, size - from);
    if (*part < 0 || *part > size - from)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "output %u would take %lld of the %lld elements that are left of the axis", i,
            (long long)*part, (long long)(size - from));
    return HONE_OK;
}

hone_status hn_split_parts(hn_eval *c, int32_t *axis, const int64_t **out) {
    const hn_array *x = hn_arg(c, 0);
    const int64_t *sizes = NULL;
    uint32_t n = 0;
    int64_t from = 0;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, axis));
    if (hn_list_arg(c, "split", 1, &n, &sizes))
        HN_TRY_PTR(sizes);
    int64_t *parts = hn_eval_scratch(c, hn_n_rets(c) * sizeof *parts);
    HN_TRY_PTR(parts);
    for (uint32_t i = 0; i < hn_n_rets(c); from += parts[i++])
        HN_TRY(split_part(c, i, n, sizes, x->dims[*axis], from, &parts[i]));
    *out = parts;
    return HONE_OK;
}

static hone_status eval_split(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    const int64_t *parts;
    int32_t axis;
    int64_t from = 0, dims[HN_MAX_RANK];
    HN_TRY(hn_split_parts(c, &axis, &parts));
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    for (uint32_t i = 0; i < hn_n_rets(c); from += parts[i++]) {
        hn_array *y;
        dims[axis] = parts[i];
        HN_TRY(hn_ret_alloc(c, i, x->dtype, x->rank, dims, &y));
        if (y)
            HN_TRY(hn_copy_from_axis(c, y, x, axis, from, parts[i]));
    }
    return HONE_OK;
}
const hn_impl hn_impl_split[1] = {{.eval = eval_split, .memory = HN_MEMORY_SPLIT}};

/* ---- Crop ------------------------------------------------------------------------------------ */

/* Legacy: cuts the border [left, top, right, bottom] from images; scale names the size that remains
 * instead. */
static hone_status eval_crop(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const int64_t *border;
    uint32_t n;
    int64_t from[4], to[4];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    bool has_border = hn_attr_ints(hn_eval_node(c), "border", &n, &border);
    if (!has_border || n != 4)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "border must have 4 entries: left, top, right, bottom");
    if (border[0] < 0 || border[1] < 0 || border[1] > x->dims[2] - y->dims[2] ||
        border[0] > x->dims[3] - y->dims[3])
        return hn_eval_fail(c, HONE_E_SHAPE, "border leaves the image");
    hn_strides(4, x->dims, from);
    hn_strides(4, y->dims, to);
    return hn_copy_grid(c, 4, y->dims, y, &(hn_grid){0, to}, x,
                        &(hn_grid){border[1] * from[2] + border[0], from});
}
const hn_impl hn_impl_crop[1] = {{.eval = eval_crop}};
