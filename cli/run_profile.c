/* hone run --profile: where the time of a run goes, by operator. */
#include "run_report.h"

#include <stdlib.h>
#include <string.h>

static run_profile_entry *entry_of(run_profile *p, const char *op) {
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->at[i].op, op) == 0)
            return &p->at[i];
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        run_profile_entry *at = realloc(p->at, cap * sizeof *at);
        if (!at)
            return NULL;
        p->at = at;
        p->cap = cap;
    }
    run_profile_entry *e = &p->at[p->n++];
    *e = (run_profile_entry){0};
    snprintf(e->op, sizeof e->op, "%s", op);
    return e;
}

/* Nodes of bodies are a part of the If or Loop that runs them. */
void run_profile_see(void *profile, const hone_step *step) {
    run_profile *p = profile;
    hone_node_info info;
    char op[sizeof((run_profile_entry *)0)->op];
    hone_graph_get_node(step->graph, step->node, &info);
    if (info.subgraph != 0)
        return;
    snprintf(op, sizeof op, "%s%s%s", step->domain, *step->domain ? "." : "", step->op);
    run_profile_entry *e = entry_of(p, op);
    if (!e)
        return;
    e->n_nodes++;
    e->ns += step->end_ns - step->start_ns;
    p->ns += step->end_ns - step->start_ns;
}

static int slower_first(const void *a, const void *b) {
    const run_profile_entry *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns ? 1 : -1) : strcmp(x->op, y->op);
}

void run_profile_sort(run_profile *p) {
    if (p->n)
        qsort(p->at, p->n, sizeof *p->at, slower_first);
}

static double share_of(const run_profile *p, const run_profile_entry *e) {
    return p->ns ? (double)e->ns / (double)p->ns : 0;
}

void run_profile_print(const run_profile *p, size_t n_runs) {
    static const char *const headings[] = {"operator", "nodes", "ms per run", "share"};
    cli_table table;
    char count[32];
    cli_heading("Time by operator");
    cli_table_begin(&table, 4, headings, "Lrrr");
    for (size_t i = 0; i < p->n; i++) {
        cli_table_add(&table, "%s", p->at[i].op);
        cli_table_add(&table, "%s", cli_count(count, p->at[i].n_nodes / n_runs));
        cli_table_add(&table, "%.3f", 1e-6 * (double)p->at[i].ns / (double)n_runs);
        cli_table_add(&table, "%.1f %%", 100 * share_of(p, &p->at[i]));
    }
    cli_table_print(&table);
}

void run_profile_json(const run_profile *p, size_t n_runs, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"profile\": [");
    for (size_t i = 0; i < p->n; i++) {
        cli_buffer_printf(out, "%s{\"op\": ", i ? ",\n    " : "\n    ");
        cli_json_string(out, p->at[i].op, strlen(p->at[i].op));
        cli_buffer_printf(out, ", \"nodes\": %llu, \"seconds\": %.9g, \"share\": %.6g}",
                          (unsigned long long)(p->at[i].n_nodes / n_runs),
                          1e-9 * (double)p->at[i].ns / (double)n_runs, share_of(p, &p->at[i]));
    }
    cli_buffer_printf(out, "\n  ]");
}

void run_profile_free(run_profile *p) {
    free(p->at);
    *p = (run_profile){0};
}
