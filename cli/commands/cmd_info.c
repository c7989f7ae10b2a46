/* hone info: describes a model. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct info_options {
    cli_model_options model;
    bool nodes, weights, values, plan, text, json, full;
} info_options;

static const cli_option info_option_table[] = {
    {"nodes", 'n', CLI_FLAG, offsetof(info_options, nodes), NULL,
     "every node with its output type and cost"},
    {"weights", 'w', CLI_FLAG, offsetof(info_options, weights), NULL, "every initializer"},
    {"values", 0, CLI_FLAG, offsetof(info_options, values), NULL,
     "every value with its inferred type"},
    {"plan", 'p', CLI_FLAG, offsetof(info_options, plan), NULL,
     "memory of a run: weights, intermediate values, live values at the peak; with --nodes also "
     "the provider of each node"},
    {"text", 't', CLI_FLAG, offsetof(info_options, text), NULL,
     "the model in the ONNX textual syntax"},
    {"full", 0, CLI_FLAG, offsetof(info_options, full), NULL,
     "with --text: all elements of all tensors, so that the text can be loaded"},
    {"dim", 'd', CLI_TEXTS, offsetof(info_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(info_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(info_options),
    {"json", 0, CLI_FLAG, offsetof(info_options, json), NULL,
     "one JSON object per model; --nodes, --weights, --values, --plan add to it"},
};

static void add_row(cli_table *t, const char *what, const char *value) {
    cli_table_add(t, "%s", what);
    cli_table_add(t, "%s", value);
}

/* Appends to a text as far as it fits. */
static void append(char *text, size_t size, const char *fmt, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

static void format_opsets(const hone_model *m, const hone_model_info *info, char *out,
                          size_t size) {
    snprintf(out, size, "ONNX IR %lld", (long long)info->ir_version);
    for (uint32_t i = 0; i < info->n_opsets; i++) {
        const char *domain;
        int64_t version;
        hone_model_get_opset(m, i, &domain, &version);
        append(out, size, ", %s %lld", *domain ? domain : "ai.onnx", (long long)version);
    }
}

static void print_summary(const hone_model *m, const char *path, const hone_stats_totals *t) {
    static const char *const headings[] = {"", ""};
    char line[512], a[32], b[32];
    hone_model_info info;
    hone_subgraph_info graph;
    cli_table table;
    hone_model_get_info(m, &info);
    hone_graph_get_subgraph(hone_model_graph(m), 0, &graph);
    printf("%s%s%s\n", cli_begin(stdout, CLI_BOLD), path, cli_end(stdout));
    cli_table_begin(&table, 2, headings, "lL");
    if (*info.producer_name) {
        snprintf(line, sizeof line, "%s %s", info.producer_name, info.producer_version);
        add_row(&table, "producer", line);
    }
    format_opsets(m, &info, line, sizeof line);
    add_row(&table, "format", line);
    snprintf(line, sizeof line, "%s: %s nodes", graph.name, cli_count(a, t->n_nodes));
    if (info.n_functions)
        append(line, sizeof line, ", %u function%s", info.n_functions,
               info.n_functions > 1 ? "s" : "");
    uint32_t n_subgraphs = hone_graph_n_subgraphs(hone_model_graph(m)) - 1;
    if (n_subgraphs)
        append(line, sizeof line, ", %u subgraph%s", n_subgraphs, n_subgraphs > 1 ? "s" : "");
    add_row(&table, "graph", line);
    snprintf(line, sizeof line, "%s in %u tensors, %s", cli_count(a, t->n_parameters), t->n_tensors,
             cli_bytes(b, t->parameter_bytes));
    add_row(&table, "parameters", line);
    snprintf(line, sizeof line, "%s", cli_bytes(a, info.file_bytes));
    if (info.external_bytes)
        append(line, sizeof line, " and %s of external data", cli_bytes(b, info.external_bytes));
    add_row(&table, "file", line);
    if (t->n_unknown_nodes == 0) {
        snprintf(line, sizeof line, "%s multiply-accumulates, %s of activations",
                 cli_amount(a, t->macs), cli_bytes(b, t->activation_bytes));
        add_row(&table, "work", line);
    }
    if (*info.doc) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(info.doc, "\n"), info.doc);
        add_row(&table, "about", line);
    }
    cli_table_print(&table);
}

