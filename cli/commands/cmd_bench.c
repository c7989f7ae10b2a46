/* hone bench: how fast, how steady, how much memory. */
#include <stdlib.h>

#include "bench/bench.h"

/* clang-format off */
#define BENCH_ROW(name, letter, kind, member, value, help) \
    {name, letter, kind, offsetof(bench_options, member), value, help}
static const cli_option bench_option_table[] = {
    BENCH_ROW("model", 'm', CLI_TEXTS, models, "MODEL",
        "a model, as the arguments are (repeatable)"),
    BENCH_ROW("time", 't', CLI_SECONDS, seconds, "SECONDS",
        "measure each case for that time (default 3, at least 10 runs)"),
    BENCH_ROW("runs", 'r', CLI_COUNT, runs, "N", "or that many runs"),
    BENCH_ROW("warm-up", 'w', CLI_COUNT, warm_up, "N", "runs before, for each shape (default 3)"),
    BENCH_ROW("threads", 'x', CLI_TEXT, thread_list, "N[,N...]",
        "threads of a session (default: all processors); several are compared"),
    BENCH_ROW("concurrent", 'c', CLI_TEXT, concurrent_list, "N[,N...]",
        "sessions that run at the same time; several are compared"),
    BENCH_ROW("level", 'o', CLI_TEXT, level_list, "LEVEL[,LEVEL...]",
        "graph optimization: none, basic, extended, all (default), or each"),
    BENCH_ROW("batch", 'b', CLI_TEXT, batch_list, "N[,N...]",
        "size of the first dimension of the inputs; several are compared"),
    BENCH_ROW("data-shape", 0, CLI_TEXTS, data_shapes, "NAME=SIZE[,...]",
        "sizes of the inputs of a run: of dimensions, or INPUT=1x3x8x8; the runs take those of "
        "several options in turn (repeatable)"),
    BENCH_ROW("rate", 0, CLI_TEXT, rate, "R", "begin R runs per second; latency counts from then on"),
    BENCH_ROW("against", 0, CLI_TEXT, against, "onnxruntime", "run the same models there alternately"),
    BENCH_ROW("library", 0, CLI_TEXT, library, "PATH",
        "libonnxruntime.so, or its folder (default: HONE_ONNXRUNTIME, Python packages, the "
        "loader's folders)"),
    BENCH_ROW("baseline", 0, CLI_TEXT, baseline, "FILE.json",
        "show the change against an earlier --json"),
    BENCH_ROW("fail-above", 0, CLI_TEXT, fail_above, "5%",
        "exit status 1 when a median is longer by more than that, and by more than the noise: "
        "than the baseline's, else the first case's"),
    BENCH_ROW("reference", 0, CLI_TEXT, reference, "MODEL",
        "compare outputs with those of this model (default: the first of several)"),
    CLI_INPUT_OPTIONS(bench_options),
    BENCH_ROW("data", 0, CLI_TEXT, data.source, "[NAME=]PATH",
        "inputs from a dataset, and accuracy on it where it has classes (docs/data.md)"),
    CLI_DATASET_READ_OPTIONS(bench_options, data),
    BENCH_ROW("top", 'k', CLI_COUNT, top, "K",
        "accuracy: right when the class is among the K first, too (default 5)"),
    BENCH_ROW("labels", 0, CLI_TEXT, labels, "FILE", "names of the classes, one per line"),
    BENCH_ROW("publish", 0, CLI_FLAG, publish, NULL,
        "one Markdown table: median, P95, P99, throughput at batches 1 and 32, accuracy, size"),
    BENCH_ROW("plot", 0, CLI_FLAG, plot, NULL,
        "histogram and time series also of several cases"),
    BENCH_ROW("no-creation", 0, CLI_FLAG, no_creation, NULL,
        "do not measure the creation of sessions and their memory in processes of their own"),
    BENCH_ROW("cache", 0, CLI_TEXT, cache, "FOLDER",
        "sessions use the optimized graph and packed weights there"),
    BENCH_ROW("kernels", 0, CLI_TEXT, kernels, "FILE", "use the kernels that `hone tune` selected"),
    BENCH_ROW("weights", 0, CLI_TEXT, weights, "float16|bfloat16",
        "keep weights of matrix products in half precision"),
    BENCH_ROW("compute", 0, CLI_TEXT, compute, "float32|bfloat16",
        "multiply in this type where weights are constant"),
    BENCH_ROW("memory", 0, CLI_SIZE, memory, "BYTES", "limit of the memory for intermediate values"),
    BENCH_ROW("provider", 'e', CLI_TEXTS, providers, "NAME",
        "a provider of the nodes, in order of preference (default cpu; repeatable)"),
    BENCH_ROW("keep-denormals", 0, CLI_FLAG, keep_denormals, NULL,
        "keep denormal numbers, which are flushed to zero by default"),
    BENCH_ROW("dim", 'd', CLI_TEXTS, model.dims, "NAME=SIZE",
        "fix a symbolic dimension in the model (repeatable)"),
    BENCH_ROW("shape", 's', CLI_TEXTS, model.shapes, "INPUT=1x3x8x8",
        "fix the shape of an input in the model (repeatable)"),
    CLI_CUSTOM_OPS(bench_options),
    CLI_COPY(bench_options),
    BENCH_ROW("json", 0, CLI_FLAG, json, NULL, "one JSON object instead of tables"),
    BENCH_ROW("csv", 0, CLI_FLAG, csv, NULL, "one line per case instead of tables"),
};
/* clang-format on */

