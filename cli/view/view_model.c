/* Pictures of a model: which boxes and edges each of its graphs has. */
#include "view/graph_view.h"

#include <stdlib.h>
#include <string.h>

/* A value of an outer graph that a subgraph, or one inside it, reads. */
typedef uint64_t capture; /* subgraph << 32 | value: sorts by subgraph */

typedef struct captures {
    capture *at;
    size_t n, cap;
    bool failed;
} captures;

/* What is known while the pictures of one graph are made. */
typedef struct picture_maker {
    view_model *v;
    const hone_graph *g;
    captures captures;
    uint32_t *box_of;   /* of a value in the picture `made_for` */
    uint32_t *made_for; /* subgraph + 1 */
    view_picture *p;
    uint32_t n_boxes, cap_boxes, n_edges, cap_edges;
    bool failed;
} picture_maker;

bool view_is_constant(const hone_graph *g, uint32_t node) {
    hone_node_info n;
    hone_value_info out = {0};
    hone_graph_get_node(g, node, &n);
    if (strcmp(n.op, "Constant") != 0 || *n.domain || n.n_outputs != 1 || n.outputs[0] == HONE_NONE)
        return false;
    hone_graph_get_value(g, n.outputs[0], &out);
    return !out.is_output;
}

static bool is_drawn_value(const hone_graph *g, uint32_t value) {
    hone_value_info info;
    if (value == HONE_NONE)
        return false;
    hone_graph_get_value(g, value, &info);
    return !info.is_initializer &&
           (info.producer == HONE_NONE || !view_is_constant(g, info.producer));
}

/* ---- captures -------------------------------------------------------------------------------- */

static void add_capture(captures *c, uint32_t subgraph, uint32_t value) {
    if (c->n == c->cap && !c->failed) {
        size_t cap = c->cap ? c->cap * 2 : 64;
        capture *grown = realloc(c->at, cap * sizeof *grown);
        c->failed = !grown;
        c->at = grown ? grown : c->at;
        c->cap = grown ? cap : c->cap;
    }
    if (!c->failed)
        c->at[c->n++] = (capture)subgraph << 32 | value;
}

/* A read of a value in a subgraph is a capture by all between it and the value's own. */
static void note_read(picture_maker *m, uint32_t subgraph, uint32_t value) {
    hone_value_info info;
    hone_subgraph_info at;
    if (!is_drawn_value(m->g, value))
        return;
    hone_graph_get_value(m->g, value, &info);
    for (uint32_t s = subgraph; s != HONE_NONE && s != info.subgraph; s = at.parent) {
        add_capture(&m->captures, s, value);
        hone_graph_get_subgraph(m->g, s, &at);
    }
}

static int by_capture(const void *a, const void *b) {
    capture x = *(const capture *)a, y = *(const capture *)b;
    return x < y ? -1 : x > y;
}

static void find_captures(picture_maker *m) {
    captures *c = &m->captures;
    for (uint32_t s = 1; s < hone_graph_n_subgraphs(m->g); s++) {
        hone_subgraph_info info;
        hone_node_info node;
        hone_graph_get_subgraph(m->g, s, &info);
        for (uint32_t i = 0; i < info.n_nodes; i++) {
            hone_graph_get_node(m->g, info.nodes[i], &node);
            for (uint32_t k = 0; k < node.n_inputs; k++)
                note_read(m, s, node.inputs[k]);
        }
        for (uint32_t i = 0; i < info.n_outputs; i++)
            note_read(m, s, info.outputs[i]);
    }
    if (c->n > 1)
        qsort(c->at, c->n, sizeof *c->at, by_capture);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (i == 0 || c->at[i] != c->at[i - 1])
            c->at[n++] = c->at[i];
    c->n = n;
}

static size_t first_capture(const captures *c, uint32_t subgraph) {
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->at[middle] >> 32 < subgraph)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- boxes and edges ------------------------------------------------------------------------- */

static uint32_t grow_cap(uint32_t cap) {
    return cap ? cap * 2 : 32;
}

static uint32_t add_box(picture_maker *m, view_kind kind, uint32_t id) {
    view_picture *p = m->p;
    if (m->n_boxes == m->cap_boxes) {
        uint32_t cap = grow_cap(m->cap_boxes);
        view_box *boxes = realloc(p->boxes, cap * sizeof *boxes);
        p->boxes = boxes ? boxes : p->boxes;
        layout_box *placed = realloc(p->layout.boxes, cap * sizeof *placed);
        p->layout.boxes = placed ? placed : p->layout.boxes;
        m->failed = m->failed || !boxes || !placed;
        if (m->failed)
            return 0;
        m->cap_boxes = cap;
    }
    p->boxes[m->n_boxes] = (view_box){kind, id};
    p->layout.boxes[m->n_boxes] = (layout_box){0};
    return m->n_boxes++;
}

