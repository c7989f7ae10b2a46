/* The cases of a command: models, runtimes, levels, threads, sessions and batches, combined. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_runtime.h"

const char *bench_level_name(hone_level level) {
    return level == HONE_LEVEL_NONE       ? "none"
           : level == HONE_LEVEL_BASIC    ? "basic"
           : level == HONE_LEVEL_EXTENDED ? "extended"
                                          : "all";
}

double bench_throughput(const bench_case *c) {
    return c->wall > 0 ? (double)c->series.n / c->wall : 0;
}

uint64_t bench_batch(const bench_case *c) {
    return c->setup.batch ? c->setup.batch : 1;
}

bool bench_varies(const bench_cases *cases, bench_aspect aspect) {
    const bench_setup *first = &cases->at[0].setup;
    for (size_t i = 1; i < cases->n; i++) {
        const bench_setup *s = &cases->at[i].setup;
        bool same = aspect == BENCH_MODEL        ? strcmp(s->path, first->path) == 0
                    : aspect == BENCH_RUNTIME    ? s->runtime == first->runtime
                    : aspect == BENCH_LEVEL      ? s->level == first->level
                    : aspect == BENCH_THREADS    ? s->threads == first->threads
                    : aspect == BENCH_CONCURRENT ? s->concurrent == first->concurrent
                                                 : s->batch == first->batch;
        if (!same)
            return true;
    }
    return false;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool add_case(bench_cases *cases, const bench_setup *s) {
    bench_case *grown = realloc(cases->at, (cases->n + 1) * sizeof *grown);
    if (!grown)
        return cli_fail("out of memory") == EXIT_OK;
    cases->at = grown;
    cases->at[cases->n++] = (bench_case){.setup = *s, .model_bytes = -1};
    return true;
}

/* Concurrent sessions share the processors. */
static uint64_t threads_of(uint64_t asked, uint64_t concurrent) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (asked || concurrent < 2)
        return asked;
    return n > 0 && (uint64_t)n / concurrent > 1 ? (uint64_t)n / concurrent : 1;
}

static bool add_sizes(bench_cases *cases, bench_setup *s, uint64_t threads) {
    const bench_options *o = cases->options;
    bool ok = true;
    for (size_t c = 0; ok && c < o->concurrent.n; c++)
        for (size_t b = 0; ok && b < o->batches.n; b++) {
            s->concurrent = o->concurrent.at[c];
            s->threads = threads_of(threads, s->concurrent);
            s->batch = o->batches.at[b];
            ok = add_case(cases, s);
        }
    return ok;
}

static bool add_model(bench_cases *cases, const char *path) {
    const bench_options *o = cases->options;
    const bench_runtime *const runtimes[] = {&bench_hone, &bench_onnxruntime};
    bool ok = true;
    for (size_t r = 0; ok && r < (o->against ? 2 : 1); r++)
        for (size_t l = 0; ok && l < o->n_levels; l++)
            for (size_t t = 0; ok && t < o->threads.n; t++) {
                bench_setup s = {.path = path, .runtime = runtimes[r], .level = o->levels[l]};
                ok = add_sizes(cases, &s, o->threads.at[t]);
            }
    return ok;
}

static void add_to_label(bench_case *c, const char *text) {
    size_t n = strlen(c->label);
    snprintf(c->label + n, sizeof c->label - n, "%s%s", n ? " " : "", text);
}

static void make_label(const bench_cases *cases, bench_case *c) {
    const bench_setup *s = &c->setup;
    char text[64];
    c->label[0] = '\0';
    if (bench_varies(cases, BENCH_MODEL) || cases->n == 1)
        add_to_label(c, s->path);
    if (bench_varies(cases, BENCH_RUNTIME))
        add_to_label(c, s->runtime->name);
    snprintf(text, sizeof text, "level=%s", bench_level_name(s->level));
    if (bench_varies(cases, BENCH_LEVEL))
        add_to_label(c, text);
    snprintf(text, sizeof text, "threads=%llu", (unsigned long long)s->threads);
    if (bench_varies(cases, BENCH_THREADS))
        add_to_label(c, s->threads ? text : "threads=default");
    snprintf(text, sizeof text, "sessions=%llu", (unsigned long long)s->concurrent);
    if (bench_varies(cases, BENCH_CONCURRENT))
        add_to_label(c, text);
    snprintf(text, sizeof text, "batch=%llu", (unsigned long long)s->batch);
    if (bench_varies(cases, BENCH_BATCH))
        add_to_label(c, text);
}

static bool make_case_inputs(const bench_options *o, bench_case *c) {
    uint32_t n = o->data_shapes.n ? (uint32_t)o->data_shapes.n : 1;
    hone_model_info info;
    c->inputs = calloc(n, sizeof *c->inputs);
    c->by_feed = calloc(n, sizeof *c->by_feed);
    if (!c->inputs || !c->by_feed)
        return cli_fail("out of memory") == EXIT_OK;
    for (; c->n_inputs < n; c->n_inputs++)
        if (!bench_inputs_make(o, &c->setup,
                               o->data_shapes.n ? o->data_shapes.at[c->n_inputs] : NULL,
                               &c->inputs[c->n_inputs]))
            return false;
    hone_model_get_info(c->inputs[0].model, &info);
    c->model_bytes = (int64_t)(info.file_bytes + info.external_bytes);
    return true;
}

bool bench_cases_make(const bench_options *o, const cli_list *models, bench_cases *cases) {
    *cases = (bench_cases){.options = o};
    bool ok = true;
    for (size_t i = 0; ok && i < models->n; i++)
        ok = add_model(cases, models->at[i]);
    for (size_t i = 0; ok && i < cases->n; i++) {
        make_label(cases, &cases->at[i]);
        ok = make_case_inputs(o, &cases->at[i]);
    }
    return ok;
}

bool bench_bind_case(bench_case *c) {
    const cli_feed **feeds = malloc(c->n_inputs * sizeof *feeds);
    if (!feeds)
        return cli_fail("out of memory") == EXIT_OK;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        feeds[i] = &c->inputs[i].feed;
    bool ok = c->session->runtime->bind(c->session, c->n_inputs, feeds);
    free(c->feeds);
    c->feeds = feeds;
    return ok;
}

static void free_case(bench_case *c) {
    if (c->session)
        c->session->runtime->close(c->session);
    for (uint32_t i = 0; i < c->n_inputs; i++)
        bench_inputs_free(&c->inputs[i]);
    free(c->inputs);
    free(c->feeds);
    free(c->by_feed);
    free(c->series.seconds);
    free(c->series.feeds);
    free(c->series.turns);
}

void bench_cases_free(bench_cases *cases) {
    for (size_t i = 0; i < cases->n; i++)
        free_case(&cases->at[i]);
    free(cases->at);
    json_tree_free(&cases->baseline);
    bench_meter_close(&cases->meter);
}
