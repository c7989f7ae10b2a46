/* GraphProto: inputs and initializers, then nodes, then fields that refer to values by name. */
#include "onnx/load_int.h"

hone_status hn_load_lookup(hn_graph *g, hn_id block, hn_str name, hn_id *out) {
    *out = hn_graph_find(g, block, name);
    if (*out == HN_NONE)
        *out = hn_graph_add_value(g, block, name);
    return *out == HN_NONE ? HONE_E_NOMEM : HONE_OK;
}

/* ---- value infos ----------------------------------------------------------------------------- */

typedef struct value_info {
    hn_str name;
    const hn_type *type;
    const hn_extra *extra;
} value_info;

static hone_status read_value_info(hn_loader *ld, hn_bytes message, value_info *out) {
    hn_wire w = hn_load_open(ld, message, "ValueInfoProto");
    hn_field f;
    hone_status status;
    hn_extra_draft extra = {0};
    *out = (value_info){0};
    while (hn_wire_next(&w, &f, &status)) {
        switch (f.tag) {
        case HN_F_VALUE_NAME:
            HN_TRY(hn_load_str(ld, f.bytes, &out->name));
            break;
        case HN_F_VALUE_TYPE:
            if (out->type)
                return hn_wire_fail(&w, f.whole.at, "the type of value '%s' occurs twice",
                                    hn_s(out->name));
            HN_TRY(hn_load_type(ld, f.bytes, &out->type));
            break;
        case HN_F_VALUE_DOC_STRING:
            HN_TRY(hn_load_str(ld, f.bytes, &extra.doc));
            break;
        case HN_F_VALUE_METADATA_PROPS:
            HN_TRY(hn_load_prop(ld, &f, &extra.props, &extra.unknown));
            break;
        default:
            HN_TRY(hn_load_keep(ld, &extra.unknown, f.whole));
        }
    }
    HN_TRY(status);
    if (!out->name)
        HN_TRY(hn_load_str(ld, (hn_bytes){"", 0}, &out->name));
    return hn_load_extra(ld, &extra, &out->extra);
}

/* A value may be described twice, as an output and in value_info; the first description counts. */
static void describe_value(hn_graph *g, hn_id id, const value_info *info) {
    hn_value *v = hn_value_at(g, id);
    if (!v->type)
        v->type = info->type;
    if (!v->extra)
        v->extra = info->extra;
    v->is_declared = true;
}

static hone_status load_graph_input(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    value_info info;
    HN_TRY(read_value_info(ld, message, &info));
    hn_id value = hn_graph_find_local(g, block, info.name);
    if (value == HN_NONE || hn_value_at(g, value)->is_input)
        value = hn_graph_add_value(g, block, info.name);
    if (value == HN_NONE || !hn_graph_add_input(g, block, value))
        return HONE_E_NOMEM;
    describe_value(g, value, &info);
    return HONE_OK;
}

static hone_status load_graph_output(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    value_info info;
    hn_id value;
    HN_TRY(read_value_info(ld, message, &info));
    HN_TRY(hn_load_lookup(g, block, info.name, &value));
    if (!hn_graph_add_output(g, block, value))
        return HONE_E_NOMEM;
    describe_value(g, value, &info);
    return HONE_OK;
}

hone_status hn_load_value_info(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    value_info info;
    HN_TRY(read_value_info(ld, message, &info));
    hn_id value = hn_graph_find_local(g, block, info.name);
    if (value == HN_NONE)
        value = hn_graph_add_value(g, block, info.name);
    if (value == HN_NONE || !HN_VEC_PUSH(ld->arena, &hn_block_at(g, block)->value_infos, value))
        return HONE_E_NOMEM;
    describe_value(g, value, &info);
    return HONE_OK;
}

/* ---- initializers ---------------------------------------------------------------------------- */

/* An initializer that is also an input is one value; a second initializer of the same name is
 * another. */
static hone_status initializer_value(hn_loader *ld, hn_graph *g, hn_id block, hn_str name,
                                     hn_id *out) {
    if (!name)
        HN_TRY(hn_load_str(ld, (hn_bytes){"", 0}, &name));
    *out = hn_graph_find_local(g, block, name);
    if (*out == HN_NONE || hn_value_at(g, *out)->init || hn_value_at(g, *out)->sparse_init)
        *out = hn_graph_add_value(g, block, name);
    return *out == HN_NONE ? HONE_E_NOMEM : HONE_OK;
}

