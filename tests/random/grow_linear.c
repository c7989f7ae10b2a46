/* Products and convolutions, and what is folded into them: normalization, factors, biases, pads,
 * activations, quantization. */
#include "random/grow.h"

/* An input of this rank, of a real type; a new one when there is none. */
static hn_id some_real(grower *w, int32_t rank) {
    hn_id x = grow_chance(w, 60) ? grow_pick_real(w, rank, rank) : HN_NONE;
    int64_t dims[GROWN_MAX_RANK];
    if (x != HN_NONE)
        return x;
    for (int32_t i = 0; i < rank; i++)
        dims[i] = grow_between(w, i < 2 ? 1 : 3, 4);
    return grow_chance(w, 70) ? grow_input(w, grow_some_real(w), rank, dims)
                              : grow_const(w, grow_some_real(w), rank, dims);
}

static hn_id channels(grower *w, hn_dtype t, int64_t n) {
    return grow_const(w, t, 1, &n);
}

/* A scale and a shift by channel (axis 1), as one operator or in parts. */
static hn_id normalize(grower *w, hn_id x) {
    int64_t n = grow_dim(w, x, 1);
    hn_dtype t = grow_elem(w, x);
    if (n < 1)
        return HN_NONE;
    if (grow_chance(w, 60)) {
        double one[8] = {1, 2, 1, 0.5, 1, 4, 1, 1};
        if (n > 8)
            return HN_NONE;
        return grow_make(w, "BatchNormalization",
                         HN_VALUES(x, channels(w, t, n), channels(w, t, n), channels(w, t, n),
                                   grow_numbers(w, t, 1, &n, one)),
                         HN_NO_ATTRS);
    }
    int64_t dims[GROWN_MAX_RANK] = {n, 1, 1, 1};
    int32_t rank = grow_rank(w, x) - 1;
    static const char *const ops[] = {"Mul", "Add", "Sub", "Div"};
    return grow_binary(w, GROW_ONE_OF(w, ops), x, grow_const(w, t, rank, dims));
}

