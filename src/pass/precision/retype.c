/* Changes the type of values: see retype.h. */
#include "pass/precision/retype.h"
#include "pass/engine/opt_log.h"

/* ---- asking ---------------------------------------------------------------------------------- */

bool hn_retype_is_old(const hn_retyping *w, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(w->g, value)->type;
    return t && t->kind == HN_TYPE_TENSOR && t->elem == w->from;
}

static bool holds_old(const hn_retyping *w, const hn_type *t) {
    for (; t; t = t->inner)
        if (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE)
            return t->elem == w->from;
    return false;
}

static bool holds_old_inside(const hn_retyping *w, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(w->g, value)->type;
    return t && t->kind != HN_TYPE_TENSOR && holds_old(w, t);
}

bool hn_retype_allows(const hn_retyping *w, hn_id node, bool is_input, uint32_t i) {
    int since;
    bool deprecated;
    hn_param param;
    const hn_op *op = hn_node_op(w->g, hn_node_at(w->g, node), &since, &deprecated);
    hn_type type = {.kind = HN_TYPE_TENSOR, .elem = w->to, .shape = {.rank = -1}};
    return op && hn_op_arg(op, is_input ? HN_OP_INPUTS : HN_OP_OUTPUTS, since, i, &param) &&
           hn_op_type_allowed(op, since, &param, &type);
}

bool hn_retype_schema_fits(const hn_retyping *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    bool any = false;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (holds_old_inside(w, n->outputs[i]))
            return false;
        if (hn_retype_is_old(w, n->outputs[i]) && !hn_retype_allows(w, node, false, i))
            return false;
        any = any || hn_retype_is_old(w, n->outputs[i]);
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (holds_old_inside(w, n->inputs[i]))
            return false;
        any = any || (hn_retype_is_old(w, n->inputs[i]) && hn_retype_allows(w, node, true, i));
    }
    return any;
}

/* ---- which values ---------------------------------------------------------------------------- */

/* True when the inputs and outputs of a block change their type. Bodies follow the node that
 * owns them. */
static bool is_new_block(const hn_retyping *w, hn_id block) {
    hn_id owner = hn_block_at(w->g, block)->owner;
    return owner == HN_NONE ? !w->keep_io : owner < w->n_nodes && w->is_new_node[owner];
}

/* Graph inputs with initializers are weights that a caller may replace. */
static void judge_values(hn_retyping *w) {
    for (hn_id id = 0; id < w->n_values; id++) {
        const hn_value *v = hn_value_at(w->g, id);
        if (!hn_retype_is_old(w, id) || v->sparse_init)
            continue;
        w->is_new_value[id] = v->producer != HN_NONE ? w->is_new_node[v->producer]
                              : v->is_input
                                  ? (v->init && !w->keep_listed) || is_new_block(w, v->block)
                                  : false;
    }
}

