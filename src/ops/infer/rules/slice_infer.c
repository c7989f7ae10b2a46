/* Inference rules of operators that slice along axes: Slice, Split and the legacy Crop. */
#include "ops/infer/follow.h"

/* ---- Slice ----------------------------------------------------------------------------------- */

typedef struct slice_args {
    hn_int_list starts, ends, axes,
        steps; /* axes and steps may be absent: 0, 1, 2, ... and all 1 */
    uint32_t n;
} slice_args;

static hn_sint slice_step(const slice_args *a, uint32_t i) {
    return a->steps.is_given ? a->steps.elems[i] : hn_sint_const(1);
}

/* A bound beyond the size (or, for a symbol, beyond any possible size) means "to the end". */
static bool is_past_size(hn_sint bound, hn_sint size) {
    int64_t most = size.kind == HN_SINT_CONST ? size.v : INT32_MAX;
    return size.kind != HN_SINT_UNKNOWN && bound.kind == HN_SINT_CONST &&
           (bound.v > most || bound.v < -most);
}

typedef enum bound_side { FROM_FRONT, FROM_END, SIDE_UNKNOWN } bound_side;

/* A symbolic size is assumed to be at least 1. */
static bool is_positive(hn_syms *s, hn_sint v) {
    hn_str name;
    return hn_sint_at_least(s, v, 1) || (v.kind == HN_SINT_DIM && hn_dim_is_symbol(s, v.v, &name));
}

/* Tells whether a bound is relative to the front or, being negative, to the end. */
static bound_side side_of(hn_syms *s, hn_sint v) {
    if (hn_sint_at_least(s, v, 0) ||
        is_positive(s, hn_sint_apply(s, HN_SINT_ADD, v, hn_sint_const(1))))
        return FROM_FRONT;
    return is_positive(s, hn_sint_apply(s, HN_SINT_SUB, hn_sint_const(0), v)) ? FROM_END
                                                                              : SIDE_UNKNOWN;
}

/* The position of a bound in a dimension: relative to the front, within [lowest, highest]. */
static hn_sint place_bound(hn_syms *s, hn_sint bound, hn_sint size, hn_sint lowest,
                           hn_sint highest) {
    if (is_past_size(bound, size))
        return bound.v > 0 ? highest : lowest;
    switch (side_of(s, bound)) {
    case FROM_FRONT:
        return hn_sint_apply(s, HN_SINT_MIN, bound, highest);
    case FROM_END:
        return hn_sint_apply(s, HN_SINT_MAX, hn_sint_apply(s, HN_SINT_ADD, size, bound), lowest);
    default:
        return (hn_sint){HN_SINT_UNKNOWN, 0};
    }
}

static bool is_same_sint(hn_sint a, hn_sint b) {
    return a.kind == b.kind && a.v == b.v;
}

static hn_sint sliced_forward(hn_syms *s, hn_sint size, hn_sint start, hn_sint end, int64_t step,
                              hn_sint *first) {
    const hn_sint zero = hn_sint_const(0);
    hn_sint stop = place_bound(s, end, size, zero, size);
    *first = place_bound(s, start, size, zero, size);
    if (is_past_size(start, size))
        return hn_sint_count_steps(s, *first, stop, step);
    if (side_of(s, start) ==
        FROM_FRONT) /* a start behind the stop gives no steps, clamped or not */
        return hn_sint_count_steps(s, start, stop, step);
    if (side_of(s, start) != FROM_END || !is_same_sint(stop, size))
        return hn_sint_count_steps(s, *first, stop, step);
    /* x[-k:] has min(k, size) elements */
    hn_sint from_end = hn_sint_apply(s, HN_SINT_SUB, zero, start);
    return hn_sint_count_steps(s, zero, hn_sint_apply(s, HN_SINT_MIN, from_end, size), step);
}

static hn_sint sliced_backward(hn_syms *s, hn_sint size, hn_sint start, hn_sint end, int64_t step,
                               hn_sint *first) {
    const hn_sint before = hn_sint_const(-1);
    if (is_same_sint(size, hn_sint_const(0)))
        return *first = size;
    hn_sint last = hn_sint_apply(s, HN_SINT_ADD, size, before);
    *first = place_bound(s, start, size, hn_sint_const(0), last);
    return hn_sint_count_steps(s, *first, place_bound(s, end, size, before, last), step);
}

