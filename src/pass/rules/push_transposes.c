/* Pushes Transposes through operators that work with any order of axes, to where they cancel.
 *
 * From each Transpose a region grows: the operators that could compute on what it transposes
 * instead, and those that they are bound to by shared values. Turning the region removes the
 * Transposes at its border that undo each other, and needs new ones where a value comes in or goes
 * out in the old order. It happens when that moves fewer bytes, so it comes to an end. */
#include "pass/rules/relayout.h"

#define MAX_REGION_NODES 4096u
#define MAX_PRUNINGS 64u
#define FREE_SIZE 64          /* assumed for a dimension that is not known */
#define TRANSPOSE_BYTES 256.0 /* cost of a Transpose beside its data */

typedef struct permuted_value {
    hn_id value;
    hn_perm perm;
    hn_id permuted; /* while writing: the value in the new order; HN_NONE until it exists */
} permuted_value;

typedef struct permuted_node {
    hn_id node;
    const hn_relayout *how;
    hn_perm in;
    bool is_out; /* pruned */
} permuted_node;

typedef struct region {
    hn_rule *r;
    hn_id block;
    HN_VEC(permuted_node) nodes;
    HN_VEC(permuted_value) values;
    hn_map node_index, value_index; /* id -> index */
} region;

/* ---- membership ------------------------------------------------------------------------------ */

static permuted_value *value_in_region(const region *g, hn_id value) {
    uint32_t i = hn_map_get(&g->value_index, value);
    return i == HN_MAP_NONE ? NULL : &g->values.at[i];
}

static bool is_in_region(const region *g, hn_id node) {
    uint32_t i = node == HN_NONE ? HN_MAP_NONE : hn_map_get(&g->node_index, node);
    return i != HN_MAP_NONE && !g->nodes.at[i].is_out;
}

static bool is_same_perm(const hn_perm *a, const hn_perm *b) {
    return a->rank == b->rank && memcmp(a->at, b->at, (size_t)a->rank) == 0;
}

static bool agrees(const region *g, hn_id value, const hn_perm *perm) {
    const permuted_value *v = value == HN_NONE ? NULL : value_in_region(g, value);
    return !v || is_same_perm(&v->perm, perm);
}

static hone_status add_value(region *g, hn_id value, const hn_perm *perm) {
    if (value == HN_NONE || value_in_region(g, value))
        return HONE_OK;
    permuted_value v = {value, *perm, HN_NONE};
    return HN_VEC_PUSH(g->r->pass->scratch, &g->values, v) &&
                   hn_map_put(&g->value_index, value, g->values.n - 1)
               ? HONE_OK
               : HONE_E_NOMEM;
}

static uint32_t count_data_inputs(const region *g, const permuted_node *t) {
    return HN_MIN(t->how->n_data, hn_at(g->r, t->node)->n_inputs);
}

/* Adds a node whose data is permuted by `in`, when it supports that and no value has another
 * permutation. */
static hone_status try_add_node(region *g, hn_id node, const hn_perm *in, bool from_output) {
    hn_rule *r = g->r;
    hn_perm out;
    if (hn_map_get(&g->node_index, node) != HN_MAP_NONE || g->nodes.n >= MAX_REGION_NODES ||
        hn_at(r, node)->block != g->block)
        return HONE_OK;
    permuted_node t = {.node = node, .how = hn_relayout_find(r, node), .in = *in};
    if (!t.how || (from_output && !t.how->keeps_perm) || !t.how->turn(r, node, in, &out))
        return HONE_OK;
    uint32_t n_data = count_data_inputs(g, &t);
    for (uint32_t i = 0; i < n_data; i++)
        if (!hn_is_turned_for_free(r, hn_in(r, node, i), in) && !agrees(g, hn_in(r, node, i), in))
            return HONE_OK;
    const hn_node *n = hn_at(r, node);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (!agrees(g, n->outputs[i], &out))
            return HONE_OK;
    if (!HN_VEC_PUSH(r->pass->scratch, &g->nodes, t) ||
        !hn_map_put(&g->node_index, node, g->nodes.n - 1))
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n_data; i++)
        if (!hn_is_turned_for_free(r, n->inputs[i], in))
            HN_TRY(add_value(g, n->inputs[i], in));
    for (uint32_t i = 0; i < n->n_outputs; i++)
        HN_TRY(add_value(g, n->outputs[i], &out));
    return HONE_OK;
}

