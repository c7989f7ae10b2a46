/* Subgraphs of wild nodes: their inputs and outputs are as many as the node suggests, or not. */
#include "hostile/wild.h"

#define MAX_BODY_NODES 3
#define MAX_BODY_PORTS 4
#define MAX_WILD_DEPTH 3

static uint32_t off_by_some(grower *w, uint32_t n) {
    return grow_chance(w, 88) ? n : grow_below(w, MAX_BODY_PORTS);
}

/* Loop hands its body two numbers of its own, and takes a condition from it. */
static uint32_t n_body_inputs(grower *w, const hn_node *n) {
    if (hn_str_is(n->op, "If"))
        return off_by_some(w, 0);
    if (hn_str_is(n->op, "Loop"))
        return off_by_some(w, HN_MAX(n->n_inputs, 2u));
    return off_by_some(w, HN_MIN(n->n_inputs, (uint32_t)MAX_BODY_PORTS));
}

static uint32_t n_body_outputs(grower *w, const hn_node *n) {
    return off_by_some(w, n->n_outputs + (hn_str_is(n->op, "Loop") ? 1 : 0));
}

static const hn_type *body_input_type(grower *w, const hn_node *n, uint32_t i) {
    bool is_loop = hn_str_is(n->op, "Loop");
    if (is_loop && i < 2 && grow_chance(w, 90))
        return hn_type_tensor(w->model->arena, i == 0 ? HN_I64 : HN_BOOL, 0, NULL);
    hn_id arg = i < n->n_inputs ? n->inputs[i] : HN_NONE;
    const hn_type *t = wild_type(w, arg);
    hn_dtype elem = t && t->kind == HN_TYPE_TENSOR && grow_chance(w, 95) ? t->elem : HN_F32;
    return hn_type_tensor(w->model->arena, elem, -1, NULL);
}

/* Outputs must be values of the body. */
static hn_id of_body(grower *w, hn_id block, hn_id value) {
    const hn_value *v = hn_value_at(w->g, value);
    if (v->block == block && !v->is_input && !hn_value_is_output(v, block))
        return value;
    hn_id node = grow_add_of(w, NULL, "Identity", 1, &value, 1, 0, NULL);
    return hn_node_at(w->g, node)->outputs[0];
}

static void body_outputs(grower *w, hn_id block, uint32_t n) {
    for (uint32_t i = 0; i < n && w->pool.n; i++) {
        hn_id own =
            of_body(w, block, w->pool.at[w->pool.n - 1 - grow_below(w, HN_MIN(w->pool.n, 4u))]);
        if (!hn_graph_add_output(w->g, block, own))
            grow_fail("no memory");
        hn_value *v = hn_value_at(w->g, own);
        const hn_type *t = v->type ? v->type : hn_type_tensor(w->model->arena, HN_F32, -1, NULL);
        v->type = t;
        v->is_declared = true;
    }
}

bool wild_may_have_body(const grower *w) {
    return hn_block_at(w->g, w->block)->depth < MAX_WILD_DEPTH;
}

void wild_body(grower *w, hn_id node, uint32_t attr) {
    hn_id outer = w->block;
    uint32_t n_pool = w->pool.n;
    hn_id block = hn_graph_add_block(w->g, outer, node);
    if (block == HN_NONE)
        grow_fail("no memory");
    hn_node_at(w->g, node)->attrs[attr].v.block = block;
    hn_block_at(w->g, block)->name = hn_intern_z(w->model->names, "body");
    w->block = block;
    uint32_t n_in = n_body_inputs(w, hn_node_at(w->g, node));
    for (uint32_t i = 0; i < n_in; i++)
        wild_input(w, block, body_input_type(w, hn_node_at(w->g, node), i));
    for (uint32_t n = grow_below(w, MAX_BODY_NODES + 1); n > 0; n--)
        wild_node(w);
    body_outputs(w, block, n_body_outputs(w, hn_node_at(w->g, node)));
    w->block = outer;
    w->pool.n = n_pool;
}
