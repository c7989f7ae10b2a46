/* The map of memory: values that live at different times share the same bytes, and so do a value
 * and its views, a result and an argument that dies with it, and a concatenation and its pieces. */
#include "plan/plan_int.h"

#define JOINING_WORTH 4 /* the part of the memory that may be spent to spare all copies */

const hn_type *hn_map_type(const hn_memory_map *l, hn_id id) {
    return id == HN_NONE ? NULL : l->plan->places[id].type;
}

bool hn_map_bytes_of(const hn_type *t, uint64_t *bytes) {
    uint64_t n = 1;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_mul_u64(n, (uint64_t)t->shape.dims[i], &n))
            return false;
    return hn_dtype_bytes(t->elem, n, bytes) && *bytes <= UINT64_MAX / 4;
}

/* ---- groups ----------------------------------------------------------------------------------- */

static void find_neighbours(hn_memory_map *l) {
    const hn_plan *p = l->plan;
    for (uint32_t s = 0; s <= l->list->n_steps; s++)
        l->first_beside[s] = l->last_beside[s] = s;
    for (uint32_t i = 0; i < p->n_groups; i++)
        for (uint32_t s = p->groups[i].begin; s < p->groups[i].end; s++) {
            l->first_beside[s] = p->groups[i].begin;
            l->last_beside[s] = p->groups[i].end - 1;
        }
}

/* Where nobody runs beside the step, it may write over whatever dies with it; in a group only over
 * what was made there, which its own strand alone reads. */
static bool is_own_range(const hn_memory_map *l, uint32_t s, const hn_part_range *r) {
    return l->first_beside[s] == l->last_beside[s] || r->live.first >= l->first_beside[s];
}

/* Strands may be at any of their steps at the same time. */
static void stretch_over_groups(hn_memory_map *l) {
    for (uint32_t i = 0; i < l->placing.n_ranges; i++) {
        hn_live_range *r = &l->placing.ranges[i].live;
        r->first = l->first_beside[r->first];
        r->last = l->last_beside[r->last];
    }
}

/* ---- how steps run --------------------------------------------------------------------------- */

bool hn_map_is_exact(const hn_memory_map *l, const hn_step *step, const hn_node *node) {
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != HN_NONE && !hn_map_type(l, node->inputs[i]))
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (step->wanted[i] && !hn_map_type(l, node->outputs[i]))
            return false;
    return !step->has_body;
}

static bool same_elems(const hn_type *a, const hn_type *b) {
    uint64_t bytes; /* only says whether the counts below can be trusted */
    return hn_map_bytes_of(a, &bytes) && hn_map_bytes_of(b, &bytes) &&
           hn_count(a->shape.rank, a->shape.dims) == hn_count(b->shape.rank, b->shape.dims);
}

/* Graph outputs have memory of their own; all else may look at what is already there. */
static bool can_be_view(const hn_memory_map *l, const hn_step *step, const hn_node *node) {
    if (step->op->impl->memory != HN_MEMORY_ALIAS || node->n_inputs == 0 || node->n_outputs == 0)
        return false;
    hn_id in = node->inputs[0], out = node->outputs[0];
    if (in == HN_NONE || !step->wanted[0] || !same_elems(hn_map_type(l, in), hn_map_type(l, out)))
        return false; /* the evaluation says what is wrong */
    return l->is_steady[in] && !hn_value_is_output(hn_value_at(l->g, out), l->plan->block);
}

static hn_step_mode mode_of_step(const hn_memory_map *l, const hn_step *step, const hn_node *node) {
    if (!hn_map_is_exact(l, step, node))
        return HN_STEP_DYNAMIC;
    return can_be_view(l, step, node) ? HN_STEP_VIEW : HN_STEP_PLANNED;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

hn_part_range *hn_map_range(const hn_memory_map *l, hn_id id) {
    return id != HN_NONE && l->range_of[id] ? &l->placing.ranges[l->range_of[id] - 1] : NULL;
}

/* The value lies where another one does. */
static void share_range(hn_memory_map *l, hn_id id, hn_id with) {
    hn_part_range *r = hn_map_range(l, with);
    l->range_of[id] = l->range_of[with];
    l->is_steady[id] = true;
    if (r) {
        hn_part_range *whole = hn_whole_range(&l->placing, r);
        whole->live.last = HN_MAX(whole->live.last, l->last_use[id]);
        whole->is_rigid |= !hn_rows_may_part(l, id);
    }
}

/* Does the node read bytes of this range under the name of one of its pieces? */
static bool reads_piece_of(const hn_memory_map *l, const hn_node *node,
                           const hn_part_range *whole) {
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        hn_part_range *r = hn_map_range(l, node->inputs[i]);
        if (r && r != whole && hn_whole_range(&l->placing, r) == whole)
            return true;
    }
    return false;
}

