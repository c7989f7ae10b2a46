/* What steps do once, before any run: weights are packed by several threads at a time. */
#include "plan/plan.h"

#include <stdatomic.h>

#define MOST_KEPT_BYTES ((size_t)16 << 20)

/* Aligned buffer for constants that lie where they cannot be read; used again and again. */
typedef struct const_buffer {
    struct const_buffer *next;
    uint8_t *at;
    size_t bytes;
} const_buffer;

typedef struct preparation {
    hn_program *p;
    const hn_program_options *options;
    const hone_allocator *alloc;
    HN_VEC(hn_step *) steps;
    pthread_mutex_t lock;  /* guards all below, and what steps write to the program */
    const_buffer *buffers; /* that nobody uses now */
    hone_status status;    /* of the first step that failed */
    hone_error *err;
} preparation;

/* One step being prepared, and its constants. */
typedef struct step_consts {
    preparation *all;
    const hn_node *node;
    hn_object **args, *copies; /* by argument; copies point into the buffer */
    const_buffer *buffer;
    bool is_read;
} step_consts;

static bool is_const_arg(const hn_program *p, hn_id id) {
    return id != HN_NONE && p->consts[id].kind != HN_OBJECT_NONE &&
           hn_infer_initial_const(p->model, hn_value_at(p->model->graph, id));
}

/* ---- buffers --------------------------------------------------------------------------------- */

static const_buffer *take_buffer(preparation *all, size_t bytes) {
    pthread_mutex_lock(&all->lock);
    const_buffer *buffer = all->buffers;
    if (buffer)
        all->buffers = buffer->next;
    pthread_mutex_unlock(&all->lock);
    if (!buffer)
        buffer = hn_calloc(all->alloc, 1, sizeof *buffer);
    if (buffer && buffer->bytes < bytes) {
        hn_block_free(all->alloc, buffer->at, buffer->bytes);
        buffer->at = hn_block_alloc(all->alloc, bytes);
        buffer->bytes = buffer->at ? bytes : 0;
    }
    return buffer;
}

static void return_buffer(preparation *all, const_buffer *buffer) {
    if (!buffer)
        return;
    if (buffer->bytes > MOST_KEPT_BYTES) {
        hn_block_free(all->alloc, buffer->at, buffer->bytes);
        *buffer = (const_buffer){0};
    }
    pthread_mutex_lock(&all->lock);
    buffer->next = all->buffers;
    all->buffers = buffer;
    pthread_mutex_unlock(&all->lock);
}

static void free_buffers(preparation *all) {
    for (const_buffer *buffer = all->buffers, *next; buffer; buffer = next) {
        next = buffer->next;
        hn_block_free(all->alloc, buffer->at, buffer->bytes);
        hn_free(all->alloc, buffer, sizeof *buffer);
    }
}

/* ---- constants of one step --------------------------------------------------------------------- */

static const hn_tensor *late_arg(const step_consts *s, uint32_t i) {
    const hn_program *p = s->all->p;
    hn_id id = s->node->inputs[i];
    return s->args[i] && p->is_deferred[id] ? hn_value_at(p->model->graph, id)->init : NULL;
}

static uint64_t buffer_bytes_of(const hn_tensor *t) {
    return t->data_bytes + (64 - t->data_bytes % 64);
}

/* Constants among the arguments; the others are left out. Those that cannot be read where they lie
 * get their places in a buffer. */
static hone_status find_const_args(step_consts *s, hn_arena *scratch) {
    const hn_program *p = s->all->p;
    const hn_node *n = s->node;
    uint64_t bytes = 0, at = 0;
    s->args = HN_NEW_N(scratch, hn_object *, (size_t)n->n_inputs + 1);
    s->copies = HN_NEW_N(scratch, hn_object, (size_t)n->n_inputs + 1);
    if (!s->args || !s->copies)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        s->args[i] = is_const_arg(p, n->inputs[i]) ? &p->consts[n->inputs[i]] : NULL;
        bytes += late_arg(s, i) ? buffer_bytes_of(late_arg(s, i)) : 0;
    }
    if (bytes == 0)
        return HONE_OK;
    s->buffer = bytes <= SIZE_MAX ? take_buffer(s->all, (size_t)bytes) : NULL;
    if (!s->buffer || !s->buffer->at)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = late_arg(s, i);
        if (!t)
            continue;
        s->copies[i] = *s->args[i];
        s->copies[i].array.data = s->buffer->at + at;
        at += buffer_bytes_of(t);
    }
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (late_arg(s, i))
            s->args[i] = &s->copies[i];
    return HONE_OK;
}

