/* Values that lie in each other: what a Concat puts together is made in its result, and what a
 * Split takes apart is read in its argument, so that neither has anything to do.
 *
 * With nothing but sizes of 1 before the axis such a part lies in one piece. Along the last axis it
 * is some columns of the whole: its rows lie as far apart as those of the whole, which its maker
 * and all its readers must know how to deal with (hn_lowering.row_strides). Wholes may be parts of
 * others in turn: the growing concatenations of a dense block are the first columns of the last
 * one. */
#include "plan/plan_int.h"

/* ---- what operators can do ------------------------------------------------------------------- */

static const hn_step *step_of(const hn_memory_map *l, hn_id node) {
    return &l->list->steps[l->plan->program->position[node]];
}

static bool look_at_operands(const hn_memory_map *l, const hn_step *step, const hn_node *node) {
    bool fits = hn_map_is_exact(l, step, node);
    hn_count_decision(HN_DECISION_JOIN);
    for (uint32_t i = 0; fits && hn_step_row_strides(step).want_one_type && i < node->n_inputs; i++)
        fits = node->inputs[i] != HN_NONE && node->n_outputs > 0 && step->wanted[0] &&
               hn_type_equal(hn_map_type(l, node->inputs[i]), hn_map_type(l, node->outputs[0]));
    return fits;
}

/* By the shapes that the plan knows. Each argument of a node asks, so the answer is kept. */
static bool deals_with_steps(const hn_memory_map *l, const hn_step *step, const hn_node *node) {
    uint8_t *known = &l->deals_with_strides[step - l->list->steps];
    if (!*known)
        *known = look_at_operands(l, step, node) ? 2 : 1;
    return *known == 2;
}

static bool takes_parted_rows(const hn_memory_map *l, const hn_use *use) {
    if (use->node == HN_NONE || hn_node_at(l->g, use->node)->block != 0)
        return false;
    const hn_step *step = step_of(l, use->node);
    return hn_row_strides_arg(hn_step_row_strides(step), use->slot) &&
           deals_with_steps(l, step, hn_node_at(l->g, use->node));
}

static bool makes_parted_rows(const hn_memory_map *l, hn_id node, hn_id value) {
    if (node == HN_NONE || hn_node_at(l->g, node)->block != 0)
        return false;
    const hn_step *step = step_of(l, node);
    bool is_first = hn_node_at(l->g, node)->outputs[0] == value;
    return hn_step_row_strides(step).rets &&
           (is_first || step->op->impl->memory == HN_MEMORY_SPLIT) &&
           deals_with_steps(l, step, hn_node_at(l->g, node));
}

/* Rows of so few bytes are copied in less time than a loop takes to begin at each. */
static bool has_short_rows(const hn_type *t) {
    enum { SHORT_ROW_BYTES = 64 };
    return t->shape.dims[t->shape.rank - 1] * hn_dtype_bits(t->elem) / 8 < SHORT_ROW_BYTES;
}

