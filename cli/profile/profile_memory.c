/* Memory over the steps of a run: a graph of live bytes, and what makes the peak. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { GRAPH_COLUMNS = 60, GRAPH_ROWS = 6 };

static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/* The most of the steps that share a column. */
static uint64_t bytes_of_column(const profile *p, uint32_t column, uint32_t n_columns) {
    uint32_t begin = (uint32_t)((uint64_t)column * p->n_steps / n_columns);
    uint32_t end = (uint32_t)((uint64_t)(column + 1) * p->n_steps / n_columns);
    uint64_t most = 0;
    for (uint32_t i = begin; i < end || i == begin; i++)
        most = p->step_bytes[i] > most ? p->step_bytes[i] : most;
    return most;
}

static void print_memory_graph(const profile *p) {
    uint32_t n_columns = p->n_steps < GRAPH_COLUMNS ? p->n_steps : GRAPH_COLUMNS;
    char peak[32];
    for (int row = GRAPH_ROWS - 1; row >= 0; row--) {
        printf("  %10s ", row == GRAPH_ROWS - 1 ? cli_bytes(peak, p->peak_bytes) : row ? "" : "0");
        for (uint32_t i = 0; i < n_columns; i++) {
            double height = (double)bytes_of_column(p, i, n_columns) / (double)p->peak_bytes *
                                (8 * GRAPH_ROWS) -
                            8 * row;
            fputs(eighths[height < 0 ? 0 : height > 8 ? 8 : (int)height], stdout);
        }
        putchar('\n');
    }
}

static int larger_live_first(const void *a, const void *b) {
    const profile_value *x = a, *y = b;
    return x->bytes != y->bytes    ? (x->bytes < y->bytes ? 1 : -1)
           : x->offset < y->offset ? -1
                                   : x->offset > y->offset;
}

static void print_peak_values(const profile *p, uint64_t n_shown) {
    static const char *const heads[] = {"tensor at the peak", "bytes", "live from", "to"};
    profile_value *live = calloc((size_t)p->n_values + 1, sizeof *live);
    cli_table table;
    uint32_t n = 0;
    char bytes[32];
    for (uint32_t i = 0; live && i < p->n_values; i++)
        if (p->values[i].first <= p->peak_step && p->peak_step <= p->values[i].last)
            live[n++] = p->values[i];
    if (live && n)
        qsort(live, n, sizeof *live, larger_live_first);
    cli_table_begin(&table, 4, heads, "LrLL");
    for (uint32_t i = 0; i < n && i < n_shown; i++) {
        cli_table_add(&table, "%s", live[i].name);
        cli_table_add(&table, "%s", cli_bytes(bytes, live[i].bytes));
        cli_table_add(&table, "%s", p->step_names[live[i].first]);
        cli_table_add(&table, "%s", p->step_names[live[i].last]);
    }
    if (n)
        cli_table_print(&table);
    else
        cli_table_free(&table);
    free(live);
}

void profile_print_memory(const profile *p, uint64_t n_shown) {
    char bytes[32];
    if (p->n_steps == 0 || p->peak_bytes == 0)
        return;
    cli_heading("Memory over the run");
    print_memory_graph(p);
    cli_line("  peak %s at step %u of %u, %s", cli_bytes(bytes, p->peak_bytes), p->peak_step + 1,
             p->n_steps, p->step_names[p->peak_step]);
    print_peak_values(p, n_shown);
}
