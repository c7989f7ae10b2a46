/* The table that people publish, in Markdown: one row per model, a throughput for each batch. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_runtime.h"

enum { PUBLISHED_COLUMNS = 7 + BENCH_MOST_VALUES, CELL_BYTES = 160 };

typedef struct published {
    char (*cells)[CELL_BYTES]; /* row by row; the first row has the headings */
    size_t n_columns, n_rows, n;
} published;

static char *next_cell(published *p) {
    return p->cells[p->n++];
}

static size_t cell_width(const char *text) {
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void put_headings(published *p, const bench_cases *cases) {
    const bench_numbers *batches = &cases->options->batches;
    static const char *const first[] = {"model", "median ms", "P95 ms", "P99 ms"};
    for (size_t i = 0; i < 4; i++)
        snprintf(next_cell(p), CELL_BYTES, "%s", first[i]);
    for (size_t i = 0; i < batches->n; i++)
        snprintf(next_cell(p), CELL_BYTES, "samples/s, batch %llu",
                 (unsigned long long)batches->at[i]);
    snprintf(next_cell(p), CELL_BYTES, "accuracy");
    snprintf(next_cell(p), CELL_BYTES, "size");
}

/* The cases of a row are those of its batches. */
static void put_row(published *p, const bench_cases *cases, const bench_case *c) {
    const bench_numbers *batches = &cases->options->batches;
    const bench_accuracy *a = &c->accuracy;
    char text[32];
    bool has_other = bench_varies(cases, BENCH_RUNTIME);
    bool has_levels = bench_varies(cases, BENCH_LEVEL),
         has_threads = bench_varies(cases, BENCH_THREADS);
    snprintf(text, sizeof text, " threads=%llu", (unsigned long long)c->setup.threads);
    snprintf(next_cell(p), CELL_BYTES, "%.90s%s%s%s%s%s", c->setup.path, has_other ? " " : "",
             has_other ? c->setup.runtime->name : "", has_levels ? " level=" : "",
             has_levels ? bench_level_name(c->setup.level) : "", has_threads ? text : "");
    snprintf(next_cell(p), CELL_BYTES, "%.3f", 1e3 * c->stats.p50);
    snprintf(next_cell(p), CELL_BYTES, "%.3f", 1e3 * c->stats.p95);
    snprintf(next_cell(p), CELL_BYTES, "%.3f", 1e3 * c->stats.p99);
    for (size_t i = 0; i < batches->n; i++)
        snprintf(next_cell(p), CELL_BYTES, "%.1f",
                 bench_throughput(&c[i]) * (double)bench_batch(&c[i]));
    if (a->n_labelled)
        snprintf(next_cell(p), CELL_BYTES, "%.2f %%",
                 100 * (double)a->n_first / (double)a->n_labelled);
    else
        snprintf(next_cell(p), CELL_BYTES, "-");
    snprintf(next_cell(p), CELL_BYTES, "%s", cli_bytes(text, (uint64_t)c->model_bytes));
}

static void print_markdown(const published *p) {
    size_t widths[PUBLISHED_COLUMNS] = {0};
    for (size_t i = 0; i < p->n; i++) {
        size_t w = cell_width(p->cells[i]);
        if (w > widths[i % p->n_columns])
            widths[i % p->n_columns] = w;
    }
    for (size_t row = 0; row < p->n_rows; row++) {
        for (size_t k = 0; k < p->n_columns; k++) {
            const char *cell = p->cells[row * p->n_columns + k];
            int blanks = (int)(widths[k] - cell_width(cell));
            printf("| ");
            printf("%*s", k ? blanks : 0, "");
            cli_put(stdout, cell);
            printf("%*s", k ? 1 : blanks + 1, "");
        }
        printf("|\n");
        for (size_t k = 0; row == 0 && k < p->n_columns; k++) {
            printf("|%s", k ? "" : ":");
            for (size_t i = 0; i <= widths[k]; i++)
                putchar('-');
            printf("%s", k ? ":" : "");
        }
        printf(row == 0 ? "|\n" : "");
    }
}

void bench_print_published(const bench_cases *cases) {
    size_t n_batches = cases->options->batches.n;
    published p = {.n_columns = 6 + n_batches, .n_rows = 1 + cases->n / n_batches};
    p.cells = calloc(p.n_columns * p.n_rows, sizeof *p.cells);
    if (!p.cells) {
        cli_fail("out of memory");
        return;
    }
    put_headings(&p, cases);
    for (size_t i = 0; i < cases->n; i += n_batches)
        put_row(&p, cases, &cases->at[i]);
    print_markdown(&p);
    free(p.cells);
}
