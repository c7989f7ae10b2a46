/* hone profile: where time and memory of a model go, and what to do about it. */
#define _POSIX_C_SOURCE 200809L
#include "pages/page.h"
#include "profile/findings.h"
#include "profile/profile_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct profile_options {
    cli_model_options model;
    cli_input_options input;
    const char *level, *weights, *compute, *kernels, *by, *trace, *html, *top;
    uint64_t repeat, threads;
    double timeout;
    bool json, diff, opens, measure_peaks, no_findings, keep_denormals;
    unsigned tables;
    uint64_t n_shown;
    hone_session_options session;
} profile_options;

static const cli_option profile_option_table[] = {
    CLI_INPUT_OPTIONS(profile_options),
    {"repeat", 'n', CLI_COUNT, offsetof(profile_options, repeat), "N",
     "runs to record (default: about a second of them)"},
    {"threads", 't', CLI_COUNT, offsetof(profile_options, threads), "N",
     "threads to use (default: all processors)"},
    {"level", 'l', CLI_TEXT, offsetof(profile_options, level), "LEVEL",
     "graph optimization level: none, basic, extended, all (default)"},
    {"by", 0, CLI_TEXT, offsetof(profile_options, by), "LIST",
     "tables to print: node, op, kernel, thread, memory, all; separated by commas"},
    {"top", 'k', CLI_TEXT, offsetof(profile_options, top), "K",
     "rows of each table (default 15; 0: all)"},
    {"trace", 0, CLI_TEXT, offsetof(profile_options, trace), "FILE",
     "write a trace for Perfetto and Chrome, with the fields of onnxruntime's profiles"},
    {"html", 0, CLI_TEXT, offsetof(profile_options, html), "FILE",
     "write a page: operators, timeline, roofline, memory, findings"},
    {"open", 0, CLI_FLAG, offsetof(profile_options, opens), NULL, "show that page in a browser"},
    {"diff", 0, CLI_FLAG, offsetof(profile_options, diff), NULL,
     "the arguments are two profiles or models: print what became faster or slower"},
    {"measure-peaks", 0, CLI_FLAG, offsetof(profile_options, measure_peaks), NULL,
     "measure the peaks of this machine again; they are kept in the user's cache folder"},
    {"no-findings", 0, CLI_FLAG, offsetof(profile_options, no_findings), NULL,
     "look for nothing that could be done"},
    {"kernels", 0, CLI_TEXT, offsetof(profile_options, kernels), "FILE",
     "use the kernels that `hone tune` selected"},
    {"weights", 0, CLI_TEXT, offsetof(profile_options, weights), "float16|bfloat16",
     "keep weights of matrix products in half precision"},
    {"compute", 0, CLI_TEXT, offsetof(profile_options, compute), "float32|bfloat16",
     "multiply in this type where weights are constant, if the processor can"},
    {"keep-denormals", 0, CLI_FLAG, offsetof(profile_options, keep_denormals), NULL,
     "keep denormal numbers, which are flushed to zero by default"},
    {"timeout", 0, CLI_SECONDS, offsetof(profile_options, timeout), "SECONDS",
     "stop a run after that time"},
    {"dim", 'd', CLI_TEXTS, offsetof(profile_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(profile_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(profile_options),
    CLI_COPY(profile_options),
    {"json", 0, CLI_FLAG, offsetof(profile_options, json), NULL,
     "one JSON object instead of tables"},
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_tables(const char *text, unsigned *tables) {
    static const struct {
        const char *word;
        unsigned table;
    } known[] = {{"node", PROFILE_BY_NODE},     {"op", PROFILE_BY_OP},
                 {"kernel", PROFILE_BY_KERNEL}, {"thread", PROFILE_BY_THREAD},
                 {"memory", PROFILE_MEMORY},    {"all", 31}};
    *tables = text ? 0 : PROFILE_BY_NODE | PROFILE_BY_OP | PROFILE_BY_THREAD | PROFILE_MEMORY;
    while (text && *text) {
        size_t n = strcspn(text, ","), i = 0;
        while (i < sizeof known / sizeof *known &&
               (strlen(known[i].word) != n || strncmp(text, known[i].word, n) != 0))
            i++;
        if (i == sizeof known / sizeof *known)
            return cli_fail("--by %.*s: write node, op, kernel, thread, memory or all", (int)n,
                            text);
        *tables |= known[i].table;
        text += n + (text[n] == ',');
    }
    return EXIT_OK;
}

static int read_profile_options(profile_options *o) {
    char *end = NULL;
    o->n_shown = o->top ? strtoull(o->top, &end, 10) : 15;
    if (o->top && (*o->top < '0' || *o->top > '9' || *end))
        return cli_fail("--top %s: write a number of rows, or 0 for all", o->top);
    if (o->opens && !o->html)
        return cli_fail("--open needs a page: add --html FILE");
    if (!o->input.random && !o->input.fill)
        o->input.random = "1";
    hone_session_options_init(&o->session);
    if (parse_tables(o->by, &o->tables) || cli_parse_level(o->level, &o->session.level) ||
        cli_parse_precision("--weights", o->weights, &o->session.weights) ||
        cli_parse_precision("--compute", o->compute, &o->session.compute))
        return EXIT_FAILED;
    o->session.n_threads = (int)o->threads;
    o->session.kernel_choices = o->kernels;
    o->session.keep_denormals = o->keep_denormals;
    o->session.decode_image = cli_decode_image;
    return EXIT_OK;
}

/* ---- one profile ----------------------------------------------------------------------------- */

/* A model and what was recorded of it; of a trace, the latter alone. */
typedef struct profiled {
    profile p;
    hone_model *model;
    cli_feed feed;
} profiled;

static void close_profiled(profiled *d) {
    profile_free(&d->p);
    cli_feed_free(&d->feed);
    hone_model_free(d->model);
}

static int record_model(const char *path, const profile_options *o, profiled *d) {
    cli_progress progress;
    hone_error error;
    profile_runs runs = {.path = path,
                         .session = o->session,
                         .feed = &d->feed,
                         .n_runs = o->repeat,
                         .timeout_seconds = o->timeout,
                         .interrupted = cli_watch_interrupts(),
                         .progress = &progress};
    double start_us = profile_clock_us();
    d->model = cli_load(path, &o->model, false);
    runs.load_us = profile_clock_us() - start_us;
    runs.model = d->model;
    if (!d->model || !cli_feed_make(d->model, &o->input, &d->feed))
        return EXIT_FAILED;
    cli_progress_begin(&progress, "running", "runs");
    bool ok = profile_record(&runs, &d->p, &error);
    cli_progress_end(&progress);
    return ok ? EXIT_OK : cli_fail_error(&error);
}

static int open_profiled(const char *path, const profile_options *o, profiled *d) {
    hone_error error;
    *d = (profiled){0};
    if (cli_has_suffix(path, ".json"))
        return trace_read(path, &d->p, &error) ? EXIT_OK : cli_fail_error(&error);
    return record_model(path, o, d);
}

/* That the session had: one that was alone has recorded none. Of onnxruntime it is not known. */
static int n_threads_of(const profile_options *o, const profiled *d) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (o->threads)
        return (int)o->threads;
    return d->p.n_threads ? (int)d->p.n_threads : d->model || n < 1 ? 1 : (int)n;
}

static void look_for_findings(const char *path, const profile_options *o, profiled *d) {
    finding_level level = {.session = o->session, .feed = &d->feed};
    finding_input in = {.p = &d->p,
                        .path = path,
                        .model = d->model,
                        .level = o->session.level,
                        .at_level = d->model ? &level : NULL,
                        .n_threads = n_threads_of(o, d),
                        .keeps_denormals = o->keep_denormals,
                        .measures_int8 = d->model != NULL};
    findings_make(&in);
}

static int write_profile_files(const profile_options *o, const profile *p) {
    cli_buffer text = {0};
    hone_error error;
    int status = EXIT_OK;
    if (o->trace) {
        trace_write(p, &text);
        if (!cli_file_write(o->trace, &text, &error))
            status = cli_fail_error(&error);
        cli_buffer_free(&text);
    }
    if (o->html && status == EXIT_OK) {
        profile_json(p, &text);
        status = page_save(&profile_page, &text, o->html);
        cli_buffer_free(&text);
    }
    return status == EXIT_OK && o->opens ? page_open(o->html) : status;
}

static int write_profile_json(const profile *p, const profile *after) {
    cli_buffer text = {0};
    if (after)
        profile_diff_json(p, after, &text);
    else
        profile_json(p, &text);
    bool ok = !text.failed && cli_write_stdout(NULL, (const char *)text.at, text.n);
    cli_buffer_free(&text);
    return ok ? EXIT_OK : cli_fail("out of memory");
}

static int profile_one(const char *path, const profile_options *o) {
    profiled d;
    int status = open_profiled(path, o, &d);
    if (status == EXIT_OK) {
        peaks_get(n_threads_of(o, &d), o->measure_peaks, &d.p.peaks);
        if (!o->no_findings)
            look_for_findings(path, o, &d);
        status = d.p.failed ? cli_fail("out of memory") : write_profile_files(o, &d.p);
    }
    if (status == EXIT_OK && o->json) {
        status = write_profile_json(&d.p, NULL);
    } else if (status == EXIT_OK) {
        profile_print(&d.p, o->tables, o->n_shown);
        if (!o->no_findings)
            profile_print_findings(&d.p);
    }
    close_profiled(&d);
    cli_end_interrupted();
    return status;
}

static int profile_two(const char *const *paths, const profile_options *o) {
    profiled a, b = {0};
    int status = open_profiled(paths[0], o, &a);
    if (status == EXIT_OK)
        status = open_profiled(paths[1], o, &b);
    if (status == EXIT_OK && o->json)
        status = write_profile_json(&a.p, &b.p);
    else if (status == EXIT_OK)
        profile_diff_print(&a.p, &b.p, o->n_shown);
    close_profiled(&a);
    close_profiled(&b);
    cli_end_interrupted();
    return status;
}

/* ---- command --------------------------------------------------------------------------------- */

static int run_profile_command(const cli_command *self, int argc, char **argv) {
    profile_options o = {0};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    if (status == EXIT_OK && arguments.n != (o.diff ? 2u : 1u)) {
        cli_fail(o.diff ? "--diff compares two: give two profiles or models"
                        : "give one model or profile; see `hone profile --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK)
        status = read_profile_options(&o);
    if (status == EXIT_OK)
        status = o.diff ? profile_two(arguments.at, &o) : profile_one(arguments.at[0], &o);
    cli_list_free(&arguments);
    cli_model_options_free(&o.model);
    cli_input_options_free(&o.input);
    return status < 0 ? EXIT_OK : status;
}

static const char *const profile_examples[] = {
    "hone profile model.onnx|tables, memory and findings for made-up inputs",
    "hone profile model.onnx --html page.html --trace trace.json|a page, and a trace for Perfetto",
    "hone profile onnxruntime_profile.json|the same tables of a profile that onnxruntime wrote",
    "hone profile --diff before.json after.json|what became faster or slower, node by node", NULL};

const cli_command cli_command_profile = {
    .name = "profile",
    .arguments = "MODEL|PROFILE.json",
    .summary = "show where time and memory go, and what could be done",
    .details =
        "Runs a model and records every step, or reads a profile of hone or onnxruntime. Prints "
        "time by node, operator, kernel and thread with the share of this machine's peaks, memory "
        "over the run, and findings ranked by the time that they could save; docs/profile.md "
        "explains them. Inputs that are not given are random numbers.",
    .options = profile_option_table,
    .n_options = sizeof profile_option_table / sizeof *profile_option_table,
    .examples = profile_examples,
    .run = run_profile_command,
};
