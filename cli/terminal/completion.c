/* Generates the completions of shells from the option tables. */
#include "cli.h"

#include <string.h>

/* ---- bash ------------------------------------------------------------------------------------ */

static void complete_command_names(FILE *out) {
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", cli_commands[i]->name);
}

/* The words after "--option=": "always|never|keep" or "docs,names". */
static void complete_choices(const cli_command *c, FILE *out) {
    for (size_t i = 0; i < c->n_options; i++) {
        if (c->options[i].kind != CLI_CHOICE)
            continue;
        fprintf(out, "    %s=--%s) words='", c->name, c->options[i].name);
        for (const char *s = c->options[i].value; *s; s++)
            fputc(*s == '|' || *s == ',' ? ' ' : *s, out);
        fputs("' ;;\n", out);
    }
}

static void complete_options(const cli_command *c, FILE *out) {
    fprintf(out, "    %s.-*) words='--help", c->name);
    for (size_t i = 0; i < c->n_options; i++)
        fprintf(out, " --%s", c->options[i].name);
    fputs("' ;;\n", out);
}

/* Bash completes file names where no word matches. It splits words at '=', so "--strip=do" arrives
 * as three words. */
void cli_print_bash_completion(FILE *out) {
    fputs("# bash completion for hone; made by `hone help --bash-completion`\n_hone() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} before=$((COMP_CWORD - 1)) key words=\n"
          "    key=${COMP_WORDS[1]}.$cur\n"
          "    if [[ $cur == = ]]; then\n        key=${COMP_WORDS[1]}=${COMP_WORDS[before]} cur=\n"
          "    elif [[ ${COMP_WORDS[before]} == = ]]; then\n        "
          "key=${COMP_WORDS[1]}=${COMP_WORDS[before - 1]}\n    fi\n"
          "    [[ $COMP_CWORD -eq 1 ]] && key=first\n"
          "    case $key in\n    first) words='",
          out);
    complete_command_names(out);
    fputs(" help --help --version' ;;\n    help.*) words='", out);
    complete_command_names(out);
    fputs("' ;;\n", out);
    for (size_t i = 0; cli_commands[i]; i++)
        complete_choices(cli_commands[i], out);
    for (size_t i = 0; cli_commands[i]; i++)
        complete_options(cli_commands[i], out);
    fputs("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o "
          "bashdefault -o default -F _hone hone\n",
          out);
}

/* ---- what options take ----------------------------------------------------------------------- */

/* The words of "always|never|keep" or "docs,names", separated by spaces; "" when the value is not
 * one of a few words. */
static const char *value_words(const cli_option *o, char *out, size_t size) {
    bool is_list = o->kind == CLI_CHOICE || (o->value && strchr(o->value, '|'));
    snprintf(out, size, "%s", is_list ? o->value : "");
    for (char *c = out; *c; c++) {
        bool is_word = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        if (!is_word && *c != '|' && *c != ',')
            *out = '\0';
        if (!is_word)
            *c = ' ';
    }
    return out;
}

