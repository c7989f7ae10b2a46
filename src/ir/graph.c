/* The tables of a graph: nodes, values, blocks, and the use lists between them. */
#include "ir/graph_int.h"

/* ---- adding ---------------------------------------------------------------------------------- */

static hn_arena *graph_arena(const hn_graph *g) {
    return g->model->arena;
}

hn_graph *hn_graph_new(hn_model *m, const hn_opsets *opsets) {
    hn_graph *g = HN_NEW(m->arena, hn_graph);
    if (!g)
        return NULL;
    g->model = m;
    g->opsets = opsets;
    hn_map_init(&g->by_name, m->arena);
    return hn_graph_add_block(g, HN_NONE, HN_NONE) == HN_NONE ? NULL : g;
}

hn_id hn_graph_add_block(hn_graph *g, hn_id parent, hn_id owner) {
    hn_block block = {.parent = parent, .owner = owner};
    if (parent != HN_NONE)
        block.depth = hn_block_at(g, parent)->depth + 1;
    if (block.depth > HN_MAX_BLOCK_DEPTH || !HN_VEC_PUSH(graph_arena(g), &g->blocks, block))
        return HN_NONE;
    return g->blocks.n - 1;
}

/* The first value of a name keeps it: later ones are errors that the checker reports. */
static bool index_name(hn_graph *g, hn_id block, hn_str name, hn_id value) {
    uint64_t key = hn_key(block, name->id);
    return hn_map_get(&g->by_name, key) != HN_MAP_NONE || hn_map_put(&g->by_name, key, value);
}

hn_id hn_graph_add_value(hn_graph *g, hn_id block, hn_str name) {
    if (!name)
        name = hn_graph_fresh_name(g, "");
    if (!name || !HN_VEC_RESERVE(graph_arena(g), &g->values, 1))
        return HN_NONE;
    hn_id id = g->values.n;
    if (!index_name(g, block, name, id))
        return HN_NONE;
    g->values.at[g->values.n++] = (hn_value){.name = name, .block = block, .producer = HN_NONE};
    return id;
}

bool hn_node_init(hn_arena *arena, hn_node *out, hn_id block, hn_str domain, hn_str op, hn_str name,
                  uint32_t n_inputs, uint32_t n_outputs, uint32_t n_attrs, const hn_attr *attrs) {
    size_t n_ids = 2 * (size_t)n_inputs + n_outputs;
    hn_id *ids = HN_NEW_N(arena, hn_id, n_ids);
    hn_attr *own_attrs = n_attrs ? HN_NEW_N(arena, hn_attr, n_attrs) : NULL;
    if (!ids || (n_attrs && !own_attrs))
        return false;
    if (n_attrs)
        memcpy(own_attrs, attrs, n_attrs * sizeof(*attrs));
    for (size_t i = 0; i < n_ids; i++)
        ids[i] = HN_NONE;
    *out = (hn_node){
        .op = op,
        .domain = domain,
        .name = name,
        .block = block,
        .n_inputs = n_inputs,
        .n_outputs = n_outputs,
        .n_attrs = n_attrs,
        .inputs = ids,
        .outputs = ids + n_inputs,
        .use_at = ids + n_inputs + n_outputs,
        .attrs = own_attrs,
    };
    return true;
}

hn_id hn_graph_add_node(hn_graph *g, hn_id block, hn_str domain, hn_str op, hn_str name,
                        uint32_t n_inputs, uint32_t n_outputs, uint32_t n_attrs,
                        const hn_attr *attrs) {
    hn_arena *arena = graph_arena(g);
    hn_block *b = hn_block_at(g, block);
    hn_node node;
    if (!HN_VEC_RESERVE(arena, &b->nodes, 1) ||
        !hn_node_init(arena, &node, block, domain, op, name, n_inputs, n_outputs, n_attrs, attrs) ||
        !HN_VEC_PUSH(arena, &g->nodes, node))
        return HN_NONE;
    b->nodes.at[b->nodes.n++] = g->nodes.n - 1;
    return g->nodes.n - 1;
}