static void name_const_arg(void *ctx, uint32_t arg, hn_blob_key *key) {
    const step_consts *s = ctx;
    const hn_program *p = s->all->p;
    hn_program_name_const(p, hn_value_at(p->model->graph, s->node->inputs[arg])->init,
                          s->all->options->store, key);
}

static hn_dtype origin_of_const_arg(void *ctx, uint32_t arg) {
    const step_consts *s = ctx;
    const hn_tensor *t = hn_value_at(s->all->p->model->graph, s->node->inputs[arg])->init;
    return hn_tensor_is_widened(t) ? hn_tensor_stored(t)->dtype : t->dtype;
}

static hone_status read_const_args(void *ctx) {
    step_consts *s = ctx;
    for (uint32_t i = 0; !s->is_read && i < s->node->n_inputs; i++) {
        const hn_tensor *t = late_arg(s, i);
        if (t)
            hn_program_read_const(s->all->p, t, s->args[i]->array.data);
    }
    s->is_read = true;
    return HONE_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef hone_status (*prepare_fn)(hn_eval *c, void **state);

/* What a provider packs has precedence over what evaluations prepare; NULL: nothing is done. */
static prepare_fn prepare_of(const hn_step *step) {
    return step->lowering && step->lowering->prepare ? step->lowering->prepare
                                                     : step->op->impl->prepare;
}

static void release_state(const hn_step *step) {
    bool is_packed = step->lowering && step->lowering->prepare;
    if (step->state)
        (is_packed ? step->lowering->release : step->op->impl->release)(step->op, step->state);
}

/* Other steps may look at packed_args of this one any time: *taken is for whoever holds the lock.
 */
static hone_status prepare_step(preparation *all, hn_step *step, hn_arena *scratch, uint64_t *taken,
                                hone_error *err) {
    const hn_graph *g = all->p->model->graph;
    infer_job job = {.model = all->p->model, .work = scratch, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = g};
    step_consts consts = {.all = all, .node = hn_node_at(g, step->node)};
    hn_const_host host = {.name = name_const_arg,
                          .read = read_const_args,
                          .origin = origin_of_const_arg,
                          .store = all->options->store,
                          .choices = all->options->choices,
                          .stored = all->options->stored,
                          .ctx = &consts};
    hone_status status = find_const_args(&consts, scratch);
    hn_eval c = {.node = {.scope = &scope,
                          .id = step->node,
                          .node = consts.node,
                          .op = step->op,
                          .version = step->version},
                 .n_args = consts.node->n_inputs,
                 .args = consts.args,
                 .consts = &host,
                 .err = err};
    if (status == HONE_OK)
        status = prepare_of(step)(&c, &step->state);
    *taken = c.packed_args;
    return_buffer(all, consts.buffer);
    if (status != HONE_OK)
        hn_error_at_node(err, g, step->node);
    return status;
}

static bool is_taken(const hn_step *step, uint32_t arg) {
    return arg < 64 && step->packed_args >> arg & 1;
}

static bool is_taken_or_copied(const hn_step *step, uint32_t arg) {
    return is_taken(step, arg) || (arg < 64 && step->op->impl->copied_args >> arg & 1);
}

static bool all_readers(const hn_program *p, const hn_value *v,
                        bool (*test)(const hn_step *step, uint32_t arg)) {
    const hn_graph *g = p->model->graph;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        if (node == HN_NONE ||
            !test(&p->blocks[hn_node_at(g, node)->block].steps[p->position[node]],
                  v->uses.at[i].slot))
            return false;
    }
    return true;
}

