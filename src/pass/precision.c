/* From float to float16 or bfloat16: nodes compute in 16 bits unless something speaks against it,
 * values have the type that their producer gives them, and where a reader wants the other type one
 * Cast stands for all such readers. Nodes stay what they are, so this edits the graph in place. */
#include "pass/precision.h"
#include "pass/opset.h"
#include "pass/opt_log.h"

/* Stay in float: they select, count or place things by numbers that must not be rounded, follow
 * types that their attributes name, or hold scales of quantized numbers. */
static const char blocked_by_default[] =
    "Bernoulli|BlackmanWindow|CumSum|DequantizeLinear|DynamicQuantizeLinear|EyeLike|GridSample|"
    "HammingWindow|HannWindow|ImageDecoder|MaxRoiPool|MelWeightMatrix|Multinomial|"
    "NonMaxSuppression|"
    "QLinearConv|QLinearMatMul|QuantizeLinear|RandomNormal|RandomNormalLike|RandomUniform|"
    "RandomUniformLike|Range|Resize|RoiAlign|TopK|Upsample";

typedef struct narrowing {
    hn_pass *pass;
    hn_graph *g;
    const hn_precision *wish;
    hn_dtype elem;
    bool *is_narrow_node;  /* by node */
    bool *is_narrow_value; /* by value: its type becomes the small one */
    bool *is_size;         /* by value: computed from shapes alone */
    hn_id *other;          /* by value: the same in the other type; HN_NONE: not needed so far */
    const bool *is_large;  /* by value: seen beyond the range of the type */
    uint32_t n_nodes, n_values; /* when it began */
    uint32_t n_casts;
} narrowing;

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_float_value(const narrowing *w, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(w->g, value)->type;
    return t && t->kind == HN_TYPE_TENSOR && t->elem == HN_F32;
}

static bool holds_float(const hn_type *t) {
    for (; t; t = t->inner)
        if (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE)
            return t->elem == HN_F32;
    return false;
}

/* Lists of floats: their readers and writers would all have to change at once. */
static bool holds_floats_inside(const narrowing *w, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(w->g, value)->type;
    return t && t->kind != HN_TYPE_TENSOR && holds_float(t);
}

static bool allows(const narrowing *w, hn_id node, bool is_input, uint32_t i) {
    int since;
    bool deprecated;
    hn_param param;
    const hn_op *op = hn_node_op(w->g, hn_node_at(w->g, node), &since, &deprecated);
    hn_type type = {.kind = HN_TYPE_TENSOR, .elem = w->elem, .shape = {.rank = -1}};
    return op &&
           hn_op_param(hn_op_text(op, is_input ? HN_OP_INPUTS : HN_OP_OUTPUTS), since, i, &param) &&
           hn_op_type_allowed(op, since, &param, &type);
}

/* ---- which nodes ----------------------------------------------------------------------------- */

static hone_status tell_why(narrowing *w, hn_id node, const char *fmt, const char *name) {
    hn_rule *r = hn_rewrite_begin(w->pass, "stay-float", node);
    HN_TRY_PTR(r);
    return hn_miss(r, fmt, name);
}

static bool names_it(uint32_t n, const char *const *names, hn_str name) {
    for (uint32_t i = 0; name && i < n; i++)
        if (strcmp(names[i], hn_s(name)) == 0)
            return true;
    return false;
}

static bool is_blocked(const narrowing *w, const hn_node *n) {
    return hn_list_names(blocked_by_default, hn_s(n->op), n->op->n) ||
           names_it(w->wish->n_blocked_ops, w->wish->blocked_ops, n->op) ||
           names_it(w->wish->n_blocked_nodes, w->wish->blocked_nodes, n->name);
}

/* Constant and ConstantOfShape: the type stands in a tensor, or cannot be changed. */
static bool names_its_type(const hn_node *n) {
    const hn_attr *value = hn_node_attr(n, "value");
    return !hn_list_names("Constant|ConstantOfShape", hn_s(n->op), n->op->n) ||
           (value && value->kind == HN_ATTR_TENSOR);
}

