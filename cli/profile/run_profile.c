/* hone run --profile: prints the time of a run by operator and by node. */
#include "profile/run_profile.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_NODES 10 /* in the table; JSON has all */

static profile_row row_of_entry(const profile_node *n) {
    return (profile_row){.name = n->op,
                         .count = n->count,
                         .us = n->us,
                         .macs = n->macs * n->count,
                         .bytes = profile_node_bytes(n) * n->count};
}

static double share_of(const profile *p, const profile_row *r) {
    return p->us > 0 ? r->us / p->us : 0;
}

static void add_time(cli_table *table, const profile *p, const profile_row *r, size_t n_runs) {
    cli_table_add(table, "%.3f", 1e-3 * r->us / (double)n_runs);
    cli_table_add(table, "%.1f %%", 100 * share_of(p, r));
    if (r->macs && r->us > 0)
        cli_table_add(table, "%.1f", 2e-3 * (double)r->macs / r->us);
    else
        cli_table_add(table, "%s", "");
}

static void print_time_by_op(const profile *p, size_t n_runs) {
    static const char *const heads[] = {"operator", "nodes", "ms per run", "share", "GFLOP/s"};
    uint32_t n_rows;
    profile_row *rows = profile_rows(p, profile_op_of, &n_rows);
    cli_table table;
    char count[32];
    cli_heading("Time by operator");
    cli_table_begin(&table, 5, heads, "Lrrrr");
    for (uint32_t i = 0; rows && i < n_rows; i++) {
        cli_table_add(&table, "%s", rows[i].name);
        cli_table_add(&table, "%s", cli_count(count, rows[i].count / n_runs));
        add_time(&table, p, &rows[i], n_runs);
    }
    cli_table_print(&table);
    free(rows);
}

void run_profile_print(const profile *p, size_t n_runs) {
    static const char *const heads[] = {"node", "operator", "ms per run", "share", "GFLOP/s"};
    uint32_t n_nodes, *order = profile_order(p, &n_nodes);
    cli_table table;
    print_time_by_op(p, n_runs);
    cli_heading("Slowest nodes");
    cli_table_begin(&table, 5, heads, "LLrrr");
    for (uint32_t i = 0; order && i < n_nodes && i < SHOWN_NODES; i++) {
        const profile_node *n = &p->nodes[order[i]];
        profile_row row = row_of_entry(n);
        cli_table_add(&table, "%s", n->label);
        cli_table_add(&table, "%s", n->op);
        add_time(&table, p, &row, n_runs);
    }
    cli_table_print(&table);
    free(order);
}

static void write_entry(const profile *p, const profile_row *r, size_t n_runs, cli_buffer *out) {
    cli_buffer_printf(out, ", \"seconds\": %.9g, \"share\": %.6g, \"macs\": %llu, \"bytes\": %llu",
                      1e-6 * r->us / (double)n_runs, share_of(p, r),
                      (unsigned long long)(r->macs / n_runs),
                      (unsigned long long)(r->bytes / n_runs));
}

/* "conv1 + norm1 + relu1": the nodes of the model that a fused step computes. */
static void write_part_names(const profile_node *n, cli_buffer *out) {
    cli_buffer text = {0};
    for (uint32_t i = 0; i < n->n_parts; i++)
        cli_buffer_printf(&text, "%s%s", i ? " + " : "", n->parts[i]);
    cli_json_string(out, text.n ? (const char *)text.at : "", text.n);
    out->failed |= text.failed;
    cli_buffer_free(&text);
}

void run_profile_json(const profile *p, size_t n_runs, cli_buffer *out) {
    uint32_t n_rows, n_nodes, *order = profile_order(p, &n_nodes);
    profile_row *rows = profile_rows(p, profile_op_of, &n_rows);
    cli_buffer_printf(out, ",\n  \"profile\": [");
    for (uint32_t i = 0; rows && i < n_rows; i++) {
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        cli_json_member(out, "op", rows[i].name);
        cli_buffer_printf(out, ", \"nodes\": %llu", (unsigned long long)(rows[i].count / n_runs));
        write_entry(p, &rows[i], n_runs, out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ],\n  \"profile_nodes\": [");
    for (uint32_t i = 0; order && i < n_nodes; i++) {
        const profile_node *n = &p->nodes[order[i]];
        profile_row row = row_of_entry(n);
        cli_buffer_printf(out, "%s{\"name\": ", i ? ",\n    " : "\n    ");
        write_part_names(n, out);
        cli_buffer_printf(out, ", ");
        cli_json_member(out, "op", n->op);
        write_entry(p, &row, n_runs, out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ]");
    free(rows);
    free(order);
}
