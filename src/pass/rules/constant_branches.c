/* Replaces an If with a known condition by the nodes of the branch that is taken. */
#include "pass/engine/pass_int.h"

static bool branch_taken(const hn_pass *p, const hn_node *n, hn_id *block) {
    const hn_tensor *condition = hn_facts_const(p->facts, n->inputs[0]);
    int64_t is_true;
    if (!condition || condition->n_elems != 1 || !hn_tensor_get_i64(condition, 0, &is_true))
        return false;
    const hn_attr *branch = hn_node_attr(n, is_true ? "then_branch" : "else_branch");
    if (!branch || branch->kind != HN_ATTR_GRAPH || branch->ref || branch->v.block == HN_NONE)
        return false;
    *block = branch->v.block;
    return true;
}

/* True for a branch without inputs whose outputs match those of the node, as the standard
 * requires. */
static bool can_inline(const hn_graph *g, const hn_node *n, hn_id block) {
    const hn_block *b = hn_block_at(g, block);
    if (b->inputs.n > 0 || b->outputs.n < n->n_outputs)
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (b->outputs.at[i] == HN_NONE)
            return false;
    return true;
}

static hone_status inline_branch(hn_pass *p, hn_id node, hn_id block) {
    if (!hn_graph_splice(p->g, node, block))
        return HONE_E_NOMEM;
    hn_rule *r = hn_rewrite_begin(p, "constant-if", node);
    HN_TRY_PTR(r);
    const hn_node *n = hn_at(r, node);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            hn_rule_replace_output(r, i, hn_block_at(r->g, block)->outputs.at[i]);
    return hn_rewrite_end(r);
}

/* Visits outer nodes first; the next run visits the nodes that were moved out of a branch. */
hone_status hn_pass_constant_branches(hn_pass *p) {
    for (hn_id id = 0; id < p->g->nodes.n; id++) {
        const hn_node *n = hn_node_at(p->g, id);
        hn_id block;
        if (n->block != HN_NONE && hn_str_is(n->op, "If") && hn_domain_is_onnx(n->domain) &&
            n->n_inputs == 1 && n->inputs[0] != HN_NONE && branch_taken(p, n, &block) &&
            can_inline(p->g, n, block) && hn_pass_may(p, "constant-if"))
            HN_TRY(inline_branch(p, id, block));
    }
    return HONE_OK;
}
