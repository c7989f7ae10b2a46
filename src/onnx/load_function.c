/* FunctionProto: a graph whose inputs and outputs have names only. */
#include "onnx/load_int.h"

static hone_status load_function_input(hn_loader *ld, hn_graph *g, hn_bytes text) {
    hn_str name;
    HN_TRY(hn_load_str(ld, text, &name));
    hn_id value = hn_graph_add_value(g, 0, name);
    return value != HN_NONE && hn_graph_add_input(g, 0, value) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status load_function_output(hn_loader *ld, hn_graph *g, hn_bytes text) {
    hn_str name;
    hn_id value;
    HN_TRY(hn_load_str(ld, text, &name));
    HN_TRY(hn_load_lookup(g, 0, name, &value));
    return hn_graph_add_output(g, 0, value) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status load_attr_name(hn_loader *ld, hn_function *fn, hn_bytes text) {
    hn_str name;
    HN_TRY(hn_load_str(ld, text, &name));
    return HN_VEC_PUSH(ld->arena, &fn->attr_names, name) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status load_attr_default(hn_loader *ld, hn_function *fn, hn_bytes message) {
    hn_attr attr;
    HN_TRY(hn_load_attr(ld, fn->graph, 0, HN_NONE, message, &attr));
    return HN_VEC_PUSH(ld->arena, &fn->attr_defaults, attr) ? HONE_OK : HONE_E_NOMEM;
}

/* All fields that do not refer to values. */
static hone_status load_function_field(hn_loader *ld, hn_function *fn, const hn_field *f,
                                       hn_extra_draft *extra) {
    switch (f->tag) {
    case HN_F_FUNCTION_NAME:
        return hn_load_str(ld, f->bytes, &fn->name);
    case HN_F_FUNCTION_DOMAIN:
        return hn_load_str(ld, f->bytes, &fn->domain);
    case HN_F_FUNCTION_OVERLOAD:
        return hn_load_str(ld, f->bytes, &fn->overload);
    case HN_F_FUNCTION_DOC_STRING:
        return hn_load_str(ld, f->bytes, &extra->doc);
    case HN_F_FUNCTION_INPUT:
        return load_function_input(ld, fn->graph, f->bytes);
    case HN_F_FUNCTION_ATTRIBUTE:
        return load_attr_name(ld, fn, f->bytes);
    case HN_F_FUNCTION_ATTRIBUTE_PROTO:
        return load_attr_default(ld, fn, f->bytes);
    case HN_F_FUNCTION_OPSET_IMPORT:
        return hn_load_opset(ld, f->bytes, &fn->opsets);
    case HN_F_FUNCTION_METADATA_PROPS:
        return hn_load_prop(ld, f, &extra->props, &extra->unknown);
    case HN_F_FUNCTION_NODE:
    case HN_F_FUNCTION_OUTPUT:
    case HN_F_FUNCTION_VALUE_INFO:
        return HONE_OK;
    default:
        return hn_load_keep(ld, &extra->unknown, f->whole);
    }
}

hone_status hn_load_function(hn_loader *ld, hn_bytes message) {
    hn_wire start = hn_load_open(ld, message, "FunctionProto"), w = start;
    hn_field f;
    hone_status status;
    hn_extra_draft extra = {0};
    hn_function *fn = HN_NEW(ld->arena, hn_function);
    HN_TRY_PTR(fn);
    fn->graph = hn_graph_new(ld->model, &fn->opsets);
    HN_TRY_PTR(fn->graph);
    while (hn_wire_next(&w, &f, &status))
        HN_TRY(load_function_field(ld, fn, &f, &extra));
    HN_TRY(status);
    HN_TRY(hn_load_extra(ld, &extra, &fn->extra));
    if (!fn->name)
        HN_TRY(hn_load_str(ld, (hn_bytes){"", 0}, &fn->name));
    HN_TRY(hn_load_nodes(ld, fn->graph, 0, start, HN_F_FUNCTION_NODE));
    for (w = start; hn_wire_next(&w, &f, &status);) {
        if (f.tag == HN_F_FUNCTION_OUTPUT)
            HN_TRY(load_function_output(ld, fn->graph, f.bytes));
        else if (f.tag == HN_F_FUNCTION_VALUE_INFO)
            HN_TRY(hn_load_value_info(ld, fn->graph, 0, f.bytes));
    }
    HN_TRY(status);
    return hn_model_add_function(ld->model, fn) ? HONE_OK : HONE_E_NOMEM;
}