/* The size of a sliced dimension, and the position where the slice begins. */
static hn_dim sliced_size(hn_syms *s, hn_dim dim, hn_sint start, hn_sint end, int64_t step,
                          hn_sint *first) {
    hn_sint size = hn_sint_from_dim(dim);
    return hn_sint_to_dim(step > 0 ? sliced_forward(s, size, start, end, step, first)
                                   : sliced_backward(s, size, start, end, step, first));
}

static hone_status check_slice_lists(hn_infer *c, slice_args *a) {
    const struct {
        const char *name;
        const hn_int_list *list;
    } lists[] = {
        {"starts", &a->starts}, {"ends", &a->ends}, {"axes", &a->axes}, {"steps", &a->steps}};
    const char *first = NULL;
    for (size_t i = 0; i < HN_COUNT(lists); i++) {
        if (!lists[i].list->is_counted)
            continue;
        if (first && lists[i].list->n != a->n)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "%s has %u entries but %s has %u; they must agree", first, a->n,
                                 lists[i].name, lists[i].list->n);
        first = lists[i].name;
        a->n = lists[i].list->n;
    }
    return HONE_OK;
}

/* A list of unknown length makes only its part of the result unknown. */
static hone_status fill_uncounted(hn_infer *c, const slice_args *a, hn_int_list *l) {
    if (!l->is_given || l->is_counted)
        return HONE_OK;
    hn_sint *unknown = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)a->n + 1);
    HN_TRY_PTR(unknown);
    *l = (hn_int_list){.is_given = true, .is_counted = true, .n = a->n, .elems = unknown};
    return HONE_OK;
}

/* The positions of n that a slice of `size` selects; NULL when they are unknown. */
static const uint32_t *picked_places(hn_infer *c, uint32_t n, hn_dim size, hn_sint first,
                                     int64_t step) {
    if (!hn_dim_is_known(size) || size > (hn_dim)n || (size > 0 && first.kind != HN_SINT_CONST))
        return NULL;
    uint32_t *places = HN_NEW_N(hn_infer_arena(c), uint32_t, (size_t)size + 1);
    int64_t at = first.v;
    for (hn_dim i = 0; places && i < size; i++) {
        if (at < 0 || at >= (int64_t)n)
            return NULL;
        places[i] = (uint32_t)at;
        if (!hn_add_i64(at, step, &at))
            at = -1;
    }
    return places;
}

/* Propagates `size` elements of a vector in a shape computation, or rows of a small matrix. */
static hone_status follow_slice(hn_infer *c, hn_dim size, hn_sint first, int64_t step) {
    hn_int_matrix m = {.n_cols = 1};
    bool is_matrix = hn_in_int_matrix(c, 0, &m);
    if (!is_matrix && !hn_in_ints(c, 0, &m.n_rows, &m.elems, NULL))
        return HONE_OK;
    const uint32_t *rows = picked_places(c, m.n_rows, size, first, step);
    if (!rows)
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)size * m.n_cols + 1);
    HN_TRY_PTR(out);
    for (hn_dim i = 0; i < size; i++)
        memcpy(out + i * m.n_cols, m.elems + (size_t)rows[i] * m.n_cols, m.n_cols * sizeof *out);
    if (is_matrix)
        return hn_out_int_matrix(c, 0, &(hn_int_matrix){(uint32_t)size, m.n_cols, out});
    return hn_out_followed(c, 0, hn_in_elem(c, 0), (uint32_t)size, out, false);
}

static hone_status slice_axis(hn_infer *c, const slice_args *a, uint32_t i, int32_t axis,
                              hn_dim *dims) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_sint step = slice_step(a, i), first;
    if (step.kind != HN_SINT_CONST) {
        dims[axis] = HN_DIM_UNKNOWN;
        return HONE_OK;
    }
    if (step.v == 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "steps[%u] is 0, but must not be", i);
    dims[axis] = sliced_size(hn_infer_syms(c), x->dims[axis], a->starts.elems[i], a->ends.elems[i],
                             step.v, &first);
    bool is_by_rows = x->rank == 1 || (x->rank == 2 && axis == 0 && a->n == 1);
    return is_by_rows ? follow_slice(c, dims[0], first, step.v) : HONE_OK;
}