/* Cast to other types, Shape, ArgMax: one input of the old type and no output of it. */
static bool takes_either(const hn_retyping *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    uint32_t n_old = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        n_old += hn_retype_is_old(w, n->inputs[i]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        n_old += 2 * hn_retype_is_old(w, n->outputs[i]);
    return n_old == 1 && w->is_new_node[node];
}

/* Before inputs are replaced one by one. */
static void judge_nodes(hn_retyping *w) {
    for (hn_id id = 0; id < w->n_nodes; id++)
        w->takes_either[id] = hn_node_at(w->g, id)->block != HN_NONE && takes_either(w, id);
}

/* True when a reader needs a value in the new type. */
static bool wants_new(const hn_retyping *w, hn_id value, const hn_use *use) {
    if (use->node == HN_NONE)
        return is_new_block(w, use->slot);
    if (!w->is_new_node[use->node] || !hn_retype_allows(w, use->node, true, use->slot))
        return false;
    return w->is_new_value[value] || !w->takes_either[use->node];
}

/* ---- changing -------------------------------------------------------------------------------- */

static hone_status set_elem(hn_retyping *w, hn_value *v, hn_dtype elem) {
    hn_type *t = hn_arena_copy(w->g->model->arena, v->type, sizeof *t);
    HN_TRY_PTR(t);
    t->elem = elem;
    t->unknown = (hn_bytes){0};
    v->type = t;
    return HONE_OK;
}

/* A constant is converted instead of cast. */
static hone_status converted_copy(hn_retyping *w, hn_id value, hn_id *out) {
    const hn_value v = *hn_value_at(w->g, value);
    const hn_tensor *t = w->convert(w, value, v.init);
    hn_str name = hn_graph_fresh_name(w->g, hn_s(v.name));
    *out = t && name ? hn_graph_add_value(w->g, v.block, name) : HN_NONE;
    if (*out == HN_NONE || !hn_graph_add_init(w->g, *out, t))
        return HONE_E_NOMEM;
    hn_value_at(w->g, *out)->type = v.type;
    return set_elem(w, hn_value_at(w->g, *out), w->to);
}

static hone_status add_cast(hn_retyping *w, hn_id value, hn_dtype to, hn_id *out) {
    hn_model *m = w->g->model;
    const hn_value v = *hn_value_at(w->g, value);
    hn_attr attr = {.kind = HN_ATTR_INT, .n = 1, .name = hn_intern_z(m->names, "to"), .v.i = to};
    hn_str op = hn_intern_z(m->names, "Cast"), name = hn_graph_fresh_name(w->g, hn_s(v.name));
    hn_str label = v.producer == HN_NONE ? NULL : hn_node_at(w->g, v.producer)->name;
    if (!attr.name || !op || !name)
        return HONE_E_NOMEM;
    hn_id node = hn_graph_add_node(w->g, v.block, NULL, op, label, 1, 1, 1, &attr);
    *out = node == HN_NONE ? HN_NONE : hn_graph_add_value(w->g, v.block, name);
    if (*out == HN_NONE || !hn_graph_set_input(w->g, node, 0, value))
        return HONE_E_NOMEM;
    hn_graph_set_output(w->g, node, 0, *out);
    w->n_casts++;
    hn_value_at(w->g, *out)->type = v.type;
    return set_elem(w, hn_value_at(w->g, *out), to);
}

static hone_status in_other_type(hn_retyping *w, hn_id value, hn_id *out) {
    const hn_value *v = hn_value_at(w->g, value);
    if (w->other[value] == HN_NONE) {
        bool is_constant = v->init && !v->is_input && v->init->data && !w->is_new_value[value];
        HN_TRY(is_constant ? converted_copy(w, value, &w->other[value])
                           : add_cast(w, value, w->is_new_value[value] ? w->from : w->to,
                                      &w->other[value]));
    }
    *out = w->other[value];
    return HONE_OK;
}

/* The outputs of the main graph keep their names, whichever node makes them. */
static hone_status redirect(hn_retyping *w, hn_id value, hn_use use, hn_id with) {
    if (use.node != HN_NONE)
        return hn_graph_set_input(w->g, use.node, use.slot, with) ? HONE_OK : HONE_E_NOMEM;
    const hn_block *b = hn_block_at(w->g, use.slot);
    for (uint32_t i = 0; i < b->outputs.n; i++)
        if (b->outputs.at[i] == value) {
            if (!hn_graph_set_output_at(w->g, use.slot, i, with))
                return HONE_E_NOMEM;
            break;
        }
    const hn_value *v = hn_value_at(w->g, value);
    if (use.slot == 0 && !v->is_input) {
        hn_graph_swap_names(w->g, value, with);
        hn_value_at(w->g, with)->is_declared = v->is_declared;
    }
    return HONE_OK;
}

/* Readers that need the other type read a converted copy. */
static hone_status serve_readers(hn_retyping *w, hn_id value) {
    uint32_t n = hn_value_at(w->g, value)->uses.n;
    if (n == 0)
        return HONE_OK;
    const hn_use *uses = hn_arena_copy(w->pass->scratch, hn_value_at(w->g, value)->uses.at,
                                       n * sizeof *uses); /* a copy, because the list changes */
    HN_TRY_PTR(uses);
    for (uint32_t i = 0; i < n; i++) {
        hn_id with;
        if (wants_new(w, value, &uses[i]) == w->is_new_value[value])
            continue;
        HN_TRY(in_other_type(w, value, &with));
        HN_TRY(redirect(w, value, uses[i], with));
    }
    return HONE_OK;
}

static hone_status change_value(hn_retyping *w, hn_id value) {
    hn_value *v = hn_value_at(w->g, value);
    HN_TRY(set_elem(w, v, w->to));
    if (!v->init)
        return HONE_OK;
    v->init = w->convert(w, value, v->init);
    return v->init ? HONE_OK : HONE_E_NOMEM;
}

/* Attributes that name the type of an output, or hold its elements. */
static hone_status change_attrs(hn_retyping *w, hn_id node) {
    hn_node *n = hn_node_at(w->g, node);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        hn_attr *a = &n->attrs[i];
        if (strcmp(hn_s(a->name), "to") == 0 && a->kind == HN_ATTR_INT && a->v.i == w->from)
            a->v.i = w->to;
        if (a->kind == HN_ATTR_TENSOR && a->v.tensor->dtype == w->from) {
            a->v.tensor = w->convert(w, HN_NONE, a->v.tensor);
            HN_TRY_PTR(a->v.tensor);
        }
    }
    return HONE_OK;
}

