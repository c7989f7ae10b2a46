/* GraphProto, NodeProto, AttributeProto, FunctionProto: fields in the order of their numbers, as
 * other writers do. */
#include "onnx/save_int.h"

void hn_save_unknown(hn_saver *s, const hn_extra *extra) {
    if (extra)
        hn_out_raw(&s->out, extra->unknown.at, extra->unknown.n);
}

static void save_doc(hn_saver *s, uint32_t tag, const hn_extra *extra) {
    if (extra)
        hn_out_str(&s->out, tag, extra->doc);
}

/* metadata_props, then fields that are not interpreted: the last fields of most messages. */
static void save_tail(hn_saver *s, uint32_t props_tag, const hn_extra *extra) {
    if (extra)
        hn_save_props(s, props_tag, &extra->props);
    hn_save_unknown(s, extra);
}

void hn_save_props(hn_saver *s, uint32_t tag, const hn_props *props) {
    for (uint32_t i = 0; i < props->n; i++) {
        hn_wire_scope scope = hn_out_begin(&s->out, tag);
        hn_out_str(&s->out, HN_F_ENTRY_KEY, props->at[i].key);
        hn_out_str(&s->out, HN_F_ENTRY_VALUE, props->at[i].value);
        hn_out_end(&s->out, scope);
    }
}

void hn_save_opsets(hn_saver *s, uint32_t tag, const hn_opsets *opsets) {
    for (uint32_t i = 0; i < opsets->n; i++) {
        const hn_opset *o = &opsets->at[i];
        hn_wire_scope scope = hn_out_begin(&s->out, tag);
        hn_out_str(&s->out, HN_F_OPSET_DOMAIN, o->domain);
        if (o->version)
            hn_out_varint(&s->out, HN_F_OPSET_VERSION, (uint64_t)o->version);
        hn_out_raw(&s->out, o->unknown.at, o->unknown.n);
        hn_out_end(&s->out, scope);
    }
}

/* ---- attributes and nodes -------------------------------------------------------------------- */

static void save_float(hn_saver *s, uint32_t tag, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    hn_out_fixed32(&s->out, tag, bits);
}

static void save_attr_scalar(hn_saver *s, const hn_graph *g, const hn_attr *a) {
    switch (a->kind) {
    case HN_ATTR_FLOAT:
        save_float(s, HN_F_ATTR_F, a->v.f);
        break;
    case HN_ATTR_INT:
        hn_out_varint(&s->out, HN_F_ATTR_I, (uint64_t)a->v.i);
        break;
    case HN_ATTR_STRING:
        hn_out_len(&s->out, HN_F_ATTR_S, a->v.s.at, a->v.s.n);
        break;
    case HN_ATTR_TENSOR:
        hn_save_tensor(s, HN_F_ATTR_T, a->v.tensor, NULL);
        break;
    case HN_ATTR_GRAPH:
        hn_save_block(s, HN_F_ATTR_G, g, a->v.block);
        break;
    case HN_ATTR_TYPE:
        hn_save_type(s, HN_F_ATTR_TP, a->v.type);
        break;
    case HN_ATTR_SPARSE:
        hn_save_sparse(s, HN_F_ATTR_SPARSE_TENSOR, a->v.sparse, NULL);
        break;
    default:
        break;
    }
}

