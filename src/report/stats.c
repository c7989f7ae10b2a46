/* Counting: parameters by type, nodes by operator, operations, bytes of activations. */
#include "report/report.h"

#include <stdlib.h>

bool hn_node_output_bytes(const hn_graph *g, hn_id node, uint64_t *bytes) {
    const hn_node *n = hn_node_at(g, node);
    *bytes = 0;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == HN_NONE)
            continue;
        const hn_type *t = hn_value_at(g, n->outputs[i])->type;
        if (!t || t->kind != HN_TYPE_TENSOR || t->shape.rank < 0)
            return false;
        uint64_t elems = 1, one;
        for (int32_t k = 0; k < t->shape.rank; k++)
            if (!hn_dim_is_known(t->shape.dims[k]) ||
                !hn_mul_u64(elems, (uint64_t)t->shape.dims[k], &elems))
                return false;
        if (!hn_dtype_bytes(t->elem, elems, &one) || !hn_add_u64(*bytes, one, bytes))
            return false;
    }
    return true;
}

static bool count_tensor(hn_stats *s, const hn_tensor *t) {
    if (!t)
        return true;
    hone_stats_type *entry = NULL;
    for (uint32_t i = 0; i < s->types.n && !entry; i++)
        if (s->types.at[i].elem_type == (int32_t)t->dtype)
            entry = &s->types.at[i];
    if (!entry) {
        if (!HN_VEC_PUSH(s->arena, &s->types, ((hone_stats_type){.elem_type = (int32_t)t->dtype})))
            return false;
        entry = &s->types.at[s->types.n - 1];
    }
    uint64_t bytes = 0;
    if (t->dtype == HN_STRING)
        for (uint64_t i = 0; t->strings && i < t->n_elems; i++)
            bytes += t->strings[i].n;
    else
        hn_dtype_bytes(t->dtype, t->n_elems, &bytes);
    entry->n_tensors++;
    entry->n_elements += t->n_elems;
    entry->bytes += bytes;
    s->totals.n_tensors++;
    s->totals.n_parameters += t->n_elems;
    s->totals.parameter_bytes += bytes;
    return true;
}

static hone_stats_op *op_entry(hn_stats *s, hn_map *by_op, const hn_node *n) {
    hn_str domain = hn_domain_is_onnx(n->domain) ? NULL : n->domain;
    uint64_t key = hn_key(domain ? domain->id + 1 : 0, n->op->id);
    uint32_t at = hn_map_get(by_op, key);
    if (at == HN_MAP_NONE) {
        at = s->ops.n;
        hone_stats_op fresh = {.domain = hn_s(domain), .op = hn_s(n->op)};
        if (!hn_map_put(by_op, key, at) || !HN_VEC_PUSH(s->arena, &s->ops, fresh))
            return NULL;
    }
    return &s->ops.at[at];
}

static bool count_node(hn_stats *s, hn_map *by_op, const hn_graph *g, hn_id id) {
    const hn_node *n = hn_node_at(g, id);
    hone_stats_op *entry = op_entry(s, by_op, n);
    if (!entry)
        return false;
    entry->count++;
    s->totals.n_nodes++;
    uint64_t macs, bytes;
    bool knows_macs = hn_node_macs(g, id, &macs), knows_bytes = hn_node_output_bytes(g, id, &bytes);
    macs = knows_macs ? macs : 0; /* a partial sum up to an unknown dimension is meaningless */
    bytes = knows_bytes ? bytes : 0;
    s->totals.n_unknown_nodes += !knows_macs || !knows_bytes;
    entry->macs += macs;
    entry->output_bytes += bytes;
    s->totals.macs += macs;
    s->totals.activation_bytes += bytes;
    bool is_constant = hn_domain_is_onnx(n->domain) && hn_str_is(n->op, "Constant");
    const hn_attr *data = is_constant ? hn_node_attr(n, "value") : NULL;
    return !data || data->ref || data->kind != HN_ATTR_TENSOR || count_tensor(s, data->v.tensor);
}

static int by_bytes(const void *a, const void *b) {
    const hone_stats_type *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : (x->elem_type > y->elem_type) - (x->elem_type < y->elem_type);
}

static int by_count(const void *a, const void *b) {
    const hone_stats_op *x = a, *y = b;
    int order = (x->count < y->count) - (x->count > y->count);
    if (!order)
        order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->domain, y->domain);
}

static hone_status count_model(hn_stats *s, const hn_model *m) {
    const hn_graph *g = m->graph;
    hn_map by_op;
    hn_map_init(&by_op, s->arena);
    for (hn_id id = 0; id < g->nodes.n; id++)
        if (hn_node_at(g, id)->block != HN_NONE && !count_node(s, &by_op, g, id))
            return HONE_E_NOMEM;
    for (hn_id b = 0; b < g->blocks.n; b++) {
        const hn_block *block = hn_block_at(g, b);
        for (uint32_t i = 0; i < block->inits.n; i++)
            if (!count_tensor(s, hn_value_at(g, block->inits.at[i])->init))
                return HONE_E_NOMEM;
        for (uint32_t i = 0; i < block->sparse_inits.n; i++)
            if (!count_tensor(s, hn_value_at(g, block->sparse_inits.at[i])->sparse_init->values))
                return HONE_E_NOMEM;
    }
    if (s->types.n)
        qsort(s->types.at, s->types.n, sizeof *s->types.at, by_bytes);
    if (s->ops.n)
        qsort(s->ops.at, s->ops.n, sizeof *s->ops.at, by_count);
    s->totals.n_types = s->types.n;
    s->totals.n_ops = s->ops.n;
    return HONE_OK;
}

hone_status hn_stats_make(const hn_model *m, hn_stats **out) {
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    hn_stats *s = arena ? HN_NEW(arena, hn_stats) : NULL;
    hone_status status = HONE_E_NOMEM;
    if (s) {
        s->arena = arena;
        status = count_model(s, m);
    }
    if (status != HONE_OK) {
        hn_arena_free(arena);
        s = NULL;
    }
    *out = s;
    return status;
}

void hn_stats_free(hn_stats *s) {
    if (s)
        hn_arena_free(s->arena);
}
