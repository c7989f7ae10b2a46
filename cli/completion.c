/* Generates the completions of shells from the option tables. */
#include "cli.h"

/* ---- bash completion ------------------------------------------------------------------------- */

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
