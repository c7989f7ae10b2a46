/* What boxes say: operators, shapes, names. */
#include "view/graph_view.h"

#include <string.h>

bool view_constant(const hone_graph *g, uint32_t value, hone_tensor_info *t) {
    hone_value_info info;
    hone_node_info node;
    hone_attribute_info a;
    if (value == HONE_NONE)
        return false;
    if (hone_value_get_tensor(g, value, t))
        return true;
    hone_graph_get_value(g, value, &info);
    if (info.producer == HONE_NONE || !view_is_constant(g, info.producer))
        return false;
    hone_graph_get_node(g, info.producer, &node);
    for (uint32_t i = 0; i < node.n_attributes; i++) {
        hone_node_get_attribute(g, info.producer, i, &a);
        if (a.kind == HONE_ATTRIBUTE_TENSOR)
            return hone_attribute_get_tensor(g, info.producer, i, 0, t);
    }
    return false;
}

uint32_t view_called_function(const view_model *v, const hone_node_info *node) {
    for (uint32_t i = 1; i < v->n_sources; i++)
        if (strcmp(v->sources[i].function.name, node->op) == 0 &&
            strcmp(v->sources[i].function.domain, node->domain) == 0)
            return i;
    return 0;
}

const char *view_op_text(const hone_node_info *node, char *out, size_t size) {
    snprintf(out, size, "%s%s%s", node->domain, *node->domain ? "." : "", node->op);
    return out;
}

const char *view_node_label(const hone_graph *g, uint32_t node, char *out, size_t size) {
    hone_node_info n;
    hone_value_info v = {.name = ""};
    hone_graph_get_node(g, node, &n);
    if (!*n.name && n.n_outputs && n.outputs[0] != HONE_NONE)
        hone_graph_get_value(g, n.outputs[0], &v);
    if (*n.name || *v.name)
        snprintf(out, size, "%s", *n.name ? n.name : v.name);
    else
        snprintf(out, size, "#%u", node);
    return out;
}

/* "float[1,3]" becomes "1x3" with multiplication signs. */
static void shape_of_type(const char *type, char *out, size_t size) {
    const char *p = strchr(type, '[');
    size_t n = 0;
    if (p && strcmp(p, "[]") == 0)
        n = (size_t)snprintf(out, size, "scalar");
    for (p = p && n == 0 ? p + 1 : NULL; p && *p && *p != ']' && n + 3 < size; p++) {
        if (*p == ',') {
            out[n++] = (char)0xc3;
            out[n++] = (char)0x97;
        } else {
            out[n++] = *p;
        }
    }
    out[n < size ? n : size - 1] = '\0';
}

void view_shape_text(const hone_graph *g, uint32_t value, char *out, size_t size) {
    char type[VIEW_TEXT];
    hone_value_type_text(g, value, type, sizeof type);
    shape_of_type(type, out, size);
}

/* The shape of the largest weight, or of the first output. */
static void node_subtitle(const hone_graph *g, const hone_node_info *n, char *out, size_t size) {
    hone_tensor_info t;
    uint32_t shown = HONE_NONE;
    uint64_t most = 1;
    *out = '\0';
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (view_constant(g, n->inputs[i], &t) && t.rank > 1 && t.n_elements > most) {
            most = t.n_elements;
            shown = n->inputs[i];
        }
    if (shown == HONE_NONE && n->n_outputs)
        shown = n->outputs[0];
    if (shown != HONE_NONE)
        view_shape_text(g, shown, out, size);
}

void view_box_texts(const view_model *v, const view_picture *p, const view_box *box, char *title,
                    char *subtitle, size_t size) {
    const hone_graph *g = v->sources[p->source].graph;
    hone_node_info n;
    hone_value_info value;
    if (box->kind == VIEW_NODE) {
        hone_graph_get_node(g, box->id, &n);
        snprintf(title, size, "%s", n.op);
        node_subtitle(g, &n, subtitle, size);
        return;
    }
    hone_graph_get_value(g, box->id, &value);
    snprintf(title, size, "%s", value.name);
    view_shape_text(g, box->id, subtitle, size);
}
