/* hone run: runs a model. */
#define _POSIX_C_SOURCE 200809L
#include "commands/run_dataset.h"
#include "data/test_sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct run_options {
    cli_model_options model;
    cli_input_options input;
    cli_list outputs; /* NAME=FILE */
    cli_dataset_options data;
    const char *folder, *format, *labels, *manifest, *level, *cache, *kernels, *weights, *compute;
    hone_level parsed_level;
    hone_precision parsed_weights, parsed_compute;
    uint64_t repeat, threads, top, jobs, memory, seed;
    double timeout;
    cli_list providers;
    bool json, test, profile, keep_denormals;
} run_options;

static const cli_option run_option_table[] = {
    CLI_INPUT_OPTIONS(run_options),
    {"data", 0, CLI_TEXT, offsetof(run_options, data.source), "[NAME=]PATH",
     "run on every sample of a dataset: a folder of images or of test data sets, rows of .npy or "
     ".npz, raw files with a manifest, lines of text; with classes: accuracy (docs/data.md)"},
    CLI_DATASET_OPTIONS(run_options, data),
    {"output", 'o', CLI_TEXTS, offsetof(run_options, outputs), "NAME=FILE",
     "write an output as .npy, .pb or .json; FILE.npz alone gets all (repeatable)"},
    {"outputs", 0, CLI_TEXT, offsetof(run_options, folder), "FOLDER",
     "write all outputs into a folder"},
    {"format", 'f', CLI_TEXT, offsetof(run_options, format), "npy|npz|pb|json",
     "format of the files in that folder (default npy)"},
    {"top", 'k', CLI_COUNT, offsetof(run_options, top), "K",
     "show the K largest elements of each row (5 with --labels)"},
    {"labels", 0, CLI_TEXT, offsetof(run_options, labels), "FILE",
     "names of the classes, one per line"},
    {"repeat", 'n', CLI_COUNT, offsetof(run_options, repeat), "N",
     "run N more times and print the time"},
    {"level", 'l', CLI_TEXT, offsetof(run_options, level), "LEVEL",
     "graph optimization level: none, basic, extended, all (default)"},
    {"threads", 't', CLI_COUNT, offsetof(run_options, threads), "N",
     "threads to use (default: all processors)"},
    {"cache", 0, CLI_TEXT, offsetof(run_options, cache), "FOLDER",
     "store the optimized graph and packed weights there, to start faster next time"},
    {"kernels", 0, CLI_TEXT, offsetof(run_options, kernels), "FILE",
     "use the kernels that `hone tune` selected"},
    {"weights", 0, CLI_TEXT, offsetof(run_options, weights), "float16|bfloat16",
     "keep weights of matrix products in half precision: less memory, faster for few rows"},
    {"compute", 0, CLI_TEXT, offsetof(run_options, compute), "float32|bfloat16",
     "multiply in this type where weights are constant, if the processor can; default float32"},
    {"memory", 'm', CLI_SIZE, offsetof(run_options, memory), "BYTES",
     "limit of the memory for intermediate values"},
    {"seed", 0, CLI_SIZE, offsetof(run_options, seed), "N",
     "random numbers of operators that have no seed of their own (default: new ones in every run)"},
    {"timeout", 0, CLI_SECONDS, offsetof(run_options, timeout), "SECONDS", "stop after that time"},
    {"provider", 0, CLI_TEXTS, offsetof(run_options, providers), "NAME",
     "a provider of the nodes, in order of preference (default cpu; repeatable)"},
    {"keep-denormals", 0, CLI_FLAG, offsetof(run_options, keep_denormals), NULL,
     "keep denormal numbers, which are flushed to zero by default"},
    {"profile", 0, CLI_FLAG, offsetof(run_options, profile), NULL,
     "print the time by operator and by node"},
    {"dim", 'd', CLI_TEXTS, offsetof(run_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(run_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(run_options),
    CLI_COPY(run_options),
    {"test", 0, CLI_FLAG, offsetof(run_options, test), NULL,
     "the arguments are folders of ONNX test data sets: run and compare"},
    {"jobs", 'j', CLI_COUNT, offsetof(run_options, jobs), "N",
     "with --test: parallel cases (default: all processors)"},
    {"manifest", 0, CLI_TEXT, offsetof(run_options, manifest), "FILE",
     "with --test: known failures, as lines NAME: reason"},
    {"json", 0, CLI_FLAG, offsetof(run_options, json), NULL, "one JSON object instead of tables"},
};

/* ---- one model ------------------------------------------------------------------------------- */

typedef struct run_state {
    const run_options *o;
    hone_model *model;
    hone_session *session;
    cli_feed feed;
    cli_dataset *dataset; /* NULL: one run on the inputs given */
    run_results results;
    profile_recorder recorder;
    double *seconds;
    const volatile int *interrupted;
    run_labels labels;
    cli_progress progress;
    hone_error error;
} run_state;

static double run_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_warn(const char *note) {
    if (!*note)
        return;
    fputs("hone: warning: ", stderr);
    cli_put(stderr, note);
    fputc('\n', stderr);
}

static bool read_labels(run_state *s) {
    return s->o->labels ? run_labels_read(s->o->labels, &s->labels, &s->error) : true;
}

static bool open_inputs_of_run(run_state *s) {
    cli_input_options input = s->o->input;
    cli_dataset_options data = s->o->data;
    data.image = input.image;
    data.classes = &s->labels.lines;
    if (!read_labels(s) ||
        (data.source && !cli_dataset_open(s->model, &data, &s->dataset, &s->error))) {
        cli_fail_error(&s->error);
        return false;
    }
    if (s->dataset) {
        uint32_t n;
        const char *const *names = cli_dataset_inputs(s->dataset, &n);
        input.provided = (cli_list){(const char **)(uintptr_t)names, n};
    }
    return cli_feed_make(s->model, &input, &s->feed);
}

static bool open_run(run_state *s, const char *path) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = (int)s->o->threads;
    options.level = s->o->parsed_level;
    options.cache_dir = s->o->cache;
    options.kernel_choices = s->o->kernels;
    options.weights = s->o->parsed_weights;
    options.compute = s->o->parsed_compute;
    options.memory_limit_bytes = s->o->memory;
    options.n_providers = (uint32_t)s->o->providers.n;
    options.providers = (const char *const *)s->o->providers.at;
    options.keep_denormals = s->o->keep_denormals;
    options.seed = s->o->seed;
    options.decode_image = cli_decode_image;
    s->interrupted = cli_watch_interrupts(); /* a cache is written whole or not at all */
    s->model = cli_load(path, &s->o->model, false);
    if (!s->model || !open_inputs_of_run(s))
        return false;
    if (hone_session_create(s->model, &options, &s->session, &s->error) != HONE_OK) {
        cli_fail_error(&s->error);
        return false;
    }
    run_warn(hone_session_cache_note(s->session));
    run_warn(hone_session_kernels_note(s->session));
    run_warn(hone_session_model_note(s->session));
    run_results *r = &s->results;
    s->recorder.p = &r->profile;
    *r = (run_results){.model = path,
                       .inputs = &s->feed,
                       .n_outputs = hone_session_n_outputs(s->session),
                       .top = s->o->top      ? s->o->top
                              : s->o->labels ? 5
                                             : 0,
                       .labels = &s->labels,
                       .planned_bytes = UINT64_MAX};
    r->names = calloc((size_t)r->n_outputs + 1, sizeof *r->names);
    r->values = calloc((size_t)r->n_outputs + 1, sizeof *r->values);
    s->seconds = calloc((size_t)s->o->repeat + 1, sizeof *s->seconds);
    r->seconds = s->seconds;
    if (!r->names || !r->values || !s->seconds) {
        cli_fail("out of memory");
        return false;
    }
    for (uint32_t i = 0; i < r->n_outputs; i++)
        r->names[i] = hone_session_output_name(s->session, i);
    return true;
}

static void drop_outputs(run_results *r) {
    for (uint32_t i = 0; r->values && i < r->n_outputs; i++) {
        hone_value_free(r->values[i]);
        r->values[i] = NULL;
    }
}

static bool run_once(run_state *s, bool is_watched, double *seconds) {
    hone_run_options options;
    hone_run_options_init(&options);
    options.cancel = s->interrupted;
    options.timeout_seconds = s->o->timeout;
    options.observe = is_watched ? profile_record_step : NULL;
    options.observe_ctx = &s->recorder;
    drop_outputs(&s->results);
    double start = run_clock();
    hone_status status = hone_session_run(s->session, &options, s->feed.n, s->feed.names,
                                          (const hone_value *const *)s->feed.values, 0, NULL,
                                          s->results.values, &s->error);
    *seconds = run_clock() - start;
    return status == HONE_OK;
}

static bool run_all(run_state *s) {
    uint64_t bytes;
    if (!run_once(s, s->o->profile && !s->o->repeat, &s->results.first_seconds))
        return false;
    run_warn(hone_session_dims_note(s->session));
    for (uint64_t i = 0; i < s->o->repeat; i++) {
        cli_progress_step(&s->progress, i, s->o->repeat);
        if (!run_once(s, s->o->profile, &s->seconds[s->results.n_runs++]))
            return false;
    }
    if (hone_session_peak_bytes(s->session, s->feed.n, s->feed.names,
                                (const hone_value *const *)s->feed.values, &bytes,
                                &s->error) == HONE_OK)
        s->results.planned_bytes = bytes;
    return true;
}

/* ---- outputs to files ------------------------------------------------------------------------ */

static bool write_named(run_state *s, const char *text) {
    run_results *r = &s->results;
    char names[512];
    if (!strchr(text, '=') && cli_has_suffix(text, ".npz"))
        return cli_npz_write(text, r->n_outputs, r->names, r->values, &s->error);
    if (!strchr(text, '=') && r->n_outputs == 1)
        return cli_value_write(text, r->values[0], &s->error);
    for (uint32_t i = 0; i < r->n_outputs; i++) {
        size_t n = strlen(r->names[i]);
        if (strncmp(text, r->names[i], n) == 0 && text[n] == '=')
            return cli_value_write(text + n + 1, r->values[i], &s->error);
    }
    return cli_refuse(&s->error,
                      "--output %s: write NAME=FILE with the name of an output; the model has %s",
                      text, cli_list_names(hone_model_graph(s->model), true, names, sizeof names));
}

static int check_format(const char *format) {
    static const char *const formats[] = {"npy", "npz", "pb", "json"};
    for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i]) == 0)
            return EXIT_OK;
    return format ? cli_fail("--format %s: write npy, npz, pb or json", format) : EXIT_OK;
}