static hone_status apply_slice(hn_infer *c, slice_args *a) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(check_slice_lists(c, a));
    bool any_counted =
        a->starts.is_counted || a->ends.is_counted || a->axes.is_counted || a->steps.is_counted;
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    if (!any_counted)
        return hn_out_shape(c, 0, x->rank, dims);
    HN_TRY(fill_uncounted(c, a, &a->starts));
    HN_TRY(fill_uncounted(c, a, &a->ends));
    HN_TRY(fill_uncounted(c, a, &a->axes));
    HN_TRY(fill_uncounted(c, a, &a->steps));
    hn_axis_set touched;
    HN_TRY(hn_axis_set_read(c, "axes", &a->axes, x->rank, &touched));
    if (!a->axes.is_given && a->n > (uint32_t)x->rank)
        return hn_infer_fail(c, HONE_E_SHAPE, "starts has %u entries, but the input is %s", a->n,
                             hn_in_text(c, 0));
    if (a->axes.is_given && !touched.is_known) /* any axis may be sliced */
        return hn_out_shape(c, 0, x->rank, dims);
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    for (uint32_t i = 0; i < a->n; i++) {
        int32_t axis = (int32_t)i;
        if (a->axes.is_given)
            HN_TRY(hn_infer_axis(c, "axes", a->axes.elems[i].v, x->rank, &axis));
        HN_TRY(slice_axis(c, a, i, axis, dims));
    }
    HN_TRY(hn_out_shape(c, 0, x->rank, dims));
    return a->n == 0 ? hn_out_followed_same(c, 0, 0, hn_in_elem(c, 0)) : HONE_OK;
}

hone_status hn_infer_slice(hn_infer *c) {
    slice_args a = {.n = 0};
    for (uint32_t i = 1; i < hn_n_inputs(c); i++)
        HN_TRY(hn_expect_rank(c, i, 1, 1));
    HN_TRY(hn_int_list_read(c, "starts", 1, &a.starts));
    HN_TRY(hn_int_list_read(c, "ends", 2, &a.ends));
    HN_TRY(hn_int_list_read(c, "axes", 3, &a.axes));
    HN_TRY(hn_int_list_read(c, "steps", 4, &a.steps));
    return apply_slice(c, &a);
}

hone_status hn_infer_dynamic_slice(hn_infer *c) {
    return hn_infer_slice(c);
}

/* ---- Split ----------------------------------------------------------------------------------- */

/* Sizes that the node gives: one per output, and their sum is the axis. */
static hone_status check_split_sizes(hn_infer *c, const hn_int_list *split, hn_dim dim) {
    int64_t sum = 0;
    if (split->n != hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_SHAPE, "split has %u entries, but there are %u outputs",
                             split->n, hn_n_outputs(c));
    for (uint32_t i = 0; i < split->n; i++) {
        if (split->elems[i].kind != HN_SINT_CONST)
            return HONE_OK;
        if (split->elems[i].v < 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "split[%u] is %lld, but cannot be negative", i,
                                 (long long)split->elems[i].v);
        if (!hn_add_i64(sum, split->elems[i].v, &sum))
            return hn_infer_fail(c, HONE_E_SHAPE, "the entries of split are too large");
    }
    if (hn_dim_is_known(dim) && dim != sum)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the entries of split add up to %lld, but the axis of %s has size %lld", (long long)sum,
            hn_in_text(c, 0), (long long)dim);
    return HONE_OK;
}

/* Before version 18 the parts must be equal. */
static hone_status equal_parts(hn_infer *c, hn_dim dim, hn_dim *parts) {
    uint32_t n = hn_n_outputs(c);
    if (hn_dim_is_known(dim) && dim % n != 0)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the axis of %s has size %lld, which is not a multiple of %u outputs: give split",
            hn_in_text(c, 0), (long long)dim, n);
    for (uint32_t i = 0; i < n; i++)
        parts[i] = hn_dim_floor_div(hn_infer_syms(c), dim, n);
    return HONE_OK;
}

/* Since version 18 the last of num_outputs parts may be smaller. Where too little is left for a
 * part, its size stays unknown: such nodes occur in branches that never run. */