static void print_interface(const hone_graph *g, const char *title, uint32_t n,
                            const uint32_t *values) {
    static const char *const headings[] = {"", ""};
    cli_table table;
    cli_heading(title);
    cli_table_begin(&table, 2, headings, "LL");
    for (uint32_t i = 0; i < n; i++) {
        hone_value_info v;
        hone_graph_get_value(g, values[i], &v);
        char *type = cli_type_text(g, values[i]);
        add_row(&table, v.name, type ? type : "?");
        free(type);
    }
    cli_table_print(&table);
}

static void print_parameters(const hone_stats *s, const hone_stats_totals *t) {
    static const char *const headings[] = {"type", "tensors", "elements", "bytes"};
    cli_table table;
    char text[32];
    if (!t->n_types)
        return;
    cli_heading("Parameters");
    cli_table_begin(&table, 4, headings, "lrrr");
    for (uint32_t i = 0; i < t->n_types; i++) {
        hone_stats_type e;
        hone_stats_get_type(s, i, &e);
        cli_table_add(&table, "%s", hone_elem_type_name(e.elem_type));
        cli_table_add(&table, "%s", cli_count(text, e.n_tensors));
        cli_table_add(&table, "%s", cli_count(text, e.n_elements));
        cli_table_add(&table, "%s", cli_bytes(text, e.bytes));
    }
    cli_table_print(&table);
}

static void print_operators(const hone_stats *s, const hone_stats_totals *t) {
    static const char *const headings[] = {"operator", "nodes", "MACs", "share", "activations"};
    cli_table table;
    char text[32];
    bool has_macs = t->macs > 0, has_work = t->n_unknown_nodes == 0;
    cli_heading("Operators");
    cli_table_begin(&table, has_work ? 5 : 2, headings, "Lrrrr");
    for (uint32_t i = 0; i < t->n_ops; i++) {
        hone_stats_op e;
        hone_stats_get_op(s, i, &e);
        cli_table_add(&table, "%s%s%s", e.domain, *e.domain ? "." : "", e.op);
        cli_table_add(&table, "%s", cli_count(text, e.count));
        if (!has_work)
            continue;
        cli_table_add(&table, "%s", e.macs ? cli_amount(text, e.macs) : "");
        if (e.macs && has_macs)
            cli_table_add(&table, "%.1f %%", 100.0 * (double)e.macs / (double)t->macs);
        else
            cli_table_add(&table, "%s", "");
        cli_table_add(&table, "%s", cli_bytes(text, e.output_bytes));
    }
    cli_table_print(&table);
}

static void print_metadata(const hone_model *m) {
    static const char *const headings[] = {"", ""};
    hone_model_info info;
    cli_table table;
    hone_model_get_info(m, &info);
    if (!info.n_metadata)
        return;
    cli_heading("Metadata");
    cli_table_begin(&table, 2, headings, "LL");
    for (uint32_t i = 0; i < info.n_metadata; i++) {
        const char *key, *value;
        hone_model_get_metadata(m, i, &key, &value);
        cli_table_add(&table, "%s", key);
        cli_table_add(&table, "%.*s", (int)strcspn(value, "\n"), value);
    }
    cli_table_print(&table);
}