/* Output names may contain slashes; file names must not. */
static bool write_into_folder(run_state *s, const char *folder, const char *format) {
    const run_results *r = &s->results;
    char path[4096];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cli_refuse(&s->error, "cannot create the folder '%s': %s", folder, strerror(errno));
    if (strcmp(format, "npz") == 0) {
        snprintf(path, sizeof path, "%s/outputs.npz", folder);
        return cli_npz_write(path, r->n_outputs, r->names, r->values, &s->error);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->n_outputs; i++) {
        snprintf(path, sizeof path, "%s/%s.%s", folder, r->names[i], format);
        for (char *c = path + strlen(folder) + 1; *c; c++)
            *c = *c == '/' ? '_' : *c;
        ok = cli_value_write(path, r->values[i], &s->error);
    }
    return ok;
}

static bool write_outputs(run_state *s) {
    const run_options *o = s->o;
    bool ok = true;
    for (size_t i = 0; ok && i < o->outputs.n; i++)
        ok = write_named(s, o->outputs.at[i]);
    return ok && o->folder ? write_into_folder(s, o->folder, o->format ? o->format : "npy") : ok;
}

static bool run_on_dataset(run_state *s) {
    run_dataset r = {.model = s->results.model,
                     .session = s->session,
                     .dataset = s->dataset,
                     .others = &s->feed,
                     .timeout_seconds = s->o->timeout,
                     .interrupted = s->interrupted,
                     .top = s->o->top,
                     .labels = &s->labels,
                     .json = s->o->json,
                     .progress = &s->progress};
    return run_dataset_all(&r, &s->error);
}

