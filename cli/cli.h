/* The hone command: shared declarations. One file per command; all access to the library is through
 * hone.h. */
#ifndef HONE_CLI_H
#define HONE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hone/hone.h"

/* ---- exit status ----------------------------------------------------------------------------- */

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Prints "hone: sentence" to stderr, coloured on a terminal; returns EXIT_FAILED. */
int cli_fail(const char *fmt, ...);
/* Prints the message of an error record; returns EXIT_FAILED. */
int cli_fail_error(const hone_error *error);

/* The nearest of the words that were shown to it. */
typedef struct cli_suggestion {
    const char *word; /* what was written */
    size_t n;         /* its characters that count */
    const char *best; /* NULL: nothing comes near */
    size_t distance;
    char text[128];
} cli_suggestion;
void cli_suggest(cli_suggestion *s, const char *known);
/* "; did you mean '--level'?", or ";". */
const char *cli_suggestion_text(cli_suggestion *s, const char *dashes);

/* ---- options --------------------------------------------------------------------------------- */

typedef struct cli_list {
    const char **at;
    size_t n;
} cli_list;

typedef enum cli_kind {
    CLI_FLAG,   /* bool */
    CLI_TEXT,   /* const char *, NULL when absent */
    CLI_CHOICE, /* like TEXT; the value is optional: --strip or --strip=docs. "" when given without
                   one */
    CLI_TEXTS,  /* cli_list: may be repeated */
    CLI_SIZE,   /* uint64_t; accepts k, M, G suffixes */
    CLI_COUNT,  /* uint64_t that fits into an int */
    CLI_SECONDS /* double */
} cli_kind;

typedef struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0 when there is no short form */
    cli_kind kind;
    size_t offset;     /* into the command's options struct */
    const char *value; /* placeholder in the help: "FILE" */
    const char *help;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* "MODEL..." */
    const char *summary;   /* one line */
    const char *details;   /* paragraph, may be NULL */
    const cli_option *options;
    size_t n_options;
    const char *const *examples; /* "command line|description", NULL-terminated */
    int (*run)(const struct cli_command *self, int argc, char **argv);
} cli_command;

#define COMMAND(name) extern const cli_command cli_command_##name;
#include "commands.def"
#undef COMMAND
extern const cli_command *const cli_commands[]; /* NULL-terminated */

/* Fills the options struct and the list of other arguments. Returns EXIT_OK, -1 after printing
 * help, or the exit status of a usage error that was reported. */
int cli_parse(const cli_command *c, int argc, char **argv, void *options, cli_list *arguments);
void cli_list_free(cli_list *list);

/* ---- help ------------------------------------------------------------------------------------ */

void cli_help_overview(FILE *out);
void cli_help_command(const cli_command *c, FILE *out);
void cli_print_man(FILE *out);
void cli_print_bash_completion(FILE *out);
void cli_print_zsh_completion(FILE *out);
void cli_print_fish_completion(FILE *out);

/* ---- terminal -------------------------------------------------------------------------------- */

typedef enum cli_style {
    CLI_PLAIN,
    CLI_BOLD,
    CLI_DIM,
    CLI_RED,
    CLI_YELLOW,
    CLI_GREEN,
    CLI_CYAN
} cli_style;
bool cli_is_terminal(FILE *f);
int cli_width(void); /* columns to use: the terminal's, or a generous number when output is piped */
/* Escape sequence when `f` is a terminal with colours (NO_COLOR, TERM=dumb), else "". */
const char *cli_begin(FILE *f, cli_style style);
const char *cli_end(FILE *f);
bool cli_write_stdout(void *ctx, const char *text, size_t n_bytes); /* a hone_write_fn */
void cli_heading(const char *text);
/* Names come from files of strangers: escape sequences and other control characters in them are
 * shown as text, "\\x1b", and never reach the terminal. */
void cli_put(FILE *out, const char *text);
void cli_line(const char *fmt, ...); /* the same for a line of stdout */
char *cli_plain(const char *text);   /* in memory that the caller frees; NULL: out of memory */

/* "12,345,678", "1.23 M", "12.3 MB"; `out` has 32 bytes, so that there are no static buffers. */
const char *cli_count(char out[32], uint64_t n);
const char *cli_amount(char out[32], uint64_t n);
const char *cli_bytes(char out[32], uint64_t n);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Collects cells, then prints columns that fit the terminal: the widest flexible column is
 * shortened, with "…" in the middle. */
typedef struct cli_table {
    size_t n_columns;
    const char *const *headings;
    const char *align; /* one letter per column: l left, r right, L left and flexible */
    char **cells;
    size_t n_cells, cap;
} cli_table;
void cli_table_begin(cli_table *t, size_t n_columns, const char *const *headings,
                     const char *align);
