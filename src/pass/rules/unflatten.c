/* Replaces a Gemm or MatMul between a Reshape to a matrix and one back by a MatMul of the original
 * tensor, which is the spelling that other rules match. */
#include "pass/rules/moves.h"

/* True for an addend that means the same when rows become several axes. */
static bool is_row(const hn_rule *r, hn_id value) {
    int32_t rank = hn_rank_of(r, value);
    return rank == 0 || rank == 1 || (rank == 2 && hn_dim_of(r, value, 0) == 1);
}

static bool is_plain_gemm(const hn_rule *r, hn_id gemm, hn_id bias) {
    return hn_node_version(r, gemm) >= 7 && hn_node_i(r, gemm, "transA", 0) == 0 &&
           hn_node_f(r, gemm, "alpha", 1) == 1 &&
           (bias == HN_NONE || (hn_node_f(r, gemm, "beta", 1) == 1 && is_row(r, bias)));
}

/* True when all readers transpose the weight, so that it can be stored transposed. */
static bool is_always_transposed(const hn_rule *r, hn_id weight) {
    const hn_value *v = hn_value_at(r->g, weight);
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_use use = v->uses.at[i];
        if (use.node == HN_NONE || use.slot != 1 || !hn_is_op(r, use.node, "Gemm") ||
            hn_node_i(r, use.node, "transB", 0) == 0)
            return false;
    }
    return true;
}

/* Makes the weight as MatMul takes it; HN_NONE when the model would then hold it twice. */
static hn_id make_right_weight(hn_rule *r, hn_id gemm) {
    hn_id w = hn_in(r, gemm, 1);
    static const hn_perm swap = {.rank = 2, .at = {1, 0}};
    if (!hn_is_op(r, gemm, "Gemm") || hn_node_i(r, gemm, "transB", 0) == 0)
        return w;
    return hn_const(r, w) && is_always_transposed(r, w) ? hn_make_transpose(r, w, &swap) : HN_NONE;
}

/* x with the leading axes of the result; x itself when it has them. */
static hn_id make_leading(hn_rule *r, hn_id x, const hn_shape *out, hn_dim n_inner) {
    const hn_shape *s = hn_shape_of(r, x);
    hn_dim want[HN_MAX_RANK];
    bool is_same = s && s->rank == out->rank;
    for (int32_t i = 0; i < out->rank; i++) {
        want[i] = i + 1 < out->rank ? out->dims[i] : n_inner;
        is_same = is_same && s->dims[i] == want[i] && want[i] != HN_DIM_UNKNOWN;
    }
    return is_same ? x : hn_make_reshape(r, x, (uint32_t)out->rank, want);
}

static hone_status multiply_unflattened(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), product = hn_cap(r, "product"), node = hn_cap_node(r, "product");
    hn_id bias = hn_in(r, node, 2);
    const hn_shape *out = hn_shape_of(r, hn_out(r, r->root, 0));
    hn_dim n_inner = hn_dim_of(r, hn_in(r, node, 0), 1), n_columns = hn_dim_of(r, product, 1);
    if (!out || out->rank < 3 || out->rank > HN_MAX_RANK || !hn_dim_is_known(n_inner) ||
        !hn_dim_is_known(n_columns) || out->dims[out->rank - 1] != n_columns ||
        hn_rank_of(r, product) != 2 || hn_rank_of(r, hn_in(r, node, 1)) != 2 ||
        hn_only_reader(r, product) != r->root)
        return HONE_OK;
    if (hn_is_op(r, node, "Gemm") && !is_plain_gemm(r, node, bias))
        return hn_miss(r, "the Gemm has a scale, transposes its input or adds a matrix");
    hn_id w = make_right_weight(r, node), left = make_leading(r, x, out, n_inner);
    if (w == HN_NONE)
        return hn_miss(r, "the weight would have to be copied to be transposed");
    if (left == HN_NONE)
        return hn_miss(r, "the shape needs more than one inferred size in a single Reshape");
    hn_id y = hn_make1(r, "MatMul", HN_VALUES(left, w), HN_NO_ATTRS);
    hn_rule_replace(r, bias == HN_NONE ? y : hn_make1(r, "Add", HN_VALUES(y, bias), HN_NO_ATTRS));
    return HONE_OK;
}

#define FLATTENERS "Reshape|Flatten|Squeeze"
#define UNFLATTENERS "Reshape|Unsqueeze"

hone_status hn_pass_unflatten(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "reshape-matmul-reshape",
         .pattern = UNFLATTENERS "(Gemm|MatMul(" FLATTENERS "(x, ...), ...):product, ...)",
         .fn = multiply_unflattened,
         .allow_shared = true},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
