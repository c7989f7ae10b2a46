#include "run_dataset.h"

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

/* Samples of one run, input by input. */
typedef struct sample_batch {
    size_t n, size; /* samples read; samples of a run */
    uint32_t n_inputs;
    hone_value **values; /* of input k: values[k * size] and those after it */
    const cli_expect *expects;
    const char *const *inputs;
} sample_batch;

/* ---- a run ----------------------------------------------------------------------------------- */

static void drop_batch(sample_batch *b) {
    for (size_t i = 0; b->values && i < b->n_inputs * b->size; i++)
        hone_value_free(b->values[i]);
    free(b->values);
    b->values = NULL;
    b->n = 0;
}

static hone_value *copy_value(const hone_value *v, hone_error *error) {
    hone_tensor_info t;
    hone_value *copy = NULL;
    if (hone_value_tensor(v, &t))
        hone_value_create(t.elem_type, t.rank, t.dims, t.data, &copy, error);
    return copy;
}

/* Reads up to `size` samples; the last one is repeated where a model takes more than there are. */
static bool read_batch(const run_dataset *r, dataset_answers *a, sample_batch *b,
                       hone_error *error) {
    cli_sample s;
    uint64_t first = a->n, last = cli_dataset_size(r->dataset) - 1;
    for (size_t i = 0; i < b->size; i++) {
        bool is_new = first + i <= last;
        if (!cli_dataset_read(r->dataset, is_new ? first + i : last, &s, error))
            return false;
        if (!b->values) {
            b->n_inputs = s.n;
            b->inputs = s.inputs;
            b->expects = s.expects;
            b->values = calloc((size_t)s.n * b->size, sizeof *b->values);
        }
        for (uint32_t k = 0; b->values && k < s.n; k++)
            if (!(b->values[k * b->size + i] = copy_value(s.values[k], error)))
                return false;
        if (!is_new)
            continue;
        sample_answer *answer = &a->at[a->n++];
        size_t n_bytes = strlen(s.name) + 1;
        *answer = (sample_answer){.name = malloc(n_bytes), .label = s.label, .class = -1};
        if (!answer->name || !b->values)
            return cli_refuse(error, "out of memory");
        memcpy(answer->name, s.name, n_bytes);
        b->n++;
    }
    return true;
}

static bool run_batch(const run_dataset *r, const sample_batch *b, hone_value **outputs,
                      hone_error *error) {
    uint32_t n = r->others->n + b->n_inputs;
    const char **names = calloc(n, sizeof *names);
    hone_value **values = calloc(n, sizeof *values);
    hone_run_options options;
    hone_run_options_init(&options);
    options.timeout_seconds = r->timeout_seconds;
    bool ok = names && values ? true : cli_refuse(error, "out of memory");
    for (uint32_t i = 0; ok && i < r->others->n; i++) {
        names[i] = r->others->names[i];
        values[i] = r->others->values[i];
    }
    for (uint32_t k = 0; ok && k < b->n_inputs; k++) {
        hone_value *const *samples = &b->values[k * b->size];
        names[r->others->n + k] = b->inputs[k];
        values[r->others->n + k] =
            b->size == 1 ? samples[0] : cli_batch(samples, b->size, &b->expects[k], error);
        ok = values[r->others->n + k] != NULL;
    }
    ok = ok && hone_session_run(r->session, &options, n, names, (const hone_value *const *)values,
                                0, NULL, outputs, error) == HONE_OK;
    for (uint32_t k = 0; values && b->size > 1 && k < b->n_inputs; k++)
        hone_value_free(values[r->others->n + k]);
    free(values);
    free(names);
    return ok;
}

/* The first output has one row of classes per sample. */
static bool take_answers(const hone_value *output, const sample_batch *b, dataset_answers *a,
                         hone_error *error) {
    hone_tensor_info t;
    cli_rank ranks[MOST_TOP];
    char text[256];
    if (!hone_value_tensor(output, &t) || !hone_elem_type_bits(t.elem_type) ||
        t.n_elements < b->size || t.n_elements % b->size)
        return cli_refuse(error, "the first output is %s, which has no classes for each sample",
                          cli_value_text(output, text, sizeof text));
    uint64_t length = t.n_elements / b->size;
    for (size_t i = 0; i < b->n; i++) {
        sample_answer *answer = &a->at[a->n - b->n + i];
        uint64_t n = cli_top(output, i * length, length, a->top, ranks);
        answer->class = (int64_t)ranks[0].index;
        answer->value = ranks[0].value;
        a->n_labelled += answer->label >= 0;
        a->n_first += answer->label == answer->class;
        for (uint64_t k = 0; k < n; k++)
            a->n_near += answer->label == (int64_t)ranks[k].index;
    }
    return true;
}

static bool answer_batch(const run_dataset *r, dataset_answers *a, size_t size, hone_error *error) {
    uint32_t n_outputs = hone_session_n_outputs(r->session);
    hone_value **outputs = calloc((size_t)n_outputs + 1, sizeof *outputs);
    sample_batch b = {.size = size};
    bool ok = outputs ? true : cli_refuse(error, "out of memory");
    ok = ok && read_batch(r, a, &b, error) && run_batch(r, &b, outputs, error) &&
         take_answers(outputs[0], &b, a, error);
    for (uint32_t i = 0; outputs && i < n_outputs; i++)
        hone_value_free(outputs[i]);
    free(outputs);
    drop_batch(&b);
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

/* A model may be made for a batch of a fixed size. */
static bool batch_size(const run_dataset *r, size_t *size, hone_error *error) {
    cli_sample s;
    if (!cli_dataset_read(r->dataset, 0, &s, error))
        return false;
    bool is_fixed = s.expects[0].rank > 0 && s.expects[0].rank != 3 && s.expects[0].dims[0] > 1;
    *size = is_fixed ? (size_t)s.expects[0].dims[0] : 1;
    return true;
}

bool run_dataset_all(const run_dataset *r, hone_error *error) {
    uint64_t n = cli_dataset_size(r->dataset), top = r->top ? r->top : 5;
    dataset_answers a = {.at = calloc((size_t)n, sizeof *a.at),
                         .top = top < MOST_TOP ? top : MOST_TOP};
    size_t size = 1;
    bool ok = a.at ? batch_size(r, &size, error) : cli_refuse(error, "out of memory");
    while (ok && a.n < n) {
        cli_progress_step(r->progress, a.n, n);
        ok = answer_batch(r, &a, size, error);
    }
    cli_progress_end(r->progress);
    if (ok && r->json)
        print_answers_json(r, &a);
    else if (ok)
        print_answers(r, &a);
    for (uint64_t i = 0; a.at && i < a.n; i++)
        free(a.at[i].name);
    free(a.at);
    return ok;
}
