/* onnxruntime as a runtime that is measured, through its C interface. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_runtime.h"
#include "bench/ort_library.h"

typedef struct ort_feed {
    uint32_t n;
    const char *const *names;
    ort_handle **values;
} ort_feed;

typedef struct ort_bench {
    bench_session base;
    const ort_api *api;
    ort_handle *memory, *allocator, *options;
    ort_handle **sessions;
    char **output_names;
    ort_handle **outputs; /* n_outputs of each worker */
    ort_feed *feeds;
    uint32_t n_feeds;
} ort_bench;

static const ort_library *ort;
static ort_handle *ort_env;

static ort_bench *ort_bench_of(const bench_session *s) {
    return (ort_bench *)(uintptr_t)s;
}

/* Takes the status over. */
static bool ort_ok(const ort_api *api, ort_status *status, const char *what, hone_error *error) {
    if (!status)
        return true;
    cli_refuse(error, "onnxruntime%s%s: %s", *what ? ": " : "", what, api->error_message(status));
    api->release_status(status);
    return false;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void ort_bench_drop(bench_session *s, uint32_t worker) {
    ort_bench *b = ort_bench_of(s);
    for (uint32_t i = 0; b->outputs && i < s->n_outputs; i++) {
        ort_handle **output = &b->outputs[(size_t)worker * s->n_outputs + i];
        if (*output)
            b->api->release_value(*output);
        *output = NULL;
    }
}

static void unbind_feeds(ort_bench *b) {
    for (uint32_t i = 0; i < b->n_feeds; i++) {
        for (uint32_t k = 0; b->feeds[i].values && k < b->feeds[i].n; k++)
            if (b->feeds[i].values[k])
                b->api->release_value(b->feeds[i].values[k]);
        free(b->feeds[i].values);
    }
    free(b->feeds);
    b->feeds = NULL;
    b->n_feeds = 0;
}

static void free_output_names(ort_bench *b) {
    for (uint32_t i = 0; b->output_names && i < b->base.n_outputs; i++)
        if (b->output_names[i])
            ort_ok(b->api, b->api->allocator_free(b->allocator, b->output_names[i]), "",
                   &(hone_error){0});
    free(b->output_names);
}

static void ort_bench_close(bench_session *s) {
    ort_bench *b = ort_bench_of(s);
    for (uint32_t i = 0; i < s->n_workers; i++)
        ort_bench_drop(s, i);
    unbind_feeds(b);
    free_output_names(b);
    for (uint32_t i = 0; b->sessions && i < s->n_workers; i++)
        if (b->sessions[i])
            b->api->release_session(b->sessions[i]);
    if (b->options)
        b->api->release_options(b->options);
    if (b->memory)
        b->api->release_memory(b->memory);
    free(b->sessions);
    free(b->outputs);
    free(b);
}

/* --dim NAME=SIZE, so that both runtimes know the same of the model. */
static bool fix_ort_dims(const ort_bench *b, const bench_options *o, hone_error *error) {
    char name[256];
    for (size_t i = 0; i < o->model.dims.n; i++) {
        const char *text = o->model.dims.at[i], *equals = strrchr(text, '=');
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - text) : 0, text);
        int64_t size = equals ? strtoll(equals + 1, NULL, 10) : 0;
        if (!ort_ok(b->api, b->api->fix_dim(b->options, name, size), text, error))
            return false;
    }
    return true;
}

static bool make_ort_options(ort_bench *b, const bench_options *o, const bench_setup *s,
                             hone_error *error) {
    const ort_api *api = b->api;
    return (ort_env || ort_ok(api, api->create_env(ORT_LOG_ERROR, "hone", &ort_env), "", error)) &&
           ort_ok(api, api->create_cpu_memory(ORT_DEVICE_ALLOCATOR, ORT_MEMORY_DEFAULT, &b->memory),
                  "", error) &&
           ort_ok(api, api->default_allocator(&b->allocator), "", error) &&
           ort_ok(api, api->create_options(&b->options), "", error) &&
           ort_ok(api, api->set_level(b->options, (int)s->level), "", error) &&
           ort_ok(api, api->set_threads(b->options, (int)s->threads), "", error) &&
           fix_ort_dims(b, o, error);
}

