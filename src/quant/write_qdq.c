/* Writing the QDQ format: QuantizeLinear and DequantizeLinear around the float operators. */
#include "quant/static_weights.h"

enum { LEAST_FOLDED_SCALES = 24 }; /* fewer take less than a node */

typedef struct known_const {
    const hn_tensor *tensor;
    hn_id of; /* the weight that it was made of; HN_NONE: zero points of any */
    hn_id value;
} known_const;

typedef struct qdq_writer {
    hn_quant_plan *p;
    hn_patch *patch;
    HN_VEC(known_const) known;
    uint32_t *position;    /* by node of the main graph: its place */
    hn_id *scales, *zeros; /* by value: constants of the parameters of its root */
    hn_str domain, quantize, dequantize, multiply;
} qdq_writer;

/* ---- pieces --------------------------------------------------------------------------------------- */

static hn_attr int_attribute(hn_strtab *names, const char *name, int64_t value) {
    return (hn_attr){
        .name = hn_intern_z(names, name), .kind = HN_ATTR_INT, .n = 1, .v = {.i = value}};
}

/* The node of the main graph that a reader is, or is inside of. */
static hn_id outer_node(const hn_graph *g, hn_id node) {
    while (hn_node_at(g, node)->block != 0)
        node = hn_block_at(g, hn_node_at(g, node)->block)->owner;
    return node;
}

/* Before the first reader; HN_NONE: only outputs of the graph read it. */
static hn_id first_reader(const qdq_writer *w, hn_id value) {
    const hn_value *v = hn_value_at(w->p->g, value);
    hn_id first = HN_NONE;
    for (uint32_t i = 0; i < v->uses.n; i++) {
        if (v->uses.at[i].node == HN_NONE)
            continue;
        hn_id reader = outer_node(w->p->g, v->uses.at[i].node);
        if (first == HN_NONE || w->position[reader] < w->position[first])
            first = reader;
    }
    return first;
}

/* New nodes have no names, and constants short ones: names of hundreds of nodes would be a part of
 * the file that shows. */
static hn_id put_qdq_node(qdq_writer *w, hn_id before, hn_str op, hn_id x, hn_id scale, hn_id zero,
                          uint32_t n_attrs, const hn_attr *attrs) {
    hn_id inputs[3] = {x, scale, zero};
    hn_id node = hn_patch_node(w->patch, before, w->domain, op, NULL, zero == HN_NONE ? 2 : 3,
                               inputs, 1, n_attrs, attrs);
    return node == HN_NONE ? HN_NONE : hn_patch_output(w->patch, node, 0);
}

/* Equal constants that were made of the same weight, which several layers read, are one; so are
 * equal zero points (of: HN_NONE). */
static hn_id put_shared(qdq_writer *w, hn_id of, const char *stem, const hn_tensor *t) {
    for (uint32_t i = 0; i < w->known.n; i++)
        if (w->known.at[i].of == of && hn_tensor_equal(w->known.at[i].tensor, t))
            return w->known.at[i].value;
    known_const made = {t, of, hn_patch_const(w->patch, 0, stem, t)};
    if (!HN_VEC_PUSH(w->p->arena, &w->known, made))
        hn_patch_fail(w->patch, HONE_E_NOMEM);
    return made.value;
}

static hn_id put_integers(qdq_writer *w, hn_id of, const hn_tensor *q) {
    const char *stem = hn_s(hn_value_at(w->p->g, of)->name);
    const char *name = hn_arena_printf(w->p->arena, "%s_quantized", stem);
    return put_shared(w, of, name ? name : stem, q);
}

static hn_id put_scale(qdq_writer *w, hn_id of, const hn_tensor *t) {
    return put_shared(w, of, "scale", t);
}

static hn_id put_zero(qdq_writer *w, const hn_tensor *t) {
    return put_shared(w, HN_NONE, "zero_point", t);
}

static const hn_tensor *zero_tensor(hn_arena *a, hn_dtype dtype, int32_t zero) {
    void *data;
    hn_tensor *t = hn_tensor_blank(a, dtype, 0, NULL, &data);
    int bits = hn_dtype_bits(dtype);
    uint16_t wide = (uint16_t)zero;
    if (t && bits == 16)
        memcpy(data, &wide, sizeof wide);
    else if (t && bits == 8)
        *(uint8_t *)data = (uint8_t)zero;
    else if (t)
        hn_pack_int(data, 0, bits, zero);
    return t;
}

