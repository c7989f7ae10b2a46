/* Generates help and man page from the option tables. */
#include "cli.h"

#include <ctype.h>
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

static int longest_command_name(void) {
    size_t longest = 0;
    for (size_t i = 0; cli_commands[i]; i++) {
        size_t n = strlen(cli_commands[i]->name);
        longest = n > longest ? n : longest;
    }
    return (int)longest;
}

void cli_help_overview(FILE *out) {
    fprintf(out, "%shone%s - %s\n\nUsage: hone COMMAND [OPTIONS] ARGUMENTS\n\nCommands:\n",
            cli_begin(out, CLI_BOLD), cli_end(out), about);
    int width = longest_command_name();
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "  %s%-*s%s %s\n", cli_begin(out, CLI_CYAN), width, cli_commands[i]->name,
                cli_end(out), cli_commands[i]->summary);
    fprintf(out, "\nSee `hone COMMAND --help`. `hone --version` prints the version and this "
                 "CPU's features.\n");
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
    fprintf(out, "%shone %s%s - %s\n\nUsage: hone %s [OPTIONS] %s\n", bold, c->name, plain,
            c->summary, c->name, c->arguments);
    if (c->details)
        fprintf(out, "\n%s\n", c->details);
    fprintf(out, "\nOptions:\n");
    for (size_t i = 0; i < c->n_options; i++) {
        char head[96];
        option_text(&c->options[i], head, sizeof head);
        bool fits = strlen(head) <= 30;
        fprintf(out, fits ? "  %-30s %s\n" : "  %s\n%33s%s\n", head, fits ? c->options[i].help : "",
                c->options[i].help);
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

/* ---- man page -------------------------------------------------------------------------------- */

/* Escapes a character that troff would interpret or replace by a typographic one. */
static const char *man_escape(char c) {
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    case '"':
        return "\\(dq";
    default:
        return NULL;
    }
}

static void man_text(FILE *out, const char *text) {
    if (*text == '.')
        fputs("\\&", out);
    for (; *text; text++) {
        const char *escape = man_escape(*text);
        if (escape)
            fputs(escape, out);
        else
            fputc(*text, out);
    }
}

/* Summaries are phrases; a man page has sentences. */
static void man_sentence(FILE *out, const char *phrase) {
    fputc(toupper((unsigned char)*phrase), out);
    man_text(out, phrase + 1);
    fputs(".\n", out);
}

static void man_entry(FILE *out, const char *term, const char *text) {
    fputs(".TP\n.B ", out);
    man_text(out, term);
    fputc('\n', out);
    man_text(out, text);
    fputc('\n', out);
}

static void man_command(const cli_command *c, FILE *out) {
    fprintf(out, ".SS \"hone %s [OPTIONS] ", c->name);
    man_text(out, c->arguments);
    fputs("\"\n", out);
    man_sentence(out, c->summary);
    if (c->details) {
        fputs(".PP\n", out);
        man_text(out, c->details);
        fputc('\n', out);
    }
    for (size_t i = 0; i < c->n_options; i++) {
        char head[96];
        option_text(&c->options[i], head, sizeof head);
        man_entry(out, head + strspn(head, " "), c->options[i].help);
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
    fprintf(out, ".TH HONE 1 \"\" \"hone %s\" \"User Commands\"\n.SH NAME\nhone \\- %s\n",
            hone_version(), about);
    fputs(".SH SYNOPSIS\n.B hone\n.I COMMAND\n[OPTIONS] ARGUMENTS\n.SH OPTIONS\n", out);
    man_entry(out, "-h, --help",
              "Print the commands, or, after a command, its options and examples.");
    man_entry(out, "-V, --version", "Print the version and the features of this CPU.");
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; cli_commands[i]; i++)
        man_command(cli_commands[i], out);
    fputs(".SH \"EXIT STATUS\"\n", out);
    man_entry(out, "0", "Success.");
    man_entry(out, "1", "The command failed, or a check found errors.");
    man_entry(out, "2", "The command line is wrong.");
    fputs(".SH ENVIRONMENT\n", out);
    man_entry(out, "HONE_CPU",
              "Highest instruction set to use: scalar, sse2, avx2, avx512, neon, ...");
    man_entry(out, "NO_COLOR", "Disables colours.");
}
