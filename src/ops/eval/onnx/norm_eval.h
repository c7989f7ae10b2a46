/* Normalizations of data [N, C, ...] in two steps: what attributes and shapes decide, and the work
 * itself. */
#ifndef HN_NORM_EVAL_H
#define HN_NORM_EVAL_H

#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/eval_broadcast.h"

/* Loops over floats. */
typedef struct hn_norm_loops {
    hn_unary_fn_f32 affine; /* NULL: none, or elements are no floats */
    hn_reduce_run_fn sum, sum_of_squares;
    hn_binary_fn subtract;
} hn_norm_loops;

typedef struct hn_batch_norm {
    uint64_t n_batch, n_channels, inner;
    double epsilon;
    hn_norm_loops loops;
    bool is_by_image; /* channels are too short for a loop over each: floats [N, C] and the like */
} hn_batch_norm;
hone_status hn_batch_norm_read(hn_eval *c, hn_batch_norm *b); /* parameters have the right sizes */
bool hn_batch_norm_trains(const hn_eval *c);
/* y = x * factor + shift, per channel. */
void hn_batch_norm_join(const hn_batch_norm *b, const hn_array *scale, const hn_array *bias,
                        const hn_array *mean, const hn_array *variance, double *factor,
                        double *shift);
/* The same for each element of an image: 0, factors, shifts. None where a loop takes a channel. */
uint64_t hn_batch_norm_image_elems(const hn_batch_norm *b);
void hn_batch_norm_spread(const hn_batch_norm *b, const double *factor, const double *shift,
                          float *image);
/* image: what hn_batch_norm_spread has left. */
void hn_batch_norm_run(hn_pool *pool, const hn_batch_norm *b, const hn_array *x, hn_array *y,
                       const double *factor, const double *shift, const float *image);

/* An instance is a group of one channel. */
typedef struct hn_group_norm {
    uint64_t n_rows, n_groups, per_group, inner; /* channels per group, elements per channel */
    bool is_scaled_by_group;                     /* GroupNormalization-18 */
    double epsilon;
    hn_norm_loops loops;
} hn_group_norm;
hone_status hn_group_norm_read(hn_eval *c, hn_group_norm *g);
void hn_group_norm_run(hn_pool *pool, const hn_group_norm *g, const hn_array *x,
                       const hn_array *scale, const hn_array *bias, hn_array *y);

typedef struct hn_response_norm {
    uint64_t n_rows, n_channels, inner, before, after; /* channels in the window on each side */
    double alpha, beta, bias;                          /* alpha is per channel of the window */
} hn_response_norm;
hone_status hn_response_norm_read(hn_eval *c, hn_response_norm *r);
void hn_response_norm_run(hn_pool *pool, const hn_response_norm *r, const hn_array *x, hn_array *y);

#endif /* HN_NORM_EVAL_H */