void cli_table_add(cli_table *t, const char *fmt, ...); /* next cell, row by row */
void cli_table_print(cli_table *t);                     /* also frees */
void cli_table_free(cli_table *t);                      /* may be called again */

/* ---- progress -------------------------------------------------------------------------------- */

/* From now on Ctrl-C and SIGTERM set the flag that is returned and make cli_progress_step stop the
 * library; only the second one ends the process at once: whatever writes files can end in order. */
const volatile int *cli_watch_interrupts(void);
bool cli_is_interrupted(void);
void cli_end_interrupted(void); /* ends the process by the signal that has come, if one has */

/* A line on stderr when it is a terminal and the work takes over a second. */
typedef struct cli_progress {
    const char *what; /* "saving" */
    const char *unit; /* "runs"; NULL: bytes */
    double start;
    uint64_t done, total; /* total 0: unknown, only the time is shown */
    bool is_drawn;
} cli_progress;
void cli_progress_begin(cli_progress *p, const char *what, const char *unit);
bool cli_progress_step(void *progress, uint64_t done, uint64_t total); /* a hone_progress_fn */
void cli_progress_clear(void); /* before something else is printed there */
/* Removes the line; may be called again. */
void cli_progress_end(cli_progress *p);

/* ---- plans ----------------------------------------------------------------------------------- */

/* Prints the memory of a run, and with `each_node` the provider of every node. Reports errors. */
int cli_print_plan(const hone_model *m, bool each_node);

/* ---- models ---------------------------------------------------------------------------------- */

typedef struct cli_model_options { /* options that several commands share */
    cli_list dims;                 /* --dim NAME=SIZE */
    cli_list shapes;               /* --shape INPUT=1x3x224x224 */
    cli_list custom_ops;           /* --custom-ops LIBRARY */
    bool copy;                     /* --copy */
} cli_model_options;
#define CLI_CUSTOM_OPS(options)                                                 \
  {                                                                             \
    "custom-ops", 0, CLI_TEXTS, offsetof(options, model.custom_ops), "LIBRARY", \
        "operators of a shared library, see docs/custom-ops.md (repeatable)"    \
  }
#define CLI_COPY(options)                                            \
  {                                                                  \
    "copy", 0, CLI_FLAG, offsetof(options, model.copy), NULL,        \
        "read the model into memory: its files may change meanwhile" \
  }
/* Parses "extended", "2"; NULL leaves the level unchanged. Reports errors: EXIT_FAILED. */
int cli_parse_level(const char *text, hone_level *level);
/* Parses float, float16, bfloat16 as the value of an option. */
int cli_parse_precision(const char *option, const char *text, hone_precision *precision);
void cli_model_options_free(cli_model_options *o);
/* Loads a model with the operators of these libraries. */
hone_status cli_load_model(const char *path, const cli_list *custom_ops, bool skip_external_data,
                           bool copy_files, hone_model **model, hone_error *error);
/* Loads a model and applies --dim and --shape. Reports errors and returns NULL. */
hone_model *cli_load(const char *path, const cli_model_options *o, bool skip_external_data);
/* What --dim NAME=SIZE and --shape INPUT=SIZES do to a model, for the option that is named. Report
 * errors: EXIT_FAILED. */
int cli_fix_dim(hone_model *m, const char *option, const char *text);
int cli_fix_shape(hone_model *m, const char *option, const char *text);
typedef struct cli_save_options { /* where and how a model is written */
    const char *output, *external, *external_file;
    uint64_t threshold, alignment;
} cli_save_options;
/* clang-format off */
#define CLI_SAVE_OPTIONS(options)                                                                  \
    {"output", 'o', CLI_TEXT, offsetof(options, save.output), "FILE",                              \
     "where to write; .onnxtxt writes the textual syntax"},                                        \
    {"external-data", 'x', CLI_CHOICE, offsetof(options, save.external), "always|never|keep",      \
     "tensors in a data file beside the model (alone: always)"},                                   \
    {"external-file", 0, CLI_TEXT, offsetof(options, save.external_file), "NAME",                  \
     "name of the data file (default: FILE.data)"},                                                \
    {"external-threshold", 0, CLI_SIZE, offsetof(options, save.threshold), "BYTES",                \
     "smallest tensor that goes out (default 1024)"},                                              \
    {"external-alignment", 0, CLI_SIZE, offsetof(options, save.alignment), "BYTES",                \
     "alignment in the data file (default 4096)"}
/* clang-format on */
/* Writes a model with a progress bar; reports errors. Returns the exit status. */
int cli_save_model(const hone_model *m, const cli_save_options *o);

/* Returns "float[batch,3]" in memory that the caller frees. */
char *cli_type_text(const hone_graph *g, uint32_t value);

#endif /* HONE_CLI_H */
