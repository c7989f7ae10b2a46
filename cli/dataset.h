/* Datasets: the samples of an input, one after the other. A dataset is a folder of images, or the
 * rows of the arrays of a .npy or .npz file. The images of a folder have classes when they lie in
 * folders of their own, one per class; the rows of an archive, when it has an array `labels`. */
#ifndef HONE_CLI_DATASET_H
#define HONE_CLI_DATASET_H

#include "cli_value.h"

typedef struct cli_dataset_options {
    const char *source;      /* NAME=PATH, or PATH where the model has one input */
    cli_image_options image; /* how images become tensors */
    const cli_list *classes; /* names of the classes in order; empty: numbers as names of folders,
                                or the folders in order */
} cli_dataset_options;

typedef struct cli_sample { /* valid until the next one */
    const char *name;       /* file below the folder, or the number of the row */
    int64_t label;          /* class; -1: unknown */
    uint32_t n;             /* inputs that the dataset provides */
    const char *const *inputs;
    const cli_expect *expects; /* what the model declares of each */
    hone_value *const *values; /* with a batch dimension of 1, where the input has one */
} cli_sample;

typedef struct cli_dataset cli_dataset;
/* The model must outlive it. False with the error. */
bool cli_dataset_open(const hone_model *m, const cli_dataset_options *o, cli_dataset **dataset,
                      hone_error *error);
uint64_t cli_dataset_size(const cli_dataset *d);
/* Reads sample number i; in any order, any number of times. False with the error. */
bool cli_dataset_read(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error);
void cli_dataset_close(cli_dataset *d); /* NULL is fine */

#endif /* HONE_CLI_DATASET_H */
