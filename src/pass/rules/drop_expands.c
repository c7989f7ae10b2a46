/* Removes an Expand before an operator that broadcasts anyway, when the other operands still give
 * the result its shape. */
#include "pass/engine/pass_int.h"

static bool has_dim_from_end(const hn_rule *r, hn_id value, int32_t from_end, hn_dim dim) {
    int32_t rank = hn_rank_of(r, value);
    return from_end <= rank && hn_dim_of(r, value, rank - from_end) == dim;
}

/* True when some operand has each dimension of the result after x replaces input `slot`. */
static bool keeps_result_shape(const hn_rule *r, uint32_t slot, hn_id x) {
    const hn_node *n = hn_at(r, r->root);
    const hn_shape *out = hn_shape_of(r, n->outputs[0]);
    if (!out)
        return false;
    for (int32_t from_end = 1; from_end <= out->rank; from_end++) {
        hn_dim dim = out->dims[out->rank - from_end];
        bool is_given = false;
        for (uint32_t i = 0; i < n->n_inputs && dim != HN_DIM_UNKNOWN; i++)
            is_given |= has_dim_from_end(r, i == slot ? x : n->inputs[i], from_end, dim);
        if (!is_given)
            return false;
    }
    return true;
}

static hone_status drop_expand(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id expand = hn_maker(r, n->inputs[i], "Expand");
        if (expand == HN_NONE || hn_node_version(r, r->root) < 7)
            continue;
        if (keeps_result_shape(r, i, hn_in(r, expand, 0))) {
            hn_rule_set_input(r, r->root, i, hn_in(r, expand, 0));
            return HONE_OK;
        }
    }
    return HONE_OK;
}

hone_status hn_pass_drop_expands(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "expand-broadcast",
         .pattern = "Add|And|BitShift|BitwiseAnd|BitwiseOr|BitwiseXor|Div|Equal|Greater|"
                    "GreaterOrEqual|Less|LessOrEqual|Max|Mean|Min|Mod|Mul|Or|Pow|Sub|Sum|Where|Xor",
         .fn = drop_expand},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