bool hn_rows_may_part(const hn_memory_map *l, hn_id id) {
    const hn_value *v = hn_value_at(l->g, id);
    const hn_type *t = hn_map_type(l, id);
    uint64_t bytes;
    if (!t || t->shape.rank < 1 || hn_dtype_bits(t->elem) % 8 != 0 || !hn_map_bytes_of(t, &bytes) ||
        bytes == 0 || has_short_rows(t) || !makes_parted_rows(l, v->producer, id))
        return false;
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (!takes_parted_rows(l, &v->uses.at[i]))
            return false;
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

typedef enum part_form {
    PART_NONE,   /* copied */
    PART_PIECE,  /* nothing but sizes of 1 stands before the axis */
    PART_COLUMNS /* along the last axis */
} part_form;

static part_form form_of_parts(const hn_memory_map *l, const hn_node *node, const hn_type *whole,
                               int64_t default_axis) {
    const hn_attr *attr = hn_node_attr(node, "axis");
    int32_t rank = whole->shape.rank;
    int64_t axis = attr && attr->kind == HN_ATTR_INT ? attr->v.i : default_axis;
    if (axis < -rank || axis >= rank || hn_dtype_bits(whole->elem) % 8 != 0 ||
        whole->elem == HN_STRING || !l->joins)
        return PART_NONE;
    axis += axis < 0 ? rank : 0;
    bool is_piece = true;
    for (int64_t i = 0; i < axis; i++)
        is_piece &= whole->shape.dims[i] == 1;
    return is_piece ? PART_PIECE : axis == rank - 1 ? PART_COLUMNS : PART_NONE;
}

/* Bytes that a part takes along the axis: all, or of a row. */
static bool extent_of_part(part_form form, const hn_type *t, uint64_t *bytes) {
    uint64_t all;
    if (!t || !hn_map_bytes_of(t, &all))
        return false;
    *bytes = form == PART_PIECE ? all
                                : (uint64_t)t->shape.dims[t->shape.rank - 1] *
                                      (uint64_t)hn_dtype_bits(t->elem) / 8;
    return true;
}

static uint32_t index_of(const hn_memory_map *l, const hn_part_range *r) {
    return (uint32_t)(r - l->placing.ranges);
}

static void make_part(hn_memory_map *l, hn_part_range *r, hn_part_range *whole, uint64_t shift,
                      uint64_t whole_row) {
    r->within = index_of(l, whole) + 1;
    r->shift = shift;
    r->whole_row = whole_row;
    hn_part_range *all = hn_whole_range(&l->placing, whole);
    all->live.first = HN_MIN(all->live.first, r->live.first);
    all->live.last = HN_MAX(all->live.last, r->live.last);
    all->is_rigid |= r->is_rigid || whole_row == 0;
    l->n_joined++;
}

uint64_t hn_range_row_stride(const hn_placing *p, const hn_part_range *r) {
    uint64_t step = 0;
    for (; r->within && r->whole_row; r = &p->ranges[r->within - 1])
        step = r->whole_row;
    return step;
}

/* ---- concatenations -------------------------------------------------------------------------- */

/* Bytes from the beginning of the range that r is a part of. */
static uint64_t place_in_whole(const hn_placing *p, const hn_part_range *r) {
    uint64_t at = 0;
    for (; r->within; r = &p->ranges[r->within - 1])
        at += r->shift;
    return at;
}

/* All values of a range take as many bytes, so it does not matter which of them is the argument. */
static void join_argument_pieces(hn_memory_map *l, const hn_node *node, hn_part_range *whole) {
    uint64_t at = 0, bytes;
    for (uint32_t i = 0; i < node->n_inputs; i++, at += bytes) {
        hn_part_range *r = hn_map_range(l, node->inputs[i]);
        if (!extent_of_part(PART_PIECE, hn_map_type(l, node->inputs[i]), &bytes))
            return;
        if (r && !r->within)
            make_part(l, r, whole, at, 0);
    }
}

/* Do the arguments from `first` on make up the columns of a range, from the first to the last? Then
 * it can be columns of the result itself. */
static bool make_up_columns(const hn_memory_map *l, const hn_node *node, uint32_t first,
                            const hn_part_range *range) {
    uint64_t at = 0, bytes;
    for (uint32_t i = first; i < node->n_inputs && at < range->row_bytes; i++, at += bytes) {
        hn_part_range *r = hn_map_range(l, node->inputs[i]);
        if (!r || hn_whole_range(&l->placing, r) != range || place_in_whole(&l->placing, r) != at ||
            !extent_of_part(PART_COLUMNS, hn_map_type(l, node->inputs[i]), &bytes))
            return false;
    }
    return at == range->row_bytes;
}

static void join_argument_columns(hn_memory_map *l, const hn_node *node, hn_part_range *whole) {
    uint64_t at = 0, bytes;
    for (uint32_t i = 0; i < node->n_inputs; i++, at += bytes) {
        hn_part_range *r = hn_map_range(l, node->inputs[i]);
        if (!extent_of_part(PART_COLUMNS, hn_map_type(l, node->inputs[i]), &bytes))
            return;
        hn_part_range *all = r ? hn_whole_range(&l->placing, r) : NULL;
        if (all && all != whole && !all->is_rigid && make_up_columns(l, node, i, all))
            make_part(l, all, whole, at, whole->row_bytes);
    }
}

void hn_join_arguments(hn_memory_map *l, uint32_t s, const hn_node *node, hn_part_range *whole) {
    if (l->plan->modes[s] != HN_STEP_PLANNED ||
        l->list->steps[s].op->impl->memory != HN_MEMORY_CONCAT)
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] == HN_NONE)
            return;
    part_form form = form_of_parts(l, node, hn_map_type(l, node->outputs[0]), 1);
    if (form == PART_PIECE)
        join_argument_pieces(l, node, whole);
    else if (form == PART_COLUMNS)
        join_argument_columns(l, node, whole);
}

/* ---- Split ----------------------------------------------------------------------------------- */

/* Where output i begins in the argument. */
static bool find_output(hn_memory_map *l, part_form form, const hn_node *node, uint32_t i,
                        uint64_t *at) {
    uint64_t bytes;
    if (l->split != node || l->split_next > i) {
        l->split = node;
        l->split_next = 0;
        l->split_at = 0;
    }
    for (; l->split_next < i; l->split_next++, l->split_at += bytes)
        if (!extent_of_part(form, hn_map_type(l, node->outputs[l->split_next]), &bytes))
            return false;
    *at = l->split_at;
    return true;
}

/* A piece of rows that lie apart themselves would not be one. */
bool hn_lie_in_argument(hn_memory_map *l, uint32_t s, const hn_node *node, uint32_t i) {
    hn_id id = node->outputs[i];
    uint64_t at, bytes;
    if (l->plan->modes[s] != HN_STEP_PLANNED ||
        l->list->steps[s].op->impl->memory != HN_MEMORY_SPLIT)
        return false;
    hn_part_range *whole = hn_map_range(l, node->inputs[0]);
    const hn_type *t = hn_map_type(l, node->inputs[0]);
    part_form form = form_of_parts(l, node, t, 0);
    if (!whole || form == PART_NONE || !find_output(l, form, node, i, &at) ||
        !extent_of_part(form, hn_map_type(l, id), &bytes) ||
        (form == PART_PIECE ? hn_range_row_stride(&l->placing, whole) != 0
                            : !hn_rows_may_part(l, id)))
        return false;
    hn_part_range *r = &l->placing.ranges[l->placing.n_ranges++];
    *r = (hn_part_range){.live = {.value = id, .first = s, .last = l->last_use[id]},
                         .row_bytes = bytes,
                         .is_rigid = form == PART_PIECE};
    uint64_t row;
    extent_of_part(PART_COLUMNS, t, &row);
    make_part(l, r, whole, at, form == PART_COLUMNS ? row : 0);
    l->range_of[id] = l->placing.n_ranges;
    l->is_steady[id] = true;
    return true;
}
