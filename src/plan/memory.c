/* The map of memory for one set of input shapes: values that live at different times share the same bytes. */
#include "plan/plan.h"

#include <stdlib.h>

#define ALIGNMENT 64u

typedef struct live_range {
    hn_id value;
    uint64_t bytes, offset;
    uint32_t first, last; /* steps of the main graph, inclusive */
} live_range;

static bool known_shape(const hn_type *t) {
    if (!t || t->kind != HN_TYPE_TENSOR || t->elem == HN_UNDEFINED || t->shape.rank < 0)
        return false;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_dim_is_known(t->shape.dims[i]))
            return false;
    return true;
}

/* Outputs go to memory of the caller; strings own memory of their own. */
static bool lies_in_block(const hn_graph *g, hn_id id, const hn_type *t) {
    const hn_value *v = hn_value_at(g, id);
    if (v->block != 0 || v->producer == HN_NONE || !known_shape(t) || t->elem == HN_STRING)
        return false;
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE && v->uses.at[i].slot == 0)
            return false;
    return v->uses.n > 0;
}

static bool byte_size(const hn_type *t, uint64_t *bytes) {
    uint64_t n = 1;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_mul_u64(n, (uint64_t)t->shape.dims[i], &n))
            return false;
    return hn_dtype_bytes(t->elem, n, bytes) && *bytes <= UINT64_MAX / 2;
}

static int larger_first(const void *a, const void *b) {
    const live_range *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int lower_first(const void *a, const void *b) {
    const live_range *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Lowest gap between the ranges alive at the same time that are placed already. */
static uint64_t lowest_gap(live_range *ranges, uint32_t n_placed, const live_range *r, live_range **alive) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_placed; i++)
        if (ranges[i].first <= r->last && r->first <= ranges[i].last)
            alive[n++] = &ranges[i];
    if (n)
        qsort(alive, n, sizeof *alive, lower_first);
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && at + r->bytes > alive[i]->offset; i++)
        at = HN_MAX(at, alive[i]->offset + alive[i]->bytes);
    return at;
}

/* Large values first: the small ones fill the gaps. */
static hone_status place_ranges(hn_plan *p, live_range *ranges, uint32_t n) {
    live_range **alive = HN_NEW_N(p->arena, live_range *, (size_t)n + 1);
    HN_TRY_PTR(alive);
    if (n)
        qsort(ranges, n, sizeof *ranges, larger_first);
    for (uint32_t i = 0; i < n; i++) {
        ranges[i].offset = lowest_gap(ranges, i, &ranges[i], alive);
        p->places[ranges[i].value].offset = ranges[i].offset;
        p->block_bytes = HN_MAX(p->block_bytes, ranges[i].offset + ranges[i].bytes);
    }
    return HONE_OK;
}

static hone_status lay_out_values(hn_plan *p) {
    const hn_graph *g = p->program->model->graph;
    const hn_step_list *list = &p->program->blocks[0];
    live_range *ranges = HN_NEW_N(p->arena, live_range, (size_t)list->n_owned + 1);
    uint32_t *at = HN_NEW_N(p->arena, uint32_t, (size_t)g->values.n + 1); /* by value: its range + 1 */
    if (!ranges || !at)
        return HONE_E_NOMEM;
    uint32_t n = 0;
    for (uint32_t s = 0; s < list->n_steps; s++) {
        const hn_node *node = hn_node_at(g, list->steps[s].node);
        for (uint32_t k = 0; k < node->n_outputs; k++) {
            hn_id id = node->outputs[k];
            uint64_t bytes;
            if (id == HN_NONE || list->steps[s].has_body || !lies_in_block(g, id, p->places[id].type) ||
                !byte_size(p->places[id].type, &bytes))
                continue;
            ranges[n] = (live_range){.value = id, .first = s, .last = list->n_steps,
                                     .bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
            at[id] = ++n;
        }
        for (uint32_t k = 0; k < list->steps[s].n_dead; k++)
            if (at[list->steps[s].dead[k]])
                ranges[at[list->steps[s].dead[k]] - 1].last = s;
    }
    return place_ranges(p, ranges, n);
}

static hone_status keep_inputs(hn_plan *p, uint32_t n, const hn_object *const *inputs, const hn_type **types) {
    hn_array *kept = HN_NEW_N(p->arena, hn_array, (size_t)n + 1);
    HN_TRY_PTR(kept);
    for (uint32_t i = 0; i < n; i++) {
        if (!inputs[i] || inputs[i]->kind != HN_OBJECT_TENSOR)
            continue;
        kept[i] = inputs[i]->array;
        kept[i].data = NULL;
        kept[i].dims = hn_arena_copy(p->arena, inputs[i]->array.dims, (size_t)kept[i].rank * sizeof(int64_t) + 1);
        types[i] = hn_type_tensor(p->arena, kept[i].dtype, kept[i].rank, kept[i].dims);
        if (!kept[i].dims || !types[i])
            return HONE_E_NOMEM;
    }
    p->inputs = kept;
    p->n_inputs = n;
    return HONE_OK;
}

static hone_status build_plan(hn_plan *p, uint32_t n, const hn_object *const *inputs) {
    const hn_graph *g = p->program->model->graph;
    const hn_type **in_types = HN_NEW_N(p->arena, const hn_type *, (size_t)n + 1);
    const hn_type **types;
    HN_TRY_PTR(in_types);
    HN_TRY(keep_inputs(p, n, inputs, in_types));
    HN_TRY(hn_infer_shapes(g, p->arena, n, in_types, &types));
    p->places = HN_NEW_N(p->arena, hn_place, (size_t)g->values.n + 1);
    HN_TRY_PTR(p->places);
    for (hn_id id = 0; id < g->values.n; id++)
        p->places[id] = (hn_place){.type = known_shape(types[id]) ? types[id] : NULL, .offset = HN_NO_OFFSET};
    return lay_out_values(p);
}

hone_status hn_plan_new(const hn_program *program, uint32_t n_inputs, const hn_object *const *inputs, hn_plan **out,
                        hone_error *err) {
    *out = NULL;
    hn_arena *arena = hn_arena_new(hn_arena_allocator(program->model->arena));
    hn_plan *p = arena ? HN_NEW(arena, hn_plan) : NULL;
    hone_status status = HONE_E_NOMEM;
    if (p) {
        p->arena = arena;
        p->program = program;
        status = build_plan(p, n_inputs, inputs);
    }
    if (status == HONE_OK)
        *out = p;
    else
        hn_arena_free(arena);
    return hn_error_complete(err, status);
}

void hn_plan_free(hn_plan *p) {
    if (p)
        hn_arena_free(p->arena);
}

bool hn_plan_fits(const hn_plan *p, uint32_t n_inputs, const hn_object *const *inputs) {
    if (n_inputs != p->n_inputs)
        return false;
    for (uint32_t i = 0; i < n_inputs; i++) {
        const hn_array *kept = &p->inputs[i], *given = inputs[i] && inputs[i]->kind == HN_OBJECT_TENSOR ? &inputs[i]->array : NULL;
        if (!given || !kept->dtype) {
            if (given || kept->dtype)
                return false;
            continue;
        }
        if (given->dtype != kept->dtype || given->rank != kept->rank ||
            (kept->rank && memcmp(given->dims, kept->dims, (size_t)kept->rank * sizeof(int64_t)) != 0))
            return false;
    }
    return true;
}
