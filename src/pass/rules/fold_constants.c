/* Turns Constant nodes into initializers and evaluates nodes whose inputs are all constant. */
#include "ops/eval_engine.h"
#include "pass/engine/pass_int.h"

/* Nodes that take longer are left to the run. The limit counts multiply-accumulates, so that
 * results do not depend on the machine; the deadline is for operators without such a count. */
#define MAX_FOLD_MACS ((uint64_t)1 << 29)
#define MAX_FOLD_NS ((uint64_t)5000000000)
#define SCRATCH_BYTES ((size_t)32 << 20) /* of an evaluation, beside twice what results may take */
#define HEADROOM_BYTES 4096 /* an object beside its elements, rounded up by the heap */
#define TOO_LARGE "its result is larger than constant folding may add to the model"
#define TOO_LONG "computing it takes too long"

typedef struct folder {
    hn_pass *pass;
    hn_eval_host host;
    uint64_t deadline_ns; /* of the node being evaluated */
} folder;

/* One node whose inputs are constant. */
typedef struct fold_job {
    hn_id node;
    bool *wanted; /* per output: something reads it */
    hn_object **args, **rets;
    uint64_t limit_bytes; /* of all results */
} fold_job;

static bool is_past_deadline(void *run) {
    return hn_now_ns() > ((folder *)run)->deadline_ns;
}

/* ---- which nodes ----------------------------------------------------------------------------- */

/* Quantization stays visible because runtimes match it. An Identity exists for the name of its
 * output. */
static bool stays_computed(const hn_node *n) {
    static const char *const ops[] = {"Identity", "QuantizeLinear", "DequantizeLinear"};
    for (size_t i = 0; i < HN_COUNT(ops); i++)
        if (hn_str_is(n->op, ops[i]))
            return true;
    return false;
}

static bool has_body(const hn_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        hn_attr_blocks(&n->attrs[i], &n_blocks);
        if (n_blocks > 0)
            return true;
    }
    return false;
}

static bool has_constant_inputs(const hn_pass *p, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t =
            n->inputs[i] == HN_NONE ? NULL : hn_facts_const(p->facts, n->inputs[i]);
        if (n->inputs[i] != HN_NONE && (!t || hn_tensor_is_deferred(t)))
            return false;
    }
    return true;
}

static bool is_read_tensor(const hn_graph *g, hn_id value) {
    const hn_type *t = hn_value_at(g, value)->type;
    return hn_value_at(g, value)->uses.n > 0 && t && t->kind == HN_TYPE_TENSOR;
}

/* True when at least one output is read, and all outputs are tensors. */
static bool has_foldable_outputs(const hn_graph *g, const hn_node *n) {
    bool is_any_read = false;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == HN_NONE || hn_value_at(g, n->outputs[i])->uses.n == 0)
            continue;
        is_any_read = true;
        if (!is_read_tensor(g, n->outputs[i]))
            return false;
    }
    return is_any_read;
}

static bool can_fold(const hn_pass *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    return !stays_computed(n) && !has_body(n) && has_constant_inputs(p, n) &&
           has_foldable_outputs(p->g, n) && hn_is_repeatable(p->g, node);
}

/* ---- limits on growth ------------------------------------------------------------------------ */

static bool is_read_by_one(const hn_value *v, hn_id node) {
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node != node)
            return false;
    return !v->is_input;
}

/* Bytes of constants that only this node reads and that are removed with it. */
static uint64_t bytes_freed(const hn_pass *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        bool is_repeated = false;
        for (uint32_t k = 0; k < i; k++)
            is_repeated |= n->inputs[k] == n->inputs[i];
        if (n->inputs[i] == HN_NONE || is_repeated ||
            !is_read_by_one(hn_value_at(p->g, n->inputs[i]), node))
            continue;
        if (!hn_add_u64(sum, hn_facts_const(p->facts, n->inputs[i])->data_bytes, &sum))
            return UINT64_MAX;
    }
    return sum;
}

/* Bytes of the outputs whose shapes are known before evaluation. */
static uint64_t bytes_expected(const hn_graph *g, const hn_node *n, const bool *wanted) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const hn_type *t = wanted[i] ? hn_value_at(g, n->outputs[i])->type : NULL;
        hn_dim n_elems = t ? hn_shape_elems(g->model->syms, &t->shape) : HN_DIM_UNKNOWN;
        uint64_t bytes;
        if (!hn_dim_is_known(n_elems))
            continue;
        if (!hn_dtype_bytes(t->elem, (uint64_t)n_elems, &bytes) || !hn_add_u64(sum, bytes, &sum))
            return UINT64_MAX;
    }
    return sum;
}

/* The arena keeps all results until the model is freed, including intermediate ones, so their sum
 * is limited in proportion to the file. */
