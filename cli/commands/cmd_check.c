/* hone check: lists everything that is wrong with a model. */
#include "cli.h"

typedef struct check_options {
    cli_model_options model; /* its custom_ops */
    bool json, quiet;
} check_options;

static const cli_option check_option_table[] = {
    {"json", 0, CLI_FLAG, offsetof(check_options, json), NULL,
     "an array with one object per model"},
    {"quiet", 'q', CLI_FLAG, offsetof(check_options, quiet), NULL,
     "errors only: no warnings, no line for valid models"},
    CLI_CUSTOM_OPS(check_options),
};

static void print_problem(const char *path, bool is_error, const char *message) {
    printf("%s: %s%s:%s ", path, cli_begin(stdout, is_error ? CLI_RED : CLI_YELLOW),
           is_error ? "error" : "warning", cli_end(stdout));
    cli_line("%s", message);
}

static void print_problems(const char *path, const hone_problems *problems,
                           const check_options *o) {
    char errors[32], warnings[32];
    uint32_t listed = hone_problems_listed(problems);
    for (uint32_t i = 0; i < listed; i++) {
        hone_problem p;
        hone_problems_get(problems, i, &p);
        if (p.severity == HONE_ERROR || !o->quiet)
            print_problem(path, p.severity == HONE_ERROR, p.message);
    }
    uint32_t n_errors = hone_problems_count(problems, HONE_ERROR),
             n_warnings = hone_problems_count(problems, HONE_WARNING);
    if (n_errors)
        printf("%s: %snot valid%s: %s error%s, %s warning%s%s\n", path, cli_begin(stdout, CLI_RED),
               cli_end(stdout), cli_count(errors, n_errors), n_errors == 1 ? "" : "s",
               cli_count(warnings, n_warnings), n_warnings == 1 ? "" : "s",
               n_errors + n_warnings > listed ? " (the first are shown)" : "");
    else if (!o->quiet)
        printf("%s: %svalid%s\n", path, cli_begin(stdout, CLI_GREEN), cli_end(stdout));
}

static int check_file(const char *path, const check_options *o) {
    hone_error error;
    hone_model *m;
    hone_problems *problems;
    if (cli_load_model(path, &o->model.custom_ops, false, false, &m, &error) != HONE_OK) {
        if (o->json)
            hone_error_write_json(&error, path, cli_write_stdout, NULL);
        else
            print_problem(path, true, error.message);
        return EXIT_FAILED;
    }
    hone_status status = hone_model_check(m, &problems, &error);
    int result = EXIT_FAILED;
    if (status == HONE_OK) {
        result = hone_problems_count(problems, HONE_ERROR) ? EXIT_FAILED : EXIT_OK;
        if (o->json)
            status = hone_problems_write_json(problems, path, cli_write_stdout, NULL, &error);
        else
            print_problems(path, problems, o);
        hone_problems_free(problems);
    }
    if (status != HONE_OK)
        result = cli_fail_error(&error);
    hone_model_free(m);
    return result;
}

static int run_check(const cli_command *self, int argc, char **argv) {
    check_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && files.n == 0) {
        cli_fail("give at least one model; see `hone check --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK) {
        if (o.json)
            printf("[\n");
        for (size_t i = 0; i < files.n; i++) {
            if (o.json && i)
                printf(",\n");
            int one = check_file(files.at[i], &o);
            status = one > status ? one : status;
        }
        if (o.json)
            printf("]\n");
    }
    cli_model_options_free(&o.model);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const check_examples[] = {
    "hone check model.onnx|all problems of one model; exit status 1 when there are errors",
    "hone check --quiet models/*.onnx|many models, only what is wrong",
    "hone check --json model.onnx|for a program",
    NULL,
};

const cli_command cli_command_check = {
    .name = "check",
    .arguments = "MODEL...",
    .summary = "find everything that is wrong with a model",
    .details = "Checks the structure of the file, every node against its operator's schema, and "
               "types and shapes through the whole\n"
               "graph, subgraphs and functions. All problems are listed, not only the first.",
    .options = check_option_table,
    .n_options = sizeof check_option_table / sizeof *check_option_table,
    .examples = check_examples,
    .run = run_check,
};
