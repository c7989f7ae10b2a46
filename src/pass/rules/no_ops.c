/* Removes nodes that return their input because of their attributes or of the shapes they get. */
#include "pass/engine/pass_int.h"

/* ---- common ---------------------------------------------------------------------------------- */

static hone_status forward_input(hn_rule *r) {
    hn_rule_replace(r, hn_in(r, r->root, 0));
    return HONE_OK;
}

static bool is_output_read(const hn_rule *r, uint32_t i) {
    hn_id value = hn_out(r, r->root, i);
    return value != HN_NONE && hn_n_readers(r, value) > 0;
}

static bool keeps_shape(const hn_rule *r) {
    return hn_same_shape(r, hn_in(r, r->root, 0), hn_out(r, r->root, 0));
}

/* Inference checks axes and the lengths of lists against the rank; where that is unknown, the node
 * may still have to fail. */
static bool is_checked(const hn_rule *r) {
    return hn_rank_of(r, hn_in(r, r->root, 0)) >= 0;
}

/* True when all elements of a list are this number, or when it is absent. */
static bool is_list_of(const hn_rule *r, const char *name, int64_t number) {
    uint32_t n;
    const int64_t *v;
    if (!hn_node_attr(hn_at(r, r->root), name))
        return true;
    if (!hn_node_ints(r, r->root, name, &n, &v))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (v[i] != number)
            return false;
    return true;
}

/* ---- for any shape --------------------------------------------------------------------------- */

static hone_status identity(hn_rule *r) {
    bool is_needed = hn_replace_needs_identity(r->g, hn_out(r, r->root, 0), hn_in(r, r->root, 0));
    return is_needed ? HONE_OK : forward_input(r);
}

/* Before version 7 an attribute turns training off; since version 12 an input turns it on. */
static hone_status dropout(hn_rule *r) {
    int version = hn_node_version(r, r->root);
    hn_id training = version >= 12 ? hn_in(r, r->root, 2) : HN_NONE;
    double is_training;
    if (version < 7 && hn_node_i(r, r->root, "is_test", 0) == 0)
        return HONE_OK;
    if (training != HN_NONE && (!hn_const_f64(r, training, &is_training) || is_training != 0))
        return HONE_OK;
    return is_output_read(r, 1) ? hn_miss(r, "its mask has readers") : forward_input(r);
}

static hone_status cast_to_same(hn_rule *r) {
    hn_dtype from = hn_elem_of(r, hn_in(r, r->root, 0));
    hn_dtype to = hn_elem_of(r, hn_out(r, r->root, 0));
    return from != HN_UNDEFINED && from == to ? forward_input(r) : HONE_OK;
}

static hone_status one_input(hn_rule *r) {
    bool has_axis = hn_is_op(r, r->root, "Concat");
    return hn_at(r, r->root)->n_inputs == 1 && (!has_axis || is_checked(r)) ? forward_input(r)
                                                                            : HONE_OK;
}

/* A node with several outputs may declare only the first. */
static hone_status one_output(hn_rule *r) {
    bool has_sizes = hn_node_attr(hn_at(r, r->root), "split") || hn_in(r, r->root, 1) != HN_NONE;
    bool is_whole = hn_node_i(r, r->root, "num_outputs", 1) == 1 && is_checked(r);
    return hn_at(r, r->root)->n_outputs == 1 && is_whole && (!has_sizes || keeps_shape(r))
               ? forward_input(r)
               : HONE_OK;
}

static hone_status blocks_of_one(hn_rule *r) {
    return hn_node_i(r, r->root, "blocksize", 0) == 1 && is_checked(r) ? forward_input(r) : HONE_OK;
}

