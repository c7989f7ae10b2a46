/* hone run --data: runs a model on every sample of a dataset and counts right answers. */
#ifndef HONE_CLI_RUN_DATASET_H
#define HONE_CLI_RUN_DATASET_H

#include "data/dataset.h"
#include "commands/run_report.h"

typedef struct run_dataset {
    const char *model;
    hone_session *session;
    cli_dataset *dataset;
    const cli_feed *others; /* inputs that the dataset does not provide */
    double timeout_seconds; /* of one run; 0: none */
    const volatile int *interrupted;
    uint64_t top; /* an answer is near when the class is among so many; 0: 5 */
    const run_labels *labels;
    bool json;
    cli_progress *progress;
} run_dataset;
/* Prints the report. False with the error. */
bool run_dataset_all(const run_dataset *r, hone_error *error);

#endif /* HONE_CLI_RUN_DATASET_H */
