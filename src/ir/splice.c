/* Moves the content of a subgraph to the position of its owner. */
#include "ir/graph_int.h"

/* Outside the subgraph a name is visible to more nodes than before. */
static bool is_name_elsewhere(const hn_graph *g, hn_id block, hn_str name) {
    for (hn_id b = 0; b < g->blocks.n; b++)
        if (b != block && hn_graph_find_local(g, b, name) != HN_NONE)
            return true;
    return false;
}

static bool move_value(hn_graph *g, hn_id value, hn_id from, hn_id to) {
    hn_str name = hn_value_at(g, value)->name;
    if (hn_value_at(g, value)->block != from)
        return true;
    hn_str fresh = is_name_elsewhere(g, from, name) ? hn_graph_fresh_name(g, hn_s(name)) : name;
    if (!fresh || !hn_map_put(&g->by_name, hn_key(to, fresh->id), value))
        return false;
    hn_map_remove(&g->by_name, hn_key(from, name->id));
    hn_value_at(g, value)->name = fresh;
    hn_value_at(g, value)->block = to;
    return true;
}

static bool move_values(hn_graph *g, hn_id from, hn_id to) {
    const hn_block *b = hn_block_at(g, from);
    bool ok = true;
    for (uint32_t i = 0; ok && i < b->nodes.n; i++) {
        const hn_node *n = hn_node_at(g, b->nodes.at[i]);
        for (uint32_t k = 0; ok && k < n->n_outputs; k++)
            ok = n->outputs[k] == HN_NONE || move_value(g, n->outputs[k], from, to);
    }
    for (uint32_t i = 0; ok && i < b->inits.n; i++)
        ok = move_value(g, b->inits.at[i], from, to);
    for (uint32_t i = 0; ok && i < b->sparse_inits.n; i++)
        ok = move_value(g, b->sparse_inits.at[i], from, to);
    return ok;
}

/* Moves everything that a block lists except its interface. Quantization annotations refer to
 * values by name, so those of renamed values are lost. */
#define APPEND_LIST(g, to, from, list)                                           \
  (HN_VEC_RESERVE((g)->model->arena, &(to)->list, (from)->list.n) &&             \
   ((from)->list.n == 0 || memcpy((to)->list.at + (to)->list.n, (from)->list.at, \
                                  (from)->list.n * sizeof *(from)->list.at)) &&  \
   ((to)->list.n += (from)->list.n, (from)->list.n = 0, true))

static bool move_nodes(hn_graph *g, hn_block *from, hn_block *to, hn_id owner) {
    uint32_t at = 0, n = from->nodes.n;
    if (!HN_VEC_RESERVE(g->model->arena, &to->nodes, n))
        return false;
    while (at < to->nodes.n && to->nodes.at[at] != owner)
        at++;
    memmove(to->nodes.at + at + n, to->nodes.at + at, (to->nodes.n - at) * sizeof *to->nodes.at);
    if (n > 0)
        memcpy(to->nodes.at + at, from->nodes.at, n * sizeof *to->nodes.at);
    to->nodes.n += n;
    from->nodes.n = 0;
    return true;
}

/* Parents have smaller ids than their children. */
static void adopt_blocks(hn_graph *g, hn_id from, hn_id to) {
    for (hn_id b = from + 1; b < g->blocks.n; b++) {
        hn_block *block = hn_block_at(g, b);
        if (block->owner == HN_NONE)
            continue;
        if (block->parent == from)
            block->parent = to;
        block->depth = hn_block_at(g, block->parent)->depth + 1;
    }
}

bool hn_graph_splice(hn_graph *g, hn_id node, hn_id block) {
    hn_id parent = hn_node_at(g, node)->block;
    hn_block *from = hn_block_at(g, block), *to = hn_block_at(g, parent);
    if (!move_values(g, block, parent))
        return false;
    for (uint32_t i = 0; i < from->nodes.n; i++)
        hn_node_at(g, from->nodes.at[i])->block = parent;
    adopt_blocks(g, block, parent);
    return move_nodes(g, from, to, node) && APPEND_LIST(g, to, from, inits) &&
           APPEND_LIST(g, to, from, sparse_inits) && APPEND_LIST(g, to, from, value_infos) &&
           APPEND_LIST(g, to, from, quant);
}
#undef APPEND_LIST
