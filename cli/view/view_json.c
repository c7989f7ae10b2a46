/* The data of the page: models with nodes, values, pictures and weights, as one JSON object. Nodes,
 * values and boxes are arrays of few fields, so that thousands of them stay small;
 * cli/pages/view_data.js reads them. */
#include "view/graph_view.h"

#include <string.h>

enum { MOST_CHARS = 2000, MOST_ELEMENTS = 64 };

/* Cut where a character begins: nobody reads a million characters in a panel. */
static void put_cut(cli_buffer *out, const char *text, size_t n) {
    static const char cut[] = "\xe2\x80\xa6";
    char some[MOST_CHARS + sizeof cut];
    if (n <= MOST_CHARS) {
        cli_json_string(out, text, n);
        return;
    }
    size_t keep = MOST_CHARS;
    while (keep > MOST_CHARS - 4 && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;
    memcpy(some, text, keep);
    memcpy(some + keep, cut, sizeof cut - 1);
    cli_json_string(out, some, keep + sizeof cut - 1);
}

static void put_json_text(cli_buffer *out, const char *text) {
    put_cut(out, text, strlen(text));
}

/* An id of a graph as one of the model; -1: none. */
static void put_id(cli_buffer *out, uint32_t first, uint32_t id) {
    cli_buffer_printf(out, "%lld", id == HONE_NONE ? -1LL : (long long)first + id);
}

static void put_ids(cli_buffer *out, uint32_t first, const uint32_t *ids, uint32_t n) {
    cli_buffer_printf(out, "[");
    for (uint32_t i = 0; i < n; i++) {
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_id(out, first, ids[i]);
    }
    cli_buffer_printf(out, "]");
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_tensor_text(const hone_tensor_info *t, cli_buffer *text) {
    cli_buffer_printf(text, "%s[", hone_elem_type_name(t->elem_type));
    for (int32_t i = 0; i < t->rank; i++)
        cli_buffer_printf(text, "%s%lld", i ? "," : "", (long long)t->dims[i]);
    cli_buffer_printf(text, "]");
}

static void put_list_text(const hone_graph *g, uint32_t node, uint32_t i,
                          const hone_attribute_info *a, cli_buffer *text) {
    const char *s;
    size_t n_bytes;
    hone_tensor_info t;
    cli_buffer_printf(text, "[");
    for (uint32_t k = 0; k < a->n && k < MOST_ELEMENTS; k++) {
        cli_buffer_printf(text, "%s", k ? ", " : "");
        if (a->kind == HONE_ATTRIBUTE_INTS) {
            cli_buffer_printf(text, "%lld", (long long)a->ints[k]);
        } else if (a->kind == HONE_ATTRIBUTE_FLOATS) {
            cli_json_number(text, (double)a->floats[k], true);
        } else if (a->kind == HONE_ATTRIBUTE_STRINGS) {
            hone_node_get_attribute_string(g, node, i, k, &s, &n_bytes);
            cli_buffer_add(text, s, n_bytes < MOST_CHARS ? n_bytes : MOST_CHARS);
        } else if (hone_attribute_get_tensor(g, node, i, k, &t)) {
            put_tensor_text(&t, text);
        }
    }
    if (a->n > MOST_ELEMENTS)
        cli_buffer_printf(text, ", \xe2\x80\xa6 %u in all", a->n);
    cli_buffer_printf(text, "]");
}

static void put_attribute(const hone_graph *g, uint32_t node, uint32_t i,
                          const hone_attribute_info *a, cli_buffer *out) {
    cli_buffer text = {0};
    hone_tensor_info t;
    if (*a->reference)
        cli_buffer_printf(&text, "@%s", a->reference);
    else if (a->kind == HONE_ATTRIBUTE_INT)
        cli_buffer_printf(&text, "%lld", (long long)a->i);
    else if (a->kind == HONE_ATTRIBUTE_FLOAT)
        cli_json_number(&text, (double)a->f, true);
    else if (a->kind == HONE_ATTRIBUTE_STRING)
        cli_buffer_add(&text, a->s, a->s_bytes);
    else if (a->kind == HONE_ATTRIBUTE_TENSOR && hone_attribute_get_tensor(g, node, i, 0, &t))
        put_tensor_text(&t, &text);
    else if (a->kind == HONE_ATTRIBUTE_INTS || a->kind == HONE_ATTRIBUTE_FLOATS ||
             a->kind == HONE_ATTRIBUTE_STRINGS || a->kind == HONE_ATTRIBUTE_TENSORS)
        put_list_text(g, node, i, a, &text);
    cli_buffer_printf(out, "[");
    put_json_text(out, a->name);
    cli_buffer_printf(out, ",");
    put_cut(out, text.at ? (const char *)text.at : "", text.n);
    cli_buffer_printf(out, "]");
    out->failed |= text.failed;
    cli_buffer_free(&text);
}

/* ---- nodes and values ------------------------------------------------------------------------ */

static void put_attributes(const hone_graph *g, uint32_t node, uint32_t n, cli_buffer *out) {
    bool has_any = false;
    cli_buffer_printf(out, "[");
    for (uint32_t i = 0; i < n; i++) {
        hone_attribute_info a;
        hone_node_get_attribute(g, node, i, &a);
        if (a.kind == HONE_ATTRIBUTE_GRAPH || a.kind == HONE_ATTRIBUTE_GRAPHS)
            continue;
        cli_buffer_printf(out, "%s", has_any ? "," : "");
        put_attribute(g, node, i, &a, out);
        has_any = true;
    }
    cli_buffer_printf(out, "]");
}

/* The pictures that open inside a node: bodies of control flow, and the function that it calls. */
static void put_inner_pictures(const view_model *v, const view_source *s, uint32_t node,
                               const hone_node_info *n, cli_buffer *out) {
    uint32_t called = view_called_function(v, n);
    bool has_any = called != 0;
    cli_buffer_printf(out, "[");
    if (called) {
        cli_buffer_printf(out, "[");
        put_json_text(out, n->op);
        cli_buffer_printf(out, ",%u]", v->sources[called].first_picture);
    }
    for (uint32_t i = 0; i < n->n_attributes; i++) {
        hone_attribute_info a;
        hone_node_get_attribute(s->graph, node, i, &a);
        bool has_graphs = a.kind == HONE_ATTRIBUTE_GRAPH || a.kind == HONE_ATTRIBUTE_GRAPHS;
        for (uint32_t k = 0; has_graphs && k < a.n; k++, has_any = true) {
            cli_buffer_printf(out, "%s[", has_any ? "," : "");
            put_json_text(out, a.name);
            cli_buffer_printf(out, ",%u]", s->first_picture + a.subgraphs[k]);
        }
    }
    cli_buffer_printf(out, "]");
}

static void put_node_row(const view_model *v, const view_source *s, uint32_t node,
                         cli_buffer *out) {
    hone_node_info n;
    uint64_t macs, bytes;
    hone_graph_get_node(s->graph, node, &n);
    if (n.subgraph == HONE_NONE) {
        cli_buffer_printf(out, "0");
        return;
    }
    bool has_macs = hone_node_macs(s->graph, node, &macs);
    bool has_bytes = hone_node_output_bytes(s->graph, node, &bytes);
    cli_buffer_printf(out, "[");
    put_json_text(out, n.op);
    cli_buffer_printf(out, ",");
    put_json_text(out, n.name);
    cli_buffer_printf(out, ",");
    put_json_text(out, n.domain);
    cli_buffer_printf(out, ",");
    put_ids(out, s->first_value, n.inputs, n.n_inputs);
    cli_buffer_printf(out, ",");
    put_ids(out, s->first_value, n.outputs, n.n_outputs);
    cli_buffer_printf(out, ",");
    put_attributes(s->graph, node, n.n_attributes, out);
    cli_buffer_printf(out, ",%lld,%lld,", has_macs ? (long long)macs : -1LL,
                      has_bytes ? (long long)bytes : -1LL);
    put_inner_pictures(v, s, node, &n, out);
    cli_buffer_printf(out, ",%u,", s->first_picture + n.subgraph);
    put_json_text(out, n.doc);
    cli_buffer_printf(out, "]\n");
}

static void put_nodes(const view_model *v, cli_buffer *out) {
    bool has_any = false;
    cli_buffer_printf(out, "\"nodes\":[");
    for (uint32_t k = 0; k < v->n_sources; k++)
        for (uint32_t i = 0; i < hone_graph_n_nodes(v->sources[k].graph); i++, has_any = true) {
            cli_buffer_printf(out, "%s", has_any ? "," : "");
            put_node_row(v, &v->sources[k], i, out);
        }
    cli_buffer_printf(out, "]");
}

static void put_value_row(const view_source *s, uint32_t value, cli_buffer *out) {
    hone_value_info info;
    char text[1024];
    hone_graph_get_value(s->graph, value, &info);
    cli_buffer_printf(out, "[");
    put_json_text(out, info.name);
    hone_value_type_text(s->graph, value, text, sizeof text);
    cli_buffer_printf(out, ",");
    put_json_text(out, text);
    cli_buffer_printf(out, ",");
    put_id(out, s->first_node, info.producer);
    cli_buffer_printf(out, "]\n");
}

static void put_values(const view_model *v, cli_buffer *out) {
    bool has_any = false;
    cli_buffer_printf(out, "\"values\":[");
    for (uint32_t k = 0; k < v->n_sources; k++)
        for (uint32_t i = 0; i < hone_graph_n_values(v->sources[k].graph); i++, has_any = true) {
            cli_buffer_printf(out, "%s", has_any ? "," : "");
            put_value_row(&v->sources[k], i, out);
        }
    cli_buffer_printf(out, "]");
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void put_layout(const view_model *v, const view_picture *p, cli_buffer *out) {
    const view_source *s = &v->sources[p->source];
    const layout *l = &p->layout;
    char title[VIEW_TEXT], subtitle[VIEW_TEXT];
    cli_buffer_printf(out, "\"boxes\":[");
    for (uint32_t i = 0; i < l->n_boxes; i++)
        cli_buffer_printf(out, "%s%d,%u,%u,%.1f,%.1f", i ? "," : "", p->boxes[i].kind,
                          (p->boxes[i].kind == VIEW_NODE ? s->first_node : s->first_value) +
                              p->boxes[i].id,
                          l->boxes[i].rank, l->boxes[i].x, l->boxes[i].width);
    cli_buffer_printf(out, "],\"subtitles\":[");
    for (uint32_t i = 0; i < l->n_boxes; i++) {
        view_box_texts(v, p, &p->boxes[i], title, subtitle, sizeof title);
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_json_text(out, subtitle);
    }
    cli_buffer_printf(out, "],\"edges\":[");
    for (uint32_t i = 0; i < l->n_edges; i++) {
        const layout_edge *e = &l->edges[i];
        long long last = e->is_jump ? -2 : e->last == LAYOUT_NONE ? -1 : (long long)e->last;
        cli_buffer_printf(out, "%s%u,%u,%lld,%u", i ? "," : "", e->from, e->to, last,
                          s->first_value + p->edge_values[i]);
    }
    cli_buffer_printf(out, "],\"bends\":[");
    for (uint32_t i = 0; i < l->n_bends; i++) {
        const layout_bend *b = &l->bends[i];
        cli_buffer_printf(out, "%s%.1f,%lld,%u,%u,%u", i ? "," : "", b->x,
                          b->before == LAYOUT_NONE ? -1LL : (long long)b->before, b->from, b->rank,
                          s->first_value + b->source);
    }
    cli_buffer_printf(out, "]");
}

static void put_picture(const view_model *v, const view_picture *p, cli_buffer *out) {
    const view_source *s = &v->sources[p->source];
    hone_subgraph_info info;
    hone_graph_get_subgraph(s->graph, p->subgraph, &info);
    bool is_function = p->source > 0 && p->subgraph == 0;
    cli_buffer_printf(out, "{\"name\":");
    put_json_text(out, is_function ? s->function.name : info.name);
    cli_buffer_printf(out, ",\"function\":%s,\"owner\":", is_function ? "true" : "false");
    put_id(out, s->first_node, info.owner);
    cli_buffer_printf(out, ",\"inputs\":");
    put_ids(out, s->first_value, info.inputs, info.n_inputs);
    cli_buffer_printf(out, ",\"outputs\":");
    put_ids(out, s->first_value, info.outputs, info.n_outputs);
    cli_buffer_printf(out, ",\"width\":%.1f,\"ranks\":%u,", p->layout.width, p->layout.n_ranks);
    put_layout(v, p, out);
    cli_buffer_printf(out, "}\n");
}

/* ---- the model as a whole -------------------------------------------------------------------- */

static void put_info(const view_model *v, cli_buffer *out) {
    hone_model_info info;
    const char *domain, *key, *value;
    int64_t version;
    hone_model_get_info(v->model, &info);
    cli_buffer_printf(out, "\"producer\":");
    cli_buffer name = {0};
    cli_buffer_printf(&name, "%s%s%s", info.producer_name, *info.producer_version ? " " : "",
                      info.producer_version);
    put_cut(out, (const char *)name.at, name.n);
    cli_buffer_free(&name);
    cli_buffer_printf(out, ",\"ir\":%lld,\"file_bytes\":%llu,\"doc\":", (long long)info.ir_version,
                      (unsigned long long)(info.file_bytes + info.external_bytes));
    put_json_text(out, info.doc);
    cli_buffer_printf(out, ",\"opsets\":[");
    for (uint32_t i = 0; i < info.n_opsets; i++) {
        hone_model_get_opset(v->model, i, &domain, &version);
        cli_buffer_printf(out, "%s[", i ? "," : "");
        put_json_text(out, *domain ? domain : "ai.onnx");
        cli_buffer_printf(out, ",%lld]", (long long)version);
    }
    cli_buffer_printf(out, "],\"metadata\":[");
    for (uint32_t i = 0; i < info.n_metadata && i < MOST_ELEMENTS; i++) {
        hone_model_get_metadata(v->model, i, &key, &value);
        cli_buffer_printf(out, "%s[", i ? "," : "");
        put_json_text(out, key);
        cli_buffer_printf(out, ",");
        put_json_text(out, value);
        cli_buffer_printf(out, "]");
    }
    cli_buffer_printf(out, "],");
}

static void put_totals(const view_model *v, cli_buffer *out) {
    hone_stats *stats;
    hone_stats_totals t;
    if (hone_model_get_stats(v->model, &stats, NULL) != HONE_OK)
        return;
    hone_stats_get_totals(stats, &t);
    cli_buffer_printf(out,
                      "\"parameters\":%llu,\"parameter_bytes\":%llu,\"macs\":%llu,"
                      "\"activation_bytes\":%llu,\"unknown\":%u,",
                      (unsigned long long)t.n_parameters, (unsigned long long)t.parameter_bytes,
                      (unsigned long long)t.macs, (unsigned long long)t.activation_bytes,
                      t.n_unknown_nodes);
    hone_stats_free(stats);
}

static void put_model(const view_scene *s, const view_model *v, cli_buffer *out) {
    cli_buffer_printf(out, "{\"label\":");
    put_json_text(out, v->label);
    cli_buffer_printf(out, ",");
    put_info(v, out);
    put_totals(v, out);
    view_json_plan(v, out);
    if (s->profile)
        view_json_profile(v, s->profile, out);
    if (s->sensitivity)
        view_json_sensitivity(v, s->sensitivity, out);
    view_json_weights(v, s, out);
    put_nodes(v, out);
    cli_buffer_printf(out, ",");
    put_values(v, out);
    cli_buffer_printf(out, ",\"pictures\":[");
    for (uint32_t i = 0; i < v->n_pictures; i++) {
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_picture(v, &v->pictures[i], out);
    }
    cli_buffer_printf(out, "]}");
}

void view_json_print(const view_scene *s, cli_buffer *out) {
    cli_buffer_printf(out, "{\"hone\":\"%s\",\"models\":[", hone_version());
    for (uint32_t i = 0; i < s->n_models; i++) {
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_model(s, &s->models[i], out);
    }
    cli_buffer_printf(out, "]");
    if (s->n_models == 2)
        view_json_pairs(s, out);
    cli_buffer_printf(out, "}\n");
}
