/* Constants that a DequantizeLinear widens in every run become floats once, so that they are packed
 * like other weights. What a Gather takes of a table is widened behind it instead: a few rows. */
#include "cpu/passes/passes_cpu.h"

#include "cpu/kernels/quantize/quantize.h"

/* How scales lie over the elements: one for `inner` of them, then the next of `n`, again and
 * again. */
typedef struct scale_order {
    uint64_t n, inner;
} scale_order;

static bool read_scale_order(const hn_rule *r, const hn_tensor *x, const hn_tensor *scale,
                             scale_order *order) {
    int64_t axis = hn_node_i(r, r->root, "axis", 1);
    *order = (scale_order){1, HN_MAX(x->n_elems, 1)};
    if (hn_node_i(r, r->root, "block_size", 0) != 0 || scale->rank > 1)
        return false;
    if (scale->n_elems == 1)
        return true;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || (uint64_t)x->dims[axis] != scale->n_elems)
        return false;
    *order = (scale_order){scale->n_elems, 1};
    for (int32_t i = (int32_t)axis + 1; i < x->rank; i++)
        order->inner *= (uint64_t)x->dims[i];
    return order->inner > 0;
}

static bool dequantize_run(const hn_tensor *x, uint64_t at, uint64_t n, float scale, float zero,
                           float *y) {
    const hn_quantize_loops *loops = hn_quantize_loops_find();
    double v;
    if (x->dtype == HN_U8)
        loops->from_u8(n, (const uint8_t *)x->data + at, scale, zero, y + at);
    else if (x->dtype == HN_I8)
        loops->from_s8(n, (const int8_t *)x->data + at, scale, zero, y + at);
    else
        for (uint64_t i = at; i < at + n; i++) {
            if (!hn_tensor_get_f64(x, i, &v))
                return false;
            y[i] = ((float)v - zero) * scale;
        }
    return true;
}

static bool dequantize_tensor(const hn_tensor *x, const hn_tensor *scale, const hn_tensor *zero,
                              const scale_order *order, float *y) {
    double by, from = 0;
    for (uint64_t at = 0, i = 0; at < x->n_elems; at += order->inner, i++) {
        uint64_t slot = i % order->n;
        if (!hn_tensor_get_f64(scale, slot, &by) ||
            (zero && !hn_tensor_get_f64(zero, slot, &from)) ||
            !dequantize_run(x, at, order->inner, (float)by, (float)from, y))
            return false;
    }
    return true;
}

static bool is_readable(const hn_tensor *t) {
    return t && t->data && !hn_tensor_is_deferred(t);
}

static bool has_one_scale(const hn_rule *r, hn_id dq) {
    const hn_tensor *scale = hn_const(r, hn_in(r, dq, 1));
    return scale && scale->n_elems == 1 && scale->rank <= 1 &&
           hn_node_i(r, dq, "block_size", 0) == 0;
}

/* A table of which only Gathers read some rows. */
static bool is_table(const hn_rule *r) {
    const hn_value *v = hn_value_at(r->g, hn_out(r, r->root, 0));
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE || v->uses.at[i].slot != 0 ||
            !hn_is_op(r, v->uses.at[i].node, "Gather"))
            return false;
    return v->uses.n > 0 && has_one_scale(r, r->root);
}

static hone_status dequantize_constant(hn_rule *r) {
    const hn_tensor *x = hn_const(r, hn_in(r, r->root, 0)),
                    *scale = hn_const(r, hn_in(r, r->root, 1)), *zero = NULL;
    scale_order order;
    void *data;
    if (hn_in(r, r->root, 2) != HN_NONE) {
        zero = hn_const(r, hn_in(r, r->root, 2));
        if (!is_readable(zero) || !scale || zero->n_elems != scale->n_elems)
            return HONE_OK;
    }
    if (is_table(r) || !is_readable(x) || !is_readable(scale) || scale->dtype != HN_F32 ||
        hn_elem_of(r, hn_out(r, r->root, 0)) != HN_F32 || !hn_dtype_is_int(x->dtype) ||
        hn_dtype_bits(x->dtype) < 8 || !read_scale_order(r, x, scale, &order))
        return HONE_OK;
    hn_tensor *y = hn_new_tensor(r, HN_F32, x->rank, x->dims, &data);
    HN_TRY_PTR(y);
    if (!dequantize_tensor(x, scale, zero, &order, data))
        return HONE_OK;
    hn_id value = hn_out(r, r->root, 0);
    hn_rule_replace(r, hn_new_const(r, hn_s(hn_value_at(r->g, value)->name), y));
    return HONE_OK;
}

/* With one scale for all, it does not matter which elements there are. */
static hone_status widen_behind_gather(hn_rule *r) {
    hn_id dq = hn_cap_node(r, "table");
    const hn_node *n = hn_at(r, dq);
    if (!hn_const(r, hn_in(r, dq, 0)) || !has_one_scale(r, dq))
        return HONE_OK;
    hn_id *in = hn_arena_copy(r->pass->rule_scratch, n->inputs, n->n_inputs * sizeof *in);
    HN_TRY_PTR(in);
    in[0] =
        hn_out(r, hn_make_like(r, r->root, HN_VALUES(in[0], hn_in(r, r->root, 1)), HN_NO_ATTRS), 0);
    hn_rule_replace(r, hn_out(r, hn_make_like(r, dq, n->n_inputs, in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

hone_status hn_pass_float_weights(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"gather", "Gather(DequantizeLinear:table, ...)", widen_behind_gather, true, NULL},
        {"constant", "DequantizeLinear", dequantize_constant, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
