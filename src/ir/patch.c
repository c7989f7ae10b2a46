/* Atomic edits. A patch is checked, then all memory is allocated while the graph is unchanged, and
 * only then it is committed by steps that cannot fail.
 *
 * New nodes and values already have the ids they will get: they are the next ones of the graph's
 * tables. */
#include "ir/patch_int.h"

hn_patch *hn_patch_new(hn_arena *scratch, const hn_graph *g) {
    hn_patch *p = HN_NEW(scratch, hn_patch);
    if (!p)
        return NULL;
    p->scratch = scratch;
    p->g = g;
    p->n_old_nodes = g->nodes.n;
    p->n_old_values = g->values.n;
    p->n_old_blocks = g->blocks.n;
    hn_map *const maps[] = {&p->replaced, &p->carriers};
    for (size_t i = 0; i < HN_COUNT(maps); i++)
        hn_map_init(maps[i], scratch);
    return p;
}

/* ---- filling --------------------------------------------------------------------------------- */

void hn_patch_fail(hn_patch *p, hone_status status) {
    if (p->failed == HONE_OK)
        p->failed = status;
}

static hn_id push_patch_value(hn_patch *p, patch_value v) {
    if (!HN_VEC_PUSH(p->scratch, &p->values, v)) {
        hn_patch_fail(p, HONE_E_NOMEM);
        return HN_NONE;
    }
    return p->n_old_values + p->values.n - 1;
}

hn_id hn_patch_node(hn_patch *p, hn_id before, hn_str domain, hn_str op, hn_str name,
                    uint32_t n_inputs, const hn_id *inputs, uint32_t n_outputs, uint32_t n_attrs,
                    const hn_attr *attrs) {
    if (!op || (before != HN_NONE && !patch_knows_node(p, before))) {
        hn_patch_fail(p, HONE_E_ARGUMENT);
        return HN_NONE;
    }
    patch_node n = {
        .before = before,
        .block = before == HN_NONE ? 0 : patch_node_block(p, before),
        .domain = domain,
        .op = op,
        .name = name,
        .n_inputs = n_inputs,
        .n_outputs = n_outputs,
        .n_attrs = n_attrs,
        .inputs = hn_arena_copy(p->scratch, inputs, n_inputs * sizeof(*inputs)),
        .attrs = hn_arena_copy(p->scratch, attrs, n_attrs * sizeof(*attrs)),
        .first_output = p->n_old_values + p->values.n,
    };
    hn_id id = p->n_old_nodes + p->nodes.n;
    for (uint32_t i = 0; i < n_outputs; i++) {
        const char *stem = hn_s(hn_str_empty(name) ? op : name);
        push_patch_value(p,
                         (patch_value){.block = n.block, .stem = stem, .producer = id, .slot = i});
    }
    if (!n.inputs || !n.attrs || !HN_VEC_PUSH(p->scratch, &p->nodes, n))
        hn_patch_fail(p, HONE_E_NOMEM);
    return p->failed == HONE_OK ? id : HN_NONE;
}

hn_id hn_patch_output(hn_patch *p, hn_id node, uint32_t slot) {
    if (node < p->n_old_nodes || !patch_knows_node(p, node) ||
        slot >= p->nodes.at[node - p->n_old_nodes].n_outputs) {
        hn_patch_fail(p, HONE_E_ARGUMENT);
        return HN_NONE;
    }
    return p->nodes.at[node - p->n_old_nodes].first_output + slot;
}

void hn_patch_drop_output(hn_patch *p, hn_id node, uint32_t slot) {
    hn_id value = hn_patch_output(p, node, slot);
    if (value != HN_NONE)
        p->values.at[value - p->n_old_values].is_absent = true;
}

hn_id hn_patch_const(hn_patch *p, hn_id block, const char *stem, const hn_tensor *t) {
    const char *own_stem = hn_arena_copy(p->scratch, stem, strlen(stem) + 1);
    if (!own_stem)
        hn_patch_fail(p, HONE_E_NOMEM);
    if (!t || block >= p->n_old_blocks)
        hn_patch_fail(p, HONE_E_ARGUMENT);
    if (p->failed != HONE_OK)
        return HN_NONE;
    return push_patch_value(
        p, (patch_value){.block = block, .stem = own_stem, .init = t, .producer = HN_NONE});
}

