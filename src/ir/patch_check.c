/* Checks of a patch: no reads of values out of scope, no cycles. */
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
                return refuse(p, r->value, "is replaced by itself through a cycle of replacements",
                              err);
            r->with = p->replaces.at[next].with;
        }
        if (hn_value_at(p->g, r->value)->is_input && hn_patch_is_output(p->g, r->value))
            return refuse(p, r->value, "is both an input and an output of the graph", err);
        if (!patch_sees(p, patch_value_block(p, r->value), r->with))
            return refuse(p, r->with, "is not visible where it should be read", err);
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
        for (uint32_t j = 0; j < n->n_inputs; j++)
            HN_TRY(check_read(p, n->block, n->inputs[j], err));
    }
    for (uint32_t i = 0; i < p->inputs.n; i++)
        HN_TRY(
            check_read(p, patch_node_block(p, p->inputs.at[i].node), p->inputs.at[i].value, err));
    for (uint32_t i = 0; i < p->replaces.n; i++)
        HN_TRY(check_read(p, patch_value_block(p, p->replaces.at[i].value), p->replaces.at[i].with,
                          err));
    return HONE_OK;
}