static bool is_data_input(const region *g, hn_id node, uint32_t slot) {
    const hn_relayout *how = hn_relayout_find(g->r, node);
    return how && slot < how->n_data;
}

static hone_status grow_region(region *g, hn_id transpose) {
    hn_rule *r = g->r;
    hn_perm perm;
    if (!hn_perm_read(r, transpose, &perm))
        return HONE_OK;
    HN_TRY(add_value(g, hn_out(r, transpose, 0), &perm));
    for (uint32_t i = 0; i < g->values.n; i++) {
        hn_id value = g->values.at[i].value;
        const hn_value *v = hn_value_at(r->g, value);
        perm = g->values.at[i].perm;
        for (uint32_t k = 0; k < v->uses.n; k++)
            if (v->uses.at[k].node != HN_NONE &&
                is_data_input(g, v->uses.at[k].node, v->uses.at[k].slot))
                HN_TRY(try_add_node(g, v->uses.at[k].node, &perm, false));
        if (v->producer != HN_NONE)
            HN_TRY(try_add_node(g, v->producer, &perm, true));
    }
    return HONE_OK;
}

/* ---- cost ------------------------------------------------------------------------------------ */

static double transpose_cost(const hn_rule *r, hn_id value, const hn_perm *perm) {
    const hn_shape *s = hn_shape_of(r, value);
    double bytes = HN_MAX(hn_dtype_bits(hn_elem_of(r, value)), 8) / 8;
    hn_perm inverse = hn_perm_inverse(perm);
    if (hn_perm_is_free(&inverse, s))
        return TRANSPOSE_BYTES;
    for (int32_t i = 0; s && i < s->rank; i++)
        bytes *= hn_dim_is_known(s->dims[i]) ? (double)s->dims[i] : FREE_SIZE;
    return TRANSPOSE_BYTES + bytes;
}

/* The permutation between the input of a border Transpose and the region. */
static hn_perm entry_perm(const hn_perm *transpose, const hn_perm *permuted) {
    hn_perm inverse = hn_perm_inverse(permuted);
    return hn_perm_compose(transpose, &inverse);
}

static bool border_transpose(const region *g, hn_id value, hn_id *node, hn_perm *perm) {
    *node = hn_maker(g->r, value, "Transpose");
    return *node != HN_NONE && hn_perm_read(g->r, *node, perm);
}

/* The readers of a value: inside the region, Transposes outside it, and others. */
typedef struct reader_counts {
    uint32_t n_inside, n_transposes, n_others;
} reader_counts;

static reader_counts count_readers(const region *g, const hn_value *v) {
    reader_counts n = {0};
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        if (is_in_region(g, node))
            n.n_inside++;
        else if (node != HN_NONE && hn_is_op(g->r, node, "Transpose"))
            n.n_transposes++;
        else
            n.n_others++;
    }
    return n;
}

/* A value that enters: new Transposes minus those that are removed. */
static double entry_cost(const region *g, const permuted_value *t, const reader_counts *n) {
    hn_perm perm;
    hn_id node;
    if (n->n_inside == 0)
        return 0;
    double cost = transpose_cost(g->r, t->value, &t->perm);
    if (!border_transpose(g, t->value, &node, &perm) || perm.rank != t->perm.rank)
        return cost;
    hn_perm whole = entry_perm(&perm, &t->perm);
    cost = hn_perm_is_identity(&whole) ? 0 : cost;
    if (n->n_transposes + n->n_others == 0 && !hn_const(g->r, hn_in(g->r, node, 0)))
        cost -= transpose_cost(g->r, t->value, &perm);
    return cost;
}

