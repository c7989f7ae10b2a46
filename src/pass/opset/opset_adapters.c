/* Adapters for operators that changed in other ways than an attribute becoming an input. */
#include "pass/opset/opset.h"

#define BROADCASTING "Add|Sub|Mul|Div|And|Or|Xor|Equal|Greater|Less|Pow"

static hone_status cannot(hn_rule *r, const char *why) {
    return hn_fail(r->pass->err, HONE_E_UNSUPPORTED, "%s", why);
}

static hone_status drop_attrs(hn_rule *r, const char *names) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, NULL, n->n_inputs, n->inputs, names, HN_NO_ATTRS);
    return HONE_OK;
}

/* ---- before opset 7: memory hints and explicit broadcasting ---------------------------------- */

/* `axis` aligns the second operand with the dimensions from there on; trailing axes of size 1
 * express that since version 7. */
static hone_status broadcast_up(hn_rule *r) {
    hn_id a = hn_in(r, r->root, 0), b = hn_in(r, r->root, 1);
    int64_t rank_a = hn_rank_of(r, a), rank_b = hn_rank_of(r, b), axes[64];
    int64_t axis = hn_raw_i(r, "axis", rank_a - rank_b);
    if (!hn_raw_i(r, "broadcast", 0) || !hn_node_attr(hn_at(r, r->root), "axis"))
        return drop_attrs(r, "broadcast|axis");
    if (rank_a < 0 || rank_b < 0)
        return cannot(r, "it broadcasts from an axis, and the ranks of its inputs are not known");
    axis += axis < 0 ? rank_a : 0;
    uint32_t n = 0;
    for (int64_t i = axis + rank_b; i < rank_a && n < 64; i++)
        axes[n] = rank_b + (int64_t)n, n++;
    hn_id wide = n ? hn_make_with_list(r, "Unsqueeze", b, "axes", n, axes) : b;
    hn_remake(r, NULL, HN_VALUES(a, wide), "broadcast|axis", HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status prelu_up(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), slope = hn_in(r, r->root, 1);
    int64_t rank = hn_rank_of(r, x), axes[64];
    uint32_t n = 0;
    if (rank < 0 || hn_rank_of(r, slope) != 1)
        return cannot(r, "the rank of its input is unknown");
    for (int64_t i = 2; i < rank && n < 64; i++)
        axes[n] = 1 + (int64_t)n, n++;
    if (hn_dim_of(r, slope, 0) == 1 || n == 0)
        return HONE_OK;
    hn_id wide = hn_make_with_list(r, "Unsqueeze", slope, "axes", n, axes);
    hn_remake(r, NULL, HN_VALUES(x, wide), NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status batch_norm_7(hn_rule *r) {
    return drop_attrs(r, "is_test");
}

/* The mask had the type of the data before; it is bool now. */
static hone_status dropout_10(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    return n->n_outputs > 1 && n->outputs[1] != HN_NONE && hn_n_readers(r, n->outputs[1])
               ? cannot(r, "its mask has readers, and opset 10 changed the type of the mask")
               : HONE_OK;
}

static hone_status gemm_7_up(hn_rule *r) {
    return drop_attrs(r, "broadcast");
}

static hone_status gemm_7_down(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, NULL, n->n_inputs, n->inputs, NULL, HN_ATTRS(hn_new_i(r, "broadcast", 1)));
    return HONE_OK;
}

static hone_status batch_norm_9(hn_rule *r) {
    return hn_raw_i(r, "spatial", 1)
               ? drop_attrs(r, "spatial")
               : cannot(r, "it normalizes every element separately (spatial = 0)");
}

static hone_status batch_norm_14(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    for (uint32_t i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_n_readers(r, n->outputs[i]))
            return cannot(r, "it returns training statistics");
    return HONE_OK;
}

static hone_status batch_norm_14_down(hn_rule *r) {
    return hn_raw_i(r, "training_mode", 0) ? cannot(r, "it is in training mode")
                                           : drop_attrs(r, "training_mode");
}

static hone_status cast_up(hn_rule *r) {
    const hn_attr *to = hn_node_attr(hn_at(r, r->root), "to");
    if (!to || to->kind != HN_ATTR_STRING)
        return HONE_OK;
    char name[32];
    size_t n = HN_MIN(to->v.s.n, sizeof name - 1);
    for (size_t i = 0; i < n; i++) {
        char c = ((const char *)to->v.s.at)[i];
        name[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    hn_dtype elem = hn_dtype_from_name(name, n);
    if (elem == HN_UNDEFINED)
        return cannot(r, "its attribute 'to' is not a type");
    hn_remake(r, NULL, HN_VALUES(hn_in(r, r->root, 0)), "to", HN_ATTRS(hn_new_i(r, "to", elem)));
    return HONE_OK;
}

static hone_status concat_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    if (!hn_node_attr(n, "axis"))
        hn_remake(r, NULL, n->n_inputs, n->inputs, NULL, HN_ATTRS(hn_new_i(r, "axis", 1)));
    return HONE_OK;
}

static hone_status pad_2_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *a = hn_node_attr(n, "paddings");
    if (a)
        hn_remake(r, NULL, n->n_inputs, n->inputs, "paddings",
                  HN_ATTRS(hn_new_ints(r, "pads", a->n, a->v.ints)));
    return HONE_OK;
}

static hone_status lp_pool_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *p = hn_node_attr(n, "p");
    if (p && p->kind == HN_ATTR_FLOAT)
        hn_remake(r, NULL, n->n_inputs, n->inputs, "p",
                  HN_ATTRS(hn_new_i(r, "p", (int64_t)p->v.f)));
    return HONE_OK;
}

static hone_status recurrent_up(hn_rule *r) {
    return hn_node_attr(hn_at(r, r->root), "output_sequence") ? drop_attrs(r, "output_sequence")
                                                              : HONE_OK;
}

/* ---- softmax: over the trailing axes as a matrix before opset 13, over one axis since -------- */

static bool is_last_axis(const hn_rule *r, int64_t axis) {
    int64_t rank = hn_rank_of(r, hn_in(r, r->root, 0));
    return axis == -1 || (rank >= 0 && axis == rank - 1);
}

static hone_status softmax_up(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    int64_t axis = hn_raw_i(r, "axis", 1);
    if (is_last_axis(r, axis)) {
        hn_remake(r, NULL, HN_VALUES(x), "axis", HN_ATTRS(hn_new_i(r, "axis", -1)));
        return HONE_OK;
    }
    const hn_node *n = hn_at(r, r->root);
    hn_id flat = hn_make1(r, "Flatten", HN_VALUES(x), HN_ATTRS(hn_new_i(r, "axis", axis)));
    hn_id soft = hn_make1(r, hn_s(n->op), HN_VALUES(flat), HN_ATTRS(hn_new_i(r, "axis", -1)));
    hn_id shape = hn_make1(r, "Shape", HN_VALUES(x), HN_NO_ATTRS);
    hn_rule_replace(r, hn_make1(r, "Reshape", HN_VALUES(soft, shape), HN_NO_ATTRS));
    return HONE_OK;
}

/* An axis other than the last is swapped with it. */
static hone_status softmax_down(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    int64_t rank = hn_rank_of(r, x), axis = hn_raw_i(r, "axis", -1), perm[64];
    if (rank < 1 || rank > 64 || axis < -rank || axis >= rank)
        return cannot(r, "the rank of its input is unknown");
    hn_attr last = hn_new_i(r, "axis", rank - 1);
    if (is_last_axis(r, axis)) {
        hn_remake(r, NULL, HN_VALUES(x), "axis", HN_ATTRS(last));
        return HONE_OK;
    }
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i;
    axis += axis < 0 ? rank : 0;
    perm[axis] = rank - 1;
    perm[rank - 1] = axis;
    hn_attr swap = hn_new_ints(r, "perm", (uint32_t)rank, perm);
    hn_id swapped = hn_make1(r, "Transpose", HN_VALUES(x), HN_ATTRS(swap));
    hn_id soft = hn_make1(r, hn_s(hn_at(r, r->root)->op), HN_VALUES(swapped), HN_ATTRS(last));
    hn_rule_replace(r, hn_make1(r, "Transpose", HN_VALUES(soft), HN_ATTRS(swap)));
    return HONE_OK;
}

/* ---- resizing -------------------------------------------------------------------------------- */

static hone_status upsample_7_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *h = hn_node_attr(n, "height_scale"), *w = hn_node_attr(n, "width_scale");
    if (!h || !w)
        return cannot(r, "its scales are missing");
    float *scales = hn_arena_alloc(r->pass->model->arena, 4 * sizeof *scales);
    HN_TRY_PTR(scales);
    scales[0] = scales[1] = 1;
    scales[2] = h->v.f;
    scales[3] = w->v.f;
    hn_attr a = hn_new_ints(r, "scales", 0, NULL);
    a.kind = HN_ATTR_FLOATS;
    a.n = 4;
    a.v.floats = scales;
    hn_remake(r, NULL, n->n_inputs, n->inputs, "height_scale|width_scale", HN_ATTRS(a));
    return HONE_OK;
}

