/* Prints the report of `hone run`: tables for people, JSON for programs. */
#include "commands/run_report.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TOP_ROWS 16 /* rows of an output whose largest elements are shown */

bool run_labels_read(const char *path, run_labels *labels, hone_error *error) {
    *labels = (run_labels){0};
    if (!cli_file_read(path, &labels->text, error))
        return false;
    cli_buffer_add(&labels->text, "", 1);
    size_t n_lines = 1;
    for (size_t i = 0; i < labels->text.n; i++)
        n_lines += labels->text.at[i] == '\n';
    labels->lines.at = malloc(n_lines * sizeof *labels->lines.at);
    if (labels->text.failed || !labels->lines.at)
        return cli_refuse(error, "'%s': out of memory", path);
    for (char *line = (char *)labels->text.at; *line;) {
        size_t n = strcspn(line, "\r\n");
        char *next = line + n + strspn(line + n, "\r\n");
        line[n] = '\0';
        labels->lines.at[labels->lines.n++] = line;
        line = next;
    }
    return true;
}

void run_labels_free(run_labels *labels) {
    cli_list_free(&labels->lines);
    cli_buffer_free(&labels->text);
}

static const char *label_of(const run_results *r, uint64_t index) {
    return index < r->labels->lines.n ? r->labels->lines.at[index] : "";
}