/* A value that leaves: one new Transpose for all readers, minus Transposes that cancel. */
static double exit_cost(const region *g, const permuted_value *t, const reader_counts *n) {
    const hn_value *v = hn_value_at(g->r->g, t->value);
    double cost = n->n_others > 0 ? transpose_cost(g->r, t->value, &t->perm) : 0;
    for (uint32_t i = 0; n->n_transposes > 0 && i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        hn_perm then;
        if (node == HN_NONE || is_in_region(g, node) || !hn_is_op(g->r, node, "Transpose") ||
            !hn_perm_read(g->r, node, &then) || then.rank != t->perm.rank)
            continue;
        hn_perm whole = hn_perm_compose(&t->perm, &then);
        if (hn_perm_is_identity(&whole))
            cost -= transpose_cost(g->r, hn_out(g->r, node, 0), &then);
    }
    return cost;
}

static double value_cost(const region *g, hn_id value) {
    const permuted_value *t = value == HN_NONE ? NULL : value_in_region(g, value);
    if (!t)
        return 0;
    const hn_value *v = hn_value_at(g->r->g, value);
    reader_counts n = count_readers(g, v);
    return is_in_region(g, v->producer) ? exit_cost(g, t, &n) : entry_cost(g, t, &n);
}

/* Additional bytes that Transposes move when the region is permuted; negative: it pays. */
static double region_cost(const region *g) {
    double cost = 0;
    for (uint32_t i = 0; i < g->values.n; i++)
        cost += value_cost(g, g->values.at[i].value);
    return cost;
}

/* The part of the cost that depends on a node. */
static double cost_around(const region *g, hn_id node) {
    const hn_node *n = hn_at(g->r, node);
    double cost = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        bool is_repeated = false;
        for (uint32_t k = 0; k < i; k++)
            is_repeated |= n->inputs[k] == n->inputs[i];
        cost += is_repeated ? 0 : value_cost(g, n->inputs[i]);
    }
    for (uint32_t i = 0; i < n->n_outputs; i++)
        cost += value_cost(g, n->outputs[i]);
    return cost;
}

