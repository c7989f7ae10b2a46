/* Graphs as lines of text: a node per line with what it reads, subgraphs indented below; of two
 * models, what each node of the second computes of the first. */
#include "view/graph_view.h"

#include <stdlib.h>
#include <string.h>

/* Names come from files of strangers: a terminal shall not obey them. */
static void put_plain(cli_buffer *out, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            cli_buffer_printf(out, "\\x%02x", c);
        else
            cli_buffer_add(out, text, 1);
    }
}

static void put_names_of(const hone_graph *g, const uint32_t *values, uint32_t n, cli_buffer *out) {
    hone_value_info info;
    for (uint32_t i = 0; i < n; i++) {
        cli_buffer_printf(out, "%s", i ? ", " : "");
        if (values[i] == HONE_NONE)
            continue;
        hone_graph_get_value(g, values[i], &info);
        put_plain(out, info.name);
    }
}

static void put_typed_values(const hone_graph *g, const char *what, const uint32_t *values,
                             uint32_t n, int depth, cli_buffer *out) {
    hone_value_info info;
    char type[VIEW_TEXT];
    for (uint32_t i = 0; i < n; i++) {
        hone_graph_get_value(g, values[i], &info);
        if (info.is_initializer && strcmp(what, "input") == 0)
            continue;
        hone_value_type_text(g, values[i], type, sizeof type);
        cli_buffer_printf(out, "%*s%-6s ", 2 * depth, "", what);
        put_plain(out, info.name);
        cli_buffer_printf(out, "  ");
        put_plain(out, type);
        cli_buffer_printf(out, "\n");
    }
}

static void put_text_graph(const hone_graph *g, uint32_t subgraph, int depth, cli_buffer *out);

static void put_text_node(const hone_graph *g, uint32_t node, int depth, cli_buffer *out) {
    hone_node_info n;
    hone_attribute_info a;
    char text[VIEW_TEXT];
    hone_graph_get_node(g, node, &n);
    cli_buffer_printf(out, "%*s", 2 * depth, "");
    put_plain(out, view_op_text(&n, text, sizeof text));
    cli_buffer_printf(out, " ");
    put_plain(out, view_node_label(g, node, text, sizeof text));
    cli_buffer_printf(out, " (");
    put_names_of(g, n.inputs, n.n_inputs, out);
    cli_buffer_printf(out, ") -> ");
    put_names_of(g, n.outputs, n.n_outputs, out);
    if (n.n_outputs && n.outputs[0] != HONE_NONE) {
        hone_value_type_text(g, n.outputs[0], text, sizeof text);
        cli_buffer_printf(out, "  ");
        put_plain(out, text);
    }
    cli_buffer_printf(out, "\n");
    for (uint32_t i = 0; i < n.n_attributes; i++) {
        hone_node_get_attribute(g, node, i, &a);
        bool has_graphs = a.kind == HONE_ATTRIBUTE_GRAPH || a.kind == HONE_ATTRIBUTE_GRAPHS;
        for (uint32_t k = 0; has_graphs && k < a.n; k++) {
            cli_buffer_printf(out, "%*s", 2 * depth + 2, "");
            put_plain(out, a.name);
            cli_buffer_printf(out, ":\n");
            put_text_graph(g, a.subgraphs[k], depth + 2, out);
        }
    }
}

static void put_text_graph(const hone_graph *g, uint32_t subgraph, int depth, cli_buffer *out) {
    hone_subgraph_info info;
    hone_graph_get_subgraph(g, subgraph, &info);
    put_typed_values(g, "input", info.inputs, info.n_inputs, depth, out);
    for (uint32_t i = 0; i < info.n_nodes; i++)
        if (!view_is_constant(g, info.nodes[i]))
            put_text_node(g, info.nodes[i], depth, out);
    put_typed_values(g, "output", info.outputs, info.n_outputs, depth, out);
}

static void put_text_model(const view_model *v, cli_buffer *out) {
    for (uint32_t i = 0; i < v->n_sources; i++) {
        put_plain(out, i ? v->sources[i].function.name : v->label);
        cli_buffer_printf(out, i ? " (function)\n" : "\n");
        put_text_graph(v->sources[i].graph, 0, 1, out);
    }
}

/* ---- two models ------------------------------------------------------------------------------ */