static void save_attr_item(hn_saver *s, const hn_graph *g, const hn_attr *a, uint32_t i) {
    switch (a->kind) {
    case HN_ATTR_FLOATS:
        save_float(s, HN_F_ATTR_FLOATS, a->v.floats[i]);
        break;
    case HN_ATTR_INTS:
        hn_out_varint(&s->out, HN_F_ATTR_INTS, (uint64_t)a->v.ints[i]);
        break;
    case HN_ATTR_STRINGS:
        hn_out_len(&s->out, HN_F_ATTR_STRINGS, a->v.strings[i].at, a->v.strings[i].n);
        break;
    case HN_ATTR_TENSORS:
        hn_save_tensor(s, HN_F_ATTR_TENSORS, a->v.tensors[i], NULL);
        break;
    case HN_ATTR_GRAPHS:
        hn_save_block(s, HN_F_ATTR_GRAPHS, g, a->v.blocks[i]);
        break;
    case HN_ATTR_TYPES:
        hn_save_type(s, HN_F_ATTR_TYPE_PROTOS, a->v.types[i]);
        break;
    case HN_ATTR_SPARSES:
        hn_save_sparse(s, HN_F_ATTR_SPARSE_TENSORS, a->v.sparses[i], NULL);
        break;
    default:
        break;
    }
}

static void save_attr_value(hn_saver *s, const hn_graph *g, const hn_attr *a) {
    if (a->ref)
        return;
    save_attr_scalar(s, g, a);
    for (uint32_t i = 0; i < a->n; i++)
        save_attr_item(s, g, a, i);
}

void hn_save_attr(hn_saver *s, uint32_t tag, const hn_graph *g, const hn_attr *a) {
    /* Only sparse values have field numbers above the type's. */
    bool is_sparse = a->kind == HN_ATTR_SPARSE || a->kind == HN_ATTR_SPARSES;
    bool is_type = a->kind == HN_ATTR_TYPE || a->kind == HN_ATTR_TYPES;
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    hn_out_str(&s->out, HN_F_ATTR_NAME, a->name);
    if (!is_sparse && !is_type)
        save_attr_value(s, g, a);
    save_doc(s, HN_F_ATTR_DOC_STRING, a->extra);
    if (is_type)
        save_attr_value(s, g, a);
    if (a->kind != HN_ATTR_UNDEFINED)
        hn_out_varint(&s->out, HN_F_ATTR_TYPE, (uint64_t)a->kind);
    hn_out_str(&s->out, HN_F_ATTR_REF_ATTR_NAME, a->ref);
    if (is_sparse)
        save_attr_value(s, g, a);
    hn_save_unknown(s, a->extra);
    hn_out_end(&s->out, scope);
}

static void save_value_names(hn_saver *s, uint32_t tag, const hn_graph *g, const hn_id *ids,
                             uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] == HN_NONE)
            hn_out_len(&s->out, tag, "", 0);
        else
            hn_out_str(&s->out, tag, hn_value_at(g, ids[i])->name);
    }
}

void hn_save_node(hn_saver *s, uint32_t tag, const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    save_value_names(s, HN_F_NODE_INPUT, g, n->inputs, n->n_inputs);
    save_value_names(s, HN_F_NODE_OUTPUT, g, n->outputs, n->n_outputs);
    hn_out_str(&s->out, HN_F_NODE_NAME, n->name);
    hn_out_str(&s->out, HN_F_NODE_OP_TYPE, n->op);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        hn_save_attr(s, HN_F_NODE_ATTRIBUTE, g, &n->attrs[i]);
    save_doc(s, HN_F_NODE_DOC_STRING, n->extra);
    hn_out_str(&s->out, HN_F_NODE_DOMAIN, n->domain);
    if (n->extra)
        hn_out_str(&s->out, HN_F_NODE_OVERLOAD, n->extra->overload);
    save_tail(s, HN_F_NODE_METADATA_PROPS, n->extra);
    hn_out_end(&s->out, scope);
}

/* ---- graphs and functions -------------------------------------------------------------------- */

void hn_save_value_info(hn_saver *s, uint32_t tag, const hn_value *v) {
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    hn_out_str(&s->out, HN_F_VALUE_NAME, v->name);
    if (v->type)
        hn_save_type(s, HN_F_VALUE_TYPE, v->type);
    save_doc(s, HN_F_VALUE_DOC_STRING, v->extra);
    save_tail(s, HN_F_VALUE_METADATA_PROPS, v->extra);
    hn_out_end(&s->out, scope);
}