/* "ij->ij": one operand whose letters all occur once, in the same order in the output. */
static hone_status einsum_identity(hn_rule *r) {
    const hn_attr *equation = hn_node_attr(hn_at(r, r->root), "equation");
    char sides[2][64];
    size_t n[2] = {0, 0};
    int side = 0;
    if (!equation || equation->kind != HN_ATTR_STRING || hn_at(r, r->root)->n_inputs != 1 ||
        !is_checked(r))
        return HONE_OK;
    const char *text = equation->v.s.at;
    for (uint64_t i = 0; i < equation->v.s.n; i++) {
        if (text[i] == ' ')
            continue;
        if (text[i] == '-' && side == 0 && i + 1 < equation->v.s.n && text[i + 1] == '>') {
            side = 1;
            i++;
            continue;
        }
        bool is_repeated = text[i] != '.' && memchr(sides[side], text[i], n[side]);
        if (is_repeated || n[side] == sizeof sides[side])
            return HONE_OK;
        sides[side][n[side]++] = text[i];
    }
    return side == 1 && n[0] == n[1] && memcmp(sides[0], sides[1], n[0]) == 0 ? forward_input(r)
                                                                              : HONE_OK;
}

/* ---- because of attributes ------------------------------------------------------------------- */

static hone_status transpose(hn_rule *r) {
    uint32_t n;
    const int64_t *perm;
    if (!hn_node_attr(hn_at(r, r->root), "perm")) {
        int32_t rank = hn_rank_of(r, hn_in(r, r->root, 0));
        return rank == 0 || rank == 1 ? forward_input(r) : HONE_OK;
    }
    if (!hn_node_ints(r, r->root, "perm", &n, &perm) || !is_checked(r))
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] != i)
            return HONE_OK;
    return forward_input(r);
}

/* Equal shapes are no proof: one side may be padded and the other cropped. */
static hone_status pad(hn_rule *r) {
    uint32_t n;
    const int64_t *pads;
    const char *name = hn_node_version(r, r->root) < 2 ? "paddings" : "pads";
    if (!hn_node_list(r, r->root, name, 1, &n, &pads) || !is_checked(r))
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++)
        if (pads[i] != 0)
            return HONE_OK;
    return forward_input(r);
}

static bool all_are(uint32_t n, const int64_t *v, int64_t least, int64_t most) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i] < least || v[i] > most)
            return false;
    return true;
}

/* From the first element without an end, which some exporters write as INT32_MAX. */
static bool is_open_slice(const hn_rule *r) {
    uint32_t n;
    const int64_t *starts, *ends;
    return is_checked(r) && hn_node_list(r, r->root, "starts", 1, &n, &starts) &&
           all_are(n, starts, 0, 0) && hn_node_list(r, r->root, "ends", 2, &n, &ends) &&
           all_are(n, ends, INT32_MAX, INT64_MAX);
}

/* A forward slice as long as its axis returns the axis unchanged. */
static hone_status slice(hn_rule *r) {
    hn_id steps = hn_in(r, r->root, 4);
    uint32_t n = 0;
    const int64_t *v = NULL;
    if (steps != HN_NONE && !hn_const_i64s(r, steps, &n, &v))
        return HONE_OK;
    bool is_whole =
        keeps_shape(r) ? all_are(n, v, 1, INT64_MAX) : is_open_slice(r) && all_are(n, v, 1, 1);
    return is_whole ? forward_input(r) : HONE_OK;
}

static hone_status pool(hn_rule *r) {
    if (!hn_node_attr(hn_at(r, r->root), "kernel_shape") || !is_list_of(r, "kernel_shape", 1) ||
        !is_list_of(r, "strides", 1) || !is_list_of(r, "pads", 0) || !keeps_shape(r))
        return HONE_OK;
    return is_output_read(r, 1) ? hn_miss(r, "its indices have readers") : forward_input(r);
}

/* ---- Resize ---------------------------------------------------------------------------------- */

/* True when all scales of a Resize or Upsample, in any version, are exactly 1. */
static bool is_scaled_by_one(const hn_rule *r) {
    bool is_upsample = hn_is_op(r, r->root, "Upsample");
    const hn_attr *attr = hn_node_attr(hn_at(r, r->root), "scales");
    double v;
    if (!attr) {
        bool is_second = is_upsample || hn_node_version(r, r->root) < 11;
        return hn_const_f64(r, hn_in(r, r->root, is_second ? 1 : 2), &v) && v == 1;
    }
    for (uint32_t i = 0; i < attr->n; i++)
        if (attr->kind != HN_ATTR_FLOATS || attr->v.floats[i] != 1)
            return false;
    return true;
}

