/* Inlining of model-local functions.
 *
 * First the calls are checked: recursion is refused, and operator sets must agree where necessary.
 * Then calls are replaced by the nodes of the body, one level at a time; nodes of the body that are
 * calls themselves are replaced next. */
#include "ir/graph_int.h"

/* ---- copying a body -------------------------------------------------------------------------- */

/* `from` is the function's graph, or the main graph itself when a subgraph that the call hands over
 * as an attribute is copied. Its tables may then grow while it is read: rows are copied first. */
typedef struct body_copy {
    hn_graph *g; /* the main graph, where copies go */
    const hn_graph *from;
    const hn_function *f;
    hn_id call;
    hn_str prefix;            /* of names, tells where nodes came from */
    hn_map values;            /* value of `from` -> value of g, or VALUE_ABSENT */
    uint32_t n_caller_values; /* values of g from here on are copies */
    hn_arena *scratch;
    hone_error *err;
} body_copy;

#define VALUE_ABSENT (HN_MAP_NONE - 1)

static hone_status fail_out_of_memory(const hn_graph *g) {
    return hn_arena_hit_limit(g->model->arena) ? HONE_E_LIMIT : HONE_E_NOMEM;
}

static const char *prefixed(const body_copy *c, hn_str name) {
    return hn_arena_printf(c->scratch, "%s/%s", hn_s(c->prefix), hn_s(name));
}

/* Symbols of a body mean something else in each call, so they are unknown outside. */
static const hn_type *type_outside(const body_copy *c, const hn_type *t) {
    if (c->from == c->g || !t || t->kind != HN_TYPE_TENSOR || t->shape.rank <= 0)
        return t;
    hn_arena *arena = c->g->model->arena;
    hn_type *copy = hn_arena_copy(arena, t, sizeof(*t));
    hn_dim *dims = HN_NEW_N(arena, hn_dim, (size_t)t->shape.rank);
    if (!copy || !dims)
        return NULL; /* the type is optional: continue without it */
    for (int32_t i = 0; i < t->shape.rank; i++)
        dims[i] = hn_dim_is_symbolic(t->shape.dims[i]) ? HN_DIM_UNKNOWN : t->shape.dims[i];
    copy->shape.dims = dims;
    return copy;
}

/* The copy of a value that is defined here, created in the given block of g on first use. */
static hone_status define_copy(body_copy *c, hn_id value, hn_id block, hn_id *out) {
    uint32_t known = value == HN_NONE ? VALUE_ABSENT : hn_map_get(&c->values, value);
    *out = known == VALUE_ABSENT ? HN_NONE : known;
    if (known != HN_MAP_NONE)
        return HONE_OK;
    const hn_value old = *hn_value_at(c->from, value);
    const char *text = prefixed(c, old.name);
    hn_str name = text ? hn_graph_fresh_name(c->g, text) : NULL;
    hn_id id = name ? hn_graph_add_value(c->g, block, name) : HN_NONE;
    if (id == HN_NONE || !hn_map_put(&c->values, value, id))
        return fail_out_of_memory(c->g);
    hn_value *v = hn_value_at(c->g, id);
    v->type = type_outside(c, old.type);
    v->is_declared = old.is_declared && v->type;
    *out = id;
    return HONE_OK;
}

/* The copy of a value that is read here. */
static hone_status read_copy(const body_copy *c, hn_id value, hn_id *out) {
    uint32_t known = value == HN_NONE ? VALUE_ABSENT : hn_map_get(&c->values, value);
    *out = known == VALUE_ABSENT ? HN_NONE : known;
    if (known != HN_MAP_NONE)
        return HONE_OK;
    if (c->from != c->g)
        return hn_fail(
            c->err, HONE_E_INVALID,
            "cannot inline function '%s': its body reads '%s' before anything defines it",
            hn_s(c->f->name), hn_s(hn_value_at(c->from, value)->name));
    *out = value; /* an outer value, the same for the copy */
    return HONE_OK;
}

/* Resolves a reference to an attribute of the call: the call's attribute, else the default, else
 * NULL. Blocks of the call's attributes are in g, those of defaults in the function's graph. */
static const hn_attr *attr_of_call(const body_copy *c, hn_str ref, const hn_graph **home) {
    *home = c->g;
    const hn_attr *given = hn_node_attr(hn_node_at(c->g, c->call), hn_s(ref));
    if (given)
        return given;
    *home = c->from;
    for (uint32_t i = 0; i < c->f->attr_defaults.n; i++) {
        if (c->f->attr_defaults.at[i].name == ref)
            return &c->f->attr_defaults.at[i];
    }
    return NULL;
}

