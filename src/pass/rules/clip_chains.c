/* Merges Relu, Clip, Max and Min with constants in a row into one Clip. */
#include "pass/engine/weights.h"

#include <math.h>

/* min(high, max(low, x)); an absent bound is infinite. */
typedef struct number_range {
    bool has_low, has_high;
    double low, high;
} number_range;

/* Types whose values a double represents exactly, so that bounds can be compared, and for which
 * runtimes have a Clip of this opset. */
static bool is_clip_type(const hn_rule *r, hn_dtype t) {
    int64_t opset = hn_rule_opset(r);
    if (t == HN_F32)
        return opset >= 6;
    if (t == HN_BF16)
        return opset >= 13;
    return opset >= 12 &&
           (t == HN_F64 || t == HN_F16 || t == HN_I8 || t == HN_U8 || t == HN_I32 || t == HN_U32);
}

/* The defaults of the attributes are finite, so they clip infinities. */
static bool read_range_end(const hn_rule *r, hn_id node, const char *attr, uint32_t input,
                           bool *has, double *out) {
    if (hn_node_version(r, node) < 11) {
        *has = true;
        *out = (double)hn_node_f(r, node, attr, (float)*out);
        return true;
    }
    hn_id value = hn_in(r, node, input);
    *has = value != HN_NONE;
    return !*has || hn_const_f64(r, value, out);
}

/* Max or Min of one value and one constant that must not add axes. */
static bool read_extreme(const hn_rule *r, hn_id node, double *bound, hn_id *x) {
    const hn_node *n = hn_at(r, node);
    if (n->n_inputs != 2 || hn_node_version(r, node) < 8)
        return false;
    uint32_t at = hn_const(r, n->inputs[1]) ? 1 : 0;
    const hn_tensor *t = hn_const(r, n->inputs[at]);
    *x = n->inputs[1 - at];
    return t && t->n_elems == 1 && t->rank <= hn_rank_of(r, *x) && hn_tensor_get_f64(t, 0, bound);
}

static bool read_range(const hn_rule *r, hn_id node, number_range *c, hn_id *x) {
    *c = (number_range){.low = -INFINITY, .high = INFINITY};
    *x = hn_in(r, node, 0);
    if (hn_is_op(r, node, "Relu")) {
        c->has_low = true;
        c->low = 0;
    } else if (hn_is_op(r, node, "Clip")) {
        if (!read_range_end(r, node, "min", 1, &c->has_low, &c->low) ||
            !read_range_end(r, node, "max", 2, &c->has_high, &c->high))
            return false;
    } else if (hn_is_op(r, node, "Max")) {
        c->has_low = read_extreme(r, node, &c->low, x);
    } else if (hn_is_op(r, node, "Min")) {
        c->has_high = read_extreme(r, node, &c->high, x);
    }
    return (c->has_low || c->has_high) && c->low <= c->high;
}

static double clamp_to(const number_range *c, double v) {
    return fmin(c->high, fmax(c->low, v));
}

/* Makes a Clip, or a Relu where it is equivalent; HN_NONE when a bound cannot be written. */
static hn_id make_clip(hn_rule *r, hn_id x, const number_range *c) {
    hn_dtype elem = hn_elem_of(r, x);
    if (c->has_low && c->low == 0 && !c->has_high && hn_dtype_is_float(elem))
        return hn_make1(r, "Relu", HN_VALUES(x), HN_NO_ATTRS);
    if (hn_rule_opset(r) >= 11)
        return hn_make1(r, "Clip",
                        HN_VALUES(x, c->has_low ? hn_new_const_f(r, "min", elem, c->low) : HN_NONE,
                                  c->has_high ? hn_new_const_f(r, "max", elem, c->high) : HN_NONE),
                        HN_NO_ATTRS);
    if ((double)(float)c->low != c->low || (double)(float)c->high != c->high)
        return HN_NONE;
    return hn_make1(
        r, "Clip", HN_VALUES(x),
        HN_ATTRS(hn_new_f(r, "min", (float)c->low), hn_new_f(r, "max", (float)c->high)));
}

/* The merged range is the second range limited to the first. */
static hone_status merge_clips(hn_rule *r) {
    number_range outer, inner;
    hn_id between, x;
    if (!read_range(r, r->root, &outer, &between) || !is_clip_type(r, hn_elem_of(r, between)))
        return HONE_OK;
    hn_id node = hn_lone_maker(r, r->root, between, "Relu|Clip|Max|Min");
    if (node == HN_NONE || !read_range(r, node, &inner, &x))
        return HONE_OK;
    number_range both = {.has_low = inner.has_low || outer.has_low,
                         .has_high = inner.has_high || outer.has_high,
                         .low = clamp_to(&outer, inner.low),
                         .high = clamp_to(&outer, inner.high)};
    hn_id clip = make_clip(r, x, &both);
    if (clip == HN_NONE)
        return hn_miss(
            r, "a bound is not exact in float, and Clip of this opset has float attributes");
    hn_rule_replace(r, clip);
    return HONE_OK;
}

static hone_status max_with_zero(hn_rule *r) {
    number_range c;
    hn_id x;
    if (read_range(r, r->root, &c, &x) && c.low == 0 && is_clip_type(r, hn_elem_of(r, x)) &&
        hn_dtype_is_float(hn_elem_of(r, x)))
        hn_rule_replace(r, hn_make1(r, "Relu", HN_VALUES(x), HN_NO_ATTRS));
    return HONE_OK;
}

hone_status hn_pass_clip_chains(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "two-clips", .pattern = "Relu|Clip|Max|Min", .fn = merge_clips},
        {.name = "max-zero", .pattern = "Max(x, 0)", .fn = max_with_zero},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
