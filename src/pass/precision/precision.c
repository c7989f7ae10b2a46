/* Converts float to float16 or bfloat16: nodes compute in half precision unless a rule keeps them
 * in float, a value has the type its producer gives it, and one Cast serves all readers that need
 * the other type. The nodes stay the same, so this pass edits the graph in place. */
#include "pass/precision/precision.h"
#include "pass/engine/opt_log.h"

/* ---- which values ---------------------------------------------------------------------------- */

/* True when the inputs and outputs of a block are in half precision. Bodies follow the node that
 * owns them. */
static bool is_narrow_block(const hn_narrowing *w, hn_id block) {
    hn_id owner = hn_block_at(w->g, block)->owner;
    return owner == HN_NONE ? !w->wish->keep_io : owner < w->n_nodes && w->is_narrow_node[owner];
}

/* Graph inputs with initializers are weights that a caller may replace; their type may change. */
static void judge_values(hn_narrowing *w) {
    for (hn_id id = 0; id < w->n_values; id++) {
        const hn_value *v = hn_value_at(w->g, id);
        if (!hn_is_float_value(w, id) || v->sparse_init)
            continue;
        w->is_narrow_value[id] = v->producer != HN_NONE ? w->is_narrow_node[v->producer]
                                 : v->is_input          ? v->init || is_narrow_block(w, v->block)
                                                        : false;
    }
}

