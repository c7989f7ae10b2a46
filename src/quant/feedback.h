/* Rounding of weights with error feedback: a number is rounded so that it makes up for the errors
 * of those before it, as far as the inputs of the product show that they go together (GPTQ, in the
 * form of QuIP's LDLQ). */
#ifndef HN_QUANT_FEEDBACK_H
#define HN_QUANT_FEEDBACK_H

#include "quant/scheme.h"

/* Sums of products of the inputs of a layer: k x k, symmetric, for each of its groups. */
typedef struct hn_moments {
    uint64_t k, n_groups;
    uint64_t n_rows; /* that were added, to each group */
    float *sums;
} hn_moments;
hn_moments *hn_moments_new(hn_arena *arena, uint64_t k, uint64_t n_groups); /* NULL: no memory */
/* Adds n rows of k numbers to a group; from one row, and from one number, to the next so many
 * floats. The last group counts the rows. */
void hn_moments_add(hn_moments *m, uint64_t group, const float *x, uint64_t n, int64_t row,
                    int64_t column, hn_pool *pool);

/* Where the inputs of a layer are in its weight. */
typedef enum hn_inputs_axis {
    HN_INPUTS_NONE,
    HN_INPUTS_ARE_ROWS,
    HN_INPUTS_ARE_COLUMNS
} hn_inputs_axis;

/* Rounds a matrix (further axes belong to its columns) again, with the scales and zero points that
 * `result` has; its integers are replaced where that makes the squared error of the products
 * smaller. Groups divide the rows of outputs (HN_INPUTS_ARE_COLUMNS) into equal parts.
 * gain: how many times smaller; 1: nothing was changed. */
typedef struct hn_feedback_job {
    const hn_tensor *w;
    const hn_quant_type *type; /* an integer type of at most 8 bits */
    int32_t axis;
    int64_t block;
    hn_inputs_axis inputs;
    const hn_moments *moments;
    hn_pool *pool;
} hn_feedback_job;
hone_status hn_quant_feedback(const hn_feedback_job *job, hn_arena *arena, hn_quant_result *result,
                              double *gain);

#endif /* HN_QUANT_FEEDBACK_H */
