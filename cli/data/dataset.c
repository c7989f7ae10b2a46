/* Datasets: finds the inputs that they provide, and reads samples. */
#define _POSIX_C_SOURCE 200809L
#include "data/dataset_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_BAD = 10 };

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The tables of inputs have room for all that the graph has. */
static bool make_input_tables(cli_dataset *d, hone_error *error) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(d->g, 0, &graph);
    size_t n = (size_t)graph.n_inputs + 1;
    d->inputs = calloc(n, sizeof *d->inputs);
    d->expects = calloc(n, sizeof *d->expects);
    d->are_rows = calloc(n, sizeof *d->are_rows);
    d->pads = calloc(n, sizeof *d->pads);
    return d->inputs && d->expects && d->are_rows && d->pads ? true
                                                             : cli_refuse(error, "out of memory");
}

bool dataset_add_input(cli_dataset *d, uint32_t value, hone_error *error) {
    cli_expect *e = &d->expects[d->n];
    cli_expect_init(d->g, value, e);
    for (uint32_t k = 0; k < d->n; k++)
        if (strcmp(d->inputs[k], e->name) == 0)
            return cli_refuse(error, "'%s' has input '%s' twice", d->path, e->name);
    d->inputs[d->n] = e->name;
    d->pads[d->n++] = (double)NAN;
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

/* ---- one sample ------------------------------------------------------------------------------ */

void dataset_item_free(const cli_dataset *d, dataset_item *item) {
    for (uint32_t k = 0; item->values && k < d->n; k++)
        hone_value_free(item->values[k]);
    free(item->values);
    free(item->name);
    *item = (dataset_item){0};
}

/* Rows of a batch are checked without their number. */
static bool sample_fits(const cli_expect *e, bool is_row, const hone_value *v) {
    hone_tensor_info t;
    if (!hone_value_tensor(v, &t))
        return e->kind == hone_value_kind(v);
    bool fits = e->kind == HONE_TYPE_TENSOR && (!e->elem_type || e->elem_type == t.elem_type) &&
                (e->rank < 0 || e->rank == t.rank);
    for (int32_t axis = is_row; fits && axis < e->rank; axis++)
        fits = e->dims[axis] < 0 || e->dims[axis] == t.dims[axis];
    return fits;
}

static bool check_item(const cli_dataset *d, const dataset_item *item, hone_error *error) {
    char found[256];
    for (uint32_t k = 0; k < d->n; k++)
        if (!sample_fits(&d->expects[k], d->are_rows[k], item->values[k]))
            return cli_refuse(error, "input '%s' takes %s, but the sample has %s", d->inputs[k],
                              d->expects[k].text,
                              cli_value_text(item->values[k], found, sizeof found));
    return true;
}

void dataset_read_item(const cli_dataset *d, uint64_t key, dataset_item *item) {
    uint64_t stored = key / d->augment.n_copies;
    *item = (dataset_item){.label = -1, .values = calloc((size_t)d->n, sizeof *item->values)};
    item->is_read = item->values ? d->reader->read(d, stored, item, &item->error)
                                 : cli_refuse(&item->error, "out of memory");
    if (d->targets)
        item->label = d->targets[stored];
    item->is_read = item->is_read && check_item(d, item, &item->error) &&
                    dataset_apply_augment(d, key, item, &item->error);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Kinds that serve one input. */
static bool open_for_input(cli_dataset *d, uint32_t value, hone_error *error) {
    char names[512];
    if (value == HONE_NONE)
        value = dataset_only_input(d);
    if (value == HONE_NONE)
        return cli_refuse(error,
                          "'%s': write NAME=PATH with the name of an input; the model has %s",
                          d->o.source, cli_list_names(d->g, false, names, sizeof names));
    if (!dataset_add_input(d, value, error))
        return false;
    return dataset_is_folder(d->path) || dataset_is_image(d->path) ? dataset_open_images(d, error)
                                                                   : dataset_open_array(d, error);
}

static bool open_source(cli_dataset *d, hone_error *error) {
    uint32_t value = split_source(d, d->o.source, &d->path);
    bool is_folder = dataset_is_folder(d->path);
    if (!is_folder && !dataset_is_file(d->path))
        return cli_refuse(error, "there is no dataset '%s'", d->path);
    if (d->o.vocab && !is_folder)
        return dataset_open_text(d, value, error);
    if (!is_folder && (cli_has_suffix(d->path, ".txt") || cli_has_suffix(d->path, ".tsv")))
        return cli_refuse(error, "'%s': lines of text need --vocab FILE", d->path);
    if (is_folder && dataset_has_sets(d->path))
        return dataset_open_sets(d, error);
    if (dataset_is_manifest(d->path))
        return dataset_open_manifest(d, error);
    if (value == HONE_NONE && cli_has_suffix(d->path, ".npz"))
        return dataset_open_archive(d, error);
    return open_for_input(d, value, error);
}

static void start_threads(cli_dataset *d) {
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = d->o.threads ? d->o.threads : n_processors > 0 ? (uint64_t)n_processors : 1;
    if (!d->reader->is_in_memory && d->n_order > 1 && n > 1)
        d->ahead = dataset_ahead_start(d, n);
}

bool cli_dataset_open(const hone_model *m, const cli_dataset_options *o, cli_dataset **dataset,
                      hone_error *error) {
    cli_dataset *d = *dataset = calloc(1, sizeof *d);
    if (!d)
        return cli_refuse(error, "out of memory");
    d->g = hone_model_graph(m);
    d->o = *o;
    if (make_input_tables(d, error) && dataset_parse_augment(o->augment, &d->augment, error) &&
        open_source(d, error) && dataset_check_augment(d, error) && dataset_make_order(d, error)) {
        start_threads(d);
        return true;
    }
    cli_dataset_close(d);
    *dataset = NULL;
    return false;
}

uint64_t cli_dataset_size(const cli_dataset *d) {
    return d->o.limit && d->o.limit < d->n_order ? d->o.limit : d->n_order;
}

/* ---- reading --------------------------------------------------------------------------------- */

void dataset_remove_key(cli_dataset *d, uint64_t i) {
    d->n_order--;
    memmove(&d->order[i], &d->order[i + 1], (size_t)(d->n_order - i) * sizeof *d->order);
}

/* A sample that cannot be read is left out, or one too many: false with the error. */
static bool leave_out(cli_dataset *d, uint64_t i, hone_error *error) {
    const dataset_item *bad = &d->current;
    const char *name = bad->name ? bad->name : "?";
    if (d->n_bad == 0)
        d->first_bad = bad->error;
    if (d->n_bad == d->o.max_bad && d->n_bad)
        return cli_refuse(error,
                          "more than %llu samples of '%s' cannot be read; the first one: %.600s",
                          (unsigned long long)d->n_bad, d->path, d->first_bad.message);
    if (d->n_bad == d->o.max_bad)
        return cli_refuse(error, "%.600s (sample '%.200s' of '%s'; --max-bad N leaves out up to N)",
                          bad->error.message, name, d->path);
    if (d->n_bad++ < SHOWN_BAD)
        cli_buffer_printf(&d->bad_names, "  %s: %s\n", name, bad->error.message);
    if (d->ahead)
        dataset_ahead_remove(d->ahead, i);
    else
        dataset_remove_key(d, i);
    return d->n_order ? true
                      : cli_refuse(error, "no sample of '%s' can be read; the first one: %.600s",
                                   d->path, d->first_bad.message);
}

bool cli_dataset_read(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error) {
    *sample = (cli_sample){.label = -1};
    while (i < cli_dataset_size(d)) {
        dataset_item_free(d, &d->current);
        if (d->ahead)
            dataset_ahead_take(d->ahead, i, &d->current);
        else
            dataset_read_item(d, d->order[i], &d->current);
        if (d->current.is_read) {
            *sample = (cli_sample){.name = d->current.name,
                                   .label = d->current.label,
                                   .n = d->n,
                                   .inputs = d->inputs,
                                   .expects = d->expects,
                                   .values = d->current.values};
            return true;
        }
        if (!leave_out(d, i, error))
            return false;
    }
    return true;
}

const char *const *cli_dataset_inputs(const cli_dataset *d, uint32_t *n) {
    *n = d->n;
    return d->inputs;
}

uint64_t cli_dataset_n_bad(const cli_dataset *d) {
    return d->n_bad;
}

void cli_dataset_warn_bad(const cli_dataset *d) {
    if (!d->n_bad)
        return;
    cli_progress_clear();
    fprintf(stderr, "hone: warning: %llu sample%s cannot be read and %s left out:\n",
            (unsigned long long)d->n_bad, d->n_bad == 1 ? "" : "s", d->n_bad == 1 ? "is" : "are");
    const char *line = (const char *)d->bad_names.at, *end = line + d->bad_names.n;
    while (line && line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        char text[1536];
        size_t n = (size_t)((stop ? stop : end) - line);
        snprintf(text, sizeof text, "%.*s", (int)n, line);
        cli_put(stderr, text);
        fputc('\n', stderr);
        line = stop ? stop + 1 : end;
    }
    if (d->n_bad > SHOWN_BAD)
        fprintf(stderr, "  and %llu more\n", (unsigned long long)(d->n_bad - SHOWN_BAD));
}

void cli_dataset_close(cli_dataset *d) {
    if (!d)
        return;
    dataset_ahead_stop(d->ahead);
    dataset_item_free(d, &d->current);
    if (d->reader)
        d->reader->close(d->state);
    cli_buffer_free(&d->bad_names);
    free(d->order);
    free(d->targets);
    free(d->pads);
    free(d->are_rows);
    free((void *)d->inputs);
    free(d->expects);
    free(d);
}
