/* Removes nodes, initializers and outputs of subgraphs that nothing reads. Rewrites remove what
 * they leave behind; this pass handles what the file contains. */
#include "pass/engine/pass_int.h"

/* Outputs of a node with subgraphs that can be removed one by one: those from `first` on, and the
 * output of the subgraphs that each corresponds to. */
typedef struct body_outputs {
    uint32_t first, shift;
    uint32_t n_blocks;
    hn_id blocks[2];
} body_outputs;

static bool add_body(const hn_node *n, const char *attr, body_outputs *out) {
    const hn_attr *a = hn_node_attr(n, attr);
    if (!a || a->kind != HN_ATTR_GRAPH || a->ref || a->v.block == HN_NONE)
        return false;
    out->blocks[out->n_blocks++] = a->v.block;
    return true;
}

/* A Loop or Scan needs its carried values even if nothing outside reads them. */
static bool find_body_outputs(const hn_node *n, body_outputs *out) {
    *out = (body_outputs){0};
    if (!hn_domain_is_onnx(n->domain))
        return false;
    if (hn_str_is(n->op, "If"))
        return add_body(n, "then_branch", out) && add_body(n, "else_branch", out);
    if (hn_str_is(n->op, "Loop") && n->n_inputs >= 2) {
        out->first = n->n_inputs - 2;
        out->shift = 1; /* the condition is the first output */
        return add_body(n, "body", out);
    }
    return false;
}

static bool has_all_outputs(const hn_graph *g, const hn_node *n, const body_outputs *b) {
    for (uint32_t i = 0; i < b->n_blocks; i++)
        if (hn_block_at(g, b->blocks[i])->outputs.n != n->n_outputs + b->shift)
            return false;
    return true;
}

static bool is_unread(const hn_graph *g, hn_id value) {
    return value == HN_NONE || hn_value_at(g, value)->uses.n == 0;
}

/* Keeps at least one output, because a node needs one. */
static void drop_unread_outputs(hn_pass *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    body_outputs body;
    if (!find_body_outputs(n, &body) || !has_all_outputs(p->g, n, &body))
        return;
    for (uint32_t i = n->n_outputs; i-- > body.first && n->n_outputs > 1;) {
        if (!is_unread(p->g, n->outputs[i]))
            continue;
        hn_graph_drop_node_output(p->g, node, i);
        for (uint32_t b = 0; b < body.n_blocks; b++)
            hn_graph_drop_output(p->g, body.blocks[b], i + body.shift);
        p->n_rewrites++;
    }
}

hone_status hn_pass_dead_code(hn_pass *p) {
    for (hn_id id = 0; id < p->g->nodes.n; id++)
        if (hn_node_at(p->g, id)->block != HN_NONE)
            drop_unread_outputs(p, id);
    uint32_t n_removed = hn_graph_remove_dead(p->g, true);
    if (n_removed == HN_NONE)
        return HONE_E_NOMEM;
    p->n_rewrites += n_removed;
    return HONE_OK;
}
