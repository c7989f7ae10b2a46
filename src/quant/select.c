/* Which nodes and values are quantized: layers that were asked for, and around them whatever keeps
 * integers between them. */
#include "quant/quant_int.h"
#include "quant/writers.h"

#include <math.h>

/* ---- wishes of the caller ----------------------------------------------------------------------- */

static bool fits_any(const char *name, uint32_t n, const char *const *patterns) {
    for (uint32_t i = 0; i < n; i++)
        if (hn_quant_name_fits(patterns[i], name))
            return true;
    return false;
}

const hone_quantize_override *hn_quant_override(const hone_quantize_options *o,
                                                const char *tensor) {
    for (uint32_t i = 0; i < o->n_overrides; i++)
        if (o->overrides[i].tensor && strcmp(o->overrides[i].tensor, tensor) == 0)
            return &o->overrides[i];
    return NULL;
}

static bool is_signed_type(hn_dtype t) {
    return t == HN_I8 || t == HN_I16 || t == HN_I4 || t == HN_I2;
}

hn_quant_type hn_quant_weight_type(const hone_quantize_options *o) {
    hn_dtype t = (hn_dtype)o->weight_type;
    return (hn_quant_type){.dtype = t,
                           .is_symmetric = o->weight_symmetric < 0 ? is_signed_type(t)
                                                                   : o->weight_symmetric != 0,
                           .is_reduced = o->reduce_range};
}

hn_dtype hn_quant_choice_of(const hone_quantize_options *o, const char *node) {
    for (uint32_t i = 0; i < o->n_choices; i++)
        if (hn_quant_name_fits(o->choices[i].pattern, node))
            return (hn_dtype)o->choices[i].type;
    return HN_UNDEFINED;
}

static const hone_quantize_override *override_of(const hn_quant_plan *p, hn_id value) {
    return hn_quant_override(p->options, hn_s(hn_value_at(p->g, value)->name));
}

static bool is_kept_float(const hn_quant_plan *p, hn_id value) {
    const hone_quantize_override *o = value == HN_NONE ? NULL : override_of(p, value);
    return o && o->type == HN_F32;
}

/* ---- ties ---------------------------------------------------------------------------------------- */

hn_id hn_quant_root(const hn_quant_plan *p, hn_id value) {
    while (p->values[value].tied_to != value)
        value = p->values[value].tied_to;
    return value;
}

void hn_quant_tie(hn_quant_plan *p, hn_id parent, hn_id child) {
    parent = hn_quant_root(p, parent);
    p->values[hn_quant_root(p, child)].tied_to = parent;
}

/* ---- candidates ---------------------------------------------------------------------------------- */

static bool is_float_value(const hn_graph *g, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(g, value)->type;
    return t && t->kind == HN_TYPE_TENSOR && t->elem == HN_F32;
}

static bool is_activation(const hn_quant_plan *p, hn_id node, uint32_t slot) {
    hn_id v = hn_quant_input(p->g, node, slot);
    return v != HN_NONE && hn_quant_is_data(p->nodes[node].op, slot) &&
           !hn_quant_const_input(p->g, node, slot) && is_float_value(p->g, v);
}

/* Why a layer cannot be quantized; NULL: it can. */
static const char *layer_obstacle(const hn_quant_plan *p, hn_id node) {
    const hn_graph *g = p->g;
    const hn_quant_op *op = p->nodes[node].op;
    const hn_node *n = hn_node_at(g, node);
    const hn_tensor *w = hn_quant_const_input(g, node, (uint32_t)op->weight_slot);
    if ((w && w->dtype != HN_F32) || !is_float_value(g, n->outputs[0]))
        return "its values are not float32";
    if (!w && !(op->data_slots >> op->weight_slot & 1))
        return "its weight is not a constant";
    if (!w && p->options->matmul_const_b_only)
        return "both operands are activations (see matmul_const_b_only)";
    if (hn_str_is(n->op, "Gemm")) {
        const hn_attr *alpha = hn_node_attr(n, "alpha"), *beta = hn_node_attr(n, "beta");
        const hn_attr *trans = hn_node_attr(n, "transA");
        if ((alpha && alpha->v.f != 1) || (beta && beta->v.f != 1) || (trans && trans->v.i))
            return "alpha, beta or transA have other values than integer kernels take";
    }
    if (!is_activation(p, node, 0))
        return "its input is a constant";
    return NULL;
}

