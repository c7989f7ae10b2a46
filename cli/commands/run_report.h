/* The report of `hone run`. */
#ifndef HONE_RUN_REPORT_H
#define HONE_RUN_REPORT_H

#include "profile/run_profile.h"

typedef struct run_labels { /* names of classes, one per line of a file */
    cli_buffer text;
    cli_list lines;
} run_labels;
bool run_labels_read(const char *path, run_labels *labels, hone_error *error);
void run_labels_free(run_labels *labels);

typedef struct run_results {
    const char *model;
    const cli_feed *inputs;
    uint32_t n_outputs;
    const char **names;
    hone_value **values;
    const double
        *seconds; /* of each run, in order; the first is not among them when there are others */
    size_t n_runs;
    double first_seconds;
    uint64_t planned_bytes; /* of intermediate values; UINT64_MAX: unknown */
    uint64_t top;           /* largest elements to show; 0: none */
    const run_labels *labels;
    /* of the runs in `seconds`, or of the first run when there are no others */
    profile profile;
} run_results;
void run_print_tables(const run_results *r);
void run_print_json(const run_results *r);

#endif /* HONE_RUN_REPORT_H */