static hone_status load_initializer(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    hn_tensor *t = HN_NEW(ld->arena, hn_tensor);
    hn_id value;
    HN_TRY_PTR(t);
    HN_TRY(hn_load_tensor_proto(ld, message, t));
    HN_TRY(initializer_value(ld, g, block, t->name, &value));
    return hn_graph_add_init(g, value, t) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status load_sparse_initializer(hn_loader *ld, hn_graph *g, hn_id block,
                                           hn_bytes message) {
    const hn_sparse *s = NULL;
    hn_id value;
    HN_TRY(hn_load_sparse(ld, message, &s));
    HN_TRY(initializer_value(ld, g, block, s->values->name, &value));
    hn_value_at(g, value)->sparse_init = s;
    return HN_VEC_PUSH(ld->arena, &hn_block_at(g, block)->sparse_inits, value) ? HONE_OK
                                                                               : HONE_E_NOMEM;
}

static hone_status load_annotation(hn_loader *ld, hn_block *b, hn_bytes message) {
    hn_wire w = hn_load_open(ld, message, "TensorAnnotation");
    hn_field f;
    hone_status status;
    hn_quant_annotation q = {0};
    hn_keep unknown = {0};
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_ANNOTATION_TENSOR_NAME)
            HN_TRY(hn_load_str(ld, f.bytes, &q.tensor));
        else if (f.tag == HN_F_ANNOTATION_PARAMETERS)
            HN_TRY(hn_load_prop(ld, &f, &q.params, &unknown));
        else
            HN_TRY(hn_load_keep(ld, &unknown, f.whole));
    }
    HN_TRY(status);
    q.unknown = hn_keep_bytes(&unknown);
    return HN_VEC_PUSH(ld->arena, &b->quant, q) ? HONE_OK : HONE_E_NOMEM;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* All fields that do not refer to values. */
static hone_status load_graph_field(hn_loader *ld, hn_graph *g, hn_id block, const hn_field *f,
                                    hn_extra_draft *extra) {
    switch (f->tag) {
    case HN_F_GRAPH_NAME:
        return hn_load_str(ld, f->bytes, &hn_block_at(g, block)->name);
    case HN_F_GRAPH_DOC_STRING:
        return hn_load_str(ld, f->bytes, &extra->doc);
    case HN_F_GRAPH_METADATA_PROPS:
        return hn_load_prop(ld, f, &extra->props, &extra->unknown);
    case HN_F_GRAPH_INPUT:
        return load_graph_input(ld, g, block, f->bytes);
    case HN_F_GRAPH_INITIALIZER:
        return load_initializer(ld, g, block, f->bytes);
    case HN_F_GRAPH_SPARSE_INITIALIZER:
        return load_sparse_initializer(ld, g, block, f->bytes);
    case HN_F_GRAPH_QUANTIZATION_ANNOTATION:
        return load_annotation(ld, hn_block_at(g, block), f->bytes);
    case HN_F_GRAPH_NODE:
    case HN_F_GRAPH_OUTPUT:
    case HN_F_GRAPH_VALUE_INFO:
        return HONE_OK;
    default:
        return hn_load_keep(ld, &extra->unknown, f->whole);
    }
}

static hone_status load_graph_names(hn_loader *ld, hn_graph *g, hn_id block, hn_wire w) {
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_GRAPH_OUTPUT)
            HN_TRY(load_graph_output(ld, g, block, f.bytes));
        else if (f.tag == HN_F_GRAPH_VALUE_INFO)
            HN_TRY(hn_load_value_info(ld, g, block, f.bytes));
    }
    return status;
}

hone_status hn_load_block(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    hn_wire start = hn_load_open(ld, message, "GraphProto"), w = start;
    hn_field f;
    hone_status status;
    hn_extra_draft extra = {0};
    while (hn_wire_next(&w, &f, &status))
        HN_TRY(load_graph_field(ld, g, block, &f, &extra));
    HN_TRY(status);
    const hn_extra *kept;
    HN_TRY(hn_load_extra(ld, &extra, &kept));
    hn_block_at(g, block)->extra = kept;
    HN_TRY(hn_load_nodes(ld, g, block, start, HN_F_GRAPH_NODE));
    return load_graph_names(ld, g, block, start);
}
