/* What moves data and changes nothing, and what computes with shapes. */
#include "random/grow.h"

static hn_id some_tensor(grower *w, int32_t min_rank) {
    return grow_pick(w, HN_UNDEFINED, min_rank, 5);
}

/* ---- the same elements under another shape --------------------------------------------------- */

static uint32_t some_factors(grower *w, int64_t n, int64_t dims[GROWN_MAX_RANK]) {
    uint32_t rank = 1 + grow_below(w, 4);
    for (uint32_t i = 0; i + 1 < rank; i++) {
        int64_t d = grow_between(w, 1, 4);
        dims[i] = n > 0 && n % d == 0 ? d : 1;
        n /= dims[i];
    }
    dims[rank - 1] = n;
    return rank;
}

static hn_id reshape(grower *w, hn_id x) {
    const hn_array *a = grow_array(w, x);
    int64_t dims[GROWN_MAX_RANK];
    uint32_t rank = some_factors(w, (int64_t)a->n_elems, dims);
    if (grow_chance(w, 40) && a->n_elems > 0) /* the same axes, another size where it fits */
        dims[grow_below(w, rank)] = -1;
    for (uint32_t i = 0; i < rank; i++)
        if ((int32_t)i < a->rank && dims[i] == a->dims[i] && grow_chance(w, 25))
            dims[i] = 0;
    return grow_make(w, "Reshape", HN_VALUES(x, grow_ints(w, rank, dims)), HN_NO_ATTRS);
}

static hn_id squeeze(grower *w, hn_id x) {
    const hn_array *a = grow_array(w, x);
    int64_t axes[GROWN_MAX_RANK];
    uint32_t n = 0;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] == 1 && grow_chance(w, 60))
            axes[n++] = grow_chance(w, 50) ? i : i - a->rank;
    return n ? grow_with_list(w, "Squeeze", x, "axes", n, axes, HN_NO_ATTRS) : HN_NONE;
}

static hn_id unsqueeze(grower *w, hn_id x) {
    int32_t rank = grow_rank(w, x);
    uint32_t n = 1 + grow_below(w, 2);
    int64_t axes[2] = {grow_between(w, 0, rank)};
    axes[1] = axes[0] + 1;
    return rank + (int32_t)n > GROWN_MAX_RANK
               ? HN_NONE
               : grow_with_list(w, "Unsqueeze", x, "axes", n, axes, HN_NO_ATTRS);
}

static hn_id flatten(grower *w, hn_id x) {
    int32_t rank = grow_rank(w, x);
    hn_attr axis = grow_attr_i(w, "axis", grow_between(w, 0, rank));
    return grow_make(w, "Flatten", HN_VALUES(x), 1, &axis);
}

/* ---- other places ---------------------------------------------------------------------------- */

static hn_id transpose(grower *w, hn_id x) {
    int32_t rank = grow_rank(w, x);
    int64_t perm[GROWN_MAX_RANK];
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i;
    for (int32_t i = rank - 1; i > 0; i--) {
        int64_t k = grow_between(w, 0, i), kept = perm[i];
        perm[i] = perm[k];
        perm[k] = kept;
    }
    hn_attr order = grow_attr_ints(w, "perm", (uint32_t)HN_MAX(rank, 0), perm);
    return grow_make(w, "Transpose", HN_VALUES(x), grow_chance(w, 90), &order);
}

static hn_id slice_as(grower *w, hn_id x, int64_t start, int64_t end, int64_t axis, int64_t step) {
    if (w->opset < 10)
        return grow_make(w, "Slice", HN_VALUES(x), 3,
                         (hn_attr[]){grow_attr_ints(w, "starts", 1, &start),
                                     grow_attr_ints(w, "ends", 1, &end),
                                     grow_attr_ints(w, "axes", 1, &axis)});
    hn_id steps = step == 1 && grow_chance(w, 70) ? HN_NONE : grow_ints(w, 1, &step);
    return grow_make(
        w, "Slice",
        HN_VALUES(x, grow_ints(w, 1, &start), grow_ints(w, 1, &end), grow_ints(w, 1, &axis), steps),
        HN_NO_ATTRS);
}

static hn_id slice(grower *w, hn_id x) {
    int64_t axis = grow_between(w, 0, grow_rank(w, x) - 1), size = grow_dim(w, x, (int32_t)axis);
    int64_t start = grow_between(w, -1, size), end = grow_chance(w, 30) ? INT64_MAX : start + 2;
    int64_t step = grow_chance(w, 75) ? 1 : GROW_ONE_OF(w, ((const int64_t[]){2, -1, -2}));
    if (grow_chance(w, 20)) /* all of it */
        start = 0, end = size, step = 1;
    return slice_as(w, x, start, end, axis, step);
}

