#include "cli.h"

#include <stdlib.h>
#include <string.h>

const cli_command *const cli_commands[] = {
#define COMMAND(name) &cli_command_##name,
#include "commands.def"
#undef COMMAND
    NULL};

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    cli_suggestion s = {.word = name, .n = strlen(name)};
    for (size_t i = 0; cli_commands[i]; i++)
        cli_suggest(&s, cli_commands[i]->name);
    cli_fail("there is no command '%s'%s `hone --help` lists them", name,
             cli_suggestion_text(&s, ""));
    return EXIT_USAGE;
}

static int help(int argc, char **argv) {
    /* how the man page and the completions in the source tree are made */
    static const struct {
        const char *option;
        void (*print)(FILE *out);
    } generated[] = {{"--man", cli_print_man},
                     {"--bash-completion", cli_print_bash_completion},
                     {"--zsh-completion", cli_print_zsh_completion},
                     {"--fish-completion", cli_print_fish_completion}};
    if (argc < 2) {
        cli_help_overview(stdout);
        return EXIT_OK;
    }
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (strcmp(argv[1], generated[i].option) == 0) {
            generated[i].print(stdout);
            return EXIT_OK;
        }
    const cli_command *c = find_command(argv[1]);
    if (!c)
        return unknown_command(argv[1]);
    cli_help_command(c, stdout);
    return EXIT_OK;
}

/* The library ignores a value that it does not know; the user of a command wants to hear of it. */
static bool check_cpu_variable(void) {
    const char *value = getenv("HONE_CPU");
    char known[512] = "";
    if (!value || !*value)
        return true;
    for (uint32_t i = 0; *hone_cpu_tier(i); i++) {
        if (strcmp(hone_cpu_tier(i), value) == 0)
            return true;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", hone_cpu_tier(i));
    }
    cli_fail("HONE_CPU=%s: there is no such instruction set; it is one of %s", value, known);
    return false;
}

int main(int argc, char **argv) {
    if (!check_cpu_variable())
        return EXIT_USAGE;
    if (argc < 2) {
        cli_help_overview(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    int status;
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("hone %s\ncpu: %s\n", hone_version(), hone_cpu_features());
        status = EXIT_OK;
    } else if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
               strcmp(name, "help") == 0) {
        status = help(argc - 1, argv + 1);
    } else {
        const cli_command *c = find_command(name);
        status = c ? c->run(c, argc - 1, argv + 1) : unknown_command(name);
    }
    if (fflush(stdout) != 0 && status == EXIT_OK)
        status = cli_fail("cannot write the output");
    return status;
}
