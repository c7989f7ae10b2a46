/* Running a node without a plan: what its outputs are is inferred at that moment, from what its
 * arguments really are. */
#include "ops/eval_engine.h"

#define SHOWN_ELEMS 4096 /* arguments up to this size are shown to inference with their data */

/* ---- arguments ------------------------------------------------------------------------------- */

size_t hn_dtype_alignment(hn_dtype t) {
    size_t bytes = hn_elem_bytes(t);
    return t == HN_STRING || bytes > 8 ? 8 : bytes ? bytes : 1;
}

hone_status hn_object_init_tensor(hn_object *o, hn_arena *a, const hn_tensor *t, hone_error *err) {
    uint64_t bytes;
    if (t->dtype == HN_UNDEFINED)
        return hn_fail(err, HONE_E_INVALID, "initializer '%s' has no element type", hn_s(t->name));
    if (t->dtype == HN_STRING) {
        hn_object_init_borrowed(o, t->dtype, t->rank, t->dims, (void *)(uintptr_t)t->strings);
        return HONE_OK;
    }
    if (!hn_dtype_bytes(t->dtype, t->n_elems, &bytes) || bytes > t->data_bytes ||
        (bytes && !t->data))
        return hn_fail(err, HONE_E_INVALID,
                       "initializer '%s' has no data, or less than its shape needs", hn_s(t->name));
    const void *data = t->data;
    if ((uintptr_t)data % hn_dtype_alignment(t->dtype) || !data) {
        data = hn_arena_copy(a, data ? data : "", bytes ? (size_t)bytes : 1);
        HN_TRY_PTR(data);
    }
    hn_object_init_borrowed(o, t->dtype, t->rank, t->dims, (void *)(uintptr_t)data);
    return HONE_OK;
}

hone_status hn_describe_array(hn_arena *a, const hn_array *x, const hn_type **type,
                              const hn_tensor **data) {
    if (!x)
        return HONE_OK;
    HN_TRY_PTR(*type = hn_type_tensor(a, x->dtype, x->rank, x->dims));
    if (x->n_elems > SHOWN_ELEMS || x->dtype == HN_STRING)
        return HONE_OK;
    HN_TRY_PTR(*data = hn_tensor_new(a, x->dtype, x->rank, x->dims, x->data, true));
    return HONE_OK;
}

/* Types and small data of the arguments as inference wants to see them. */
static hone_status describe_args(hn_eval *c) {
    hn_arena *a = c->host->scratch;
    const hn_type **types = HN_NEW_N(a, const hn_type *, (size_t)c->n_args + 1);
    const hn_tensor **consts = HN_NEW_N(a, const hn_tensor *, (size_t)c->n_args + 1);
    if (!types || !consts)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < c->n_args; i++)
        HN_TRY(hn_describe_array(a, hn_arg(c, i), &types[i], &consts[i]));
    c->node.arg_types = types;
    c->node.arg_consts = consts;
    return HONE_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

hone_status hn_eval_infer(hn_eval *c) {
    hn_infer *node = &c->node;
    hn_arena *a = c->host->scratch;
    hn_count_decision(HN_DECISION_INFERENCE);
    size_t n = (size_t)c->n_rets + 1;
    HN_TRY(describe_args(c));
    node->out = HN_NEW_N(a, const hn_type *, n);
    node->out_ints = HN_NEW_N(a, const infer_ints *, n);
    node->out_consts = HN_NEW_N(a, const hn_tensor *, n);
    if (!node->out || !node->out_ints || !node->out_consts)
        return HONE_E_NOMEM;
    if (hn_node_types_ok(node, NULL)) {
        hone_status status = node->op->infer(node);
        if (status != HONE_OK)
            return status == HONE_E_NOMEM ? status
                                          : hn_fail(c->err, status, "%s", node->fail.message);
    }
    /* Rules take a failed allocation for something unknown. */
    return hn_arena_has_failed(a) ? HONE_E_NOMEM : HONE_OK;
}

bool hn_eval_knows_ret(const hn_eval *c, uint32_t i) {
    const hn_type *t = c->wanted[i] ? c->node.out[i] : NULL;
    if (!t || t->kind != HN_TYPE_TENSOR || t->elem == HN_UNDEFINED || t->shape.rank < 0)
        return false;
    for (int32_t d = 0; d < t->shape.rank; d++)
        if (t->shape.dims[d] < 0)
            return false;
    return true;
}

uint64_t hn_eval_macs(hn_eval *c) {
    hn_arena *a = c->host->scratch;
    uint64_t macs = 0;
    if (!c->node.op->macs || describe_args(c) != HONE_OK)
        return 0;
    const hn_type **out = HN_NEW_N(a, const hn_type *, (size_t)c->n_rets + 1);
    for (uint32_t i = 0; out && i < c->n_rets; i++) {
        const hn_array *y =
            c->rets[i] && c->rets[i]->kind == HN_OBJECT_TENSOR ? &c->rets[i]->array : NULL;
        out[i] = y ? hn_type_tensor(a, y->dtype, y->rank, y->dims) : NULL;
    }
    c->node.out = out;
    return out && c->node.op->macs(&c->node, &macs) ? macs : 0;
}

static hone_status run_node_alone(hn_eval *c) {
    HN_TRY(hn_eval_check_args(c));
    HN_TRY(hn_eval_infer(c));
    for (uint32_t i = 0; i < c->n_rets; i++) {
        if (!hn_eval_knows_ret(c, i))
            continue;
        const hn_type *t = c->node.out[i];
        c->rets[i] = hn_heap_tensor(c->host->heap, t->elem, t->shape.rank, t->shape.dims);
        HN_TRY_PTR(c->rets[i]);
    }
    HN_TRY(c->node.op->impl->eval(c));
    for (uint32_t i = 0; i < c->n_rets; i++)
        if (c->wanted[i] && !c->rets[i])
            return hn_fail(c->err, HONE_E_SHAPE,
                           "the shape of output %u does not follow from these inputs", i);
    return HONE_OK;
}

hone_status hn_eval_once(hn_eval_host *host, const hn_graph *g, hn_id node, hn_object *const *args,
                         const bool *wanted, hn_object **rets, hone_error *err) {
    const hn_node *n = hn_node_at(g, node);
    infer_job job = {.model = g->model, .work = host->scratch, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = g};
    hn_eval c = {.node = {.scope = &scope, .id = node, .node = n},
                 .host = host,
                 .n_args = n->n_inputs,
                 .n_rets = n->n_outputs,
                 .args = args,
                 .rets = rets,
                 .wanted = wanted,
                 .err = err};
    for (uint32_t i = 0; i < n->n_outputs; i++)
        rets[i] = NULL;
    if (!hn_node_form_ok(g, NULL, node, NULL, &c.node.op, &c.node.version) || !c.node.op ||
        !c.node.op->impl)
        return hn_fail(err, HONE_E_UNSUPPORTED, "hone cannot run operator '%s'", hn_s(n->op));
    hone_status status = run_node_alone(&c);
    for (uint32_t i = 0; i < n->n_outputs && status != HONE_OK; i++) {
        hn_heap_unref(host->heap, rets[i]);
        rets[i] = NULL;
    }
    return status;
}
