/* hone tune: measures the fastest kernels on this machine. */
#include "cli_value.h"

#include <string.h>

typedef struct tune_options {
    cli_model_options model;
    const char *output, *level;
    hone_level parsed_level;
    uint64_t threads;
    bool kernels, json;
} tune_options;

static const cli_option tune_option_table[] = {
    {"kernels", 0, CLI_FLAG, offsetof(tune_options, kernels), NULL,
     "find the fastest kernel for each convolution"},
    {"output", 'o', CLI_TEXT, offsetof(tune_options, output), "FILE",
     "write the choices for `hone run --kernels FILE`; those of other models are kept"},
    {"level", 'l', CLI_TEXT, offsetof(tune_options, level), "LEVEL",
     "graph optimization level: none, basic, extended, all (default)"},
    {"threads", 't', CLI_COUNT, offsetof(tune_options, threads), "N",
     "threads to use (default: all processors)"},
    {"dim", 'd', CLI_TEXTS, offsetof(tune_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(tune_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(tune_options),
    CLI_COPY(tune_options),
    {"json", 0, CLI_FLAG, offsetof(tune_options, json), NULL, "one JSON object instead of a table"},
};

/* Collects timings during the measurement. */
typedef struct tune_report {
    cli_table table;
    cli_buffer json;
    cli_progress progress;
    uint32_t n_timings;
} tune_report;

static void add_tune_row(cli_table *table, const hone_kernel_timing *t) {
    cli_buffer times = {0};
    for (uint32_t i = 0; i < t->n_kernels; i++)
        cli_buffer_printf(&times, "%s%s %.1f", i ? ", " : "", t->kernels[i], 1e6 * t->seconds[i]);
    cli_table_add(table, "%s", t->node);
    cli_table_add(table, "%u", t->n_nodes);
    cli_table_add(table, "%s", t->sizes);
    cli_table_add(table, "%.*s", (int)times.n, times.n ? (const char *)times.at : "");
    cli_table_add(table, "%s", t->kernels[t->usual]);
    cli_table_add(table, "%s", t->kernels[t->chosen]);
    cli_table_add(table, "%.2fx", t->seconds[t->usual] / t->seconds[t->chosen]);
    cli_buffer_free(&times);
}

static void add_tune_text(cli_buffer *b, const char *key, const char *text) {
    cli_buffer_printf(b, "\"%s\": ", key);
    cli_json_string(b, text, strlen(text));
    cli_buffer_printf(b, ", ");
}

static void add_tune_json(cli_buffer *b, const hone_kernel_timing *t, bool is_first) {
    cli_buffer_printf(b, "%s\n    {", is_first ? "" : ",");
    add_tune_text(b, "node", t->node);
    add_tune_text(b, "sizes", t->sizes);
    add_tune_text(b, "usual", t->kernels[t->usual]);
    add_tune_text(b, "chosen", t->kernels[t->chosen]);
    cli_buffer_printf(b, "\"nodes\": %u, \"seconds\": {", t->n_nodes);
    for (uint32_t i = 0; i < t->n_kernels; i++)
        cli_buffer_printf(b, "%s\"%s\": %.9g", i ? ", " : "", t->kernels[i], t->seconds[i]);
    cli_buffer_printf(b, "}}");
}

static bool take_timing(void *ctx, const hone_kernel_timing *t) {
    tune_report *r = ctx;
    add_tune_row(&r->table, t);
    add_tune_json(&r->json, t, r->n_timings++ == 0);
    return cli_progress_step(&r->progress, t->done, t->total);
}

static bool print_tune_json(tune_report *r, const char *path) {
    cli_buffer b = {0};
    cli_buffer_printf(&b, "{");
    add_tune_text(&b, "model", path);
    cli_buffer_printf(&b, "\"convolutions\": [");
    cli_buffer_add(&b, r->json.at, r->json.n);
    cli_buffer_printf(&b, "%s]}\n", r->n_timings ? "\n  " : "");
    bool ok = !b.failed && !r->json.failed && cli_write_stdout(NULL, (const char *)b.at, b.n);
    cli_buffer_free(&b);
    return ok;
}

static hone_status tune_kernels(const hone_model *m, const tune_options *o, tune_report *r,
                                hone_error *error) {
    static const char *const headings[] = {"first node", "nodes",  "sizes", "microseconds",
                                           "usual",      "chosen", "gain"};
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = (int)o->threads;
    options.level = o->parsed_level;
    cli_table_begin(&r->table, 7, headings, "LrLlllr");
    cli_watch_interrupts();
    cli_progress_begin(&r->progress, "timing", "convolutions");
    hone_status status = hone_model_tune_kernels(m, &options, o->output, take_timing, r, error);
    cli_progress_end(&r->progress);
    return status;
}

static int tune_model(const char *path, const tune_options *o) {
    tune_report r = {0};
    hone_error error;
    hone_model *m = cli_load(path, &o->model, false);
    if (!m)
        return EXIT_FAILED;
    bool ok = tune_kernels(m, o, &r, &error) == HONE_OK;
    int status = ok ? EXIT_OK : cli_fail_error(&error);
    if (ok && o->json)
        status = print_tune_json(&r, path) ? EXIT_OK : cli_fail("out of memory");
    else if (ok && r.n_timings)
        cli_table_print(&r.table);
    else if (ok)
        printf("no convolution of known sizes has more than one kernel\n");
    cli_table_free(&r.table);
    cli_buffer_free(&r.json);
    hone_model_free(m);
    return status;
}

static int run_tune(const cli_command *self, int argc, char **argv) {
    tune_options o = {.parsed_level = HONE_LEVEL_ALL};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    if (status == EXIT_OK && (arguments.n != 1 || !o.kernels)) {
        cli_fail("%s; see `hone tune --help`",
                 o.kernels ? "give one model" : "add --kernels to tell what to tune");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK && cli_parse_level(o.level, &o.parsed_level) != EXIT_OK)
        status = EXIT_USAGE;
    if (status == EXIT_OK)
        status = tune_model(arguments.at[0], &o);
    cli_model_options_free(&o.model);
    cli_list_free(&arguments);
    return status < 0 ? EXIT_OK : status;
}

static const char *const tune_examples[] = {
    "hone tune --kernels model.onnx --dim batch=1 -o kernels.txt|find the fastest kernels",
    "hone run model.onnx --random 1 --dim batch=1 --kernels kernels.txt|use them",
    NULL,
};

const cli_command cli_command_tune = {
    .name = "tune",
    .arguments = "--kernels MODEL",
    .summary = "measure the fastest kernels on this machine",
    .details = "Times every kernel that supports a convolution, for all convolutions whose sizes "
               "are known and that have more than one\n"
               "kernel. Choices apply to these sizes, this number of threads and this processor.",
    .options = tune_option_table,
    .n_options = sizeof tune_option_table / sizeof *tune_option_table,
    .examples = tune_examples,
    .run = run_tune,
};
