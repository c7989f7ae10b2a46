/* Which nodes of a model the nodes of another version of it compute. The optimizer's notes say it
 * where there are any; a node that kept its name and operator is itself; otherwise the values that
 * both versions have cut the first one into parts. */
#include "view/graph_view.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 256 }; /* that one node replaces */

typedef struct pair_maker {
    const view_model *before, *after;
    const hone_graph *a, *b; /* main graphs of before and after */
    view_pairs *pairs;
    uint32_t *seen; /* nodes of before: the node of after + 1 that they were found for */
    bool failed;
} pair_maker;

static void add_pair_node(pair_maker *m, uint32_t node, uint32_t for_node) {
    view_pairs *p = m->pairs;
    if (m->seen[node] == for_node + 1)
        return;
    m->seen[node] = for_node + 1;
    if (p->n == p->cap) {
        uint32_t cap = p->cap ? p->cap * 2 : 256;
        uint32_t *grown = realloc(p->nodes, cap * sizeof *grown);
        m->failed = m->failed || !grown;
        if (!grown)
            return;
        p->nodes = grown;
        p->cap = cap;
    }
    p->nodes[p->n++] = node;
}

/* The value of `before` that has the name of one of `after`; HONE_NONE: none. */
static uint32_t value_before(const pair_maker *m, uint32_t value) {
    hone_value_info info;
    if (value == HONE_NONE)
        return HONE_NONE;
    hone_graph_get_value(m->b, value, &info);
    return *info.name ? hone_graph_find_value(m->a, info.name) : HONE_NONE;
}

/* Does some node of `after` make, or the graph get, a value of this name? */
static bool is_cut(const pair_maker *m, uint32_t value) {
    hone_value_info info;
    hone_graph_get_value(m->a, value, &info);
    return info.producer == HONE_NONE ||
           (*info.name && hone_graph_find_value(m->b, info.name) != HONE_NONE);
}

/* From the outputs that both have, backwards to values that both have. Large parts are no fusion of
 * anything: nothing is said about them. */
static void pair_by_values(pair_maker *m, uint32_t node, const hone_node_info *n) {
    uint32_t begin = m->pairs->n;
    hone_value_info info;
    hone_node_info from;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        uint32_t value = value_before(m, n->outputs[i]);
        if (value == HONE_NONE)
            continue;
        hone_graph_get_value(m->a, value, &info);
        if (info.producer != HONE_NONE)
            add_pair_node(m, info.producer, node);
    }
    for (uint32_t k = begin; k < m->pairs->n && k - begin < MOST_NODES && !m->failed; k++) {
        hone_graph_get_node(m->a, m->pairs->nodes[k], &from);
        for (uint32_t i = 0; i < from.n_inputs; i++) {
            if (from.inputs[i] == HONE_NONE || is_cut(m, from.inputs[i]))
                continue;
            hone_graph_get_value(m->a, from.inputs[i], &info);
            add_pair_node(m, info.producer, node);
        }
    }
    if (m->pairs->n - begin >= MOST_NODES)
        m->pairs->n = begin + 1; /* the one that makes the output */
}