/* Some output must have the small type, or some input, and no output that is a float may be left.
 */
static bool schema_fits(const narrowing *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    bool any = false;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (holds_floats_inside(w, n->outputs[i]))
            return false;
        if (is_float_value(w, n->outputs[i]) && !allows(w, node, false, i))
            return false;
        any = any || is_float_value(w, n->outputs[i]);
    }
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (holds_floats_inside(w, n->inputs[i]))
            return false;
        any = any || (is_float_value(w, n->inputs[i]) && allows(w, node, true, i));
    }
    return any;
}

static bool is_followed_from_shapes(const narrowing *w, hn_id value) {
    uint32_t n;
    const hn_sint *elems;
    bool is_scalar;
    if (!hn_facts_ints(w->pass->facts, value, &n, &elems, &is_scalar))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (elems[i].kind == HN_SINT_UNKNOWN)
            return false;
    return n > 0;
}

/* Sizes pass through floats on their way from Shape to Resize or Reshape: 2049 must stay 2049. */
static bool computes_sizes(const narrowing *w, const hn_node *n) {
    bool any = false;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id value = n->inputs[i];
        if (value == HN_NONE || hn_facts_const(w->pass->facts, value))
            continue;
        if (!w->is_size[value] && !is_followed_from_shapes(w, value))
            return false;
        any = true;
    }
    return any;
}

/* Between DequantizeLinear and QuantizeLinear runtimes compute with integers: casts would be in
 * their way. */
static bool is_quantized(const narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id maker = n->inputs[i] == HN_NONE ? HN_NONE : hn_value_at(w->g, n->inputs[i])->producer;
        if (maker != HN_NONE && strcmp(hn_s(hn_node_at(w->g, maker)->op), "DequantizeLinear") == 0)
            return true;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const hn_value *v = n->outputs[i] == HN_NONE ? NULL : hn_value_at(w->g, n->outputs[i]);
        for (uint32_t k = 0; v && k < v->uses.n; k++)
            if (v->uses.at[k].node != HN_NONE &&
                strcmp(hn_s(hn_node_at(w->g, v->uses.at[k].node)->op), "QuantizeLinear") == 0)
                return true;
    }
    return false;
}

static bool is_too_large(const narrowing *w, const hn_tensor *t) {
    return t && t->dtype == HN_F32 && t->data && !hn_narrow_fits(t, w->elem);
}

/* The name of a constant that does not fit the type; NULL when all do. */
static hn_str too_large_constant(const narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE &&
            is_too_large(w, hn_facts_const(w->pass->facts, n->inputs[i])))
            return hn_value_at(w->g, n->inputs[i])->name;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].kind == HN_ATTR_TENSOR && is_too_large(w, n->attrs[i].v.tensor))
            return n->attrs[i].name;
    return NULL;
}

static hn_id too_large_value(const narrowing *w, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && w->is_large[n->outputs[i]])
            return n->outputs[i];
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE && w->is_large[n->inputs[i]])
            return n->inputs[i];
    return HN_NONE;
}

static hone_status judge_node(narrowing *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    if (computes_sizes(w, n)) {
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != HN_NONE)
                w->is_size[n->outputs[i]] = true;
        return HONE_OK;
    }
    if (is_blocked(w, n) || is_quantized(w, n) || !names_its_type(n) || !schema_fits(w, node))
        return HONE_OK;
    hn_str constant = too_large_constant(w, n);
    if (constant)
        return tell_why(w, node, "constant '%s' has numbers beyond the range of the type",
                        hn_s(constant));
    hn_id large = too_large_value(w, n);
    if (large != HN_NONE)
        return tell_why(w, node, "'%s' was seen with numbers beyond the range of the type",
                        hn_s(hn_value_at(w->g, large)->name));
    w->is_narrow_node[node] = true;
    return HONE_OK;
}

