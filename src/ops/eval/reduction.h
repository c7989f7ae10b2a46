/* Reductions in two steps: what shapes and the operator decide, and the work itself. */
#ifndef HN_REDUCTION_H
#define HN_REDUCTION_H

#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/eval_broadcast.h"

typedef enum hn_fold { HN_FOLD_SUM, HN_FOLD_PROD, HN_FOLD_MAX, HN_FOLD_MIN } hn_fold;
typedef enum hn_before_fold {
    HN_BEFORE_NOTHING,
    HN_BEFORE_ABS,
    HN_BEFORE_SQUARE,
    HN_BEFORE_EXP
} hn_before_fold;
typedef enum hn_after_fold {
    HN_AFTER_NOTHING,
    HN_AFTER_MEAN,
    HN_AFTER_SQRT,
    HN_AFTER_LOG
} hn_after_fold;

typedef struct hn_reduce_op {
    const char *op;
    hn_before_fold before;
    hn_fold fold;
    hn_after_fold after;
} hn_reduce_op;

/* Axes that lie together and share their fate are one, so that either the innermost axis is reduced
 * (long runs fold into one number) or it is kept (runs fold lane by lane). */
typedef struct hn_reduction {
    hn_reduce_op how;
    bool is_int;         /* folds int64, else double */
    bool flips_sign_bit; /* uint64 in the order of int64 */
    int64_t first_int;   /* where folding starts */
    double first_real;
    uint64_t n_out;
    uint64_t n_folded; /* elements per output */
    uint64_t run;      /* length of the innermost reduced axis when that is contiguous, else 1 */
    uint64_t n_lanes;  /* length of the innermost kept axis when that is contiguous, else 1 */
    hn_reduce_run_fn fold_run; /* of float32, along the innermost reduced axis; NULL: others */
    hn_reduce_rows_fn fold_rows;
    hn_binary_fn fold_pair;    /* of integers, which wrap as they are; NULL: others */
    int32_t n_kept, n_reduced; /* axes, outermost first; strides in elements */
    int64_t kept[HN_MAX_RANK], kept_strides[HN_MAX_RANK];
    int64_t reduced[HN_MAX_RANK], reduced_strides[HN_MAX_RANK];
} hn_reduction;

/* For the types and shapes of these arrays, whose data are not looked at. axes: a bit set. */
void hn_reduction_plan(hn_reduction *r, const char *op, const hn_array *x, uint64_t axes,
                       const hn_array *out);
void hn_reduction_run(hn_pool *pool, const hn_reduction *r, const hn_array *x, hn_array *out);

/* Axes of a reduction as bits, from the attribute or from argument 1, whose data are there. */
hone_status hn_reduced_axes(hn_eval *c, int32_t rank, uint64_t *bits);

#endif /* HN_REDUCTION_H */
