/* hone info --plan: prints the memory of a run and the provider of each node. */
#include "cli.h"

#include <string.h>

static void plan_row(cli_table *t, const char *what, const char *text) {
    cli_table_add(t, "%s", what);
    cli_table_add(t, "%s", text);
}

/* "cpu: 120 nodes", one row for each provider with nodes. */
static void add_providers(cli_table *t, const hone_plan *plan, uint32_t n_nodes) {
    const char *provider;
    char text[64];
    for (uint32_t p = 0; *(provider = hone_provider_name(p)); p++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < n_nodes; i++) {
            hone_plan_step step;
            hone_plan_get_step(plan, i, &step);
            n += strcmp(step.provider, provider) == 0;
        }
        snprintf(text, sizeof text, "%u on %s", n, provider);
        if (n)
            plan_row(t, "nodes", text);
    }
}

static void print_totals(const hone_plan *plan, const hone_plan_info *info) {
    static const char *const headings[] = {"", ""};
    cli_table table;
    char text[32];
    const struct {
        const char *what;
        uint64_t bytes;
    } rows[] = {{"weights", info->weight_bytes},
                {"inputs", info->input_bytes},
                {"outputs", info->output_bytes},
                {"intermediate values at the peak", info->block_bytes}};
    cli_heading("Memory of a run");
    cli_table_begin(&table, 2, headings, "LL");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        plan_row(&table, rows[i].what, cli_bytes(text, rows[i].bytes));
    add_providers(&table, plan, info->n_nodes);
    snprintf(text, sizeof text, "%u", info->n_views);
    plan_row(&table, "of them copy nothing", text);
    if (info->n_dynamic_nodes) {
        snprintf(text, sizeof text, "%u", info->n_dynamic_nodes);
        plan_row(&table, "of them have shapes that data decides", text);
    }
    cli_table_print(&table);
}

static void print_peak(const hone_plan *plan, const hone_plan_info *info) {
    static const char *const headings[] = {"value", "bytes"};
    enum { MOST_SHOWN = 12 };
    cli_table table;
    char text[32];
    if (!info->n_values)
        return;
    putchar('\n');
    cli_line("live at the peak, at %s", info->peak_node);
    cli_table_begin(&table, 2, headings, "Lr");
    for (uint32_t i = 0; i < info->n_values && i < MOST_SHOWN; i++) {
        hone_plan_value v;
        hone_plan_get_value(plan, i, &v);
        plan_row(&table, v.name, cli_bytes(text, v.bytes));
    }
    cli_table_print(&table);
    if (info->n_values > MOST_SHOWN)
        printf("and %u smaller ones\n", info->n_values - MOST_SHOWN);
}

static void print_placement(const hone_plan *plan, uint32_t n_nodes) {
    static const char *const headings[] = {"node", "operator", "provider", "memory"};
    static const char *const kinds[] = {[HONE_STEP_PLANNED] = "planned",
                                        [HONE_STEP_VIEW] = "view",
                                        [HONE_STEP_DYNAMIC] = "by data"};
    cli_table table;
    cli_heading("Placement");
    cli_table_begin(&table, 4, headings, "LLLL");
    for (uint32_t i = 0; i < n_nodes; i++) {
        hone_plan_step step;
        hone_plan_get_step(plan, i, &step);
        cli_table_add(&table, "%s", step.node);
        cli_table_add(&table, "%s", step.op);
        cli_table_add(&table, "%s", step.provider);
        cli_table_add(&table, "%s", kinds[step.kind]);
    }
    cli_table_print(&table);
}

int cli_print_plan(const hone_model *m, bool each_node) {
    hone_plan *plan;
    hone_plan_info info;
    hone_error error;
    if (hone_model_get_plan(m, &plan, &error) != HONE_OK)
        return cli_fail_error(&error);
    hone_plan_get_info(plan, &info);
    print_totals(plan, &info);
    print_peak(plan, &info);
    if (each_node)
        print_placement(plan, info.n_nodes);
    hone_plan_free(plan);
    return EXIT_OK;
}