static hone_status nearly_equal_parts(hn_infer *c, hn_dim dim, hn_dim *parts) {
    hn_syms *s = hn_infer_syms(c);
    int64_t n = hn_attr_i(c, "num_outputs", 0);
    if (!hn_has_attr(c, "num_outputs"))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "either the input split or the attribute num_outputs is needed");
    if (n < (int64_t)hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID, "num_outputs is %lld, but there are %u outputs",
                             (long long)n, hn_n_outputs(c));
    hn_dim part = hn_dim_ceil_div(s, dim, n);
    for (uint32_t i = 0; i < hn_n_outputs(c); i++) {
        bool is_short = hn_dim_is_known(dim) && part > 0 && i >= dim / part;
        parts[i] = i + 1 == n ? hn_dim_sub(s, dim, hn_dim_mul_i(s, part, n - 1))
                   : is_short ? HN_DIM_UNKNOWN
                              : part;
    }
    return HONE_OK;
}

static hone_status out_split(hn_infer *c, const hn_shape *x, int32_t axis, const hn_dim *parts) {
    const hn_sint *elems;
    uint32_t n_elems, from = 0;
    bool is_followed = x->rank == 1 && hn_in_ints(c, 0, &n_elems, &elems, NULL);
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    for (uint32_t i = 0; i < hn_n_outputs(c); i++) {
        dims[axis] = parts[i];
        HN_TRY(hn_out_shape(c, i, x->rank, dims));
        is_followed =
            is_followed && hn_dim_is_known(parts[i]) && parts[i] <= (hn_dim)(n_elems - from);
        if (!is_followed)
            continue;
        HN_TRY(hn_out_followed(c, i, hn_in_elem(c, 0), (uint32_t)parts[i], elems + from, false));
        from += (uint32_t)parts[i];
    }
    return HONE_OK;
}

hone_status hn_infer_split(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    uint32_t n = hn_n_outputs(c);
    hn_int_list split;
    int32_t axis;
    HN_TRY(hn_int_list_read(c, "split", 1, &split));
    if (split.is_given && hn_has_attr(c, "num_outputs"))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "the input split and the attribute num_outputs exclude each other");
    if (!x)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), x->rank, &axis));
    if (n > INT32_MAX)
        return HONE_OK;
    hn_dim *parts = hn_infer_dims(c, (int32_t)n);
    HN_TRY_PTR(parts);
    if (!split.is_given)
        HN_TRY(hn_infer_version(c) < 18 ? equal_parts(c, x->dims[axis], parts)
                                        : nearly_equal_parts(c, x->dims[axis], parts));
    if (split.is_counted)
        HN_TRY(check_split_sizes(c, &split, x->dims[axis]));
    for (uint32_t i = 0; split.is_counted && i < n; i++)
        parts[i] = hn_sint_to_dim(split.elems[i]);
    return out_split(c, x, axis, parts);
}

/* ---- Crop ------------------------------------------------------------------------------------ */

/* border: left, top, right, bottom of the last two axes; scale: the height and width that remain,
 * starting at the top left. */
hone_status hn_infer_crop(hn_infer *c) {
    const int64_t *border, *scale;
    uint32_t n_border, n_scale;
    HN_TRY(hn_expect_rank(c, 0, 4, 4));
    hn_dim dims[4] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1), HN_DIM_UNKNOWN, HN_DIM_UNKNOWN};
    if (hn_attr_ints(c, "scale", &n_scale, &scale)) {
        if (n_scale != 2 || scale[0] < 0 || scale[1] < 0)
            return hn_infer_fail(c, HONE_E_INVALID, "scale must hold two sizes, height and width");
        dims[2] = scale[0];
        dims[3] = scale[1];
    } else if (hn_attr_ints(c, "border", &n_border, &border)) {
        if (n_border != 4)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "border has %u entries, but needs 4: left, top, right, bottom",
                                 n_border);
        for (int32_t i = 0; i < 2; i++) {
            int64_t both;
            if (!hn_add_i64(border[1 - i], border[3 - i], &both) || both < 0)
                return hn_infer_fail(c, HONE_E_INVALID, "border must not be negative");
            dims[2 + i] = hn_dim_sub(hn_infer_syms(c), hn_in_dim(c, 0, 2 + i), both);
        }
    }
    return hn_out_shape(c, 0, 4, dims);
}
