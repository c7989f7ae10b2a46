/* Profiles as tables: by node, by operator, by kernel, by thread; memory; findings. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 11, WIDE_ENOUGH = 130 };

/* A table of times. A narrow terminal shows fewer columns, so that names can be read. */
typedef struct time_table {
    cli_table cells;
    const char *heads[MOST_COLUMNS];
    char align[MOST_COLUMNS + 1];
    bool is_wide;
} time_table;

static void begin_times(time_table *t, const char *first, const char *second) {
    static const struct {
        const char *head;
        char align;
        bool if_wide;
    } columns[] = {
        {"ms per run", 'r', false}, {"mean us", 'r', true},   {"share", 'r', false},
        {"so far", 'r', true},      {"GFLOP/s", 'r', false},  {"GB/s", 'r', true},
        {"of peak", 'r', false},    {"bound by", 'l', false}, {"above floor", 'r', false}};
    size_t n = 2;
    *t = (time_table){
        .heads = {first, second}, .align = "Lr", .is_wide = cli_width() >= WIDE_ENOUGH};
    if (strcmp(second, "operator") == 0)
        t->align[1] = 'L';
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (columns[i].if_wide && !t->is_wide)
            continue;
        t->heads[n] = columns[i].head;
        t->align[n++] = columns[i].align;
    }
    cli_table_begin(&t->cells, n, t->heads, t->align);
}

/* ---- one line of times ----------------------------------------------------------------------- */

typedef struct time_row {
    uint64_t count, macs, bytes; /* of all runs */
    double us, floor_us;
    bool is_integer, has_bound, is_memory_bound;
} time_row;

static void add_rate(cli_table *t, double amount, double us) {
    if (amount > 0 && us > 0)
        cli_table_add(t, "%.1f", amount / us * 1e-3);
    else
        cli_table_add(t, "%s", "");
}

/* Of the peak that bounds it: arithmetic or memory. */
static void add_share_of_peak(cli_table *t, const profile *p, const time_row *r) {
    double peak = r->is_memory_bound                       ? p->peaks.read_bytes
                  : r->is_integer && p->peaks.int8_ops > 0 ? p->peaks.int8_ops
                                                           : p->peaks.flops;
    double amount = r->is_memory_bound ? (double)r->bytes : 2.0 * (double)r->macs;
    if (peak > 0 && amount > 0 && r->us > 0)
        cli_table_add(t, "%.0f %%", 1e8 * amount / r->us / peak);
    else
        cli_table_add(t, "%s", "");
}

static void add_time_cells(time_table *table, const profile *p, const time_row *r,
                           double *us_so_far) {
    cli_table *t = &table->cells;
    double n = p->n_runs, above = r->us - r->floor_us;
    *us_so_far += r->us;
    cli_table_add(t, "%.3f", 1e-3 * r->us / n);
    if (table->is_wide)
        cli_table_add(t, "%.1f", r->count ? r->us / (double)r->count : 0);
    cli_table_add(t, "%.1f %%", p->us > 0 ? 100 * r->us / p->us : 0);
    if (table->is_wide)
        cli_table_add(t, "%.1f %%", p->us > 0 ? 100 * *us_so_far / p->us : 0);
    add_rate(t, 2.0 * (double)r->macs, r->us);
    if (table->is_wide)
        add_rate(t, (double)r->bytes, r->us);
    add_share_of_peak(t, p, r);
    cli_table_add(t, "%s", !r->has_bound ? "" : r->is_memory_bound ? "memory" : "compute");
    if (r->floor_us > 0)
        cli_table_add(t, "%.3f", above > 0 ? 1e-3 * above / n : 0);
    else
        cli_table_add(t, "%s", "");
}

static time_row row_of_node(const profile *p, const profile_node *n) {
    return (time_row){.count = n->count,
                      .macs = n->macs * n->count,
                      .bytes = profile_node_bytes(n) * n->count,
                      .us = n->us,
                      .floor_us = profile_floor_us(p, n) * (double)n->count,
                      .is_integer = n->is_integer,
                      .has_bound = profile_floor_us(p, n) > 0,
                      .is_memory_bound = profile_is_memory_bound(p, n)};
}

