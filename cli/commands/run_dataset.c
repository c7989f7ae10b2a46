#include "commands/run_dataset.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_MISTAKES = 10, MOST_TOP = 100 }; /* JSON has all answers */

typedef struct sample_answer {
    char *name;
    int64_t label; /* -1: unknown */
    int64_t class;
    double value;
} sample_answer;

typedef struct dataset_answers {
    sample_answer *at;
    uint64_t n, n_labelled, n_first, n_near; /* right at once; among the first `top` */
    uint64_t top;
} dataset_answers;

/* ---- a run ----------------------------------------------------------------------------------- */

static bool run_batch(const run_dataset *r, const cli_dataset_batch *b, hone_value **outputs,
                      hone_error *error) {
    uint32_t n = r->others->n + b->n_inputs;
    const char **names = calloc(n, sizeof *names);
    const hone_value **values = calloc(n, sizeof *values);
    hone_run_options options;
    hone_run_options_init(&options);
    options.timeout_seconds = r->timeout_seconds;
    options.cancel = r->interrupted;
    bool ok = names && values ? true : cli_refuse(error, "out of memory");
    for (uint32_t i = 0; ok && i < n; i++) {
        bool is_other = i < r->others->n;
        names[i] = is_other ? r->others->names[i] : b->inputs[i - r->others->n];
        values[i] = is_other ? r->others->values[i] : b->values[i - r->others->n];
    }
    ok = ok && hone_session_run(r->session, &options, n, names, values, 0, NULL, outputs, error) ==
                   HONE_OK;
    free(values);
    free(names);
    return ok;
}

/* The first output has one row of classes per sample. Takes the names over. */
static bool take_answers(const hone_value *output, cli_dataset_batch *b, dataset_answers *a,
                         hone_error *error) {
    cli_rank ranks[MOST_TOP];
    uint64_t length;
    if (!cli_dataset_class_rows(output, b, &length, error))
        return false;
    for (size_t i = 0; i < b->n; i++) {
        sample_answer *answer = &a->at[a->n++];
        uint64_t n = cli_top(output, i * length, length, a->top, ranks);
        *answer = (sample_answer){.name = b->names[i],
                                  .label = b->labels[i],
                                  .class = (int64_t)ranks[0].index,
                                  .value = ranks[0].value};
        b->names[i] = NULL;
        a->n_labelled += answer->label >= 0;
        a->n_first += answer->label == answer->class;
        for (uint64_t k = 0; k < n; k++)
            a->n_near += answer->label == (int64_t)ranks[k].index;
    }
    return true;
}

static bool answer_batch(const run_dataset *r, dataset_answers *a, bool *has_more,
                         hone_error *error) {
    uint32_t n_outputs = hone_session_n_outputs(r->session);
    hone_value **outputs = calloc((size_t)n_outputs + 1, sizeof *outputs);
    cli_dataset_batch b = {0};
    bool ok = outputs ? cli_dataset_batch_read(r->dataset, a->n, &b, error)
                      : cli_refuse(error, "out of memory");
    *has_more = b.n > 0;
    if (ok && b.n)
        ok = run_batch(r, &b, outputs, error) && take_answers(outputs[0], &b, a, error);
    for (uint32_t i = 0; outputs && i < n_outputs; i++)
        hone_value_free(outputs[i]);
    free(outputs);
    cli_dataset_batch_free(&b);
    return ok;
}

/* ---- report ---------------------------------------------------------------------------------- */

static const char *class_name(const run_dataset *r, int64_t class, char text[32]) {
    if (class >= 0 && (uint64_t) class < r->labels->lines.n)
        return r->labels->lines.at[class];
    snprintf(text, 32, "%lld", (long long)class);
    return text;
}

static double percent_of(uint64_t n, uint64_t total) {
    return total ? 100 * (double)n / (double)total : 0;
}

