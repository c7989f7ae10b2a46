/* Evaluation of operators that put tensors together or around: Concat, Pad, CenterCropPad. */
#include "ops/eval/copy.h"

static hone_status eval_concat(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    int32_t axis;
    int64_t at = 0;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 1), y->rank, &axis));
    for (uint32_t i = 0; i < hn_n_args(c); i++) {
        const hn_array *x = hn_arg(c, i);
        HN_TRY(hn_copy_to_axis(c, y, axis, at, x->dims[axis], x));
        at += x->dims[axis];
    }
    return HONE_OK;
}
const hn_impl hn_impl_concat[1] = {{.eval = eval_concat, .memory = HN_MEMORY_CONCAT}};

/* ---- Pad ------------------------------------------------------------------------------------- */

typedef enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP } pad_mode;

static pad_mode pad_read_mode(const hn_infer *node) {
    return hn_attr_is(node, "mode", "edge")      ? PAD_EDGE
           : hn_attr_is(node, "mode", "reflect") ? PAD_REFLECT
           : hn_attr_is(node, "mode", "wrap")    ? PAD_WRAP
                                                 : PAD_CONSTANT;
}

/* What position `i` of an endless axis shows of elements 0 .. n; -1: nothing. */
static int64_t pad_position(pad_mode mode, int64_t i, int64_t n) {
    int64_t period = n > 1 ? 2 * (n - 1) : 1;
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case PAD_EDGE:
        return HN_MAX(0, HN_MIN(i, n - 1));
    case PAD_WRAP:
        return hn_floor_mod(i, n);
    case PAD_REFLECT:
        i = hn_floor_mod(i, period);
        return i < n ? i : period - i;
    default:
        return -1;
    }
}

/* Negative pads cut first: what is left is then padded. */
static hone_status pad_axis(hn_eval *c, pad_mode mode, int64_t before, int64_t after, int64_t size,
                            int64_t out_size, int32_t axis, const int64_t **picks) {
    if (before < -size || after < -size || (before < 0 && after < 0 && before + after < -size))
        return hn_eval_fail(c, HONE_E_SHAPE, "pads cut more from axis %d than it has", axis);
    int64_t low = before < 0 ? -before : 0, high = after < 0 ? size + after : size;
    if (high == low && mode != PAD_CONSTANT && out_size > 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "axis %d is empty: there is nothing to pad it with",
                            axis);
    int64_t *at = hn_eval_scratch(c, (uint64_t)out_size * sizeof *at);
    HN_TRY_PTR(at);
    for (int64_t i = 0; i < out_size; i++) {
        int64_t from = pad_position(mode, i - HN_MAX(before, 0), high - low);
        at[i] = from < 0 ? -1 : from + low;
    }
    *picks = at;
    return HONE_OK;
}

hone_status hn_pad_value(hn_eval *c, hn_array *room, const hn_array **out) {
    const hn_array *given = hn_arg(c, 2);
    float value = hn_attr_f(hn_eval_node(c), "value", 0);
    *out = given && given->n_elems > 0 ? given : NULL;
    if (given || value == 0)
        return HONE_OK;
    *room = (hn_array){.dtype = hn_arg(c, 0)->dtype, .n_elems = 1, .data = hn_eval_scratch(c, 16)};
    HN_TRY_PTR(room->data);
    hn_store_f32(room, 0, 1, &value);
    *out = room;
    return HONE_OK;
}

hone_status hn_pad_picks(hn_eval *c, const int64_t **picks) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const int64_t *pads, *axes = NULL;
    uint32_t n_pads, n_axes = (uint32_t)x->rank;
    pad_mode mode = pad_read_mode(hn_eval_node(c));
    bool is_first = hn_infer_version(hn_eval_node(c)) == 1 && !hn_arg(c, 1);
    if (!hn_list_arg(c, is_first ? "paddings" : "pads", 1, &n_pads, &pads))
        return hn_eval_fail(c, HONE_E_INVALID, "pads is not given");
    HN_TRY_PTR(pads);
    if (hn_list_arg(c, "axes", 3, &n_axes, &axes))
        HN_TRY_PTR(axes);
    if (n_pads % 2 != 0 || n_pads / 2 != n_axes)
        return hn_eval_fail(c, HONE_E_SHAPE, "pads has %u entries, but %u axes need two each",
                            n_pads, n_axes);
    for (int32_t k = 0; k < x->rank; k++)
        picks[k] = NULL;
    for (uint32_t i = 0; i < n_axes; i++) {
        int32_t axis;
        HN_TRY(hn_axis_of(c, axes ? axes[i] : (int64_t)i, x->rank, &axis));
        if (pads[i] || pads[n_axes + i])
            HN_TRY(pad_axis(c, mode, pads[i], pads[n_axes + i], x->dims[axis], y->dims[axis], axis,
                            &picks[axis]));
    }
    return HONE_OK;
}

static hone_status eval_pad(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), room;
    const hn_array *value;
    const int64_t *picks[HN_MAX_RANK];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_pad_picks(c, picks));
    HN_TRY(hn_pad_value(c, &room, &value));
    return hn_copy_picked(c, y, hn_arg(c, 0), picks, value);
}
const hn_impl hn_impl_pad[1] = {{.eval = eval_pad}};

/* ---- CenterCropPad --------------------------------------------------------------------------- */

/* The middle of an axis stays the middle; an odd element more is cut, or put, at the end. */
hone_status hn_center_crop_pad_picks(hn_eval *c, const int64_t **picks) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    for (int32_t k = 0; k < x->rank; k++) {
        int64_t size = x->dims[k], out_size = y->dims[k];
        int64_t shift = size > out_size ? (size - out_size) / 2 : -((out_size - size) / 2);
        picks[k] = NULL;
        if (size == out_size)
            continue;
        int64_t *at = hn_eval_scratch(c, (uint64_t)out_size * sizeof *at);
        HN_TRY_PTR(at);
        for (int64_t i = 0; i < out_size; i++)
            at[i] = i + shift >= 0 && i + shift < size ? i + shift : -1;
        picks[k] = at;
    }
    return HONE_OK;
}

static hone_status eval_center_crop_pad(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    const int64_t *picks[HN_MAX_RANK];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_center_crop_pad_picks(c, picks));
    return hn_copy_picked(c, y, hn_arg(c, 0), picks, NULL);
}
const hn_impl hn_impl_center_crop_pad[1] = {{.eval = eval_center_crop_pad}};
