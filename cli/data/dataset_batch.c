/* Datasets: samples joined to batches. */
#include "data/dataset_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- size ------------------------------------------------------------------------------------ */

/* The samples that an input takes at once; 0: any number. */
static int64_t declared_batch(const cli_dataset *d, uint32_t k) {
    const cli_expect *e = &d->expects[k];
    if (!d->are_rows[k])
        return 1;
    return e->rank > 0 && e->dims[0] > 0 ? e->dims[0] : 0;
}

bool cli_dataset_batch_size(const cli_dataset *d, size_t *size, hone_error *error) {
    uint64_t found = d->o.batch;
    for (uint32_t k = 0; k < d->n; k++) {
        uint64_t declared = (uint64_t)declared_batch(d, k);
        if (declared && found && declared != found)
            return cli_refuse(error,
                              "input '%s' takes %s, %llu sample%s at once, not a batch of %llu",
                              d->inputs[k], d->expects[k].text, (unsigned long long)declared,
                              declared == 1 ? "" : "s", (unsigned long long)found);
        found = declared ? declared : found;
    }
    *size = found ? (size_t)found : 1;
    return true;
}

/* ---- joining --------------------------------------------------------------------------------- */

static int64_t longest_row(hone_value *const *samples, size_t n) {
    hone_tensor_info t;
    int64_t longest = 0;
    for (size_t i = 0; i < n; i++)
        if (hone_value_tensor(samples[i], &t) && t.rank > 1 && t.dims[1] > longest)
            longest = t.dims[1];
    return longest;
}

/* A sample of one row and one more dimension, filled up to a length. NULL with the error. */
static hone_value *padded_row(const hone_value *v, int64_t length, double pad, hone_error *error) {
    hone_tensor_info t;
    hone_value *out;
    hone_value_tensor(v, &t);
    const int64_t dims[2] = {1, length};
    if (hone_value_create(t.elem_type, 2, dims, NULL, &out, error) != HONE_OK)
        return NULL;
    for (uint64_t i = 0; i < (uint64_t)length; i++) {
        double number = pad;
        if (i < t.n_elements)
            hone_value_get_f64(v, i, 1, &number);
        hone_value_set_f64(out, i, 1, &number);
    }
    return out;
}

static bool pad_rows(hone_value **samples, size_t n, double pad, hone_error *error) {
    int64_t longest = longest_row(samples, n);
    for (size_t i = 0; i < n; i++) {
        hone_value *padded = padded_row(samples[i], longest, pad, error);
        if (!padded)
            return false;
        hone_value_free(samples[i]);
        samples[i] = padded;
    }
    return true;
}

/* The last sample fills up what the model takes more. */
static hone_value *join_samples(const cli_dataset *d, uint32_t k, hone_value **samples, size_t n,
                                size_t n_run, hone_error *error) {
    if (!isnan(d->pads[k]) && n > 1 && !pad_rows(samples, n, d->pads[k], error))
        return NULL;
    if (n_run == 1) {
        hone_value *v = samples[0];
        samples[0] = NULL;
        return v;
    }
    hone_value **rows = malloc(n_run * sizeof *rows), *v = NULL;
    for (size_t i = 0; rows && i < n_run; i++)
        rows[i] = samples[i < n ? i : n - 1];
    if (rows)
        v = cli_batch(rows, n_run, &d->expects[k], error);
    else
        cli_refuse(error, "out of memory");
    free(rows);
    return v;
}

/* ---- reading --------------------------------------------------------------------------------- */

void cli_dataset_batch_free(cli_dataset_batch *b) {
    for (size_t i = 0; b->names && i < b->n; i++)
        free(b->names[i]);
    for (uint32_t k = 0; b->values && k < b->n_inputs; k++)
        hone_value_free(b->values[k]);
    free(b->names);
    free(b->labels);
    free(b->values);
    *b = (cli_dataset_batch){0};
}

/* Takes name, label and values over from the dataset. */
static bool read_into(cli_dataset *d, uint64_t i, size_t size, cli_dataset_batch *b,
                      hone_value **samples, bool *is_read, hone_error *error) {
    cli_sample s;
    if (!cli_dataset_read(d, i, &s, error))
        return false;
    *is_read = s.n > 0;
    if (!*is_read)
        return true;
    b->names[b->n] = d->current.name;
    b->labels[b->n] = s.label;
    d->current.name = NULL;
    for (uint32_t k = 0; k < d->n; k++) {
        samples[k * size + b->n] = d->current.values[k];
        d->current.values[k] = NULL;
    }
    b->n++;
    return true;
}

bool cli_dataset_batch_read(cli_dataset *d, uint64_t first, cli_dataset_batch *b,
                            hone_error *error) {
    size_t size, wanted;
    *b = (cli_dataset_batch){.n_inputs = d->n, .inputs = d->inputs};
    if (!cli_dataset_batch_size(d, &wanted, error))
        return false;
    uint64_t left = first < cli_dataset_size(d) ? cli_dataset_size(d) - first : 0;
    size = wanted < left ? wanted : (size_t)left;
    hone_value **samples = calloc(size * d->n + 1, sizeof *samples);
    b->names = calloc(size + 1, sizeof *b->names);
    b->labels = calloc(size + 1, sizeof *b->labels);
    b->values = calloc((size_t)d->n + 1, sizeof(hone_value *));
    bool is_read = true, ok = samples && b->names && b->labels && b->values
                                  ? true
                                  : cli_refuse(error, "out of memory");
    while (ok && is_read && b->n < size)
        ok = read_into(d, first + b->n, size, b, samples, &is_read, error);
    bool is_fixed = false;
    for (uint32_t k = 0; k < d->n; k++)
        is_fixed |= declared_batch(d, k) > 1;
    b->n_run = is_fixed ? wanted : b->n;
    for (uint32_t k = 0; ok && b->n && k < d->n; k++) {
        b->values[k] = join_samples(d, k, &samples[k * size], b->n, b->n_run, error);
        ok = b->values[k] != NULL;
    }
    for (size_t i = 0; samples && i < size * d->n; i++)
        hone_value_free(samples[i]);
    free(samples);
    if (!ok)
        cli_dataset_batch_free(b);
    return ok;
}

bool cli_dataset_class_rows(const hone_value *output, const cli_dataset_batch *b, uint64_t *length,
                            hone_error *error) {
    hone_tensor_info t;
    char text[256];
    if (!hone_value_tensor(output, &t) || !hone_elem_type_bits(t.elem_type) ||
        t.n_elements < b->n_run || t.n_elements % b->n_run)
        return cli_refuse(error, "the first output is %s, which has no classes for each sample",
                          cli_value_text(output, text, sizeof text));
    *length = t.n_elements / b->n_run;
    return true;
}