/* " --dim batch=1 --dim seq=1": the options that fix every symbolic dimension of the inputs. */
static void list_free_dims(const hone_graph *g, char *out, size_t size) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(g, 0, &graph);
    out[0] = '\0';
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        hone_value_info v;
        hone_graph_get_value(g, graph.inputs[i], &v);
        for (int32_t axis = 0; axis < v.rank; axis++) {
            int64_t known;
            char name[64], option[96];
            size_t n = hone_value_dim(g, graph.inputs[i], axis, &known, name, sizeof name);
            snprintf(option, sizeof option, " --dim %s=1", name);
            if (known < 0 && n && n < sizeof name && !strstr(out, option))
                append(out, size, "%s", option);
        }
    }
}

/* Explains why operations cannot be counted. */
static void print_hint(const hone_model *m, const hone_stats_totals *t) {
    char options[256];
    if (!t->n_unknown_nodes)
        return;
    list_free_dims(hone_model_graph(m), options, sizeof options);
    printf("\n%s", cli_begin(stdout, CLI_DIM));
    if (*options) {
        printf("%u nodes have symbolic dimensions: add", t->n_unknown_nodes);
        cli_put(stdout, options);
        printf(" to count operations");
    } else {
        printf("the shapes of %u nodes depend on data: operations are not counted",
               t->n_unknown_nodes);
    }
    printf("%s\n", cli_end(stdout));
}

static void print_nodes(const hone_graph *g) {
    static const char *const headings[] = {"#",      "name", "operator",
                                           "output", "MACs", "activations"};
    cli_table table;
    char text[32];
    cli_heading("Nodes");
    cli_table_begin(&table, 6, headings, "rLLLrr");
    for (uint32_t s = 0; s < hone_graph_n_subgraphs(g); s++) {
        hone_subgraph_info graph;
        hone_graph_get_subgraph(g, s, &graph);
        for (uint32_t i = 0; i < graph.n_nodes; i++) {
            hone_node_info n;
            uint64_t macs, bytes;
            hone_graph_get_node(g, graph.nodes[i], &n);
            bool has_output = n.n_outputs && n.outputs[0] != HONE_NONE;
            char *type = has_output ? cli_type_text(g, n.outputs[0]) : NULL;
            cli_table_add(&table, "%u", graph.nodes[i]);
            cli_table_add(&table, "%s", n.name);
            cli_table_add(&table, "%s%s%s", n.domain, *n.domain ? "." : "", n.op);
            cli_table_add(&table, "%s", type ? type : "");
            cli_table_add(&table, "%s",
                          hone_node_macs(g, graph.nodes[i], &macs)
                              ? (macs ? cli_amount(text, macs) : "")
                              : "?");
            cli_table_add(&table, "%s",
                          hone_node_output_bytes(g, graph.nodes[i], &bytes) ? cli_bytes(text, bytes)
                                                                            : "?");
            free(type);
        }
    }
    cli_table_print(&table);
}

static void print_weights(const hone_graph *g) {
    static const char *const headings[] = {"name", "type", "elements", "bytes", "stored in"};
    cli_table table;
    char text[32];
    cli_heading("Weights");
    cli_table_begin(&table, 5, headings, "LLrrL");
    for (uint32_t v = 0; v < hone_graph_n_values(g); v++) {
        hone_tensor_info t;
        hone_value_info info;
        if (!hone_value_get_tensor(g, v, &t))
            continue;
        hone_graph_get_value(g, v, &info);
        char *type = cli_type_text(g, v);
        cli_table_add(&table, "%s", info.name);
        cli_table_add(&table, "%s", type ? type : "?");
        cli_table_add(&table, "%s", cli_count(text, t.n_elements));
        cli_table_add(
            &table, "%s",
            cli_bytes(text, (t.n_elements * (uint64_t)hone_elem_type_bits(t.elem_type) + 7) / 8));
        cli_table_add(&table, "%s",
                      t.external_location ? t.external_location
                      : t.is_sparse       ? "model (sparse)"
                                          : "model");
        free(type);
    }
    cli_table_print(&table);
}

