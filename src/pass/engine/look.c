/* What rules see of the graph: makers and readers, types, constants, attributes. */
#include "pass/engine/pass_int.h"

#include <math.h>

#define SAME_NUMBER 1e-4 /* relative; exporters round constants to what their type holds */
#define FEW_ELEMS 4096   /* constants up to this size are read element by element */

/* ---- nodes ----------------------------------------------------------------------------------- */

hn_id hn_in(const hn_rule *r, hn_id node, uint32_t i) {
    const hn_node *n = hn_at(r, node);
    return i < n->n_inputs ? n->inputs[i] : HN_NONE;
}

hn_id hn_out(const hn_rule *r, hn_id node, uint32_t i) {
    if (node == HN_NONE)
        return HN_NONE;
    if (node >= r->g->nodes.n)
        return hn_patch_output(r->patch, node, i);
    const hn_node *n = hn_at(r, node);
    return i < n->n_outputs ? n->outputs[i] : HN_NONE;
}

static bool list_has(const char *ops, hn_str op) {
    for (const char *at = ops;; at++) {
        if (strncmp(at, op->s, op->n) == 0 && (at[op->n] == '|' || at[op->n] == '\0'))
            return true;
        at = strchr(at, '|');
        if (!at)
            return false;
    }
}

bool hn_is_op(const hn_rule *r, hn_id node, const char *ops) {
    const hn_node *n = hn_at(r, node);
    bool is_ms = strncmp(ops, "ms.", 3) == 0;
    if (n->opset_version) /* rules think of the graph's version, where it may mean something else */
        return false;
    if (hn_facts_is_invalid(r->pass->facts, node))
        return false;
    if (is_ms ? !hn_str_is(n->domain, "com.microsoft") : !hn_domain_is_onnx(n->domain))
        return false;
    return list_has(is_ms ? ops + 3 : ops, n->op);
}

hn_id hn_maker(const hn_rule *r, hn_id value, const char *ops) {
    if (value == HN_NONE || value >= r->g->values.n)
        return HN_NONE;
    const hn_value *v = hn_value_at(r->g, value);
    bool fits = v->producer != HN_NONE && v->slot == 0 && hn_is_op(r, v->producer, ops);
    return fits ? v->producer : HN_NONE;
}

bool hn_stands_first(const hn_rule *r, uint32_t n, const hn_id *nodes) {
    const hn_block *b = hn_block_at(r->g, hn_at(r, r->root)->block);
    for (uint32_t i = 0; i < b->nodes.n && b->nodes.at[i] != r->root; i++)
        for (uint32_t k = 0; k < n; k++)
            if (b->nodes.at[i] == nodes[k])
                return false;
    return true;
}

hn_id hn_only_reader(const hn_rule *r, hn_id value) {
    const hn_value *v = hn_value_at(r->g, value);
    return v->uses.n == 1 ? v->uses.at[0].node : HN_NONE;
}

hn_id hn_lone_reader(const hn_rule *r, hn_id value, const char *ops) {
    hn_id node = hn_only_reader(r, value);
    bool fits = node != HN_NONE && hn_is_op(r, node, ops) &&
                hn_at(r, node)->block == hn_at(r, r->root)->block;
    return fits ? node : HN_NONE;
}

bool hn_is_graph_output(const hn_rule *r, hn_id value) {
    return hn_value_is_output(hn_value_at(r->g, value), HN_NONE);
}

