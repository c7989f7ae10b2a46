/* Rewrites matrix products as Gemm, and folds additions, transposes and scales into a Gemm. */
#include "pass/engine/pass_int.h"

/* Types for which runtimes have a Gemm. */
static bool is_gemm_type(const hn_rule *r, hn_id value) {
    hn_dtype t = hn_elem_of(r, value);
    return t == HN_F32 || t == HN_F64 || t == HN_F16;
}

/* True when `c` broadcasts to a matrix of this shape without enlarging it. */
static bool fits_matrix(const hn_rule *r, hn_id c, hn_dim rows, hn_dim cols) {
    int32_t rank = hn_rank_of(r, c);
    if (rank < 0 || rank > 2)
        return false;
    hn_dim last = rank > 0 ? hn_dim_of(r, c, -1) : 1, first = rank > 1 ? hn_dim_of(r, c, 0) : 1;
    return (last == 1 || (last != HN_DIM_UNKNOWN && last == cols)) &&
           (first == 1 || (first != HN_DIM_UNKNOWN && first == rows));
}

static hone_status matmul_add(hn_rule *r) {
    hn_id a = hn_cap(r, "a"), b = hn_cap(r, "b"), c = hn_cap(r, "c");
    if (hn_rank_of(r, a) != 2 || hn_rank_of(r, b) != 2 || !is_gemm_type(r, a))
        return HONE_OK;
    if (hn_rule_opset(r) < 7)
        return HONE_OK;
    if (!fits_matrix(r, c, hn_dim_of(r, a, 0), hn_dim_of(r, b, 1)))
        return hn_miss(r, "the value that is added may be larger than the product");
    hn_rule_replace(r, hn_make1(r, "Gemm", HN_VALUES(a, b, c), HN_NO_ATTRS));
    return HONE_OK;
}

static hone_status gemm_add(hn_rule *r) {
    hn_id gemm = hn_cap_node(r, "product"), c = hn_cap(r, "c"), y = hn_cap(r, "product");
    if (!is_gemm_type(r, y))
        return HONE_OK;
    if (!fits_matrix(r, c, hn_dim_of(r, y, 0), hn_dim_of(r, y, 1)))
        return hn_miss(r, "the value that is added may be larger than the product");
    hn_id in[3] = {hn_in(r, gemm, 0), hn_in(r, gemm, 1), c};
    hn_id made = hn_make_like(r, gemm, 3, in, HN_ATTRS(hn_new_f(r, "beta", 1)));
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}

/* Returns x when the value is the transpose of the matrix x. */
static hn_id untransposed(const hn_rule *r, hn_id value) {
    uint32_t n;
    const int64_t *perm;
    hn_id node = hn_maker(r, value, "Transpose");
    if (node == HN_NONE || hn_n_readers(r, value) != 1 || hn_rank_of(r, value) != 2)
        return HN_NONE;
    bool has_perm = hn_node_ints(r, node, "perm", &n, &perm);
    if (has_perm && !(n == 2 && perm[0] == 1 && perm[1] == 0))
        return HN_NONE;
    return hn_in(r, node, 0);
}

static hone_status gemm_transpose(hn_rule *r) {
    static const char *const names[] = {"transA", "transB"};
    hn_id in[3], x;
    hn_attr attrs[2];
    uint32_t n_attrs = 0;
    for (uint32_t i = 0; i < 3; i++) {
        in[i] = hn_in(r, r->root, i);
        x = i < 2 ? untransposed(r, in[i]) : HN_NONE;
        if (x == HN_NONE)
            continue;
        in[i] = x;
        attrs[n_attrs++] = hn_new_i(r, names[i], !hn_node_i(r, r->root, names[i], 0));
    }
    if (n_attrs > 0)
        hn_rule_replace(r, hn_out(r, hn_make_like(r, r->root, 3, in, n_attrs, attrs), 0));
    return HONE_OK;
}

/* A MatMul of matrices that reads transposes. */
static hone_status matmul_transpose(hn_rule *r) {
    hn_id a = hn_in(r, r->root, 0), b = hn_in(r, r->root, 1);
    if (hn_rank_of(r, a) != 2 || hn_rank_of(r, b) != 2 || !is_gemm_type(r, a) ||
        hn_rule_opset(r) < 11)
        return HONE_OK;
    hn_id at = untransposed(r, a), bt = untransposed(r, b);
    if (at == HN_NONE && bt == HN_NONE)
        return HONE_OK;
    hn_rule_replace(r,
                    hn_make1(r, "Gemm", HN_VALUES(at == HN_NONE ? a : at, bt == HN_NONE ? b : bt),
                             HN_ATTRS(hn_new_i(r, "transA", at != HN_NONE),
                                      hn_new_i(r, "transB", bt != HN_NONE))));
    return HONE_OK;
}

/* s * (alpha A B + beta C) */
static hone_status gemm_scale(hn_rule *r) {
    hn_id gemm = hn_cap_node(r, "product"), y = hn_cap(r, "product");
    const hn_tensor *t = hn_const(r, hn_cap(r, "s"));
    double s;
    if (t->n_elems != 1 || t->rank > 2 || !hn_tensor_get_f64(t, 0, &s))
        return HONE_OK;
    float factor = (float)(hn_is_op(r, r->root, "Div") ? 1 / s : s);
    if (hn_elem_of(r, y) != HN_F32 && hn_elem_of(r, y) != HN_F16)
        return HONE_OK; /* a float attribute cannot hold it */
    hn_id in[3] = {hn_in(r, gemm, 0), hn_in(r, gemm, 1), hn_in(r, gemm, 2)};
    hn_id made =
        hn_make_like(r, gemm, 3, in,
                     HN_ATTRS(hn_new_f(r, "alpha", factor * hn_node_f(r, gemm, "alpha", 1)),
                              hn_new_f(r, "beta", factor * hn_node_f(r, gemm, "beta", 1))));
    hn_rule_replace(r, hn_out(r, made, 0));
    return HONE_OK;
}

hone_status hn_pass_gemm_forms(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"matmul-add", "Add(MatMul(a, b):product, c)", matmul_add, false, NULL},
        {"gemm-add", "Add(Gemm(a, b):product, c)", gemm_add, false, NULL},
        {"gemm-transpose", "Gemm", gemm_transpose, false, NULL},
        {"matmul-transpose", "MatMul", matmul_transpose, false, NULL},
        {"gemm-scale", "Mul(Gemm:product, #s)", gemm_scale, false, NULL},
        {"gemm-scale", "Div(Gemm:product, #s)", gemm_scale, false, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