static void print_values(const hone_graph *g) {
    static const char *const headings[] = {"#", "name", "type"};
    cli_table table;
    cli_heading("Values");
    cli_table_begin(&table, 3, headings, "rLL");
    for (uint32_t v = 0; v < hone_graph_n_values(g); v++) {
        hone_value_info info;
        hone_graph_get_value(g, v, &info);
        char *type = cli_type_text(g, v);
        cli_table_add(&table, "%u", v);
        cli_table_add(&table, "%s", info.name);
        cli_table_add(&table, "%s", type ? type : "?");
        free(type);
    }
    cli_table_print(&table);
}

static int print_tables(const hone_model *m, const char *path, const info_options *o) {
    hone_stats *stats;
    hone_error error;
    hone_stats_totals totals;
    hone_subgraph_info graph;
    const hone_graph *g = hone_model_graph(m);
    if (hone_model_get_stats(m, &stats, &error) != HONE_OK)
        return cli_fail_error(&error);
    hone_stats_get_totals(stats, &totals);
    hone_graph_get_subgraph(g, 0, &graph);
    print_summary(m, path, &totals);
    print_interface(g, "Inputs", graph.n_inputs, graph.inputs);
    print_interface(g, "Outputs", graph.n_outputs, graph.outputs);
    print_parameters(stats, &totals);
    print_operators(stats, &totals);
    print_metadata(m);
    if (o->nodes)
        print_nodes(g);
    if (o->weights)
        print_weights(g);
    if (o->values)
        print_values(g);
    int status = o->plan ? cli_print_plan(m, o->nodes) : EXIT_OK;
    print_hint(m, &totals);
    hone_stats_free(stats);
    return status;
}

static int print_model(hone_model *m, const char *path, const info_options *o) {
    hone_error error;
    if (o->text) {
        uint64_t max_elements = o->full ? UINT64_MAX : 64;
        return hone_model_print(m, max_elements, cli_write_stdout, NULL, &error) == HONE_OK
                   ? EXIT_OK
                   : cli_fail_error(&error);
    }
    if (hone_model_infer(m, &error) != HONE_OK)
        return cli_fail_error(&error);
    if (!o->json)
        return print_tables(m, path, o);
    unsigned parts = (o->nodes ? HONE_JSON_NODES : 0u) | (o->weights ? HONE_JSON_WEIGHTS : 0u) |
                     (o->values ? HONE_JSON_VALUES : 0u) | (o->plan ? HONE_JSON_PLAN : 0u);
    hone_status status = hone_model_write_json(m, path, parts, cli_write_stdout, NULL, &error);
    return status == HONE_OK ? EXIT_OK : cli_fail_error(&error);
}

static int run_info(const cli_command *self, int argc, char **argv) {
    info_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && files.n == 0) {
        cli_fail("give a model; see `hone info --help`");
        status = EXIT_USAGE;
    }
    bool can_run = status == EXIT_OK;
    for (size_t i = 0; can_run && i < files.n; i++) {
        hone_model *m = cli_load(files.at[i], &o.model, !o.text);
        if (i && !o.json)
            putchar('\n');
        if (!m || print_model(m, files.at[i], &o) != EXIT_OK)
            status = EXIT_FAILED;
        hone_model_free(m);
    }
    cli_model_options_free(&o.model);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const info_examples[] = {
    "hone info model.onnx|producer, opsets, inputs and outputs, parameters, operators",
    "hone info --dim batch=1 --nodes model.onnx|cost of every node at batch 1",
    "hone info --dim batch=1 --plan model.onnx|memory of a run",
    "hone info --text model.onnx|read the graph",
    "hone info --json --values model.onnx|everything about every value, for a program",
    NULL,
};

const cli_command cli_command_info = {
    .name = "info",
    .arguments = "MODEL...",
    .summary = "describe a model: interface, parameters, operators, cost",
    .details = "Types and shapes are inferred through the whole graph; symbolic dimensions stay "
               "symbolic until --dim or --shape fix them.",
    .options = info_option_table,
    .n_options = sizeof info_option_table / sizeof *info_option_table,
    .examples = info_examples,
    .run = run_info,
};
