/* Accuracy beside speed: right answers on a dataset, and differences to a reference model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_runtime.h"
#include "commands/run_report.h"

enum { DEFAULT_TOP = 5, MOST_TOP_ANSWERS = 100 };

/* ---- right answers --------------------------------------------------------------------------- */

static void count_answers(const hone_value *output, const cli_dataset_batch *b, uint64_t length,
                          bench_accuracy *a) {
    cli_rank ranks[MOST_TOP_ANSWERS];
    for (size_t i = 0; i < b->n; i++) {
        uint64_t n = cli_top(output, i * length, length, a->top, ranks);
        a->n_samples++;
        a->n_labelled += b->labels[i] >= 0;
        a->n_first += n > 0 && b->labels[i] == (int64_t)ranks[0].index;
        for (uint64_t k = 0; k < n; k++)
            a->n_near += b->labels[i] == (int64_t)ranks[k].index;
    }
}

static bool answer_bench_batch(const bench_cases *cases, bench_case *c, const cli_feed *others,
                               const cli_dataset_batch *b, hone_error *error) {
    uint32_t n = others->n + b->n_inputs;
    cli_feed feed = {.names = calloc((size_t)n + 1, sizeof *feed.names),
                     .values = calloc((size_t)n + 1, sizeof *feed.values)};
    const cli_feed *feeds[] = {&feed};
    bench_session *s = c->session;
    bool ok = feed.names && feed.values ? true : cli_refuse(error, "out of memory");
    for (; ok && feed.n < n; feed.n++) {
        bool is_other = feed.n < others->n;
        feed.names[feed.n] = is_other ? others->names[feed.n] : b->inputs[feed.n - others->n];
        feed.values[feed.n] = is_other ? others->values[feed.n] : b->values[feed.n - others->n];
    }
    ok = ok && s->runtime->bind(s, 1, feeds) && s->runtime->run(s, 0, 0, cases->interrupted, error);
    hone_value *output = ok ? s->runtime->output(s, 0, error) : NULL;
    uint64_t length;
    ok = output && cli_dataset_class_rows(output, b, &length, error);
    if (ok)
        count_answers(output, b, length, &c->accuracy);
    hone_value_free(output);
    s->runtime->drop(s, 0);
    free(feed.names);
    free(feed.values);
    return ok;
}

/* Inputs that the dataset does not provide come first in the feed of a case. */
static cli_feed feed_of_others(const bench_case *c, const cli_dataset *d) {
    cli_feed others = c->inputs[0].feed;
    uint32_t n;
    cli_dataset_inputs(d, &n);
    others.n -= n;
    return others;
}

static bool answer_dataset(const bench_cases *cases, bench_case *c, cli_dataset *d,
                           cli_progress *progress, hone_error *error) {
    cli_feed others = feed_of_others(c, d);
    bool ok = true;
    for (uint64_t first = 0; ok;) {
        cli_dataset_batch b = {0};
        ok = cli_dataset_batch_read(d, first, &b, error) &&
             !cli_progress_step(progress, first, cli_dataset_size(d));
        size_t n = b.n;
        ok = ok && (n == 0 || answer_bench_batch(cases, c, &others, &b, error));
        first += n;
        cli_dataset_batch_free(&b);
        if (n == 0)
            break;
    }
    return ok;
}

static bool measure_accuracy_of(const bench_cases *cases, bench_case *c, const run_labels *labels) {
    const bench_options *o = cases->options;
    cli_dataset_options data = o->data;
    cli_dataset *d = NULL;
    hone_error error = {0};
    cli_progress progress;
    data.image = o->input.image;
    data.batch = c->setup.batch;
    data.classes = &labels->lines;
    uint64_t top = o->top ? o->top : DEFAULT_TOP;
    c->accuracy.top = top < MOST_TOP_ANSWERS ? top : MOST_TOP_ANSWERS;
    cli_progress_begin(&progress, "accuracy", "samples");
    bool ok = cli_dataset_open(c->inputs[0].model, &data, &d, &error) &&
              answer_dataset(cases, c, d, &progress, &error);
    cli_progress_end(&progress);
    cli_dataset_close(d);
    if (!ok && !*cases->interrupted)
        cli_fail_error(&error);
    return ok;
}

/* The answers depend neither on threads nor on the batch. */
static const bench_case *same_answers(const bench_cases *cases, const bench_case *c) {
    for (const bench_case *e = cases->at; e < c; e++)
        if (strcmp(e->setup.path, c->setup.path) == 0 && e->setup.runtime == c->setup.runtime &&
            e->setup.level == c->setup.level)
            return e;
    return NULL;
}

