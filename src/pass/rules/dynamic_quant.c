/* Fuses dynamically quantized products into operators of com.microsoft: MatMulInteger, its
 * dequantization and the bias become MatMulIntegerToFloat; with the quantization of the input they
 * become DynamicQuantizeMatMul. */
#include "pass/engine/pass_int.h"

/* y = Cast(MatMulInteger(a, b, a_zero, b_zero)) * (a_scale * b_scale) [+ bias] */
typedef struct integer_product {
    hn_id a, b, a_zero, b_zero, a_scale, b_scale;
} integer_product;

/* True for one element of rank 0 or 1. */
static bool is_single(const hn_rule *r, hn_id value) {
    int32_t rank = hn_rank_of(r, value);
    return rank == 0 || (rank == 1 && hn_dim_of(r, value, 0) == 1);
}

/* True for one element, or one per column of b. */
static bool fits_columns(const hn_rule *r, hn_id value, hn_id b) {
    hn_dim n = hn_dim_of(r, value, 0);
    return is_single(r, value) ||
           (hn_rank_of(r, value) == 1 && hn_dim_is_known(n) && n == hn_dim_of(r, b, -1));
}

static bool is_8_bit(const hn_rule *r, hn_id value) {
    return hn_dtype_is_byte(hn_elem_of(r, value));
}

static bool read_product(hn_rule *r, integer_product *p) {
    hn_id node = hn_cap_node(r, "product"), cast = hn_cap_node(r, "real");
    *p = (integer_product){hn_in(r, node, 0), hn_in(r, node, 1), hn_in(r, node, 2),
                           hn_in(r, node, 3), hn_cap(r, "s"),    hn_cap(r, "t")};
    if (!is_single(r, p->a_scale)) { /* the factors occur in either order */
        p->a_scale = hn_cap(r, "t");
        p->b_scale = hn_cap(r, "s");
    }
    return is_8_bit(r, p->a) && is_8_bit(r, p->b) && hn_node_i(r, cast, "to", 0) == HN_F32 &&
           is_single(r, p->a_scale) && fits_columns(r, p->b_scale, p->b) &&
           (p->a_zero == HN_NONE || is_single(r, p->a_zero)) &&
           (p->b_zero == HN_NONE || fits_columns(r, p->b_zero, p->b)) &&
           hn_n_readers(r, hn_cap(r, "product")) == 1 && hn_n_readers(r, hn_cap(r, "real")) == 1 &&
           hn_can_write(r, "ms.MatMulIntegerToFloat");
}

static hone_status to_float(hn_rule *r) {
    integer_product p;
    if (read_product(r, &p))
        hn_rule_replace(r, hn_make1(r, "ms.MatMulIntegerToFloat",
                                    HN_VALUES(p.a, p.b, p.a_scale, p.b_scale, p.a_zero, p.b_zero),
                                    HN_NO_ATTRS));
    return HONE_OK;
}

/* The quantization of the input must have no other reader. */
static hone_status quantize_too(hn_rule *r) {
    hn_id node = hn_value_at(r->g, hn_in(r, r->root, 0))->producer;
    if (node == HN_NONE || !hn_is_op(r, node, "DynamicQuantizeLinear"))
        return HONE_OK;
    hn_id b = hn_in(r, r->root, 1), b_zero = hn_in(r, r->root, 5);
    bool is_its = hn_in(r, r->root, 0) == hn_out(r, node, 0) &&
                  hn_in(r, r->root, 2) == hn_out(r, node, 1) &&
                  hn_in(r, r->root, 4) == hn_out(r, node, 2);
    if (!is_its || hn_at(r, node)->block != hn_at(r, r->root)->block ||
        !hn_can_write(r, "ms.DynamicQuantizeMatMul"))
        return HONE_OK;
    for (uint32_t i = 0; i < 3; i++)
        if (hn_n_readers(r, hn_out(r, node, i)) != 1)
            return hn_miss(r, "the quantized input has other readers");
    hn_rule_replace(r, hn_make1(r, "ms.DynamicQuantizeMatMul",
                                HN_VALUES(hn_in(r, node, 0), b, hn_in(r, r->root, 3), b_zero,
                                          hn_in(r, r->root, 6)),
                                HN_NO_ATTRS));
    return HONE_OK;
}

/* Accepts a constant bias with one element per column. */
static hone_status add_bias(hn_rule *r) {
    hn_id node = hn_cap_node(r, "product"), bias = hn_cap(r, "bias");
    bool is_dynamic = hn_is_op(r, node, "ms.DynamicQuantizeMatMul");
    uint32_t slot = is_dynamic ? 4 : 6;
    hn_dim n = hn_dim_of(r, hn_in(r, node, 1), -1);
    if (hn_in(r, node, slot) != HN_NONE || hn_rank_of(r, bias) != 1 || !hn_dim_is_known(n) ||
        hn_dim_of(r, bias, 0) != n)
        return HONE_OK;
    hn_id in[7];
    for (uint32_t i = 0; i < slot; i++)
        in[i] = hn_in(r, node, i);
    in[slot] = bias;
    hn_rule_replace(r, hn_out(r, hn_make_like(r, node, slot + 1, in, HN_NO_ATTRS), 0));
    return HONE_OK;
}

hone_status hn_pass_dynamic_quant(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"to-float", "Mul(Cast(MatMulInteger:product):real, Mul(s, t))", to_float, true, NULL},
        {"quantize", "ms.MatMulIntegerToFloat", quantize_too, false, NULL},
        {"bias", "Add(ms.MatMulIntegerToFloat|ms.DynamicQuantizeMatMul:product, #bias)", add_bias,
         false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