void hn_patch_replace(hn_patch *p, hn_id value, hn_id with) {
    patch_replace r = {.value = value, .with = with, .carrier = HN_NONE};
    if (value >= p->n_old_values || !patch_knows_value(p, with) ||
        hn_map_get(&p->replaced, value) != HN_MAP_NONE)
        hn_patch_fail(p, HONE_E_ARGUMENT);
    else if (!hn_map_put(&p->replaced, value, p->replaces.n) ||
             !HN_VEC_PUSH(p->scratch, &p->replaces, r))
        hn_patch_fail(p, HONE_E_NOMEM);
}

void hn_patch_set_input(hn_patch *p, hn_id node, uint32_t slot, hn_id value) {
    patch_input in = {.node = node, .slot = slot, .value = value};
    if (node >= p->n_old_nodes || !patch_knows_node(p, node) ||
        slot >= hn_node_at(p->g, node)->n_inputs ||
        (value != HN_NONE && !patch_knows_value(p, value)))
        hn_patch_fail(p, HONE_E_ARGUMENT);
    else if (!HN_VEC_PUSH(p->scratch, &p->inputs, in))
        hn_patch_fail(p, HONE_E_NOMEM);
}

/* ---- outputs of blocks ----------------------------------------------------------------------- */

/* Inputs and initializers must keep their names, an output already has a name to keep, and a
 * subgraph may only return values that it computes itself. */
static bool can_be_output(const hn_graph *g, hn_id block, hn_id value) {
    const hn_value *v = hn_value_at(g, value);
    return v->block == block && v->producer != HN_NONE && !hn_patch_is_output(g, value);
}

bool hn_replace_needs_identity(const hn_graph *g, hn_id value, hn_id with) {
    return hn_patch_is_output(g, value) && !can_be_output(g, hn_value_at(g, value)->block, with);
}

static bool can_become_output(const hn_patch *p, hn_id block, hn_id value) {
    if (hn_map_get(&p->carriers, value) != HN_MAP_NONE)
        return false;
    return value < p->n_old_values ? can_be_output(p->g, block, value)
                                   : patch_value_block(p, value) == block;
}

static hn_id put_identity(hn_patch *p, hn_id block, hn_id value) {
    hn_str identity = hn_intern_z(p->g->model->names, "Identity");
    hn_id node =
        identity ? hn_patch_node(p, HN_NONE, NULL, identity, NULL, 1, &value, 1, 0, NULL) : HN_NONE;
    if (node == HN_NONE)
        return HN_NONE;
    p->nodes.at[p->nodes.n - 1].block = block;
    p->values.at[p->values.n - 1].block = block;
    return hn_patch_output(p, node, 0);
}

/* The value that becomes an output of a block replaces the old one, in the main graph under its
 * name; where that is impossible, an Identity is inserted. */