/* A model in textual syntax is handed over in its binary form. */
static bool create_from_text(ort_bench *b, const bench_options *o, const bench_setup *s,
                             ort_handle **session, hone_error *error) {
    void *bytes = NULL;
    size_t n = 0;
    hone_model *m = cli_load(s->path, &o->model, false);
    if (!m)
        return cli_refuse(error, "'%s' could not be read", s->path);
    bool ok =
        hone_model_save_buffer(m, &bytes, &n, error) == HONE_OK &&
        ort_ok(b->api, b->api->create_session_of_bytes(ort_env, bytes, n, b->options, session),
               s->path, error);
    hone_buffer_free(m, bytes, n);
    hone_model_free(m);
    return ok;
}

static bool create_ort_sessions(ort_bench *b, const bench_options *o, const bench_setup *s,
                                hone_error *error) {
    b->sessions = calloc(b->base.n_workers, sizeof *b->sessions);
    bool ok = b->sessions ? true : cli_refuse(error, "out of memory");
    for (uint32_t i = 0; ok && i < b->base.n_workers; i++)
        ok = cli_has_suffix(s->path, ".onnxtxt")
                 ? create_from_text(b, o, s, &b->sessions[i], error)
                 : ort_ok(b->api,
                          b->api->create_session(ort_env, s->path, b->options, &b->sessions[i]),
                          s->path, error);
    return ok;
}

static bool read_output_names(ort_bench *b, hone_error *error) {
    size_t n;
    if (!ort_ok(b->api, b->api->n_outputs(b->sessions[0], &n), "", error))
        return false;
    b->output_names = calloc(n + 1, sizeof *b->output_names);
    b->outputs = calloc(n * b->base.n_workers + 1, sizeof *b->outputs);
    if (!b->output_names || !b->outputs)
        return cli_refuse(error, "out of memory");
    b->base.n_outputs = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        if (!ort_ok(b->api,
                    b->api->output_name(b->sessions[0], i, b->allocator, &b->output_names[i]), "",
                    error))
            return false;
    return true;
}

static bool ort_bench_open(const bench_options *o, const bench_setup *s, bench_session **session,
                           bench_costs *costs) {
    hone_error error = {0};
    *session = NULL;
    ort = ort_library_load(o->library, &error);
    ort_bench *b = ort ? calloc(1, sizeof *b) : NULL;
    if (!b) {
        cli_fail("%s", ort ? "out of memory" : error.message);
        return false;
    }
    b->base = (bench_session){.runtime = &bench_onnxruntime, .n_workers = (uint32_t)s->concurrent};
    b->api = &ort->api;
    double start = bench_clock();
    bool ok = make_ort_options(b, o, s, &error) && create_ort_sessions(b, o, s, &error) &&
              read_output_names(b, &error);
    costs->optimize = bench_clock() - start;
    if (ok) {
        *session = &b->base;
    } else {
        cli_fail("%s", error.message);
        ort_bench_close(&b->base);
    }
    return ok;
}

/* ---- inputs, runs, outputs ------------------------------------------------------------------- */

static bool bind_feed(ort_bench *b, const cli_feed *from, ort_feed *to, hone_error *error) {
    char text[256];
    to->names = from->names;
    to->values = calloc((size_t)from->n + 1, sizeof *to->values);
    if (!to->values)
        return cli_refuse(error, "out of memory");
    for (; to->n < from->n; to->n++) {
        hone_tensor_info t;
        if (!hone_value_tensor(from->values[to->n], &t) || !hone_elem_type_bits(t.elem_type))
            return cli_refuse(error,
                              "input '%s' is %s: only tensors of numbers can be handed to "
                              "onnxruntime",
                              from->names[to->n],
                              cli_value_text(from->values[to->n], text, sizeof text));
        if (!ort_ok(b->api,
                    b->api->wrap_tensor(b->memory, (void *)(uintptr_t)t.data, (size_t)t.data_bytes,
                                        t.dims, (size_t)t.rank, t.elem_type, &to->values[to->n]),
                    from->names[to->n], error))
            return false;
    }
    return true;
}