static hone_status upsample_10_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, "Resize", n->n_inputs, n->inputs, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status resize_11_up(hn_rule *r) {
    int64_t none[1] = {0};
    const hn_tensor *empty = hn_tensor_new(r->pass->model->arena, HN_F32, 1, none, NULL, false);
    hn_remake(r, NULL,
              HN_VALUES(hn_in(r, r->root, 0), hn_new_const(r, "roi", empty), hn_in(r, r->root, 1)),
              NULL,
              HN_ATTRS(hn_new_s(r, "coordinate_transformation_mode", "asymmetric"),
                       hn_new_s(r, "nearest_mode", "floor")));
    return HONE_OK;
}

/* An empty tensor stands for an input that is omitted since version 13. */
static hone_status resize_13_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_id in[4];
    for (uint32_t i = 0; i < 4; i++) {
        in[i] = hn_in(r, r->root, i);
        const hn_tensor *t = hn_const(r, in[i]);
        if (i > 0 && t && t->n_elems == 0)
            in[i] = HN_NONE;
    }
    if (memcmp(in, n->inputs, n->n_inputs * sizeof *in) != 0)
        hn_remake(r, NULL, 4, in, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

/* ---- others ---------------------------------------------------------------------------------- */

static hone_status scatter_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, "ScatterElements", n->n_inputs, n->inputs, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status dft_up(hn_rule *r) {
    int64_t axis = hn_raw_i(r, "axis", 1);
    const hn_tensor *t = hn_tensor_new(r->pass->model->arena, HN_I64, 0, NULL, &axis, false);
    hn_remake(r, NULL,
              HN_VALUES(hn_in(r, r->root, 0), hn_in(r, r->root, 1), hn_new_const(r, "axis", t)),
              "axis", HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status grid_sample_names(hn_rule *r, const char *const (*names)[2]) {
    const hn_node *n = hn_at(r, r->root);
    const hn_attr *mode = hn_node_attr(n, "mode");
    for (uint32_t i = 0; mode && i < 2; i++)
        if (mode->v.s.n == strlen(names[i][0]) &&
            memcmp(mode->v.s.at, names[i][0], mode->v.s.n) == 0)
            hn_remake(r, NULL, n->n_inputs, n->inputs, "mode",
                      HN_ATTRS(hn_new_s(r, "mode", names[i][1])));
    return HONE_OK;
}

static hone_status grid_sample_up(hn_rule *r) {
    static const char *const names[2][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    return grid_sample_names(r, names);
}

static hone_status grid_sample_down(hn_rule *r) {
    static const char *const names[2][2] = {{"linear", "bilinear"}, {"cubic", "bicubic"}};
    return grid_sample_names(r, names);
}

static hone_status roi_align_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_remake(r, NULL, n->n_inputs, n->inputs, NULL,
              HN_ATTRS(hn_new_s(r, "coordinate_transformation_mode", "output_half_pixel")));
    return HONE_OK;
}

static hone_status roi_align_down(hn_rule *r) {
    const hn_attr *a = hn_node_attr(hn_at(r, r->root), "coordinate_transformation_mode");
    static const char was[] = "output_half_pixel";
    if (!a || a->v.s.n != sizeof was - 1 || memcmp(a->v.s.at, was, a->v.s.n) != 0)
        return cannot(r, "it uses half-pixel coordinates");
    return drop_attrs(r, "coordinate_transformation_mode");
}

static hone_status split_18_up(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    if (n->n_inputs < 2 || n->inputs[1] == HN_NONE)
        hn_remake(r, NULL, n->n_inputs, n->inputs, NULL,
                  HN_ATTRS(hn_new_i(r, "num_outputs", n->n_outputs)));
    return HONE_OK;
}

static hone_status split_18_down(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_dim size = hn_dim_of(r, n->inputs[0], (int32_t)hn_raw_i(r, "axis", 0));
    bool has_parts = n->n_inputs > 1 && n->inputs[1] != HN_NONE;
    if (!has_parts && (!hn_dim_is_known(size) || size % n->n_outputs))
        return cannot(r, "its parts may differ in size");
    return drop_attrs(r, "num_outputs");
}

/* From one scale per group to one per channel: only constants can be repeated during the
 * conversion. */
static hone_status group_norm_up(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    hn_dim channels = hn_dim_of(r, x, 1);
    int64_t groups = hn_raw_i(r, "num_groups", 1);
    if (!hn_dim_is_known(channels) || groups < 1 || channels % groups)
        return cannot(r, "its number of channels is unknown");
    int64_t axis[1] = {1}, wide[2] = {groups, channels / groups}, flat[1] = {channels};
    hn_id in[3] = {x, HN_NONE, HN_NONE};
    for (uint32_t i = 1; i < 3; i++) {
        hn_id column = hn_make_with_list(r, "Unsqueeze", hn_in(r, r->root, i), "axes", 1, axis);
        hn_id rows = hn_make1(
            r, "Expand", HN_VALUES(column, hn_new_const_i64s(r, "shape", 2, wide)), HN_NO_ATTRS);
        in[i] = hn_make1(r, "Reshape", HN_VALUES(rows, hn_new_const_i64s(r, "shape", 1, flat)),
                         HN_NO_ATTRS);
    }
    hn_remake(r, NULL, 3, in, NULL, HN_NO_ATTRS);
    return HONE_OK;
}

static hone_status as_it_is(hn_rule *r) {
    (void)r;
    return HONE_OK;
}

static const hn_adapter adapters[] = {
    {"Pad", 2, pad_2_up, NULL},
    {"LpPool|GlobalLpPool", 2, lp_pool_up, NULL},
    {"Concat", 4, concat_up, as_it_is},
    {"Cast", 6, cast_up, NULL},
    {"Tile", 6, NULL, NULL},
    {BROADCASTING, 7, broadcast_up, NULL},
    {"PRelu", 7, prelu_up, NULL},
    {"Gemm", 7, gemm_7_up, gemm_7_down},
    {"BatchNormalization|Dropout", 7, batch_norm_7, as_it_is},
    {"Upsample", 7, upsample_7_up, NULL},
    {"LSTM|GRU|RNN", 7, recurrent_up, as_it_is},
    {"BatchNormalization", 9, batch_norm_9, as_it_is},
    {"Scan", 9, NULL, NULL},
    {"Dropout", 10, dropout_10, dropout_10},
    {"Upsample", 10, upsample_10_up, NULL},
    {"Resize", 11, resize_11_up, NULL},
    {"Scatter", 11, scatter_up, NULL},
    {"Resize", 13, resize_13_up, NULL},
    {"Softmax|LogSoftmax|Hardmax", 13, softmax_up, softmax_down},
    {"BatchNormalization", 14, batch_norm_14, batch_norm_14_down},
    {"RoiAlign", 16, roi_align_up, roi_align_down},
    {"Split", 18, split_18_up, split_18_down},
    {"DFT", 20, dft_up, NULL},
    {"GridSample", 20, grid_sample_up, grid_sample_down},
    {"GroupNormalization", 21, group_norm_up, NULL},
};

const hn_adapter *hn_adapter_find(hn_str op, int version) {
    for (size_t i = 0; i < HN_COUNT(adapters); i++)
        if (adapters[i].version == version && hn_list_names(adapters[i].ops, hn_s(op), op->n))
            return &adapters[i];
    return NULL;
}
