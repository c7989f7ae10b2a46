/* Removes arithmetic with a constant that changes nothing: x*1, x + 0, x and true. In floating
 * point x + 0 turns a negative zero into a positive one; removing it keeps the sign, which is
 * accepted. */
#include "pass/engine/pass_int.h"

#include <math.h>

typedef struct neutral_element {
    const char *op;
    double number;
    bool is_either_side; /* else only on the right */
} neutral_element;

static const neutral_element neutral_elements[] = {
    {"Mul", 1, true},
    {"Div", 1, false},
    {"Pow", 1, false},
    {"Add", 0, true},
    {"Sub", 0, false},
    {"And", 1, true},
    {"Or", 0, true},
    {"Xor", 0, true},
    {"BitwiseOr", 0, true},
    {"BitwiseXor", 0, true},
    {"BitShift", 0, false},
    {"Max", -(double)INFINITY, true},
    {"Min", (double)INFINITY, true},
};

/* True when the result has the shape of x, whatever that is. */
static bool keeps_shape_of(const hn_rule *r, hn_id x, hn_id constant) {
    const hn_tensor *c = hn_const(r, constant);
    bool is_scalar = c && c->n_elems == 1 && c->rank <= HN_MAX(hn_rank_of(r, x), 0);
    return is_scalar || hn_same_shape(r, x, hn_out(r, r->root, 0));
}

static bool has_type_of(const hn_rule *r, hn_id x) {
    hn_dtype elem = hn_elem_of(r, x);
    return elem != HN_UNDEFINED && elem == hn_elem_of(r, hn_out(r, r->root, 0));
}

static bool is_filled_with(const hn_rule *r, hn_id value, double number) {
    double v;
    return hn_const_f64(r, value, &v) && v == number;
}

static hone_status neutral(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    const neutral_element *e = neutral_elements;
    while (!hn_str_is(n->op, e->op))
        e++;
    for (uint32_t side = 2; side-- > (e->is_either_side ? 0u : 1u) && n->n_inputs == 2;) {
        hn_id x = n->inputs[1 - side];
        if (!is_filled_with(r, n->inputs[side], e->number) || !has_type_of(r, x))
            continue;
        if (!keeps_shape_of(r, x, n->inputs[side]))
            return hn_miss(r, "the constant changes no element, but may change the shape");
        hn_rule_replace(r, x);
        return HONE_OK;
    }
    return HONE_OK;
}

static hone_status where_constant(hn_rule *r) {
    double condition;
    if (!hn_const_f64(r, hn_in(r, r->root, 0), &condition))
        return HONE_OK;
    hn_id taken = hn_in(r, r->root, condition != 0 ? 1 : 2);
    if (!hn_same_shape(r, taken, hn_out(r, r->root, 0)))
        return hn_miss(r, "its condition is constant, but the other operand broadcasts the result");
    hn_rule_replace(r, taken);
    return HONE_OK;
}

/* An attribute before version 11, an input since: absent, or not a bound for any value of the
 * type. */
static bool is_unbounded(const hn_rule *r, const char *attr, uint32_t input, double end) {
    if (hn_node_version(r, r->root) < 11)
        return hn_node_attr(hn_at(r, r->root), attr) &&
               hn_node_f(r, r->root, attr, 0) == (float)end;
    hn_id bound = hn_in(r, r->root, input);
    return bound == HN_NONE || is_filled_with(r, bound, end);
}

static hone_status clip_nothing(hn_rule *r) {
    if (is_unbounded(r, "min", 1, -(double)INFINITY) && is_unbounded(r, "max", 2, (double)INFINITY))
        hn_rule_replace(r, hn_in(r, r->root, 0));
    return HONE_OK;
}

static const hn_rule_row neutral_rules[] = {
    {.name = "neutral",
     .pattern = "Mul|Div|Pow|Add|Sub|And|Or|Xor|BitwiseOr|BitwiseXor|BitShift|Max|Min",
     .fn = neutral},
    {.name = "where-constant", .pattern = "Where", .fn = where_constant},
    {.name = "clip-nothing", .pattern = "Clip", .fn = clip_nothing},
};

hone_status hn_pass_neutral_elements(hn_pass *p) {
    return hn_pass_rules(p, neutral_rules, HN_COUNT(neutral_rules));
}
