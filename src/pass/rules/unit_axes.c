/* Operators that go over axes of size 1: what they compute of one element is that element. */
#include "pass/rules/moves.h"

/* The first axis from `axis` on that may have another size than 1. */
static int32_t next_wide(const hn_shape *s, int32_t axis) {
    while (axis < s->rank && s->dims[axis] == 1)
        axis++;
    return axis;
}

/* Are the dimensions provably the same but for those of size 1? */
static bool differ_by_ones(const hn_shape *a, const hn_shape *b) {
    int32_t i = next_wide(a, 0), k = next_wide(b, 0);
    while (i < a->rank && k < b->rank) {
        if (a->dims[i] != b->dims[k] || a->dims[i] == HN_DIM_UNKNOWN)
            return false;
        i = next_wide(a, i + 1);
        k = next_wide(b, k + 1);
    }
    return i == a->rank && k == b->rank;
}

/* A reduction that drops no other axis has dropped no element. */
static hone_status reduce_one(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), y = hn_out(r, r->root, 0);
    const hn_shape *from = hn_shape_of(r, x), *to = hn_shape_of(r, y);
    if (!from || !to || !differ_by_ones(from, to))
        return HONE_OK;
    hn_id shaped = hn_make_shaped_like(r, x, y);
    if (shaped == HN_NONE)
        return hn_miss(r, "no constant says the shape of the result");
    hn_rule_replace(r, shaped);
    return HONE_OK;
}

static hone_status sum_of_one(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    uint32_t n;
    const int64_t *axis;
    int64_t at;
    if (!hn_const_i64s(r, hn_cap(r, "axis"), &n, &axis) || n != 1 || hn_rank_of(r, x) < 1)
        return HONE_OK;
    at = axis[0];
    if (!hn_axis_normalize(&at, hn_rank_of(r, x)) || hn_dim_of(r, x, (int32_t)at) != 1)
        return HONE_OK;
    if (hn_node_i(r, r->root, "exclusive", 0) != 0)
        return hn_miss(r, "an exclusive sum leaves the element out");
    hn_rule_replace(r, x);
    return HONE_OK;
}

hone_status hn_pass_unit_axes(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "reduce-one",
         .pattern = "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd",
         .fn = reduce_one},
        {.name = "sum-of-one", .pattern = "CumSum(x, axis)", .fn = sum_of_one},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