static bool run_on_inputs(run_state *s) {
    if (!run_all(s) || !write_outputs(s))
        return false;
    cli_progress_end(&s->progress);
    if (s->o->json)
        run_print_json(&s->results);
    else
        run_print_tables(&s->results);
    return true;
}

static int run_model(const char *path, const run_options *o) {
    run_state s = {.o = o};
    int status = EXIT_FAILED;
    cli_progress_begin(&s.progress, "running", o->data.source ? "samples" : "runs");
    if (open_run(&s, path)) {
        bool ok = s.dataset ? run_on_dataset(&s) : run_on_inputs(&s);
        status = ok ? EXIT_OK : cli_fail_error(&s.error);
    }
    cli_progress_end(&s.progress);
    drop_outputs(&s.results);
    run_labels_free(&s.labels);
    cli_dataset_close(s.dataset);
    profile_recorder_free(&s.recorder);
    profile_free(&s.results.profile);
    free(s.results.values);
    free(s.results.names);
    free(s.seconds);
    hone_session_free(s.session);
    cli_feed_free(&s.feed);
    hone_model_free(s.model);
    cli_end_interrupted();
    return status;
}

/* ---- command --------------------------------------------------------------------------------- */

static int run_tests(const cli_list *folders, const run_options *o) {
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs = o->jobs ? o->jobs : n_processors > 0 ? (uint64_t)n_processors : 1;
    test_options t = {.folders = folders,
                      .custom_ops = &o->model.custom_ops,
                      .manifest = o->manifest,
                      .n_jobs = jobs < 1024 ? (int)jobs : 1024,
                      .n_threads = o->threads ? (int)o->threads : 1,
                      .level = o->parsed_level,
                      .timeout_seconds = o->timeout > 0 ? o->timeout : 300,
                      .json = o->json};
    return test_sets_run(&t);
}

