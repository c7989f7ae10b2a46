/* Datasets: the rows of the arrays of a .npy or .npz file. */
#include "data/dataset_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct array_rows {
    hone_value **arrays; /* by input */
    uint32_t n;
    hone_value *labels; /* NULL: none */
} array_rows;

static void close_array_rows(void *state) {
    array_rows *a = state;
    for (uint32_t i = 0; i < a->n; i++)
        hone_value_free(a->arrays[i]);
    free(a->arrays);
    hone_value_free(a->labels);
    free(a);
}

/* Row i with a batch of 1, or without one where the input has one dimension less than the array. */
static hone_value *take_row(const hone_value *array, bool is_row, uint64_t i, hone_error *error) {
    hone_tensor_info t;
    hone_value *v = NULL;
    int64_t dims[CLI_MAX_RANK];
    hone_value_tensor(array, &t);
    size_t row_bytes = (size_t)(t.data_bytes / (uint64_t)t.dims[0]);
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    dims[0] = 1;
    int32_t n_dropped = !is_row;
    hone_value_create(t.elem_type, t.rank - n_dropped, dims + n_dropped,
                      (const char *)t.data + i * row_bytes, &v, error);
    return v;
}

static bool name_row(uint64_t i, dataset_item *item, hone_error *error) {
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)i);
    item->name = dataset_copy_text(name);
    return item->name ? true : cli_refuse(error, "out of memory");
}

static bool read_array_row(const cli_dataset *d, uint64_t i, dataset_item *item,
                           hone_error *error) {
    const array_rows *a = d->state;
    if (!name_row(i, item, error))
        return false;
    for (uint32_t k = 0; k < d->n; k++) {
        item->values[k] = take_row(a->arrays[k], d->are_rows[k], i, error);
        if (!item->values[k])
            return false;
    }
    if (a->labels)
        hone_value_get_i64(a->labels, i, 1, &item->label);
    return true;
}

static const dataset_reader row_reader = {
    .read = read_array_row, .close = close_array_rows, .is_in_memory = true};

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_rows(cli_dataset *d, hone_error *error) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(d->g, 0, &graph);
    array_rows *a = calloc(1, sizeof *a);
    if (a)
        a->arrays = calloc((size_t)graph.n_inputs + 1, sizeof(hone_value *));
    d->state = a;
    if (!a || !a->arrays) {
        free(a);
        return cli_refuse(error, "out of memory");
    }
    d->reader = &row_reader;
    return true;
}

/* All arrays have as many rows. */
static bool check_rows(cli_dataset *d, const char *name, const hone_value *array,
                       hone_error *error) {
    hone_tensor_info t;
    char text[256];
    if (!hone_value_tensor(array, &t) || t.rank == 0 || hone_elem_type_bits(t.elem_type) < 8)
        return cli_refuse(error, "'%s': '%s' is %s, which has no rows to take as samples", d->path,
                          name, cli_value_text(array, text, sizeof text));
    uint64_t n_rows = (uint64_t)t.dims[0];
    if (d->n_stored && n_rows != d->n_stored)
        return cli_refuse(error, "'%s': '%s' has %llu rows, but the arrays before it have %llu",
                          d->path, name, (unsigned long long)n_rows,
                          (unsigned long long)d->n_stored);
    d->n_stored = n_rows;
    return n_rows ? true : cli_refuse(error, "'%s': '%s' has no rows", d->path, name);
}

/* The array of the input that was added last. Takes ownership of it; NULL: it could not be read. */
static bool add_array(cli_dataset *d, hone_value *array, hone_error *error) {
    array_rows *a = d->state;
    const cli_expect *e = &d->expects[d->n - 1];
    hone_tensor_info t;
    a->arrays[a->n++] = array;
    if (!array || !check_rows(d, e->name, array, error))
        return false;
    hone_value_tensor(array, &t);
    d->are_rows[d->n - 1] = e->rank != t.rank - 1;
    return true;
}

/* ---- rows that stay in their file ------------------------------------------------------------ */

static bool read_file_row(const cli_dataset *d, uint64_t i, dataset_item *item, hone_error *error) {
    if (!name_row(i, item, error))
        return false;
    item->values[0] = cli_npy_rows_read(d->state, i, d->are_rows[0], &d->expects[0], error);
    return item->values[0] != NULL;
}

static const dataset_reader file_row_reader = {.read = read_file_row, .close = free};

/* An array may be larger than memory. */
static bool open_file_rows(cli_dataset *d, bool *is_open, hone_error *error) {
    cli_npy_rows *rows;
    int32_t rank;
    *is_open = false;
    if (!cli_has_suffix(d->path, ".npy"))
        return true;
    if (!cli_npy_rows_open(d->path, &rows, error))
        return false;
    *is_open = rows != NULL;
    if (!rows)
        return true;
    d->state = rows;
    d->reader = &file_row_reader;
    d->n_stored = (uint64_t)cli_npy_rows_dims(rows, &rank)[0];
    d->are_rows[0] = d->expects[0].rank != rank - 1;
    return true;
}

/* The array has rows of what the input takes, so it may have another rank. */
bool dataset_open_array(cli_dataset *d, hone_error *error) {
    const cli_image_options no_image = {0};
    bool is_open;
    if (!open_file_rows(d, &is_open, error))
        return false;
    if (is_open)
        return true;
    return open_rows(d, error) &&
           add_array(d, cli_value_read(d->path, &d->expects[0], &no_image, NULL, error), error);
}

static bool add_labels(cli_dataset *d, hone_value *labels, hone_error *error) {
    array_rows *a = d->state;
    hone_tensor_info t;
    hone_value_free(a->labels);
    a->labels = labels;
    if (!labels || !check_rows(d, "labels", labels, error))
        return false;
    hone_value_tensor(labels, &t);
    return t.n_elements == d->n_stored && !cli_is_float(t.elem_type)
               ? true
               : cli_refuse(error, "'%s': 'labels' needs one whole number per row", d->path);
}

static bool add_member(void *ctx, const char *name, const unsigned char *at, size_t n,
                       hone_error *error) {
    cli_dataset *d = ctx;
    const cli_expect any = {.name = name, .rank = -1, .kind = HONE_TYPE_TENSOR, .text = "any"};
    char names[512];
    uint32_t value = dataset_find_input(d, name, strlen(name));
    if (value == HONE_NONE && strcmp(name, "labels") == 0)
        return add_labels(d, cli_npy_parse(at, n, d->path, &any, error), error);
    if (value == HONE_NONE && cli_npz_is_unnamed(name))
        value = dataset_only_input(d);
    if (value == HONE_NONE)
        return cli_refuse(error,
                          "'%s' has the array '%s', which is no input: the inputs are %s, and "
                          "'labels' has the classes",
                          d->path, name, cli_list_names(d->g, false, names, sizeof names));
    return dataset_add_input(d, value, error) &&
           add_array(d, cli_npy_parse(at, n, d->path, &d->expects[d->n - 1], error), error);
}

bool dataset_open_archive(cli_dataset *d, hone_error *error) {
    if (!open_rows(d, error) || !cli_npz_read(d->path, add_member, d, error))
        return false;
    return d->n > 0 ? true : cli_refuse(error, "'%s' has no arrays of inputs", d->path);
}