/* The constants of a value's parameters; values that share them have the same. */
static hone_status put_params(qdq_writer *w, hn_id value, hn_id *scale, hn_id *zero) {
    hn_id root = hn_quant_root(w->p, value);
    hn_quant_value *v = &w->p->values[root];
    if (w->scales[root] == HN_NONE) {
        hn_arena *a = w->p->model->arena;
        const hn_tensor *s = hn_tensor_new(a, HN_F32, 0, NULL, &v->params.scale, false);
        const hn_tensor *z = zero_tensor(a, v->type.dtype, v->params.zero);
        if (!s || !z)
            return HONE_E_NOMEM;
        w->scales[root] = put_scale(w, root, s);
        w->zeros[root] = put_zero(w, z);
    }
    *scale = w->scales[root];
    *zero = w->zeros[root];
    return HONE_OK;
}

/* ---- activations ----------------------------------------------------------------------------------- */

/* Does the quantization of its output clamp as the node does? */
static bool is_implied(const hn_quant_plan *p, hn_id clamp) {
    const hn_quant_value *v = &p->values[hn_node_at(p->g, clamp)->outputs[0]];
    hn_quant_limits limits = hn_quant_limits_of(&v->type);
    double low, high, half = 0.5 * v->params.scale;
    hn_quant_clamp(p->g, clamp, &low, &high);
    return limits.low != limits.high &&
           ((double)limits.low - v->params.zero) * v->params.scale >= low - half &&
           ((double)limits.high - v->params.zero) * v->params.scale <= high + half;
}

/* The quantized node whose integer kernel writes the value; HN_NONE: it is float. *source is what
 * that node writes, before a clamp that quantization implies. */
static hn_id quantized_producer(const qdq_writer *w, hn_id value, hn_id *source) {
    const hn_quant_plan *p = w->p;
    hn_id producer = hn_value_at(p->g, value)->producer;
    *source = value;
    if (producer == HN_NONE || hn_node_at(p->g, producer)->block != 0)
        return HN_NONE;
    if (p->nodes[producer].is_quantized && p->nodes[producer].op->role != HN_ROLE_LOOKUP)
        return producer;
    double low, high;
    if (!hn_quant_clamp(p->g, producer, &low, &high))
        return HN_NONE;
    hn_id before = hn_value_at(p->g, hn_node_at(p->g, producer)->inputs[0])->producer;
    if (before == HN_NONE || hn_quant_following_clamp(p, before) != producer)
        return HN_NONE;
    if (!p->options->keep_removable_activations && is_implied(p, producer))
        *source = hn_node_at(p->g, producer)->inputs[0];
    return before;
}

static hn_id put_one_pair(qdq_writer *w, hn_id before, hn_id source, hn_id scale, hn_id zero) {
    hn_id q = put_qdq_node(w, before, w->quantize, source, scale, zero, 0, NULL);
    return put_qdq_node(w, before, w->dequantize, q, scale, zero, 0, NULL);
}

static bool is_block_output(const hn_value *v) {
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE)
            return true;
    return false;
}

/* Floats stay readable for those who compute with floats, unless an integer kernel writes. */
static hone_status put_pair(qdq_writer *w, hn_id value) {
    const hn_quant_plan *p = w->p;
    hn_id source, producer = quantized_producer(w, value, &source), scale, zero, dq = HN_NONE;
    const hn_value *v = hn_value_at(p->g, value);
    bool is_dedicated = p->options->dedicated_qdq_pair && !is_block_output(v);
    HN_TRY(put_params(w, value, &scale, &zero));
    if (!is_dedicated)
        dq = put_one_pair(w, first_reader(w, value), source, scale, zero);
    if (!is_dedicated && producer != HN_NONE) {
        hn_patch_replace(w->patch, value, dq);
        return HONE_OK;
    }
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_use use = v->uses.at[i];
        if (use.node == HN_NONE ||
            (producer == HN_NONE && (!p->nodes[use.node].is_quantized ||
                                     !hn_quant_is_data(p->nodes[use.node].op, use.slot))))
            continue;
        if (is_dedicated)
            dq = put_one_pair(w, outer_node(p->g, use.node), source, scale, zero);
        hn_patch_set_input(w->patch, use.node, use.slot, dq);
    }
    return HONE_OK;
}

/* ---- constants ------------------------------------------------------------------------------------- */

static void count_bytes(hn_quant_plan *p, hn_id node, const hn_tensor *q, const hn_tensor *scale,
                        const hn_tensor *from) {
    p->nodes[node].float_bytes += from->data_bytes;
    p->nodes[node].quantized_bytes += q->data_bytes + scale->data_bytes;
}

