/* The report of `hone optimize`. */
#ifndef HONE_CLI_OPTIMIZE_REPORT_H
#define HONE_CLI_OPTIMIZE_REPORT_H

#include "cli.h"

/* Sizes of a model for the comparison. */
typedef struct model_size {
    hone_stats *stats;
    hone_stats_totals totals;
    uint64_t file_bytes;
} model_size;
/* Infers shapes first. Reports errors and returns false. */
bool model_size_take(hone_model *m, uint64_t file_bytes, model_size *out);
void model_size_free(model_size *s);

/* Sizes and operator counts, before and after. */
void print_changes(const model_size *before, const model_size *after,
                   const hone_optimization *report);
/* Passes, rewrites by rule, near misses. */
void print_explanation(const hone_optimization *report);
/* Says how many near misses exist only because equal names are not taken for equal sizes: optimizes
 * again with trust in them. */
void hint_at_names(const hone_model *m, const hone_model *optimized,
                   const hone_optimize_options *options);
/* Prints disabled rules and the result of the verification. */
void print_verdict(const hone_optimization *report);

#endif /* HONE_CLI_OPTIMIZE_REPORT_H */