static void save_value_infos(hn_saver *s, uint32_t tag, const hn_graph *g, const hn_id *ids,
                             uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        hn_save_value_info(s, tag, hn_value_at(g, ids[i]));
}

static void save_annotation(hn_saver *s, uint32_t tag, const hn_quant_annotation *q) {
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    hn_out_str(&s->out, HN_F_ANNOTATION_TENSOR_NAME, q->tensor);
    hn_save_props(s, HN_F_ANNOTATION_PARAMETERS, &q->params);
    hn_out_raw(&s->out, q->unknown.at, q->unknown.n);
    hn_out_end(&s->out, scope);
}

void hn_save_block(hn_saver *s, uint32_t tag, const hn_graph *g, hn_id block) {
    const hn_block *b = hn_block_at(g, block);
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        hn_save_node(s, HN_F_GRAPH_NODE, g, b->nodes.at[i]);
    hn_out_str(&s->out, HN_F_GRAPH_NAME, b->name);
    for (uint32_t i = 0; i < b->inits.n; i++) {
        const hn_value *v = hn_value_at(g, b->inits.at[i]);
        hn_save_tensor(s, HN_F_GRAPH_INITIALIZER, v->init, v->name);
    }
    save_doc(s, HN_F_GRAPH_DOC_STRING, b->extra);
    save_value_infos(s, HN_F_GRAPH_INPUT, g, b->inputs.at, b->inputs.n);
    save_value_infos(s, HN_F_GRAPH_OUTPUT, g, b->outputs.at, b->outputs.n);
    save_value_infos(s, HN_F_GRAPH_VALUE_INFO, g, b->value_infos.at, b->value_infos.n);
    for (uint32_t i = 0; i < b->quant.n; i++)
        save_annotation(s, HN_F_GRAPH_QUANTIZATION_ANNOTATION, &b->quant.at[i]);
    for (uint32_t i = 0; i < b->sparse_inits.n; i++) {
        const hn_value *v = hn_value_at(g, b->sparse_inits.at[i]);
        hn_save_sparse(s, HN_F_GRAPH_SPARSE_INITIALIZER, v->sparse_init, v->name);
    }
    save_tail(s, HN_F_GRAPH_METADATA_PROPS, b->extra);
    hn_out_end(&s->out, scope);
}

void hn_save_function(hn_saver *s, uint32_t tag, const hn_function *fn) {
    const hn_graph *g = fn->graph;
    const hn_block *b = hn_block_at(g, 0);
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    hn_out_str(&s->out, HN_F_FUNCTION_NAME, fn->name);
    save_value_names(s, HN_F_FUNCTION_INPUT, g, b->inputs.at, b->inputs.n);
    save_value_names(s, HN_F_FUNCTION_OUTPUT, g, b->outputs.at, b->outputs.n);
    for (uint32_t i = 0; i < fn->attr_names.n; i++)
        hn_out_str(&s->out, HN_F_FUNCTION_ATTRIBUTE, fn->attr_names.at[i]);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        hn_save_node(s, HN_F_FUNCTION_NODE, g, b->nodes.at[i]);
    save_doc(s, HN_F_FUNCTION_DOC_STRING, fn->extra);
    hn_save_opsets(s, HN_F_FUNCTION_OPSET_IMPORT, &fn->opsets);
    hn_out_str(&s->out, HN_F_FUNCTION_DOMAIN, fn->domain);
    for (uint32_t i = 0; i < fn->attr_defaults.n; i++)
        hn_save_attr(s, HN_F_FUNCTION_ATTRIBUTE_PROTO, g, &fn->attr_defaults.at[i]);
    save_value_infos(s, HN_F_FUNCTION_VALUE_INFO, g, b->value_infos.at, b->value_infos.n);
    hn_out_str(&s->out, HN_F_FUNCTION_OVERLOAD, fn->overload);
    save_tail(s, HN_F_FUNCTION_METADATA_PROPS, fn->extra);
    hn_out_end(&s->out, scope);
}