static hn_id activate(grower *w, hn_id x) {
    static const char *const ops[] = {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"};
    return grow_unary(w, GROW_ONE_OF(w, ops), x);
}

/* What may come after: all of it, none, in any order. */
static void follow(grower *w, hn_id x) {
    for (uint32_t n = grow_below(w, 4); x != HN_NONE && n > 0; n--) {
        hn_id y = grow_chance(w, 60) ? normalize(w, x) : activate(w, x);
        if (grow_chance(w, 10))
            grow_show(w, x);
        x = y == HN_NONE ? x : y;
    }
}

static hn_id pad_before(grower *w, hn_id x) {
    int32_t rank = grow_rank(w, x);
    int64_t pads[2 * GROWN_MAX_RANK] = {0};
    for (int32_t i = 2; i < rank; i++) {
        pads[i] = grow_between(w, 0, 1);
        pads[rank + i] = grow_between(w, 0, 2);
    }
    if (grow_chance(w, 10))
        pads[0] = 1;
    hn_attr mode = grow_attr_s(w, "mode", grow_chance(w, 85) ? "constant" : "edge");
    return grow_with_list(w, "Pad", x, "pads", (uint32_t)(2 * rank), pads, 1, &mode);
}

static void add_convolution(grower *w) {
    int32_t n_spatial = 1 + (int32_t)grow_below(w, 2);
    hn_id x = some_real(w, 2 + n_spatial);
    if (grow_chance(w, 30)) {
        hn_id y = grow_chance(w, 50) ? pad_before(w, x) : normalize(w, x);
        x = y == HN_NONE ? x : y;
    }
    int64_t n_in = grow_dim(w, x, 1), n_out = grow_between(w, 1, 4);
    bool is_grouped = n_in > 1 && grow_chance(w, 20);
    int64_t dims[4] = {is_grouped ? n_in : n_out, is_grouped ? 1 : n_in, grow_between(w, 1, 3),
                       grow_between(w, 1, 3)};
    bool is_transposed = !is_grouped && grow_chance(w, 15);
    int64_t swapped[4] = {dims[1], dims[0], dims[2], dims[3]};
    hn_dtype t = grow_elem(w, x);
    hn_id weights = grow_const(w, t, 2 + n_spatial, is_transposed ? swapped : dims);
    hn_id bias = grow_chance(w, 50) ? channels(w, t, dims[0]) : HN_NONE;
    int64_t pads[4] = {grow_between(w, 0, 1), grow_between(w, 0, 1), grow_between(w, 0, 1), 0};
    hn_attr attrs[] = {grow_attr_ints(w, "pads", 2 * (uint32_t)n_spatial, pads),
                       grow_attr_i(w, "group", is_grouped ? n_in : 1)};
    follow(w, grow_make(w, is_transposed ? "ConvTranspose" : "Conv", HN_VALUES(x, weights, bias), 2,
                        attrs));
}

static void add_pooling(grower *w) {
    hn_id x = some_real(w, 4);
    int64_t window[2] = {grow_between(w, 1, 2), grow_between(w, 1, 3)};
    if (grow_chance(w, 50)) {
        hn_id y = pad_before(w, x);
        x = y == HN_NONE ? x : y;
    }
    hn_attr attrs[] = {grow_attr_ints(w, "kernel_shape", 2, window),
                       grow_attr_i(w, "count_include_pad", grow_chance(w, 40))};
    bool is_max = grow_chance(w, 50);
    hn_id node = grow_node(w, is_max ? "MaxPool" : "AveragePool", HN_VALUES(x),
                           is_max && grow_chance(w, 20) ? 2 : 1, is_max ? 1 : 2, attrs);
    follow(w, grow_out(w, node, 0));
}

static hn_id transposed_now_and_then(grower *w, hn_id x) {
    int64_t perm[GROWN_MAX_RANK];
    int32_t rank = grow_rank(w, x);
    if (rank < 2 || grow_chance(w, 70))
        return x;
    for (int32_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    hn_attr order = grow_attr_ints(w, "perm", (uint32_t)rank, perm);
    hn_id y = grow_make(w, "Transpose", HN_VALUES(x), 1, &order);
    return y == HN_NONE ? x : y;
}

static void add_bias_and_factor(grower *w, hn_id y) {
    int64_t n = grow_dim(w, y, -1);
    hn_dtype t = grow_elem(w, y);
    if (y != HN_NONE && grow_chance(w, 60))
        y = grow_binary(w, grow_chance(w, 80) ? "Add" : "Sub", y, channels(w, t, n));
    if (y != HN_NONE && grow_chance(w, 40))
        y = grow_binary(w, grow_chance(w, 60) ? "Mul" : "Div", y, grow_number(w, t, 0.5));
    if (y != HN_NONE && grow_chance(w, 30))
        activate(w, y);
}

static void add_product(grower *w) {
    hn_id x = transposed_now_and_then(w, some_real(w, 2 + (int32_t)grow_below(w, 2)));
    int64_t inner = grow_dim(w, x, -1), dims[3] = {inner, grow_between(w, 1, 5), 1};
    hn_dtype t = grow_elem(w, x);
    bool is_swapped = grow_chance(w, 20);
    hn_id y = grow_chance(w, 80)
                  ? grow_const(w, t, 2, is_swapped ? (int64_t[]){dims[1], dims[0]} : dims)
                  : grow_pick(w, t, 2, 4);
    if (y != HN_NONE)
        add_bias_and_factor(
            w, grow_binary(w, "MatMul", x, is_swapped ? transposed_now_and_then(w, y) : y));
}

static void add_gemm(grower *w) {
    static const float factors[] = {1, 1, 0.5f, 2};
    hn_id x = transposed_now_and_then(w, some_real(w, 2));
    bool ta = grow_chance(w, 25), tb = grow_chance(w, 40);
    int64_t inner = grow_dim(w, x, ta ? 0 : 1), n = grow_between(w, 1, 5);
    int64_t dims[2] = {tb ? n : inner, tb ? inner : n};
    hn_dtype t = grow_elem(w, x);
    hn_id bias = w->opset < 11 || grow_chance(w, 60) ? channels(w, t, n) : HN_NONE;
    hn_attr attrs[] = {grow_attr_i(w, "transA", ta), grow_attr_i(w, "transB", tb),
                       grow_attr_f(w, "alpha", GROW_ONE_OF(w, factors)),
                       grow_attr_f(w, "beta", GROW_ONE_OF(w, factors))};
    add_bias_and_factor(
        w, grow_make(w, "Gemm", HN_VALUES(x, grow_const(w, t, 2, dims), bias), 4, attrs));
}

/* Products or convolutions that read the same, long enough that it pays to make them one. */
static void add_parallel(grower *w) {
    bool is_conv = grow_chance(w, 40);
    int32_t rank = is_conv ? 4 : 2;
    hn_id x = grow_chance(w, 30)
                  ? some_real(w, rank)
                  : grow_input(w, grow_some_real(w), rank,
                               is_conv ? (int64_t[]){1, 8, 3, 3} : (int64_t[]){2, 64});
    hn_dtype t = grow_elem(w, x);
    int64_t inner = grow_dim(w, x, 1);
    for (int i = 0; i < 2 + (int)grow_below(w, 2); i++) {
        int64_t n = grow_between(w, 1, 4);
        if (is_conv)
            follow(w, grow_binary(w, "Conv", x, grow_const(w, t, 4, (int64_t[]){n, inner, 3, 3})));
        else if (grow_chance(w, 50))
            grow_binary(w, "MatMul", x, grow_const(w, t, 2, (int64_t[]){inner, n}));
        else
            grow_make(w, "Gemm",
                      HN_VALUES(x, grow_const(w, t, 2, (int64_t[]){inner, n}), channels(w, t, n)),
                      HN_NO_ATTRS);
    }
}

/* To eight bits and back, with something in between. */
static void add_quantization(grower *w) {
    static const char *const between[] = {"Relu", "Identity", "MaxPool", "Transpose"};
    hn_id x = grow_pick(w, HN_F32, 0, 4);
    if (x == HN_NONE || w->opset < 10)
        return;
    double scale = grow_chance(w, 70) ? 0.125 : 0.25, zero = grow_chance(w, 50) ? 0 : 3;
    hn_id s = grow_numbers(w, HN_F32, 0, NULL, &scale);
    hn_id z = grow_numbers(w, grow_chance(w, 50) ? HN_U8 : HN_I8, 0, NULL, &zero);
    for (int i = 0; i < 2 && x != HN_NONE; i++) {
        if (grow_chance(w, 40)) {
            hn_id y = grow_unary(w, GROW_ONE_OF(w, between), x);
            x = y == HN_NONE ? x : y;
        }
        hn_id q = grow_make(w, "QuantizeLinear", HN_VALUES(x, s, z), HN_NO_ATTRS);
        x = grow_make(w, "DequantizeLinear", HN_VALUES(q, s, z), HN_NO_ATTRS);
    }
}

void grow_linear(grower *w) {
    static void (*const ways[])(grower *) = {add_convolution, add_convolution, add_pooling,
                                             add_product,     add_product,     add_gemm,
                                             add_parallel,    add_quantization};
    GROW_ONE_OF(w, ways)(w);
}
