/* Datasets: finds the inputs that they provide, and reads samples. */
#include "dataset_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- inputs ---------------------------------------------------------------------------------- */

bool dataset_add_input(cli_dataset *d, uint32_t value, hone_error *error) {
    cli_expect *expects = realloc(d->expects, (d->n + 1) * sizeof *expects);
    d->expects = expects ? expects : d->expects;
    const char **inputs = realloc((void *)d->inputs, (d->n + 1) * sizeof *inputs);
    d->inputs = inputs ? inputs : d->inputs;
    hone_value **values = realloc(d->values, (d->n + 1) * sizeof *values);
    d->values = values ? values : d->values;
    if (!expects || !inputs || !values)
        return cli_refuse(error, "out of memory");
    cli_expect_init(d->g, value, &d->expects[d->n]);
    d->inputs[d->n] = d->expects[d->n].name;
    d->values[d->n++] = NULL;
    return true;
}

uint32_t dataset_find_input(const cli_dataset *d, const char *name, size_t n) {
    hone_subgraph_info graph;
    hone_value_info info;
    hone_graph_get_subgraph(d->g, 0, &graph);
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        hone_graph_get_value(d->g, graph.inputs[i], &info);
        if (strlen(info.name) == n && memcmp(info.name, name, n) == 0)
            return graph.inputs[i];
    }
    return HONE_NONE;
}

uint32_t dataset_only_input(const cli_dataset *d) {
    hone_subgraph_info graph;
    hone_value_info info;
    uint32_t only = HONE_NONE, n_required = 0;
    hone_graph_get_subgraph(d->g, 0, &graph);
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        hone_graph_get_value(d->g, graph.inputs[i], &info);
        if (!info.is_initializer && n_required++ == 0)
            only = graph.inputs[i];
    }
    return n_required == 1 ? only : HONE_NONE;
}

/* The input of "NAME=PATH"; HONE_NONE: not named. Names may contain '='. */
static uint32_t split_source(const cli_dataset *d, const char *source, const char **path) {
    for (const char *equals = strchr(source, '='); equals; equals = strchr(equals + 1, '=')) {
        uint32_t value = dataset_find_input(d, source, (size_t)(equals - source));
        *path = equals + 1;
        if (value != HONE_NONE)
            return value;
    }
    *path = source;
    return HONE_NONE;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_source(cli_dataset *d, const char *source, hone_error *error) {
    struct stat info;
    char names[512];
    const char *path;
    uint32_t value = split_source(d, source, &path);
    bool is_archive = cli_has_suffix(path, ".npz");
    if (stat(path, &info) != 0)
        return cli_refuse(error, "there is no dataset '%s'", path);
    if (is_archive && value == HONE_NONE)
        return dataset_open_archive(d, path, error);
    if (value == HONE_NONE)
        value = dataset_only_input(d);
    if (value == HONE_NONE)
        return cli_refuse(error,
                          "--data %s: write NAME=PATH with the name of an input; the model has %s",
                          source, cli_list_names(d->g, false, names, sizeof names));
    if (!dataset_add_input(d, value, error))
        return false;
    return S_ISDIR(info.st_mode) ? dataset_open_folder(d, path, error)
                                 : dataset_open_array(d, path, error);
}

bool cli_dataset_open(const hone_model *m, const cli_dataset_options *o, cli_dataset **dataset,
                      hone_error *error) {
    cli_dataset *d = *dataset = calloc(1, sizeof *d);
    if (!d)
        return cli_refuse(error, "out of memory");
    d->g = hone_model_graph(m);
    d->image = o->image;
    d->classes = o->classes;
    if (open_source(d, o->source, error))
        return true;
    cli_dataset_close(d);
    *dataset = NULL;
    return false;
}

uint64_t cli_dataset_size(const cli_dataset *d) {
    return d->n_samples;
}

static void drop_values(cli_dataset *d) {
    for (uint32_t i = 0; i < d->n; i++) {
        hone_value_free(d->values[i]);
        d->values[i] = NULL;
    }
}

bool cli_dataset_read(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error) {
    drop_values(d);
    *sample = (cli_sample){
        .label = -1, .n = d->n, .inputs = d->inputs, .expects = d->expects, .values = d->values};
    return d->files ? dataset_read_image(d, i, sample, error)
                    : dataset_read_row(d, i, sample, error);
}

void cli_dataset_close(cli_dataset *d) {
    if (!d)
        return;
    drop_values(d);
    dataset_close_folder(d);
    dataset_close_arrays(d);
    free(d->values);
    free((void *)d->inputs);
    free(d->expects);
    free(d);
}
