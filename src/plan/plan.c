/* A plan: the types of all values for one set of input shapes, and where they lie. */
#include "plan/plan_int.h"

static bool is_exact_tensor(const hn_type *t) {
    if (!t || t->kind != HN_TYPE_TENSOR || t->elem == HN_UNDEFINED || t->shape.rank < 0)
        return false;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (!hn_dim_is_known(t->shape.dims[i]))
            return false;
    return true;
}

static const hn_array *array_of_object(const hn_object *o) {
    return o && o->kind == HN_OBJECT_TENSOR ? &o->array : NULL;
}

static hone_status keep_input(hn_plan *p, const hn_array *given, hn_array *kept) {
    *kept = *given;
    kept->data = NULL;
    kept->dims = hn_arena_copy(p->arena, given->dims, (size_t)given->rank * sizeof *given->dims);
    return kept->dims ? HONE_OK : HONE_E_NOMEM;
}

/* What is given decides; what is left out is its default. */
static hone_status keep_inputs(hn_plan *p, const hn_object *const *entries, const hn_type **types) {
    uint32_t n = p->list->n_entries;
    hn_array *kept = HN_NEW_N(p->arena, hn_array, (size_t)n + 1);
    HN_TRY_PTR(kept);
    for (uint32_t i = 0; i < n; i++) {
        const hn_array *given = array_of_object(entries[i]);
        const hn_array *a =
            entries[i] ? given : array_of_object(&p->program->consts[p->list->entries[i]]);
        if (given)
            HN_TRY(keep_input(p, given, &kept[i]));
        if (!a)
            continue;
        types[i] = hn_type_tensor(p->arena, a->dtype, a->rank, a->dims);
        HN_TRY_PTR(types[i]);
    }
    p->inputs = kept;
    p->n_inputs = n;
    return HONE_OK;
}

static hone_status build_plan(hn_plan *p, const hn_object *const *entries) {
    const hn_graph *g = p->program->model->graph;
    uint32_t n = p->list->n_entries;
    const hn_type **in_types = HN_NEW_N(p->arena, const hn_type *, (size_t)n + 1);
    hn_inferred known;
    HN_TRY_PTR(in_types);
    HN_TRY(keep_inputs(p, entries, in_types));
    HN_TRY(hn_infer_shapes(g, p->arena, p->block, n, p->list->entries, in_types, NULL, &known));
    p->places = HN_NEW_N(p->arena, hn_place, (size_t)g->values.n + 1);
    HN_TRY_PTR(p->places);
    for (hn_id id = 0; id < g->values.n; id++)
        p->places[id] =
            (hn_place){.type = is_exact_tensor(known.types[id]) ? known.types[id] : NULL,
                       .offset = HN_NO_OFFSET};
    if (p->block == 0)
        HN_TRY(hn_plan_find_groups(p, known.types, p->n_threads));
    HN_TRY(hn_plan_memory(p));
    return hn_plan_lower(p, known.data);
}

static hone_status make_plan(const hn_program *program, hn_id block, int n_threads,
                             const hn_object *const *entries, hn_plan **out) {
    *out = NULL;
    hn_arena *arena = hn_arena_new(hn_arena_allocator(program->model->arena));
    hn_plan *p = arena ? HN_NEW(arena, hn_plan) : NULL;
    hone_status status = HONE_E_NOMEM;
    if (p) {
        p->arena = arena;
        p->program = program;
        p->block = block;
        p->n_threads = n_threads;
        p->list = &program->blocks[block];
        status = build_plan(p, entries);
    }
    if (status == HONE_OK)
        *out = p;
    else
        hn_arena_free(arena);
    return status;
}

hone_status hn_plan_new(const hn_program *program, int n_threads, uint32_t n_inputs,
                        const hn_object *const *inputs, hn_plan **out, hone_error *err) {
    *out = NULL;
    if (n_inputs != program->blocks[0].n_entries)
        return hn_fail(err, HONE_E_INTERNAL, "a plan needs all inputs of the graph");
    return hn_error_complete(err, make_plan(program, 0, n_threads, inputs, out));
}

hone_status hn_plan_new_body(const hn_program *p, hn_id block, int n_threads,
                             hn_object *const *values, hn_plan **out) {
    const hn_step_list *list = &p->blocks[block];
    const hone_allocator *a = hn_arena_allocator(p->model->arena);
    size_t n = (size_t)list->n_entries + 1;
    const hn_object **entries = hn_calloc(a, n, sizeof *entries);
    *out = NULL;
    HN_TRY_PTR(entries);
    for (uint32_t i = 0; i < list->n_entries; i++)
        entries[i] = values[list->entries[i]];
    hone_status status = make_plan(p, block, n_threads, entries, out);
    hn_free(a, entries, n * sizeof *entries);
    return status;
}

void hn_plan_free(hn_plan *p) {
    if (p)
        hn_arena_free(p->arena);
}

static bool is_same_form(const hn_array *a, const hn_array *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static bool fits_input(const hn_plan *p, uint32_t i, const hn_object *o) {
    static const hn_array no_tensor = {0};
    const hn_array *given = array_of_object(o);
    return is_same_form(given ? given : &no_tensor, &p->inputs[i]);
}

bool hn_plan_fits(const hn_plan *p, uint32_t n_inputs, const hn_object *const *inputs) {
    if (n_inputs != p->n_inputs)
        return false;
    for (uint32_t i = 0; i < n_inputs; i++)
        if (!fits_input(p, i, inputs[i]))
            return false;
    return true;
}

bool hn_plan_fits_body(const hn_plan *p, hn_object *const *values) {
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (!fits_input(p, i, values[p->list->entries[i]]))
            return false;
    return true;
}
