/* Datasets: the rows of the arrays of a .npy or .npz file. */
#include "dataset_int.h"

#include <stdlib.h>
#include <string.h>

/* All arrays have as many rows. Takes ownership of the array; NULL: it could not be read. */
static bool add_rows(cli_dataset *d, const char *name, hone_value *array, hone_value **place,
                     hone_error *error) {
    hone_tensor_info t;
    char text[256];
    *place = array;
    if (!array)
        return false;
    if (!hone_value_tensor(array, &t) || t.rank == 0 || hone_elem_type_bits(t.elem_type) < 8)
        return cli_refuse(error, "'%s': '%s' is %s, which has no rows to take as samples", d->path,
                          name, cli_value_text(array, text, sizeof text));
    uint64_t n_rows = (uint64_t)t.dims[0];
    if (d->n_samples && n_rows != d->n_samples)
        return cli_refuse(error, "'%s': '%s' has %llu rows, but the arrays before it have %llu",
                          d->path, name, (unsigned long long)n_rows,
                          (unsigned long long)d->n_samples);
    d->n_samples = n_rows;
    return n_rows ? true : cli_refuse(error, "'%s': '%s' has no rows", d->path, name);
}

static bool grow_arrays(cli_dataset *d, hone_error *error) {
    hone_value **grown = realloc(d->arrays, (d->n_arrays + 1) * sizeof *grown);
    if (!grown)
        return cli_refuse(error, "out of memory");
    d->arrays = grown;
    d->arrays[d->n_arrays++] = NULL;
    return true;
}

/* The array has rows of what the input takes, so it may have another rank. */
bool dataset_open_array(cli_dataset *d, const char *path, hone_error *error) {
    const cli_image_options no_image = {0};
    d->path = path;
    return grow_arrays(d, error) &&
           add_rows(d, d->expects[0].name,
                    cli_value_read(path, &d->expects[0], &no_image, NULL, error), &d->arrays[0],
                    error);
}

static bool add_member(void *ctx, const char *name, const unsigned char *at, size_t n,
                       hone_error *error) {
    cli_dataset *d = ctx;
    const cli_expect any = {.name = name, .rank = -1, .kind = HONE_TYPE_TENSOR, .text = "any"};
    char names[512];
    uint32_t value = dataset_find_input(d, name, strlen(name));
    if (value == HONE_NONE && strcmp(name, "labels") == 0)
        return add_rows(d, name, cli_npy_parse(at, n, d->path, &any, error), &d->labels, error);
    if (value == HONE_NONE && cli_npz_is_unnamed(name))
        value = dataset_only_input(d);
    if (value == HONE_NONE)
        return cli_refuse(error,
                          "'%s' has the array '%s', which is no input: the inputs are %s, and "
                          "'labels' has the classes",
                          d->path, name, cli_list_names(d->g, false, names, sizeof names));
    if (!dataset_add_input(d, value, error) || !grow_arrays(d, error))
        return false;
    const cli_expect *e = &d->expects[d->n - 1];
    return add_rows(d, name, cli_npy_parse(at, n, d->path, e, error), &d->arrays[d->n_arrays - 1],
                    error);
}

bool dataset_open_archive(cli_dataset *d, const char *path, hone_error *error) {
    d->path = path;
    if (!cli_npz_read(path, add_member, d, error))
        return false;
    return d->n > 0 ? true : cli_refuse(error, "'%s' has no arrays of inputs", path);
}

/* Row i with a batch of 1, or without one where the input has one dimension less than the array. */
static hone_value *take_row(const hone_value *array, const cli_expect *e, uint64_t i,
                            hone_error *error) {
    hone_tensor_info t;
    hone_value *v = NULL;
    int64_t dims[CLI_MAX_RANK];
    hone_value_tensor(array, &t);
    size_t row_bytes = (size_t)(t.data_bytes / (uint64_t)t.dims[0]);
    memcpy(dims, t.dims, (size_t)t.rank * sizeof *dims);
    dims[0] = 1;
    int32_t n_dropped = e->rank == t.rank - 1;
    hone_value_create(t.elem_type, t.rank - n_dropped, dims + n_dropped,
                      (const char *)t.data + i * row_bytes, &v, error);
    return v;
}

bool dataset_read_row(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error) {
    double label = -1;
    for (uint32_t k = 0; k < d->n; k++) {
        d->values[k] = take_row(d->arrays[k], &d->expects[k], i, error);
        if (!d->values[k])
            return false;
    }
    if (d->labels)
        hone_value_get_f64(d->labels, i, 1, &label);
    snprintf(d->row_name, sizeof d->row_name, "%llu", (unsigned long long)i);
    sample->name = d->row_name;
    sample->label = (int64_t)label;
    return true;
}

void dataset_close_arrays(cli_dataset *d) {
    for (uint32_t i = 0; i < d->n_arrays; i++)
        hone_value_free(d->arrays[i]);
    free(d->arrays);
    hone_value_free(d->labels);
}
