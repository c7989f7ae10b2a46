/* NodeProto: outputs are declared before any input is resolved, so that a wrong order of nodes is
 * reported by the checker and does not make loading fail. */
#include "onnx/load_int.h"

typedef struct node_draft {
    hn_str op, domain, name;
    uint32_t n_inputs, n_outputs, n_attrs;
    hn_extra_draft extra;
} node_draft;

static hone_status scan_node_field(hn_loader *ld, const hn_field *f, node_draft *d) {
    switch (f->tag) {
    case HN_F_NODE_INPUT:
        d->n_inputs++;
        return HONE_OK;
    case HN_F_NODE_OUTPUT:
        d->n_outputs++;
        return HONE_OK;
    case HN_F_NODE_ATTRIBUTE:
        d->n_attrs++;
        return HONE_OK;
    case HN_F_NODE_NAME:
        return hn_load_str(ld, f->bytes, &d->name);
    case HN_F_NODE_OP_TYPE:
        return hn_load_str(ld, f->bytes, &d->op);
    case HN_F_NODE_DOMAIN:
        return hn_load_str(ld, f->bytes, &d->domain);
    case HN_F_NODE_OVERLOAD:
        return hn_load_str(ld, f->bytes, &d->extra.overload);
    case HN_F_NODE_DOC_STRING:
        return hn_load_str(ld, f->bytes, &d->extra.doc);
    case HN_F_NODE_METADATA_PROPS:
        return hn_load_prop(ld, f, &d->extra.props, &d->extra.unknown);
    default:
        return hn_load_keep(ld, &d->extra.unknown, f->whole);
    }
}

/* A duplicate name creates a second value, which the checker reports. */
static hone_status declare_output(hn_loader *ld, hn_graph *g, hn_id node, uint32_t slot,
                                  hn_bytes text) {
    if (text.n == 0)
        return HONE_OK;
    hn_str name;
    HN_TRY(hn_load_str(ld, text, &name));
    hn_id value = hn_graph_add_value(g, hn_node_at(g, node)->block, name);
    if (value == HN_NONE)
        return HONE_E_NOMEM;
    hn_graph_set_output(g, node, slot, value);
    return HONE_OK;
}

static hone_status declare_node(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message) {
    hn_wire start = hn_load_open(ld, message, "NodeProto"), w = start;
    hn_field f;
    hone_status status;
    node_draft d = {0};
    while (hn_wire_next(&w, &f, &status))
        HN_TRY(scan_node_field(ld, &f, &d));
    HN_TRY(status);
    if (!d.op)
        HN_TRY(hn_load_str(ld, (hn_bytes){"", 0}, &d.op));
    const hn_extra *extra;
    HN_TRY(hn_load_extra(ld, &d.extra, &extra));
    hn_attr *attrs = NULL;
    if (d.n_attrs) {
        attrs = HN_NEW_N(ld->arena, hn_attr, d.n_attrs);
        HN_TRY_PTR(attrs);
    }
    hn_id node =
        hn_graph_add_node(g, block, d.domain, d.op, d.name, d.n_inputs, d.n_outputs, 0, NULL);
    if (node == HN_NONE)
        return HONE_E_NOMEM;
    hn_node_at(g, node)->extra = extra;
    hn_node_at(g, node)->attrs = attrs; /* filled, and counted, by resolve_node */
    w = start;
    for (uint32_t slot = 0; hn_wire_next(&w, &f, &status);) {
        if (f.tag == HN_F_NODE_OUTPUT)
            HN_TRY(declare_output(ld, g, node, slot++, f.bytes));
    }
    return status;
}

static hone_status resolve_input(hn_loader *ld, hn_graph *g, hn_id node, uint32_t slot,
                                 hn_bytes text) {
    if (text.n == 0)
        return HONE_OK;
    hn_str name;
    hn_id value;
    HN_TRY(hn_load_str(ld, text, &name));
    HN_TRY(hn_load_lookup(g, hn_node_at(g, node)->block, name, &value));
    return hn_graph_set_input(g, node, slot, value) ? HONE_OK : HONE_E_NOMEM;
}

/* Inner blocks are read here: node tables may move, so the node is looked up again each time. */
static hone_status resolve_node(hn_loader *ld, hn_graph *g, hn_id node, hn_bytes message) {
    hn_wire w = hn_load_open(ld, message, "NodeProto");
    hn_field f;
    hone_status status;
    uint32_t slot = 0;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_NODE_INPUT) {
            HN_TRY(resolve_input(ld, g, node, slot++, f.bytes));
        } else if (f.tag == HN_F_NODE_ATTRIBUTE) {
            const hn_node *n = hn_node_at(g, node);
            HN_TRY(hn_load_attr(ld, g, n->block, node, f.bytes, &n->attrs[n->n_attrs]));
            hn_node_at(g, node)->n_attrs++;
        }
    }
    return status;
}

hone_status hn_load_nodes(hn_loader *ld, hn_graph *g, hn_id block, hn_wire message,
                          uint32_t node_tag) {
    hn_field f;
    hone_status status;
    for (hn_wire w = message; hn_wire_next(&w, &f, &status);) {
        if (f.tag == node_tag)
            HN_TRY(declare_node(ld, g, block, f.bytes));
    }
    uint32_t i = 0;
    for (hn_wire w = message; hn_wire_next(&w, &f, &status); i += f.tag == node_tag) {
        if (f.tag != node_tag)
            continue;
        hn_id node = hn_block_at(g, block)->nodes.at[i];
        hone_status resolved = resolve_node(ld, g, node, f.bytes);
        if (resolved != HONE_OK) {
            hn_error_at_node(ld->err, g, node);
            return resolved;
        }
    }
    return status;
}
