/* Samples for the library: batches of a dataset, with inputs that are the same in all of them. */
#ifndef HONE_CLI_DATASET_SAMPLES_H
#define HONE_CLI_DATASET_SAMPLES_H

#include "data/dataset.h"

typedef struct cli_samples {
    cli_dataset *dataset; /* NULL: the inputs given are the one sample */
    cli_feed feed;        /* inputs that the dataset does not provide */
    cli_dataset_batch batch;
    size_t batch_size;
    const char **names;
    const hone_value **values;
} cli_samples;
/* `data` has the image options of `input`; its source may be NULL. Reports errors and returns
 * false. */
bool cli_samples_open(const hone_model *m, const cli_dataset_options *data,
                      const cli_input_options *input, cli_samples *s);
void cli_samples_close(cli_samples *s); /* also after a failure */
/* What hone_model_quantize and its relatives read. */
hone_dataset cli_samples_source(cli_samples *s);

#endif /* HONE_CLI_DATASET_SAMPLES_H */