bool bench_measure_accuracy(bench_cases *cases) {
    run_labels labels = {0};
    hone_error error = {0};
    if (!cases->options->data.source)
        return true;
    bool ok = !cases->options->labels || run_labels_read(cases->options->labels, &labels, &error);
    if (!ok)
        cli_fail_error(&error);
    for (size_t i = 0; ok && i < cases->n; i++) {
        bench_case *c = &cases->at[i];
        const bench_case *same = same_answers(cases, c);
        if (same)
            c->accuracy = same->accuracy;
        else
            ok = measure_accuracy_of(cases, c, &labels);
    }
    run_labels_free(&labels);
    return ok;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* By name, else by position where both have as many; HONE_NONE: there is none. */
static uint32_t matching_output(const bench_session *reference, const bench_session *s,
                                uint32_t i) {
    const char *name = s->runtime->output_name(s, i);
    for (uint32_t k = 0; k < reference->n_outputs; k++)
        if (strcmp(reference->runtime->output_name(reference, k), name) == 0)
            return k;
    return s->n_outputs == reference->n_outputs ? i : HONE_NONE;
}

static void compare_output(bench_session *reference, bench_session *s, uint32_t i,
                           bench_difference *d) {
    static const cli_tolerance tolerance = {.of_largest = 1e-4, .any_float = true};
    cli_comparison c;
    hone_error error;
    uint32_t k = matching_output(reference, s, i);
    hone_value *wanted = k == HONE_NONE ? NULL : reference->runtime->output(reference, k, &error);
    hone_value *value = s->runtime->output(s, i, &error);
    if (wanted && value) {
        cli_compare(wanted, value, &tolerance, &c);
        bool is_first = d->n_outputs == 0;
        if (c.has_numbers) {
            d->n_outputs++;
            d->max_abs = is_first ? c.max_abs : fmax(d->max_abs, c.max_abs);
            d->max_rel = is_first ? c.max_rel : fmax(d->max_rel, c.max_rel);
            d->cosine = is_first ? c.cosine : fmin(d->cosine, c.cosine);
            d->sqnr_db = is_first ? c.sqnr_db : fmin(d->sqnr_db, c.sqnr_db);
        }
    }
    hone_value_free(wanted);
    hone_value_free(value);
}

static bool run_for_outputs(const bench_cases *cases, bench_session *s, const cli_feed *feed,
                            hone_error *error) {
    return s->runtime->bind(s, 1, &feed) && s->runtime->run(s, 0, 0, cases->interrupted, error);
}

static bool measure_difference(const bench_cases *cases, bench_session *reference,
                               const hone_model *model, bench_case *c) {
    cli_feed converted = {0};
    hone_error error = {0};
    const cli_feed *own = &c->inputs[0].feed;
    bool ok = cli_feed_convert(model, own, &converted) &&
              run_for_outputs(cases, reference, &converted, &error) &&
              run_for_outputs(cases, c->session, own, &error);
    for (uint32_t i = 0; ok && i < c->session->n_outputs; i++)
        compare_output(reference, c->session, i, &c->difference);
    reference->runtime->drop(reference, 0);
    c->session->runtime->drop(c->session, 0);
    bool is_bound = bench_bind_case(c);
    cli_feed_free_converted(&converted, own);
    if (!ok && cases->options->reference && !*cases->interrupted)
        cli_fail("--reference '%s', on the inputs of '%s': %s", cases->reference, c->setup.path,
                 error.message);
    return is_bound && (ok || !cases->options->reference);
}

/* Against --reference, or the first model where there are several models or runtimes; then models
 * whose inputs are others are not compared. */
bool bench_measure_differences(bench_cases *cases) {
    const bench_options *o = cases->options;
    bool has_others = bench_varies(cases, BENCH_MODEL) || bench_varies(cases, BENCH_RUNTIME) ||
                      bench_varies(cases, BENCH_LEVEL);
    if (!o->reference && !has_others)
        return true;
    bench_setup setup = {.path = o->reference ? o->reference : cases->at[0].setup.path,
                         .runtime = &bench_hone,
                         .level = HONE_LEVEL_ALL,
                         .concurrent = 1};
    bench_session *reference = NULL;
    bench_costs unused;
    cases->reference = setup.path;
    hone_model *model = cli_load(setup.path, &o->model, true);
    bool ok = model && setup.runtime->open(o, &setup, &reference, &unused);
    for (size_t i = 0; ok && i < cases->n; i++)
        ok = measure_difference(cases, reference, model, &cases->at[i]);
    ok = ok && !*cases->interrupted;
    if (reference)
        setup.runtime->close(reference);
    hone_model_free(model);
    return ok;
}
