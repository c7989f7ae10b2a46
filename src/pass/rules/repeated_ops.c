/* Merges or removes two operators in a row: Not(Not(x)), Relu(Sigmoid(x)), Cast(Cast(x)). */
#include "pass/engine/pass_int.h"

static hone_status undone(hn_rule *r) {
    hn_rule_replace(r, hn_cap(r, "x"));
    return HONE_OK;
}

static hone_status once_is_enough(hn_rule *r) {
    hn_rule_replace(r, hn_cap(r, "once"));
    return HONE_OK;
}

/* The most negative integer has no absolute value. */
static hone_status not_negative(hn_rule *r) {
    hn_id once = hn_cap(r, "once");
    return hn_dtype_is_float(hn_elem_of(r, once)) ? once_is_enough(r) : HONE_OK;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static hone_status where_not(hn_rule *r) {
    hn_id c = hn_cap(r, "c"), a = hn_cap(r, "a"), b = hn_cap(r, "b");
    hn_rule_replace(r, hn_make1(r, "Where", HN_VALUES(c, b, a), HN_NO_ATTRS));
    return HONE_OK;
}

/* Not for floats: a NaN makes both comparisons false. */
static hone_status not_compare(hn_rule *r) {
    static const char *const opposite[][2] = {{"Less", "GreaterOrEqual"},
                                              {"Greater", "LessOrEqual"},
                                              {"LessOrEqual", "Greater"},
                                              {"GreaterOrEqual", "Less"}};
    hn_id a = hn_cap(r, "a"), b = hn_cap(r, "b"), compare = hn_cap_node(r, "compare");
    if (!hn_dtype_is_int(hn_elem_of(r, a)))
        return HONE_OK;
    size_t i = 0;
    while (!hn_is_op(r, compare, opposite[i][0]))
        i++;
    if (hn_at(r, compare)->n_attrs == 0 && hn_can_write(r, opposite[i][1]))
        hn_rule_replace(r, hn_make1(r, opposite[i][1], HN_VALUES(a, b), HN_NO_ATTRS));
    return HONE_OK;
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* The numbers a type represents exactly: integers of up to `bits` bits, and fractions for
 * floating-point types. Types that are not listed are left alone. */
typedef struct number_format {
    hn_dtype type;
    bool is_float, is_signed;
    int bits; /* of the magnitude without the sign, or of the mantissa */
    int exponent_bits;
} number_format;

static const number_format number_formats[] = {
    {HN_BOOL, false, false, 1, 0}, {HN_U8, false, false, 8, 0},   {HN_I8, false, true, 7, 0},
    {HN_U16, false, false, 16, 0}, {HN_I16, false, true, 15, 0},  {HN_U32, false, false, 32, 0},
    {HN_I32, false, true, 31, 0},  {HN_U64, false, false, 64, 0}, {HN_I64, false, true, 63, 0},
    {HN_F16, true, true, 11, 5},   {HN_BF16, true, true, 8, 8},   {HN_F32, true, true, 24, 8},
    {HN_F64, true, true, 53, 11},
};

static const number_format *format_of(hn_dtype t) {
    for (size_t i = 0; i < HN_COUNT(number_formats); i++)
        if (number_formats[i].type == t)
            return &number_formats[i];
    return NULL;
}

/* True when every value of one type is a value of the other. A bool never is the wider one: it
 * turns 2 into 1. */
static bool holds_all(const number_format *wide, const number_format *narrow) {
    if (wide->type == narrow->type)
        return true;
    return wide->type != HN_BOOL && wide->bits >= narrow->bits &&
           (wide->is_signed || !narrow->is_signed) && (wide->is_float || !narrow->is_float) &&
           wide->exponent_bits >= narrow->exponent_bits;
}

/* Integers cast through a floating-point type to a small integer type: an out-of-range value is
 * undefined on that path, and wraps around with a direct cast. */
static bool is_same_direct(const number_format *x, const number_format *middle,
                           const number_format *to) {
    if (!holds_all(middle, x))
        return false;
    return x->is_float || !middle->is_float || to->is_float || to->type == HN_BOOL ||
           holds_all(to, x);
}

static hone_status cast_cast(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), out = hn_out(r, r->root, 0);
    const number_format *from = format_of(hn_elem_of(r, x));
    const number_format *middle = format_of(hn_elem_of(r, hn_in(r, r->root, 0)));
    const number_format *to = format_of(hn_elem_of(r, out));
    if (!from || !middle || !to || !is_same_direct(from, middle, to))
        return HONE_OK;
    hn_id cast = x;
    if (from->type != to->type)
        cast = hn_out(r, hn_make_like(r, r->root, HN_VALUES(x), HN_NO_ATTRS), 0);
    hn_rule_replace(r, cast);
    return HONE_OK;
}

static const hn_rule_row repeated_rules[] = {
    {.name = "not-not", .pattern = "Not(Not(x))", .fn = undone, .allow_shared = true},
    {.name = "neg-neg", .pattern = "Neg(Neg(x))", .fn = undone, .allow_shared = true},
    {.name = "bitwise-not-not",
     .pattern = "BitwiseNot(BitwiseNot(x))",
     .fn = undone,
     .allow_shared = true},
    {.name = "relu-relu",
     .pattern = "Relu(Relu(x):once)",
     .fn = once_is_enough,
     .allow_shared = true},
    {.name = "abs-abs", .pattern = "Abs(Abs(x):once)", .fn = once_is_enough, .allow_shared = true},
    {.name = "sign-sign",
     .pattern = "Sign(Sign(x):once)",
     .fn = once_is_enough,
     .allow_shared = true},
    {.name = "round-round",
     .pattern = "Ceil|Floor|Round(Ceil|Floor|Round(x):once)",
     .fn = once_is_enough,
     .allow_shared = true},
    {.name = "not-negative",
     .pattern = "Relu|Abs(Relu|Abs|Exp|Sigmoid|HardSigmoid|Softmax|Softplus(...):once)",
     .fn = not_negative,
     .allow_shared = true},
    {.name = "where-not", .pattern = "Where(Not(c), a, b)", .fn = where_not},
    {.name = "not-compare",
     .pattern = "Not(Less|Greater|LessOrEqual|GreaterOrEqual(a, b):compare)",
     .fn = not_compare},
    {.name = "cast-cast", .pattern = "Cast(Cast(x))", .fn = cast_cast, .allow_shared = true},
};

hone_status hn_pass_repeated_ops(hn_pass *p) {
    return hn_pass_rules(p, repeated_rules, HN_COUNT(repeated_rules));
}
