/* Fuses transposes of operands and a scale of the result into FusedMatMul of onnxruntime, for float
 * and double. */
#include "pass/engine/pass_int.h"

/* A MatMul or FusedMatMul with the transposes and the scale absorbed so far. */
typedef struct product_form {
    hn_id in[2];
    bool is_transposed[2];
    double alpha;
    bool is_changed;
} product_form;

static const char *const trans_names[] = {"transA", "transB"};

static bool is_matmul_form(const hn_rule *r, hn_id node) {
    if (hn_is_op(r, node, "MatMul"))
        return true;
    return hn_is_op(r, node, "ms.FusedMatMul") && hn_node_i(r, node, "transBatchA", 0) == 0 &&
           hn_node_i(r, node, "transBatchB", 0) == 0;
}

static bool is_fusable(hn_rule *r, hn_id node) {
    hn_dtype t = hn_elem_of(r, hn_in(r, node, 0));
    return (t == HN_F32 || t == HN_F64) && hn_rank_of(r, hn_in(r, node, 0)) >= 2 &&
           hn_rank_of(r, hn_in(r, node, 1)) >= 2 && hn_can_write(r, "ms.FusedMatMul");
}

static product_form form_of(const hn_rule *r, hn_id node) {
    product_form f = {.alpha = (double)hn_node_f(r, node, "alpha", 1)};
    for (uint32_t i = 0; i < 2; i++) {
        f.in[i] = hn_in(r, node, i);
        f.is_transposed[i] = hn_node_i(r, node, trans_names[i], 0) != 0;
    }
    return f;
}

/* True when every reader absorbs the transpose, so that it is removed. */
static bool only_products_read(const hn_rule *r, hn_id value) {
    const hn_value *v = hn_value_at(r->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE || !is_matmul_form(r, v->uses.at[i].node))
            return false;
    return true;
}

/* True when the Transpose swaps the last two axes and nothing else. */
static bool swaps_last_two(const hn_rule *r, hn_id transpose) {
    uint32_t n;
    const int64_t *perm;
    int32_t rank = hn_rank_of(r, hn_in(r, transpose, 0));
    if (!hn_node_ints(r, transpose, "perm", &n, &perm))
        return rank == 2;
    for (uint32_t i = 0; i + 2 < n; i++)
        if (perm[i] != (int64_t)i)
            return false;
    return n >= 2 && perm[n - 2] == (int64_t)n - 1 && perm[n - 1] == (int64_t)n - 2;
}

static void absorb_transposes(const hn_rule *r, product_form *f) {
    for (uint32_t i = 0; i < 2; i++) {
        hn_id transpose = hn_maker(r, f->in[i], "Transpose");
        if (transpose == HN_NONE || !swaps_last_two(r, transpose) ||
            !only_products_read(r, f->in[i]))
            continue;
        f->in[i] = hn_in(r, transpose, 0);
        f->is_transposed[i] = !f->is_transposed[i];
        f->is_changed = true;
    }
}

/* Reads the factor when a node multiplies `x` by one constant number and keeps its shape. */
static bool scalar_factor(const hn_rule *r, hn_id node, uint32_t x_slot, double *factor) {
    hn_id x = hn_in(r, node, x_slot);
    const hn_tensor *t = hn_const(r, hn_in(r, node, 1 - x_slot));
    bool is_div = hn_is_op(r, node, "Div");
    if (!t || t->n_elems != 1 || (is_div && x_slot == 1) || hn_node_version(r, node) < 7)
        return false;
    if (t->rank > 0 && t->rank > hn_rank_of(r, x))
        return false;
    if (!hn_tensor_get_f64(t, 0, factor) || *factor == 0)
        return false;
    *factor = is_div ? 1 / *factor : *factor;
    return true;
}

/* The attribute holds a float. */
static bool scale_by(product_form *f, hn_dtype elem, double factor) {
    double alpha = f->alpha * factor;
    if (elem == HN_F64 && (double)(float)alpha != alpha)
        return false;
    f->alpha = alpha;
    return true;
}

static void absorb_input_factors(const hn_rule *r, product_form *f, hn_dtype elem) {
    for (uint32_t i = 0; i < 2; i++) {
        hn_id scale = hn_maker(r, f->in[i], "Mul|Div");
        if (scale == HN_NONE || hn_n_readers(r, f->in[i]) != 1)
            continue;
        for (uint32_t slot = 0; slot < 2; slot++) {
            double factor;
            if (!scalar_factor(r, scale, slot, &factor) || !scale_by(f, elem, factor))
                continue;
            f->in[i] = hn_in(r, scale, slot);
            f->is_changed = true;
            break;
        }
    }
}

static hone_status write_product(hn_rule *r, const product_form *f) {
    hn_rule_replace(r, hn_make1(r, "ms.FusedMatMul", 2, f->in,
                                HN_ATTRS(hn_new_f(r, "alpha", (float)f->alpha),
                                         hn_new_i(r, "transA", f->is_transposed[0]),
                                         hn_new_i(r, "transB", f->is_transposed[1]))));
    return HONE_OK;
}

static hone_status absorb_inputs(hn_rule *r) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, r->root, 0));
    if (!is_matmul_form(r, r->root) || !is_fusable(r, r->root))
        return HONE_OK;
    product_form f = form_of(r, r->root);
    absorb_input_factors(r, &f, elem);
    absorb_transposes(r, &f);
    return f.is_changed ? write_product(r, &f) : HONE_OK;
}

static hone_status absorb_output_factor(hn_rule *r) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, r->root, 0));
    for (uint32_t slot = 0; slot < 2; slot++) {
        hn_id y = hn_in(r, r->root, slot);
        hn_id product = y == HN_NONE ? HN_NONE : hn_value_at(r->g, y)->producer;
        double factor;
        if (product == HN_NONE || !is_matmul_form(r, product) || hn_only_reader(r, y) != r->root ||
            hn_at(r, product)->block != hn_at(r, r->root)->block ||
            !scalar_factor(r, r->root, slot, &factor) || !is_fusable(r, product))
            continue;
        product_form f = form_of(r, product);
        return scale_by(&f, elem, factor) ? write_product(r, &f) : HONE_OK;
    }
    return HONE_OK;
}

hone_status hn_pass_fused_matmul(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"inputs", "MatMul|ms.FusedMatMul", absorb_inputs, true, NULL},
        {"scaled", "Mul|Div", absorb_output_factor, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
