/* Conversion to older versions: attributes that they lack, and changes that matter only in this
 * direction. */
#include "pass/opset/opset.h"

#define REDUCING                                                                   \
  "ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceMax|ReduceMean|ReduceMin|" \
  "ReduceProd|ReduceSum|ReduceSumSquare"

static hone_status stays(hn_rule *r, const char *why) {
    return hn_fail(r->pass->err, HONE_E_UNSUPPORTED, "%s", why);
}

bool hn_op_exists(hn_str op, int64_t version) {
    int since;
    bool deprecated;
    const hn_op *row = hn_op_find(NULL, HN_DOMAIN_ONNX, hn_s(op), version, &since, &deprecated);
    return row && !deprecated && !hn_op_is_extension(row);
}

/* ---- attributes that the older version lacks ------------------------------------------------- */

static bool is_default(const hn_attr *a, const hn_attr_spec *spec) {
    int64_t i = 0;
    float f = 0;
    switch (a->kind) {
    case HN_ATTR_INT:
        return hn_attr_spec_i64(spec, 0, &i) && i == a->v.i;
    case HN_ATTR_FLOAT:
        return hn_attr_spec_f32(spec, 0, &f) && f == a->v.f;
    case HN_ATTR_STRING:
        return spec->def && spec->def_len == a->v.s.n &&
               memcmp(spec->def, a->v.s.at, spec->def_len) == 0;
    default:
        return false;
    }
}

/* Lists without a default in the schema: steps of 1 are what the older version implies. */
static bool is_plain_list(const hn_attr *a) {
    if (a->kind != HN_ATTR_INTS || !hn_list_names("dilations|strides", hn_s(a->name), a->name->n))
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->v.ints[i] != 1)
            return false;
    return true;
}

hone_status hn_drop_young_attrs(hn_rule *r, int version) {
    const hn_node *n = hn_at(r, r->root);
    int young_since, old_since;
    bool deprecated;
    char names[256] = "";
    const char *op = hn_s(n->op);
    const hn_op *young = hn_op_find(NULL, HN_DOMAIN_ONNX, op, version, &young_since, &deprecated);
    const hn_op *old = hn_op_find(NULL, HN_DOMAIN_ONNX, op, version - 1, &old_since, &deprecated);
    for (uint32_t i = 0; young && old && i < n->n_attrs; i++) {
        const hn_attr *a = &n->attrs[i];
        hn_attr_spec spec, old_spec;
        if (hn_op_attr_find(old, old_since, hn_s(a->name), a->name->n, &old_spec) ||
            !hn_op_attr_find(young, young_since, hn_s(a->name), a->name->n, &spec))
            continue;
        if (!is_default(a, &spec) && !is_plain_list(a))
            return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                           "opset %d introduced its attribute '%s', which is not at its default",
                           version, hn_s(a->name));
        if (strlen(names) + a->name->n + 2 < sizeof names) {
            strcat(names, *names ? "|" : "");
            strcat(names, hn_s(a->name));
        }
    }
    if (*names)
        hn_remake(r, NULL, n->n_inputs, n->inputs, names, HN_NO_ATTRS);
    return HONE_OK;
}

/* ---- string attributes with new values ------------------------------------------------------- */

static bool attr_is(const hn_rule *r, const char *name, const char *texts) {
    const hn_attr *a = hn_node_attr(hn_at(r, r->root), name);
    return a && a->kind == HN_ATTR_STRING &&
           hn_list_names(texts, (const char *)a->v.s.at, a->v.s.n);
}

static hone_status pad_19_down(hn_rule *r) {
    return attr_is(r, "mode", "wrap") ? stays(r, "opset 19 introduced its mode 'wrap'") : HONE_OK;
}

static hone_status resize_19_down(hn_rule *r) {
    return attr_is(r, "coordinate_transformation_mode", "half_pixel_symmetric")
               ? stays(r, "opset 19 introduced its mode 'half_pixel_symmetric'")
               : HONE_OK;
}

static hone_status scatter_18_down(hn_rule *r) {
    return attr_is(r, "reduction", "max|min") ? stays(r, "opset 18 introduced its reduction")
                                              : HONE_OK;
}

