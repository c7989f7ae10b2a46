/* Tables that fit the terminal width. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 16
#define MIN_FLEXIBLE 12 /* a flexible column never gets narrower */

void cli_table_begin(cli_table *t, size_t n_columns, const char *const *headings,
                     const char *align) {
    *t = (cli_table){.n_columns = n_columns, .headings = headings, .align = align};
}

void cli_table_add(cli_table *t, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (t->n_cells == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        char **grown = realloc(t->cells, cap * sizeof *grown);
        if (!grown)
            return;
        t->cells = grown;
        t->cap = cap;
    }
    char *copy = cli_plain(text);
    if (copy)
        t->cells[t->n_cells++] = copy;
}

/* Counts the columns of a UTF-8 text, one per character. */
static int text_width(const char *s) {
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* First byte of character number k. */
static const char *at_char(const char *s, int k) {
    while (*s && k > 0) {
        s++;
        k -= ((unsigned char)*s & 0xc0) != 0x80;
    }
    return s;
}

static void print_cell(const char *text, int width, char align, bool is_last) {
    int n = text_width(text);
    if (n > width) { /* keep both ends, because names differ at either */
        int head = (width - 1) / 2, tail = width - 1 - head;
        const char *cut = at_char(text, head);
        printf("%.*s…%s", (int)(cut - text), text, at_char(text, n - tail));
        n = width;
    } else if (align == 'r') {
        printf("%*s%s", width - n, "", text);
    } else {
        printf("%s", text);
    }
    if (!is_last)
        printf("%*s", (align == 'r' ? 0 : width - n) + 2, "");
}

static void fit_columns(const cli_table *t, int *width) {
    int total = 2 * (int)(t->n_columns - 1) + 2;
    for (size_t c = 0; c < t->n_columns; c++) {
        width[c] = text_width(t->headings[c]);
        for (size_t i = c; i < t->n_cells; i += t->n_columns) {
            int w = text_width(t->cells[i]);
            width[c] = w > width[c] ? w : width[c];
        }
        total += width[c];
    }
    for (int excess = total - cli_width(); excess > 0;) {
        size_t widest = t->n_columns;
        for (size_t c = 0; c < t->n_columns; c++)
            if (t->align[c] == 'L' && width[c] > MIN_FLEXIBLE &&
                (widest == t->n_columns || width[c] > width[widest]))
                widest = c;
        if (widest == t->n_columns)
            return;
        width[widest]--;
        excess--;
    }
}

void cli_table_free(cli_table *t) {
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->n_cells = t->cap = 0;
}

void cli_table_print(cli_table *t) {
    int width[MAX_COLUMNS];
    fit_columns(t, width);
    bool has_headings = false;
    for (size_t c = 0; c < t->n_columns; c++)
        has_headings |= *t->headings[c] != '\0';
    if (has_headings) {
        printf("  %s", cli_begin(stdout, CLI_DIM));
        for (size_t c = 0; c < t->n_columns; c++)
            print_cell(t->headings[c], width[c], t->align[c], c + 1 == t->n_columns);
        printf("%s\n", cli_end(stdout));
    }
    for (size_t i = 0; i + t->n_columns <= t->n_cells; i += t->n_columns) {
        printf("  ");
        for (size_t c = 0; c < t->n_columns; c++)
            print_cell(t->cells[i + c], width[c], t->align[c], c + 1 == t->n_columns);
        putchar('\n');
    }
    cli_table_free(t);
}