/* Cast to other types, Shape, ArgMax: one float input and no float output. */
static bool takes_either(const hn_narrowing *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    uint32_t n_floats = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        n_floats += hn_is_float_value(w, n->inputs[i]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        n_floats += 2 * hn_is_float_value(w, n->outputs[i]);
    return n_floats == 1 && w->is_narrow_node[node];
}

/* True when a reader needs a float value in half precision. */
static bool wants_narrow(const hn_narrowing *w, hn_id value, const hn_use *use) {
    if (use->node == HN_NONE)
        return is_narrow_block(w, use->slot);
    if (!w->is_narrow_node[use->node] || !hn_narrow_allows(w, use->node, true, use->slot))
        return false;
    return w->is_narrow_value[value] || !takes_either(w, use->node);
}

/* ---- changing -------------------------------------------------------------------------------- */

static hone_status set_elem(hn_narrowing *w, hn_value *v, hn_dtype elem) {
    hn_type *t = hn_arena_copy(w->g->model->arena, v->type, sizeof *t);
    HN_TRY_PTR(t);
    t->elem = elem;
    t->unknown = (hn_bytes){0};
    v->type = t;
    return HONE_OK;
}

/* A constant is converted instead of cast. */
static hone_status narrow_copy(hn_narrowing *w, hn_id value, hn_id *out) {
    const hn_value v = *hn_value_at(w->g, value);
    const hn_tensor *t = hn_narrow_tensor(w->g->model, v.init, w->elem);
    hn_str name = hn_graph_fresh_name(w->g, hn_s(v.name));
    *out = t && name ? hn_graph_add_value(w->g, v.block, name) : HN_NONE;
    if (*out == HN_NONE || !hn_graph_add_init(w->g, *out, t))
        return HONE_E_NOMEM;
    hn_value_at(w->g, *out)->type = v.type;
    return set_elem(w, hn_value_at(w->g, *out), w->elem);
}

static hone_status add_cast(hn_narrowing *w, hn_id value, hn_dtype to, hn_id *out) {
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

static hone_status in_other_type(hn_narrowing *w, hn_id value, hn_id *out) {
    const hn_value *v = hn_value_at(w->g, value);
    if (w->other[value] == HN_NONE) {
        bool is_constant = v->init && !v->is_input && v->init->data && !w->is_narrow_value[value];
        HN_TRY(is_constant ? narrow_copy(w, value, &w->other[value])
                           : add_cast(w, value, w->is_narrow_value[value] ? HN_F32 : w->elem,
                                      &w->other[value]));
    }
    *out = w->other[value];
    return HONE_OK;
}

/* The outputs of the main graph keep their names, whichever node makes them. */
static hone_status redirect(hn_narrowing *w, hn_id value, hn_use use, hn_id with) {
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
static hone_status serve_readers(hn_narrowing *w, hn_id value) {
    uint32_t n = hn_value_at(w->g, value)->uses.n;
    if (n == 0)
        return HONE_OK;
    const hn_use *uses = hn_arena_copy(w->pass->scratch, hn_value_at(w->g, value)->uses.at,
                                       n * sizeof *uses); /* a copy, because the list changes */
    HN_TRY_PTR(uses);
    for (uint32_t i = 0; i < n; i++) {
        hn_id with;
        if (wants_narrow(w, value, &uses[i]) == w->is_narrow_value[value])
            continue;
        HN_TRY(in_other_type(w, value, &with));
        HN_TRY(redirect(w, value, uses[i], with));
    }
    return HONE_OK;
}

static hone_status narrow_value(hn_narrowing *w, hn_id value) {
    hn_value *v = hn_value_at(w->g, value);
    HN_TRY(set_elem(w, v, w->elem));
    if (!v->init)
        return HONE_OK;
    v->init = hn_narrow_tensor(w->g->model, v->init, w->elem);
    return v->init ? HONE_OK : HONE_E_NOMEM;
}

/* Attributes that name the type of an output, or hold its elements. */
static hone_status narrow_attrs(hn_narrowing *w, hn_id node) {
    hn_node *n = hn_node_at(w->g, node);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        hn_attr *a = &n->attrs[i];
        if (strcmp(hn_s(a->name), "to") == 0 && a->kind == HN_ATTR_INT && a->v.i == HN_F32)
            a->v.i = w->elem;
        if (a->kind == HN_ATTR_TENSOR && a->v.tensor->dtype == HN_F32) {
            a->v.tensor = hn_narrow_tensor(w->g->model, a->v.tensor, w->elem);
            HN_TRY_PTR(a->v.tensor);
        }
    }
    return HONE_OK;
}

static hone_status change_all(hn_narrowing *w) {
    for (hn_id id = 0; id < w->n_values; id++)
        if (hn_is_float_value(w, id))
            HN_TRY(serve_readers(w, id));
    for (hn_id id = 0; id < w->n_values; id++)
        if (w->is_narrow_value[id])
            HN_TRY(narrow_value(w, id));
    for (hn_id id = 0; id < w->n_nodes; id++)
        if (w->is_narrow_node[id])
            HN_TRY(narrow_attrs(w, id));
    return HONE_OK;
}

/* Weights keep their names; a constant that only half-precision nodes read is kept once. */
static void drop_wide_constants(hn_narrowing *w) {
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

static hone_status begin_narrowing(hn_narrowing *w) {
    hn_arena *a = w->pass->scratch;
    w->n_nodes = w->g->nodes.n;
    w->n_values = w->g->values.n;
    w->is_narrow_node = HN_NEW_N(a, bool, (size_t)w->n_nodes + 1);
    w->is_narrow_value = HN_NEW_N(a, bool, (size_t)w->n_values + 1);
    w->is_size = HN_NEW_N(a, bool, (size_t)w->n_values + 1);
    w->other = HN_NEW_N(a, hn_id, (size_t)w->n_values + 1);
    bool *is_large = HN_NEW_N(a, bool, (size_t)w->n_values + 1);
    if (!w->is_narrow_node || !w->is_narrow_value || !w->is_size || !w->other || !is_large)
        return HONE_E_NOMEM;
    for (hn_id id = 0; id < w->n_values; id++)
        w->other[id] = HN_NONE;
    w->is_large = is_large;
    return w->wish->find_large
               ? w->wish->find_large(w->wish->ctx, w->g->model, hn_narrow_limit(w->elem), is_large,
                                     w->pass->err)
               : HONE_OK;
}

/* Writes one log entry for the whole conversion. */
static hone_status log_narrowing(hn_narrowing *w) {
    hn_id first = 0;
    uint32_t n_narrow = 0, n_stay = 0;
    for (hn_id id = w->n_nodes; id-- > 0;) {
        const hn_node *n = hn_node_at(w->g, id);
        if (n->block == HN_NONE)
            continue;
        n_narrow += w->is_narrow_node[id];
        n_stay += !w->is_narrow_node[id];
        first = id;
    }
    hn_rule *r = hn_rewrite_begin(w->pass, "narrow", first);
    HN_TRY_PTR(r);
    const char *label = hn_log_label(r);
    HN_TRY_PTR(label);
    hn_detail(r, "%u nodes in %s, %u unchanged, %u casts", n_narrow, hn_dtype_name(w->elem), n_stay,
              w->n_casts);
    w->pass->n_rewrites++;
    return hn_log_rewrite(r, label, w->n_casts, 0) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status check_opset(const hn_narrowing *w) {
    int64_t opset = hn_opset_version(w->g->opsets, NULL), least = w->elem == HN_F16 ? 6 : 13;
    return opset >= least
               ? HONE_OK
               : hn_fail(w->pass->err, HONE_E_UNSUPPORTED,
                         "%s needs opset %lld, the model has %lld: convert it first (--opset)",
                         hn_dtype_name(w->elem), (long long)least, (long long)opset);
}

hone_status hn_pass_precision(hn_pass *p) {
    hn_narrowing w = {
        .pass = p, .g = p->g, .wish = &p->options->precision, .elem = p->options->precision.elem};
    if (w.elem == HN_UNDEFINED || p->g->nodes.n == 0 || !hn_pass_may(p, "narrow"))
        return HONE_OK;
    HN_TRY(check_opset(&w));
    HN_TRY(begin_narrowing(&w));
    HN_TRY(hn_narrow_judge(&w));
    judge_values(&w);
    HN_TRY(change_all(&w));
    drop_wide_constants(&w);
    p->is_done = true;
    HN_TRY(log_narrowing(&w));
    HN_TRY(hn_graph_sort(p->g, p->err));
    return hn_pass_refresh_facts(p);
}