static void add_edge(picture_maker *m, uint32_t value, uint32_t from, uint32_t to) {
    view_picture *p = m->p;
    if (m->n_edges == m->cap_edges) {
        uint32_t cap = grow_cap(m->cap_edges);
        layout_edge *edges = realloc(p->layout.edges, cap * sizeof *edges);
        p->layout.edges = edges ? edges : p->layout.edges;
        uint32_t *values = realloc(p->edge_values, cap * sizeof *values);
        p->edge_values = values ? values : p->edge_values;
        m->failed = m->failed || !edges || !values;
        if (m->failed)
            return;
        m->cap_edges = cap;
    }
    p->edge_values[m->n_edges] = value;
    p->layout.edges[m->n_edges++] = (layout_edge){.from = from, .to = to, .source = value};
}

static void set_box_of(picture_maker *m, uint32_t value, uint32_t box) {
    m->box_of[value] = box;
    m->made_for[value] = m->p->subgraph + 1;
}

static void connect(picture_maker *m, uint32_t value, uint32_t to) {
    if (is_drawn_value(m->g, value) && m->made_for[value] == m->p->subgraph + 1)
        add_edge(m, value, m->box_of[value], to);
}

/* The arguments of a node, and what its subgraphs capture. */
static void connect_node(picture_maker *m, uint32_t node, uint32_t box) {
    hone_node_info n;
    hone_attribute_info a;
    hone_graph_get_node(m->g, node, &n);
    for (uint32_t i = 0; i < n.n_inputs; i++)
        connect(m, n.inputs[i], box);
    for (uint32_t i = 0; i < n.n_attributes; i++) {
        hone_node_get_attribute(m->g, node, i, &a);
        bool has_graphs = a.kind == HONE_ATTRIBUTE_GRAPH || a.kind == HONE_ATTRIBUTE_GRAPHS;
        for (uint32_t k = 0; has_graphs && k < a.n; k++) {
            size_t c = first_capture(&m->captures, a.subgraphs[k]);
            for (; c < m->captures.n && m->captures.at[c] >> 32 == a.subgraphs[k]; c++)
                connect(m, (uint32_t)m->captures.at[c], box);
        }
    }
}

static void add_boxes(picture_maker *m, const hone_subgraph_info *info) {
    hone_node_info n;
    for (uint32_t i = 0; i < info->n_inputs; i++)
        if (is_drawn_value(m->g, info->inputs[i]))
            set_box_of(m, info->inputs[i], add_box(m, VIEW_INPUT, info->inputs[i]));
    size_t c = m->p->subgraph ? first_capture(&m->captures, m->p->subgraph) : m->captures.n;
    for (; c < m->captures.n && m->captures.at[c] >> 32 == m->p->subgraph; c++)
        set_box_of(m, (uint32_t)m->captures.at[c],
                   add_box(m, VIEW_OUTER, (uint32_t)m->captures.at[c]));
    for (uint32_t i = 0; i < info->n_nodes; i++) {
        if (view_is_constant(m->g, info->nodes[i]))
            continue;
        uint32_t box = add_box(m, VIEW_NODE, info->nodes[i]);
        hone_graph_get_node(m->g, info->nodes[i], &n);
        for (uint32_t k = 0; k < n.n_outputs; k++)
            if (n.outputs[k] != HONE_NONE)
                set_box_of(m, n.outputs[k], box);
    }
}

