/* Removes pairs of nodes of which one drops axes and the next restores them, or the other way
 * round. */
#include "pass/rules/moves.h"

/* Reads axes as a bit mask; false when they are not known. */
static bool axis_bits(const hn_rule *r, hn_id node, int32_t rank, uint64_t *bits) {
    const int64_t *axes;
    uint32_t n;
    *bits = 0;
    if (!hn_axes_read(r, node, 1, rank, &n, &axes))
        return false;
    for (uint32_t i = 0; i < n; i++)
        *bits |= (uint64_t)1 << axes[i];
    return true;
}

/* ---- Gather of one element ------------------------------------------------------------------- */

static hone_status keep_gathered(hn_rule *r) {
    hn_id gather = hn_cap_node(r, "gathered"), x = hn_cap(r, "x"), index = hn_cap(r, "i");
    int64_t axis = hn_node_i(r, gather, "axis", 0);
    int32_t rank = hn_rank_of(r, x);
    const int64_t *at;
    uint32_t n;
    uint64_t fresh;
    if (rank < 1 || hn_rank_of(r, index) != 0 || !hn_axis_normalize(&axis, rank) ||
        !hn_const_i64s(r, index, &n, &at))
        return HONE_OK;
    bool is_back = hn_is_op(r, r->root, "Unsqueeze")
                       ? axis_bits(r, r->root, rank, &fresh) && fresh == (uint64_t)1 << axis
                       : rank == 1 && hn_rank_of(r, hn_out(r, r->root, 0)) == 1;
    if (!is_back)
        return HONE_OK;
    if (hn_dim_of(r, x, (int32_t)axis) == 1) {
        hn_rule_replace(r, x);
        return HONE_OK;
    }
    hn_id list = hn_new_const_i64s(r, "indices", 1, at);
    hn_rule_replace(r,
                    hn_make1(r, "Gather", HN_VALUES(x, list), HN_ATTRS(hn_new_i(r, "axis", axis))));
    return HONE_OK;
}

/* ---- Reduce and Arg -------------------------------------------------------------------------- */

/* Reads the axes that a node reduces. */
static bool reduced_bits(const hn_rule *r, hn_id node, int32_t rank, uint64_t *bits) {
    int64_t axis = hn_node_i(r, node, "axis", 0);
    if (rank < 0 || rank > HN_MAX_RANK)
        return false;
    if (hn_is_op(r, node, "ArgMax|ArgMin")) {
        bool is_inside = hn_axis_normalize(&axis, rank);
        *bits = is_inside ? (uint64_t)1 << axis : 0;
        return is_inside;
    }
    if (hn_node_attr(hn_at(r, node), "axes") || hn_in(r, node, 1) != HN_NONE)
        return axis_bits(r, node, rank, bits) && *bits != 0;
    *bits = rank == 64 ? UINT64_MAX : ((uint64_t)1 << rank) - 1;
    return !hn_node_i(r, node, "noop_with_empty_axes", 0);
}

/* True when the value has the shape of x without these axes, or with size 1 there. */
static bool is_reduced_shape(const hn_rule *r, hn_id value, hn_id x, uint64_t gone, bool keeps) {
    const hn_shape *from = hn_shape_of(r, x), *to = hn_shape_of(r, value);
    int32_t k = 0;
    for (int32_t i = 0; to && i < from->rank; i++) {
        bool is_gone = (gone >> i) & 1;
        if (is_gone && !keeps)
            continue;
        hn_dim want = is_gone ? 1 : from->dims[i];
        if (k >= to->rank || to->dims[k] != want || want == HN_DIM_UNKNOWN)
            return false;
        k++;
    }
    return to && k == to->rank;
}

/* Merges a reduction without keepdims and a node that restores the axes, or one with keepdims and a
 * node that drops them. */
static hone_status fix_keepdims(hn_rule *r) {
    hn_id reduce = hn_cap_node(r, "reduced"), x = hn_in(r, reduce, 0);
    const hn_node *n = hn_at(r, reduce);
    int32_t rank = hn_rank_of(r, x);
    bool keeps = hn_node_i(r, reduce, "keepdims", 1) != 1; /* of the new node */
    uint64_t gone, listed;
    if (!reduced_bits(r, reduce, rank, &gone))
        return HONE_OK;
    bool fits = hn_is_op(r, r->root, keeps ? "Unsqueeze" : "Squeeze") &&
                axis_bits(r, r->root, rank, &listed) && listed == gone;
    if (fits || is_reduced_shape(r, hn_out(r, r->root, 0), x, gone, keeps))
        hn_rule_replace(r, hn_out(r,
                                  hn_make_like(r, reduce, n->n_inputs, n->inputs,
                                               HN_ATTRS(hn_new_i(r, "keepdims", keeps))),
                                  0));
    return HONE_OK;
}

#define REDUCTIONS                                                                            \
  "ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceMax|ReduceMean|ReduceMin|ReduceProd|" \
  "ReduceSum|ReduceSumSquare|ArgMax|ArgMin"

hone_status hn_pass_keep_axes(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "gather-unsqueeze",
         .pattern = "Unsqueeze|Reshape(Gather(x, #i):gathered, ...)",
         .fn = keep_gathered,
         .allow_shared = true},
        {.name = "reduce-keepdims",
         .pattern = "Unsqueeze|Squeeze|Reshape|Flatten(" REDUCTIONS "(x, ...):reduced, ...)",
         .fn = fix_keepdims},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
