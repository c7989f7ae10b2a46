/* The map of memory: values that live at different times share the same bytes, and so do a value
 * and its views. */
#include "plan/plan.h"

#include <stdlib.h>

#define ALIGNMENT 64u

typedef struct layout {
    hn_plan *plan;
    const hn_graph *g;
    const hn_step_list *list;
    uint32_t *last_use; /* by value: step after which nobody reads it; n_steps: lives to the end */
    uint32_t *range_of; /* by value: its range + 1; 0 when it is not in the block */
    bool *is_steady; /* by value: its memory stays where it is as long as the plan says so, so that
                        views may look at it */
} layout;

static bool is_graph_output(const hn_value *v) {
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE && v->uses.at[i].slot == 0)
            return true;
    return false;
}

static const hn_type *type_of(const layout *l, hn_id id) {
    return id == HN_NONE ? NULL : l->plan->places[id].type;
}

static bool byte_size(const hn_type *t, uint64_t *bytes) {
    uint64_t n = 1;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_mul_u64(n, (uint64_t)t->shape.dims[i], &n))
            return false;
    if (!hn_dtype_bytes(t->elem, n, bytes) || *bytes > UINT64_MAX / 4)
        return false;
    *bytes = (*bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* ---- how steps run ----------------------------------------------------------------------------------------------------------- */

static bool has_exact_types(const layout *l, const hn_step *step, const hn_node *node) {
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != HN_NONE && !type_of(l, node->inputs[i]))
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (step->wanted[i] && !type_of(l, node->outputs[i]))
            return false;
    return !step->has_body;
}

static bool same_elems(const hn_type *a, const hn_type *b) {
    uint64_t bytes; /* only says whether the counts below can be trusted */
    return byte_size(a, &bytes) && byte_size(b, &bytes) &&
           hn_count(a->shape.rank, a->shape.dims) == hn_count(b->shape.rank, b->shape.dims);
}

/* Graph outputs have memory of their own; all else may look at what is already there. */
static bool can_be_view(const layout *l, const hn_step *step, const hn_node *node) {
    if (hn_eval_memory(step->op->eval) != HN_EVAL_SAME_BYTES || node->n_inputs == 0 ||
        node->n_outputs == 0)
        return false;
    hn_id in = node->inputs[0], out = node->outputs[0];
    if (in == HN_NONE || !step->wanted[0] || !same_elems(type_of(l, in), type_of(l, out)))
        return false; /* the evaluation says what is wrong */
    return l->is_steady[in] && !is_graph_output(hn_value_at(l->g, out));
}

static hn_step_mode mode_of_step(const layout *l, const hn_step *step, const hn_node *node) {
    if (!has_exact_types(l, step, node))
        return HN_STEP_DYNAMIC;
    return can_be_view(l, step, node) ? HN_STEP_VIEW : HN_STEP_PLANNED;
}

/* ---- ranges -------------------------------------------------------------------------------------------------------------------- */

static hn_live_range *range_of_value(const layout *l, hn_id id) {
    return id != HN_NONE && l->range_of[id] ? &l->plan->ranges[l->range_of[id] - 1] : NULL;
}

/* The value lies where another one does. */
static void share_range(layout *l, hn_id id, hn_id with) {
    hn_live_range *r = range_of_value(l, with);
    l->range_of[id] = l->range_of[with];
    l->is_steady[id] = true;
    if (r)
        r->last = HN_MAX(r->last, l->last_use[id]);
}

/* An argument of the same form that nobody needs after this step: the result may be written over
 * it. */
static hn_id dying_argument(const layout *l, uint32_t s, const hn_node *node, hn_id out) {
    if (hn_eval_memory(l->list->steps[s].op->eval) != HN_EVAL_IN_PLACE)
        return HN_NONE;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const hn_live_range *r = range_of_value(l, node->inputs[i]);
        if (r && r->last == s && hn_type_equal(type_of(l, node->inputs[i]), type_of(l, out)))
            return node->inputs[i];
    }
    return HN_NONE;
}

/* Outputs of the graph go to memory of the caller; strings own memory of their own; bodies hand
 * over what they made. */
static void place_output(layout *l, uint32_t s, const hn_node *node, uint32_t i) {
    hn_plan *p = l->plan;
    hn_id id = node->outputs[i];
    uint64_t bytes;
    if (!l->list->steps[s].wanted[i])
        return;
    if (is_graph_output(hn_value_at(l->g, id))) {
        l->is_steady[id] = true;
        return;
    }
    const hn_type *t = type_of(l, id);
    if (!t || t->elem == HN_STRING || l->list->steps[s].has_body || !byte_size(t, &bytes))
        return;
    hn_id dying = p->modes[s] == HN_STEP_PLANNED ? dying_argument(l, s, node, id) : HN_NONE;
    if (dying != HN_NONE) {
        share_range(l, id, dying);
        return;
    }
    p->ranges[p->n_ranges++] =
        (hn_live_range){.value = id, .first = s, .last = l->last_use[id], .bytes = bytes};
    l->range_of[id] = p->n_ranges;
    l->is_steady[id] = true;
}

