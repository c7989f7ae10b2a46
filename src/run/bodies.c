/* Blocks of steps: the main graph, and bodies of If, Loop, Scan and the like. A body that is run
 * twice in a row with the same types gets a plan of its own; others find their shapes as they go.
 */
#include "run/run_int.h"

/* ---- dropping values ------------------------------------------------------------------------- */

static void drop_value(hn_state *s, hn_id id) {
    hn_object *is_const = &s->program->consts[id];
    hn_heap_unref(s->heap, s->values[id]);
    s->values[id] = is_const->kind == HN_OBJECT_NONE ? NULL : is_const;
}

void hn_run_drop_values(hn_state *s, const hn_plan *plan, hn_id block) {
    const hn_step_list *list = &s->program->blocks[block];
    uint32_t n = plan ? plan->n_unplaced : list->n_owned;
    const hn_id *ids = plan ? plan->unplaced : list->owned;
    for (uint32_t i = 0; i < n; i++)
        if (s->values[ids[i]])
            drop_value(s, ids[i]);
}

static void drop_dead(hn_state *s, const hn_plan *plan, const hn_step *step, uint32_t i) {
    if (!plan) {
        for (uint32_t k = 0; k < step->n_dead; k++)
            drop_value(s, step->dead[k]);
        return;
    }
    for (uint32_t k = plan->first_dropped[i]; k < plan->first_dropped[i + 1]; k++)
        drop_value(s, plan->dropped[k]);
}

/* ---- the main graph -------------------------------------------------------------------------- */

/* A view of planned memory needs nothing, unless somebody watches. */
static bool has_nothing_to_do(const hn_state *s, uint32_t i) {
    if (!s->needed_steps[i])
        return true;
    if (s->plan->modes[i] != HN_STEP_VIEW || hn_run_is_watched(s->control))
        return false;
    const hn_node *n = hn_node_at(hn_state_graph(s), s->plan->list->steps[i].node);
    return s->plan->places[n->outputs[0]].offset != HN_NO_OFFSET;
}

hone_status hn_run_main_step(hn_state *s, hn_lane *lane, uint32_t i, hone_error *err) {
    if (has_nothing_to_do(s, i))
        return HONE_OK;
    return hn_run_step(s, lane, s->plan, &s->plan->list->steps[i], i, err);
}

/* Whoever watches sees steps one after the other. */
static bool runs_groups(const hn_state *s) {
    return s->n_lanes > 1 && !hn_run_is_watched(s->control);
}

static hone_status run_main_alone(hn_state *s, uint32_t i, hone_error *err) {
    hone_status status = hn_run_main_step(s, &s->lanes[0], i, err);
    return status == HONE_OK ? status : hn_run_tell_step(s, &s->plan->list->steps[i], status, err);
}

hone_status hn_run_main(hn_state *s, hone_error *err) {
    const hn_step_list *list = s->plan->list;
    const hn_group *group = s->plan->groups;
    const hn_group *last = runs_groups(s) ? group + s->plan->n_groups : group;
    for (uint32_t i = 0, end; i < list->n_steps; i = end) {
        bool is_group = group < last && group->begin == i;
        end = is_group ? group->end : i + 1;
        HN_TRY(is_group ? hn_run_group(s, group++, err) : run_main_alone(s, i, err));
        for (uint32_t k = i; k < end; k++)
            if (s->needed_steps[k])
                drop_dead(s, s->plan, &list->steps[k], k);
    }
    return HONE_OK;
}

/* ---- plans of bodies ------------------------------------------------------------------------- */

enum { N_BODY_PLANS = 2, MOST_BODY_PLANS_MADE = 16 };

/* A body as a state runs it. */
struct hn_body {
    hn_plan *plans[N_BODY_PLANS];
    void *memory[N_BODY_PLANS];
    int current;     /* whose headers the values have; -1: none */
    int oldest;      /* of the plans */
    uint32_t n_made; /* a body whose types change again and again gets no more plans */
    bool has_seen;
    uint64_t seen_hash; /* of the types that the last run without a plan had */
};

static const hone_allocator *allocator_of_state(const hn_state *s) {
    return hn_arena_allocator(s->program->model->arena);
}

static void free_body_plan(hn_state *s, hn_body *b, int k) {
    size_t bytes = b->plans[k] ? (size_t)HN_MAX(b->plans[k]->block_bytes, 1) : 0;
    hn_block_free(allocator_of_state(s), b->memory[k], bytes);
    hn_budget_give(&s->budget, bytes);
    hn_plan_free(b->plans[k]);
    b->plans[k] = NULL;
    b->memory[k] = NULL;
}