static time_row row_of_group(const profile *p, const profile_row *g) {
    profile_node whole = {.macs = g->macs, .output_bytes = g->bytes, .is_integer = g->is_integer};
    whole.kernel = "";
    return (time_row){.count = g->count,
                      .macs = g->macs,
                      .bytes = g->bytes,
                      .us = g->us,
                      .floor_us = g->floor_us,
                      .is_integer = g->is_integer,
                      .has_bound = g->floor_us > 0,
                      .is_memory_bound = profile_is_memory_bound(p, &whole)};
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void tell_rest(uint32_t n, uint64_t n_shown) {
    if (n_shown < n)
        printf("  … and %llu more; --top 0 shows all\n", (unsigned long long)(n - n_shown));
}

static void print_time_by_node(const profile *p, uint64_t n_shown) {
    time_table table;
    double so_far = 0;
    uint32_t n_nodes, *order = profile_order(p, &n_nodes);
    cli_heading("Time by node");
    begin_times(&table, "node", "operator");
    for (uint32_t i = 0; order && i < n_nodes && i < n_shown; i++) {
        const profile_node *n = &p->nodes[order[i]];
        time_row row = row_of_node(p, n);
        cli_table_add(&table.cells, "%s", n->label);
        cli_table_add(&table.cells, "%s", n->op);
        add_time_cells(&table, p, &row, &so_far);
    }
    cli_table_print(&table.cells);
    tell_rest(n_nodes, n_shown);
    free(order);
}

static void print_groups(const profile *p, const char *title, const char *what,
                         const char *(*name_of)(const profile_node *n), uint64_t n_shown) {
    time_table table;
    uint32_t n_rows;
    double so_far = 0;
    char count[32];
    profile_row *rows = profile_rows(p, name_of, &n_rows);
    cli_heading(title);
    begin_times(&table, what, "nodes");
    for (uint32_t i = 0; rows && i < n_rows && i < n_shown; i++) {
        time_row row = row_of_group(p, &rows[i]);
        cli_table_add(&table.cells, "%s", rows[i].name);
        cli_table_add(&table.cells, "%s",
                      cli_count(count, (rows[i].count + p->n_runs / 2) / p->n_runs));
        add_time_cells(&table, p, &row, &so_far);
    }
    cli_table_print(&table.cells);
    tell_rest(n_rows, n_shown);
    free(rows);
}

static void print_threads(const profile *p) {
    static const char *const heads[] = {"thread", "ms per run", "of the run"};
    cli_table table;
    if (p->n_threads < 2)
        return;
    cli_heading("Time by thread");
    cli_table_begin(&table, 3, heads, "lrr");
    for (uint32_t i = 0; i < p->n_threads; i++) {
        cli_table_add(&table, i ? "worker %u" : "run", i);
        cli_table_add(&table, "%.3f", 1e-3 * p->thread_sums[i] / p->n_runs);
        cli_table_add(&table, "%.1f %%", p->run_us > 0 ? 100 * p->thread_sums[i] / p->run_us : 0);
    }
    cli_table_print(&table);
}

/* ---- summary --------------------------------------------------------------------------------- */

static void print_phases(const profile *p) {
    static const struct {
        const char *name, *text;
    } known[] = {{"model_loading_uri", "load"},
                 {"session_initialization", "optimize"},
                 {"plan_and_pack", "plan and pack"}};
    double first_us = 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (uint32_t i = 0; i < p->n_phases; i++)
            if (strcmp(p->phases[i].name, known[k].name) == 0)
                printf("%s %.1f ms, ", known[k].text, 1e-3 * p->phases[i].us);
    for (uint32_t i = 0; i < p->n_phases; i++)
        first_us += p->phases[i].is_first ? p->phases[i].us : 0;
    if (first_us > 0)
        printf("first run %.3f ms, ", 1e-3 * first_us);
    printf("%u run%s of %.3f ms (median %.3f); nodes take %.1f %% of a run\n", p->n_runs,
           p->n_runs == 1 ? "" : "s", 1e-3 * p->run_us / p->n_runs, 1e-3 * p->median_run_us,
           100 * p->nodes_share);
}

static void print_profile_summary(const profile *p) {
    char bytes[32], weights[32];
    cli_line("%s", p->source);
    print_phases(p);
    if (p->peaks.flops > 0)
        cli_line(
            "peaks of %s on %d thread%s: %.0f GFLOP/s, %.0f GOP/s of int8, %.1f GB/s of memory",
            p->peaks.cpu, p->peaks.n_threads, p->peaks.n_threads == 1 ? "" : "s",
            p->peaks.flops * 1e-9, p->peaks.int8_ops * 1e-9, p->peaks.read_bytes * 1e-9);
    if (p->block_bytes)
        cli_line("memory: %s of intermediate values, %s of weights",
                 cli_bytes(bytes, p->block_bytes), cli_bytes(weights, p->weight_bytes));
}

void profile_print(const profile *p, unsigned tables, uint64_t n_shown) {
    uint64_t n = n_shown ? n_shown : UINT64_MAX;
    print_profile_summary(p);
    if (tables & PROFILE_BY_OP)
        print_groups(p, "Time by operator", "operator", profile_op_of, n);
    if (tables & PROFILE_BY_NODE)
        print_time_by_node(p, n);
    if (tables & PROFILE_BY_KERNEL)
        print_groups(p, "Time by kernel", "kernel", profile_kernel_of, n);
    if (tables & PROFILE_BY_THREAD)
        print_threads(p);
    if (tables & PROFILE_MEMORY)
        profile_print_memory(p, n);
}

void profile_print_findings(const profile *p) {
    cli_heading("Findings");
    if (p->n_findings == 0)
        printf("  none\n");
    for (uint32_t i = 0; i < p->n_findings; i++) {
        const profile_finding *f = &p->findings[i];
        char saves[64] = "";
        if (f->us > 0)
            snprintf(saves, sizeof saves, " (up to %.3f ms of a run, %.1f %%)", 1e-3 * f->us,
                     p->median_run_us > 0 ? 100 * f->us / p->median_run_us : 0);
        cli_line("%2u. %s%s", i + 1, f->title, saves);
        cli_line("    %s", f->evidence);
        if (*f->command)
            cli_line("    → %s", f->command);
    }
}
