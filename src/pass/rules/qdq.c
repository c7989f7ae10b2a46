/* Removes pairs of DequantizeLinear and QuantizeLinear that cancel, also around data-movement
 * operators, and clipping that quantization performs itself. */
#include "pass/engine/pass_int.h"

#include <math.h>

#define MAX_MOVES 16 /* nodes between the two */

/* ---- parameters ------------------------------------------------------------------------------ */

static bool same_constant(const hn_rule *r, hn_id a, hn_id b) {
    const hn_tensor *x = hn_const(r, a), *y = hn_const(r, b);
    return x && y && x->dtype == y->dtype && x->n_elems == y->n_elems && x->data && y->data &&
           x->rank == y->rank && memcmp(x->data, y->data, x->data_bytes) == 0;
}

/* Compares scales or zero points; an absent zero point is 0. */
static bool same_parameter(const hn_rule *r, hn_id a, hn_id b) {
    if (a == b)
        return true;
    if (a == HN_NONE || b == HN_NONE)
        return hn_const_is(r, a == HN_NONE ? b : a, 0);
    return same_constant(r, a, b);
}

/* True for one scale for the whole tensor, so that the order of elements does not matter. */
static bool is_per_tensor(const hn_rule *r, hn_id node) {
    const hn_shape *s = hn_shape_of(r, hn_in(r, node, 1));
    return s && (s->rank == 0 || (s->rank == 1 && s->dims[0] == 1)) &&
           hn_node_i(r, node, "block_size", 0) == 0;
}

/* True for scales with which division undoes multiplication, up to a rounding that quantization
 * absorbs. */
static bool is_plain_scale(const hn_rule *r, hn_id scale) {
    const hn_tensor *t = hn_const(r, scale);
    double v;
    if (!t || t->dtype != HN_F32)
        return false;
    for (uint64_t i = 0; i < t->n_elems; i++)
        if (!hn_tensor_get_f64(t, i, &v) || !(v > 1e-30 && v < 1e30))
            return false;
    return true;
}

/* True when the QuantizeLinear returns exactly what the DequantizeLinear read. Half precision in
 * between would have rounded it. */
static bool is_undone(const hn_rule *r, hn_id dq, hn_id q) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, dq, 0));
    int bits = hn_dtype_bits(elem);
    return hn_dtype_is_int(elem) && bits <= 16 && elem == hn_elem_of(r, hn_out(r, q, 0)) &&
           hn_elem_of(r, hn_in(r, q, 0)) == HN_F32 &&
           same_parameter(r, hn_in(r, dq, 1), hn_in(r, q, 1)) &&
           same_parameter(r, hn_in(r, dq, 2), hn_in(r, q, 2)) && is_plain_scale(r, hn_in(r, q, 1));
}