static void print_bench(const bench_cases *cases) {
    if (cases->options->json)
        bench_print_json(cases);
    else if (cases->options->csv)
        bench_print_csv(cases);
    else if (cases->options->publish)
        bench_print_published(cases);
    else
        bench_print_tables(cases);
}

static int bench_models(const bench_options *o, const cli_list *models) {
    bench_cases cases = {0};
    int status = EXIT_FAILED;
    const volatile int *interrupted = cli_watch_interrupts();
    bool ok = bench_cases_make(o, models, &cases);
    cases.interrupted = interrupted;
    bool has_nothing = ok && o->fail_ratio > 0 && !o->baseline && cases.n == 1;
    if (has_nothing) {
        cli_fail("--fail-above needs something to compare with: --baseline, or several models");
        status = EXIT_USAGE;
    }
    ok = ok && !has_nothing && bench_open_baseline(&cases) && bench_measure_costs(&cases) &&
         bench_open(&cases) && bench_measure_differences(&cases) && bench_measure(&cases) &&
         bench_compare_baseline(&cases) && bench_measure_accuracy(&cases);
    if (ok) {
        print_bench(&cases);
        status = bench_judge(&cases);
    }
    bench_cases_free(&cases);
    cli_end_interrupted();
    return status;
}

/* Models are arguments, or values of -m. */
static int bench_all(bench_options *o, const cli_list *arguments) {
    cli_list models = {.at = calloc(arguments->n + o->models.n + 1, sizeof *models.at)};
    int status = EXIT_USAGE;
    for (size_t i = 0; models.at && i < arguments->n; i++)
        models.at[models.n++] = arguments->at[i];
    for (size_t i = 0; models.at && i < o->models.n; i++)
        models.at[models.n++] = o->models.at[i];
    if (!models.at)
        status = cli_fail("out of memory");
    else if (models.n == 0)
        cli_fail("give one model or more; see `hone bench --help`");
    else
        status = bench_models(o, &models);
    free(models.at);
    return status;
}

static int run_bench(const cli_command *self, int argc, char **argv) {
    bench_options o = {.runs = UINT64_MAX, .seconds = BENCH_NOT_GIVEN, .warm_up = 3};
    cli_list arguments = {0};
    int n, status;
    char(*changed)[256] = calloc((size_t)argc + 1, sizeof *changed);
    char **translated = changed ? bench_translate(argc, argv, &n, changed) : NULL;
    if (translated)
        status = cli_parse(self, n, translated, &o, &arguments);
    else
        status = cli_fail("out of memory");
    if (status == EXIT_OK)
        status = bench_options_check(&o);
    if (status == EXIT_OK)
        status = bench_all(&o, &arguments);
    bench_options_free(&o);
    cli_list_free(&arguments);
    free(translated);
    free(changed);
    return status < 0 ? EXIT_OK : status;
}

static const char *const bench_examples[] = {
    "hone bench model.onnx|latency, throughput, creation, memory",
    "hone bench model.onnx --against onnxruntime|the same inputs on both, alternately",
    "hone bench float.onnx int8.onnx --data photos --resize 256 --crop 224|speed and accuracy",
    "hone bench model.onnx --batch 1,8,32 --threads 1,2,4|sweeps",
    "hone bench model.onnx --level each|creation and inference time of each level",
    "hone bench model.onnx --json >old.json|a baseline",
    "hone bench model.onnx --baseline old.json --fail-above 5%|for a continuous integration job",
    NULL,
};

const cli_command cli_command_bench = {
    .name = "bench",
    .arguments = "MODEL...",
    .summary = "measure models: latency, throughput, memory, accuracy",
    .details =
        "Several models, runtimes, levels, threads, sessions and batches make a case of each "
        "combination; all cases run\n"
        "alternately and are compared with the first. Inputs without files are random "
        "numbers. docs/bench.md says how each number\n"
        "is measured, and lists the options of onnxruntime_perf_test and benchmark_app that "
        "are understood.",
    .options = bench_option_table,
    .n_options = sizeof bench_option_table / sizeof *bench_option_table,
    .examples = bench_examples,
    .run = run_bench,
};
