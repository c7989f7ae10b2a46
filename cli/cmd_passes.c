/* hone passes: what the optimizer can do. */
#include "cli_value.h"

#include <string.h>

typedef struct passes_options {
    bool json;
} passes_options;

static const cli_option passes_option_table[] = {
    {"json", 0, CLI_FLAG, offsetof(passes_options, json), NULL, "the table as a JSON array"},
};

static const char *level_name(hone_level level) {
    return level == HONE_LEVEL_BASIC ? "basic" : level == HONE_LEVEL_EXTENDED ? "extended" : "all";
}

static const char *numerics_name(hone_numerics n) {
    static const char *const names[] = {"exact", "reassociates", "approximates"};
    return names[n];
}

static void print_pass_table(void) {
    static const char *const headings[] = {"pass", "level", "numbers", "what it does"};
    cli_table table;
    hone_pass_info p;
    cli_table_begin(&table, 4, headings, "lllL");
    for (uint32_t i = 0; hone_pass_get(i, &p); i++) {
        cli_table_add(&table, "%s", p.name);
        cli_table_add(&table, "%s", level_name(p.level));
        cli_table_add(&table, "%s", numerics_name(p.numerics));
        cli_table_add(&table, "%s", p.summary);
    }
    cli_table_print(&table);
}

static void json_member(cli_buffer *b, const char *key, const char *text, const char *end) {
    cli_buffer_printf(b, "\"%s\": ", key);
    cli_json_string(b, text, strlen(text));
    cli_buffer_printf(b, "%s", end);
}

static int print_pass_json(void) {
    cli_buffer b = {0};
    hone_pass_info p;
    for (uint32_t i = 0; hone_pass_get(i, &p); i++) {
        cli_buffer_printf(&b, "%s\n  {", i ? "," : "[");
        json_member(&b, "name", p.name, ", ");
        json_member(&b, "level", level_name(p.level), ", ");
        json_member(&b, "numerics", numerics_name(p.numerics), ", ");
        json_member(&b, "summary", p.summary, "}");
    }
    cli_buffer_printf(&b, "\n]\n");
    bool ok = !b.failed && cli_write_stdout(NULL, (const char *)b.at, b.n);
    cli_buffer_free(&b);
    return ok ? EXIT_OK : cli_fail("out of memory");
}

static int run_passes(const cli_command *self, int argc, char **argv) {
    passes_options o = {0};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    if (status == EXIT_OK && arguments.n > 0) {
        cli_fail("`hone passes` takes no arguments");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK && o.json)
        status = print_pass_json();
    else if (status == EXIT_OK)
        print_pass_table();
    cli_list_free(&arguments);
    return status < 0 ? EXIT_OK : status;
}

static const char *const passes_examples[] = {
    "hone passes|in the order in which they run",
    NULL,
};

const cli_command cli_command_passes = {
    .name = "passes",
    .arguments = "",
    .summary = "list the passes of the optimizer",
    .options = passes_option_table,
    .n_options = sizeof passes_option_table / sizeof *passes_option_table,
    .examples = passes_examples,
    .run = run_passes,
};
