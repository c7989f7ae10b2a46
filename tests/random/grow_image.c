/* Chains of convolutions with what stands between them in networks for images: pools,
 * normalization, residuals, gates, pieces joined and cut, other sizes, other orders of axes. */
#include "random/grow.h"

/* The chain: all of its values are floats [N, C, H, W]. */
typedef hn_id (*image_step)(grower *w, hn_id x);

static hn_id per_channel(grower *w, hn_id x) {
    return grow_const(w, HN_F32, 1, (int64_t[]){grow_dim(w, x, 1)});
}

static hn_id convolve(grower *w, hn_id x) {
    int64_t n_in = grow_dim(w, x, 1), n_out = grow_between(w, 1, 6), k = grow_between(w, 1, 3);
    bool is_deep = grow_chance(w, 25), has_auto_pad = grow_chance(w, 20);
    int64_t dims[4] = {is_deep ? n_in : n_out, is_deep ? 1 : n_in, k, grow_between(w, 1, 3)};
    int64_t pads[4] = {grow_between(w, 0, 1), grow_between(w, 0, 1), grow_between(w, 0, 1), 1},
            strides[2] = {grow_between(w, 1, 2), grow_between(w, 1, 2)};
    hn_attr attrs[] = {grow_attr_i(w, "group", is_deep ? n_in : 1),
                       grow_attr_ints(w, "strides", 2, strides),
                       has_auto_pad ? grow_attr_s(w, "auto_pad", "SAME_LOWER")
                                    : grow_attr_ints(w, "pads", 4, pads)};
    hn_id bias = grow_chance(w, 60) ? grow_const(w, HN_F32, 1, dims) : HN_NONE;
    return grow_make(w, "Conv", HN_VALUES(x, grow_const(w, HN_F32, 4, dims), bias), 3, attrs);
}

static hn_id convolve_back(grower *w, hn_id x) {
    int64_t n_out = grow_between(w, 1, 3), k = grow_between(w, 1, 3);
    int64_t dims[4] = {grow_dim(w, x, 1), n_out, k, grow_between(w, 1, 2)}, strides[2] = {k, 1};
    hn_attr attrs[] = {grow_attr_ints(w, "strides", 2, strides)};
    hn_id bias = grow_chance(w, 50) ? grow_const(w, HN_F32, 1, &n_out) : HN_NONE;
    return grow_make(w, "ConvTranspose", HN_VALUES(x, grow_const(w, HN_F32, 4, dims), bias), 1,
                     attrs);
}

static hn_id pool_windows(grower *w, hn_id x) {
    int64_t window[2] = {grow_between(w, 1, 3), grow_between(w, 1, 2)}, pads[4] = {0, 0, 1, 0};
    bool is_max = grow_chance(w, 50), has_pads = window[0] > 1 && grow_chance(w, 50);
    hn_attr attrs[] = {grow_attr_ints(w, "kernel_shape", 2, window),
                       grow_attr_ints(w, "strides", 2, (int64_t[]){grow_between(w, 1, 2), 2}),
                       grow_attr_i(w, "ceil_mode", w->opset >= 10 && grow_chance(w, 40)),
                       grow_attr_ints(w, "pads", 4, pads)};
    return grow_make(w, is_max ? "MaxPool" : "AveragePool", HN_VALUES(x), has_pads ? 4 : 3, attrs);
}

static hn_id normalize_channels(grower *w, hn_id x) {
    double ones[8] = {1, 2, 1, 0.5, 1, 4, 1, 1};
    int64_t n = grow_dim(w, x, 1);
    if (grow_chance(w, 40))
        return grow_make(w, "InstanceNormalization",
                         HN_VALUES(x, per_channel(w, x), per_channel(w, x)), HN_NO_ATTRS);
    return n > 8 ? HN_NONE
                 : grow_make(w, "BatchNormalization",
                             HN_VALUES(x, per_channel(w, x), per_channel(w, x), per_channel(w, x),
                                       grow_numbers(w, HN_F32, 1, &n, ones)),
                             HN_NO_ATTRS);
}

static hn_id map_elements(grower *w, hn_id x) {
    static const char *const ops[] = {"Relu",      "Sigmoid", "LeakyRelu", "HardSigmoid", "Tanh",
                                      "HardSwish", "Abs",     "Softplus",  "Identity"};
    return grow_unary(w, GROW_ONE_OF(w, ops), x);
}

static hn_id combine(grower *w, hn_id x) {
    static const char *const ops[] = {"Add", "Mul", "Sub", "PRelu"};
    int64_t dims[4] = {1, grow_dim(w, x, 1), 1, grow_chance(w, 20) ? grow_dim(w, x, 3) : 1};
    int32_t rank = grow_chance(w, 40) ? 4 : 3;
    if (grow_chance(w, 30))
        return grow_binary(w, "Add", x, grow_pick(w, HN_F32, 4, 4));
    return grow_binary(w, GROW_ONE_OF(w, ops), x, grow_const(w, HN_F32, rank, dims + (4 - rank)));
}

/* x times what all places of it say together. */
static hn_id gate(grower *w, hn_id x) {
    hn_id all = grow_chance(w, 50)
                    ? grow_unary(w, "GlobalAveragePool", x)
                    : grow_with_list(w, "ReduceMean", x, "axes", 2, (int64_t[]){2, 3}, HN_NO_ATTRS);
    hn_id by = all == HN_NONE ? HN_NONE : convolve(w, all);
    by = by == HN_NONE ? all : grow_unary(w, "Sigmoid", by);
    return by == HN_NONE ? HN_NONE : grow_binary(w, "Mul", x, by);
}