static bool takes_file(const cli_option *o) {
    static const char *const words[] = {"FILE", "FOLDER", "PATH", "LIBRARY"};
    for (size_t i = 0; o->value && i < sizeof words / sizeof *words; i++)
        if (strstr(o->value, words[i]))
            return true;
    return false;
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Text within single quotes, with a backslash before characters that a specification reads. */
static void zsh_text(FILE *out, const char *text, const char *special) {
    for (; *text; text++) {
        if (strchr(special, *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
    }
}

/* One form of an option: 'exclusions --dim=[help]:NAME=SIZE:action'. */
static void zsh_option(FILE *out, const cli_option *o, const char *form) {
    char words[256];
    bool has_value = o->kind != CLI_FLAG && *form;
    fputs(" \\\n        '", out);
    if (o->kind == CLI_TEXTS)
        fputc('*', out);
    else if (o->letter)
        fprintf(out, "(-%c --%s)", o->letter, o->name);
    if (strncmp(form, "-+", 2) == 0)
        fprintf(out, "-%c+", o->letter);
    else if (strcmp(form, "-") == 0)
        fprintf(out, "-%c", o->letter);
    else
        fprintf(out, "--%s%s", o->name, form);
    fputc('[', out);
    zsh_text(out, o->help, "[]:\\");
    fputc(']', out);
    if (has_value && strcmp(form, "-") != 0) {
        fputc(':', out);
        zsh_text(out, o->value, ":\\");
        fputc(':', out);
        if (*value_words(o, words, sizeof words))
            fprintf(out, "(%s)", words);
        else if (takes_file(o))
            fputs("_files", out);
    }
    fputc('\'', out);
}

static void zsh_command(FILE *out, const cli_command *c) {
    fprintf(out, "    %s) _arguments", c->name);
    for (size_t i = 0; i < c->n_options; i++) {
        const cli_option *o = &c->options[i];
        bool has_value = o->kind != CLI_FLAG;
        if (o->kind == CLI_CHOICE || !has_value)
            zsh_option(out, o, "");
        if (has_value)
            zsh_option(out, o, o->kind == CLI_CHOICE ? "=-" : "=");
        if (o->letter)
            zsh_option(out, o, has_value && o->kind != CLI_CHOICE ? "-+" : "-");
    }
    fputs(" \\\n        '(-h --help)'{-h,--help}'[print this help]' '*:file:_files' ;;\n", out);
}

void cli_print_zsh_completion(FILE *out) {
    fputs("#compdef hone\n# zsh completion for hone; made by `hone help --zsh-completion`\n_hone() "
          "{\n"
          "    local -a commands=(",
          out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "\n        '%s:", cli_commands[i]->name);
        zsh_text(out, cli_commands[i]->summary, ":\\");
        fputc('\'', out);
    }
    fputs("\n        'help:print the options of a command')\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        _arguments '(-h --help)'{-h,--help}'[print the commands]' "
          "'(-V --version)'{-V,--version}'[print the version]'\n"
          "        return\n    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n    ((CURRENT--))\n"
          "    case $command in\n    help) _describe command commands ;;\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++)
        zsh_command(out, cli_commands[i]);
    fputs("    esac\n}\n_hone \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void fish_option(FILE *out, const cli_command *c, const cli_option *o) {
    char words[256];
    fprintf(out, "complete -c hone -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    bool has_words = *value_words(o, words, sizeof words) != '\0';
    if (o->kind != CLI_FLAG && o->kind != CLI_CHOICE)
        fputs(takes_file(o) ? " -r" : " -x", out);
    if (has_words)
        fprintf(out, " -a '%s'", words);
    fputs(" -d ", out);
    fish_text(out, o->help);
    fputc('\n', out);
}

void cli_print_fish_completion(FILE *out) {
    fputs("# fish completion for hone; made by `hone help --fish-completion`\n"
          "complete -c hone -n __fish_use_subcommand -f -s h -l help -d 'print the commands'\n"
          "complete -c hone -n __fish_use_subcommand -f -s V -l version -d 'print the version'\n"
          "complete -c hone -n __fish_use_subcommand -f -a help -d 'print the options of a "
          "command'\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++) {
        const cli_command *c = cli_commands[i];
        for (int k = 0; k < 2; k++) {
            fprintf(out, "complete -c hone -n %s -f -a %s -d ",
                    k ? "'__fish_seen_subcommand_from help'" : "__fish_use_subcommand", c->name);
            fish_text(out, c->summary);
            fputc('\n', out);
        }
        fprintf(out,
                "complete -c hone -n '__fish_seen_subcommand_from %s' -s h -l help -d 'print "
                "this help'\n",
                c->name);
        for (size_t k = 0; k < c->n_options; k++)
            fish_option(out, c, &c->options[k]);
    }
}