static hone_status copy_block(body_copy *c, hn_id block, hn_id parent, hn_id owner, hn_id *out);

/* Gives a new node its own copies of the subgraphs that an attribute names in `home`. */
static hone_status copy_attr_blocks(body_copy *c, const hn_graph *home, hn_id node,
                                    uint32_t i_attr) {
    uint32_t n_blocks;
    const hn_attr attr = hn_node_at(c->g, node)->attrs[i_attr];
    const hn_id *blocks = hn_attr_blocks(&attr, &n_blocks);
    if (n_blocks == 0)
        return HONE_OK;
    hn_id *copies = HN_NEW_N(c->g->model->arena, hn_id, n_blocks);
    if (!copies)
        return fail_out_of_memory(c->g);
    body_copy of_call = *c;
    if (home != c->from) {
        of_call.from = home;
        hn_map_init(&of_call.values, c->scratch);
    }
    hn_id parent = hn_node_at(c->g, node)->block;
    body_copy *copier = home == c->from ? c : &of_call;
    for (uint32_t i = 0; i < n_blocks; i++)
        HN_TRY(copy_block(copier, blocks[i], parent, node, &copies[i]));
    hn_attr *own = &hn_node_at(c->g, node)->attrs[i_attr];
    if (own->kind == HN_ATTR_GRAPH)
        own->v.block = copies[0];
    else
        own->v.blocks = copies;
    return HONE_OK;
}

typedef struct bound_attrs {
    hn_attr *attrs;
    const hn_graph **homes; /* where each attribute's blocks live */
    uint32_t n;
} bound_attrs;

static bool bind_attrs(const body_copy *c, const hn_node *n, bound_attrs *out) {
    out->attrs = HN_NEW_N(c->scratch, hn_attr, n->n_attrs);
    out->homes = HN_NEW_N(c->scratch, const hn_graph *, n->n_attrs);
    if (!out->attrs || !out->homes)
        return false;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const hn_graph *home = c->from;
        const hn_attr *attr = &n->attrs[i];
        if (attr->ref && c->from != c->g)
            attr = attr_of_call(c, attr->ref, &home);
        if (!attr)
            continue;
        out->attrs[out->n] = *attr;
        out->attrs[out->n].name = n->attrs[i].name;
        out->homes[out->n++] = home;
    }
    return true;
}

/* The opset_version with which a node of the body keeps its meaning outside. */
static int64_t version_outside(const body_copy *c, const hn_node *n) {
    if (c->from == c->g)
        return n->opset_version;
    int64_t there = hn_opset_version(&c->f->opsets, n->domain);
    return there < 0 || there == hn_opset_version(c->g->opsets, n->domain) ? 0 : there;
}

static hone_status copy_node(body_copy *c, hn_id node, hn_id block) {
    const hn_node n = *hn_node_at(c->from, node);
    bound_attrs bound = {0};
    const char *text = hn_str_empty(n.name) ? NULL : prefixed(c, n.name);
    hn_str name = text ? hn_intern_z(c->g->model->names, text) : NULL;
    hn_id id = bind_attrs(c, &n, &bound)
                   ? hn_graph_add_node(c->g, block, n.domain, n.op, name, n.n_inputs, n.n_outputs,
                                       bound.n, bound.attrs)
                   : HN_NONE;
    if (id == HN_NONE)
        return fail_out_of_memory(c->g);
    hn_node_at(c->g, id)->extra = n.extra;
    hn_node_at(c->g, id)->opset_version = version_outside(c, &n);
    for (uint32_t i = 0; i < n.n_inputs; i++) {
        hn_id value;
        HN_TRY(read_copy(c, n.inputs[i], &value));
        if (!hn_graph_set_input(c->g, id, i, value))
            return fail_out_of_memory(c->g);
    }
    for (uint32_t i = 0; i < bound.n; i++)
        HN_TRY(copy_attr_blocks(c, bound.homes[i], id, i));
    for (uint32_t i = 0; i < n.n_outputs; i++) {
        hn_id value;
        HN_TRY(define_copy(c, n.outputs[i], block, &value));
        hn_graph_set_output(c->g, id, i, value);
    }
    return HONE_OK;
}

