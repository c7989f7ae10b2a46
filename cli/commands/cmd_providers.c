/* hone providers: what runs nodes in this build, and what it uses of this machine. */
#include "cli_value.h"

#include <string.h>

typedef struct providers_options {
    bool json;
} providers_options;

static const cli_option providers_option_table[] = {
    {"json", 0, CLI_FLAG, offsetof(providers_options, json), NULL, "the table as a JSON array"},
};

typedef struct provider_row {
    const char *name;
    const char *tier;     /* instruction set of most of its kernels; "" when it has none */
    uint32_t n_kernels;   /* that run here, plain C aside */
    const char *features; /* of the processor that they may use */
} provider_row;

/* The kernels of hone.h are those of the provider cpu. */
static provider_row describe_provider(const char *name) {
    provider_row row = {.name = name, .tier = "", .features = ""};
    if (strcmp(name, "cpu") != 0)
        return row;
    hone_kernel_info kernel;
    row.tier = "scalar";
    row.features = hone_cpu_features();
    for (uint32_t i = 0; hone_kernel_get(i, &kernel); i++) {
        if (!kernel.is_picked || strcmp(kernel.instruction_set, "scalar") == 0)
            continue;
        if (row.n_kernels++ == 0)
            row.tier = kernel.instruction_set;
    }
    return row;
}

static void print_provider_table(void) {
    static const char *const headings[] = {"provider", "tier", "kernels", "processor features"};
    cli_table table;
    cli_table_begin(&table, 4, headings, "llrL");
    for (uint32_t i = 0; *hone_provider_name(i); i++) {
        provider_row row = describe_provider(hone_provider_name(i));
        cli_table_add(&table, "%s", row.name);
        cli_table_add(&table, "%s", row.tier);
        cli_table_add(&table, "%u", (unsigned)row.n_kernels);
        cli_table_add(&table, "%s", row.features);
    }
    cli_table_print(&table);
}

static int print_provider_json(void) {
    cli_buffer b = {0};
    cli_buffer_printf(&b, "[");
    for (uint32_t i = 0; *hone_provider_name(i); i++) {
        provider_row row = describe_provider(hone_provider_name(i));
        cli_buffer_printf(&b, "%s\n  {", i ? "," : "");
        cli_json_member(&b, "name", row.name);
        cli_buffer_printf(&b, ", ");
        cli_json_member(&b, "tier", row.tier);
        cli_buffer_printf(&b, ", \"n_kernels\": %u, ", (unsigned)row.n_kernels);
        cli_json_member(&b, "features", row.features);
        cli_buffer_printf(&b, "}");
    }
    cli_buffer_printf(&b, "\n]\n");
    bool ok = !b.failed && cli_write_stdout(NULL, (const char *)b.at, b.n);
    cli_buffer_free(&b);
    return ok ? EXIT_OK : cli_fail("out of memory");
}

static int run_providers(const cli_command *self, int argc, char **argv) {
    providers_options o = {0};
    cli_list arguments = {0};
    int status = cli_parse(self, argc, argv, &o, &arguments);
    if (status == EXIT_OK && arguments.n > 0) {
        cli_fail("`hone providers` takes no arguments");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK && o.json)
        status = print_provider_json();
    else if (status == EXIT_OK)
        print_provider_table();
    cli_list_free(&arguments);
    return status < 0 ? EXIT_OK : status;
}

static const char *const providers_examples[] = {
    "hone providers|names for `hone run --provider`",
    "HONE_CPU=avx2 hone providers|as on a processor without AVX-512",
    NULL,
};

const cli_command cli_command_providers = {
    .name = "providers",
    .arguments = "",
    .summary = "list what runs nodes here, and the CPU features in use",
    .details = "The tier is the instruction set that the kernels of a provider use on this "
               "processor, and the number is how many of them have\n"
               "a version for it; `hone kernels` lists them.",
    .options = providers_option_table,
    .n_options = sizeof providers_option_table / sizeof *providers_option_table,
    .examples = providers_examples,
    .run = run_providers,
};