/* The last dimension is a row of classes. */
static uint64_t row_length(const hone_tensor_info *t) {
    return t->rank > 0 ? (uint64_t)t->dims[t->rank - 1] : 1;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_inputs(const run_results *r) {
    static const char *const headings[] = {"", ""};
    cli_table table;
    char text[256];
    printf("%s%s%s\n", cli_begin(stdout, CLI_BOLD), r->model, cli_end(stdout));
    cli_heading("Inputs");
    cli_table_begin(&table, 2, headings, "LL");
    for (uint32_t i = 0; i < r->inputs->n; i++) {
        cli_table_add(&table, "%s", r->inputs->names[i]);
        cli_table_add(&table, "%s", cli_value_text(r->inputs->values[i], text, sizeof text));
    }
    cli_table_print(&table);
}

static void print_outputs(const run_results *r) {
    static const char *const headings[] = {"name", "type", "min", "max", "mean", "NaN", "Inf"};
    cli_table table;
    cli_summary s;
    char text[256], count[32];
    cli_heading("Outputs");
    cli_table_begin(&table, 7, headings, "LLrrrrr");
    for (uint32_t i = 0; i < r->n_outputs; i++) {
        bool has_numbers = cli_summarize(r->values[i], &s);
        cli_table_add(&table, "%s", r->names[i]);
        cli_table_add(&table, "%s", cli_value_text(r->values[i], text, sizeof text));
        cli_table_add(&table, has_numbers ? "%.6g" : "", s.min);
        cli_table_add(&table, has_numbers ? "%.6g" : "", s.max);
        cli_table_add(&table, has_numbers ? "%.6g" : "", s.mean);
        cli_table_add(&table, "%s", has_numbers ? cli_count(count, s.n_nan) : "");
        cli_table_add(&table, "%s", has_numbers ? cli_count(count, s.n_inf) : "");
    }
    cli_table_print(&table);
}

static void print_top(const run_results *r, const char *name, const hone_value *v,
                      cli_rank *ranks) {
    static const char *const headings[] = {"row", "class", "value", "label"};
    hone_tensor_info t;
    if (!hone_value_tensor(v, &t) || !hone_elem_type_bits(t.elem_type) || !t.n_elements)
        return;
    uint64_t length = row_length(&t), n_rows = t.n_elements / length;
    cli_table table;
    char title[256];
    snprintf(title, sizeof title, "Largest of %s", name);
    cli_heading(title);
    cli_table_begin(&table, 4, headings, "rrrL");
    for (uint64_t row = 0; row < n_rows && row < MAX_TOP_ROWS; row++) {
        uint64_t n = cli_top(v, row * length, length, r->top, ranks);
        for (uint64_t i = 0; i < n; i++) {
            cli_table_add(&table, "%llu", (unsigned long long)row);
            cli_table_add(&table, "%llu", (unsigned long long)ranks[i].index);
            cli_table_add(&table, "%.6g", ranks[i].value);
            cli_table_add(&table, "%s", label_of(r, ranks[i].index));
        }
    }
    cli_table_print(&table);
    if (n_rows > MAX_TOP_ROWS)
        printf("  and %llu more rows\n", (unsigned long long)(n_rows - MAX_TOP_ROWS));
}

typedef struct run_times {
    double min, median, p95;
} run_times;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static run_times measure_times(const run_results *r) {
    double *sorted = malloc((r->n_runs + 1) * sizeof *sorted);
    run_times times = {r->first_seconds, r->first_seconds, r->first_seconds};
    if (sorted && r->n_runs) {
        memcpy(sorted, r->seconds, r->n_runs * sizeof *sorted);
        qsort(sorted, r->n_runs, sizeof *sorted, by_size);
        times = (run_times){sorted[0], sorted[r->n_runs / 2], sorted[r->n_runs * 95 / 100]};
    }
    free(sorted);
    return times;
}

static void print_times(const run_results *r) {
    run_times t = measure_times(r);
    char bytes[32];
    printf("\n%sfirst run %.3f ms", cli_begin(stdout, CLI_DIM), 1e3 * r->first_seconds);
    if (r->n_runs)
        printf(", then %zu: min %.3f ms, median %.3f ms, p95 %.3f ms", r->n_runs, 1e3 * t.min,
               1e3 * t.median, 1e3 * t.p95);
    if (r->planned_bytes != UINT64_MAX)
        printf("; %s for intermediate values", cli_bytes(bytes, r->planned_bytes));
    printf("%s\n", cli_end(stdout));
}

static size_t n_profiled(const run_results *r) {
    return r->n_runs ? r->n_runs : 1;
}

void run_print_tables(const run_results *r) {
    print_inputs(r);
    print_outputs(r);
    cli_rank *ranks = r->top ? malloc((size_t)r->top * sizeof *ranks) : NULL;
    for (uint32_t i = 0; ranks && i < r->n_outputs; i++)
        print_top(r, r->names[i], r->values[i], ranks);
    free(ranks);
    if (r->profile.n_nodes)
        run_profile_print(&r->profile, n_profiled(r));
    print_times(r);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_named_value(cli_buffer *out, const char *name, const hone_value *v) {
    char text[256];
    cli_buffer_printf(out, "{\"name\": ");
    cli_json_string(out, name, strlen(name));
    cli_value_text(v, text, sizeof text);
    cli_buffer_printf(out, ", \"type\": ");
    cli_json_string(out, text, strlen(text));
}

static void add_number(cli_buffer *out, const char *key, double v) {
    cli_buffer_printf(out, ", \"%s\": ", key);
    cli_json_number(out, v, false);
}

static void add_top(cli_buffer *out, const run_results *r, const hone_value *v, cli_rank *ranks) {
    hone_tensor_info t;
    if (!ranks || !hone_value_tensor(v, &t) || !hone_elem_type_bits(t.elem_type) || !t.n_elements)
        return;
    uint64_t length = row_length(&t), n_rows = t.n_elements / length;
    cli_buffer_printf(out, ", \"top\": [");
    for (uint64_t row = 0; row < n_rows; row++) {
        uint64_t n = cli_top(v, row * length, length, r->top, ranks);
        cli_buffer_printf(out, row ? ", [" : "[");
        for (uint64_t i = 0; i < n; i++) {
            const char *label = label_of(r, ranks[i].index);
            cli_buffer_printf(out, "%s{\"class\": %llu", i ? ", " : "",
                              (unsigned long long)ranks[i].index);
            add_number(out, "value", ranks[i].value);
            if (*label) {
                cli_buffer_printf(out, ", \"label\": ");
                cli_json_string(out, label, strlen(label));
            }
            cli_buffer_printf(out, "}");
        }
        cli_buffer_printf(out, "]");
    }
    cli_buffer_printf(out, "]");
}

static void add_output(cli_buffer *out, const run_results *r, uint32_t i, cli_rank *ranks) {
    cli_summary s;
    add_named_value(out, r->names[i], r->values[i]);
    if (cli_summarize(r->values[i], &s)) {
        add_number(out, "min", s.min);
        add_number(out, "max", s.max);
        add_number(out, "mean", s.mean);
        cli_buffer_printf(out, ", \"nan\": %llu, \"inf\": %llu", (unsigned long long)s.n_nan,
                          (unsigned long long)s.n_inf);
    }
    add_top(out, r, r->values[i], ranks);
    cli_buffer_printf(out, "}");
}

void run_print_json(const run_results *r) {
    cli_buffer out = {0};
    run_times t = measure_times(r);
    cli_rank *ranks = r->top ? malloc((size_t)r->top * sizeof *ranks) : NULL;
    cli_buffer_printf(&out, "{\n  \"model\": ");
    cli_json_string(&out, r->model, strlen(r->model));
    cli_buffer_printf(&out, ",\n  \"inputs\": [");
    for (uint32_t i = 0; i < r->inputs->n; i++) {
        cli_buffer_printf(&out, i ? ",\n    " : "\n    ");
        add_named_value(&out, r->inputs->names[i], r->inputs->values[i]);
        cli_buffer_printf(&out, "}");
    }
    cli_buffer_printf(&out, "\n  ],\n  \"outputs\": [");
    for (uint32_t i = 0; i < r->n_outputs; i++) {
        cli_buffer_printf(&out, i ? ",\n    " : "\n    ");
        add_output(&out, r, i, ranks);
    }
    cli_buffer_printf(&out,
                      "\n  ],\n  \"seconds\": {\"first\": %.9g, \"runs\": %zu, \"min\": %.9g, "
                      "\"median\": %.9g, \"p95\": %.9g}",
                      r->first_seconds, r->n_runs, t.min, t.median, t.p95);
    if (r->planned_bytes != UINT64_MAX)
        cli_buffer_printf(&out, ",\n  \"planned_bytes\": %llu",
                          (unsigned long long)r->planned_bytes);
    if (r->profile.n_nodes)
        run_profile_json(&r->profile, n_profiled(r), &out);
    cli_buffer_printf(&out, "\n}\n");
    fwrite(out.at, 1, out.n, stdout);
    free(ranks);
    cli_buffer_free(&out);
}