/* Outer blocks and earlier nodes first: sizes are followed forward. */
static hone_status judge_nodes(narrowing *w) {
    for (hn_id block = 0; block < w->g->blocks.n; block++)
        for (uint32_t i = 0; i < hn_block_at(w->g, block)->nodes.n; i++)
            HN_TRY(judge_node(w, hn_block_at(w->g, block)->nodes.at[i]));
    return HONE_OK;
}

/* ---- which values ---------------------------------------------------------------------------- */

/* Do inputs and outputs of a block have the small type? Bodies follow the node that owns them. */
static bool is_narrow_block(const narrowing *w, hn_id block) {
    hn_id owner = hn_block_at(w->g, block)->owner;
    return owner == HN_NONE ? !w->wish->keep_io : owner < w->n_nodes && w->is_narrow_node[owner];
}

/* Inputs with initializers are weights that could be replaced: nobody counts on their type. */
static void judge_values(narrowing *w) {
    for (hn_id id = 0; id < w->n_values; id++) {
        const hn_value *v = hn_value_at(w->g, id);
        if (!is_float_value(w, id) || v->sparse_init)
            continue;
        w->is_narrow_value[id] = v->producer != HN_NONE ? w->is_narrow_node[v->producer]
                                 : v->is_input          ? v->init || is_narrow_block(w, v->block)
                                                        : false;
    }
}