uint32_t hn_n_readers(const hn_rule *r, hn_id value) {
    return hn_value_at(r->g, value)->uses.n;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const hn_type *tensor_type(const hn_rule *r, hn_id value) {
    if (value == HN_NONE || value >= r->g->values.n)
        return NULL;
    const hn_type *t = hn_value_at(r->g, value)->type;
    return t && t->kind == HN_TYPE_TENSOR ? t : NULL;
}

hn_dtype hn_elem_of(const hn_rule *r, hn_id value) {
    const hn_type *t = tensor_type(r, value);
    return t ? t->elem : HN_UNDEFINED;
}

const hn_shape *hn_shape_of(const hn_rule *r, hn_id value) {
    const hn_type *t = tensor_type(r, value);
    return t && t->shape.rank >= 0 ? &t->shape : NULL;
}

int32_t hn_rank_of(const hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    return s ? s->rank : -1;
}

hn_dim hn_dim_of(const hn_rule *r, hn_id value, int32_t axis) {
    const hn_shape *s = hn_shape_of(r, value);
    if (!s)
        return HN_DIM_UNKNOWN;
    axis += axis < 0 ? s->rank : 0;
    return axis >= 0 && axis < s->rank ? s->dims[axis] : HN_DIM_UNKNOWN;
}

bool hn_same_shape(const hn_rule *r, hn_id a, hn_id b) {
    const hn_shape *x = hn_shape_of(r, a), *y = hn_shape_of(r, b);
    if (!x || !y || x->rank != y->rank)
        return false;
    for (int32_t i = 0; i < x->rank; i++)
        if (x->dims[i] == HN_DIM_UNKNOWN || x->dims[i] != y->dims[i])
            return false;
    return true;
}

bool hn_is_static(const hn_rule *r, hn_id value) {
    const hn_shape *s = hn_shape_of(r, value);
    for (int32_t i = 0; s && i < s->rank; i++)
        if (!hn_dim_is_known(s->dims[i]))
            return false;
    return s != NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

const hn_tensor *hn_const(const hn_rule *r, hn_id value) {
    return value == HN_NONE ? NULL : hn_facts_const(r->pass->facts, value);
}

bool hn_const_f64(const hn_rule *r, hn_id value, double *out) {
    const hn_tensor *t = hn_const(r, value);
    if (!t || t->n_elems == 0 || t->n_elems > FEW_ELEMS || !hn_tensor_get_f64(t, 0, out))
        return false;
    for (uint64_t i = 1; i < t->n_elems; i++) {
        double v;
        if (!hn_tensor_get_f64(t, i, &v) || !(v == *out))
            return false;
    }
    return true;
}

bool hn_const_is(const hn_rule *r, hn_id value, double number) {
    double v;
    if (!hn_const_f64(r, value, &v))
        return false;
    return v == number || fabs(v - number) <= SAME_NUMBER * fabs(number);
}

bool hn_const_i64s(const hn_rule *r, hn_id value, uint32_t *n, const int64_t **out) {
    const hn_tensor *t = hn_const(r, value);
    if (!t || t->rank > 1 || t->n_elems > FEW_ELEMS)
        return false;
    int64_t *copy = HN_NEW_N(r->pass->rule_scratch, int64_t, (size_t)t->n_elems + 1);
    for (uint64_t i = 0; copy && i < t->n_elems; i++)
        if (!hn_tensor_get_i64(t, i, &copy[i]))
            return false;
    *n = (uint32_t)t->n_elems;
    *out = copy;
    return copy != NULL;
}

bool hn_ints(const hn_rule *r, hn_id value, uint32_t *n, const hn_sint **elems) {
    bool is_scalar;
    return value != HN_NONE && hn_facts_ints(r->pass->facts, value, n, elems, &is_scalar);
}

/* ---- attributes ------------------------------------------------------------------------------ */

int64_t hn_node_i(const hn_rule *r, hn_id node, const char *name, int64_t def) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) ? hn_attr_i(&c, name, def) : def;
}

float hn_node_f(const hn_rule *r, hn_id node, const char *name, float def) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) ? hn_attr_f(&c, name, def) : def;
}

bool hn_node_s_is(const hn_rule *r, hn_id node, const char *name, const char *text) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) && hn_attr_is(&c, name, text);
}

bool hn_node_ints(const hn_rule *r, hn_id node, const char *name, uint32_t *n,
                  const int64_t **out) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) && hn_attr_ints(&c, name, n, out);
}

bool hn_node_list(const hn_rule *r, hn_id node, const char *name, uint32_t input, uint32_t *n,
                  const int64_t **out) {
    if (hn_node_attr(hn_at(r, node), name))
        return hn_node_ints(r, node, name, n, out);
    return hn_const_i64s(r, hn_in(r, node, input), n, out);
}

const hn_activation_row *hn_activation_of(const hn_rule *r, hn_id node) {
    hn_str op = hn_at(r, node)->op;
    return hn_activation_find((hn_bytes){op->s, op->n});
}

/* Clip has its parameters as constant inputs since version 11. */
bool hn_node_activation(const hn_rule *r, hn_id node, const hn_activation_row *row,
                        float params[2]) {
    for (uint32_t i = 0; i < row->n_params; i++) {
        hn_id input = hn_in(r, node, i + 1);
        double v = (double)hn_node_f(r, node, row->params[i], (float)row->defaults[i]);
        if (input != HN_NONE && !hn_const_f64(r, input, &v))
            return false;
        params[i] = (float)v;
    }
    return true;
}

int hn_node_version(const hn_rule *r, hn_id node) {
    hn_infer c;
    return hn_facts_view(r->pass->facts, node, &c) ? c.version : 0;
}