void hn_bodies_free(hn_state *s) {
    for (hn_id id = 0; s->bodies && id < hn_state_graph(s)->blocks.n; id++)
        for (int k = 0; k < N_BODY_PLANS; k++)
            free_body_plan(s, &s->bodies[id], k);
    hn_free(allocator_of_state(s), s->bodies,
            (size_t)hn_state_graph(s)->blocks.n * sizeof *s->bodies);
}

bool hn_bodies_open(hn_state *s) {
    uint32_t n = hn_state_graph(s)->blocks.n;
    s->bodies = hn_calloc(allocator_of_state(s), n, sizeof *s->bodies);
    for (uint32_t i = 0; s->bodies && i < n; i++)
        s->bodies[i].current = -1;
    return s->bodies != NULL;
}

static uint64_t hash_types(const hn_state *s, const hn_step_list *list) {
    uint64_t h = 1469598103934665603u;
    for (uint32_t i = 0; i < list->n_entries; i++) {
        const hn_object *o = s->values[list->entries[i]];
        bool is_tensor = o && o->kind == HN_OBJECT_TENSOR;
        h = (h ^ (is_tensor ? (uint64_t)o->array.dtype + 1 : 0)) * 1099511628211u;
        for (int32_t d = 0; is_tensor && d < o->array.rank; d++)
            h = (h ^ (uint64_t)o->array.dims[d]) * 1099511628211u;
    }
    return h;
}

/* Headers of all values of the block: those that the plan places are there from now on. */
static void show_placed(hn_state *s, hn_body *b, int k) {
    const hn_plan *p = b->plans[k];
    for (uint32_t i = 0; i < p->list->n_owned; i++) {
        hn_id id = p->list->owned[i];
        const hn_place *at = &p->places[id];
        if (at->offset != HN_NO_OFFSET)
            hn_run_show(s, id, at, (uint8_t *)b->memory[k] + at->offset);
        else if (b->current >= 0 && b->plans[b->current] &&
                 b->plans[b->current]->places[id].offset != HN_NO_OFFSET)
            s->values[id] = NULL;
    }
    b->current = k;
}

/* Values that no plan places start as nothing. */
static void hide_placed(hn_state *s, hn_body *b) {
    const hn_plan *p = b->current >= 0 ? b->plans[b->current] : NULL;
    for (uint32_t i = 0; p && i < p->list->n_owned; i++)
        if (p->places[p->list->owned[i]].offset != HN_NO_OFFSET)
            s->values[p->list->owned[i]] = NULL;
    b->current = -1;
}

static hone_status make_body_plan(hn_state *s, hn_body *b, hn_id block) {
    int k = b->oldest;
    hide_placed(s, b);
    free_body_plan(s, b, k);
    HN_TRY(hn_plan_new_body(s->program, block, s->n_lanes, s->values, &b->plans[k]));
    b->n_made++;
    b->oldest = (k + 1) % N_BODY_PLANS;
    size_t bytes = (size_t)HN_MAX(b->plans[k]->block_bytes, 1);
    bool is_allowed = hn_budget_take(&s->budget, bytes);
    b->memory[k] = is_allowed ? hn_block_alloc(allocator_of_state(s), bytes) : NULL;
    if (!b->memory[k]) {
        if (is_allowed) {
            hn_budget_give(&s->budget, bytes);
            hn_budget_note_failure(&s->budget, bytes);
        }
        hn_plan_free(b->plans[k]);
        b->plans[k] = NULL;
        return HONE_E_NOMEM;
    }
    show_placed(s, b, k);
    return HONE_OK;
}

/* The plan that fits what the body is given now; *plan is NULL: there is none, and there should be
 * none yet. Where memory is limited, bodies take no more of it than they need at a time. */