/* Sizes equal to the input's give scales of 1, unless a policy adjusts them. */
static bool is_sized_as_input(const hn_rule *r) {
    return hn_in(r, r->root, 3) != HN_NONE && keeps_shape(r) &&
           (hn_node_version(r, r->root) < 18 ||
            hn_node_s_is(r, r->root, "keep_aspect_ratio_policy", "stretch"));
}

/* Some coordinate transformations do not map a scale of 1 to the identity. */
static hone_status resize(hn_rule *r) {
    static const char *const odd[] = {"tf_crop_and_resize", "tf_half_pixel_for_nn"};
    if (!is_checked(r) || (!is_scaled_by_one(r) && !is_sized_as_input(r)))
        return HONE_OK;
    for (size_t i = 0; i < HN_COUNT(odd); i++)
        if (hn_node_s_is(r, r->root, "coordinate_transformation_mode", odd[i]))
            return hn_miss(r, "coordinate_transformation_mode %s moves the samples", odd[i]);
    return forward_input(r);
}

/* ---- because of shapes ----------------------------------------------------------------------- */

/* Operators that keep the elements and their order whenever they keep the shape. A reduction that
 * keeps the shape runs over axes of size 1. */
static hone_status same_shape(hn_rule *r) {
    return keeps_shape(r) ? forward_input(r) : HONE_OK;
}

/* Unknown sizes stay the same, too, when all but at most one are copied. */
static bool copies_sizes(const hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    uint32_t n, n_free = 0;
    const int64_t *v;
    if (hn_node_i(r, r->root, "allowzero", 0) != 0 ||
        !hn_node_list(r, r->root, "shape", 1, &n, &v) || (int64_t)n != hn_rank_of(r, x))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        n_free += v[i] == -1;
        if (v[i] != 0 && v[i] != -1 && v[i] != hn_dim_of(r, x, (int32_t)i))
            return false;
    }
    return n_free <= 1;
}

static hone_status reshape(hn_rule *r) {
    return keeps_shape(r) || copies_sizes(r) ? forward_input(r) : HONE_OK;
}

static hone_status tile(hn_rule *r) {
    uint32_t n;
    const int64_t *repeats;
    bool is_once = hn_const_i64s(r, hn_in(r, r->root, 1), &n, &repeats) &&
                   hn_node_version(r, r->root) >= 6 && all_are(n, repeats, 1, 1) && is_checked(r);
    return keeps_shape(r) || is_once ? forward_input(r) : HONE_OK;
}

static const hn_rule_row no_op_rules[] = {
    {.name = "identity", .pattern = "Identity", .fn = identity},
    {.name = "dropout", .pattern = "Dropout", .fn = dropout},
    {.name = "cast", .pattern = "Cast|CastLike", .fn = cast_to_same},
    {.name = "one-input", .pattern = "Concat|Max|Min|Sum|Mean", .fn = one_input},
    {.name = "one-output", .pattern = "Split", .fn = one_output},
    {.name = "blocks-of-one", .pattern = "DepthToSpace|SpaceToDepth", .fn = blocks_of_one},
    {.name = "einsum", .pattern = "Einsum", .fn = einsum_identity},
    {.name = "transpose", .pattern = "Transpose", .fn = transpose},
    {.name = "pad", .pattern = "Pad", .fn = pad},
    {.name = "slice", .pattern = "Slice", .fn = slice},
    {.name = "pool", .pattern = "MaxPool|AveragePool", .fn = pool},
    {.name = "resize", .pattern = "Resize|Upsample", .fn = resize},
    {.name = "same-shape", .pattern = "Flatten|Squeeze|Unsqueeze|Expand", .fn = same_shape},
    {.name = "reshape", .pattern = "Reshape", .fn = reshape},
    {.name = "tile", .pattern = "Tile", .fn = tile},
    {.name = "reduce-one",
     .pattern =
         "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|GlobalAveragePool|GlobalMaxPool",
     .fn = same_shape},
};

hone_status hn_pass_no_ops(hn_pass *p) {
    return hn_pass_rules(p, no_op_rules, HN_COUNT(no_op_rules));
}
