/* Steps whose shapes data decide: what inference found and the provider made of it the last time is
 * kept, and holds as long as the arguments have the same types, and those whose data inference has
 * looked at the same data. */
#include "run/run_int.h"

#define MOST_MISSES 8 /* in a row: the shapes of such a step change in every run */

typedef struct memo_slot {
    hn_memo memo; /* first */
    hn_arena *arena;
    uint32_t n_misses;
    bool is_filled;
    hn_array *args; /* dtype HN_UNDEFINED: left out; data: what inference has looked at */
    uint64_t *arg_bytes;
} memo_slot;

static bool fits_arg(const memo_slot *m, uint32_t i, const hn_object *o) {
    const hn_array *kept = &m->args[i];
    if (!o)
        return kept->dtype == HN_UNDEFINED;
    const hn_array *a = &o->array;
    return a->dtype == kept->dtype && a->rank == kept->rank &&
           (a->rank == 0 || !memcmp(a->dims, kept->dims, (size_t)a->rank * sizeof *a->dims)) &&
           (!kept->data || !memcmp(a->data, kept->data, (size_t)m->arg_bytes[i]));
}

const hn_memo *hn_memo_find(const hn_step_frame *f) {
    memo_slot *m = f->state->memos[f->step->node];
    if (!m || !m->is_filled)
        return NULL;
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (!fits_arg(m, i, f->args[i]))
            return NULL;
    m->n_misses = 0;
    return &m->memo;
}

/* ---- making one ------------------------------------------------------------------------------ */

static hone_status keep_arg(memo_slot *m, uint32_t i, const hn_object *o, bool is_read) {
    if (!o)
        return HONE_OK;
    m->args[i] = o->array;
    m->args[i].data = NULL;
    m->args[i].dims =
        hn_arena_copy(m->arena, o->array.dims, (size_t)o->array.rank * sizeof *o->array.dims);
    HN_TRY_PTR(m->args[i].dims);
    if (!is_read || !hn_dtype_bytes(o->array.dtype, o->array.n_elems, &m->arg_bytes[i]))
        return HONE_OK;
    m->args[i].data = hn_arena_copy(m->arena, o->array.data, (size_t)m->arg_bytes[i]);
    return m->args[i].data ? HONE_OK : HONE_E_NOMEM;
}

static hone_status keep_key(memo_slot *m, const hn_step_frame *f, uint64_t read_args) {
    uint32_t n = f->node->n_inputs;
    m->args = HN_NEW_N(m->arena, hn_array, (size_t)n + 1);
    m->arg_bytes = HN_NEW_N(m->arena, uint64_t, (size_t)n + 1);
    if (!m->args || !m->arg_bytes)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        HN_TRY(keep_arg(m, i, f->args[i], read_args >> HN_MIN(i, 63u) & 1));
    return HONE_OK;
}

static hone_status keep_types(memo_slot *m, const hn_step_frame *f, const hn_eval *c) {
    const hn_type **out = HN_NEW_N(m->arena, const hn_type *, (size_t)f->node->n_outputs + 1);
    HN_TRY_PTR(out);
    m->memo.out = out;
    for (uint32_t i = 0; i < f->node->n_outputs; i++) {
        if (!hn_eval_knows_ret(c, i))
            continue;
        out[i] = hn_infer_keep_type(m->arena, c->node.out[i]);
        HN_TRY_PTR(out[i]);
    }
    return HONE_OK;
}

/* Data that no run can change, or that are part of the key. */
static void *steady_data(const memo_slot *m, const hn_step_frame *f, uint32_t i) {
    const hn_program *p = f->state->program;
    hn_id id = f->node->inputs[i];
    bool is_const = f->args[i] == &p->consts[id] && !p->is_deferred[id] &&
                    hn_infer_initial_const(p->model, hn_value_at(p->model->graph, id));
    return is_const ? f->args[i]->array.data : m->args[i].data;
}

static hone_status lower_for(memo_slot *m, const hn_step_frame *f) {
    hn_arena *work = f->lane->host.scratch;
    const hn_node *n = f->node;
    size_t n_all = (size_t)n->n_inputs + n->n_outputs + 1;
    hn_object *objects = HN_NEW_N(work, hn_object, n_all);
    hn_object **args = HN_NEW_N(work, hn_object *, n_all),
              **rets = args ? args + n->n_inputs : NULL;
    if (!objects || !args)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (!f->args[i])
            continue;
        args[i] = &objects[i];
        objects[i].kind = HN_OBJECT_TENSOR;
        objects[i].array = m->args[i];
        objects[i].array.data = steady_data(m, f, i);
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const hn_type *t = m->memo.out[i];
        if (f->step->wanted[i] && !t)
            return HONE_OK; /* the evaluation finds out */
        if (!f->step->wanted[i])
            continue;
        rets[i] = &objects[n->n_inputs + i];
        hn_object_init_borrowed(rets[i], t->elem, t->shape.rank, t->shape.dims, NULL);
    }
    return hn_lower_step(f->state->program, f->step, args, rets, f->state->n_lanes, m->arena, work,
                         &m->memo.lowered);
}

static memo_slot *slot_for(const hn_step_frame *f) {
    hn_state *s = f->state;
    memo_slot *m = s->memos[f->step->node];
    const hone_allocator *a = hn_arena_allocator(s->program->model->arena);
    if (!m)
        m = s->memos[f->step->node] = hn_calloc(a, 1, sizeof *m);
    if (m && !m->arena)
        m->arena = hn_arena_new(a);
    return m && m->arena ? m : NULL;
}

/* Results in planned memory may have strided rows, which lowerings were not told of. */
static bool has_strided_operand(const hn_step_frame *f) {
    for (uint32_t i = 0; i < f->node->n_inputs; i++)
        if (f->args[i] && f->args[i]->array.row_stride)
            return true;
    for (uint32_t i = 0; i < f->node->n_outputs; i++)
        if (f->step->wanted[i] && f->rets[i] && f->rets[i]->array.row_stride)
            return true;
    return false;
}

static hone_status fill_slot(memo_slot *m, const hn_step_frame *f, const hn_eval *c,
                             uint64_t read_args) {
    hn_arena_restore(m->arena, (hn_arena_mark){0});
    m->memo = (hn_memo){0};
    HN_TRY(keep_key(m, f, read_args));
    HN_TRY(keep_types(m, f, c));
    if (!has_strided_operand(f))
        HN_TRY(lower_for(m, f));
    m->is_filled = true;
    return HONE_OK;
}

hone_status hn_memo_make(const hn_step_frame *f, hn_eval_frame *e, const hn_memo **out) {
    uint64_t read_args = 0;
    e->eval.node.read_args = &read_args;
    HN_TRY(hn_eval_infer(&e->eval));
    memo_slot *m = slot_for(f);
    HN_TRY_PTR(m);
    m->is_filled = false;
    m->n_misses += m->n_misses < MOST_MISSES;
    *out = &m->memo;
    if (m->n_misses < MOST_MISSES)
        return fill_slot(m, f, &e->eval, read_args);
    hn_arena_restore(m->arena, (hn_arena_mark){0});
    m->memo = (hn_memo){0};
    return keep_types(m, f, &e->eval);
}

void hn_memos_free(hn_state *s) {
    const hone_allocator *a = hn_arena_allocator(s->program->model->arena);
    for (hn_id id = 0; s->memos && id < hn_state_graph(s)->nodes.n; id++) {
        memo_slot *m = s->memos[id];
        if (!m)
            continue;
        hn_arena_free(m->arena);
        hn_free(a, m, sizeof *m);
    }
}