static hn_id put_weight_node(qdq_writer *w, hn_id node, hn_id value,
                             const hn_static_weight *weight) {
    hn_strtab *names = w->p->model->names;
    hn_attr attrs[2];
    uint32_t n_attrs = 0;
    if (weight->axis >= 0)
        attrs[n_attrs++] = int_attribute(names, "axis", weight->axis);
    if (weight->block)
        attrs[n_attrs++] = int_attribute(names, "block_size", weight->block);
    hn_id scale = put_scale(w, value, weight->result.scale);
    hn_id zero = put_zero(w, weight->result.zero);
    hn_id x;
    if (w->p->options->add_qdq_pair_to_weight) {
        x = put_qdq_node(w, node, w->quantize, value, scale, zero, n_attrs, attrs);
    } else {
        x = put_integers(w, value, weight->result.q);
    }
    return put_qdq_node(w, node, w->dequantize, x, scale, zero, n_attrs, attrs);
}

/* The scales of a bias are those of input times weight. As a constant of its own the product would
 * be a large part of small models; runtimes fold the node when they load the file. */
static hn_id put_bias_scale(qdq_writer *w, hn_id node, const hn_static_weight *weight,
                            const hn_static_bias *bias) {
    const hn_quant_op *op = w->p->nodes[node].op;
    hn_id x_scale, x_zero;
    if (bias->scale->n_elems < LEAST_FOLDED_SCALES)
        return put_scale(w, hn_quant_input(w->p->g, node, (uint32_t)op->bias_slot), bias->scale);
    hn_id value = hn_quant_input(w->p->g, node, (uint32_t)op->weight_slot);
    if (put_params(w, hn_quant_input(w->p->g, node, 0), &x_scale, &x_zero) != HONE_OK) {
        hn_patch_fail(w->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    hn_id inputs[2] = {x_scale, put_scale(w, value, weight->result.scale)};
    hn_id product = hn_patch_node(w->patch, node, NULL, w->multiply, NULL, 2, inputs, 1, 0, NULL);
    return hn_patch_output(w->patch, product, 0);
}

static hone_status put_bias(qdq_writer *w, hn_id node, const hn_static_weight *weight) {
    hn_static_bias bias;
    bool is_float;
    HN_TRY(hn_static_bias_of(w->p, node, weight, &bias, &is_float));
    if (is_float)
        return HONE_OK;
    uint32_t slot = (uint32_t)w->p->nodes[node].op->bias_slot;
    hn_attr axis = int_attribute(w->p->model->names, "axis", 0);
    hn_id value = hn_quant_input(w->p->g, node, slot);
    hn_id q = put_integers(w, value, bias.q);
    hn_id scale = put_bias_scale(w, node, weight, &bias);
    hn_id dq =
        put_qdq_node(w, node, w->dequantize, q, scale, HN_NONE, bias.is_per_channel ? 1 : 0, &axis);
    hn_patch_set_input(w->patch, node, slot, dq);
    hn_quant_node *counted = &w->p->nodes[node];
    bool is_folded = bias.scale->n_elems >= LEAST_FOLDED_SCALES;
    counted->float_bytes += hn_quant_const_input(w->p->g, node, slot)->data_bytes;
    counted->quantized_bytes += bias.q->data_bytes + (is_folded ? 0 : bias.scale->data_bytes);
    return HONE_OK;
}

static hone_status put_weight(qdq_writer *w, hn_id node, hone_error *err) {
    hn_quant_plan *p = w->p;
    uint32_t slot = (uint32_t)p->nodes[node].op->weight_slot;
    hn_id value = hn_quant_input(p->g, node, slot);
    hn_static_weight weight;
    HN_TRY(hn_static_weight_of(p, node, &weight, err));
    hn_id dq = put_weight_node(w, node, value, &weight);
    p->nodes[node].weight_sqnr = weight.sqnr;
    count_bytes(p, node, weight.result.q, weight.result.scale, weight.w);
    hn_patch_set_input(w->patch, node, slot, dq);
    return put_bias(w, node, &weight);
}

/* Rows of integers are looked up, and floats made of those alone. */
static hone_status put_lookup(qdq_writer *w, hn_id id, hone_error *err) {
    hn_quant_plan *p = w->p;
    const hn_node *n = hn_node_at(p->g, id);
    const hn_attr *along = hn_node_attr(n, "axis");
    hn_static_weight weight;
    if (along && along->v.i != 0) {
        p->nodes[id].is_quantized = false;
        p->nodes[id].reason = "it does not look up rows";
        return HONE_OK;
    }
    HN_TRY(hn_static_weight_of(p, id, &weight, err));
    hn_id inputs[2] = {put_integers(w, n->inputs[0], weight.result.q), n->inputs[1]};
    hn_id scale = put_scale(w, n->inputs[0], weight.result.scale);
    hn_id zero = put_zero(w, weight.result.zero);
    hn_id rows =
        hn_patch_node(w->patch, id, NULL, n->op, n->name, 2, inputs, 1, n->n_attrs, n->attrs);
    hn_attr axis = int_attribute(p->model->names, "axis", -1);
    hn_id dq = put_qdq_node(w, id, w->dequantize, hn_patch_output(w->patch, rows, 0), scale, zero,
                            weight.axis >= 0 ? 1 : 0, &axis);
    hn_patch_replace(w->patch, n->outputs[0], dq);
    p->nodes[id].weight_sqnr = weight.sqnr;
    count_bytes(p, id, weight.result.q, weight.result.scale, weight.w);
    return HONE_OK;
}

/* Constants among the operands of elementwise operators, and left operands of products. */
static hone_status put_const_operands(qdq_writer *w, hn_id node, hone_error *err) {
    hn_quant_plan *p = w->p;
    const hn_quant_op *op = p->nodes[node].op;
    const hn_node *n = hn_node_at(p->g, node);
    hn_quant_type type = {.dtype = (hn_dtype)p->options->activation_type,
                          .is_symmetric = p->options->activation_symmetric};
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_quant_const_input(p->g, node, i);
        hn_quant_result r;
        if (!t || t->dtype != HN_F32 || !hn_quant_is_data(op, i) || (int32_t)i == op->weight_slot)
            continue;
        HN_TRY(hn_quant_tensor(t, &type, -1, 0, p->model->arena, &r, err));
        hn_id dq = put_qdq_node(w, node, w->dequantize, put_integers(w, n->inputs[i], r.q),
                                put_scale(w, n->inputs[i], r.scale), put_zero(w, r.zero), 0, NULL);
        hn_patch_set_input(w->patch, node, i, dq);
        count_bytes(p, node, r.q, r.scale, t);
    }
    return HONE_OK;
}

/* ---- all ------------------------------------------------------------------------------------------- */

static hone_status open_writer(qdq_writer *w) {
    hn_quant_plan *p = w->p;
    const hn_block *b = hn_block_at(p->g, 0);
    w->patch = hn_patch_new(p->arena, p->g);
    w->position = HN_NEW_N(p->arena, uint32_t, (size_t)p->n_nodes + 1);
    w->scales = HN_NEW_N(p->arena, hn_id, (size_t)p->n_values + 1);
    w->zeros = HN_NEW_N(p->arena, hn_id, (size_t)p->n_values + 1);
    if (p->options->use_qdq_contrib_ops && p->options->format == HONE_QUANTIZE_QDQ)
        HN_TRY_PTR(w->domain = hn_intern_z(p->model->names, "com.microsoft"));
    w->quantize = hn_intern_z(p->model->names, "QuantizeLinear");
    w->dequantize = hn_intern_z(p->model->names, "DequantizeLinear");
    w->multiply = hn_intern_z(p->model->names, "Mul");
    if (!w->patch || !w->position || !w->scales || !w->zeros || !w->quantize || !w->dequantize ||
        !w->multiply)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->nodes.n; i++)
        w->position[b->nodes.at[i]] = i;
    for (hn_id v = 0; v < p->n_values; v++)
        w->scales[v] = w->zeros[v] = HN_NONE;
    return HONE_OK;
}