static void print_answers(const run_dataset *r, const dataset_answers *a) {
    static const char *const headings[] = {"sample", "class", "answer", "value"};
    bool has_labels = a->n_labelled > 0;
    char text[32];
    cli_table table;
    uint64_t n_shown = 0;
    printf("%s%s%s: %llu samples\n", cli_begin(stdout, CLI_BOLD), r->model, cli_end(stdout),
           (unsigned long long)a->n);
    if (has_labels)
        printf("  accuracy %.2f %% (%llu of %llu), among the first %llu %.2f %%\n",
               percent_of(a->n_first, a->n_labelled), (unsigned long long)a->n_first,
               (unsigned long long)a->n_labelled, (unsigned long long)a->top,
               percent_of(a->n_near, a->n_labelled));
    cli_table_begin(&table, 4, headings, "LLLr");
    for (uint64_t i = 0; i < a->n && n_shown < SHOWN_MISTAKES; i++) {
        const sample_answer *s = &a->at[i];
        if (has_labels && s->label == s->class)
            continue;
        cli_table_add(&table, "%s", s->name);
        cli_table_add(&table, "%s", s->label < 0 ? "" : class_name(r, s->label, text));
        cli_table_add(&table, "%s", class_name(r, s->class, text));
        cli_table_add(&table, "%.6g", s->value);
        n_shown++;
    }
    if (n_shown)
        cli_heading(has_labels ? "Mistakes" : "Answers");
    if (n_shown)
        cli_table_print(&table);
    cli_table_free(&table);
    uint64_t n_all = has_labels ? a->n - a->n_first : a->n;
    if (n_shown < n_all)
        printf("  and %llu more; --json lists all\n", (unsigned long long)(n_all - n_shown));
}

static void print_answers_json(const run_dataset *r, const dataset_answers *a) {
    cli_buffer out = {0};
    cli_buffer_printf(&out, "{");
    cli_json_member(&out, "model", r->model);
    cli_buffer_printf(&out, ", \"samples\": %llu, \"labelled\": %llu", (unsigned long long)a->n,
                      (unsigned long long)a->n_labelled);
    if (a->n_labelled)
        cli_buffer_printf(&out, ", \"top1\": %.6g, \"top%llu\": %.6g",
                          percent_of(a->n_first, a->n_labelled) / 100, (unsigned long long)a->top,
                          percent_of(a->n_near, a->n_labelled) / 100);
    if (cli_dataset_n_bad(r->dataset))
        cli_buffer_printf(&out, ", \"left_out\": %llu",
                          (unsigned long long)cli_dataset_n_bad(r->dataset));
    cli_buffer_printf(&out, ", \"answers\": [");
    for (uint64_t i = 0; i < a->n; i++) {
        const sample_answer *s = &a->at[i];
        cli_buffer_printf(&out, "%s\n  {", i ? "," : "");
        cli_json_member(&out, "name", s->name);
        if (s->label >= 0)
            cli_buffer_printf(&out, ", \"label\": %lld", (long long)s->label);
        cli_buffer_printf(&out, ", \"class\": %lld, \"value\": ", (long long)s->class);
        cli_json_number(&out, s->value, false);
        cli_buffer_printf(&out, "}");
    }
    cli_buffer_printf(&out, "\n]}\n");
    fwrite(out.at, 1, out.n, stdout);
    cli_buffer_free(&out);
}

/* ---- all ------------------------------------------------------------------------------------- */

bool run_dataset_all(const run_dataset *r, hone_error *error) {
    uint64_t n = cli_dataset_size(r->dataset), top = r->top ? r->top : 5;
    dataset_answers a = {.at = calloc((size_t)n, sizeof *a.at),
                         .top = top < MOST_TOP ? top : MOST_TOP};
    bool ok = a.at ? true : cli_refuse(error, "out of memory"), has_more = true;
    while (ok && has_more) {
        cli_progress_step(r->progress, a.n, cli_dataset_size(r->dataset));
        ok = answer_batch(r, &a, &has_more, error);
    }
    cli_progress_end(r->progress);
    if (ok)
        cli_dataset_warn_bad(r->dataset);
    if (ok && r->json)
        print_answers_json(r, &a);
    else if (ok)
        print_answers(r, &a);
    for (uint64_t i = 0; a.at && i < a.n; i++)
        free(a.at[i].name);
    free(a.at);
    return ok;
}