static uint64_t bytes_left(const hn_pass *p) {
    uint64_t weights = p->model->file_bytes + p->model->external_bytes;
    uint64_t budget = p->options->max_fold_bytes + HN_MIN(weights, UINT64_MAX / 4) * 2;
    return budget - HN_MIN(budget, p->log->folded_bytes);
}

/* ---- computing ------------------------------------------------------------------------------- */

static hone_status open_job(folder *f, hn_id node, fold_job *job) {
    const hn_pass *p = f->pass;
    const hn_node *n = hn_node_at(p->g, node);
    hn_arena *a = f->host.scratch;
    *job = (fold_job){.node = node,
                      .wanted = HN_NEW_N(a, bool, (size_t)n->n_outputs + 1),
                      .args = HN_NEW_N(a, hn_object *, (size_t)n->n_inputs + 1),
                      .rets = HN_NEW_N(a, hn_object *, (size_t)n->n_outputs + 1),
                      .limit_bytes = HN_MAX(p->options->max_fold_bytes, bytes_freed(p, node))};
    job->limit_bytes = HN_MIN(job->limit_bytes, bytes_left(p));
    if (!job->wanted || !job->args || !job->rets)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        job->wanted[i] = n->outputs[i] != HN_NONE && is_read_tensor(p->g, n->outputs[i]);
    return HONE_OK;
}

static hone_status bind_args(folder *f, fold_job *job) {
    const hn_node *n = hn_node_at(f->pass->g, job->node);
    hn_arena *a = f->host.scratch;
    hn_object *objects = HN_NEW_N(a, hn_object, (size_t)n->n_inputs + 1);
    HN_TRY_PTR(objects);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (n->inputs[i] == HN_NONE)
            continue;
        const hn_tensor *t = hn_facts_const(f->pass->facts, n->inputs[i]);
        HN_TRY(hn_object_init_tensor(&objects[i], a, t, NULL));
        job->args[i] = &objects[i];
    }
    return HONE_OK;
}

static const hn_tensor *kept_strings(hn_arena *a, const hn_array *x) {
    void *unused;
    const hn_bytes *from = x->data;
    hn_tensor *t = hn_tensor_blank(a, HN_STRING, x->rank, x->dims, &unused);
    hn_bytes *strings = HN_NEW_N(a, hn_bytes, x->n_elems ? (size_t)x->n_elems : 1);
    for (uint64_t i = 0; t && strings && i < x->n_elems; i++) {
        strings[i] =
            (hn_bytes){hn_arena_copy(a, from[i].n ? from[i].at : "", (size_t)from[i].n), from[i].n};
        if (!strings[i].at)
            return NULL;
    }
    if (!t || !strings)
        return NULL;
    t->data = NULL;
    t->strings = strings;
    return t;
}

static const hn_tensor *kept_result(hn_arena *a, const hn_array *x) {
    return x->dtype == HN_STRING ? kept_strings(a, x)
                                 : hn_tensor_new(a, x->dtype, x->rank, x->dims, x->data, false);
}

static void write_constant(hn_rule *r, uint32_t output, const hn_tensor *t) {
    hn_id value = hn_out(r, r->root, output);
    hn_rule_replace_output(r, output, hn_new_const(r, hn_s(hn_value_at(r->g, value)->name), t));
}

static hone_status write_results(folder *f, const fold_job *job) {
    hn_pass *p = f->pass;
    const hn_node *n = hn_node_at(p->g, job->node);
    hn_rule *r = hn_rewrite_begin(p, "fold", job->node);
    HN_TRY_PTR(r);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (!job->wanted[i])
            continue;
        if (job->rets[i]->kind != HN_OBJECT_TENSOR)
            return HONE_OK;
        const hn_tensor *t = kept_result(p->model->arena, &job->rets[i]->array);
        HN_TRY_PTR(t);
        write_constant(r, i, t);
        p->log->folded_bytes += t->data_bytes;
    }
    return hn_rewrite_end(r);
}

static hone_status leave(folder *f, hn_id node, const char *reason) {
    hn_rule *r = hn_rewrite_begin(f->pass, "fold", node);
    HN_TRY_PTR(r);
    return hn_miss(r, "%s", reason);
}

static hone_status open_scratch(folder *f) {
    hn_arena_free(f->host.scratch);
    f->host.scratch = hn_arena_new(hn_arena_allocator(f->pass->model->arena));
    HN_TRY_PTR(f->host.scratch);
    return HONE_OK;
}

/* A node that cannot be evaluated, because it is invalid or too large, stays in the graph. */
static hone_status settle_failure(folder *f, hn_id node, hone_status status) {
    bool hit_limit = hn_heap_hit_limit(f->host.heap);
    if (hn_arena_hit_limit(f->host.scratch)) {
        hit_limit = true;
        HN_TRY(open_scratch(f)); /* a heap that failed stays unusable */
    }
    if (status == HONE_E_NOMEM)
        return hit_limit ? leave(f, node, TOO_LARGE) : status;
    return status == HONE_E_CANCELLED ? leave(f, node, TOO_LONG) : HONE_OK;
}

