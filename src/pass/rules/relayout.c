/* What each operator does to an order of axes, and how it is written for another one. */
#include "pass/rules/relayout.h"

#define MAX_COPIED_BYTES 65536u /* of a constant that others read, too */

/* ---- elementwise ----------------------------------------------------------------------------- */

static bool turn_same(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    (void)node;
    (void)r;
    *out = *in;
    return true;
}

static hn_id write_same(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    (void)in;
    return hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs, HN_NO_ATTRS);
}

bool hn_is_turned_for_free(const hn_rule *r, hn_id value, const hn_perm *perm) {
    const hn_shape *s = hn_shape_of(r, value);
    const hn_tensor *t = hn_const(r, value);
    bool is_single = s != NULL && s->rank <= perm->rank;
    for (int32_t i = 0; is_single && i < s->rank; i++)
        is_single = s->dims[i] == 1;
    if (is_single)
        return true;
    return t && t->rank <= perm->rank && hn_dtype_bits(t->dtype) >= 8 &&
           (hn_n_readers(r, value) == 1 || t->data_bytes <= MAX_COPIED_BYTES);
}

hn_id hn_turn_for_free(hn_rule *r, hn_id value, const hn_perm *perm) {
    int32_t rank = hn_rank_of(r, value), n_missing = perm->rank - rank;
    const hn_tensor *t = hn_const(r, value);
    int64_t axes[HN_MAX_RANK];
    if (!t || t->n_elems == 1)
        return value;
    for (int32_t i = 0; i < n_missing; i++)
        axes[i] = i;
    if (n_missing > 0)
        value = hn_make_with_list(r, "Unsqueeze", value, "axes", (uint32_t)n_missing, axes);
    hn_perm inverse = hn_perm_inverse(perm);
    return hn_make_transpose(r, value, &inverse);
}

/* Operands of lower rank would need axes first: only where that costs nothing. */
static bool turn_broadcast(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    const hn_node *n = hn_at(r, node);
    *out = *in;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] == HN_NONE || (hn_rank_of(r, n->inputs[i]) != in->rank &&
                                        !hn_is_turned_for_free(r, n->inputs[i], in)))
            return false;
    return hn_rank_of(r, hn_out(r, node, 0)) == in->rank;
}

/* ---- one axis -------------------------------------------------------------------------------- */

static bool turned_axis(const hn_rule *r, hn_id node, const hn_perm *in, int64_t *axis) {
    *axis = hn_node_i(r, node, "axis", 0);
    if (!hn_axis_normalize(axis, in->rank))
        return false;
    *axis = in->at[*axis];
    return true;
}

static bool turn_axis(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t axis;
    *out = *in;
    return turned_axis(r, node, in, &axis);
}

static hn_id write_axis(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    int64_t axis;
    turned_axis(r, node, in, &axis);
    return hn_make_like(r, node, hn_at(r, node)->n_inputs, inputs,
                        HN_ATTRS(hn_new_i(r, "axis", axis)));
}

