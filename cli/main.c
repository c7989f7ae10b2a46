#include "cli.h"

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
    cli_fail("there is no command '%s'; `hone --help` lists them", name);
    return EXIT_USAGE;
}

static int help(int argc, char **argv) {
    if (argc < 2) {
        cli_help_overview(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--man") ==
        0) { /* how the man page and the completion in the source tree are made */
        cli_print_man(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--bash-completion") == 0) {
        cli_print_bash_completion(stdout);
        return EXIT_OK;
    }
    const cli_command *c = find_command(argv[1]);
    if (!c)
        return unknown_command(argv[1]);
    cli_help_command(c, stdout);
    return EXIT_OK;
}

int main(int argc, char **argv) {
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
