/* Operators that look along one axis, in two steps: what attributes and shapes decide, and the work
 * itself. */
#ifndef HN_AXIS_EVAL_H
#define HN_AXIS_EVAL_H

#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/eval_broadcast.h"

/* Data [outer, n, inner] with the axis in the middle. */
typedef struct hn_axis_view {
    uint64_t outer, n, inner;
} hn_axis_view;
hn_axis_view hn_view_axis(const hn_array *x, int64_t axis);
/* Of Softmax and its family. */
hn_axis_view hn_view_softmax(const hn_eval *c, const hn_array *x);

/* ArgMax, ArgMin: one index per lane. The axis is not empty. */
typedef struct hn_arg_job {
    const hn_array *x;
    int64_t *out;
    bool is_max, is_last;
    hn_reduce_run_fn best; /* of float32 that lie together */
} hn_arg_job;
void hn_arg_read(const hn_eval *c, hn_arg_job *job); /* all but the arrays */
void hn_arg_run(hn_pool *pool, const hn_axis_view *v, const hn_arg_job *job);
/* y = 1 where an index of a lane stands, else 0. */
void hn_hardmax_write(const hn_axis_view *v, const int64_t *indices, hn_array *y);

/* CumSum, CumProd. */
typedef struct hn_cumulation {
    const hn_array *x;
    hn_array *y;
    bool is_product, is_exclusive, is_reverse;
} hn_cumulation;
void hn_cumulation_read(const hn_eval *c, hn_cumulation *job); /* all but the arrays */
void hn_cumulation_run(hn_pool *pool, const hn_axis_view *v, const hn_cumulation *job);

/* Softmax or LogSoftmax of floats; nothing is empty. */
typedef struct hn_softmax {
    int64_t outer, n, inner, tiles_per_row;
    bool is_log;
    void (*row)(int64_t n, const float *x, float *y); /* of one that lies together */
    hn_unary_fn_f32 exp;
    hn_binary_fn add, sub, mul, max;
} hn_softmax;
/* False: not of this type, or not on this processor. */
bool hn_softmax_plan(hn_softmax *s, const hn_axis_view *v, bool is_log, hn_dtype t);
void hn_softmax_run(hn_pool *pool, const hn_softmax *s, const float *x, float *y);

/* One number per lane, computed beforehand, goes into each element; step 0: all are of one lane. */
typedef void (*hn_lane_apply)(double *x, uint64_t n, const double *of_lane, uint64_t step);
typedef struct hn_lane_job {
    const hn_array *x;
    hn_array *y;
    const double *of_lane;
    hn_lane_apply apply;
} hn_lane_job;
void hn_lane_row(void *job, const hn_row *row); /* an hn_row_fn; row->in[0] counts lanes */
/* Which numbers, by which reduction: of Softmax, LogSoftmax or LpNormalization. */
typedef struct hn_lane_form {
    const char *reduce;
    hn_lane_apply apply;
} hn_lane_form;
hn_lane_form hn_lane_form_softmax(bool is_log);
hn_lane_form hn_lane_form_norm(int64_t p); /* 1 or 2 */

#endif /* HN_AXIS_EVAL_H */
