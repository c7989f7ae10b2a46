/* Nodes of random graphs: added, evaluated, and taken out again when they do not fit. */
#include "random/grow.h"

#include <math.h>

#define MAX_PORTS 32 /* inputs and outputs of a node */

/* ---- attributes ------------------------------------------------------------------------------ */

static hn_attr attr_named(grower *w, const char *name, hn_attr_kind kind) {
    return (hn_attr){.kind = kind, .n = 1, .name = hn_intern_z(w->model->names, name)};
}

hn_attr grow_attr_i(grower *w, const char *name, int64_t v) {
    hn_attr a = attr_named(w, name, HN_ATTR_INT);
    a.v.i = v;
    return a;
}

hn_attr grow_attr_f(grower *w, const char *name, float v) {
    hn_attr a = attr_named(w, name, HN_ATTR_FLOAT);
    a.v.f = v;
    return a;
}

hn_attr grow_attr_s(grower *w, const char *name, const char *v) {
    hn_attr a = attr_named(w, name, HN_ATTR_STRING);
    a.v.s = (hn_bytes){hn_arena_copy(w->model->arena, v, strlen(v) + 1), strlen(v)};
    return a;
}

hn_attr grow_attr_ints(grower *w, const char *name, uint32_t n, const int64_t *v) {
    hn_attr a = attr_named(w, name, HN_ATTR_INTS);
    a.n = n;
    a.v.ints = hn_arena_copy(w->model->arena, v, n * sizeof *v);
    return a;
}

hn_attr grow_attr_floats(grower *w, const char *name, uint32_t n, const float *v) {
    hn_attr a = attr_named(w, name, HN_ATTR_FLOATS);
    a.n = n;
    a.v.floats = hn_arena_copy(w->model->arena, v, n * sizeof *v);
    return a;
}

hn_attr grow_attr_block(grower *w, const char *name, hn_id block) {
    hn_attr a = attr_named(w, name, HN_ATTR_GRAPH);
    a.v.block = block;
    return a;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static bool has_body(const hn_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        if (hn_attr_blocks(&n->attrs[i], &n_blocks))
            return true;
    }
    return false;
}

/* Dropout draws numbers in training alone, which needs a third input. */
static bool is_wanted(const grower *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    int since;
    bool is_deprecated;
    const hn_op *op = hn_node_op(w->g, n, &since, &is_deprecated);
    if (!op || is_deprecated || hn_op_is_extension(op))
        return false;
    return hn_is_repeatable(w->g, node) || (hn_str_is(n->op, "Dropout") && n->n_inputs < 3);
}

static bool is_small(const hn_object *o) {
    if (!o || o->kind != HN_OBJECT_TENSOR)
        return o != NULL;
    return o->array.rank <= GROWN_MAX_RANK && o->array.n_elems <= GROWN_MAX_ELEMS &&
           o->array.dtype != HN_STRING;
}

/* Bodies make their outputs themselves. */
static hone_status run_with_body(grower *w, hn_id node, hn_object **args, const bool *wanted,
                                 hn_object **rets, hone_error *err) {
    const hn_node *n = hn_node_at(w->g, node);
    infer_job job = {.model = w->model, .work = w->host.scratch, .ignore_declared = true};
    infer_scope scope = {.job = &job, .g = w->g};
    hn_eval c = {.node = {.scope = &scope, .id = node, .node = n},
                 .host = &w->host,
                 .n_args = n->n_inputs,
                 .n_rets = n->n_outputs,
                 .args = args,
                 .rets = rets,
                 .wanted = wanted,
                 .err = err};
    for (uint32_t i = 0; i < n->n_outputs; i++)
        rets[i] = NULL;
    if (!hn_node_form_ok(w->g, NULL, node, NULL, &c.node.op, &c.node.version) || !c.node.op)
        return HONE_E_INVALID;
    hone_status status = hn_eval_check_args(&c);
    return status == HONE_OK ? c.node.op->impl->eval(&c) : status;
}

bool grow_compute(grower *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    hn_object *args[MAX_PORTS] = {NULL}, *rets[MAX_PORTS];
    bool wanted[MAX_PORTS], ok;
    hone_error err = {0};
    if (n->n_inputs > MAX_PORTS || n->n_outputs > MAX_PORTS)
        return false;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        args[i] = n->inputs[i] == HN_NONE ? NULL : w->data.at[n->inputs[i]];
    for (uint32_t i = 0; i < n->n_outputs; i++)
        wanted[i] = n->outputs[i] != HN_NONE;
    hn_arena_mark mark = hn_arena_save(w->host.scratch);
    ok = (has_body(n) ? run_with_body(w, node, args, wanted, rets, &err)
                      : hn_eval_once(&w->host, w->g, node, args, wanted, rets, &err)) == HONE_OK;
    hn_arena_restore(w->host.scratch, mark);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        ok = ok && (!wanted[i] || is_small(rets[i]));
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (ok && wanted[i])
            grow_set_data(w, n->outputs[i], rets[i]);
        else if (rets[i])
            hn_heap_unref(w->host.heap, rets[i]);
    }
    return ok;
}

