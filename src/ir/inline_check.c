/* Checks before inlining: calls must not recurse, must match their functions, and must agree on
 * operator versions if the result is to be saved. */
#include "ir/graph_int.h"

#include <stdio.h>

#define MAX_CALL_DEPTH 64
#define MAX_INLINED_NODES 1000000u
#define FREE_INLINED_NODES 10000u /* whatever the size of the file */
#define INLINED_NODES_PER_BYTE 8u /* of the file: a layer of 200 nodes is called in 50 bytes */
#define CALL_OPEN (HN_MAP_NONE - 1)

typedef struct call_check {
    hn_model *m;
    hn_same_op_fn same_op; /* NULL: any version will do */
    uint32_t max_nodes;
    hn_map unfolded; /* function pointer -> nodes that a call adds, at most max_nodes; or CALL_OPEN
                        while they are counted */
    const hn_function *chain[MAX_CALL_DEPTH];
    uint32_t depth;
    hone_error *err;
} call_check;

static uint64_t function_pointer_key(const hn_function *f) {
    return (uint64_t)(uintptr_t)f;
}

static hone_status refuse_recursion(const call_check *c, const hn_function *f) {
    char text[600] = "";
    size_t used = 0;
    uint32_t i = 0;
    while (c->chain[i] != f)
        i++;
    for (; i < c->depth && used < sizeof(text); i++) {
        int n = snprintf(text + used, sizeof(text) - used, "%.80s -> ", hn_s(c->chain[i]->name));
        used += (size_t)HN_MAX(n, 0);
    }
    return hn_fail(c->err, HONE_E_INVALID, "cannot inline: function '%s' calls itself (%s%s)",
                   hn_s(f->name), text, hn_s(f->name));
}

/* A body may import a domain of its own; where both import it, its nodes must mean the same. */
static hone_status check_version(call_check *c, const hn_function *f, const hn_node *n) {
    int64_t here = hn_opset_version(&c->m->opsets, n->domain);
    int64_t there = hn_opset_version(&f->opsets, n->domain);
    if (there < 0 || here == there)
        return HONE_OK;
    if (here < 0) {
        hn_opset import = {.domain = n->domain, .version = there};
        return HN_VEC_PUSH(c->m->arena, &c->m->opsets, import) ? HONE_OK : HONE_E_NOMEM;
    }
    if (!c->same_op || c->same_op(c->m, n->domain, n->op, there, here))
        return HONE_OK;
    return hn_fail(c->err, HONE_E_UNSUPPORTED,
                   "cannot inline function '%s': it is written for version %lld of operator set "
                   "'%s' and the model imports version %lld, between which %s changed; convert one "
                   "of them first",
                   hn_s(f->name), (long long)there,
                   hn_domain_is_onnx(n->domain) ? "ai.onnx" : hn_s(n->domain), (long long)here,
                   hn_s(n->op));
}

static hone_status check_calls(call_check *c, const hn_graph *g, const hn_function *caller,
                               uint32_t *n_nodes);

/* Recursion is bounded by MAX_CALL_DEPTH. */
static hone_status check_call(call_check *c, const hn_function *f, uint32_t *n_nodes) {
    *n_nodes = hn_map_get(&c->unfolded, function_pointer_key(f));
    if (*n_nodes == CALL_OPEN)
        return refuse_recursion(c, f);
    if (*n_nodes != HN_MAP_NONE)
        return HONE_OK;
    if (c->depth == MAX_CALL_DEPTH)
        return hn_fail(c->err, HONE_E_LIMIT,
                       "cannot inline: calls nest deeper than %d, down to function '%s'",
                       MAX_CALL_DEPTH, hn_s(f->name));
    c->chain[c->depth++] = f;
    if (!hn_map_put(&c->unfolded, function_pointer_key(f), CALL_OPEN))
        return HONE_E_NOMEM;
    HN_TRY(check_calls(c, f->graph, f, n_nodes));
    c->depth--;
    hn_map_put(&c->unfolded, function_pointer_key(f), *n_nodes);
    return HONE_OK;
}

