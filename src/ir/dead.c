/* Dead code elimination: nodes without readers first, then initializers. */
#include "ir/ir.h"

typedef struct liveness {
    const hn_graph *g;
    bool *is_dead;       /* per node; stays true unless the node is reached */
    bool *is_block_done; /* per block: its outputs were followed */
    HN_VEC(hn_id) work;  /* worklist: live nodes that were not followed yet */
    hn_arena *scratch;
    bool failed;
} liveness;

static void need_node(liveness *l, hn_id node) {
    if (node == HN_NONE || !l->is_dead[node] || hn_node_at(l->g, node)->block == HN_NONE)
        return;
    l->is_dead[node] = false;
    if (!HN_VEC_PUSH(l->scratch, &l->work, node))
        l->failed = true;
}

static void need_value(liveness *l, hn_id value) {
    if (value != HN_NONE)
        need_node(l, hn_value_at(l->g, value)->producer);
}

static void need_block(liveness *l, hn_id block) {
    const hn_block *b = hn_block_at(l->g, block);
    if (l->is_block_done[block])
        return;
    l->is_block_done[block] = true;
    for (uint32_t i = 0; i < b->outputs.n; i++)
        need_value(l, b->outputs.at[i]);
}

/* A live node needs its inputs and the outputs of its subgraphs; a node inside a subgraph that is
 * needed although its owner is not (a broken model) keeps the owner. */
static void follow_node(liveness *l, hn_id node) {
    const hn_node *n = hn_node_at(l->g, node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        need_value(l, n->inputs[i]);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&n->attrs[i], &n_blocks);
        for (uint32_t j = 0; j < n_blocks; j++)
            need_block(l, blocks[j]);
    }
    need_node(l, hn_block_at(l->g, n->block)->owner);
}

static uint32_t sweep_nodes(hn_graph *g, const bool *is_dead) {
    uint32_t n_removed = 0;
    for (hn_id id = 0; id < g->nodes.n; id++)
        n_removed += is_dead[id] && hn_node_at(g, id)->block != HN_NONE;
    hn_graph_remove_nodes(g, is_dead);
    return n_removed;
}

/* An initializer that is also a formal input stays: it belongs to the interface. */
static bool is_unread_init(const hn_value *v) {
    return v->uses.n == 0 && !v->is_input;
}

static uint32_t sweep_unread(hn_graph *g, hn_id *list, uint32_t *n) {
    uint32_t n_kept = 0, n_before = *n;
    for (uint32_t i = 0; i < n_before; i++) {
        hn_value *v = hn_value_at(g, list[i]);
        if (is_unread_init(v)) {
            v->init = NULL;
            v->sparse_init = NULL;
        } else {
            list[n_kept++] = list[i];
        }
    }
    *n = n_kept;
    return n_before - n_kept;
}

/* The declared type of a removed value must not be saved. */
static void sweep_value_infos(hn_graph *g, hn_block *b) {
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < b->value_infos.n; i++) {
        const hn_value *v = hn_value_at(g, b->value_infos.at[i]);
        bool is_defined = v->producer != HN_NONE || v->is_input || v->init || v->sparse_init;
        if (is_defined || v->uses.n > 0)
            b->value_infos.at[n_kept++] = b->value_infos.at[i];
    }
    b->value_infos.n = n_kept;
}

uint32_t hn_graph_remove_dead(hn_graph *g, bool remove_inits) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(g->model->arena));
    if (!scratch)
        return HN_NONE;
    liveness l = {.g = g, .scratch = scratch};
    l.is_dead = hn_arena_alloc(scratch, g->nodes.n);
    l.is_block_done = HN_NEW_N(scratch, bool, g->blocks.n);
    uint32_t n_removed = HN_NONE;
    if (l.is_dead && l.is_block_done) {
        memset(l.is_dead, true, g->nodes.n);
        need_block(&l, 0);
        while (l.work.n > 0)
            follow_node(&l, l.work.at[--l.work.n]);
        if (!l.failed)
            n_removed = sweep_nodes(g, l.is_dead);
    }
    hn_arena_free(scratch);
    if (n_removed == HN_NONE)
        return HN_NONE;
    for (hn_id id = 0; id < g->blocks.n; id++) {
        hn_block *b = hn_block_at(g, id);
        if (remove_inits) {
            n_removed += sweep_unread(g, b->inits.at, &b->inits.n);
            n_removed += sweep_unread(g, b->sparse_inits.at, &b->sparse_inits.n);
        }
        sweep_value_infos(g, b);
    }
    return n_removed;
}
