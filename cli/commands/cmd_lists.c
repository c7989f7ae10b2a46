/* hone passes, hone kernels: lists what this build contains, as a table or as JSON. */
#include "cli_value.h"

enum { MOST_LISTED = 8 };

/* Rows of texts: those of the table, the last of which explains the others, then what only JSON
 * has. */
typedef struct listing {
    size_t n_columns, n_keys;
    const char *align;                 /* as cli_table_begin takes it */
    const char *headings[MOST_LISTED]; /* of the table */
    const char *keys[MOST_LISTED];     /* of the objects */
    bool (*row)(uint32_t row, const char **texts);
} listing;

typedef struct list_options {
    bool json;
} list_options;

static const cli_option list_option_table[] = {
    {"json", 0, CLI_FLAG, offsetof(list_options, json), NULL, "the table as a JSON array"},
};

static void print_list_table(const listing *l) {
    const char *texts[MOST_LISTED];
    cli_table table;
    cli_table_begin(&table, l->n_columns, l->headings, l->align);
    for (uint32_t i = 0; l->row(i, texts); i++)
        for (size_t k = 0; k < l->n_columns; k++)
            cli_table_add(&table, "%s", texts[k]);
    cli_table_print(&table);
}

static int print_list_json(const listing *l) {
    const char *texts[MOST_LISTED];
    cli_buffer b = {0};
    for (uint32_t i = 0; l->row(i, texts); i++) {
        cli_buffer_printf(&b, "%s\n  {", i ? "," : "[");
        for (size_t k = 0; k < l->n_keys; k++) {
            cli_buffer_printf(&b, "%s", k ? ", " : "");
            cli_json_member(&b, l->keys[k], texts[k]);
        }
        cli_buffer_printf(&b, "}");
    }
    cli_buffer_printf(&b, "\n]\n");
    bool ok = !b.failed && cli_write_stdout(NULL, (const char *)b.at, b.n);
    cli_buffer_free(&b);
    return ok ? EXIT_OK : cli_fail("out of memory");
}

static int run_list(const cli_command *self, const listing *l, int argc, char **argv) {
    list_options o = {0};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    if (status == EXIT_OK && arguments.n > 0) {
        cli_fail("`hone %s` takes no arguments", self->name);
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK && o.json)
        status = print_list_json(l);
    else if (status == EXIT_OK)
        print_list_table(l);
    cli_list_free(&arguments);
    return status < 0 ? EXIT_OK : status;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static bool pass_texts(uint32_t row, const char **texts) {
    static const char *const levels[] = {
        [HONE_LEVEL_BASIC] = "basic", [HONE_LEVEL_EXTENDED] = "extended", [HONE_LEVEL_ALL] = "all"};
    static const char *const numerics[] = {[HONE_NUMERICS_EXACT] = "exact",
                                           [HONE_NUMERICS_REASSOCIATES] = "reassociates",
                                           [HONE_NUMERICS_APPROXIMATES] = "approximates"};
    hone_pass_info p;
    if (!hone_pass_get(row, &p))
        return false;
    texts[0] = p.name;
    texts[1] = levels[p.level];
    texts[2] = numerics[p.numerics];
    texts[3] = p.summary;
    return true;
}

static int run_passes(const cli_command *self, int argc, char **argv) {
    static const listing passes = {4,
                                   4,
                                   "lllL",
                                   {"pass", "level", "numbers", "what it does"},
                                   {"name", "level", "numerics", "summary"},
                                   pass_texts};
    return run_list(self, &passes, argc, argv);
}

static const char *const passes_examples[] = {
    "hone passes|in the order in which they run",
    NULL,
};

const cli_command cli_command_passes = {
    .name = "passes",
    .arguments = "",
    .summary = "list the passes of the optimizer",
    .options = list_option_table,
    .n_options = sizeof list_option_table / sizeof *list_option_table,
    .examples = passes_examples,
    .run = run_passes,
};

/* ---- kernels --------------------------------------------------------------------------------- */

static bool kernel_texts(uint32_t row, const char **texts) {
    hone_kernel_info k;
    if (!hone_kernel_get(row, &k))
        return false;
    texts[0] = k.family;
    texts[1] = k.instruction_set;
    texts[2] = k.is_picked ? "yes" : "";
    texts[3] = k.types;
    texts[4] = k.tile;
    texts[5] = k.is_exact ? "exact" : "rounded";
    texts[6] = k.summary;
    texts[7] = k.name;
    return true;
}

static int run_kernels(const cli_command *self, int argc, char **argv) {
    static const listing kernels = {
        7,
        8,
        "llllllL",
        {"family", "instructions", "runs", "types", "tile", "results", "what it computes"},
        {"family", "instruction_set", "runs", "types", "tile", "results", "summary", "name"},
        kernel_texts};
    return run_list(self, &kernels, argc, argv);
}

static const char *const kernels_examples[] = {
    "hone kernels|those that run on this processor are marked",
    "HONE_CPU=avx2 hone kernels|as on a processor without AVX-512",
    NULL,
};

const cli_command cli_command_kernels = {
    .name = "kernels",
    .arguments = "",
    .summary = "list the kernels, and which of them run here",
    .details =
        "Of each family the first kernel runs that the processor has the instructions for and that "
        "HONE_CPU admits. A tile is what is computed at a time: rows and columns of a result, or "
        "elements of a vector. Results are exact where all kernels of a family give the same "
        "bytes.",
    .options = list_option_table,
    .n_options = sizeof list_option_table / sizeof *list_option_table,
    .examples = kernels_examples,
    .run = run_kernels,
};