bool hn_graph_add_input(hn_graph *g, hn_id block, hn_id value) {
    hn_block *b = hn_block_at(g, block);
    if (!HN_VEC_PUSH(graph_arena(g), &b->inputs, value))
        return false;
    hn_value_at(g, value)->is_input = true;
    hn_value_at(g, value)->slot = b->inputs.n - 1;
    return true;
}

bool hn_graph_add_init(hn_graph *g, hn_id value, const hn_tensor *t) {
    hn_value *v = hn_value_at(g, value);
    if (!v->init && !HN_VEC_PUSH(graph_arena(g), &hn_block_at(g, v->block)->inits, value))
        return false;
    v->init = t;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

hn_id hn_graph_find_local(const hn_graph *g, hn_id block, hn_str name) {
    uint32_t id = name ? hn_map_get(&g->by_name, hn_key(block, name->id)) : HN_MAP_NONE;
    return id == HN_MAP_NONE ? HN_NONE : id;
}

hn_id hn_graph_find(const hn_graph *g, hn_id block, hn_str name) {
    for (hn_id b = block; b != HN_NONE; b = hn_block_at(g, b)->parent) {
        hn_id value = hn_graph_find_local(g, b, name);
        if (value != HN_NONE)
            return value;
    }
    return HN_NONE;
}

bool hn_graph_rename(hn_graph *g, hn_id value, hn_str name) {
    hn_value *v = hn_value_at(g, value);
    if (v->name == name)
        return true;
    if (!index_name(g, v->block, name, value))
        return false;
    if (hn_graph_find_local(g, v->block, v->name) == value)
        hn_map_remove(&g->by_name, hn_key(v->block, v->name->id));
    v->name = name;
    return true;
}

/* A text that was never interned cannot be a name in the model. The counter avoids trying all
 * earlier numbers again for a stem that is used often. */
hn_str hn_graph_fresh_name(hn_graph *g, const char *stem) {
    hn_strtab *names = g->model->names;
    hn_arena *arena = graph_arena(g);
    const char *base = *stem ? stem : "v";
    if (!hn_intern_find(names, base, strlen(base)))
        return hn_intern_z(names, base);
    for (;;) {
        hn_arena_mark mark = hn_arena_save(arena);
        const char *text = hn_arena_printf(arena, "%s_%u", base, ++g->n_fresh);
        if (!text || !hn_intern_find(names, text, strlen(text)))
            return text ? hn_intern_z(names, text) : NULL;
        hn_arena_restore(arena, mark);
    }
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* The last use replaces the removed one; if it is a node's input, the node's index is updated. */
static void drop_use_at(hn_graph *g, hn_value *v, uint32_t at) {
    hn_use moved = v->uses.at[--v->uses.n];
    v->uses.at[at] = moved;
    if (moved.node != HN_NONE)
        hn_node_at(g, moved.node)->use_at[moved.slot] = at;
}

static void drop_input_use(hn_graph *g, const hn_node *n, uint32_t slot) {
    if (n->inputs[slot] != HN_NONE)
        drop_use_at(g, hn_value_at(g, n->inputs[slot]), n->use_at[slot]);
}

/* Last first: outputs come late in a value's life. */
static void drop_output_use(hn_graph *g, hn_id block, hn_id value) {
    hn_value *v = hn_value_at(g, value);
    for (uint32_t i = v->uses.n; i-- > 0;) {
        if (v->uses.at[i].node == HN_NONE && v->uses.at[i].slot == block) {
            drop_use_at(g, v, i);
            return;
        }
    }
}

bool hn_value_is_output(const hn_value *v, hn_id block) {
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE && (block == HN_NONE || v->uses.at[i].slot == block))
            return true;
    return false;
}

bool hn_graph_set_input(hn_graph *g, hn_id node, uint32_t slot, hn_id value) {
    hn_node *n = hn_node_at(g, node);
    if (n->inputs[slot] == value)
        return true;
    if (value != HN_NONE) {
        hn_value *v = hn_value_at(g, value);
        hn_use use = {.node = node, .slot = slot};
        if (!HN_VEC_PUSH(graph_arena(g), &v->uses, use))
            return false;
    }
    drop_input_use(g, n, slot);
    n->inputs[slot] = value;
    if (value != HN_NONE)
        n->use_at[slot] = hn_value_at(g, value)->uses.n - 1;
    return true;
}

void hn_graph_set_output(hn_graph *g, hn_id node, uint32_t slot, hn_id value) {
    hn_node *n = hn_node_at(g, node);
    hn_id old = n->outputs[slot];
    if (old != HN_NONE && hn_value_at(g, old)->producer == node)
        hn_value_at(g, old)->producer = HN_NONE;
    n->outputs[slot] = value;
    if (value != HN_NONE) {
        hn_value_at(g, value)->producer = node;
        hn_value_at(g, value)->slot = slot;
    }
}

static bool push_output_use(hn_graph *g, hn_id block, hn_id value) {
    hn_use use = {.node = HN_NONE, .slot = block};
    return HN_VEC_PUSH(graph_arena(g), &hn_value_at(g, value)->uses, use);
}

bool hn_graph_add_output(hn_graph *g, hn_id block, hn_id value) {
    hn_block *b = hn_block_at(g, block);
    if (!HN_VEC_RESERVE(graph_arena(g), &b->outputs, 1) || !push_output_use(g, block, value))
        return false;
    b->outputs.at[b->outputs.n++] = value;
    return true;
}

bool hn_graph_set_output_at(hn_graph *g, hn_id block, uint32_t index, hn_id value) {
    hn_id *output = &hn_block_at(g, block)->outputs.at[index];
    if (*output == value)
        return true;
    if (!push_output_use(g, block, value))
        return false;
    drop_output_use(g, block, *output);
    *output = value;
    return true;
}

void hn_graph_drop_output(hn_graph *g, hn_id block, uint32_t index) {
    hn_block *b = hn_block_at(g, block);
    drop_output_use(g, block, b->outputs.at[index]);
    b->outputs.n--;
    memmove(b->outputs.at + index, b->outputs.at + index + 1,
            (b->outputs.n - index) * sizeof *b->outputs.at);
}

void hn_graph_drop_node_output(hn_graph *g, hn_id node, uint32_t slot) {
    hn_node *n = hn_node_at(g, node);
    if (n->outputs[slot] != HN_NONE)
        hn_value_at(g, n->outputs[slot])->producer = HN_NONE;
    n->n_outputs--;
    for (uint32_t i = slot; i < n->n_outputs; i++) {
        n->outputs[i] = n->outputs[i + 1];
        if (n->outputs[i] != HN_NONE)
            hn_value_at(g, n->outputs[i])->slot = i;
    }
}

static void replace_in_outputs(hn_block *b, hn_id from, hn_id to) {
    for (uint32_t i = 0; i < b->outputs.n; i++) {
        if (b->outputs.at[i] == from)
            b->outputs.at[i] = to;
    }
}

bool hn_graph_replace_uses(hn_graph *g, hn_id from, hn_id to) {
    hn_value *old = hn_value_at(g, from);
    hn_value *target = hn_value_at(g, to);
    if (from == to)
        return true;
    if (!HN_VEC_RESERVE(graph_arena(g), &target->uses, old->uses.n))
        return false;
    hn_id last_block =
        HN_NONE; /* a block that lists the value twice has two uses, usually adjacent */
    for (uint32_t i = 0; i < old->uses.n; i++) {
        hn_use use = old->uses.at[i];
        if (use.node != HN_NONE) {
            hn_node *reader = hn_node_at(g, use.node);
            reader->inputs[use.slot] = to;
            reader->use_at[use.slot] = target->uses.n;
        } else if (use.slot != last_block) {
            last_block = use.slot;
            replace_in_outputs(hn_block_at(g, last_block), from, to);
        }
        target->uses.at[target->uses.n++] = use;
    }
    old->uses.n = 0;
    return true;
}

/* ---- removing -------------------------------------------------------------------------------- */

static void detach_node(hn_graph *g, hn_id node);

static void empty_block(hn_graph *g, hn_id block) {
    hn_block *b = hn_block_at(g, block);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        detach_node(g, b->nodes.at[i]);
    for (uint32_t i = 0; i < b->outputs.n; i++)
        drop_output_use(g, block, b->outputs.at[i]);
    b->owner = HN_NONE;
    b->nodes.n = b->inputs.n = b->outputs.n = 0;
    b->inits.n = b->sparse_inits.n = b->value_infos.n = b->quant.n = 0;
}

/* Recursion is bounded by HN_MAX_BLOCK_DEPTH. The node stays in its block's list. */
static void detach_node(hn_graph *g, hn_id node) {
    hn_node *n = hn_node_at(g, node);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        drop_input_use(g, n, i);
        n->inputs[i] = HN_NONE;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] != HN_NONE && hn_value_at(g, n->outputs[i])->producer == node)
            hn_value_at(g, n->outputs[i])->producer = HN_NONE;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&n->attrs[i], &n_blocks);
        for (uint32_t j = 0; j < n_blocks; j++)
            empty_block(g, blocks[j]);
    }
    n->block = HN_NONE;
}

