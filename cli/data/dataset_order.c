/* Datasets: which samples are read in which order, and their classes from a file. */
#include "data/dataset_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes --------------------------------------------------------------------------------- */

static bool read_target_array(cli_dataset *d, hone_error *error) {
    const cli_expect any = {.name = "targets", .rank = -1, .text = "any"};
    const cli_image_options no_image = {0};
    hone_tensor_info t;
    hone_value *v = cli_value_read(d->o.targets, &any, &no_image, NULL, error);
    if (!v)
        return false;
    bool ok = hone_value_tensor(v, &t) && t.n_elements == d->n_stored &&
              !cli_is_float(t.elem_type) && hone_value_get_i64(v, 0, t.n_elements, d->targets);
    if (!ok)
        cli_refuse(error, "--targets %s: it needs a whole number for each of the %llu samples",
                   d->o.targets, (unsigned long long)d->n_stored);
    hone_value_free(v);
    return ok;
}

static bool read_target_lines(cli_dataset *d, hone_error *error) {
    cli_buffer file;
    uint64_t n = 0;
    if (!cli_file_read(d->o.targets, &file, error))
        return false;
    cli_buffer_add(&file, "", 1);
    bool ok = file.failed ? cli_refuse(error, "out of memory") : true;
    char *at = (char *)file.at, *end = at;
    while (ok && *(at += strspn(at, " \t\r\n"))) {
        errno = 0;
        long long target = strtoll(at, &end, 10);
        if (end == at || errno || !strchr(" \t\r\n", *end) || n == d->n_stored)
            break;
        d->targets[n++] = target;
        at = end;
    }
    if (ok && *at && n < d->n_stored)
        ok = cli_refuse(error, "--targets %s: number %llu is '%.*s', which is no whole number",
                        d->o.targets, (unsigned long long)n + 1, (int)strcspn(at, " \t\r\n"), at);
    else if (ok && (*at || n < d->n_stored))
        ok = cli_refuse(error, "--targets %s: it has %s%llu numbers, but there are %llu samples",
                        d->o.targets, *at ? "more than " : "", (unsigned long long)n,
                        (unsigned long long)d->n_stored);
    cli_buffer_free(&file);
    return ok;
}

static bool read_targets(cli_dataset *d, hone_error *error) {
    d->targets = calloc((size_t)d->n_stored, sizeof *d->targets);
    if (!d->targets)
        return cli_refuse(error, "out of memory");
    return cli_has_suffix(d->o.targets, ".npy") ? read_target_array(d, error)
                                                : read_target_lines(d, error);
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool shuffle_order(cli_dataset *d, hone_error *error) {
    uint64_t state;
    if (!cli_parse_seed("shuffle", d->o.shuffle, &state, error))
        return false;
    for (uint64_t i = d->n_order; i > 1; i--) {
        uint64_t k = cli_random(&state) % i, key = d->order[k];
        d->order[k] = d->order[i - 1];
        d->order[i - 1] = key;
    }
    return true;
}

/* The first samples of a folder of classes are all of one class: those of a limited number are
 * spread over all of them. The others follow, in case that some cannot be read. */
static void spread_order(cli_dataset *d) {
    uint64_t n = d->n_order, limit = d->o.limit, n_others = limit, next = 0;
    for (uint64_t key = 0; key < n; key++) {
        /* the chosen keys are floor(i * n / limit) */
        bool is_chosen =
            next < limit && key == (uint64_t)((double)next * (double)n / (double)limit);
        d->order[is_chosen ? next++ : n_others++] = key;
    }
}

bool dataset_make_order(cli_dataset *d, hone_error *error) {
    d->n_order = d->n_stored * d->augment.n_copies;
    if (d->n_stored > SIZE_MAX / sizeof *d->order / d->augment.n_copies)
        return cli_refuse(error, "'%s' has too many samples", d->path);
    d->order = malloc((size_t)d->n_order * sizeof *d->order);
    if (!d->order)
        return cli_refuse(error, "out of memory");
    for (uint64_t i = 0; i < d->n_order; i++)
        d->order[i] = i;
    if (d->o.shuffle && !shuffle_order(d, error))
        return false;
    if (!d->o.shuffle && d->is_sorted_by_class && d->o.limit && d->o.limit < d->n_order)
        spread_order(d);
    return d->o.targets ? read_targets(d, error) : true;
}