static hone_status choose_output_values(hn_patch *p) {
    for (uint32_t i = 0; i < p->replaces.n; i++) {
        patch_replace *r = &p->replaces.at[i];
        hn_id block = hn_value_at(p->g, r->value)->block;
        if (!hn_patch_is_output(p->g, r->value))
            continue;
        r->carrier =
            can_become_output(p, block, r->with) ? r->with : put_identity(p, block, r->with);
        if (r->carrier == HN_NONE || !hn_map_put(&p->carriers, r->carrier, 1))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

/* ---- preparing: everything that may fail ----------------------------------------------------- */

static bool prepare_value(hn_patch *p, hn_graph *g, uint32_t i) {
    const patch_value *pv = &p->values.at[i];
    hn_value *v = &g->values.at[p->n_old_values + i];
    *v = (hn_value){.name = hn_graph_fresh_name(g, pv->stem),
                    .block = pv->block,
                    .producer = pv->is_absent ? HN_NONE : pv->producer,
                    .slot = pv->slot,
                    .init = pv->init};
    if (!v->name)
        return false;
    if (pv->init) {
        const hn_tensor *t = pv->init;
        v->type = hn_type_tensor(g->model->arena, t->dtype, t->rank, t->dims);
        if (!v->type ||
            !HN_VEC_RESERVE(g->model->arena, &hn_block_at(g, pv->block)->inits, p->values.n))
            return false;
    }
    return hn_map_put(&g->by_name, hn_key(pv->block, v->name->id), p->n_old_values + i);
}

static bool prepare_node(hn_patch *p, hn_graph *g, uint32_t i) {
    const patch_node *pn = &p->nodes.at[i];
    hn_node *n = &g->nodes.at[p->n_old_nodes + i];
    if (!HN_VEC_RESERVE(g->model->arena, &hn_block_at(g, pn->block)->nodes, p->nodes.n) ||
        !hn_node_init(g->model->arena, n, pn->block, pn->domain, pn->op, pn->name, pn->n_inputs,
                      pn->n_outputs, pn->n_attrs, pn->attrs))
        return false;
    for (uint32_t j = 0; j < pn->n_outputs; j++) {
        hn_id id = pn->first_output + j;
        n->outputs[j] = p->values.at[id - p->n_old_values].is_absent ? HN_NONE : id;
    }
    return true;
}

typedef struct use_gain {
    hn_id value;
    uint32_t n;
} use_gain;
typedef HN_VEC(use_gain) use_gains;

static bool list_gain(hn_patch *p, use_gains *gains, hn_id value, uint32_t n) {
    use_gain gain = {.value = value, .n = n};
    return value == HN_NONE || HN_VEC_PUSH(p->scratch, gains, gain);
}

static bool list_gains(hn_patch *p, const hn_graph *g, use_gains *gains) {
    bool ok = true;
    for (uint32_t i = 0; i < p->nodes.n; i++) {
        for (uint32_t j = 0; j < p->nodes.at[i].n_inputs; j++)
            ok = ok && list_gain(p, gains, p->nodes.at[i].inputs[j], 1);
    }
    for (uint32_t i = 0; i < p->inputs.n; i++)
        ok = ok && list_gain(p, gains, p->inputs.at[i].value, 1);
    for (uint32_t i = 0; i < p->replaces.n; i++) {
        const patch_replace *r = &p->replaces.at[i];
        uint32_t n = hn_value_at(g, r->value)->uses.n;
        ok = ok && list_gain(p, gains, r->with, n) && list_gain(p, gains, r->carrier, n);
    }
    return ok;
}

/* Counts the new uses of each value before reserving, since reservations for one value do not add
 * up. */
static bool prepare_uses(hn_patch *p, hn_graph *g) {
    use_gains gains = {0};
    hn_map sums;
    hn_map_init(&sums, p->scratch);
    if (!list_gains(p, g, &gains))
        return false;
    for (uint32_t i = 0; i < gains.n; i++) {
        uint32_t known = hn_map_get(&sums, gains.at[i].value);
        uint64_t sum = (uint64_t)(known == HN_MAP_NONE ? 0 : known) + gains.at[i].n;
        if (sum >= HN_MAP_NONE || !hn_map_put(&sums, gains.at[i].value, (uint32_t)sum))
            return false;
    }
    for (uint32_t i = 0; i < gains.n; i++) {
        hn_value *v = hn_value_at(g, gains.at[i].value);
        if (!HN_VEC_RESERVE(g->model->arena, &v->uses, hn_map_get(&sums, gains.at[i].value)))
            return false;
    }
    return true;
}

/* Fills the tables past their counts, so that on failure only the names must be undone. */
static bool prepare(hn_patch *p, hn_graph *g) {
    hn_arena *arena = g->model->arena;
    if (!HN_VEC_RESERVE(arena, &g->values, p->values.n) ||
        !HN_VEC_RESERVE(arena, &g->nodes, p->nodes.n))
        return false;
    uint32_t n_named = 0;
    while (n_named < p->values.n && prepare_value(p, g, n_named))
        n_named++;
    bool ok = n_named == p->values.n;
    for (uint32_t i = 0; ok && i < p->nodes.n; i++)
        ok = prepare_node(p, g, i);
    if (ok && prepare_uses(p, g))
        return true;
    for (uint32_t i = 0; i < n_named; i++) {
        const hn_value *v = &g->values.at[p->n_old_values + i];
        hn_map_remove(&g->by_name, hn_key(v->block, v->name->id));
    }
    return false;
}

/* ---- committing: nothing here can fail, room is there ---------------------------------------- */

/* Both names are in the map already, so no entry is added. */
void hn_graph_swap_names(hn_graph *g, hn_id a, hn_id b) {
    hn_value *va = hn_value_at(g, a), *vb = hn_value_at(g, b);
    hn_str name = va->name;
    va->name = vb->name;
    vb->name = name;
    hn_map_put(&g->by_name, hn_key(va->block, va->name->id), a);
    hn_map_put(&g->by_name, hn_key(vb->block, vb->name->id), b);
}

static void commit_replace(const hn_patch *p, hn_graph *g, const patch_replace *r) {
    hn_value *from = hn_value_at(g, r->value), *with = hn_value_at(g, r->with);
    if (r->with >= p->n_old_values && !with->type)
        with->type = from->type;
    if (r->carrier != HN_NONE) {
        hn_block *b = hn_block_at(g, from->block);
        hn_value *carrier = hn_value_at(g, r->carrier);
        for (uint32_t i = 0; i < b->outputs.n; i++) {
            if (b->outputs.at[i] == r->value)
                hn_graph_set_output_at(g, from->block, i, r->carrier);
        }
        if (from->block == 0)
            hn_graph_swap_names(g, r->value, r->carrier);
        carrier->type = from->type ? from->type : carrier->type;
        carrier->is_declared = from->is_declared;
        carrier->extra = from->extra;
    }
    hn_graph_replace_uses(g, r->value, r->with);
}

static void insert_node(hn_graph *g, hn_id node, hn_id before) {
    hn_block *b = hn_block_at(g, hn_node_at(g, node)->block);
    uint32_t at = b->nodes.n;
    if (before != HN_NONE) {
        while (at > 0 && b->nodes.at[at - 1] != before)
            at--;
        at -= at > 0;
    }
    memmove(b->nodes.at + at + 1, b->nodes.at + at, (b->nodes.n - at) * sizeof(*b->nodes.at));
    b->nodes.at[at] = node;
    b->nodes.n++;
}

static void commit(const hn_patch *p, hn_graph *g) {
    g->values.n += p->values.n;
    g->nodes.n += p->nodes.n;
    for (uint32_t i = 0; i < p->replaces.n; i++)
        commit_replace(p, g, &p->replaces.at[i]);
    for (uint32_t i = 0; i < p->inputs.n; i++)
        hn_graph_set_input(g, p->inputs.at[i].node, p->inputs.at[i].slot, p->inputs.at[i].value);
    for (uint32_t i = 0; i < p->nodes.n; i++) {
        const patch_node *n = &p->nodes.at[i];
        for (uint32_t j = 0; j < n->n_inputs; j++)
            hn_graph_set_input(g, p->n_old_nodes + i, j, n->inputs[j]);
        insert_node(g, p->n_old_nodes + i, n->before);
    }
    for (uint32_t i = 0; i < p->values.n; i++) {
        hn_block *b = hn_block_at(g, p->values.at[i].block);
        if (p->values.at[i].init)
            b->inits.at[b->inits.n++] = p->n_old_values + i;
    }
}

hone_status hn_patch_apply(hn_patch *p, hn_graph *g, hone_error *err) {
    HN_TRY(hn_patch_check(p, g, err));
    HN_TRY(choose_output_values(p));
    if (!prepare(p, g))
        return HONE_E_NOMEM;
    commit(p, g);
    return HONE_OK;
}