hone_status hn_quant_write_qdq(hn_quant_plan *p, hone_error *err) {
    qdq_writer w = {.p = p};
    HN_TRY(open_writer(&w));
    for (hn_id id = 0; id < p->n_values; id++)
        if (p->values[id].is_quantized)
            HN_TRY(put_pair(&w, id));
    for (hn_id id = 0; id < p->n_nodes; id++) {
        const hn_quant_node *q = &p->nodes[id];
        if (!q->is_quantized)
            continue;
        if (q->op->role == HN_ROLE_LOOKUP)
            HN_TRY(put_lookup(&w, id, err));
        else if (q->op->role == HN_ROLE_LAYER &&
                 hn_quant_const_input(p->g, id, (uint32_t)q->op->weight_slot))
            HN_TRY(put_weight(&w, id, err));
        if (q->op->role != HN_ROLE_LOOKUP)
            HN_TRY(put_const_operands(&w, id, err));
    }
    if (hn_arena_has_failed(p->model->arena))
        return HONE_E_NOMEM;
    HN_TRY(hn_patch_apply(w.patch, p->g, err));
    HN_TRY(hn_quant_import_domain(p->model, w.domain));
    return hn_graph_remove_dead(p->g, true) == HN_NONE ? HONE_E_NOMEM : HONE_OK;
}