static const char *node_obstacle(const hn_quant_plan *p, hn_id node) {
    const hone_quantize_options *o = p->options;
    const hn_node *n = hn_node_at(p->g, node);
    const hn_quant_op *op = p->nodes[node].op;
    const char *name = hn_s(n->name);
    if (fits_any(hn_s(n->op), o->n_excluded_op_types, o->excluded_op_types))
        return "its operator is excluded";
    if (fits_any(name, o->n_excluded_nodes, o->excluded_nodes))
        return "it is excluded by name";
    if (p->float_reasons && p->float_reasons[node])
        return p->float_reasons[node];
    hn_dtype chosen = hn_quant_choice_of(o, name);
    if (chosen == HN_F32)
        return "a choice keeps it float";
    if (chosen == HN_F16 || chosen == HN_BF16)
        return "a choice computes it in half precision";
    if (o->n_nodes && op->role == HN_ROLE_LAYER && !fits_any(name, o->n_nodes, o->nodes))
        return "it is not among the nodes that were named";
    if (n->block != 0)
        return "it is in a subgraph";
    if (is_kept_float(p, n->outputs[0]) ||
        (op->role == HN_ROLE_LAYER && (is_kept_float(p, hn_quant_input(p->g, node, 0)) ||
                                       is_kept_float(p, hn_quant_input(p->g, node, 1)))))
        return "an override keeps one of its tensors float";
    if (op->role == HN_ROLE_LAYER)
        return layer_obstacle(p, node);
    if (op->role == HN_ROLE_LOOKUP && hn_quant_const_input(p->g, node, 0)->n_elems < 4096)
        return "its table is small";
    return NULL;
}

static bool is_op_asked_for(const hone_quantize_options *o, const hn_quant_op *op, hn_str name) {
    return o->n_op_types ? fits_any(hn_s(name), o->n_op_types, o->op_types) : op->is_default;
}

/* Layers of other float types are worth a word, integers are not. */
static bool op_is_on_floats(const hn_quant_plan *p, hn_id node) {
    return is_float_value(p->g, hn_node_at(p->g, node)->outputs[0]) ||
           p->nodes[node].op->role == HN_ROLE_LAYER;
}

static void find_candidates(hn_quant_plan *p) {
    for (hn_id id = 0; id < p->n_nodes; id++) {
        const hn_node *n = hn_node_at(p->g, id);
        hn_quant_node *q = &p->nodes[id];
        *q = (hn_quant_node){.weight_sqnr = NAN, .input_sqnr = NAN, .output_sqnr = NAN};
        if (n->block == HN_NONE || n->n_outputs == 0 || n->outputs[0] == HN_NONE)
            continue;
        q->op = hn_quant_op_of(p->g, id);
        if (!q->op || !is_op_asked_for(p->options, q->op, n->op)) {
            q->reason =
                q->op && q->op->role == HN_ROLE_LAYER ? "its operator was not asked for" : NULL;
            continue;
        }
        q->is_quantized = op_is_on_floats(p, id);
        q->reason = q->is_quantized ? node_obstacle(p, id) : NULL;
        q->is_quantized = q->is_quantized && !q->reason;
    }
}

/* ---- first and last layers ----------------------------------------------------------------------- */

/* Marks values that depend on a layer (or, backward, that a layer depends on). */
static hone_status keep_end_layers(hn_quant_plan *p, bool is_first) {
    const hn_block *b = hn_block_at(p->g, 0);
    bool *is_behind = HN_NEW_N(p->arena, bool, (size_t)p->n_values + 1);
    HN_TRY_PTR(is_behind);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hn_id id = b->nodes.at[is_first ? i : b->nodes.n - 1 - i];
        const hn_node *n = hn_node_at(p->g, id);
        hn_quant_node *q = &p->nodes[id];
        bool is_layer = q->op && q->op->role == HN_ROLE_LAYER, sees_layer = false;
        for (uint32_t k = 0; k < (is_first ? n->n_inputs : n->n_outputs); k++) {
            hn_id v = is_first ? n->inputs[k] : n->outputs[k];
            sees_layer = sees_layer || (v != HN_NONE && is_behind[v]);
        }
        for (uint32_t k = 0; k < (is_first ? n->n_outputs : n->n_inputs); k++) {
            hn_id v = is_first ? n->outputs[k] : n->inputs[k];
            if (v != HN_NONE && (is_layer || sees_layer))
                is_behind[v] = true;
        }
        if (is_layer && !sees_layer && q->is_quantized) {
            q->is_quantized = false;
            q->reason = is_first ? "it is a first layer" : "it is a last layer";
        }
    }
    return HONE_OK;
}