/* Cast to other types, Shape, ArgMax: one float comes in, none goes out. */
static bool takes_either(const narrowing *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    uint32_t n_floats = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        n_floats += is_float_value(w, n->inputs[i]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        n_floats += 2 * is_float_value(w, n->outputs[i]);
    return n_floats == 1 && w->is_narrow_node[node];
}

/* Does a reader want the small type of a float value? */
static bool wants_narrow(const narrowing *w, hn_id value, const hn_use *use) {
    if (use->node == HN_NONE)
        return is_narrow_block(w, use->slot);
    if (!w->is_narrow_node[use->node] || !allows(w, use->node, true, use->slot))
        return false;
    return w->is_narrow_value[value] || !takes_either(w, use->node);
}

/* ---- changing -------------------------------------------------------------------------------- */

static hone_status set_elem(narrowing *w, hn_value *v, hn_dtype elem) {
    hn_type *t = hn_arena_copy(w->g->model->arena, v->type, sizeof *t);
    HN_TRY_PTR(t);
    t->elem = elem;
    t->unknown = (hn_bytes){0};
    v->type = t;
    return HONE_OK;
}

/* A constant in the other type has no need of a Cast. */
static hone_status copy_constant(narrowing *w, hn_id value, hn_id *out) {
    const hn_value v = *hn_value_at(w->g, value);
    const hn_tensor *t = hn_narrow_tensor(w->g->model, v.init, w->elem);
    hn_str name = hn_graph_fresh_name(w->g, hn_s(v.name));
    *out = t && name ? hn_graph_add_value(w->g, v.block, name) : HN_NONE;
    if (*out == HN_NONE || !hn_graph_add_init(w->g, *out, t))
        return HONE_E_NOMEM;
    hn_value_at(w->g, *out)->type = v.type;
    return set_elem(w, hn_value_at(w->g, *out), w->elem);
}

static hone_status cast_value(narrowing *w, hn_id value, hn_dtype to, hn_id *out) {
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

static hone_status in_other_type(narrowing *w, hn_id value, hn_id *out) {
    const hn_value *v = hn_value_at(w->g, value);
    if (w->other[value] == HN_NONE) {
        bool is_constant = v->init && !v->is_input && v->init->data && !w->is_narrow_value[value];
        HN_TRY(is_constant ? copy_constant(w, value, &w->other[value])
                           : cast_value(w, value, w->is_narrow_value[value] ? HN_F32 : w->elem,
                                        &w->other[value]));
    }
    *out = w->other[value];
    return HONE_OK;
}

/* The main graph's outputs keep their names whoever computes them. */
static hone_status redirect(narrowing *w, hn_id value, hn_use use, hn_id with) {
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

/* Readers that want the other type read a copy in it. */
static hone_status serve_readers(narrowing *w, hn_id value) {
    uint32_t n = hn_value_at(w->g, value)->uses.n;
    if (n == 0)
        return HONE_OK;
    const hn_use *uses = hn_arena_copy(w->pass->scratch, hn_value_at(w->g, value)->uses.at,
                                       n * sizeof *uses); /* the list changes */
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

static hone_status narrow_value(narrowing *w, hn_id value) {
    hn_value *v = hn_value_at(w->g, value);
    HN_TRY(set_elem(w, v, w->elem));
    if (!v->init)
        return HONE_OK;
    v->init = hn_narrow_tensor(w->g->model, v->init, w->elem);
    return v->init ? HONE_OK : HONE_E_NOMEM;
}

/* Attributes that name the type of an output, or hold its elements. */
static hone_status narrow_attrs(narrowing *w, hn_id node) {
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

static hone_status change_all(narrowing *w) {
    for (hn_id id = 0; id < w->n_values; id++)
        if (is_float_value(w, id))
            HN_TRY(serve_readers(w, id));
    for (hn_id id = 0; id < w->n_values; id++)
        if (w->is_narrow_value[id])
            HN_TRY(narrow_value(w, id));
    for (hn_id id = 0; id < w->n_nodes; id++)
        if (w->is_narrow_node[id])
            HN_TRY(narrow_attrs(w, id));
    return HONE_OK;
}

/* Weights keep their names; what only narrow nodes read is needed once. */
static void drop_wide_constants(narrowing *w) {
    for (hn_id id = 0; id < w->n_values; id++) {
        const hn_value *v = hn_value_at(w->g, id);
        if (w->other[id] == HN_NONE || !v->init || v->is_input || v->uses.n > 0)
            continue;
        hn_graph_swap_names(w->g, id, w->other[id]);
        hn_graph_remove_value_listing(w->g, id);
        hn_value_at(w->g, id)->init = NULL;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static hone_status begin(narrowing *w) {
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

/* One entry in the log for all of it. */
static hone_status log_narrowing(narrowing *w) {
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
    hn_detail(r, "%u nodes in %s, %u as they were, %u casts", n_narrow, hn_dtype_name(w->elem),
              n_stay, w->n_casts);
    w->pass->n_rewrites++;
    return hn_log_rewrite(r, label, w->n_casts, 0) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status check_opset(const narrowing *w) {
    int64_t opset = hn_opset_version(w->g->opsets, NULL), least = w->elem == HN_F16 ? 6 : 13;
    return opset >= least
               ? HONE_OK
               : hn_fail(w->pass->err, HONE_E_UNSUPPORTED,
                         "%s needs opset %lld, the model has %lld: bring it there first (--opset)",
                         hn_dtype_name(w->elem), (long long)least, (long long)opset);
}

hone_status hn_pass_precision(hn_pass *p) {
    narrowing w = {
        .pass = p, .g = p->g, .wish = &p->options->precision, .elem = p->options->precision.elem};
    if (w.elem == HN_UNDEFINED || p->g->nodes.n == 0 || !hn_pass_may(p, "narrow"))
        return HONE_OK;
    HN_TRY(check_opset(&w));
    HN_TRY(begin(&w));
    HN_TRY(judge_nodes(&w));
    judge_values(&w);
    HN_TRY(change_all(&w));
    drop_wide_constants(&w);
    p->is_narrowed = true;
    HN_TRY(log_narrowing(&w));
    HN_TRY(hn_graph_sort(p->g, p->err));
    hn_facts_free(p->facts);
    p->facts = NULL;
    return hn_facts_new(p->model, &p->facts, p->err);
}