/* Neighbouring parts, put together again. */
static hn_id cut_and_join(grower *w, hn_id x) {
    int64_t axis = grow_between(w, 0, grow_rank(w, x) - 1), size = grow_dim(w, x, (int32_t)axis);
    int64_t at = grow_between(w, 0, size);
    hn_id a = slice_as(w, x, 0, at, axis, 1), b = slice_as(w, x, at, INT64_MAX, axis, 1);
    if (a == HN_NONE || b == HN_NONE)
        return HN_NONE;
    if (grow_chance(w, 30)) {
        hn_id kept = a;
        a = b;
        b = kept;
    }
    if (grow_chance(w, 20))
        b = grow_unary(w, "Identity", b);
    hn_attr along = grow_attr_i(w, "axis", axis);
    return grow_make(w, "Concat", HN_VALUES(a, b), 1, &along);
}

static hn_id concat(grower *w, hn_id x) {
    hn_attr along = grow_attr_i(w, "axis", grow_between(w, -1, grow_rank(w, x) - 1));
    hn_id y = grow_chance(w, 40) ? x : grow_pick(w, grow_elem(w, x), 1, 5);
    return grow_chance(w, 20) ? grow_make(w, "Concat", HN_VALUES(x), 1, &along)
                              : grow_make(w, "Concat", HN_VALUES(x, y), 1, &along);
}

static hn_id split(grower *w, hn_id x) {
    int64_t axis = grow_between(w, 0, grow_rank(w, x) - 1), size = grow_dim(w, x, (int32_t)axis);
    int64_t first = grow_between(w, 0, size), sizes[] = {first, size - first};
    hn_attr attrs[] = {grow_attr_i(w, "axis", axis), grow_attr_ints(w, "split", 2, sizes)};
    hn_id in[] = {x, w->opset >= 13 ? grow_ints(w, 2, sizes) : HN_NONE};
    hn_id node = grow_node(w, "Split", 2, in, 2, w->opset >= 13 ? 1 : 2, attrs);
    if (node == HN_NONE || grow_chance(w, 50))
        return grow_out(w, node, 0);
    hn_id a = grow_out(w, node, 0), b = grow_out(w, node, 1);
    return grow_make(w, "Concat", HN_VALUES(a, b), 1, attrs);
}

static hn_id pad(grower *w, hn_id x) {
    int32_t rank = grow_rank(w, x);
    int64_t pads[2 * GROWN_MAX_RANK];
    double value = grow_chance(w, 70) ? 0 : 1;
    for (int32_t i = 0; i < 2 * rank; i++)
        pads[i] = grow_chance(w, 75) ? 0 : grow_between(w, -1, 2);
    if (w->opset < 11)
        return grow_make(w, "Pad", HN_VALUES(x), 2,
                         (hn_attr[]){grow_attr_ints(w, "pads", (uint32_t)(2 * rank), pads),
                                     grow_attr_f(w, "value", (float)value)});
    hn_id fill = grow_chance(w, 50) ? grow_numbers(w, grow_elem(w, x), 0, NULL, &value) : HN_NONE;
    return grow_make(w, "Pad", HN_VALUES(x, grow_ints(w, (uint32_t)(2 * rank), pads), fill),
                     HN_NO_ATTRS);
}

static hn_id expand(grower *w, hn_id x) {
    const hn_array *a = grow_array(w, x);
    int64_t dims[GROWN_MAX_RANK];
    for (int32_t i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] == 1 && grow_chance(w, 50) ? grow_between(w, 1, 3)
                  : grow_chance(w, 30)                  ? 1
                                                        : a->dims[i];
    return grow_make(w, "Expand", HN_VALUES(x, grow_ints(w, (uint32_t)a->rank, dims)), HN_NO_ATTRS);
}

static hn_id tile(grower *w, hn_id x) {
    int64_t repeats[GROWN_MAX_RANK];
    for (int32_t i = 0; i < GROWN_MAX_RANK; i++)
        repeats[i] = grow_chance(w, 75) ? 1 : 2;
    return grow_make(w, "Tile", HN_VALUES(x, grow_ints(w, (uint32_t)grow_rank(w, x), repeats)),
                     HN_NO_ATTRS);
}

static hn_id gather(grower *w, hn_id x) {
    int64_t axis = grow_between(w, 0, grow_rank(w, x) - 1), size = grow_dim(w, x, (int32_t)axis);
    if (size < 1)
        return HN_NONE;
    int64_t picks[3] = {grow_between(w, -size, size - 1), grow_between(w, 0, size - 1), 0};
    double one = (double)picks[0];
    hn_id indices = grow_chance(w, 50) ? grow_numbers(w, HN_I64, 0, NULL, &one)
                                       : grow_ints(w, 1 + grow_below(w, 3), picks);
    hn_attr along = grow_attr_i(w, "axis", axis);
    return grow_make(w, "Gather", HN_VALUES(x, indices), 1, &along);
}

