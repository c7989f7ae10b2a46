/* The inputs of a case: generated or read, in the shapes that were asked for. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_runtime.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static bool has_input(const hone_model *m, const char *name, size_t n) {
    hone_subgraph_info graph;
    hone_value_info info;
    const hone_graph *g = hone_model_graph(m);
    hone_graph_get_subgraph(g, 0, &graph);
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        hone_graph_get_value(g, graph.inputs[i], &info);
        if (strlen(info.name) == n && memcmp(info.name, name, n) == 0)
            return true;
    }
    return false;
}

/* One set of --data-shape: "seq=8,batch=2" or "image=1x3x224x224". */
static bool fix_data_shape(hone_model *m, const char *set) {
    char part[512];
    while (*set) {
        size_t n = strcspn(set, ",");
        const char *equals = memchr(set, '=', n);
        if (n >= sizeof part || !equals) {
            cli_fail("--data-shape %s: write NAME=SIZE or INPUT=1x3x8x8, several with commas", set);
            return false;
        }
        snprintf(part, sizeof part, "%.*s", (int)n, set);
        int status = has_input(m, set, (size_t)(equals - set))
                         ? cli_fix_shape(m, "--data-shape", part)
                         : cli_fix_dim(m, "--data-shape", part);
        if (status != EXIT_OK)
            return false;
        set += n + (set[n] == ',');
    }
    return true;
}

/* The size of the first dimension of one input: its name gets it everywhere. */
static bool fix_first_dim(hone_model *m, const char *path, uint32_t value, uint64_t batch,
                          uint32_t *n_fitting) {
    const hone_graph *g = hone_model_graph(m);
    hone_value_info info;
    hone_error error;
    char name[256], wanted[32];
    int64_t size = 0, dims[CLI_MAX_RANK];
    hone_graph_get_value(g, value, &info);
    if (info.is_initializer || info.rank < 1 || info.rank > CLI_MAX_RANK)
        return true;
    hone_value_dim(g, value, 0, &size, name, sizeof name);
    *n_fitting += size < 0 || (uint64_t)size == batch;
    if (size >= 0)
        return true;
    for (int32_t i = 0; i < info.rank; i++) {
        hone_value_dim(g, value, i, &dims[i], wanted, sizeof wanted);
        dims[i] = i == 0 ? (int64_t)batch : dims[i] < 0 ? 1 : dims[i];
    }
    hone_status status =
        *name ? hone_model_fix_dim(m, name, (int64_t)batch, &error)
              : hone_model_fix_shape(m, info.name, (uint32_t)info.rank, dims, &error);
    if (status != HONE_OK)
        cli_fail("--batch %llu: '%s': %s", (unsigned long long)batch, path, error.message);
    return status == HONE_OK;
}

static bool fix_batch(hone_model *m, const char *path, uint64_t batch) {
    hone_subgraph_info graph;
    uint32_t n_fitting = 0;
    bool ok = true;
    hone_graph_get_subgraph(hone_model_graph(m), 0, &graph);
    uint32_t n = graph.n_inputs, *inputs = malloc((n + 1) * sizeof *inputs);
    if (!inputs)
        return cli_fail("out of memory") == EXIT_OK;
    memcpy(inputs, graph.inputs, n * sizeof *inputs); /* an edit may move the list */
    for (uint32_t i = 0; ok && i < n; i++)
        ok = fix_first_dim(m, path, inputs[i], batch, &n_fitting);
    free(inputs);
    if (ok && !n_fitting) {
        cli_fail("--batch %llu: no input of '%s' has a free first dimension",
                 (unsigned long long)batch, path);
        return false;
    }
    return ok;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Moves the values of the first samples of the dataset into the feed. */
static bool take_samples(const hone_model *m, cli_dataset *d, cli_feed *feed) {
    cli_dataset_batch b = {0};
    hone_error error;
    hone_value_info info;
    const hone_graph *g = hone_model_graph(m);
    bool ok = cli_dataset_batch_read(d, 0, &b, &error);
    if (!ok)
        cli_fail_error(&error);
    for (uint32_t i = 0; ok && i < b.n_inputs; i++) {
        hone_graph_get_value(g, hone_graph_find_value(g, b.inputs[i]), &info);
        feed->names[feed->n] = info.name; /* the model outlives the dataset */
        feed->values[feed->n++] = b.values[i];
        b.values[i] = NULL;
    }
    cli_dataset_batch_free(&b);
    return ok;
}

static bool feed_inputs(const bench_options *o, const bench_setup *s, bench_inputs *in) {
    cli_input_options input = o->input;
    cli_dataset_options data = o->data;
    cli_dataset *dataset = NULL;
    hone_error error;
    data.image = input.image;
    data.batch = s->batch;
    if (!input.random && !input.fill)
        input.random = "0";
    if (data.source && !cli_dataset_open(in->model, &data, &dataset, &error)) {
        cli_fail_error(&error);
        return false;
    }
    if (dataset) {
        uint32_t n;
        const char *const *names = cli_dataset_inputs(dataset, &n);
        input.provided = (cli_list){(const char **)(uintptr_t)names, n};
    }
    bool ok = cli_feed_make(in->model, &input, &in->feed) &&
              (!dataset || take_samples(in->model, dataset, &in->feed));
    cli_dataset_close(dataset);
    return ok;
}

static void describe_inputs(bench_inputs *in) {
    char text[256];
    size_t n = 0;
    for (uint32_t i = 0; i < in->feed.n && n < sizeof in->text; i++)
        n += (size_t)snprintf(in->text + n, sizeof in->text - n, "%s%s %s", i ? ", " : "",
                              in->feed.names[i],
                              cli_value_text(in->feed.values[i], text, sizeof text));
}

bool bench_inputs_make(const bench_options *o, const bench_setup *s, const char *data_shape,
                       bench_inputs *in) {
    *in = (bench_inputs){.model = cli_load(s->path, &o->model, true)};
    bool ok = in->model && (!data_shape || fix_data_shape(in->model, data_shape)) &&
              (!s->batch || fix_batch(in->model, s->path, s->batch)) && feed_inputs(o, s, in);
    if (ok)
        describe_inputs(in);
    else
        bench_inputs_free(in);
    return ok;
}

void bench_inputs_free(bench_inputs *in) {
    cli_feed_free(&in->feed);
    hone_model_free(in->model);
    *in = (bench_inputs){0};
}