static void erase_id(hn_id *at, uint32_t *n, hn_id id) {
    uint32_t i = 0;
    while (i < *n && at[i] != id)
        i++;
    if (i == *n)
        return;
    --*n;
    memmove(at + i, at + i + 1, (*n - i) * sizeof(*at));
}

void hn_graph_remove_node(hn_graph *g, hn_id node) {
    hn_id block = hn_node_at(g, node)->block;
    if (block == HN_NONE)
        return;
    detach_node(g, node);
    hn_block *b = hn_block_at(g, block);
    erase_id(b->nodes.at, &b->nodes.n, node);
}

void hn_graph_remove_nodes(hn_graph *g, const bool *is_doomed) {
    for (hn_id id = 0; id < g->nodes.n; id++) {
        if (is_doomed[id] && hn_node_at(g, id)->block != HN_NONE)
            detach_node(g, id);
    }
    for (hn_id id = 0; id < g->blocks.n; id++) {
        hn_block *b = hn_block_at(g, id);
        uint32_t n_kept = 0;
        for (uint32_t i = 0; i < b->nodes.n; i++) {
            if (hn_node_at(g, b->nodes.at[i])->block != HN_NONE)
                b->nodes.at[n_kept++] = b->nodes.at[i];
        }
        b->nodes.n = n_kept;
    }
}