/* An argument of the same form that nobody needs after this step: the result may be written over
 * it. */
static hn_id dying_argument(const hn_memory_map *l, uint32_t s, const hn_node *node, hn_id out) {
    if (l->list->steps[s].op->impl->memory != HN_MEMORY_IN_PLACE)
        return HN_NONE;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const hn_part_range *r = hn_map_range(l, node->inputs[i]);
        if (r && !r->within && r->live.last == s && is_own_range(l, s, r) &&
            !reads_piece_of(l, node, r) &&
            hn_type_equal(hn_map_type(l, node->inputs[i]), hn_map_type(l, out)))
            return node->inputs[i];
    }
    return HN_NONE;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static uint64_t row_bytes(const hn_type *t) {
    uint64_t n = t->shape.rank > 0 ? (uint64_t)t->shape.dims[t->shape.rank - 1] : 1;
    return n * (uint64_t)hn_dtype_bits(t->elem) / 8;
}

/* Outputs of the graph go to memory of the caller; strings own memory of their own; bodies hand
 * over what they made. */
static void place_output(hn_memory_map *l, uint32_t s, const hn_node *node, uint32_t i) {
    hn_plan *p = l->plan;
    hn_id id = node->outputs[i];
    uint64_t bytes;
    if (!l->list->steps[s].wanted[i])
        return;
    if (hn_value_is_output(hn_value_at(l->g, id), p->block)) {
        l->is_steady[id] = true;
        return;
    }
    const hn_type *t = hn_map_type(l, id);
    if (!t || t->elem == HN_STRING || l->list->steps[s].has_body || !hn_map_bytes_of(t, &bytes))
        return;
    if (hn_lie_in_argument(l, s, node, i))
        return;
    bool may_share = i == 0 && p->modes[s] == HN_STEP_PLANNED;
    hn_id dying = may_share ? dying_argument(l, s, node, id) : HN_NONE;
    if (dying != HN_NONE) {
        share_range(l, id, dying);
        return;
    }
    hn_part_range *r = &l->placing.ranges[l->placing.n_ranges++];
    *r = (hn_part_range){
        .live = {.value = id, .first = s, .last = l->last_use[id], .bytes = hn_whole_lines(bytes)},
        .row_bytes = row_bytes(t),
        .is_rigid = !hn_rows_may_part(l, id)};
    l->range_of[id] = l->placing.n_ranges;
    l->is_steady[id] = true;
    hn_join_arguments(l, s, node, r);
}