/* An output that is an input passed through needs that input. */
static bool passes_absent_input(const hn_function *f, const hn_node *n, uint32_t output) {
    const hn_block *body = hn_block_at(f->graph, 0);
    const hn_value *v = hn_value_at(f->graph, body->outputs.at[output]);
    return v->is_input && n->outputs[output] != HN_NONE &&
           (v->slot >= n->n_inputs || n->inputs[v->slot] == HN_NONE);
}

static hone_status check_arguments(const call_check *c, const hn_graph *g, hn_id node,
                                   const hn_function *f) {
    const hn_node *n = hn_node_at(g, node);
    const hn_block *body = hn_block_at(f->graph, 0);
    char label[128];
    hn_node_label(g, node, label, sizeof(label));
    if (n->n_inputs > body->inputs.n || n->n_outputs > body->outputs.n)
        return hn_fail(
            c->err, HONE_E_INVALID,
            "cannot inline: node '%s' calls function '%s' with %u inputs and %u outputs, "
            "but it has %u and %u",
            label, hn_s(f->name), n->n_inputs, n->n_outputs, body->inputs.n, body->outputs.n);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const hn_value *v = hn_value_at(f->graph, body->outputs.at[i]);
        if (v->producer == HN_NONE && !v->is_input)
            return hn_fail(c->err, HONE_E_INVALID,
                           "cannot inline: function '%s' never computes its output '%s'",
                           hn_s(f->name), hn_s(v->name));
        if (passes_absent_input(f, n, i))
            return hn_fail(c->err, HONE_E_UNSUPPORTED,
                           "cannot inline: node '%s' leaves out input %u of function '%s', which "
                           "returns it as output %u",
                           label, v->slot, hn_s(f->name), i);
    }
    return HONE_OK;
}

/* Nested calls can grow exponentially, so nodes are counted before any is created. */
static hone_status count_inlined(const call_check *c, const hn_function *f, uint32_t *n_nodes,
                                 uint32_t n_more) {
    *n_nodes += n_more;
    if (!f || *n_nodes <= c->max_nodes)
        return HONE_OK;
    return hn_fail(c->err, HONE_E_LIMIT,
                   "cannot inline: with the body of function '%s' the graph would pass %u nodes",
                   hn_s(f->name), c->max_nodes);
}

/* *n_nodes: of the graph with everything inlined. */
static hone_status check_calls(call_check *c, const hn_graph *g, const hn_function *caller,
                               uint32_t *n_nodes) {
    *n_nodes = 0;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        uint32_t n_more = 1;
        if (hn_node_at(g, id)->block == HN_NONE)
            continue;
        const hn_function *f = hn_node_function(g, id);
        if (f) {
            HN_TRY(check_arguments(c, g, id, f));
            HN_TRY(check_call(c, f, &n_more));
        } else if (caller) {
            HN_TRY(check_version(c, caller, hn_node_at(g, id)));
        }
        HN_TRY(count_inlined(c, f, n_nodes, n_more));
    }
    return HONE_OK;
}

static uint32_t max_inlined_nodes(const hn_model *m) {
    uint64_t by_file = HN_MIN(m->file_bytes, MAX_INLINED_NODES) * INLINED_NODES_PER_BYTE;
    return (uint32_t)HN_MIN(FREE_INLINED_NODES + by_file, MAX_INLINED_NODES);
}

hone_status hn_inline_check(hn_model *m, hn_same_op_fn same_op, hn_arena *scratch,
                            hone_error *err) {
    call_check c = {.m = m, .same_op = same_op, .max_nodes = max_inlined_nodes(m), .err = err};
    uint32_t n_imports = m->opsets.n, n_nodes;
    hn_map_init(&c.unfolded, scratch);
    hone_status status = check_calls(&c, m->graph, NULL, &n_nodes);
    if (status != HONE_OK)
        m->opsets.n = n_imports;
    return status;
}
