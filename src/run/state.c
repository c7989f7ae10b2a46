/* States: the memory of one run. It is kept for the next one, so that a run which repeats itself
 * asks the system for nothing. */
#include "run/run_int.h"

#define PATIENCE 32 /* runs that leave half of the block unused before it is made smaller */

static const hone_allocator *allocator_of(const hn_state *s) {
    return hn_arena_allocator(s->program->model->arena);
}
static size_t n_slots(const hn_state *s) {
    return (size_t)hn_state_graph(s)->values.n + 1;
}
static size_t n_step_slots(const hn_state *s) {
    return (size_t)s->program->blocks[0].n_steps + 1;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool open_call(hn_state *s) {
    const hone_allocator *a = allocator_of(s);
    const hn_block *b = hn_block_at(hn_state_graph(s), 0);
    hn_call *c = &s->call;
    c->n_inputs = b->inputs.n;
    c->n_outputs = b->outputs.n;
    c->inputs = hn_calloc(a, (size_t)c->n_inputs + 1, sizeof *c->inputs);
    c->wanted = hn_calloc(a, (size_t)c->n_outputs + 1, sizeof *c->wanted);
    s->needed_for = hn_calloc(a, (size_t)c->n_outputs + 1, sizeof *s->needed_for);
    c->is_bound = hn_calloc(a, (size_t)c->n_outputs + 1, sizeof *c->is_bound);
    c->heaps = hn_calloc(a, (size_t)c->n_outputs + 1, sizeof *c->heaps);
    c->outputs = hn_calloc(a, (size_t)c->n_outputs + 1, sizeof *c->outputs);
    return c->inputs && c->wanted && s->needed_for && c->is_bound && c->heaps && c->outputs;
}

static void close_call(hn_state *s) {
    const hone_allocator *a = allocator_of(s);
    const hn_call *c = &s->call;
    hn_free(a, c->inputs, ((size_t)c->n_inputs + 1) * sizeof *c->inputs);
    hn_free(a, c->wanted, ((size_t)c->n_outputs + 1) * sizeof *c->wanted);
    hn_free(a, s->needed_for, ((size_t)c->n_outputs + 1) * sizeof *s->needed_for);
    hn_free(a, c->is_bound, ((size_t)c->n_outputs + 1) * sizeof *c->is_bound);
    hn_free(a, c->heaps, ((size_t)c->n_outputs + 1) * sizeof *c->heaps);
    hn_free(a, c->outputs, ((size_t)c->n_outputs + 1) * sizeof *c->outputs);
}

hn_call *hn_state_call(hn_state *s) {
    return &s->call;
}

void hn_state_clear_call(hn_state *s) {
    const hn_call *c = &s->call;
    memset(c->inputs, 0, c->n_inputs * sizeof *c->inputs);
    memset(c->wanted, 0, c->n_outputs * sizeof *c->wanted);
    memset(c->is_bound, 0, c->n_outputs * sizeof *c->is_bound);
    memset(c->heaps, 0, c->n_outputs * sizeof *c->heaps);
    memset(c->outputs, 0, c->n_outputs * sizeof *c->outputs);
}

/* Which steps the call needs; asked for the same outputs again, they are known. */
static void find_needed(hn_state *s) {
    size_t bytes = s->call.n_outputs * sizeof *s->call.wanted;
    if (s->has_needed && memcmp(s->needed_for, s->call.wanted, bytes) == 0)
        return;
    memcpy(s->needed_for, s->call.wanted, bytes);
    hn_program_mark_needed(s->program, s->call.wanted, s->needed_steps);
    s->has_needed = true;
}

/* ---- states ---------------------------------------------------------------------------------- */

static hn_pool *share_pool(hn_state *s, const hn_pool *pool) {
    hn_pool_run run = {
        .flush_denormals = !s->keeps_denormals, .is_stopped = hn_run_is_stopped, .ctx = s};
    return hn_pool_share(pool, &run);
}

static bool open_lanes(hn_state *s, const hn_state_options *o) {
    const hone_allocator *a = allocator_of(s);
    bool ok = true;
    s->n_lanes = hn_pool_threads(o->pool);
    s->lanes = hn_calloc(a, (size_t)s->n_lanes, sizeof *s->lanes);
    for (int i = 0; s->lanes && i < s->n_lanes; i++) {
        s->lanes[i].host = (hn_eval_host){.heap = s->heap,
                                          .scratch = hn_arena_new(a),
                                          .pool = s->pool,
                                          .run = s,
                                          .run_body = hn_run_subgraph,
                                          .type_body = hn_type_subgraph,
                                          .is_stopped = hn_run_is_stopped,
                                          .image_hook = o->image_hook};
        ok &= s->lanes[i].host.scratch != NULL;
        if (ok)
            hn_arena_set_budget(s->lanes[i].host.scratch, &s->budget);
    }
    return s->lanes && ok;
}

static void close_lanes(hn_state *s) {
    for (int i = 0; s->lanes && i < s->n_lanes; i++)
        hn_arena_free(s->lanes[i].host.scratch);
    hn_free(allocator_of(s), s->lanes, (size_t)s->n_lanes * sizeof *s->lanes);
}

hn_state *hn_state_new(const hn_program *p, const hn_state_options *o) {
    const hone_allocator *alloc = hn_arena_allocator(p->model->arena);
    hn_state *s = hn_calloc(alloc, 1, sizeof *s);
    if (!s)
        return NULL;
    s->program = p;
    s->limit_bytes = o->memory_limit;
    s->keeps_denormals = o->keep_denormals;
    s->values = hn_calloc(alloc, n_slots(s), sizeof *s->values);
    s->planned = hn_calloc(alloc, n_slots(s), sizeof *s->planned);
    s->needed_steps = hn_calloc(alloc, n_step_slots(s), sizeof *s->needed_steps);
    s->memos = hn_calloc(alloc, (size_t)hn_state_graph(s)->nodes.n + 1, sizeof *s->memos);
    s->heap = hn_heap_new(alloc);
    if (s->heap)
        hn_heap_set_budget(s->heap, &s->budget);
    bool has_bodies = hn_bodies_open(s);
    s->pool = share_pool(s, o->pool);
    bool has_lanes = open_lanes(s, o), has_call = open_call(s);
    if (!s->values || !s->planned || !s->needed_steps || !s->heap || !s->pool || !has_lanes ||
        !has_call || !s->memos || !has_bodies) {
        hn_state_free(s);
        return NULL;
    }
    for (hn_id id = 0; id < hn_state_graph(s)->values.n; id++)
        if (p->consts[id].kind != HN_OBJECT_NONE)
            s->values[id] = &p->consts[id];
    return s;
}

void hn_state_free(hn_state *s) {
    if (!s)
        return;
    const hone_allocator *alloc = allocator_of(s);
    hn_block_free(alloc, s->block, (size_t)s->block_bytes);
    hn_bodies_free(s);
    hn_memos_free(s);
    hn_free(alloc, s->memos, ((size_t)hn_state_graph(s)->nodes.n + 1) * sizeof *s->memos);
    hn_heap_free(s->heap);
    close_lanes(s);
    hn_pool_free(s->pool);
    hn_free(alloc, s->values, n_slots(s) * sizeof *s->values);
    hn_free(alloc, s->planned, n_slots(s) * sizeof *s->planned);
    hn_free(alloc, s->needed_steps, n_step_slots(s) * sizeof *s->needed_steps);
    close_call(s);
    hn_free(alloc, s, sizeof *s);
}

/* ---- memory of a plan ------------------------------------------------------------------------ */

/* Steps take scratch in one piece that stays. An arena remembers a failure for ever: the next run
 * gets a new one. */
static hone_status reserve_scratch(hn_state *s, hn_lane *lane) {
    hn_arena *held = lane->host.scratch;
    if (hn_arena_bytes(held) >= lane->scratch_need && !hn_arena_has_failed(held))
        return HONE_OK;
    hn_arena *larger = hn_arena_new(allocator_of(s));
    HN_TRY_PTR(larger);
    hn_arena_free(held);
    hn_arena_set_budget(larger, &s->budget);
    lane->host.scratch = larger;
    if (hn_arena_reserve(larger, lane->scratch_need)) /* else the step that needs it says so */
        lane->scratch_need = hn_arena_bytes(larger);
    return HONE_OK;
}

static void drop_scratch(hn_lane *lane) {
    hn_arena_restore(lane->host.scratch, (hn_arena_mark){0});
    lane->scratch_need = 0;
}

static void give_memory_back(hn_state *s) {
    hn_block_free(allocator_of(s), s->block, (size_t)s->block_bytes);
    s->block = NULL;
    s->block_bytes = 0;
    s->planned_for = 0;
    s->n_small_runs = 0;
}

/* One large input must not hold its memory for ever: after many smaller ones everything is measured
 * again. */
static void forget_large_runs(hn_state *s, uint64_t block_bytes) {
    uint64_t need = block_bytes + hn_heap_recent_bytes(s->heap);
    uint64_t held = s->block_bytes + hn_heap_region_bytes(s->heap);
    s->n_small_runs = need < held / 2 ? s->n_small_runs + 1 : 0;
    if (s->n_small_runs < PATIENCE)
        return;
    give_memory_back(s);
    hn_heap_trim(s->heap);
    for (int i = 0; i < s->n_lanes; i++)
        drop_scratch(&s->lanes[i]);
}

/* Values without elements need an address, too: NULL would say that there is no memory. */
static hone_status fit_block(hn_state *s, uint64_t bytes) {
    forget_large_runs(s, bytes);
    if (s->block && bytes <= s->block_bytes)
        return HONE_OK;
    bytes = HN_MAX(bytes, 1);
    give_memory_back(s);
    s->block = bytes <= SIZE_MAX ? hn_block_alloc(allocator_of(s), (size_t)bytes) : NULL;
    HN_TRY_PTR(s->block);
    s->block_bytes = bytes;
    return HONE_OK;
}

void hn_run_show(hn_state *s, hn_id id, const hn_place *at, void *data) {
    hn_object_init_borrowed(&s->planned[id], at->type->elem, at->type->shape.rank,
                            at->type->shape.dims, data);
    s->planned[id].array.row_stride = at->row_stride;
    s->values[id] = &s->planned[id];
}

/* The block of the plan, and headers for the values that lie in it. */
static hone_status take_plan(hn_state *s, const hn_plan *plan, hone_error *err) {
    if (plan->block_bytes > hn_run_limit(s) || fit_block(s, plan->block_bytes) != HONE_OK)
        return hn_run_refuse_plan(s, plan, err);
    /* What is left for values of unknown shape and scratch; 0 would be no limit. */
    s->budget.limit = HN_MAX(hn_run_limit(s) - plan->block_bytes, 1);
    for (int i = 0; i < s->n_lanes; i++)
        HN_TRY(reserve_scratch(s, &s->lanes[i]));
    s->plan = plan;
    if (s->planned_for == plan->serial)
        return HONE_OK;
    for (uint32_t i = 0; i < plan->list->n_owned; i++) {
        hn_id id = plan->list->owned[i];
        const hn_place *at = &plan->places[id];
        bool is_const = s->program->consts[id].kind != HN_OBJECT_NONE;
        s->values[id] = is_const ? &s->program->consts[id] : NULL;
        if (at->offset != HN_NO_OFFSET)
            hn_run_show(s, id, at, (uint8_t *)s->block + at->offset);
    }
    s->planned_for = plan->serial;
    return HONE_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static hone_status run_all(hn_state *s, hone_error *err) {
    HN_TRY(hn_run_take_inputs(s, err));
    HN_TRY(hn_run_lend_outputs(s, err));
    HN_TRY(hn_run_main(s, err));
    return hn_run_give_outputs(s, err);
}

static void drop_outputs(hn_call *c) {
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (c->wanted[i] && !c->is_bound[i]) {
            hn_heap_unref(c->heaps[i], c->outputs[i]);
            c->outputs[i] = NULL;
        }
}

/* An output that the run makes may by itself be as large as all that lies between; its heap takes a
 * header and rounds up. 0: no limit. */
static void limit_outputs(const hn_call *c, uint64_t bytes) {
    bytes = HN_MIN(bytes, SIZE_MAX / 2);
    if (bytes)
        bytes += bytes / 4 + 4096;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (c->wanted[i] && !c->is_bound[i])
            hn_heap_set_limit(c->heaps[i], (size_t)bytes);
}

hone_status hn_state_run(hn_state *s, const hn_plan *plan, const hn_run_control *control,
                         hone_error *err) {
    hn_denormals before = hn_flush_denormals(!s->keeps_denormals);
    s->control = control;
    s->was_stopped = s->was_cancelled = 0;
    s->caller = pthread_self();
    s->next_question_ns = 0;
    s->budget.refused = 0;
    s->budget.is_over = false;
    s->n_body_runs = 0;
    find_needed(s);
    hn_run_watch_threads(s);
    limit_outputs(&s->call, hn_run_limit(s));
    hone_status status = take_plan(s, plan, err);
    if (status == HONE_OK) {
        hn_watch outer = hn_watch_begin(hn_run_is_stopped, s);
        status = run_all(s, err);
        hn_watch_end(outer);
        hn_run_drop_values(s, plan, 0);
    }
    s->plan = NULL; /* its session may free it */
    limit_outputs(&s->call, 0);
    if (status != HONE_OK)
        drop_outputs(&s->call);
    hn_restore_denormals(before);
    return status;
}