/* Several in a row, with something in between that moves may pass. */
void grow_move(grower *w) {
    static hn_id (*const ways[])(grower *, hn_id) = {
        reshape,   reshape,   transpose, transpose, transpose,    squeeze,
        unsqueeze, unsqueeze, flatten,   slice,     slice,        concat,
        split,     pad,       expand,    gather,    cut_and_join, tile};
    static const char *const between[] = {"Relu", "Identity", "Abs", "Neg", "Sigmoid"};
    hn_id x = some_tensor(w, 1);
    for (uint32_t n = 1 + grow_below(w, 4); x != HN_NONE && n > 0; n--) {
        if (grow_rank(w, x) < 1)
            return;
        hn_id y = GROW_ONE_OF(w, ways)(w, x);
        x = y == HN_NONE ? x : y;
        if (grow_chance(w, 20)) {
            y = grow_unary(w, GROW_ONE_OF(w, between), x);
            x = y == HN_NONE ? x : y;
        }
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The size of one axis as exporters write it: a scalar. */
static hn_id size_of_axis(grower *w, hn_id x, int64_t axis) {
    double at = (double)axis;
    hn_id shape = grow_unary(w, "Shape", x);
    hn_attr zero = grow_attr_i(w, "axis", 0);
    if (shape == HN_NONE)
        return HN_NONE;
    return grow_make(w, "Gather", HN_VALUES(shape, grow_numbers(w, HN_I64, 0, NULL, &at)), 1,
                     &zero);
}

static hn_id as_list(grower *w, hn_id scalar) {
    int64_t zero = 0;
    return grow_with_list(w, "Unsqueeze", scalar, "axes", 1, &zero, HN_NO_ATTRS);
}

/* A size that was computed with: doubled and halved again. */
static hn_id computed_size(grower *w, hn_id size) {
    static const char *const ops[] = {"Mul", "Add", "Sub", "Div", "Max"};
    const char *op = GROW_ONE_OF(w, ops);
    hn_id y = grow_binary(w, op, size, grow_number(w, HN_I64, (double)grow_between(w, 1, 3)));
    return y == HN_NONE || grow_rank(w, y) != 0 ? size : y;
}

/* Reshape to sizes that come from its own shape, or from that of another. */
static void reshape_by_shape(grower *w, hn_id x) {
    hn_id parts[3];
    uint32_t n = 0, rank = (uint32_t)grow_rank(w, x);
    int64_t rest = -1;
    bool has_rest = false;
    for (uint32_t i = 0; i < HN_MIN(rank, 2u); i++) {
        hn_id size = size_of_axis(w, x, i);
        if (size == HN_NONE)
            return;
        parts[n++] = as_list(w, grow_chance(w, 25) ? computed_size(w, size) : size);
    }
    if (rank != 2 || grow_chance(w, 50))
        has_rest = true;
    if (has_rest)
        parts[n++] = grow_ints(w, 1, &rest);
    for (uint32_t i = 0; i < n; i++)
        if (parts[i] == HN_NONE)
            return;
    hn_attr zero = grow_attr_i(w, "axis", 0);
    hn_id target = grow_make(w, "Concat", n, parts, 1, &zero);
    if (target != HN_NONE)
        grow_make(w, "Reshape", HN_VALUES(x, target), HN_NO_ATTRS);
}

static void expand_by_shape(grower *w, hn_id x) {
    hn_id like = some_tensor(w, 0);
    hn_id shape = like == HN_NONE ? HN_NONE : grow_unary(w, "Shape", like);
    if (shape != HN_NONE)
        grow_make(w, "Expand", HN_VALUES(x, shape), HN_NO_ATTRS);
}

static void filled_like(grower *w, hn_id x) {
    hn_id shape = grow_unary(w, "Shape", x);
    hn_id filled = shape == HN_NONE ? HN_NONE : grow_unary(w, "ConstantOfShape", shape);
    if (filled != HN_NONE && grow_elem(w, x) == HN_F32)
        grow_binary(w, grow_chance(w, 50) ? "Add" : "Mul", x, filled);
}

static void counted(grower *w, hn_id x) {
    double zero = 0, one = 1;
    hn_id size = size_of_axis(w, x, grow_between(w, 0, grow_rank(w, x) - 1));
    if (size == HN_NONE)
        return;
    grow_make(w, "Range",
              HN_VALUES(grow_numbers(w, HN_I64, 0, NULL, &zero), computed_size(w, size),
                        grow_numbers(w, HN_I64, 0, NULL, &one)),
              HN_NO_ATTRS);
}

static void slice_by_shape(grower *w, hn_id x) {
    int64_t zero = 0, axis = 0;
    hn_id size = w->opset < 10 ? HN_NONE : size_of_axis(w, x, 0);
    if (size == HN_NONE)
        return;
    hn_id end = as_list(w, grow_chance(w, 50) ? computed_size(w, size) : size);
    if (end != HN_NONE)
        grow_make(w, "Slice", HN_VALUES(x, grow_ints(w, 1, &zero), end, grow_ints(w, 1, &axis)),
                  HN_NO_ATTRS);
}

void grow_size(grower *w) {
    static void (*const ways[])(grower *, hn_id) = {
        reshape_by_shape, reshape_by_shape, expand_by_shape, filled_like, counted, slice_by_shape};
    hn_id x = some_tensor(w, 1);
    if (x != HN_NONE)
        GROW_ONE_OF(w, ways)(w, x);
}
