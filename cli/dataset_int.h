/* The two kinds of datasets, for dataset.c alone. */
#ifndef HONE_CLI_DATASET_INT_H
#define HONE_CLI_DATASET_INT_H

#include "dataset.h"

typedef struct dataset_file {
    char *path;
    size_t shown;  /* where the part below the folder begins */
    int64_t label; /* -1: none */
} dataset_file;

struct cli_dataset {
    const hone_graph *g;
    cli_image_options image;
    const cli_list *classes;
    uint64_t n_samples;
    uint32_t n; /* inputs that it provides */
    const char **inputs;
    cli_expect *expects;
    hone_value **values; /* of the sample that was read last */
    dataset_file *files; /* of a folder */
    size_t n_files;
    const char *path;    /* of arrays */
    hone_value **arrays; /* by input */
    uint32_t n_arrays;
    hone_value *labels; /* NULL: none */
    char row_name[24];
};

/* An input of the graph, by name or as the only one without a default; HONE_NONE: there is none. */
uint32_t dataset_find_input(const cli_dataset *d, const char *name, size_t n);
uint32_t dataset_only_input(const cli_dataset *d);
bool dataset_add_input(cli_dataset *d, uint32_t value, hone_error *error);

bool dataset_open_folder(cli_dataset *d, const char *path, hone_error *error);
bool dataset_read_image(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error);
void dataset_close_folder(cli_dataset *d);

bool dataset_open_array(cli_dataset *d, const char *path, hone_error *error);
bool dataset_open_archive(cli_dataset *d, const char *path, hone_error *error);
bool dataset_read_row(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error);
void dataset_close_arrays(cli_dataset *d);

#endif /* HONE_CLI_DATASET_INT_H */