static void put_op_and_label(const hone_graph *g, uint32_t node, cli_buffer *out) {
    hone_node_info n;
    char text[VIEW_TEXT];
    hone_graph_get_node(g, node, &n);
    put_plain(out, view_op_text(&n, text, sizeof text));
    cli_buffer_printf(out, " ");
    put_plain(out, view_node_label(g, node, text, sizeof text));
}

static bool is_same_node(const view_scene *s, uint32_t before, uint32_t after) {
    hone_node_info a, b;
    hone_graph_get_node(s->models[0].sources[0].graph, before, &a);
    hone_graph_get_node(s->models[1].sources[0].graph, after, &b);
    return strcmp(a.op, b.op) == 0 && strcmp(a.domain, b.domain) == 0;
}

/* The last rewrite that names each node of the first model; NULL: no memory, or no log. */
static uint32_t *last_rewrites(const view_scene *s, uint32_t n_nodes) {
    hone_optimization_info info = {0};
    uint32_t *last = calloc((size_t)n_nodes + 1, sizeof *last);
    if (s->report)
        hone_optimization_get_info(s->report, &info);
    for (uint32_t i = 0; last && i < info.n_rewrites; i++) {
        hone_rewrite r;
        hone_optimization_get_rewrite(s->report, i, &r);
        uint32_t node = view_find_node(&s->models[0], r.node);
        if (node != UINT32_MAX)
            last[node] = i + 1;
    }
    return last;
}

static void put_old_node(const view_scene *s, uint32_t node, const uint32_t *rewrites,
                         cli_buffer *out) {
    hone_rewrite r;
    cli_buffer_printf(out, "  ");
    put_op_and_label(s->models[0].sources[0].graph, node, out);
    if (rewrites[node]) {
        hone_optimization_get_rewrite(s->report, rewrites[node] - 1, &r);
        cli_buffer_printf(out, "  (%s.%s)", r.pass, r.rule);
    }
    cli_buffer_printf(out, "\n");
}

static void put_text_pairs(const view_scene *s, const uint32_t *rewrites, bool *is_used,
                           cli_buffer *out) {
    const hone_graph *b = s->models[1].sources[0].graph;
    for (uint32_t i = 0; i < hone_graph_n_nodes(b); i++) {
        hone_node_info n;
        uint32_t begin = s->pairs.first[i], end = s->pairs.first[i + 1];
        for (uint32_t k = begin; k < end; k++)
            is_used[s->pairs.nodes[k]] = true;
        hone_graph_get_node(b, i, &n);
        if (n.subgraph == HONE_NONE || view_is_constant(b, i) ||
            (end - begin == 1 && is_same_node(s, s->pairs.nodes[begin], i)))
            continue;
        put_op_and_label(b, i, out);
        cli_buffer_printf(out, begin == end ? " is new\n" : " computes\n");
        for (uint32_t k = begin; k < end; k++)
            put_old_node(s, s->pairs.nodes[k], rewrites, out);
    }
}

static void put_text_removed(const view_scene *s, const uint32_t *rewrites, const bool *is_used,
                             cli_buffer *out) {
    const hone_graph *a = s->models[0].sources[0].graph;
    bool has_any = false;
    for (uint32_t i = 0; i < hone_graph_n_nodes(a); i++) {
        hone_node_info n;
        hone_graph_get_node(a, i, &n);
        if (n.subgraph == HONE_NONE || is_used[i] || view_is_constant(a, i))
            continue;
        cli_buffer_printf(out, has_any ? "" : "removed\n");
        put_old_node(s, i, rewrites, out);
        has_any = true;
    }
}

void view_text_print(const view_scene *s, cli_buffer *out) {
    if (s->n_models == 1) {
        put_text_model(&s->models[0], out);
        return;
    }
    uint32_t n = hone_graph_n_nodes(s->models[0].sources[0].graph);
    uint32_t *rewrites = last_rewrites(s, n);
    bool *is_used = calloc((size_t)n + 1, sizeof *is_used);
    put_plain(out, s->models[0].label);
    cli_buffer_printf(out, " became ");
    put_plain(out, s->models[1].label);
    cli_buffer_printf(out, "\n");
    out->failed |= !rewrites || !is_used;
    if (!out->failed) {
        put_text_pairs(s, rewrites, is_used, out);
        put_text_removed(s, rewrites, is_used, out);
    }
    free(rewrites);
    free(is_used);
}