/* Removes nodes from the region as long as that lowers the cost. */
static void prune_region(region *g) {
    for (uint32_t round = 0; round < MAX_PRUNINGS; round++) {
        bool is_better = false;
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            permuted_node *t = &g->nodes.at[i];
            if (t->is_out)
                continue;
            double with = cost_around(g, t->node);
            t->is_out = true;
            t->is_out = cost_around(g, t->node) < with;
            is_better |= t->is_out;
        }
        if (!is_better)
            break;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static hn_id enter_region(region *g, permuted_value *t) {
    hn_rule *r = g->r;
    hn_perm perm, whole = hn_perm_inverse(&t->perm);
    hn_id node, x = t->value;
    if (border_transpose(g, t->value, &node, &perm) && perm.rank == t->perm.rank) {
        whole = entry_perm(&perm, &t->perm);
        x = hn_in(r, node, 0);
    }
    t->permuted = hn_perm_is_identity(&whole) ? x : hn_make_transpose(r, x, &whole);
    return t->permuted;
}

static hn_id turned_input(region *g, const permuted_node *t, uint32_t i) {
    hn_id value = hn_in(g->r, t->node, i);
    if (value == HN_NONE || i >= count_data_inputs(g, t))
        return value;
    permuted_value *v = value_in_region(g, value);
    if (v && v->permuted != HN_NONE)
        return v->permuted;
    return hn_is_turned_for_free(g->r, value, &t->in) ? hn_turn_for_free(g->r, value, &t->in)
                                                      : enter_region(g, v);
}

static hone_status write_node(region *g, const permuted_node *t) {
    hn_rule *r = g->r;
    const hn_node *n = hn_at(r, t->node);
    hn_id *inputs = HN_NEW_N(r->pass->rule_scratch, hn_id, (size_t)n->n_inputs + 1);
    HN_TRY_PTR(inputs);
    hn_rule_before(r, t->node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        inputs[i] = turned_input(g, t, i);
    hn_id made = t->how->write(r, t->node, &t->in, inputs);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            value_in_region(g, n->outputs[i])->permuted = hn_out(r, made, i);
    return HONE_OK;
}

/* Writes the value in its old order for readers outside the region. */
static void leave_region(region *g, const permuted_value *t) {
    hn_rule *r = g->r;
    const hn_value *v = hn_value_at(r->g, t->value);
    reader_counts n = count_readers(g, v);
    for (uint32_t i = 0; n.n_transposes > 0 && i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        hn_perm then;
        if (node == HN_NONE || is_in_region(g, node) || !hn_is_op(r, node, "Transpose") ||
            !hn_perm_read(r, node, &then))
            continue;
        hn_perm whole = hn_perm_compose(&t->perm, &then);
        hn_rule_before(r, node);
        hn_rule_replace_value(
            r, hn_out(r, node, 0),
            hn_perm_is_identity(&whole) ? t->permuted : hn_make_transpose(r, t->permuted, &whole));
    }
    hn_rule_before(r, v->producer);
    if (n.n_others > 0)
        hn_rule_replace_value(r, t->value, hn_make_transpose(r, t->permuted, &t->perm));
}

static hone_status write_region(region *g) {
    const hn_block *b = hn_block_at(g->r->g, g->block);
    for (uint32_t i = 0; i < b->nodes.n; i++) /* producers before readers */
        if (is_in_region(g, b->nodes.at[i]))
            HN_TRY(write_node(g, &g->nodes.at[hn_map_get(&g->node_index, b->nodes.at[i])]));
    for (uint32_t i = 0; i < g->values.n; i++)
        if (is_in_region(g, hn_value_at(g->r->g, g->values.at[i].value)->producer))
            leave_region(g, &g->values.at[i]);
    return HONE_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Other Transposes at the border would lead to the same region, so they are skipped. */
static hone_status remember_seeds(const region *g, hn_map *seen) {
    for (uint32_t i = 0; i < g->values.n; i++) {
        hn_perm perm;
        hn_id node;
        if (border_transpose(g, g->values.at[i].value, &node, &perm) &&
            is_same_perm(&perm, &g->values.at[i].perm) && !hn_map_put(seen, node, 1))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

static hone_status push_from(hn_pass *p, hn_id transpose, hn_map *seen) {
    region g = {.r = hn_rewrite_begin(p, "turn", transpose)};
    HN_TRY_PTR(g.r);
    if (hn_const(g.r, hn_in(g.r, transpose, 0)))
        return HONE_OK;
    g.block = hn_at(g.r, transpose)->block;
    hn_map_init(&g.node_index, p->scratch);
    hn_map_init(&g.value_index, p->scratch);
    HN_TRY(grow_region(&g, transpose));
    HN_TRY(remember_seeds(&g, seen));
    prune_region(&g);
    if (region_cost(&g) < 0)
        HN_TRY(write_region(&g));
    return hn_rewrite_end(g.r);
}

static hone_status push_in_block(hn_pass *p, hn_id block) {
    const hn_block *b = hn_block_at(p->g, block);
    uint32_t n = b->nodes.n;
    hn_id *nodes = hn_arena_copy(p->scratch, b->nodes.at, n * sizeof *nodes);
    HN_TRY_PTR(nodes);
    hn_map seen;
    hn_map_init(&seen, p->scratch);
    for (uint32_t i = 0; i < n; i++) {
        const hn_node *at = hn_node_at(p->g, nodes[i]);
        if (at->block != HN_NONE && hn_str_is(at->op, "Transpose") &&
            hn_domain_is_onnx(at->domain) && hn_map_get(&seen, nodes[i]) == HN_MAP_NONE)
            HN_TRY(push_from(p, nodes[i], &seen));
    }
    return HONE_OK;
}

hone_status hn_pass_push_transposes(hn_pass *p) {
    for (hn_id block = 0; block < p->g->blocks.n; block++)
        HN_TRY(push_in_block(p, block));
    return HONE_OK;
}