static hone_status evaluate_alone(folder *f, fold_job *job) {
    const hn_node *n = hn_node_at(f->pass->g, job->node);
    hone_error unused = {0};
    size_t limit = job->limit_bytes < SIZE_MAX / 4 ? (size_t)job->limit_bytes : SIZE_MAX / 4;
    hn_heap_set_limit(f->host.heap, limit + limit / 4 + n->n_outputs * (size_t)HEADROOM_BYTES);
    hn_arena_set_limit(f->host.scratch, SCRATCH_BYTES + 2 * limit);
    f->deadline_ns = hn_now_ns() + MAX_FOLD_NS;
    HN_TRY(bind_args(f, job));
    HN_TRY(
        hn_eval_once(&f->host, f->pass->g, job->node, job->args, job->wanted, job->rets, &unused));
    return is_past_deadline(f) ? HONE_E_CANCELLED : HONE_OK; /* the results may be incomplete */
}

static hone_status fold_node(folder *f, hn_id node) {
    const hn_graph *g = f->pass->g;
    const hn_node *n = hn_node_at(g, node);
    uint64_t macs = 0;
    fold_job job;
    HN_TRY(open_job(f, node, &job));
    if (bytes_expected(g, n, job.wanted) > job.limit_bytes)
        return leave(f, node, TOO_LARGE);
    if (hn_node_macs(g, node, &macs) && macs > MAX_FOLD_MACS)
        return leave(f, node, TOO_LONG);
    uint32_t n_outputs = n->n_outputs;
    hone_status computed = evaluate_alone(f, &job);
    hone_status written = computed == HONE_OK ? write_results(f, &job) : HONE_OK;
    for (uint32_t i = 0; i < n_outputs; i++)
        hn_heap_unref(f->host.heap, job.rets[i]);
    return computed == HONE_OK ? written : settle_failure(f, node, computed);
}

/* ---- Constant nodes -------------------------------------------------------------------------- */

/* The initializer shares the data of the attribute. */
static hone_status move_constant(hn_pass *p, hn_id node, const hn_tensor *t) {
    hn_rule *r = hn_rewrite_begin(p, "constant-node", node);
    HN_TRY_PTR(r);
    write_constant(r, 0, t);
    return hn_rewrite_end(r);
}

/* A subgraph output needs a node, so a Constant that makes one stays. */
static bool is_output_of_subgraph(const hn_graph *g, hn_id value) {
    const hn_value *v = hn_value_at(g, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE && v->uses.at[i].slot != 0)
            return true;
    return false;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static hone_status fold_or_leave(folder *f, hn_id node) {
    hn_pass *p = f->pass;
    const hn_node *n = hn_node_at(p->g, node);
    if (n->block == HN_NONE || !can_fold(p, node))
        return HONE_OK;
    bool is_constant = hn_str_is(n->op, "Constant") && hn_domain_is_onnx(n->domain);
    const hn_attr *value = is_constant ? hn_node_attr(n, "value") : NULL;
    if (is_constant &&
        (hn_node_attr(n, "sparse_value") || is_output_of_subgraph(p->g, n->outputs[0])))
        return HONE_OK;
    if (value && value->kind == HN_ATTR_TENSOR && !value->ref && value->v.tensor)
        return hn_pass_may(p, "constant-node") ? move_constant(p, node, value->v.tensor) : HONE_OK;
    return hn_pass_may(p, "fold") ? fold_node(f, node) : HONE_OK;
}

/* Topological order, outer blocks first, so that a node can use the results of earlier ones. */
static hone_status fold_blocks(folder *f) {
    const hn_graph *g = f->pass->g;
    for (hn_id block = 0; block < g->blocks.n; block++) {
        uint32_t n = hn_block_at(g, block)->nodes.n;
        const hn_id *nodes =
            hn_arena_copy(f->pass->scratch, hn_block_at(g, block)->nodes.at, n * sizeof *nodes);
        HN_TRY_PTR(nodes);
        for (uint32_t i = 0; i < n; i++) {
            HN_TRY(fold_or_leave(f, nodes[i]));
            hn_arena_clear(f->host.scratch);
        }
    }
    return HONE_OK;
}

hone_status hn_pass_fold_constants(hn_pass *p) {
    folder f = {.pass = p};
    f.host = (hn_eval_host){.heap = hn_heap_new(hn_arena_allocator(p->model->arena)),
                            .run = &f,
                            .is_stopped = is_past_deadline};
    hone_status status = f.host.heap ? open_scratch(&f) : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = fold_blocks(&f);
    hn_heap_free(f.host.heap);
    hn_arena_free(f.host.scratch);
    return status;
}
