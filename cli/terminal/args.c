/* Parses command line options with the tables that also generate the help. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const cli_command *command;
    char **argv;
    int argc, i;
    char *options; /* the command's struct */
    cli_list *arguments;
} parser;

static bool list_push(cli_list *l, const char *text) {
    const char **grown = realloc(l->at, (l->n + 1) * sizeof *grown);
    if (!grown)
        return false;
    l->at = grown;
    l->at[l->n++] = text;
    return true;
}

void cli_list_free(cli_list *list) {
    free(list->at);
    *list = (cli_list){NULL, 0};
}

static int usage_error(const cli_command *c, const char *what, const char *text) {
    cli_fail("%s '%s'; `hone %s --help` lists the options", what, text, c->name);
    return EXIT_USAGE;
}

static int unknown_option(const parser *p, const char *name, size_t n) {
    cli_suggestion s = {.word = name, .n = n};
    for (size_t i = 0; i < p->command->n_options; i++)
        cli_suggest(&s, p->command->options[i].name);
    cli_fail("unknown option '%s'%s `hone %s --help` lists the options", p->argv[p->i],
             cli_suggestion_text(&s, "--"), p->command->name);
    return EXIT_USAGE;
}

/* A value that is none: names the option, and shows how to write it. */
static int wrong_value(const cli_option *o, const char *value, const char *how) {
    cli_fail("--%s %s: write %s", o->name, value, how);
    return EXIT_USAGE;
}

static bool parse_size(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    uint64_t factor = 1;
    if (end == text || errno || text[0] == '-')
        return false;
    switch (*end) {
    case 'k':
    case 'K':
        factor = UINT64_C(1) << 10;
        end++;
        break;
    case 'm':
    case 'M':
        factor = UINT64_C(1) << 20;
        end++;
        break;
    case 'g':
    case 'G':
        factor = UINT64_C(1) << 30;
        end++;
        break;
    default:
        break;
    }
    if (*end == 'B')
        end++;
    if (*end || n > UINT64_MAX / factor)
        return false;
    *out = n * factor;
    return true;
}

static bool parse_digits(const char *text, uint64_t *out) {
    return parse_size(text, out) && text[strspn(text, "0123456789")] == '\0' && *out <= INT32_MAX;
}

static bool parse_seconds(const char *text, double *out) {
    char *end;
    double seconds = strtod(text, &end);
    bool ok = end != text && *end == '\0' && seconds >= 0 && seconds < 1e9;
    if (ok)
        *out = seconds;
    return ok;
}

static int store(parser *p, const cli_option *o, const char *value) {
    void *target = p->options + o->offset;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)target = true;
        return EXIT_OK;
    case CLI_TEXT:
    case CLI_CHOICE:
        *(const char **)target = value;
        return EXIT_OK;
    case CLI_TEXTS:
        return list_push(target, value) ? EXIT_OK : cli_fail("out of memory");
    case CLI_SIZE:
        return parse_size(value, target)
                   ? EXIT_OK
                   : wrong_value(o, value, "a number of bytes, for example 4096, 64k or 1G");
    case CLI_COUNT:
        return parse_digits(value, target)
                   ? EXIT_OK
                   : wrong_value(o, value, "a whole number, 0 or more, for example 4");
    case CLI_SECONDS:
        return parse_seconds(value, target)
                   ? EXIT_OK
                   : wrong_value(o, value, "a number of seconds, for example 2.5");
    }
    return EXIT_USAGE;
}

/* Reads the option's value: the text after '=', or the next argument. */
static int take_option(parser *p, const cli_option *o, const char *attached) {
    if (o->kind == CLI_FLAG && attached)
        return usage_error(p->command, "this option takes no value:", p->argv[p->i]);
    if (o->kind == CLI_FLAG || attached)
        return store(p, o, attached);
    if (o->kind == CLI_CHOICE)
        return store(p, o, "");
    if (p->i + 1 >= p->argc)
        return usage_error(p->command, "a value is missing after", p->argv[p->i]);
    return store(p, o, p->argv[++p->i]);
}

static int parse_long(parser *p, const char *text) {
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    for (size_t i = 0; i < p->command->n_options; i++) {
        const cli_option *o = &p->command->options[i];
        if (strlen(o->name) == n && memcmp(o->name, text, n) == 0)
            return take_option(p, o, equals ? equals + 1 : NULL);
    }
    return unknown_option(p, text, n);
}

static int parse_short(parser *p, const char *text) {
    for (size_t i = 0; i < p->command->n_options; i++) {
        const cli_option *o = &p->command->options[i];
        if (o->letter && o->letter == text[0])
            return take_option(p, o, text[1] ? text + 1 : NULL);
    }
    return unknown_option(p, text, strlen(text));
}

static int parse_one(parser *p, bool *only_arguments) {
    const char *text = p->argv[p->i];
    if (*only_arguments || text[0] != '-' || text[1] == '\0')
        return list_push(p->arguments, text) ? EXIT_OK : cli_fail("out of memory");
    if (strcmp(text, "--") == 0) {
        *only_arguments = true;
        return EXIT_OK;
    }
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        cli_help_command(p->command, stdout);
        return -1;
    }
    return text[1] == '-' ? parse_long(p, text + 2) : parse_short(p, text + 1);
}

int cli_parse(const cli_command *c, int argc, char **argv, void *options, cli_list *arguments) {
    parser p = {
        .command = c, .argv = argv, .argc = argc, .options = options, .arguments = arguments};
    bool only_arguments = false;
    int status = EXIT_OK;
    for (p.i = 1; p.i < argc && status == EXIT_OK; p.i++)
        status = parse_one(&p, &only_arguments);
    return status;
}