static double count_characters(const char *text) {
    double n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* For wide fonts: the page knows only later which one it gets. */
static void set_widths(const view_model *v, view_picture *p) {
    char title[VIEW_TEXT], subtitle[VIEW_TEXT];
    for (uint32_t i = 0; i < p->layout.n_boxes; i++) {
        view_box_texts(v, p, &p->boxes[i], title, subtitle, sizeof title);
        double a = 28 + 8.6 * count_characters(title), b = 26 + 6.8 * count_characters(subtitle);
        double w = a > b ? a : b;
        p->layout.boxes[i].width = w < 70 ? 70 : w > 250 ? 250 : w;
    }
}

static bool make_picture(picture_maker *m, view_picture *p) {
    hone_subgraph_info info;
    hone_graph_get_subgraph(m->g, p->subgraph, &info);
    m->p = p;
    m->n_boxes = m->cap_boxes = m->n_edges = m->cap_edges = 0;
    add_boxes(m, &info);
    uint32_t n_sources = m->n_boxes;
    for (uint32_t i = 0; i < n_sources && !m->failed; i++)
        if (p->boxes[i].kind == VIEW_NODE)
            connect_node(m, p->boxes[i].id, i);
    for (uint32_t i = 0; i < info.n_outputs && !m->failed; i++)
        connect(m, info.outputs[i], add_box(m, VIEW_OUTPUT, info.outputs[i]));
    if (m->failed)
        return false;
    p->layout.n_boxes = m->n_boxes;
    p->layout.n_edges = m->n_edges;
    set_widths(m->v, p);
    return layout_make(&p->layout);
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool make_pictures(view_model *v, uint32_t source) {
    const view_source *s = &v->sources[source];
    uint32_t n = hone_graph_n_values(s->graph);
    picture_maker m = {.v = v, .g = s->graph};
    m.box_of = calloc((size_t)n + 1, sizeof *m.box_of);
    m.made_for = calloc((size_t)n + 1, sizeof *m.made_for);
    bool ok = m.box_of && m.made_for;
    if (ok)
        find_captures(&m);
    ok = ok && !m.captures.failed;
    for (uint32_t i = 0; ok && i < hone_graph_n_subgraphs(s->graph); i++) {
        v->pictures[s->first_picture + i].source = source;
        v->pictures[s->first_picture + i].subgraph = i;
        ok = make_picture(&m, &v->pictures[s->first_picture + i]);
    }
    free(m.box_of);
    free(m.made_for);
    free(m.captures.at);
    return ok;
}

static bool list_sources(view_model *v) {
    hone_model_info info;
    hone_model_get_info(v->model, &info);
    v->sources = calloc((size_t)info.n_functions + 1, sizeof *v->sources);
    if (!v->sources)
        return false;
    v->n_sources = info.n_functions + 1;
    for (uint32_t i = 0; i < v->n_sources; i++) {
        view_source *s = &v->sources[i];
        s->graph =
            i ? hone_model_function(v->model, i - 1, &s->function) : hone_model_graph(v->model);
        s->first_node = v->n_nodes;
        s->first_value = v->n_values;
        s->first_picture = v->n_pictures;
        v->n_nodes += hone_graph_n_nodes(s->graph);
        v->n_values += hone_graph_n_values(s->graph);
        v->n_pictures += hone_graph_n_subgraphs(s->graph);
    }
    v->pictures = calloc((size_t)v->n_pictures + 1, sizeof *v->pictures);
    return v->pictures != NULL;
}

static bool index_names(view_model *v) {
    const hone_graph *g = v->sources[0].graph;
    hone_node_info n;
    hone_value_info out;
    for (int by_output = 0; by_output < 2; by_output++)
        for (uint32_t i = 0; i < hone_graph_n_nodes(g); i++) {
            hone_graph_get_node(g, i, &n);
            if (n.subgraph == HONE_NONE ||
                (by_output && (*n.name || n.n_outputs == 0 || n.outputs[0] == HONE_NONE)))
                continue;
            if (by_output)
                hone_graph_get_value(g, n.outputs[0], &out);
            if (!name_index_add(&v->nodes, by_output ? out.name : n.name, i))
                return false;
        }
    return true;
}

/* "#12 (Conv)" is what messages call a node without a name. */
static uint32_t find_by_number(const view_model *v, const char *text) {
    char *end;
    char op[VIEW_TEXT], expected[VIEW_TEXT + 4];
    hone_node_info n;
    unsigned long id = strtoul(text + 1, &end, 10);
    if (end == text + 1 || id >= hone_graph_n_nodes(v->sources[0].graph))
        return UINT32_MAX;
    hone_graph_get_node(v->sources[0].graph, (uint32_t)id, &n);
    snprintf(expected, sizeof expected, " (%s)", view_op_text(&n, op, sizeof op));
    bool is_it = n.subgraph != HONE_NONE && !*n.name && (!*end || strcmp(end, expected) == 0);
    return is_it ? (uint32_t)id : UINT32_MAX;
}

uint32_t view_find_node(const view_model *v, const char *name) {
    uint32_t id = name_index_find(&v->nodes, name);
    return id == UINT32_MAX && *name == '#' ? find_by_number(v, name) : id;
}

bool view_model_make(const hone_model *m, const char *label, view_model *v) {
    *v = (view_model){.label = label, .model = m};
    bool ok = list_sources(v) && index_names(v);
    for (uint32_t i = 0; ok && i < v->n_sources; i++)
        ok = make_pictures(v, i);
    if (!ok)
        view_model_free(v);
    return ok;
}

void view_model_free(view_model *v) {
    for (uint32_t i = 0; v->pictures && i < v->n_pictures; i++) {
        view_picture *p = &v->pictures[i];
        layout_free(&p->layout);
        free(p->boxes);
        free(p->edge_values);
        free(p->layout.boxes);
        free(p->layout.edges);
    }
    free(v->pictures);
    free(v->sources);
    name_index_free(&v->nodes);
    *v = (view_model){0};
}