static void find_ranges(layout *l) {
    for (uint32_t s = 0; s < l->list->n_steps; s++) {
        const hn_step *step = &l->list->steps[s];
        const hn_node *node = hn_node_at(l->g, step->node);
        l->plan->modes[s] = (uint8_t)mode_of_step(l, step, node);
        if (l->plan->modes[s] == HN_STEP_VIEW)
            share_range(l, node->outputs[0], node->inputs[0]);
        for (uint32_t i = l->plan->modes[s] == HN_STEP_VIEW ? 1 : 0; i < node->n_outputs; i++)
            place_output(l, s, node, i);
    }
}

/* ---- placing ------------------------------------------------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes < (*y)->bytes ? 1 : -1;
    return (*x)->first < (*y)->first ? -1 : (*x)->first > (*y)->first;
}

static int lower_first(const void *a, const void *b) {
    const hn_live_range *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Lowest gap between the ranges alive at the same time that are placed already. */
static uint64_t lowest_gap(hn_live_range *const *placed, uint32_t n_placed, const hn_live_range *r,
                           hn_live_range **alive) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_placed; i++)
        if (placed[i]->first <= r->last && r->first <= placed[i]->last)
            alive[n++] = placed[i];
    if (n)
        qsort(alive, n, sizeof *alive, lower_first);
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && at + r->bytes > alive[i]->offset; i++)
        at = HN_MAX(at, alive[i]->offset + alive[i]->bytes);
    return at;
}

/* Large ones first: the small ones fill the gaps. */
static hone_status place_ranges(hn_plan *p) {
    hn_live_range **order = HN_NEW_N(p->arena, hn_live_range *, (size_t)p->n_ranges + 1);
    hn_live_range **alive = HN_NEW_N(p->arena, hn_live_range *, (size_t)p->n_ranges + 1);
    if (!order || !alive)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < p->n_ranges; i++)
        order[i] = &p->ranges[i];
    if (p->n_ranges)
        qsort(order, p->n_ranges, sizeof *order, larger_first);
    for (uint32_t i = 0; i < p->n_ranges; i++) {
        order[i]->offset = lowest_gap(order, i, order[i], alive);
        uint64_t end = order[i]->offset + order[i]->bytes;
        if (end > UINT64_MAX / 4)
            return HONE_E_NOMEM;
        p->block_bytes = HN_MAX(p->block_bytes, end);
    }
    return HONE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------ */

static void find_last_uses(layout *l) {
    for (hn_id id = 0; id < l->g->values.n; id++)
        l->last_use[id] = l->list->n_steps;
    for (uint32_t s = 0; s < l->list->n_steps; s++)
        for (uint32_t k = 0; k < l->list->steps[s].n_dead; k++)
            l->last_use[l->list->steps[s].dead[k]] = s;
}

hone_status hn_plan_lay_out(hn_plan *p) {
    const hn_graph *g = p->program->model->graph;
    layout l = {.plan = p, .g = g, .list = &p->program->blocks[0]};
    size_t n_values = (size_t)g->values.n + 1;
    p->modes = HN_NEW_N(p->arena, uint8_t, (size_t)l.list->n_steps + 1);
    p->ranges = HN_NEW_N(p->arena, hn_live_range, (size_t)l.list->n_owned + 1);
    l.last_use = HN_NEW_N(p->arena, uint32_t, n_values);
    l.range_of = HN_NEW_N(p->arena, uint32_t, n_values);
    l.is_steady = HN_NEW_N(p->arena, bool, n_values);
    if (!p->modes || !p->ranges || !l.last_use || !l.range_of || !l.is_steady)
        return HONE_E_NOMEM;
    for (hn_id id = 0; id < g->values.n;
         id++) /* initializers, and inputs of the graph: the caller's */
        l.is_steady[id] = hn_value_at(g, id)->block == 0 && hn_value_at(g, id)->producer == HN_NONE;
    find_last_uses(&l);
    find_ranges(&l);
    HN_TRY(place_ranges(p));
    for (hn_id id = 0; id < g->values.n; id++)
        if (range_of_value(&l, id))
            p->places[id].offset = range_of_value(&l, id)->offset;
    return HONE_OK;
}