static hone_status find_body_plan(hn_state *s, hn_id block, const hn_plan **plan) {
    hn_body *b = &s->bodies[block];
    *plan = NULL;
    for (int k = 0; k < N_BODY_PLANS; k++) {
        if (!b->plans[k] || !hn_plan_fits_body(b->plans[k], s->values))
            continue;
        if (b->current != k)
            show_placed(s, b, k);
        *plan = b->plans[k];
        return HONE_OK;
    }
    uint64_t hash = hash_types(s, &s->program->blocks[block]);
    bool is_steady = b->has_seen && b->seen_hash == hash;
    b->has_seen = true;
    b->seen_hash = hash;
    if (is_steady && b->n_made < MOST_BODY_PLANS_MADE && !s->limit_bytes) {
        HN_TRY(make_body_plan(s, b, block));
        *plan = b->plans[b->current];
    } else {
        hide_placed(s, b);
    }
    return HONE_OK;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static hone_status run_body_steps(hn_state *s, const hn_plan *plan, hn_id block, hone_error *err) {
    const hn_step_list *list = &s->program->blocks[block];
    for (uint32_t i = 0; i < list->n_steps; i++) {
        const hn_step *step = &list->steps[i];
        hone_status status = hn_run_step(s, &s->lanes[0], plan, step, i, err);
        if (status != HONE_OK)
            return hn_run_tell_step(s, step, status, err);
        drop_dead(s, plan, step, i);
    }
    return HONE_OK;
}

static hone_status give_body_inputs(hn_state *s, const hn_block *b, uint32_t n_in,
                                    hn_object *const *in) {
    for (uint32_t i = 0; i < b->inputs.n && i < n_in; i++) {
        if (!in[i])
            continue;
        s->values[b->inputs.at[i]] = hn_heap_ref(s->heap, in[i]);
        HN_TRY_PTR(s->values[b->inputs.at[i]]);
    }
    return HONE_OK;
}

static hone_status take_body_outputs(hn_state *s, const hn_block *b, uint32_t n_out,
                                     hn_object **out, hone_error *err) {
    for (uint32_t i = 0; i < n_out && i < b->outputs.n; i++) {
        hn_object *o = b->outputs.at[i] == HN_NONE ? NULL : s->values[b->outputs.at[i]];
        if (!o)
            return hn_fail(err, HONE_E_INTERNAL, "the subgraph did not compute its output %u", i);
        out[i] = hn_heap_ref(s->heap, o);
        HN_TRY_PTR(out[i]);
    }
    return HONE_OK;
}

hone_status hn_run_subgraph(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                            uint32_t n_out, hn_object **out, hone_error *err) {
    hn_state *s = run;
    const hn_block *b = hn_block_at(hn_state_graph(s), block);
    const hn_plan *plan = NULL;
    s->n_body_runs++; /* each draws its own random numbers */
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = NULL;
    hone_status status = give_body_inputs(s, b, n_in, in);
    if (status == HONE_OK)
        status = find_body_plan(s, block, &plan);
    if (status == HONE_OK)
        status = run_body_steps(s, plan, block, err);
    if (status == HONE_OK)
        status = take_body_outputs(s, b, n_out, out, err);
    if (!plan)
        hide_placed(s, &s->bodies[block]);
    hn_run_drop_values(s, plan, block);
    for (uint32_t i = 0; i < n_out && status != HONE_OK; i++) {
        hn_heap_unref(s->heap, out[i]);
        out[i] = NULL;
    }
    return status;
}

/* Entries of a block are its inputs and, behind them, what it captures, whose data are there. */
hone_status hn_type_subgraph(void *run, hn_id block, uint32_t n_in, const hn_type *const *in,
                             uint32_t n_out, const hn_type **out) {
    const hn_state *s = run;
    hn_arena *work = s->lanes[0].host.scratch;
    const hn_block *b = hn_block_at(hn_state_graph(s), block);
    const hn_step_list *list = &s->program->blocks[block];
    const hn_type **types = HN_NEW_N(work, const hn_type *, (size_t)list->n_entries + 1);
    const hn_tensor **data = HN_NEW_N(work, const hn_tensor *, (size_t)list->n_entries + 1);
    if (!types || !data)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->inputs.n && i < n_in; i++)
        types[i] = in[i];
    for (uint32_t i = b->inputs.n; i < list->n_entries; i++) {
        const hn_object *o = s->values[list->entries[i]];
        if (o && o->kind == HN_OBJECT_TENSOR)
            HN_TRY(hn_describe_array(work, &o->array, &types[i], &data[i]));
    }
    hn_inferred known;
    HN_TRY(hn_infer_shapes(hn_state_graph(s), work, block, list->n_entries, list->entries, types,
                           data, &known));
    for (uint32_t i = 0; i < n_out && i < b->outputs.n; i++)
        out[i] = b->outputs.at[i] == HN_NONE ? NULL : known.types[b->outputs.at[i]];
    return HONE_OK;
}
