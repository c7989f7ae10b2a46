/* The report of `hone run`. */
#ifndef HONE_RUN_REPORT_H
#define HONE_RUN_REPORT_H

#include "cli_value.h"

typedef struct run_labels { /* names of classes, one per line of a file */
    cli_buffer text;
    cli_list lines;
} run_labels;
bool run_labels_read(const char *path, run_labels *labels, hone_error *error);
void run_labels_free(run_labels *labels);

/* Time by operator and by node, over all observed runs. */
typedef struct run_profile_entry {
    char op[96];
    char *name; /* of the node, and of all nodes of the model that it computes; NULL for an
                   operator */
    size_t first_name_bytes; /* of the first of several nodes */
    uint32_t n_more_names;
    uint32_t node;     /* its id */
    uint64_t n_nodes;  /* number of executions */
    uint64_t ns, macs; /* multiply-accumulates of known shapes */
    uint64_t bytes;    /* read and written, weights included */
} run_profile_entry;
typedef struct run_profile_list {
    run_profile_entry *at;
    size_t n, cap;
} run_profile_list;
typedef struct run_profile {
    run_profile_list ops, nodes;
    size_t last_node; /* entry of the last step */
    uint64_t ns;      /* of all nodes */
} run_profile;
void run_profile_see(void *profile, const hone_step *step); /* an observer */
void run_profile_sort(run_profile *p);                      /* slowest first */
void run_profile_print(const run_profile *p, size_t n_runs);
void run_profile_json(const run_profile *p, size_t n_runs, cli_buffer *out);
void run_profile_free(run_profile *p);

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
    run_profile profile;
} run_results;
void run_print_tables(const run_results *r);
void run_print_json(const run_results *r);

#endif /* HONE_RUN_REPORT_H */
