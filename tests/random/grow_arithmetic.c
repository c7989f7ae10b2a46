/* Element by element: functions, sums and products with constants, comparisons, casts. */
#include "random/grow.h"

static const char *const functions[] = {
    "Relu",      "Sigmoid",  "Tanh",      "Neg",     "Abs",        "Exp", "Sqrt",
    "Erf",       "Identity", "Ceil",      "Floor",   "Reciprocal", "Log", "Sign",
    "Softplus",  "Elu",      "LeakyRelu", "Round",   "Sin",        "Cos", "HardSigmoid",
    "HardSwish", "Identity", "Dropout",   "Softsign"};

static void add_function(grower *w) {
    hn_id x = grow_pick_real(w, 0, GROWN_MAX_RANK);
    if (x != HN_NONE)
        grow_unary(w, GROW_ONE_OF(w, functions), x);
}

static const char *const pairs[] = {"Add", "Sub", "Mul", "Div", "Add", "Mul", "Max", "Min", "Pow"};

/* Something with a constant, on either side; often a number that changes nothing. */
static hn_id with_constant(grower *w, hn_id x) {
    int32_t rank;
    int64_t dims[GROWN_MAX_RANK];
    grow_beside(w, x, &rank, dims);
    hn_id c = grow_const(w, grow_elem(w, x), rank, dims);
    const char *op = GROW_ONE_OF(w, pairs);
    return grow_chance(w, 75) ? grow_binary(w, op, x, c) : grow_binary(w, op, c, x);
}

static void add_constant_chain(grower *w) {
    static const hn_dtype types[] = {HN_F32, HN_F32, HN_F16, HN_F64, HN_I32, HN_I64, HN_U8};
    hn_id x = grow_pick(w, GROW_ONE_OF(w, types), 0, GROWN_MAX_RANK);
    for (uint32_t n = 1 + grow_below(w, 4); x != HN_NONE && n > 0; n--)
        x = with_constant(w, x);
}

static void add_pair(grower *w) {
    hn_id x = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK);
    hn_id y = grow_pick(w, grow_elem(w, x), 0, GROWN_MAX_RANK);
    if (x != HN_NONE && y != HN_NONE)
        grow_binary(w, GROW_ONE_OF(w, pairs), x, y);
}

static void add_comparison(grower *w) {
    static const char *const ops[] = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"};
    hn_id x = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK);
    if (x == HN_NONE)
        return;
    hn_id y = grow_chance(w, 50) ? grow_number(w, grow_elem(w, x), grow_below(w, 2))
                                 : grow_pick(w, grow_elem(w, x), 0, GROWN_MAX_RANK);
    hn_id test = grow_binary(w, GROW_ONE_OF(w, ops), x, y);
    if (test != HN_NONE && grow_chance(w, 60))
        grow_make(w, "Where", HN_VALUES(test, x, y), HN_NO_ATTRS);
}

static void add_logic(grower *w) {
    static const char *const ops[] = {"And", "Or", "Xor"};
    hn_id x = grow_pick(w, HN_BOOL, 0, GROWN_MAX_RANK);
    hn_id y = grow_chance(w, 40) ? grow_number(w, HN_BOOL, grow_below(w, 2))
                                 : grow_pick(w, HN_BOOL, 0, GROWN_MAX_RANK);
    if (x != HN_NONE && grow_chance(w, 40))
        x = grow_unary(w, "Not", x);
    if (x != HN_NONE)
        grow_binary(w, GROW_ONE_OF(w, ops), x, y);
}

static void add_choice(grower *w) {
    int32_t rank;
    int64_t dims[GROWN_MAX_RANK];
    hn_id x = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK);
    if (x == HN_NONE)
        return;
    grow_beside(w, x, &rank, dims);
    hn_id other = grow_const(w, grow_elem(w, x), rank, dims);
    grow_beside(w, x, &rank, dims);
    hn_id test = grow_chance(w, 40) ? grow_const(w, HN_BOOL, rank, dims)
                                    : grow_pick(w, HN_BOOL, 0, GROWN_MAX_RANK);
    if (test == HN_NONE)
        return;
    bool is_first = grow_chance(w, 50);
    grow_make(w, "Where", HN_VALUES(test, is_first ? x : other, is_first ? other : x), HN_NO_ATTRS);
}

static void add_casts(grower *w) {
    hn_id x = grow_pick(w, HN_UNDEFINED, 0, GROWN_MAX_RANK);
    for (uint32_t n = 1 + grow_below(w, 3); x != HN_NONE && n > 0; n--)
        x = grow_make(w, "Cast", HN_VALUES(x), 1,
                      (hn_attr[]){grow_attr_i(w, "to", (int64_t)grow_some_type(w))});
}

/* Bounds were attributes up to version 6. */
static hn_id clip(grower *w, hn_id x, double low, double high) {
    if (w->opset < 11)
        return grow_make(
            w, "Clip", HN_VALUES(x), 2,
            (hn_attr[]){grow_attr_f(w, "min", (float)low), grow_attr_f(w, "max", (float)high)});
    hn_dtype t = grow_elem(w, x);
    hn_id min = grow_chance(w, 80) ? grow_number(w, t, low) : HN_NONE;
    hn_id max = grow_chance(w, 80) ? grow_number(w, t, high) : HN_NONE;
    return grow_make(w, "Clip", HN_VALUES(x, min, max), HN_NO_ATTRS);
}

static void add_bounds(grower *w) {
    static const char *const ops[] = {"Relu", "Clip", "Max", "Min"};
    hn_id x = grow_pick_real(w, 0, GROWN_MAX_RANK);
    for (uint32_t n = 1 + grow_below(w, 3); x != HN_NONE && n > 0; n--) {
        const char *op = GROW_ONE_OF(w, ops);
        double low = (double)grow_between(w, -2, 2), high = low + (double)grow_between(w, -1, 6);
        if (strcmp(op, "Clip") == 0)
            x = clip(w, x, low, high);
        else if (strcmp(op, "Relu") == 0)
            x = grow_unary(w, op, x);
        else
            x = grow_binary(w, op, x, grow_number(w, grow_elem(w, x), low));
    }
}

/* Rules see sums over axes that come back. */
static void add_reduction(grower *w) {
    static const char *const ops[] = {"ReduceSum", "ReduceMean", "ReduceMax",      "ReduceMin",
                                      "ReduceL2",  "ReduceProd", "ReduceSumSquare"};
    hn_id x = grow_pick_real(w, 1, 4);
    if (x == HN_NONE)
        return;
    int32_t rank = grow_rank(w, x);
    int64_t axes[] = {grow_between(w, -rank, rank - 1), grow_between(w, 0, rank - 1)};
    hn_attr keeps = grow_attr_i(w, "keepdims", grow_chance(w, 70));
    hn_id y = grow_with_list(w, GROW_ONE_OF(w, ops), x, "axes", grow_chance(w, 80) ? 1 : 2, axes, 1,
                             &keeps);
    if (y != HN_NONE && grow_chance(w, 40))
        grow_with_list(w, grow_chance(w, 50) ? "Unsqueeze" : "Squeeze", y, "axes", 1, axes,
                       HN_NO_ATTRS);
}

void grow_arithmetic(grower *w) {
    static void (*const ways[])(grower *) = {
        add_function, add_function, add_constant_chain, add_constant_chain, add_constant_chain,
        add_pair,     add_pair,     add_comparison,     add_logic,          add_choice,
        add_casts,    add_bounds,   add_reduction};
    GROW_ONE_OF(w, ways)(w);
}
