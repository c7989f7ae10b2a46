/* Graphs in the language of Graphviz, subgraphs and functions as clusters. */
#include "view/graph_view.h"

static void put_dot_text(cli_buffer *out, const char *text) {
    cli_buffer_printf(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            cli_buffer_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            cli_buffer_printf(out, " ");
        else
            cli_buffer_add(out, text, 1);
    }
    cli_buffer_printf(out, "\"");
}

static void put_dot_box(const view_model *v, const view_picture *p, uint32_t model,
                        uint32_t picture, uint32_t i, cli_buffer *out) {
    static const char *const shapes[] = {"box", "oval", "oval", "oval"};
    char texts[2][VIEW_TEXT], name[VIEW_TEXT] = "", label[3 * VIEW_TEXT];
    const view_box *box = &p->boxes[i];
    view_box_texts(v, p, box, texts[0], texts[1], VIEW_TEXT);
    if (box->kind == VIEW_NODE)
        view_node_label(v->sources[p->source].graph, box->id, name, sizeof name);
    snprintf(label, sizeof label, "%s %s", texts[0], texts[1]);
    cli_buffer_printf(out, "    m%u_%u_%u [shape=%s, label=", model, picture, i, shapes[box->kind]);
    put_dot_text(out, label);
    if (*name) {
        cli_buffer_printf(out, ", tooltip=");
        put_dot_text(out, name);
    }
    cli_buffer_printf(out, "%s];\n", box->kind == VIEW_OUTER ? ", style=dashed" : "");
}

static void put_dot_picture(const view_model *v, uint32_t model, uint32_t picture,
                            cli_buffer *out) {
    const view_picture *p = &v->pictures[picture];
    const view_source *s = &v->sources[p->source];
    hone_subgraph_info info;
    hone_value_info value;
    hone_graph_get_subgraph(s->graph, p->subgraph, &info);
    cli_buffer_printf(out, "  subgraph cluster_%u_%u {\n    label=", model, picture);
    put_dot_text(out, p->source && !p->subgraph ? s->function.name : info.name);
    cli_buffer_printf(out, ";\n");
    for (uint32_t i = 0; i < p->layout.n_boxes; i++)
        put_dot_box(v, p, model, picture, i, out);
    for (uint32_t i = 0; i < p->layout.n_edges; i++) {
        hone_graph_get_value(s->graph, p->edge_values[i], &value);
        cli_buffer_printf(out, "    m%u_%u_%u -> m%u_%u_%u [tooltip=", model, picture,
                          p->layout.edges[i].from, model, picture, p->layout.edges[i].to);
        put_dot_text(out, value.name);
        cli_buffer_printf(out, "];\n");
    }
    cli_buffer_printf(out, "  }\n");
}

void view_dot_print(const view_scene *s, cli_buffer *out) {
    cli_buffer_printf(out, "digraph hone {\n  node [fontname=\"sans-serif\", fontsize=10];\n");
    for (uint32_t m = 0; m < s->n_models; m++)
        for (uint32_t i = 0; i < s->models[m].n_pictures; i++)
            if (s->models[m].pictures[i].layout.n_boxes)
                put_dot_picture(&s->models[m], m, i, out);
    cli_buffer_printf(out, "}\n");
}
