#include "commands/quantize_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_REASONS = 64 };

/* ---- summary --------------------------------------------------------------------------------- */

static uint64_t file_size(const char *path) {
    struct stat s;
    return path && stat(path, &s) == 0 ? (uint64_t)s.st_size : 0;
}

static void print_bytes(const char *what, uint64_t before, uint64_t after) {
    char a[32], b[32];
    if (before)
        cli_line("  %s %s to %s (%.1f %%)", what, cli_bytes(a, before), cli_bytes(b, after),
                 100.0 * (double)after / (double)before);
}

/* Nodes that stayed float, by operator and reason. */
static void print_float_nodes(const hone_quantization *q, uint32_t n) {
    static const char *const headings[] = {"stayed float", "nodes", "weights", "because"};
    hone_quantized_node seen[MOST_REASONS];
    uint32_t counts[MOST_REASONS], n_seen = 0;
    char text[32];
    for (uint32_t i = 0; i < n; i++) {
        hone_quantized_node node;
        uint32_t k = 0;
        hone_quantization_get_node(q, i, &node);
        if (node.is_quantized)
            continue;
        while (k < n_seen &&
               (strcmp(seen[k].op, node.op) != 0 || strcmp(seen[k].reason, node.reason) != 0))
            k++;
        if (k == MOST_REASONS)
            continue;
        if (k == n_seen) {
            seen[n_seen] = node;
            seen[n_seen].float_bytes = 0;
            counts[n_seen++] = 0;
        }
        counts[k]++;
        seen[k].float_bytes += node.float_bytes;
    }
    if (!n_seen)
        return;
    cli_table table;
    cli_table_begin(&table, 4, headings, "lrrL");
    for (uint32_t k = 0; k < n_seen; k++) {
        cli_table_add(&table, "%s", seen[k].op);
        cli_table_add(&table, "%u", counts[k]);
        cli_table_add(&table, "%s",
                      seen[k].float_bytes ? cli_bytes(text, seen[k].float_bytes) : "");
        cli_table_add(&table, "%s", seen[k].reason);
    }
    cli_table_print(&table);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int compare_sensitivity(const void *a, const void *b) {
    const hone_quantized_node *x = a, *y = b;
    double s = isnan(x->output_sqnr) ? x->weight_sqnr : x->output_sqnr;
    double t = isnan(y->output_sqnr) ? y->weight_sqnr : y->output_sqnr;
    return (s > t) - (s < t);
}

static void add_decibels(cli_table *table, double sqnr) {
    if (isnan(sqnr))
        cli_table_add(table, "%s", "");
    else
        cli_table_add(table, "%.1f", sqnr);
}

/* Layers, the most sensitive first. */
static void print_layers(const hone_quantization *q, uint32_t n) {
    static const char *const headings[] = {"layer",     "op",    "output dB", "input dB",
                                           "weight dB", "bytes", "now"};
    hone_quantized_node *layers = calloc((size_t)n + 1, sizeof *layers);
    uint32_t n_layers = 0;
    for (uint32_t i = 0; layers && i < n; i++) {
        hone_quantization_get_node(q, i, &layers[n_layers]);
        n_layers += layers[n_layers].is_quantized && layers[n_layers].float_bytes > 0;
    }
    if (n_layers) {
        cli_table table;
        char text[32];
        qsort(layers, n_layers, sizeof *layers, compare_sensitivity);
        cli_heading("Layers, the most sensitive first");
        cli_table_begin(&table, 7, headings, "Llrrrrr");
        for (uint32_t i = 0; i < n_layers; i++) {
            cli_table_add(&table, "%s", layers[i].node);
            cli_table_add(&table, "%s", layers[i].op);
            add_decibels(&table, layers[i].output_sqnr);
            add_decibels(&table, layers[i].input_sqnr);
            add_decibels(&table, layers[i].weight_sqnr);
            cli_table_add(&table, "%s", cli_bytes(text, layers[i].float_bytes));
            cli_table_add(&table, "%s", cli_bytes(text, layers[i].quantized_bytes));
        }
        cli_table_print(&table);
    }
    free(layers);
}

void print_quantization(const hone_quantization *q, const char *model, const char *output,
                        bool explain) {
    hone_quantization_info info;
    hone_quantization_get_info(q, &info);
    printf("%s", cli_begin(stdout, CLI_BOLD));
    cli_put(stdout, model);
    printf("%s: %u of %u nodes quantized", cli_end(stdout), info.n_quantized, info.n_nodes);
    if (info.n_samples)
        printf(", %llu samples", (unsigned long long)info.n_samples);
    putchar('\n');
    print_bytes("weights", info.float_bytes, info.quantized_bytes);
    if (output)
        print_bytes("file", file_size(model), file_size(output));
    for (uint32_t i = 0; i < info.n_notes; i++)
        cli_line("  %s", hone_quantization_note(q, i));
    print_float_nodes(q, info.n_nodes);
    if (explain)
        print_layers(q, info.n_nodes);
}
