/* Help, man page and bash completion: all from the same tables. */
#include "cli.h"

#include <string.h>

static const char about[] = "make ONNX models fast, small and still right";

static void option_text(const cli_option *o, char *out, size_t size) {
    char head[64];
    if (o->letter)
        snprintf(head, sizeof head, "-%c, --%s", o->letter, o->name);
    else
        snprintf(head, sizeof head, "    --%s", o->name);
    if (o->kind == CLI_CHOICE)
        snprintf(out, size, "%s[=%s]", head, o->value);
    else
        snprintf(out, size, "%s%s%s", head, o->value ? " " : "", o->value ? o->value : "");
}

void cli_help_overview(FILE *out) {
    fprintf(out, "%shone%s - %s\n\nUsage: hone COMMAND [OPTIONS] ARGUMENTS\n\nCommands:\n", cli_begin(out, CLI_BOLD), cli_end(out),
            about);
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "  %s%-8s%s %s\n", cli_begin(out, CLI_CYAN), cli_commands[i]->name, cli_end(out), cli_commands[i]->summary);
    fprintf(out, "\n`hone COMMAND --help` tells more. `hone --version` prints the version and this CPU's features.\n");
}

/* Splits "line|explanation". */
static void split_example(const char *example, char *line, size_t size, const char **why) {
    const char *bar = strchr(example, '|');
    size_t n = bar ? (size_t)(bar - example) : strlen(example);
    snprintf(line, size, "%.*s", (int)n, example);
    *why = bar ? bar + 1 : "";
}

void cli_help_command(const cli_command *c, FILE *out) {
    const char *bold = cli_begin(out, CLI_BOLD), *plain = cli_end(out);
    fprintf(out, "%shone %s%s - %s\n\nUsage: hone %s [OPTIONS] %s\n", bold, c->name, plain, c->summary, c->name, c->arguments);
    if (c->details)
        fprintf(out, "\n%s\n", c->details);
    fprintf(out, "\nOptions:\n");
    for (size_t i = 0; i < c->n_options; i++) {
        char head[96];
        option_text(&c->options[i], head, sizeof head);
        bool fits = strlen(head) <= 30;
        fprintf(out, fits ? "  %-30s %s\n" : "  %s\n%33s%s\n", head, fits ? c->options[i].help : "", c->options[i].help);
    }
    fprintf(out, "  %-30s %s\n", "-h, --help", "print this help");
    if (c->examples && c->examples[0])
        fprintf(out, "\nExamples:\n");
    for (size_t i = 0; c->examples && c->examples[i]; i++) {
        char line[256];
        const char *why;
        split_example(c->examples[i], line, sizeof line, &why);
        fprintf(out, "  %s\n      %s%s%s\n", line, cli_begin(out, CLI_DIM), why, plain);
    }
}

/* ---- man page ------------------------------------------------------------------------------------------------------ */

/* Text for troff: a dash is a minus, a backslash or a leading dot or quote is protected. */
static void man_text(FILE *out, const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
    }
}

static void man_command(const cli_command *c, FILE *out) {
    fprintf(out, ".SS \"hone %s [OPTIONS] %s\"\n", c->name, c->arguments);
    man_text(out, c->summary);
    fputs(".\n", out);
    if (c->details) {
        fputs(".PP\n", out);
        man_text(out, c->details);
        fputc('\n', out);
    }
    for (size_t i = 0; i < c->n_options; i++) {
        char head[96];
        option_text(&c->options[i], head, sizeof head);
        fputs(".TP\n.B ", out);
        man_text(out, head + strspn(head, " "));
        fputc('\n', out);
        man_text(out, c->options[i].help);
        fputc('\n', out);
    }
    for (size_t i = 0; c->examples && c->examples[i]; i++) {
        char line[256];
        const char *why;
        split_example(c->examples[i], line, sizeof line, &why);
        fputs(".PP\nExample: ", out);
        man_text(out, why);
        fputs("\n.PP\n.nf\n    ", out);
        man_text(out, line);
        fputs("\n.fi\n", out);
    }
}

void cli_print_man(FILE *out) {
    fprintf(out, ".TH HONE 1 \"\" \"hone %s\" \"User Commands\"\n.SH NAME\nhone \\- %s\n", hone_version(), about);
    fputs(".SH SYNOPSIS\n.B hone\n.I COMMAND\n[OPTIONS] ARGUMENTS\n.SH COMMANDS\n", out);
    for (size_t i = 0; cli_commands[i]; i++)
        man_command(cli_commands[i], out);
    fputs(".SH \"EXIT STATUS\"\n0: all is well. 1: the command failed, or a check found errors. 2: the command line is wrong.\n"
          ".SH ENVIRONMENT\n.TP\n.B HONE_CPU\nHighest instruction set to use: scalar, sse2, avx2, avx512, neon, ...\n"
          ".TP\n.B NO_COLOR\nNo colours, whatever the terminal.\n",
          out);
}

/* ---- bash completion -------------------------------------------------------------------------------------------------- */

void cli_print_bash_completion(FILE *out) {
    fputs("# bash completion for hone; made by `hone help --bash-completion`\n_hone() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} words\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='",
          out);
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "%s ", cli_commands[i]->name);
    fputs("help --help --version'\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n        return\n    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "    %s) words='--help", cli_commands[i]->name);
        for (size_t k = 0; k < cli_commands[i]->n_options; k++)
            fprintf(out, " --%s", cli_commands[i]->options[k].name);
        fputs("' ;;\n", out);
    }
    fputs("    *) words= ;;\n    esac\n    case $cur in\n    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\ncomplete -o filenames -F _hone hone\n",
          out);
}
