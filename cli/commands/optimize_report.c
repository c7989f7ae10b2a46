/* Prints the tables of an optimization: changes, rewrites of each pass, near misses. */
#include "commands/optimize_report.h"

#include <stdlib.h>
#include <string.h>

bool model_size_take(hone_model *m, uint64_t file_bytes, model_size *out) {
    hone_error error;
    *out = (model_size){.file_bytes = file_bytes};
    if (hone_model_infer(m, &error) != HONE_OK ||
        hone_model_get_stats(m, &out->stats, &error) != HONE_OK) {
        cli_fail_error(&error);
        return false;
    }
    hone_stats_get_totals(out->stats, &out->totals);
    return true;
}

void model_size_free(model_size *s) {
    hone_stats_free(s->stats);
    s->stats = NULL;
}

/* ---- before and after ------------------------------------------------------------------------ */

static uint32_t count_of(const model_size *s, const char *domain, const char *op) {
    hone_stats_op e;
    for (uint32_t i = 0; i < s->totals.n_ops; i++) {
        hone_stats_get_op(s->stats, i, &e);
        if (strcmp(e.op, op) == 0 && strcmp(e.domain, domain) == 0)
            return e.count;
    }
    return 0;
}

static void add_pair(cli_table *t, const char *what, const char *before, const char *after) {
    cli_table_add(t, "%s", what);
    cli_table_add(t, "%s", before);
    cli_table_add(t, "%s", after);
}

static void add_counts(cli_table *t, const hone_stats_op *e, uint32_t before, uint32_t after) {
    char name[200], a[32], b[32];
    if (before == after)
        return;
    snprintf(name, sizeof name, "%s%s%s", e->domain, *e->domain ? "." : "", e->op);
    add_pair(t, name, cli_count(a, before), cli_count(b, after));
}

static void print_operator_changes(const model_size *before, const model_size *after) {
    static const char *const headings[] = {"operator", "before", "after"};
    cli_table table;
    hone_stats_op e;
    cli_heading("Operators that changed");
    cli_table_begin(&table, 3, headings, "Lrr");
    for (uint32_t i = 0; i < before->totals.n_ops; i++) {
        hone_stats_get_op(before->stats, i, &e);
        add_counts(&table, &e, e.count, count_of(after, e.domain, e.op));
    }
    for (uint32_t i = 0; i < after->totals.n_ops; i++) {
        hone_stats_get_op(after->stats, i, &e);
        if (count_of(before, e.domain, e.op) == 0)
            add_counts(&table, &e, 0, e.count);
    }
    cli_table_print(&table);
}

void print_changes(const model_size *before, const model_size *after,
                   const hone_optimization *report) {
    static const char *const headings[] = {"", "before", "after"};
    const hone_stats_totals *x = &before->totals, *y = &after->totals;
    hone_optimization_info info;
    cli_table table;
    char a[32], b[32];
    hone_optimization_get_info(report, &info);
    cli_table_begin(&table, 3, headings, "lrr");
    add_pair(&table, "nodes", cli_count(a, x->n_nodes), cli_count(b, y->n_nodes));
    add_pair(&table, "weights", cli_bytes(a, x->parameter_bytes), cli_bytes(b, y->parameter_bytes));
    if (after->file_bytes)
        add_pair(&table, "file", cli_bytes(a, before->file_bytes), cli_bytes(b, after->file_bytes));
    if (x->n_unknown_nodes == 0 && y->n_unknown_nodes == 0) {
        add_pair(&table, "activations", cli_bytes(a, x->activation_bytes),
                 cli_bytes(b, y->activation_bytes));
        add_pair(&table, "multiply-accumulates", cli_amount(a, x->macs), cli_amount(b, y->macs));
    }
    if (info.opset_before != info.opset_after)
        add_pair(&table, "opset", cli_count(a, (uint64_t)info.opset_before),
                 cli_count(b, (uint64_t)info.opset_after));
    cli_table_print(&table);
    if (info.n_rewrites)
        print_operator_changes(before, after);
}

/* ---- explanation ----------------------------------------------------------------------------- */

static const char *signed_bytes(char out[40], int64_t n) {
    char text[32];
    snprintf(out, 40, "%s%s", n < 0 ? "-" : "",
             n ? cli_bytes(text, (uint64_t)(n < 0 ? -n : n)) : "");
    return out;
}

static const char *signed_amount(char out[40], int64_t n) {
    char text[32];
    snprintf(out, 40, "%s%s", n < 0 ? "-" : "",
             n ? cli_amount(text, (uint64_t)(n < 0 ? -n : n)) : "");
    return out;
}

static void print_passes(const hone_optimization *report, const hone_optimization_info *info) {
    static const char *const headings[] = {"pass",    "rewrites",   "nodes saved",
                                           "weights", "MACs saved", "ms"};
    cli_table table;
    char a[40], b[40];
    cli_heading("Passes");
    cli_table_begin(&table, 6, headings, "Lrrrrr");
    for (uint32_t i = 0; i < info->n_passes; i++) {
        hone_pass_stats s;
        hone_optimization_get_pass(report, i, &s);
        cli_table_add(&table, "%s", s.pass);
        cli_table_add(&table, "%u", s.n_rewrites);
        cli_table_add(&table, "%lld", (long long)s.nodes_saved);
        cli_table_add(&table, "%s", signed_bytes(a, s.weight_bytes_saved));
        cli_table_add(&table, "%s", signed_amount(b, s.macs_saved));
        cli_table_add(&table, "%.1f", s.seconds * 1e3);
    }
    cli_table_print(&table);
}