hone_status grow_run_block(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                           uint32_t n_out, hn_object **out, hone_error *err) {
    grower *w = run;
    const hn_block *b = hn_block_at(w->g, block);
    if (n_in != b->inputs.n || n_out != b->outputs.n)
        return hn_fail(err, HONE_E_INVALID, "the body has other inputs or outputs");
    for (uint32_t i = 0; i < n_in; i++)
        grow_set_data(w, b->inputs.at[i], hn_heap_ref(w->host.heap, in[i]));
    for (uint32_t i = 0; i < b->nodes.n; i++)
        if (!grow_compute(w, b->nodes.at[i]))
            return hn_fail(err, HONE_E_INVALID, "a node of the body does not run");
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = hn_heap_ref(w->host.heap, w->data.at[b->outputs.at[i]]);
    return HONE_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

hn_id grow_add(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
               uint32_t n_attrs, const hn_attr *attrs) {
    return grow_add_of(w, NULL, op, n_in, in, n_out, n_attrs, attrs);
}

hn_id grow_add_of(grower *w, hn_str domain, const char *op, uint32_t n_in, const hn_id *in,
                  uint32_t n_out, uint32_t n_attrs, const hn_attr *attrs) {
    while (n_in > 0 && in[n_in - 1] == HN_NONE)
        n_in--;
    hn_id node = hn_graph_add_node(w->g, w->block, domain, hn_intern_z(w->model->names, op),
                                   hn_graph_fresh_name(w->g, "n"), n_in, n_out, n_attrs, attrs);
    if (node == HN_NONE)
        grow_fail("no memory");
    for (uint32_t i = 0; i < n_in; i++)
        if (in[i] != HN_NONE && !hn_graph_set_input(w->g, node, i, in[i]))
            grow_fail("no memory");
    for (uint32_t i = 0; i < n_out; i++) {
        hn_id value = hn_graph_add_value(w->g, w->block, hn_graph_fresh_name(w->g, "v"));
        if (value == HN_NONE)
            grow_fail("no memory");
        hn_graph_set_output(w->g, node, i, value);
        grow_set_data(w, value, NULL);
    }
    return node;
}

/* Results that are NaN or infinite everywhere hide what comes after. */
static bool is_of_use(const hn_object *o) {
    const hn_array *a = &o->array;
    if (o->kind != HN_OBJECT_TENSOR || !hn_dtype_is_float(a->dtype) || a->n_elems == 0)
        return o->kind == HN_OBJECT_TENSOR;
    for (uint64_t i = 0; i < a->n_elems; i++) {
        double v;
        hn_load_f64(a, i, 1, &v);
        if (isfinite(v))
            return true;
    }
    return false;
}

bool grow_settle(grower *w, hn_id node) {
    if (!is_wanted(w, node) || !grow_compute(w, node)) {
        hn_graph_remove_node(w->g, node);
        w->n_refused++;
        return false;
    }
    const hn_node *n = hn_node_at(w->g, node);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && is_of_use(w->data.at[n->outputs[i]]))
            grow_let_read(w, n->outputs[i]);
    return true;
}

hn_id grow_node(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
                uint32_t n_attrs, const hn_attr *attrs) {
    hn_id node = grow_add(w, op, n_in, in, n_out, n_attrs, attrs);
    return grow_settle(w, node) ? node : HN_NONE;
}

hn_id grow_out(const grower *w, hn_id node, uint32_t i) {
    return node == HN_NONE ? HN_NONE : hn_node_at(w->g, node)->outputs[i];
}

hn_id grow_make(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
                const hn_attr *attrs) {
    if (n_in > 0 && in[0] == HN_NONE)
        return HN_NONE;
    return grow_out(w, grow_node(w, op, n_in, in, 1, n_attrs, attrs), 0);
}

hn_id grow_unary(grower *w, const char *op, hn_id x) {
    return grow_make(w, op, HN_VALUES(x), HN_NO_ATTRS);
}

hn_id grow_binary(grower *w, const char *op, hn_id x, hn_id y) {
    return y == HN_NONE ? HN_NONE : grow_make(w, op, HN_VALUES(x, y), HN_NO_ATTRS);
}

hn_id grow_with_list(grower *w, const char *op, hn_id x, const char *list, uint32_t n,
                     const int64_t *v, uint32_t n_attrs, const hn_attr *attrs) {
    int since;
    bool deprecated;
    hn_attr_spec spec;
    hn_attr all[8];
    const hn_op *row = hn_op_find(NULL, HN_DOMAIN_ONNX, op, w->opset, &since, &deprecated);
    if (!row || x == HN_NONE || n_attrs + 1 > HN_COUNT(all))
        return HN_NONE;
    if (!hn_op_attr_find(row, since, list, strlen(list), &spec))
        return grow_make(w, op, HN_VALUES(x, grow_ints(w, n, v)), n_attrs, attrs);
    if (n_attrs)
        memcpy(all, attrs, n_attrs * sizeof *attrs);
    all[n_attrs] = grow_attr_ints(w, list, n, v);
    return grow_make(w, op, HN_VALUES(x), n_attrs + 1, all);
}