static hone_status copy_definitions(body_copy *c, const hn_block *from, hn_id block) {
    hn_id id;
    for (uint32_t i = 0; i < from->inputs.n; i++) {
        HN_TRY(define_copy(c, from->inputs.at[i], block, &id));
        if (!hn_graph_add_input(c->g, block, id))
            return fail_out_of_memory(c->g);
    }
    for (uint32_t i = 0; i < from->inits.n; i++) {
        HN_TRY(define_copy(c, from->inits.at[i], block, &id));
        if (!hn_graph_add_init(c->g, id, hn_value_at(c->from, from->inits.at[i])->init))
            return fail_out_of_memory(c->g);
    }
    for (uint32_t i = 0; i < from->sparse_inits.n; i++) {
        HN_TRY(define_copy(c, from->sparse_inits.at[i], block, &id));
        const hn_sparse *data = hn_value_at(c->from, from->sparse_inits.at[i])->sparse_init;
        hn_value_at(c->g, id)->sparse_init = data;
        if (!HN_VEC_PUSH(c->g->model->arena, &hn_block_at(c->g, block)->sparse_inits, id))
            return fail_out_of_memory(c->g);
    }
    return HONE_OK;
}

/* Declared types of values that have a copy; those bound to values of the caller keep the caller's.
 */
static hone_status copy_value_infos(const body_copy *c, const hn_block *from, hn_id block) {
    for (uint32_t i = 0; i < from->value_infos.n; i++) {
        uint32_t id = hn_map_get(&c->values, from->value_infos.at[i]);
        if (id == HN_MAP_NONE || id == VALUE_ABSENT || id < c->n_caller_values)
            continue;
        if (!HN_VEC_PUSH(c->g->model->arena, &hn_block_at(c->g, block)->value_infos, id))
            return fail_out_of_memory(c->g);
    }
    return HONE_OK;
}

/* Recursion (blocks of nodes of blocks) is bounded by HN_MAX_BLOCK_DEPTH. */
static hone_status copy_block(body_copy *c, hn_id block, hn_id parent, hn_id owner, hn_id *out) {
    const hn_block from = *hn_block_at(c->from, block);
    if (hn_block_at(c->g, parent)->depth >= HN_MAX_BLOCK_DEPTH)
        return hn_fail(c->err, HONE_E_LIMIT,
                       "cannot inline function '%s': subgraphs would nest deeper than %d",
                       hn_s(c->f->name), HN_MAX_BLOCK_DEPTH);
    *out = hn_graph_add_block(c->g, parent, owner);
    if (*out == HN_NONE)
        return fail_out_of_memory(c->g);
    hn_block_at(c->g, *out)->name = from.name;
    hn_block_at(c->g, *out)->extra = from.extra;
    HN_TRY(copy_definitions(c, &from, *out));
    for (uint32_t i = 0; i < from.nodes.n; i++)
        HN_TRY(copy_node(c, from.nodes.at[i], *out));
    for (uint32_t i = 0; i < from.outputs.n; i++) {
        hn_id value;
        HN_TRY(read_copy(c, from.outputs.at[i], &value));
        if (value == HN_NONE)
            return hn_fail(c->err, HONE_E_UNSUPPORTED,
                           "cannot inline function '%s': a subgraph returns an input that the call "
                           "leaves out",
                           hn_s(c->f->name));
        if (!hn_graph_add_output(c->g, *out, value))
            return fail_out_of_memory(c->g);
    }
    return copy_value_infos(c, &from, *out);
}

/* ---- replacing calls ------------------------------------------------------------------------- */