/* Constants leave memory one by one as they are taken: at no time are all of them there twice. */
static void let_taken_go(const hn_program *p, const hn_step *step) {
    const hn_node *n = hn_node_at(p->model->graph, step->node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (is_taken(step, i)) {
            const hn_value *v = hn_value_at(p->model->graph, n->inputs[i]);
            if (v->init && all_readers(p, v, is_taken))
                hn_model_let_go(p->model, v->init);
        }
}

static void finish_step(preparation *all, hn_step *step, uint64_t taken, hone_status status,
                        const hone_error *err) {
    pthread_mutex_lock(&all->lock);
    step->packed_args = taken;
    step->is_prepared = status == HONE_OK;
    if (status == HONE_OK) {
        let_taken_go(all->p, step);
    } else if (all->status == HONE_OK) {
        all->status = status;
        if (all->err)
            *all->err = *err;
    }
    pthread_mutex_unlock(&all->lock);
}

static void prepare_steps(void *ctx, int64_t begin, int64_t end) {
    preparation *all = ctx;
    for (int64_t i = begin; i < end; i++) {
        hone_error err;
        hn_step *step = all->steps.at[i];
        hn_arena *scratch = hn_arena_new(all->alloc);
        uint64_t taken = 0;
        hn_error_clear(&err);
        hone_status status =
            scratch ? prepare_step(all, step, scratch, &taken, &err) : HONE_E_NOMEM;
        finish_step(all, step, taken, status, &err);
        hn_arena_free(scratch);
    }
}

/* ---- all steps ------------------------------------------------------------------------------- */

static hone_status copy_const_args(preparation *all, const hn_step *step) {
    const hn_node *n = hn_node_at(all->p->model->graph, step->node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE && all->p->is_deferred[n->inputs[i]])
            HN_TRY(hn_program_copy_const(all->p, all->options, n->inputs[i], all->err));
    return HONE_OK;
}

static hone_status list_unprepared(preparation *all, bool are_alone, hn_arena *scratch) {
    for (hn_id b = 0; b < all->p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; i < all->p->blocks[b].n_steps; i++) {
            hn_step *step = &all->p->blocks[b].steps[i];
            if (prepare_of(step) && step->op->impl->prepares_alone == are_alone &&
                !step->is_prepared && !HN_VEC_PUSH(scratch, &all->steps, step))
                return HONE_E_NOMEM;
        }
    return HONE_OK;
}

/* Operators of others run alone, in order, on constants that can be read. */
static hone_status prepare_strangers(preparation *all, hn_arena *scratch) {
    HN_TRY(list_unprepared(all, true, scratch));
    for (uint32_t i = 0; i < all->steps.n; i++) {
        hn_step *step = all->steps.at[i];
        HN_TRY(copy_const_args(all, step));
        HN_TRY(prepare_step(all, step, scratch, &step->packed_args, all->err));
    }
    return HONE_OK;
}

/* Whoever copies parts of a constant can do so wherever it lies, but it has to be there. */
static bool is_never_read(const hn_program *p, const hn_value *v) {
    return all_readers(p, v,
                       v->init && hn_tensor_is_deferred(v->init) ? is_taken : is_taken_or_copied);
}

/* Constants that somebody still reads, as numbers. */
static hone_status copy_late_consts(preparation *all) {
    const hn_graph *g = all->p->model->graph;
    for (hn_id id = 0; id < g->values.n; id++)
        if (all->p->is_deferred[id] && !is_never_read(all->p, hn_value_at(g, id)))
            HN_TRY(hn_program_copy_const(all->p, all->options, id, all->err));
    return HONE_OK;
}

static hone_status prepare_weights(preparation *all, hn_arena *scratch) {
    HN_TRY(list_unprepared(all, false, scratch));
    hn_pool_for(all->options->pool, all->steps.n, 1, prepare_steps, all);
    HN_TRY(all->status);
    return copy_late_consts(all);
}

static hone_status prepare_all(hn_program *p, const hn_program_options *o, hone_error *err,
                               hone_status (*prepare)(preparation *all, hn_arena *scratch)) {
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(p->model->arena));
    preparation all = {
        .p = p, .options = o, .alloc = hn_arena_allocator(p->model->arena), .err = err};
    pthread_mutex_init(&all.lock, NULL);
    hone_status status = scratch ? prepare(&all, scratch) : HONE_E_NOMEM;
    free_buffers(&all);
    pthread_mutex_destroy(&all.lock);
    hn_arena_free(scratch);
    return status;
}

/* Runs share the program from now on: nothing can be added to it any more. */
static void set_ready(hn_program *p) {
    hn_arena_freeze(p->model->arena);
    atomic_store_explicit(&p->is_ready, true, memory_order_release);
}

hone_status hn_program_prepare(hn_program *p, const hn_program_options *o, hone_error *err) {
    static const hn_program_options none;
    o = o ? o : &none;
    p->stored = o->stored;
    HN_TRY(prepare_all(p, o, err, prepare_strangers));
    if (o->is_lazy)
        return HONE_OK;
    HN_TRY(prepare_all(p, o, err, prepare_weights));
    set_ready(p);
    return HONE_OK;
}

hone_status hn_program_pack(hn_program *p, hn_pool *pool, hone_error *err) {
    if (atomic_load_explicit(&p->is_ready, memory_order_acquire))
        return HONE_OK;
    hone_status status = HONE_OK;
    pthread_mutex_lock(&p->lock);
    if (!atomic_load(&p->is_ready))
        status = prepare_all(p, &(hn_program_options){.pool = pool, .stored = p->stored}, err,
                             prepare_weights);
    if (status == HONE_OK)
        set_ready(p);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void hn_program_release(hn_program *p) {
    for (hn_id b = 0; p->blocks && b < p->model->graph->blocks.n; b++)
        for (uint32_t i = 0; p->blocks[b].steps && i < p->blocks[b].n_steps; i++)
            release_state(&p->blocks[b].steps[i]);
}