/* A dataset has its own report. */
static int check_dataset(const run_options *o) {
    const char *other = o->outputs.n ? "--output"
                        : o->folder  ? "--outputs"
                        : o->repeat  ? "--repeat"
                        : o->profile ? "--profile"
                        : o->test    ? "--test"
                                     : NULL;
    return o->data.source && other ? cli_fail("--data and %s exclude each other", other) : EXIT_OK;
}

static int run_run(const cli_command *self, int argc, char **argv) {
    run_options o = {.parsed_level = HONE_LEVEL_ALL};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    bool is_usable = o.test ? arguments.n > 0 : arguments.n == 1;
    if (status == EXIT_OK && !is_usable) {
        cli_fail("give %s; see `hone run --help`", o.test ? "a folder of test cases" : "one model");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK &&
        (cli_parse_level(o.level, &o.parsed_level) != EXIT_OK ||
         check_format(o.format) != EXIT_OK || check_dataset(&o) != EXIT_OK ||
         cli_parse_precision("--weights", o.weights, &o.parsed_weights) != EXIT_OK ||
         cli_parse_precision("--compute", o.compute, &o.parsed_compute) != EXIT_OK))
        status = EXIT_USAGE;
    if (status == EXIT_OK)
        status = o.test ? run_tests(&arguments, &o) : run_model(arguments.at[0], &o);
    cli_model_options_free(&o.model);
    cli_list_free(&o.outputs);
    cli_list_free(&o.providers);
    cli_input_options_free(&o.input);
    cli_list_free(&arguments);
    return status < 0 ? EXIT_OK : status;
}

static const char *const run_examples[] = {
    "hone run model.onnx --input image=cat.npy --output logits=logits.npy|inputs and outputs in "
    "files",
    "hone run model.onnx -i cat.jpg --resize 256 --crop 224 --mean 0.485,0.456,0.406 --std "
    "0.229,0.224,0.225 --labels "
    "classes.txt|classify a photo",
    "hone run model.onnx --data photos --resize 256 --crop 224 --labels classes.txt|accuracy on "
    "photos/CLASS/*.jpg",
    "hone run model.onnx --random 1 --dim batch=8 --repeat 100|time of a batch",
    "hone run model.onnx --random 1 --repeat 20 --profile|time by operator and by node",
    "hone run --test onnx/backend/test/data/node|the test cases of ONNX",
    NULL,
};

const cli_command cli_command_run = {
    .name = "run",
    .arguments = "MODEL | --test FOLDER...",
    .summary = "run a model",
    .details = "Inputs come from files, or from --random or --fill, with a symbolic dimension "
               "taken as 1. For a model with one input the\n"
               "name may be omitted. JSON files hold nested arrays; raw files (.raw, .bin) the "
               "elements alone.",
    .options = run_option_table,
    .n_options = sizeof run_option_table / sizeof *run_option_table,
    .examples = run_examples,
    .run = run_run,
};
