/* hone run --profile: prints the time of a run by operator and by node. */
#include "commands/run_report.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_NODES 10 /* in the table; JSON has all */

static run_profile_entry *add_entry(run_profile_list *list) {
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        run_profile_entry *at = realloc(list->at, cap * sizeof *at);
        if (!at)
            return NULL;
        list->at = at;
        list->cap = cap;
    }
    run_profile_entry *e = &list->at[list->n++];
    *e = (run_profile_entry){0};
    return e;
}

static run_profile_entry *entry_of_op(run_profile *p, const char *op) {
    for (size_t i = 0; i < p->ops.n; i++)
        if (strcmp(p->ops.at[i].op, op) == 0)
            return &p->ops.at[i];
    run_profile_entry *e = add_entry(&p->ops);
    if (e)
        snprintf(e->op, sizeof e->op, "%s", op);
    return e;
}

/* By it a node without a name is known. */
static const char *name_of_first_output(const hone_step *step) {
    hone_node_info node;
    hone_value_info value = {.name = ""};
    hone_graph_get_node(step->graph, step->node, &node);
    if (node.n_outputs && node.outputs[0] != HONE_NONE)
        hone_graph_get_value(step->graph, node.outputs[0], &value);
    return value.name;
}

/* "conv1 + norm1 + relu1": the nodes of the model that a fused step computes. */
static char *names_of_step(const hone_step *step) {
    cli_buffer text = {0};
    for (uint32_t i = 0; i < step->n_origins; i++)
        cli_buffer_printf(&text, "%s%s", i ? " + " : "", step->origins[i]);
    if (step->n_origins == 0)
        cli_buffer_printf(&text, "%s", *step->name ? step->name : name_of_first_output(step));
    cli_buffer_add(&text, "", 1);
    if (!text.failed)
        return (char *)text.at;
    cli_buffer_free(&text);
    return NULL;
}

/* Nodes run in the same order each time, so the search starts after the last entry found. */
static run_profile_entry *entry_of_node(run_profile *p, const hone_step *step, const char *op) {
    for (size_t i = 0; i < p->nodes.n; i++) {
        size_t at = (p->last_node + 1 + i) % p->nodes.n;
        if (p->nodes.at[at].node == step->node) {
            p->last_node = at;
            return &p->nodes.at[at];
        }
    }
    run_profile_entry *e = add_entry(&p->nodes);
    if (!e)
        return NULL;
    p->last_node = p->nodes.n - 1;
    e->node = step->node;
    snprintf(e->op, sizeof e->op, "%s", op);
    e->name = names_of_step(step);
    return e;
}

static uint64_t bytes_of(const hone_value *const *values, uint32_t n) {
    uint64_t bytes = 0;
    hone_tensor_info info;
    for (uint32_t i = 0; i < n; i++)
        bytes += values[i] && hone_value_tensor(values[i], &info) ? info.data_bytes : 0;
    return bytes;
}

static void count_step(run_profile_entry *e, const hone_step *step) {
    if (!e)
        return;
    e->n_nodes++;
    e->ns += step->end_ns - step->start_ns;
    e->macs += step->macs;
    e->bytes += bytes_of(step->inputs, step->n_inputs) + bytes_of(step->outputs, step->n_outputs);
}

/* The time of nodes in bodies is part of the If or Loop that runs them. */
void run_profile_see(void *profile, const hone_step *step) {
    run_profile *p = profile;
    hone_node_info info;
    char op[sizeof((run_profile_entry *)0)->op];
    hone_graph_get_node(step->graph, step->node, &info);
    if (info.subgraph != 0)
        return;
    snprintf(op, sizeof op, "%s%s%s", step->domain, *step->domain ? "." : "", step->op);
    count_step(entry_of_op(p, op), step);
    count_step(entry_of_node(p, step, op), step);
    p->ns += step->end_ns - step->start_ns;
}

static int slower_first(const void *a, const void *b) {
    const run_profile_entry *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    int by_op = strcmp(x->op, y->op);
    return by_op ? by_op : (x->node > y->node) - (x->node < y->node);
}