static hn_id join(grower *w, hn_id x) {
    hn_id other = grow_chance(w, 50) ? grow_pick(w, HN_F32, 4, 4) : x;
    hn_attr axis = grow_attr_i(w, "axis", grow_chance(w, 80) ? 1 : -1);
    return grow_make(w, "Concat", HN_VALUES(x, other), 1, &axis);
}

static hn_id cut(grower *w, hn_id x) {
    int64_t n = grow_dim(w, x, 1), sizes[2] = {n / 2, n - n / 2};
    if (n < 2 || w->opset < 13)
        return HN_NONE;
    hn_attr axis = grow_attr_i(w, "axis", 1);
    hn_id node = grow_node(w, "Split", HN_VALUES(x, grow_ints(w, 2, sizes)), 2, 1, &axis);
    return node == HN_NONE ? HN_NONE : grow_out(w, node, grow_below(w, 2));
}

/* Channels as groups change places. */
static hn_id shuffle(grower *w, hn_id x) {
    int64_t n = grow_dim(w, x, 1), h = grow_dim(w, x, 2), width = grow_dim(w, x, 3),
            groups = n % 2 == 0 ? 2 : n;
    if (n < 1 || h < 1 || width < 1)
        return HN_NONE;
    hn_attr perm = grow_attr_ints(w, "perm", 5, (int64_t[]){0, 2, 1, 3, 4});
    hn_id split = grow_with_list(w, "Reshape", x, "shape", 5,
                                 (int64_t[]){-1, groups, n / groups, h, width}, HN_NO_ATTRS);
    hn_id moved =
        split == HN_NONE ? HN_NONE : grow_make(w, "Transpose", HN_VALUES(split), 1, &perm);
    return moved == HN_NONE ? HN_NONE
                            : grow_with_list(w, "Reshape", moved, "shape", 4,
                                             (int64_t[]){-1, n, h, width}, HN_NO_ATTRS);
}

static hn_id turn(grower *w, hn_id x) {
    hn_attr there = grow_attr_ints(w, "perm", 4, (int64_t[]){0, 2, 3, 1}),
            back = grow_attr_ints(w, "perm", 4, (int64_t[]){0, 3, 1, 2});
    hn_id last = grow_make(w, "Transpose", HN_VALUES(x), 1, &there);
    hn_attr axis = grow_attr_i(w, "axis", grow_between(w, 1, 3));
    if (last != HN_NONE && w->opset >= 13 && grow_chance(w, 50))
        last = grow_make(w, "Softmax", HN_VALUES(last), 1, &axis);
    return last == HN_NONE ? HN_NONE : grow_make(w, "Transpose", HN_VALUES(last), 1, &back);
}

static hn_id resize(grower *w, hn_id x) {
    double scales[4] = {1, 1, grow_chance(w, 50) ? 2 : 1.5, 2};
    int64_t n = 4;
    hn_attr mode = grow_attr_s(w, "mode", grow_chance(w, 50) ? "nearest" : "linear");
    if (w->opset < 13)
        return HN_NONE;
    return grow_make(w, "Resize", HN_VALUES(x, HN_NONE, grow_numbers(w, HN_F32, 1, &n, scales)), 1,
                     &mode);
}

static hn_id move_blocks(grower *w, hn_id x) {
    hn_attr attrs[] = {grow_attr_i(w, "blocksize", 2),
                       grow_attr_s(w, "mode", grow_chance(w, 50) ? "DCR" : "CRD")};
    bool is_up = grow_dim(w, x, 1) % 4 == 0;
    return grow_make(w, is_up ? "DepthToSpace" : "SpaceToDepth", HN_VALUES(x),
                     is_up && w->opset >= 11 ? 2 : 1, attrs);
}

static void end_chain(grower *w, hn_id x) {
    hn_attr keep = grow_attr_i(w, "keepdims", grow_chance(w, 50));
    hn_id all = grow_chance(w, 50)
                    ? grow_unary(w, "GlobalMaxPool", x)
                    : grow_with_list(w, "ReduceMean", x, "axes", 2, (int64_t[]){2, 3}, 1, &keep);
    if (all != HN_NONE && grow_chance(w, 60))
        grow_unary(w, "Flatten", all);
}

void grow_image(grower *w) {
    static const image_step steps[] = {
        convolve,     convolve, convolve,   convolve_back, pool_windows, normalize_channels,
        map_elements, combine,  gate,       join,          cut,          shuffle,
        turn,         resize,   move_blocks};
    int64_t dims[4] = {grow_between(w, 1, 2), grow_between(w, 1, 4), grow_between(w, 2, 5),
                       grow_between(w, 2, 5)};
    hn_id x = grow_chance(w, 50) ? grow_pick(w, HN_F32, 4, 4) : HN_NONE;
    x = x == HN_NONE ? grow_input(w, HN_F32, 4, dims) : x;
    for (uint32_t n = 1 + grow_below(w, 6); n > 0; n--) {
        hn_id y = GROW_ONE_OF(w, steps)(w, x);
        if (grow_chance(w, 8))
            grow_show(w, x);
        x = y == HN_NONE ? x : y;
    }
    if (grow_chance(w, 30))
        end_chain(w, x);
}