/* ---- nodes between layers ------------------------------------------------------------------------ */

static bool is_clamp(const hn_graph *g, hn_id node) {
    double low, high;
    return hn_quant_clamp(g, node, &low, &high);
}

/* Does a quantized node read the value, or what a clamp makes of it? */
static bool is_wanted(const hn_quant_plan *p, hn_id value) {
    for (; value != HN_NONE;) {
        const hn_value *v = hn_value_at(p->g, value);
        for (uint32_t i = 0; i < v->uses.n; i++) {
            hn_use use = v->uses.at[i];
            if (use.node != HN_NONE && p->nodes[use.node].is_quantized &&
                hn_quant_is_data(p->nodes[use.node].op, use.slot))
                return true;
        }
        bool goes_on =
            v->uses.n == 1 && v->uses.at[0].node != HN_NONE && is_clamp(p->g, v->uses.at[0].node);
        value = goes_on ? hn_node_at(p->g, v->uses.at[0].node)->outputs[0] : HN_NONE;
    }
    return false;
}

static bool feeds_layer(const hn_quant_plan *p, hn_id value) {
    const hn_value *v = hn_value_at(p->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id reader = v->uses.at[i].node;
        if (reader != HN_NONE && p->nodes[reader].is_quantized &&
            p->nodes[reader].op->role == HN_ROLE_LAYER &&
            hn_quant_is_data(p->nodes[reader].op, v->uses.at[i].slot))
            return true;
    }
    return false;
}

/* Are there integers anyway, because a quantized node computes the value, or a layer reads it? */
static bool is_available(const hn_quant_plan *p, hn_id value) {
    while (value != HN_NONE) {
        if (feeds_layer(p, value))
            return true;
        hn_id producer = hn_value_at(p->g, value)->producer;
        if (producer == HN_NONE)
            return false;
        const hn_quant_node *q = &p->nodes[producer];
        if (q->is_quantized && q->op->role != HN_ROLE_LOOKUP)
            return true;
        value = is_clamp(p->g, producer) ? hn_node_at(p->g, producer)->inputs[0] : HN_NONE;
    }
    return false;
}

static bool is_any_output_wanted(const hn_quant_plan *p, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && is_wanted(p, n->outputs[i]))
            return true;
    return false;
}

/* A sum with a constant behind a product is its bias: the product writes floats for it. */
static const char *elementwise_obstacle(const hn_quant_plan *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    uint32_t n_activations = 0, n_data = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        n_data += hn_quant_is_data(p->nodes[node].op, i);
        if (!is_activation(p, node, i))
            continue;
        n_activations++;
        if (!is_available(p, n->inputs[i]))
            return "an input of it is float";
    }
    if (n_activations == 0 || (n_data == 2 && n_activations < 2))
        return "an operand of it is a constant";
    return is_any_output_wanted(p, n) ? NULL : "no quantized node reads its output";
}

/* From all candidates down to those that fit together. */
static void drop_misfits(hn_quant_plan *p) {
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (hn_id id = 0; id < p->n_nodes; id++) {
            hn_quant_node *q = &p->nodes[id];
            const char *obstacle = NULL;
            if (!q->is_quantized)
                continue;
            if (q->op->role == HN_ROLE_ELEMENTWISE && !p->options->force_no_input_check)
                obstacle = elementwise_obstacle(p, id);
            else if (q->op->role == HN_ROLE_MOVER && !is_activation(p, id, 0))
                obstacle = "its input is not an activation";
            else if (q->op->role == HN_ROLE_MOVER && !is_any_output_wanted(p, hn_node_at(p->g, id)))
                obstacle = "no quantized node reads its output";
            if (!obstacle)
                continue;
            q->is_quantized = false;
            q->reason = q->op->role == HN_ROLE_MOVER ? NULL : obstacle;
            has_changed = true;
        }
    }
}

/* ---- values -------------------------------------------------------------------------------------- */