static bool ort_bench_bind(bench_session *s, uint32_t n, const cli_feed *const *feeds) {
    ort_bench *b = ort_bench_of(s);
    hone_error error = {0};
    unbind_feeds(b);
    b->feeds = calloc(n, sizeof *b->feeds);
    bool ok = b->feeds ? true : cli_refuse(&error, "out of memory");
    b->n_feeds = b->feeds ? n : 0;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = bind_feed(b, feeds[i], &b->feeds[i], &error);
    if (!ok)
        cli_fail_error(&error);
    return ok;
}

static bool ort_bench_run(bench_session *s, uint32_t worker, uint32_t feed,
                          const volatile int *interrupted, hone_error *error) {
    ort_bench *b = ort_bench_of(s);
    const ort_feed *f = &b->feeds[feed];
    (void)interrupted;
    return ort_ok(b->api,
                  b->api->run(b->sessions[worker], NULL, f->names,
                              (const ort_handle *const *)f->values, f->n,
                              (const char *const *)b->output_names, s->n_outputs,
                              &b->outputs[(size_t)worker * s->n_outputs]),
                  "", error);
}

static const char *ort_bench_output_name(const bench_session *s, uint32_t i) {
    return ort_bench_of(s)->output_names[i];
}

static hone_value *copy_ort_tensor(const ort_bench *b, ort_handle *value, ort_handle *info,
                                   hone_error *error) {
    const ort_api *api = b->api;
    int elem_type;
    size_t rank;
    int64_t dims[CLI_MAX_RANK];
    void *data;
    hone_value *copy = NULL;
    if (!ort_ok(api, api->info_elem_type(info, &elem_type), "", error) ||
        !ort_ok(api, api->info_rank(info, &rank), "", error) || rank > CLI_MAX_RANK ||
        !ort_ok(api, api->info_dims(info, dims, rank), "", error) ||
        !ort_ok(api, api->tensor_data(value, &data), "", error))
        return NULL;
    if (hone_elem_type_bits(elem_type))
        hone_value_create(elem_type, (int32_t)rank, dims, data, &copy, error);
    else
        cli_refuse(error, "strings are not compared");
    return copy;
}

static hone_value *ort_bench_output(bench_session *s, uint32_t i, hone_error *error) {
    const ort_bench *b = ort_bench_of(s);
    ort_handle *value = b->outputs[i], *info = NULL;
    int is_tensor = 0;
    if (!value || !ort_ok(b->api, b->api->is_tensor(value, &is_tensor), "", error) || !is_tensor ||
        !ort_ok(b->api, b->api->tensor_info(value, &info), "", error))
        return NULL;
    hone_value *copy = copy_ort_tensor(b, value, info, error);
    b->api->release_info(info);
    return copy;
}

static void ort_bench_first_costs(bench_session *s, bench_costs *costs) {
    (void)s;
    (void)costs; /* it does not tell them apart */
}

static const char *ort_bench_version(void) {
    return ort ? ort->version : "";
}

const bench_runtime bench_onnxruntime = {
    .name = "onnxruntime",
    .version = ort_bench_version,
    .open = ort_bench_open,
    .bind = ort_bench_bind,
    .run = ort_bench_run,
    .drop = ort_bench_drop,
    .output_name = ort_bench_output_name,
    .output = ort_bench_output,
    .first_costs = ort_bench_first_costs,
    .close = ort_bench_close,
};
