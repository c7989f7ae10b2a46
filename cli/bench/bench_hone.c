/* The runtime that is measured: sessions of this library. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_runtime.h"

typedef struct hone_bench {
    bench_session base;
    hone_model *model;
    hone_session **sessions;
    hone_value **outputs; /* n_outputs of each worker */
    uint32_t n_feeds;
    const cli_feed *const *feeds;
} hone_bench;

static hone_bench *hone_bench_of(const bench_session *s) {
    return (hone_bench *)(uintptr_t)s;
}

static void hone_bench_drop(bench_session *s, uint32_t worker) {
    hone_bench *b = hone_bench_of(s);
    for (uint32_t i = 0; b->outputs && i < s->n_outputs; i++) {
        hone_value **output = &b->outputs[(size_t)worker * s->n_outputs + i];
        hone_value_free(*output);
        *output = NULL;
    }
}

static void hone_bench_close(bench_session *s) {
    hone_bench *b = hone_bench_of(s);
    for (uint32_t i = 0; b && i < s->n_workers; i++) {
        hone_bench_drop(s, i);
        if (b->sessions)
            hone_session_free(b->sessions[i]);
    }
    if (b) {
        hone_model_free(b->model);
        free(b->sessions);
        free(b->outputs);
    }
    free(b);
}

static hone_session_options session_options_of(const bench_options *o, const bench_setup *s) {
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = (int)s->threads;
    options.level = s->level;
    options.cache_dir = o->cache;
    options.kernel_choices = o->kernels;
    options.weights = o->parsed_weights;
    options.compute = o->parsed_compute;
    options.memory_limit_bytes = o->memory;
    options.n_providers = (uint32_t)o->providers.n;
    options.providers = (const char *const *)o->providers.at;
    options.keep_denormals = o->keep_denormals;
    options.decode_image = cli_decode_image;
    return options;
}

static bool create_sessions(hone_bench *b, const bench_options *o, const bench_setup *s) {
    hone_session_options options = session_options_of(o, s);
    hone_error error;
    b->sessions = calloc(b->base.n_workers, sizeof *b->sessions);
    for (uint32_t i = 0; b->sessions && i < b->base.n_workers; i++)
        if (hone_session_create(b->model, &options, &b->sessions[i], &error) != HONE_OK) {
            cli_fail("'%s': %s", s->path, error.message);
            return false;
        }
    if (b->sessions) {
        b->base.n_outputs = hone_session_n_outputs(b->sessions[0]);
        size_t n = (size_t)b->base.n_outputs * b->base.n_workers;
        b->outputs = calloc(n + 1, sizeof *b->outputs);
    }
    return b->outputs ? true : cli_fail("out of memory") == EXIT_OK;
}

static bool hone_bench_open(const bench_options *o, const bench_setup *s, bench_session **session,
                            bench_costs *costs) {
    hone_bench *b = calloc(1, sizeof *b);
    *session = NULL;
    if (!b)
        return cli_fail("out of memory") == EXIT_OK;
    b->base = (bench_session){.runtime = &bench_hone, .n_workers = (uint32_t)s->concurrent};
    double start = bench_clock();
    b->model = cli_load(s->path, &o->model, false);
    double loaded = bench_clock();
    bool ok = b->model && create_sessions(b, o, s);
    costs->load = loaded - start;
    costs->optimize = bench_clock() - loaded;
    if (ok)
        *session = &b->base;
    else
        hone_bench_close(&b->base);
    return ok;
}

static bool hone_bench_bind(bench_session *s, uint32_t n, const cli_feed *const *feeds) {
    hone_bench *b = hone_bench_of(s);
    b->n_feeds = n;
    b->feeds = feeds;
    return true;
}

static bool hone_bench_run(bench_session *s, uint32_t worker, uint32_t feed,
                           const volatile int *interrupted, hone_error *error) {
    hone_bench *b = hone_bench_of(s);
    const cli_feed *f = b->feeds[feed];
    hone_run_options options;
    hone_run_options_init(&options);
    options.cancel = interrupted;
    return hone_session_run(b->sessions[worker], &options, f->n, f->names,
                            (const hone_value *const *)f->values, 0, NULL,
                            &b->outputs[(size_t)worker * s->n_outputs], error) == HONE_OK;
}

static const char *hone_bench_output_name(const bench_session *s, uint32_t i) {
    return hone_session_output_name(hone_bench_of(s)->sessions[0], i);
}

static hone_value *hone_bench_output(bench_session *s, uint32_t i, hone_error *error) {
    (void)error;
    hone_value **at = &hone_bench_of(s)->outputs[i], *output = *at;
    *at = NULL;
    return output;
}

static void hone_bench_first_costs(bench_session *s, bench_costs *costs) {
    hone_bench *b = hone_bench_of(s);
    const cli_feed *f = b->feeds[0];
    hone_session_costs parts;
    hone_error error;
    uint64_t bytes;
    hone_session_get_costs(b->sessions[0], &parts);
    costs->pack = parts.pack_seconds;
    costs->plan = parts.plan_seconds;
    if (hone_session_peak_bytes(b->sessions[0], f->n, f->names,
                                (const hone_value *const *)f->values, &bytes, &error) == HONE_OK)
        costs->planned_bytes = (int64_t)bytes;
}

const bench_runtime bench_hone = {
    .name = "hone",
    .version = hone_version,
    .open = hone_bench_open,
    .bind = hone_bench_bind,
    .run = hone_bench_run,
    .drop = hone_bench_drop,
    .output_name = hone_bench_output_name,
    .output = hone_bench_output,
    .first_costs = hone_bench_first_costs,
    .close = hone_bench_close,
};