static hone_status bind_inputs(body_copy *c, const hn_block *body) {
    for (uint32_t i = 0; i < body->inputs.n; i++) {
        const hn_node *call = hn_node_at(c->g, c->call);
        hn_id given = i < call->n_inputs ? call->inputs[i] : HN_NONE;
        if (!hn_map_put(&c->values, body->inputs.at[i], given == HN_NONE ? VALUE_ABSENT : given))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

/* A node of the body computes the call's value directly; only an output that is also another output
 * or an input needs an Identity, which is added after the body. */
static hone_status bind_outputs(body_copy *c, const hn_block *body, hn_id *by_identity) {
    const hn_node *call = hn_node_at(c->g, c->call);
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        hn_id value = body->outputs.at[i], given = call->outputs[i];
        by_identity[i] = HN_NONE;
        if (given == HN_NONE)
            continue;
        hn_graph_set_output(c->g, c->call, i, HN_NONE);
        if (hn_map_get(&c->values, value) != HN_MAP_NONE)
            by_identity[i] = given;
        else if (!hn_map_put(&c->values, value, given))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

static hone_status add_identity(body_copy *c, hn_id block, hn_id from, hn_id to) {
    hn_id input;
    HN_TRY(read_copy(c, from, &input));
    hn_str op = hn_intern_z(c->g->model->names, "Identity");
    hn_id id = op ? hn_graph_add_node(c->g, block, NULL, op, NULL, 1, 1, 0, NULL) : HN_NONE;
    if (id == HN_NONE || !hn_graph_set_input(c->g, id, 0, input))
        return fail_out_of_memory(c->g);
    hn_graph_set_output(c->g, id, 0, to);
    return HONE_OK;
}

/* Appends the body's nodes to the call's block and removes the call. */
static hone_status expand_call(hn_graph *g, hn_id call, const hn_function *f, hn_arena *scratch,
                               hone_error *err) {
    const hn_block *body = hn_block_at(f->graph, 0);
    const hn_node n = *hn_node_at(g, call);
    body_copy c = {.g = g, .from = f->graph, .f = f, .call = call, .scratch = scratch, .err = err};
    c.n_caller_values = g->values.n;
    c.prefix = hn_str_empty(n.name) ? f->name : n.name;
    hn_map_init(&c.values, scratch);
    hn_id *by_identity = HN_NEW_N(scratch, hn_id, n.n_outputs);
    HN_TRY_PTR(by_identity);
    HN_TRY(bind_inputs(&c, body));
    HN_TRY(bind_outputs(&c, body, by_identity));
    for (uint32_t i = 0; i < body->nodes.n; i++)
        HN_TRY(copy_node(&c, body->nodes.at[i], n.block));
    for (uint32_t i = 0; i < n.n_outputs; i++) {
        if (by_identity[i] != HN_NONE)
            HN_TRY(add_identity(&c, n.block, body->outputs.at[i], by_identity[i]));
    }
    hn_graph_remove_node(g, call);
    return copy_value_infos(&c, body, n.block);
}

typedef HN_VEC(hn_id) node_list;

static bool push_reversed(hn_arena *scratch, node_list *stack, const hn_id *nodes, uint32_t n) {
    if (!HN_VEC_RESERVE(scratch, stack, n))
        return false;
    while (n-- > 0)
        stack->at[stack->n++] = nodes[n];
    return true;
}

/* The block's list is empty while its nodes are on the stack, so that an expansion appends exactly
 * the nodes to be processed next. */
static hone_status expand_block(hn_graph *g, hn_id block, hn_arena *scratch, hone_error *err) {
    node_list pending = {0}, done = {0};
    hn_arena *names = hn_arena_new(hn_arena_allocator(scratch));
    hone_status status = names ? HONE_OK : HONE_E_NOMEM;
    hn_block *b = hn_block_at(g, block);
    if (!push_reversed(scratch, &pending, b->nodes.at, b->nodes.n))
        status = HONE_E_NOMEM;
    b->nodes.n = 0;
    while (status == HONE_OK && pending.n > 0) {
        hn_id node = pending.at[--pending.n];
        const hn_function *f = hn_node_function(g, node);
        if (!f) {
            status = HN_VEC_PUSH(scratch, &done, node) ? HONE_OK : HONE_E_NOMEM;
            continue;
        }
        hn_arena_mark mark = hn_arena_save(names);
        status = expand_call(g, node, f, names, err);
        hn_arena_restore(names, mark);
        b = hn_block_at(g, block);
        if (!push_reversed(scratch, &pending, b->nodes.at, b->nodes.n))
            status = HONE_E_NOMEM;
        b->nodes.n = 0;
    }
    hn_arena_free(names);
    if (status == HONE_OK && !HN_VEC_RESERVE(g->model->arena, &b->nodes, done.n))
        status = fail_out_of_memory(g);
    if (status == HONE_OK && done.n > 0)
        memcpy(b->nodes.at, done.at, done.n * sizeof(*done.at));
    b->nodes.n = status == HONE_OK ? done.n : 0;
    return status;
}

static hone_status inline_all(hn_model *m, hn_same_op_fn same_op, hn_arena *scratch,
                              hone_error *err) {
    HN_TRY(hn_inline_check(m, same_op, scratch, err));
    /* Expansions append blocks to the table; the loop reaches them, too. */
    for (hn_id block = 0; block < m->graph->blocks.n; block++)
        HN_TRY(expand_block(m->graph, block, scratch, err));
    for (hn_id id = 0; same_op && id < m->graph->nodes.n; id++)
        hn_node_at(m->graph, id)->opset_version = 0; /* the graph's means the same */
    return hn_model_drop_unused_functions(m) ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_model_inline(hn_model *m, hn_same_op_fn same_op, hone_error *err) {
    if (m->functions.n == 0)
        return HONE_OK;
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(scratch);
    hone_status status = inline_all(m, same_op, scratch, err);
    hn_arena_free(scratch);
    return status;
}