/* Rewrites by the same rule at many nodes are one line with the first node. */
static void print_rewrites(const hone_optimization *report, const hone_optimization_info *info) {
    static const char *const headings[] = {"rule", "times", "first at", "what"};
    bool *is_told = calloc(info->n_rewrites + 1u, sizeof *is_told);
    cli_table table;
    if (!is_told || !info->n_rewrites) {
        free(is_told);
        return;
    }
    cli_heading("Rewrites");
    cli_table_begin(&table, 4, headings, "lrLL");
    for (uint32_t i = 0; i < info->n_rewrites; i++) {
        hone_rewrite first, other;
        uint32_t n = 0;
        if (is_told[i])
            continue;
        hone_optimization_get_rewrite(report, i, &first);
        for (uint32_t k = i; k < info->n_rewrites; k++) {
            hone_optimization_get_rewrite(report, k, &other);
            if (strcmp(first.pass, other.pass) == 0 && strcmp(first.rule, other.rule) == 0) {
                is_told[k] = true;
                n++;
            }
        }
        cli_table_add(&table, "%s.%s", first.pass, first.rule);
        cli_table_add(&table, "%u", n);
        cli_table_add(&table, "%s", first.node);
        cli_table_add(&table, "%s", first.detail);
    }
    cli_table_print(&table);
    free(is_told);
}

/* Near misses of the same rule for the same reason are one line. */
static void print_near_misses(const hone_optimization *report, const hone_optimization_info *info) {
    bool *is_told = calloc(info->n_near_misses + 1u, sizeof *is_told);
    if (!is_told || !info->n_near_misses) {
        free(is_told);
        return;
    }
    cli_heading("Near misses");
    for (uint32_t i = 0; i < info->n_near_misses; i++) {
        hone_near_miss first, other;
        uint32_t n = 0;
        if (is_told[i])
            continue;
        hone_optimization_get_near_miss(report, i, &first);
        for (uint32_t k = i; k < info->n_near_misses; k++) {
            hone_optimization_get_near_miss(report, k, &other);
            if (strcmp(first.rule, other.rule) == 0 && strcmp(first.reason, other.reason) == 0) {
                is_told[k] = true;
                n++;
            }
        }
        char more[32] = "";
        if (n > 1)
            snprintf(more, sizeof more, " and %u more", n - 1);
        cli_line("  %s.%s at %s%s: %s", first.pass, first.rule, first.node, more, first.reason);
    }
    free(is_told);
}

void print_explanation(const hone_optimization *report) {
    hone_optimization_info info;
    hone_optimization_get_info(report, &info);
    print_passes(report, &info);
    print_rewrites(report, &info);
    print_near_misses(report, &info);
}

void print_verdict(const hone_optimization *report) {
    hone_optimization_info info;
    hone_optimization_get_info(report, &info);
    for (uint32_t i = 0; i < info.n_guilty; i++) {
        hone_near_miss g;
        hone_optimization_get_guilty(report, i, &g);
        printf("%sswitched off%s ", cli_begin(stdout, CLI_YELLOW), cli_end(stdout));
        cli_line("%s%s%s at %s: %s", g.pass, *g.rule ? "." : "", g.rule, g.node, g.reason);
    }
    if (!info.is_verified)
        return;
    printf("%sverified%s ", cli_begin(stdout, CLI_GREEN), cli_end(stdout));
    cli_line("in %u runs: outputs differ by at most %.3g (%.3g of the largest element%s%s)",
             info.n_runs, info.max_difference, info.max_relative, *info.difference_at ? " of " : "",
             info.difference_at);
    if (*info.verify_shapes)
        cli_line("inputs made up: %s", info.verify_shapes);
}

/* ---- names of dimensions --------------------------------------------------------------------- */

enum { MAX_NAME = 128 };

/* The next axis of an input of the graph that has a name. */
typedef struct named_axis {
    uint32_t input;
    int32_t axis;
    char name[MAX_NAME];
} named_axis;

static bool next_named_axis(const hone_graph *g, named_axis *at) {
    hone_subgraph_info main_graph;
    hone_value_info value;
    hone_graph_get_subgraph(g, 0, &main_graph);
    for (; at->input < main_graph.n_inputs; at->input++, at->axis = -1) {
        hone_graph_get_value(g, main_graph.inputs[at->input], &value);
        while (++at->axis < value.rank) {
            int64_t size;
            hone_value_dim(g, main_graph.inputs[at->input], at->axis, &size, at->name, MAX_NAME);
            if (size < 0 && *at->name)
                return true;
        }
    }
    return false;
}

static bool has_shared_names(const hone_graph *g) {
    for (named_axis a = {.axis = -1}; next_named_axis(g, &a);)
        for (named_axis b = a; next_named_axis(g, &b);)
            if (strcmp(a.name, b.name) == 0)
                return true;
    return false;
}

static uint32_t count_main_nodes(const hone_model *m) {
    hone_subgraph_info main_graph;
    hone_graph_get_subgraph(hone_model_graph(m), 0, &main_graph);
    return main_graph.n_nodes;
}

void hint_at_names(const hone_model *m, const hone_model *optimized,
                   const hone_optimize_options *options) {
    hone_optimize_options trusting = *options;
    hone_model *smaller;
    hone_error error;
    if (options->trust_dim_names || !has_shared_names(hone_model_graph(m)))
        return;
    trusting.trust_dim_names = true;
    trusting.verify = trusting.measure = false;
    trusting.after_pass = NULL;
    if (hone_model_optimize(m, &trusting, &smaller, NULL, &error) != HONE_OK)
        return;
    uint32_t n = count_main_nodes(optimized), n_smaller = count_main_nodes(smaller);
    if (n_smaller < n)
        cli_line("  --trust-names would save %u more node%s: inputs share names of dimensions",
                 n - n_smaller, n - n_smaller == 1 ? "" : "s");
    hone_model_free(smaller);
}