hn_id hn_quant_following_clamp(const hn_quant_plan *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    const hn_value *v = hn_value_at(p->g, n->outputs[0]);
    const hn_quant_node *q = &p->nodes[node];
    if (!q->is_quantized || q->op->role == HN_ROLE_MOVER || n->n_outputs != 1 || v->uses.n != 1 ||
        v->uses.at[0].node == HN_NONE)
        return HN_NONE;
    hn_id reader = v->uses.at[0].node;
    return is_clamp(p->g, reader) && hn_node_at(p->g, reader)->block == 0 ? reader : HN_NONE;
}

static void mark_value(hn_quant_plan *p, hn_id value) {
    hn_quant_value *v = &p->values[value];
    const hone_quantize_options *o = p->options;
    const hone_quantize_override *own = override_of(p, value);
    if (v->is_quantized || is_kept_float(p, value))
        return;
    *v = (hn_quant_value){.is_quantized = true,
                          .tied_to = value,
                          .type = {.dtype = (hn_dtype)o->activation_type,
                                   .is_symmetric = o->activation_symmetric,
                                   .is_restricted = o->activation_restricted_asymmetric}};
    if (!own)
        return;
    if (own->type)
        v->type.dtype = (hn_dtype)own->type;
    if (own->symmetric >= 0)
        v->type.is_symmetric = own->symmetric != 0;
    if (own->reduce_range >= 0)
        v->type.is_reduced = own->reduce_range != 0;
    v->has_range = own->has_range;
    v->low = own->min;
    v->high = own->max;
    v->has_params = own->has_params;
    v->params = (hn_quant_params){own->scale, own->zero_point};
    v->method = "override";
}

static void mark_outputs(hn_quant_plan *p, hn_id id) {
    const hn_node *n = hn_node_at(p->g, id);
    const hn_quant_op *op = p->nodes[id].op;
    hn_id clamp = hn_quant_following_clamp(p, id);
    if (op->role == HN_ROLE_LOOKUP || (op->keeps_float_output && !is_wanted(p, n->outputs[0])) ||
        fits_any(hn_s(n->op), p->options->n_float_output_op_types,
                 p->options->float_output_op_types))
        return;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && is_float_value(p->g, n->outputs[i]))
            mark_value(p, clamp == HN_NONE ? n->outputs[i] : hn_node_at(p->g, clamp)->outputs[0]);
    if (op->role == HN_ROLE_ELEMENTWISE && strcmp(op->name, "Softmax") == 0) {
        hn_quant_value *v = &p->values[n->outputs[0]];
        v->has_range = true;
        v->low = 0;
        v->high = 1;
    }
}

static void mark_values(hn_quant_plan *p) {
    for (hn_id id = 0; id < p->n_nodes; id++) {
        if (!p->nodes[id].is_quantized)
            continue;
        const hn_node *n = hn_node_at(p->g, id);
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (is_activation(p, id, i))
                mark_value(p, n->inputs[i]);
        mark_outputs(p, id);
    }
    for (hn_id id = 0; id < p->n_nodes; id++) {
        const hn_quant_node *q = &p->nodes[id];
        const hn_node *n = hn_node_at(p->g, id);
        if (!q->is_quantized || q->op->role != HN_ROLE_MOVER)
            continue;
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] != HN_NONE && p->values[n->outputs[i]].is_quantized)
                hn_quant_tie(p, n->inputs[0], n->outputs[i]);
    }
}

/* ---- all ------------------------------------------------------------------------------------------ */

hone_status hn_quant_select(hn_quant_plan *p) {
    p->n_nodes = p->g->nodes.n;
    p->n_values = p->g->values.n;
    p->nodes = HN_NEW_N(p->arena, hn_quant_node, (size_t)p->n_nodes + 1);
    p->values = HN_NEW_N(p->arena, hn_quant_value, (size_t)p->n_values + 1);
    if (!p->nodes || !p->values)
        return HONE_E_NOMEM;
    for (hn_id v = 0; v < p->n_values; v++)
        p->values[v].tied_to = v;
    find_candidates(p);
    if (p->options->keep_first)
        HN_TRY(keep_end_layers(p, true));
    if (p->options->keep_last)
        HN_TRY(keep_end_layers(p, false));
    drop_misfits(p);
    mark_values(p);
    for (uint32_t i = 0; i < p->kept_channels.n; i++)
        p->values[p->kept_channels.at[i].value].kept = &p->kept_channels.at[i];
    return HONE_OK;
}