static int by_id(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool pair_by_origins(pair_maker *m, uint32_t node) {
    bool has_any = false;
    const char *name;
    for (uint32_t i = 0; *(name = hone_node_origin(m->b, node, i)); i++) {
        uint32_t origin = view_find_node(m->before, name);
        if (origin != UINT32_MAX)
            add_pair_node(m, origin, node);
        has_any = has_any || origin != UINT32_MAX;
    }
    return has_any;
}

static bool pair_by_name(pair_maker *m, uint32_t node, const hone_node_info *n) {
    char label[VIEW_TEXT];
    hone_node_info old;
    uint32_t same = view_find_node(m->before, view_node_label(m->b, node, label, sizeof label));
    if (same == UINT32_MAX)
        return false;
    hone_graph_get_node(m->a, same, &old);
    if (strcmp(old.op, n->op) != 0 || strcmp(old.domain, n->domain) != 0)
        return false;
    add_pair_node(m, same, node);
    return true;
}

static bool has_origins(const hone_graph *g) {
    for (uint32_t i = 0; i < hone_graph_n_nodes(g); i++)
        if (*hone_node_origin(g, i, 0))
            return true;
    return false;
}

bool view_pairs_make(const view_model *before, const view_model *after, view_pairs *pairs) {
    pair_maker m = {.before = before,
                    .after = after,
                    .a = before->sources[0].graph,
                    .b = after->sources[0].graph,
                    .pairs = pairs};
    uint32_t n = hone_graph_n_nodes(m.b);
    bool is_ours = has_origins(m.b);
    *pairs = (view_pairs){0};
    pairs->first = calloc((size_t)n + 2, sizeof *pairs->first);
    m.seen = calloc((size_t)hone_graph_n_nodes(m.a) + 1, sizeof *m.seen);
    m.failed = !pairs->first || !m.seen;
    for (uint32_t i = 0; i < n && !m.failed; i++) {
        hone_node_info node;
        hone_graph_get_node(m.b, i, &node);
        pairs->first[i] = pairs->n;
        if (node.subgraph == HONE_NONE || pair_by_origins(&m, i))
            continue;
        if (!is_ours)
            pair_by_values(&m, i, &node);
        if (pairs->n == pairs->first[i])
            pair_by_name(&m, i, &node);
        if (is_ours && pairs->n == pairs->first[i])
            pair_by_values(&m, i, &node);
        if (pairs->n > pairs->first[i])
            qsort(pairs->nodes + pairs->first[i], pairs->n - pairs->first[i], sizeof(uint32_t),
                  by_id);
    }
    if (!m.failed)
        pairs->first[n] = pairs->n;
    free(m.seen);
    if (m.failed)
        view_pairs_free(pairs);
    return !m.failed;
}

void view_pairs_free(view_pairs *pairs) {
    free(pairs->first);
    free(pairs->nodes);
    *pairs = (view_pairs){0};
}

/* ---- in the page ----------------------------------------------------------------------------- */

static void put_log_entry(const view_scene *s, const char *pass, const char *rule, const char *node,
                          const char *text, cli_buffer *out) {
    uint32_t id = view_find_node(&s->models[0], node);
    cli_buffer_printf(out, "[");
    cli_json_string(out, pass, strlen(pass));
    cli_buffer_printf(out, ",");
    cli_json_string(out, rule, strlen(rule));
    cli_buffer_printf(out, ",");
    cli_json_string(out, node, strlen(node));
    cli_buffer_printf(out, ",%lld,", id == UINT32_MAX ? -1LL : (long long)id);
    cli_json_string(out, text, strlen(text));
    cli_buffer_printf(out, "]\n");
}

static void put_log(const view_scene *s, cli_buffer *out) {
    hone_optimization_info info;
    hone_optimization_get_info(s->report, &info);
    cli_buffer_printf(out, ",\"rewrites\":[");
    for (uint32_t i = 0; i < info.n_rewrites; i++) {
        hone_rewrite r;
        hone_optimization_get_rewrite(s->report, i, &r);
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_log_entry(s, r.pass, r.rule, r.node, r.detail, out);
    }
    cli_buffer_printf(out, "],\"near_misses\":[");
    for (uint32_t i = 0; i < info.n_near_misses; i++) {
        hone_near_miss miss;
        hone_optimization_get_near_miss(s->report, i, &miss);
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_log_entry(s, miss.pass, miss.rule, miss.node, miss.reason, out);
    }
    cli_buffer_printf(out, "]");
}

void view_json_pairs(const view_scene *s, cli_buffer *out) {
    uint32_t n = hone_graph_n_nodes(s->models[1].sources[0].graph);
    cli_buffer_printf(out, ",\"pairs\":[");
    for (uint32_t i = 0; i < n; i++) {
        cli_buffer_printf(out, "%s[", i ? "," : "");
        for (uint32_t k = s->pairs.first[i]; k < s->pairs.first[i + 1]; k++)
            cli_buffer_printf(out, "%s%u", k > s->pairs.first[i] ? "," : "", s->pairs.nodes[k]);
        cli_buffer_printf(out, "]");
    }
    cli_buffer_printf(out, "]");
    if (s->report)
        put_log(s, out);
}