static hone_status mod_28_down(hn_rule *r) {
    bool is_int = hn_dtype_is_int(hn_elem_of(r, hn_in(r, r->root, 0)));
    return is_int || hn_raw_i(r, "fmod", 0)
               ? HONE_OK
               : stays(r, "opset 28 introduced floating-point inputs with fmod = 0");
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Expands pads of some axes to pads of all axes. */
static hone_status pad_18_down(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    int64_t rank = hn_rank_of(r, x), all[2 * 64] = {0};
    uint32_t n_pads, n_axes;
    const int64_t *pads, *axes;
    if (hn_in(r, r->root, 3) == HN_NONE)
        return HONE_OK;
    if (rank < 0 || rank > 64 || !hn_const_i64s(r, hn_in(r, r->root, 1), &n_pads, &pads) ||
        !hn_const_i64s(r, hn_in(r, r->root, 3), &n_axes, &axes) || n_pads != 2 * n_axes)
        return stays(r, "its axes or pads are not constant, or the rank of its input is unknown");
    for (uint32_t i = 0; i < n_axes; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
        if (axis < 0 || axis >= rank)
            return stays(r, "its axes are out of range");
        all[axis] = pads[i];
        all[rank + axis] = pads[n_axes + i];
    }
    hn_id list = hn_new_const_i64s(r, "pads", (uint32_t)(2 * rank), all);
    hn_remake(r, NULL, HN_VALUES(x, list, hn_in(r, r->root, 2)), NULL, HN_NO_ATTRS);
    return HONE_OK;
}

/* An input that can be omitted now is an empty tensor in the older version. */
static hone_status resize_13_down(hn_rule *r) {
    int64_t none[1] = {0};
    hn_id in[4];
    bool is_changed = false;
    for (uint32_t i = 0; i < 4; i++) {
        in[i] = hn_in(r, r->root, i);
        if (in[i] != HN_NONE || i == 0 || i == 3)
            continue;
        const hn_tensor *empty = hn_tensor_new(r->pass->model->arena, HN_F32, 1, none, NULL, false);
        in[i] = hn_new_const(r, i == 1 ? "roi" : "scales", empty);
        is_changed = true;
    }
    if (is_changed)
        hn_remake(r, NULL, 4, in, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

/* Opset 10 has only one coordinate transformation. */
static hone_status resize_11_down(hn_rule *r) {
    bool is_nearest = !hn_node_attr(hn_at(r, r->root), "mode") || attr_is(r, "mode", "nearest");
    const hn_tensor *scales = hn_const(r, hn_in(r, r->root, 2));
    if (!attr_is(r, "coordinate_transformation_mode", "asymmetric") ||
        (is_nearest ? !attr_is(r, "nearest_mode", "floor") : !attr_is(r, "mode", "linear")))
        return stays(r, "opset 10 supports only asymmetric coordinates, rounded down");
    if (hn_in(r, r->root, 3) != HN_NONE || !scales || scales->n_elems == 0)
        return stays(r, "opset 10 needs constant scales");
    hn_remake(r, NULL, HN_VALUES(hn_in(r, r->root, 0), hn_in(r, r->root, 2)),
              "coordinate_transformation_mode|nearest_mode|cubic_coeff_a|exclude_outside|"
              "extrapolation_value",
              HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status resize_10_down(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_tensor *scales = hn_const(r, hn_in(r, r->root, 1));
    for (uint64_t i = 0; scales && i < scales->n_elems; i++) {
        double v;
        if (!hn_tensor_get_f64(scales, i, &v) || v < 1)
            return stays(r, "Upsample cannot make images smaller");
    }
    if (!scales)
        return stays(r, "its scales are not constant and may make images smaller");
    hn_remake(r, "Upsample", n->n_inputs, n->inputs, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status gemm_11_down(hn_rule *r) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, r->root, 0));
    if (hn_in(r, r->root, 2) != HN_NONE)
        return HONE_OK;
    if (!hn_dtype_is_float(elem))
        return stays(r, "it has no third input");
    hn_remake(
        r, NULL,
        HN_VALUES(hn_in(r, r->root, 0), hn_in(r, r->root, 1), hn_new_const_f(r, "zero", elem, 0)),
        NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status dft_20_down(hn_rule *r) {
    uint32_t n;
    const int64_t *axis;
    hn_id value = hn_in(r, r->root, 2);
    int64_t rank = hn_rank_of(r, hn_in(r, r->root, 0)), at = -2;
    if (value != HN_NONE) {
        if (!hn_const_i64s(r, value, &n, &axis) || n != 1)
            return stays(r, "its axis would have to be an attribute, but is not constant");
        at = axis[0];
    }
    if (at < 0 && rank < 0)
        return stays(r, "the rank of its input is unknown");
    hn_remake(r, NULL, HN_VALUES(hn_in(r, r->root, 0), hn_in(r, r->root, 1)), NULL,
              HN_ATTRS(hn_new_i(r, "axis", at + (at < 0 ? rank : 0))));
    return HONE_OK;
}

/* The older version has one scale for the whole tensor. */
static hone_status quantize_13_down(hn_rule *r) {
    hn_id scale = hn_in(r, r->root, 1);
    bool is_one =
        hn_rank_of(r, scale) == 0 || (hn_rank_of(r, scale) == 1 && hn_dim_of(r, scale, 0) == 1);
    const hn_node *n = hn_at(r, r->root);
    if (!is_one)
        return stays(r, "its scales are per channel, or may be");
    if (hn_node_attr(n, "axis"))
        hn_remake(r, NULL, n->n_inputs, n->inputs, "axis", HN_NO_ATTRS);
    return HONE_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */

static hone_status pow_12_down(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), y = hn_in(r, r->root, 1);
    hn_dtype elem = hn_elem_of(r, x);
    if (elem == hn_elem_of(r, y))
        return HONE_OK;
    if (!hn_dtype_is_float(elem))
        return stays(r, "its inputs have different types");
    hn_id cast = hn_make1(r, "Cast", HN_VALUES(y), HN_ATTRS(hn_new_i(r, "to", elem)));
    hn_remake(r, NULL, HN_VALUES(x, cast), NULL, HN_NO_ATTRS);
    return HONE_OK;
}

/* Removes attributes about 8-bit floats, which older versions lack. */
static hone_status cast_plain(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, NULL, n->n_inputs, n->inputs, "saturate|round_mode", HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status cast_like_down(hn_rule *r) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, r->root, 1));
    if (elem == HN_UNDEFINED)
        return stays(r, "the type of its second input is unknown");
    hn_remake(r, "Cast", HN_VALUES(hn_in(r, r->root, 0)), NULL, HN_ATTRS(hn_new_i(r, "to", elem)));
    return HONE_OK;
}

/* Clip of integers does not exist before version 12. */
static hone_status clip_12_down(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), least = hn_in(r, r->root, 1), most = hn_in(r, r->root, 2);
    if (!hn_dtype_is_int(hn_elem_of(r, x)))
        return HONE_OK;
    if (least != HN_NONE)
        x = hn_make1(r, "Where",
                     HN_VALUES(hn_make1(r, "Less", HN_VALUES(x, least), HN_NO_ATTRS), least, x),
                     HN_NO_ATTRS);
    if (most != HN_NONE)
        x = hn_make1(r, "Where",
                     HN_VALUES(hn_make1(r, "Greater", HN_VALUES(x, most), HN_NO_ATTRS), most, x),
                     HN_NO_ATTRS);
    hn_rule_replace(r, x);
    return HONE_OK;
}

/* ---- others ---------------------------------------------------------------------------------- */

static hone_status shape_15_down(hn_rule *r) {
    int64_t start = hn_raw_i(r, "start", 0), end = hn_raw_i(r, "end", INT64_MAX);
    hn_id shape = hn_make1(r, "Shape", HN_VALUES(hn_in(r, r->root, 0)), HN_NO_ATTRS);
    if (start != 0 || end != INT64_MAX)
        shape = hn_make1(r, "Slice",
                         HN_VALUES(shape, hn_new_const_i64s(r, "start", 1, &start),
                                   hn_new_const_i64s(r, "end", 1, &end)),
                         HN_NO_ATTRS);
    hn_rule_replace(r, shape);
    return HONE_OK;
}

/* allowzero changes nothing when the shape has no zeros. */
static hone_status reshape_14_down(hn_rule *r) {
    uint32_t n;
    const int64_t *dims;
    const hn_node *node = hn_at(r, r->root);
    if (!hn_raw_i(r, "allowzero", 0))
        return HONE_OK;
    if (!hn_const_i64s(r, hn_in(r, r->root, 1), &n, &dims))
        return stays(
            r, "its shape is not constant, and with allowzero it may have zeros that are sizes");
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] == 0)
            return stays(r, "its shape has zeros that are sizes (allowzero)");
    hn_remake(r, NULL, node->n_inputs, node->inputs, "allowzero", HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status constant_12_down(hn_rule *r) {
    const hn_tensor *t = hn_const(r, hn_out(r, r->root, 0));
    const hn_node *n = hn_at(r, r->root);
    if (hn_node_attr(n, "value") || hn_node_attr(n, "sparse_value"))
        return HONE_OK;
    if (!t || !t->data)
        return stays(r, "its value is unknown, or holds strings");
    hn_attr a = hn_new_i(r, "value", 0);
    a.kind = HN_ATTR_TENSOR; /* a copy, because inference frees its own */
    a.v.tensor = hn_tensor_new(r->pass->model->arena, t->dtype, t->rank, t->dims, t->data, false);
    HN_TRY_PTR(a.v.tensor);
    hn_rule_replace(r, hn_make1(r, "Constant", 0, NULL, HN_ATTRS(a)));
    return HONE_OK;
}

static hone_status scatter_elements_down(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, "Scatter", n->n_inputs, n->inputs, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

/* Negative axes exist since opset 11. */
static hone_status positive_axes(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *axis = hn_node_attr(n, "axis"), *axes = hn_node_attr(n, "axes");
    int64_t rank = hn_rank_of(r, hn_in(r, r->root, 0)), list[64];
    const hn_attr *a = axis ? axis : axes;
    uint32_t n_list = a ? HN_MIN(a->n, 64u) : 0;
    bool is_changed = false;
    rank += rank >= 0 && axes && strcmp(hn_s(n->op), "Unsqueeze") == 0 ? n_list : 0;
    for (uint32_t i = 0; i < n_list; i++) {
        list[i] = axis ? axis->v.i : axes->v.ints[i];
        if (list[i] >= 0)
            continue;
        if (rank < 0)
            return stays(r, "its axis is negative, and the rank of its input is unknown");
        list[i] += rank;
        is_changed = true;
    }
    if (is_changed)
        hn_remake(
            r, NULL, n->n_inputs, n->inputs, "axis|axes",
            HN_ATTRS(axis ? hn_new_i(r, "axis", list[0]) : hn_new_ints(r, "axes", n_list, list)));
    return HONE_OK;
}

static const struct {
    const char *ops;
    int version;
    hn_adapt_fn fn;
} downs[] = {
    {"Resize", 10, resize_10_down},
    {"Resize", 11, resize_11_down},
    {"Gemm", 11, gemm_11_down},
    {"ScatterElements", 11, scatter_elements_down},
    {"ArgMax|ArgMin|Concat|Flatten|Gather|Hardmax|LogSoftmax|Softmax|Split|Squeeze|"
     "Unsqueeze|" REDUCING,
     11, positive_axes},
    {"Clip", 12, clip_12_down},
    {"Constant", 12, constant_12_down},
    {"Pow", 12, pow_12_down},
    {"QuantizeLinear|DequantizeLinear", 13, quantize_13_down},
    {"Resize", 13, resize_13_down},
    {"Reshape", 14, reshape_14_down},
    {"CastLike", 15, cast_like_down},
    {"Shape", 15, shape_15_down},
    {"Pad", 18, pad_18_down},
    {"ScatterElements|ScatterND", 18, scatter_18_down},
    {"Pad", 19, pad_19_down},
    {"Resize", 19, resize_19_down},
    {"Cast|CastLike", 19, cast_plain},
    {"DFT", 20, dft_20_down},
    {"Mod", 28, mod_28_down},
};

hn_adapt_fn hn_down_find(hn_str op, int version) {
    for (size_t i = 0; i < HN_COUNT(downs); i++)
        if (downs[i].version == version && hn_list_names(downs[i].ops, hn_s(op), op->n))
            return downs[i].fn;
    return NULL;
}