static void find_ranges(hn_memory_map *l) {
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

/* ---- the whole ------------------------------------------------------------------------------- */

static void find_last_uses(hn_memory_map *l) {
    for (hn_id id = 0; id < l->g->values.n; id++)
        l->last_use[id] = l->list->n_steps;
    for (uint32_t s = 0; s < l->list->n_steps; s++)
        for (uint32_t k = 0; k < l->list->steps[s].n_dead; k++)
            l->last_use[l->list->steps[s].dead[k]] = s;
}

static hone_status open_memory_map(hn_memory_map *l) {
    hn_plan *p = l->plan;
    size_t n_values = (size_t)l->g->values.n + 1, n_steps = (size_t)l->list->n_steps + 1;
    l->placing.ranges = HN_NEW_N(p->arena, hn_part_range, (size_t)l->list->n_owned + 1);
    l->last_use = HN_NEW_N(p->arena, uint32_t, n_values);
    l->range_of = HN_NEW_N(p->arena, uint32_t, n_values);
    l->is_steady = HN_NEW_N(p->arena, bool, n_values);
    l->deals_with_strides = HN_NEW_N(p->arena, uint8_t, n_steps);
    l->first_beside = HN_NEW_N(p->arena, uint32_t, n_steps);
    l->last_beside = HN_NEW_N(p->arena, uint32_t, n_steps);
    if (!l->placing.ranges || !l->last_use || !l->range_of || !l->is_steady || !l->first_beside ||
        !l->last_beside || !l->deals_with_strides)
        return HONE_E_NOMEM;
    /* Constants, values of other blocks, and inputs of the main graph, which the caller holds:
     * those of a body may be dropped after their last reader. */
    for (hn_id id = 0; id < l->g->values.n; id++) {
        const hn_value *v = hn_value_at(l->g, id);
        bool is_held = p->block == 0 || p->program->consts[id].kind != HN_OBJECT_NONE;
        l->is_steady[id] = v->block != p->block || (v->producer == HN_NONE && is_held);
    }
    return HONE_OK;
}

static hone_status place_values(hn_memory_map *l) {
    HN_TRY(open_memory_map(l));
    find_last_uses(l);
    find_neighbours(l);
    find_ranges(l);
    stretch_over_groups(l);
    return hn_place_ranges(l->plan->arena, &l->placing);
}

static void keep_place(const hn_memory_map *l, hn_id id, const hn_part_range *r) {
    hn_place *at = &l->plan->places[id];
    uint64_t step = hn_range_row_stride(&l->placing, r) * 8;
    at->offset = r->live.offset;
    at->row_stride = step ? (int64_t)(step / (uint64_t)hn_dtype_bits(at->type->elem)) : 0;
}

/* What a run has to drop by itself: everything else stays where it is from run to run. */
static hone_status list_unplaced(const hn_memory_map *l) {
    hn_plan *p = l->plan;
    const hn_step_list *list = l->list;
    uint32_t *first = HN_NEW_N(p->arena, uint32_t, (size_t)list->n_steps + 1), n = 0;
    hn_id *dropped = HN_NEW_N(p->arena, hn_id, (size_t)list->n_owned + 1);
    hn_id *unplaced = HN_NEW_N(p->arena, hn_id, (size_t)list->n_owned + 1);
    if (!first || !dropped || !unplaced)
        return HONE_E_NOMEM;
    for (uint32_t s = 0; s < list->n_steps; s++) {
        first[s] = n;
        for (uint32_t k = 0; k < list->steps[s].n_dead; k++)
            if (!hn_map_range(l, list->steps[s].dead[k]))
                dropped[n++] = list->steps[s].dead[k];
    }
    first[list->n_steps] = n;
    for (uint32_t i = 0; i < list->n_owned; i++)
        if (!hn_map_range(l, list->owned[i]))
            unplaced[p->n_unplaced++] = list->owned[i];
    p->first_dropped = first;
    p->dropped = dropped;
    p->unplaced = unplaced;
    return HONE_OK;
}

static hone_status keep_places(hn_memory_map *l) {
    hn_plan *p = l->plan;
    p->block_bytes = l->placing.block_bytes;
    p->ranges = HN_NEW_N(p->arena, hn_live_range, (size_t)l->placing.n_ranges + 1);
    HN_TRY_PTR(p->ranges);
    for (uint32_t i = 0; i < l->placing.n_ranges; i++)
        if (!l->placing.ranges[i].within)
            p->ranges[p->n_ranges++] = l->placing.ranges[i].live;
    for (hn_id id = 0; id < l->g->values.n; id++)
        if (hn_map_range(l, id))
            keep_place(l, id, hn_map_range(l, id));
    return list_unplaced(l);
}

/* A joined result is taken up as soon as its first piece is made: where that costs much more memory
 * than it saves, pieces are copied. */
hone_status hn_plan_memory(hn_plan *p) {
    hn_memory_map joined = {
        .plan = p, .g = p->program->model->graph, .list = p->list, .joins = true};
    hn_memory_map apart = joined;
    apart.joins = false;
    p->modes = HN_NEW_N(p->arena, uint8_t, (size_t)joined.list->n_steps + 1);
    HN_TRY_PTR(p->modes);
    HN_TRY(place_values(&joined));
    if (!joined.n_joined)
        return keep_places(&joined);
    HN_TRY(place_values(&apart));
    uint64_t apart_bytes = apart.placing.block_bytes;
    bool pays = joined.placing.block_bytes <= apart_bytes + apart_bytes / JOINING_WORTH;
    return keep_places(pays ? &joined : &apart);
}