void hn_graph_remove_value_listing(hn_graph *g, hn_id value) {
    hn_value *v = hn_value_at(g, value);
    hn_block *b = hn_block_at(g, v->block);
    if (v->init)
        erase_id(b->inits.at, &b->inits.n, value);
    if (v->sparse_init)
        erase_id(b->sparse_inits.at, &b->sparse_inits.n, value);
    erase_id(b->value_infos.at, &b->value_infos.n, value);
    if (v->is_input) {
        erase_id(b->inputs.at, &b->inputs.n, value);
        for (uint32_t i = v->slot; i < b->inputs.n; i++)
            hn_value_at(g, b->inputs.at[i])->slot = i;
    }
    v->init = NULL;
    v->sparse_init = NULL;
    v->is_input = v->is_declared = false;
}

/* ---- looking --------------------------------------------------------------------------------- */

const hn_attr *hn_node_attr(const hn_node *n, const char *name) {
    hn_count_decision(HN_DECISION_ATTRIBUTE);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (hn_str_is(n->attrs[i].name, name))
            return &n->attrs[i];
    }
    return NULL;
}

bool hn_block_is_inside(const hn_graph *g, hn_id inner, hn_id outer) {
    hn_id b = inner;
    while (b != HN_NONE && b != outer)
        b = hn_block_at(g, b)->parent;
    return b == outer;
}