static bool turn_concat(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    const hn_node *n = hn_at(r, node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (hn_rank_of(r, n->inputs[i]) != in->rank)
            return false;
    return turn_axis(r, node, in, out);
}

/* Parameters per tensor know no axis; those in blocks have all of them. */
static bool turn_quantize(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int32_t rank = hn_rank_of(r, hn_in(r, node, 1));
    *out = *in;
    return rank == 0 || (rank == 1 && turn_axis(r, node, in, out));
}

static hn_id write_quantize(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    bool has_axis = hn_rank_of(r, hn_in(r, node, 1)) == 1 && hn_node_version(r, node) >= 13;
    return (has_axis ? write_axis : write_same)(r, node, in, inputs);
}

/* ---- last axes ------------------------------------------------------------------------------- */

static bool leaves_last_axes(const hn_perm *in, int32_t n) {
    for (int32_t i = in->rank - n; i < in->rank; i++)
        if (i < 0 || in->at[i] != i)
            return false;
    return true;
}

/* Rows times a plain matrix: rows may stand in any order. */
static bool turn_matmul(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    *out = *in;
    return hn_rank_of(r, hn_in(r, node, 1)) == 2 && in->rank > 2 && leaves_last_axes(in, 1);
}

/* Parameters of the last axis alone. */
static bool turn_last(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    (void)r;
    (void)node;
    *out = *in;
    return leaves_last_axes(in, 1);
}

/* The same for the sum of two tensors; results that nobody reads may be of another shape. */
static bool turn_skip(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    for (uint32_t i = 1; i < 3; i++)
        if (hn_out(r, node, i) != HN_NONE && hn_n_readers(r, hn_out(r, node, i)) > 0)
            return false;
    return hn_same_shape(r, hn_in(r, node, 0), hn_in(r, node, 1)) && turn_last(r, node, in, out);
}

/* Normalization over the last axes, with parameters of these axes alone. */
static bool turn_norm(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t axis = hn_node_i(r, node, "axis", -1);
    *out = *in;
    if (!hn_axis_normalize(&axis, in->rank) || hn_at(r, node)->n_outputs > 1)
        return false;
    int32_t n_last = in->rank - (int32_t)axis;
    for (uint32_t i = 1; i < hn_at(r, node)->n_inputs; i++)
        if (hn_in(r, node, i) != HN_NONE &&
            (hn_rank_of(r, hn_in(r, node, i)) < 0 || hn_rank_of(r, hn_in(r, node, i)) > n_last))
            return false;
    return leaves_last_axes(in, n_last);
}

/* ---- axes that go ---------------------------------------------------------------------------- */

/* The order of the axes that stay when those of `gone` (of the turned data) go. */
static void drop_axes(const hn_perm *in, uint64_t gone, hn_perm *out) {
    *out = (hn_perm){.rank = 0};
    for (int32_t i = 0; i < in->rank; i++) {
        uint8_t n_before = 0;
        if ((gone >> in->at[i]) & 1)
            continue;
        for (uint8_t k = 0; k < in->at[i]; k++)
            n_before = (uint8_t)(n_before + !((gone >> k) & 1));
        out->at[out->rank++] = n_before;
    }
}

/* Axes of the turned data, as bits; all of them when the node names none. */
static bool turned_axes(const hn_rule *r, hn_id node, const hn_perm *in, uint64_t *bits) {
    const int64_t *axes;
    uint32_t n;
    *bits = in->rank == 64 ? UINT64_MAX : ((uint64_t)1 << in->rank) - 1;
    if (!hn_node_attr(hn_at(r, node), "axes") && hn_in(r, node, 1) == HN_NONE)
        return !hn_node_i(r, node, "noop_with_empty_axes", 0);
    if (!hn_axes_read(r, node, 1, in->rank, &n, &axes) || n == 0)
        return false;
    *bits = 0;
    for (uint32_t i = 0; i < n; i++)
        *bits |= (uint64_t)1 << in->at[axes[i]];
    return true;
}

static bool turn_reduce(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    uint64_t gone;
    if (!turned_axes(r, node, in, &gone))
        return false;
    if (hn_node_i(r, node, "keepdims", 1) == 1)
        *out = *in;
    else
        drop_axes(in, gone, out);
    return true;
}

static bool turn_squeeze(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    uint64_t gone;
    bool has_axes = hn_node_attr(hn_at(r, node), "axes") || hn_in(r, node, 1) != HN_NONE;
    if (!has_axes || !turned_axes(r, node, in, &gone))
        return false;
    drop_axes(in, gone, out);
    return true;
}

/* The node with another list of axes, where it has one: attribute or input. */
static hn_id write_list(hn_rule *r, hn_id node, hn_id *inputs, const char *name, uint32_t input,
                        uint32_t n, const int64_t *list) {
    uint32_t n_inputs = hn_at(r, node)->n_inputs;
    if (hn_node_attr(hn_at(r, node), name))
        return hn_make_like(r, node, n_inputs, inputs, HN_ATTRS(hn_new_ints(r, name, n, list)));
    inputs[input] = hn_new_const_i64s(r, name, n, list);
    return hn_make_like(r, node, n_inputs, inputs, HN_NO_ATTRS);
}

static hn_id write_axes(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    int64_t axes[HN_MAX_RANK];
    uint64_t bits;
    uint32_t n = 0;
    turned_axes(r, node, in, &bits);
    if (!hn_node_attr(hn_at(r, node), "axes") && hn_in(r, node, 1) == HN_NONE)
        return write_same(r, node, in, inputs);
    for (int32_t i = 0; i < in->rank; i++)
        if ((bits >> i) & 1)
            axes[n++] = i;
    return write_list(r, node, inputs, "axes", 1, n, axes);
}

static bool turn_arg(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t axis;
    if (!turned_axis(r, node, in, &axis))
        return false;
    if (hn_node_i(r, node, "keepdims", 1) == 1)
        *out = *in;
    else
        drop_axes(in, (uint64_t)1 << axis, out);
    return true;
}

/* New axes stand at the same places whatever the order of the others. */
static bool turn_unsqueeze(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    const int64_t *axes;
    uint32_t n;
    int32_t rank = hn_rank_of(r, hn_out(r, node, 0));
    if (rank > HN_MAX_RANK || !hn_axes_read(r, node, 1, rank, &n, &axes) ||
        in->rank + (int32_t)n != rank)
        return false;
    uint64_t fresh = 0;
    uint8_t place_of[HN_MAX_RANK], n_old = 0;
    for (uint32_t i = 0; i < n; i++)
        fresh |= (uint64_t)1 << axes[i];
    for (int32_t i = 0; i < rank; i++)
        if (!((fresh >> i) & 1))
            place_of[n_old++] = (uint8_t)i;
    out->rank = rank;
    for (int32_t i = 0, old = 0; i < rank; i++)
        out->at[i] = (fresh >> i) & 1 ? (uint8_t)i : place_of[in->at[old++]];
    return true;
}

/* ---- a number for each axis ------------------------------------------------------------------ */

/* Where a node keeps its list of axes; without one the list has all of them in order. */
static bool listed_axes(const hn_rule *r, hn_id node, uint32_t input, const hn_perm *in,
                        uint32_t n_listed, int64_t *turned) {
    const int64_t *axes;
    uint32_t n;
    bool is_given = hn_node_attr(hn_at(r, node), "axes") || hn_in(r, node, input) != HN_NONE;
    if (n_listed > (uint32_t)in->rank)
        return false;
    if (!is_given) {
        for (uint32_t i = 0; i < n_listed; i++)
            turned[i] = in->at[i];
        return true;
    }
    if (!hn_axes_read(r, node, input, in->rank, &n, &axes) || n != n_listed)
        return false;
    for (uint32_t i = 0; i < n; i++)
        turned[i] = in->at[axes[i]];
    return true;
}

static bool slice_axes(const hn_rule *r, hn_id node, const hn_perm *in, uint32_t *n,
                       int64_t *axes) {
    const hn_attr *starts = hn_node_attr(hn_at(r, node), "starts");
    hn_dim n_starts = starts ? (hn_dim)starts->n : hn_dim_of(r, hn_in(r, node, 1), 0);
    if (n_starts < 0 || n_starts > HN_MAX_RANK)
        return false;
    *n = (uint32_t)n_starts;
    return listed_axes(r, node, 3, in, *n, axes);
}

static bool turn_slice(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t axes[HN_MAX_RANK];
    uint32_t n;
    *out = *in;
    return slice_axes(r, node, in, &n, axes);
}

static hn_id write_slice(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    int64_t axes[HN_MAX_RANK];
    uint32_t n, n_inputs = hn_at(r, node)->n_inputs;
    slice_axes(r, node, in, &n, axes);
    if (hn_node_attr(hn_at(r, node), "starts"))
        return hn_make_like(r, node, n_inputs, inputs, HN_ATTRS(hn_new_ints(r, "axes", n, axes)));
    hn_id all[5] = {inputs[0], inputs[1], inputs[2], hn_new_const_i64s(r, "axes", n, axes),
                    n_inputs > 4 ? inputs[4] : HN_NONE};
    return hn_make_like(r, node, all[4] == HN_NONE ? 4 : 5, all, HN_NO_ATTRS);
}

/* Numbers of every axis of the data, `n_each` rows of them, in the turned order. */
static bool turned_numbers(const hn_rule *r, hn_id node, const char *name, uint32_t input,
                           const hn_perm *in, uint32_t n_each, int64_t *out) {
    const int64_t *list;
    uint32_t n, rank = (uint32_t)in->rank;
    if (!hn_node_list(r, node, name, input, &n, &list) || n != n_each * rank)
        return false;
    for (uint32_t i = 0; i < n; i++)
        out[i / rank * rank + in->at[i % rank]] = list[i];
    return true;
}

static bool turn_pad(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t pads[2 * HN_MAX_RANK];
    const int64_t *axes;
    uint32_t n;
    *out = *in;
    if (hn_in(r, node, 3) != HN_NONE)
        return hn_axes_read(r, node, 3, in->rank, &n, &axes);
    return turned_numbers(r, node, "pads", 1, in, 2, pads);
}

static hn_id write_pad(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    int64_t list[2 * HN_MAX_RANK];
    const int64_t *axes;
    uint32_t n;
    if (hn_in(r, node, 3) == HN_NONE) {
        turned_numbers(r, node, "pads", 1, in, 2, list);
        return write_list(r, node, inputs, "pads", 1, 2 * (uint32_t)in->rank, list);
    }
    if (hn_axes_read(r, node, 3, in->rank, &n, &axes))
        for (uint32_t i = 0; i < n; i++)
            list[i] = in->at[axes[i]];
    return write_list(r, node, inputs, "axes", 3, n, list);
}

static bool turn_tile(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    int64_t repeats[HN_MAX_RANK];
    *out = *in;
    return turned_numbers(r, node, "repeats", 1, in, 1, repeats);
}

static hn_id write_tile(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    int64_t repeats[HN_MAX_RANK];
    turned_numbers(r, node, "repeats", 1, in, 1, repeats);
    return write_list(r, node, inputs, "repeats", 1, (uint32_t)in->rank, repeats);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

/* Scales in the turned order. Runtimes interpolate over the last axes only: the first two must stay
 * as they are, unless elements are just repeated. */
static bool turned_scales(const hn_rule *r, hn_id node, const hn_perm *in, float *out) {
    uint32_t input = hn_node_version(r, node) < 11 ? 1 : 2;
    const hn_tensor *t = hn_const(r, hn_in(r, node, input));
    double v;
    if (!t || t->dtype != HN_F32 || t->n_elems != (uint64_t)in->rank ||
        hn_in(r, node, 3) != HN_NONE)
        return false;
    for (int32_t i = 0; i < in->rank && hn_tensor_get_f64(t, (uint64_t)i, &v); i++)
        out[in->at[i]] = (float)v;
    return hn_node_s_is(r, node, "mode", "nearest") || (in->rank > 2 && out[0] == 1 && out[1] == 1);
}

static bool turn_resize(const hn_rule *r, hn_id node, const hn_perm *in, hn_perm *out) {
    float scales[HN_MAX_RANK];
    *out = *in;
    return !hn_node_s_is(r, node, "coordinate_transformation_mode", "tf_crop_and_resize") &&
           !hn_node_attr(hn_at(r, node), "axes") && turned_scales(r, node, in, scales);
}

static hn_id write_resize(hn_rule *r, hn_id node, const hn_perm *in, hn_id *inputs) {
    float scales[HN_MAX_RANK];
    uint32_t input = hn_node_version(r, node) < 11 ? 1 : 2;
    void *data;
    turned_scales(r, node, in, scales);
    hn_tensor *t = hn_new_tensor(r, HN_F32, 1, (int64_t[]){in->rank}, &data);
    if (t)
        memcpy(data, scales, (size_t)in->rank * sizeof *scales);
    inputs[input] = hn_new_const(r, "scales", t);
    return write_same(r, node, in, inputs);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_relayout relayouts[] = {
    {"Abs|Acos|Acosh|Asin|Asinh|Atan|Atanh|BitwiseNot|Cast|CastLike|Ceil|Celu|Clip|Cos|Cosh|"
     "Dropout|"
     "Elu|Erf|Exp|Floor|Gelu|HardSigmoid|HardSwish|Identity|IsInf|IsNaN|LeakyRelu|Log|Mish|Neg|Not|"
     "Reciprocal|Relu|Round|Selu|Shrink|Sigmoid|Sign|Sin|Sinh|Softplus|Softsign|Sqrt|Swish|Tan|"
     "Tanh|"
     "ThresholdedRelu",
     1, 1, true, turn_same, write_same},
    {"ms.Gelu|QuickGelu", 1, 1, true, turn_same, write_same},
    {"Add|And|BitShift|BitwiseAnd|BitwiseOr|BitwiseXor|Div|Equal|Greater|GreaterOrEqual|Less|"
     "LessOrEqual|Max|Mean|Min|Mod|Mul|Or|PRelu|Pow|Sub|Sum|Where|Xor",
     7, UINT32_MAX, true, turn_broadcast, write_same},
    {"Hardmax|LogSoftmax|Softmax", 13, 1, true, turn_axis, write_axis},
    {"LpNormalization|Split", 1, 1, true, turn_axis, write_axis},
    {"MatMul", 1, 1, true, turn_matmul, write_same},
    {"LayerNormalization|RMSNormalization", 17, 1, true, turn_norm, write_same},
    {"ms.BiasGelu|FastGelu", 1, 1, true, turn_last, write_same},
    {"ms.SkipLayerNormalization|SkipSimplifiedLayerNormalization", 1, 2, true, turn_skip,
     write_same},
    {"Concat", 4, UINT32_MAX, true, turn_concat, write_axis},
    {"DequantizeLinear|QuantizeLinear", 10, 1, true, turn_quantize, write_quantize},
    {"ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceMax|ReduceMean|ReduceMin|ReduceProd|"
     "ReduceSum|ReduceSumSquare",
     1, 1, false, turn_reduce, write_axes},
    {"ArgMax|ArgMin", 1, 1, false, turn_arg, write_axis},
    {"Squeeze", 1, 1, false, turn_squeeze, write_axes},
    {"Unsqueeze", 1, 1, false, turn_unsqueeze, write_same},
    {"Slice", 1, 1, true, turn_slice, write_slice},
    {"Pad", 2, 1, true, turn_pad, write_pad},
    {"Tile", 6, 1, true, turn_tile, write_tile},
    {"Resize", 10, 1, true, turn_resize, write_resize},
};

const hn_relayout *hn_relayout_find(const hn_rule *r, hn_id node) {
    for (size_t i = 0; i < HN_COUNT(relayouts); i++)
        if (hn_is_op(r, node, relayouts[i].ops))
            return hn_node_version(r, node) >= relayouts[i].since ? &relayouts[i] : NULL;
    return NULL;
}