static hone_status change_all(hn_retyping *w) {
    for (hn_id id = 0; id < w->n_values; id++)
        if (hn_retype_is_old(w, id))
            HN_TRY(serve_readers(w, id));
    for (hn_id id = 0; id < w->n_values; id++)
        if (w->is_new_value[id])
            HN_TRY(change_value(w, id));
    for (hn_id id = 0; id < w->n_nodes; id++)
        if (w->is_new_node[id])
            HN_TRY(change_attrs(w, id));
    return HONE_OK;
}

/* Weights keep their names; a constant that is read in the new type only is kept once. */
static void drop_old_constants(hn_retyping *w) {
    for (hn_id id = 0; id < w->n_values; id++) {
        const hn_value *v = hn_value_at(w->g, id);
        if (w->other[id] == HN_NONE || !v->init || v->is_input || v->uses.n > 0)
            continue;
        hn_graph_swap_names(w->g, id, w->other[id]);
        hn_graph_remove_value_listing(w->g, id);
        hn_value_at(w->g, id)->init = NULL;
    }
}

/* ---- the whole graph ------------------------------------------------------------------------- */

hone_status hn_retype_begin(hn_retyping *w) {
    hn_arena *a = w->pass->scratch;
    w->g = w->pass->g;
    w->n_nodes = w->g->nodes.n;
    w->n_values = w->g->values.n;
    w->is_new_node = HN_NEW_N(a, bool, (size_t)w->n_nodes + 1);
    w->takes_either = HN_NEW_N(a, bool, (size_t)w->n_nodes + 1);
    w->is_new_value = HN_NEW_N(a, bool, (size_t)w->n_values + 1);
    w->other = HN_NEW_N(a, hn_id, (size_t)w->n_values + 1);
    if (!w->is_new_node || !w->takes_either || !w->is_new_value || !w->other)
        return HONE_E_NOMEM;
    for (hn_id id = 0; id < w->n_values; id++)
        w->other[id] = HN_NONE;
    return HONE_OK;
}

/* Writes one log entry for the whole conversion. */
static hone_status log_retyping(hn_retyping *w, const char *rule) {
    hn_id first = 0;
    uint32_t n_new = 0, n_stay = 0;
    for (hn_id id = w->n_nodes; id-- > 0;) {
        const hn_node *n = hn_node_at(w->g, id);
        if (n->block == HN_NONE)
            continue;
        n_new += w->is_new_node[id];
        n_stay += !w->is_new_node[id];
        first = id;
    }
    hn_rule *r = hn_rewrite_begin(w->pass, rule, first);
    HN_TRY_PTR(r);
    const char *label = hn_log_label(r);
    HN_TRY_PTR(label);
    hn_detail(r, "%u nodes in %s, %u unchanged, %u casts", n_new, hn_dtype_name(w->to), n_stay,
              w->n_casts);
    w->pass->n_rewrites++;
    return hn_log_rewrite(r, label, w->n_casts, 0) ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_retype_apply(hn_retyping *w, const char *rule) {
    hn_pass *p = w->pass;
    judge_nodes(w);
    judge_values(w);
    HN_TRY(change_all(w));
    drop_old_constants(w);
    HN_TRY(log_retyping(w, rule));
    HN_TRY(hn_graph_sort(p->g, p->err));
    return hn_pass_refresh_facts(p);
}
