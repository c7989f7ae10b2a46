/* Datasets: folders of ONNX test data, test_data_set_N with input_0.pb, input_1.pb and so on. */
#include "data/dataset_int.h"

#include <stdlib.h>
#include <string.h>

static const char set_prefix[] = "test_data_set_";

typedef struct data_sets {
    char **folders;
    size_t n, shown;       /* the part of a path from `shown` on is the name of the sample */
    uint32_t *input_files; /* number of the file of each input */
} data_sets;

static void close_data_sets(void *state) {
    data_sets *s = state;
    for (size_t i = 0; i < s->n; i++)
        free(s->folders[i]);
    free(s->folders);
    free(s->input_files);
    free(s);
}

static char *input_file_path(const char *folder, uint32_t i) {
    char name[32];
    snprintf(name, sizeof name, "input_%u.pb", i);
    return dataset_path_in(folder, name);
}

static hone_value *read_set_input(const char *folder, uint32_t file, const cli_expect *e,
                                  hone_error *error) {
    const cli_image_options no_image = {0};
    char *path = input_file_path(folder, file);
    hone_value *v = NULL;
    if (path)
        v = cli_value_read(path, e, &no_image, NULL, error);
    else
        cli_refuse(error, "out of memory");
    free(path);
    return v;
}

static bool read_data_set(const cli_dataset *d, uint64_t i, dataset_item *item, hone_error *error) {
    const data_sets *s = d->state;
    item->name = dataset_copy_text(s->folders[i] + s->shown);
    bool ok = item->name ? true : cli_refuse(error, "out of memory");
    for (uint32_t k = 0; ok && k < d->n; k++) {
        item->values[k] = read_set_input(s->folders[i], s->input_files[k], &d->expects[k], error);
        ok = item->values[k] != NULL;
    }
    return ok;
}

static const dataset_reader set_reader = {.read = read_data_set, .close = close_data_sets};

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_set_name(const char *name) {
    return strncmp(name, set_prefix, sizeof set_prefix - 1) == 0;
}

/* test_data_set_10 comes after test_data_set_9. */
static int by_set_number(const void *a, const void *b) {
    const char *one = *(char *const *)a, *other = *(char *const *)b;
    size_t n = strlen(one), m = strlen(other);
    return n != m ? (n < m ? -1 : 1) : strcmp(one, other);
}

bool dataset_has_sets(const char *path) {
    folder_entries e = {0};
    hone_error ignored;
    char *first = input_file_path(path, 0);
    bool has_sets = first && dataset_is_file(first);
    free(first);
    if (!has_sets && dataset_list_folder(path, &e, &ignored))
        for (size_t i = 0; i < e.n; i++)
            has_sets |= is_set_name(e.names[i]);
    dataset_free_entries(&e);
    return has_sets;
}

/* A folder of data sets, or one data set. */
static bool list_sets(const cli_dataset *d, data_sets *s, hone_error *error) {
    folder_entries e = {0};
    bool ok = dataset_list_folder(d->path, &e, error);
    s->folders = ok ? calloc(e.n + 1, sizeof *s->folders) : NULL;
    ok = ok && (s->folders ? true : cli_refuse(error, "out of memory"));
    for (size_t i = 0; ok && i < e.n; i++)
        if (is_set_name(e.names[i])) {
            s->folders[s->n] = dataset_path_in(d->path, e.names[i]);
            ok = s->folders[s->n++] ? true : cli_refuse(error, "out of memory");
        }
    dataset_free_entries(&e);
    s->shown = strlen(d->path) + 1;
    if (ok && s->n == 0) {
        s->folders[s->n++] = dataset_copy_text(d->path);
        ok = s->folders[0] ? true : cli_refuse(error, "out of memory");
        const char *slash = strrchr(d->path, '/');
        s->shown = slash && slash[1] ? (size_t)(slash + 1 - d->path) : 0;
    }
    if (ok)
        qsort(s->folders, s->n, sizeof *s->folders, by_set_number);
    return ok;
}

/* File number i of the first set is the i-th input of the graph. */
static bool find_set_inputs(cli_dataset *d, data_sets *s, hone_error *error) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(d->g, 0, &graph);
    s->input_files = calloc((size_t)graph.n_inputs + 1, sizeof *s->input_files);
    bool ok = s->input_files ? true : cli_refuse(error, "out of memory");
    for (uint32_t i = 0; ok && i < graph.n_inputs; i++) {
        char *path = input_file_path(s->folders[0], i);
        bool is_there = path && dataset_is_file(path);
        free(path);
        if (is_there) {
            s->input_files[d->n] = i;
            ok = dataset_add_input(d, graph.inputs[i], error);
        }
    }
    return ok && d->n == 0
               ? cli_refuse(error, "'%s' has no files input_0.pb and so on for the %u inputs",
                            s->folders[0], graph.n_inputs)
               : ok;
}

bool dataset_open_sets(cli_dataset *d, hone_error *error) {
    data_sets *s = calloc(1, sizeof *s);
    if (!s)
        return cli_refuse(error, "out of memory");
    d->state = s;
    d->reader = &set_reader;
    if (!list_sets(d, s, error) || !find_set_inputs(d, s, error))
        return false;
    d->n_stored = s->n;
    return true;
}
