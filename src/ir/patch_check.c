/* What a patch may not do: lose values that are read, read values out of scope, go in circles. */
#include "ir/patch_int.h"

static hone_status refuse(const hn_patch *p, hn_id value, const char *why, hone_error *err) {
    const char *name = value < p->n_old_values ? hn_s(hn_value_at(p->g, value)->name)
                                               : p->values.at[value - p->n_old_values].stem;
    return hn_fail(err, HONE_E_ARGUMENT, "rewrite refused: value '%s' %s", name, why);
}

static bool patch_sees(const hn_patch *p, hn_id block, hn_id value) {
    return hn_block_is_inside(p->g, block, patch_value_block(p, value));
}

bool hn_patch_is_output(const hn_graph *g, hn_id value) {
    const hn_value *v = hn_value_at(g, value);
    return hn_value_is_output(v, v->block);
}

/* A value that replaces another may itself be replaced: readers go to the end of the chain. */
static hone_status resolve_chains(hn_patch *p, hone_error *err) {
    for (uint32_t i = 0; i < p->replaces.n; i++) {
        patch_replace *r = &p->replaces.at[i];
        uint32_t next, n_steps = 0;
        while ((next = hn_map_get(&p->replaced, r->with)) != HN_MAP_NONE) {
            if (++n_steps > p->replaces.n)
                return refuse(p, r->value, "is replaced in a circle", err);
            r->with = p->replaces.at[next].with;
        }
        if (hn_value_at(p->g, r->value)->is_input && hn_patch_is_output(p->g, r->value))
            return refuse(p, r->value, "is input and output of the graph at once", err);
        if (!patch_sees(p, patch_value_block(p, r->value), r->with))
            return refuse(p, r->with, "is not visible where it should be read", err);
    }
    return HONE_OK;
}

static bool is_doomed(const hn_patch *p, hn_id node) {
    while (node != HN_NONE && hn_map_get(&p->doomed, node) == HN_MAP_NONE) {
        hn_id block = hn_node_at(p->g, node)->block;
        node = block == HN_NONE ? HN_NONE : hn_block_at(p->g, block)->owner;
    }
    return node != HN_NONE;
}

static bool is_old_use_gone(const hn_patch *p, hn_use use) {
    if (use.node == HN_NONE) {
        hn_id owner = hn_block_at(p->g, use.slot)->owner;
        return owner != HN_NONE && is_doomed(p, owner);
    }
    return is_doomed(p, use.node) ||
           hn_map_get(&p->overridden, hn_key(use.node, use.slot)) != HN_MAP_NONE;
}

static hone_status check_unread(const hn_patch *p, hn_id value, hone_error *err) {
    const hn_value *v = hn_value_at(p->g, value);
    if (hn_map_get(&p->replaced, value) != HN_MAP_NONE)
        return HONE_OK;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        if (!is_old_use_gone(p, v->uses.at[i]))
            return refuse(p, value, "loses its producer but is still read", err);
    }
    return HONE_OK;
}

/* What the patch reads must exist afterwards and be in scope. */
static hone_status check_read(const hn_patch *p, hn_id reader_block, hn_id value, hone_error *err) {
    if (value == HN_NONE)
        return HONE_OK;
    if (!patch_knows_value(p, value))
        return hn_fail(err, HONE_E_ARGUMENT, "rewrite refused: value id %u does not exist", value);
    if (!patch_sees(p, reader_block, value))
        return refuse(p, value, "is not visible where it should be read", err);
    if (value < p->n_old_values && is_doomed(p, hn_value_at(p->g, value)->producer))
        return refuse(p, value, "is read by the rewrite that removes its producer", err);
    return HONE_OK;
}

hone_status hn_patch_check(hn_patch *p, const hn_graph *g, hone_error *err) {
    if (p->failed == HONE_E_NOMEM)
        return HONE_E_NOMEM;
    if (p->failed != HONE_OK)
        return hn_fail(err, p->failed,
                       "rewrite refused: it names nodes or values that do not exist");
    if (g != p->g || g->nodes.n != p->n_old_nodes || g->values.n != p->n_old_values ||
        g->blocks.n != p->n_old_blocks)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "rewrite refused: the graph changed since it was made");
    HN_TRY(resolve_chains(p, err));
    for (uint32_t i = 0; i < p->nodes.n; i++) {
        const patch_node *n = &p->nodes.at[i];
        if (n->before < p->n_old_nodes && hn_block_at(g, n->block)->owner != HN_NONE &&
            is_doomed(p, hn_block_at(g, n->block)->owner))
            return hn_fail(err, HONE_E_ARGUMENT,
                           "rewrite refused: it adds to a subgraph it removes");
        for (uint32_t j = 0; j < n->n_inputs; j++)
            HN_TRY(check_read(p, n->block, n->inputs[j], err));
    }
    for (uint32_t i = 0; i < p->inputs.n; i++)
        HN_TRY(
            check_read(p, patch_node_block(p, p->inputs.at[i].node), p->inputs.at[i].value, err));
    for (uint32_t i = 0; i < p->replaces.n; i++)
        HN_TRY(check_read(p, patch_value_block(p, p->replaces.at[i].value), p->replaces.at[i].with,
                          err));
    for (uint32_t i = 0; i < p->removes.n; i++) {
        const hn_node *n = hn_node_at(g, p->removes.at[i]);
        for (uint32_t j = 0; j < n->n_outputs; j++) {
            if (n->outputs[j] != HN_NONE)
                HN_TRY(check_unread(p, n->outputs[j], err));
        }
    }
    return HONE_OK;
}