/* True for equal axes and blocks, which matter when there are several scales. */
static bool same_axes(const hn_rule *r, hn_id dq, hn_id q) {
    return is_per_tensor(r, q) ||
           (hn_node_i(r, dq, "axis", 1) == hn_node_i(r, q, "axis", 1) &&
            hn_node_i(r, dq, "block_size", 0) == hn_node_i(r, q, "block_size", 0));
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static hone_status cancel_pair(hn_rule *r) {
    hn_id dq = hn_maker(r, hn_in(r, r->root, 0), "DequantizeLinear");
    if (!is_undone(r, dq, r->root) || !same_axes(r, dq, r->root))
        return HONE_OK;
    hn_rule_replace(r, hn_in(r, dq, 0));
    return HONE_OK;
}

/* Operators that only select, repeat or reorder elements of their first input, for any type.
 * MaxPool of bytes qualifies because quantization is monotone. */
#define MOVING_OPS                                                                       \
  "Reshape|Transpose|Flatten|Squeeze|Unsqueeze|Slice|Gather|GatherElements|Expand|Tile|" \
  "DepthToSpace|SpaceToDepth|Identity"

static bool is_moving(const hn_rule *r, hn_id node) {
    bool is_pool = hn_is_op(r, node, "MaxPool") && hn_node_version(r, node) >= 12 &&
                   hn_at(r, node)->n_outputs == 1 &&
                   hn_dtype_bits(hn_elem_of(r, hn_out(r, r->root, 0))) == 8;
    return is_pool || hn_is_op(r, node, MOVING_OPS);
}

/* Q(move(...(DQ(x)))) computes move(...(x)). */
static hone_status move_quantized(hn_rule *r) {
    hn_id chain[MAX_MOVES], value = hn_in(r, r->root, 0);
    uint32_t n = 0;
    for (;; n++) {
        hn_id node = hn_value_at(r->g, value)->producer;
        if (node == HN_NONE || hn_is_op(r, node, "DequantizeLinear") || n == MAX_MOVES)
            break;
        if (!is_moving(r, node) || hn_n_readers(r, value) != 1 ||
            hn_at(r, node)->block != hn_at(r, r->root)->block)
            return HONE_OK;
        chain[n] = node;
        value = hn_in(r, node, 0);
    }
    hn_id dq = hn_maker(r, value, "DequantizeLinear");
    if (n == 0 || dq == HN_NONE || !is_undone(r, dq, r->root))
        return HONE_OK;
    if (!is_per_tensor(r, r->root))
        return hn_miss(r, "the scale is per channel");
    hn_id x = hn_in(r, dq, 0);
    if (hn_dtype_bits(hn_elem_of(r, x)) < 8)
        return hn_miss(r, "few data-movement operators support %s",
                       hn_dtype_name(hn_elem_of(r, x)));
    while (n > 0) {
        const hn_node *node = hn_at(r, chain[--n]);
        hn_id *in = hn_arena_copy(r->pass->rule_scratch, node->inputs, node->n_inputs * sizeof *in);
        HN_TRY_PTR(in);
        in[0] = x;
        x = hn_out(r, hn_make_like(r, chain[n], node->n_inputs, in, HN_NO_ATTRS), 0);
    }
    hn_rule_replace(r, x);
    return HONE_OK;
}

/* ---- clipping -------------------------------------------------------------------------------- */

/* Quantizes a number as the QuantizeLinear at the root does, and returns the range of the type. */
static bool quantize(const hn_rule *r, double v, double *out, double *least, double *most) {
    hn_dtype elem = hn_elem_of(r, hn_out(r, r->root, 0));
    double scale, zero = 0;
    int bits = hn_dtype_bits(elem);
    if (!hn_dtype_is_int(elem) || bits > 16 || !is_plain_scale(r, hn_in(r, r->root, 1)) ||
        !hn_const_f64(r, hn_in(r, r->root, 1), &scale))
        return false;
    if (hn_in(r, r->root, 2) != HN_NONE && !hn_const_f64(r, hn_in(r, r->root, 2), &zero))
        return false;
    bool is_signed = elem == HN_I8 || elem == HN_I16 || elem == HN_I4 || elem == HN_I2;
    *least = is_signed ? -ldexp(1, bits - 1) : 0;
    *most = *least + ldexp(1, bits) - 1;
    double q = nearbyint((double)((float)v / (float)scale)) + zero;
    *out = q < *least ? *least : q > *most ? *most : q;
    return true;
}

/* Reads the bounds of a Relu or Clip; infinite where there is none. */
static bool read_bounds(const hn_rule *r, hn_id node, double *lo, double *hi) {
    *lo = hn_is_op(r, node, "Relu") ? 0 : -INFINITY;
    *hi = INFINITY;
    if (hn_is_op(r, node, "Relu"))
        return true;
    if (hn_node_version(r, node) < 11) {
        *lo = (double)hn_node_f(r, node, "min", -INFINITY);
        *hi = (double)hn_node_f(r, node, "max", INFINITY);
        return true;
    }
    hn_id min = hn_in(r, node, 1), max = hn_in(r, node, 2);
    return (min == HN_NONE || hn_const_f64(r, min, lo)) &&
           (max == HN_NONE || hn_const_f64(r, max, hi)) && *lo <= *hi;
}

/* Quantization is monotone, so bounds that map to the ends of its range change nothing. */
static hone_status absorb_clip(hn_rule *r) {
    hn_id clip = hn_maker(r, hn_in(r, r->root, 0), "Relu|Clip");
    double lo, hi, q_lo, q_hi, least, most;
    if (hn_elem_of(r, hn_in(r, r->root, 0)) != HN_F32 || !read_bounds(r, clip, &lo, &hi) ||
        !quantize(r, lo, &q_lo, &least, &most) || !quantize(r, hi, &q_hi, &least, &most))
        return HONE_OK;
    if (q_lo != least || q_hi != most)
        return hn_miss(r, "the quantized type represents numbers beyond the bounds %g, %g", lo, hi);
    hn_rule_set_input(r, r->root, 0, hn_in(r, clip, 0));
    return HONE_OK;
}

hone_status hn_pass_qdq(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"cancel-pair", "QuantizeLinear(DequantizeLinear, ...)", cancel_pair, true, NULL},
        {"move-quantized", "QuantizeLinear", move_quantized, true, NULL},
        {"absorb-clip", "QuantizeLinear(Relu|Clip, ...)", absorb_clip, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