void run_profile_sort(run_profile *p) {
    if (p->ops.n)
        qsort(p->ops.at, p->ops.n, sizeof *p->ops.at, slower_first);
    if (p->nodes.n)
        qsort(p->nodes.at, p->nodes.n, sizeof *p->nodes.at, slower_first);
}

static double share_of(const run_profile *p, const run_profile_entry *e) {
    return p->ns ? (double)e->ns / (double)p->ns : 0;
}

static const char *name_of_entry(const run_profile_entry *e) {
    return e->name ? e->name : "";
}

static void add_time(cli_table *table, const run_profile *p, const run_profile_entry *e,
                     size_t n_runs) {
    cli_table_add(table, "%.3f", 1e-6 * (double)e->ns / (double)n_runs);
    cli_table_add(table, "%.1f %%", 100 * share_of(p, e));
    if (e->macs && e->ns)
        cli_table_add(table, "%.1f", 2 * (double)e->macs / (double)e->ns);
    else
        cli_table_add(table, "%s", "");
}

void run_profile_print(const run_profile *p, size_t n_runs) {
    static const char *const op_heads[] = {"operator", "nodes", "ms per run", "share", "GFLOP/s"};
    static const char *const node_heads[] = {"node", "operator", "ms per run", "share", "GFLOP/s"};
    cli_table table;
    char count[32];
    cli_heading("Time by operator");
    cli_table_begin(&table, 5, op_heads, "Lrrrr");
    for (size_t i = 0; i < p->ops.n; i++) {
        cli_table_add(&table, "%s", p->ops.at[i].op);
        cli_table_add(&table, "%s", cli_count(count, p->ops.at[i].n_nodes / n_runs));
        add_time(&table, p, &p->ops.at[i], n_runs);
    }
    cli_table_print(&table);
    cli_heading("Slowest nodes");
    cli_table_begin(&table, 5, node_heads, "LLrrr");
    for (size_t i = 0; i < p->nodes.n && i < SHOWN_NODES; i++) {
        cli_table_add(&table, "%s", name_of_entry(&p->nodes.at[i]));
        cli_table_add(&table, "%s", p->nodes.at[i].op);
        add_time(&table, p, &p->nodes.at[i], n_runs);
    }
    cli_table_print(&table);
}

static void write_entry(const run_profile *p, const run_profile_entry *e, size_t n_runs,
                        cli_buffer *out) {
    cli_buffer_printf(out, ", \"seconds\": %.9g, \"share\": %.6g, \"macs\": %llu, \"bytes\": %llu",
                      1e-9 * (double)e->ns / (double)n_runs, share_of(p, e),
                      (unsigned long long)(e->macs / n_runs),
                      (unsigned long long)(e->bytes / n_runs));
}

void run_profile_json(const run_profile *p, size_t n_runs, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"profile\": [");
    for (size_t i = 0; i < p->ops.n; i++) {
        const run_profile_entry *e = &p->ops.at[i];
        cli_buffer_printf(out, "%s{\"op\": ", i ? ",\n    " : "\n    ");
        cli_json_string(out, e->op, strlen(e->op));
        cli_buffer_printf(out, ", \"nodes\": %llu", (unsigned long long)(e->n_nodes / n_runs));
        write_entry(p, e, n_runs, out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ],\n  \"profile_nodes\": [");
    for (size_t i = 0; i < p->nodes.n; i++) {
        const run_profile_entry *e = &p->nodes.at[i];
        cli_buffer_printf(out, "%s{\"name\": ", i ? ",\n    " : "\n    ");
        cli_json_string(out, name_of_entry(e), strlen(name_of_entry(e)));
        cli_buffer_printf(out, ", \"op\": ");
        cli_json_string(out, e->op, strlen(e->op));
        write_entry(p, e, n_runs, out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ]");
}

void run_profile_free(run_profile *p) {
    for (size_t i = 0; i < p->nodes.n; i++)
        free(p->nodes.at[i].name);
    free(p->ops.at);
    free(p->nodes.at);
    *p = (run_profile){0};
}
