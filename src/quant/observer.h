/* Observers: what is remembered of the numbers that a value had in all runs, in constant memory. */
#ifndef HN_QUANT_OBSERVER_H
#define HN_QUANT_OBSERVER_H

#include "quant/scheme.h"

#define HN_OBSERVER_BINS 2048 /* for each sign */

/* Numbers of magnitude |x| in [k, k + 1) * limit / HN_OBSERVER_BINS are counted in bin k of their
 * sign. The limit is a power of two: when it grows, pairs of bins become one, and counts depend
 * neither on the order of samples nor on threads. */
typedef struct hn_observer {
    const hone_allocator *alloc; /* of counts while they are added up */
    double min, max;             /* of all finite numbers, 0 included */
    double mean_min, mean_max;   /* moving averages over samples */
    uint64_t n;                  /* finite numbers */
    uint64_t n_not_finite;
    uint64_t n_samples;
    double limit;            /* 0: nothing was counted yet */
    uint64_t *counts[2];     /* of numbers >= 0, of numbers < 0; NULL without a histogram */
    float *channel_max;      /* greatest magnitude of each channel; NULL: not asked for */
    double *channel_squares; /* sums of squares of each channel; NULL: not asked for */
    uint64_t n_per_channel;  /* numbers in these sums */
    uint64_t n_channels;
    int32_t channel_axis;
} hn_observer;

/* Memory is the arena's. */
hn_observer *hn_observer_new(hn_arena *arena, bool has_histogram);
/* One pass over the numbers of a tensor of floats; `row` elements, the next row `stride` elements
 * behind. The pool may be NULL. False: no memory. */
typedef struct hn_observed_rows {
    const float *at;
    uint64_t n_rows, row, stride;
} hn_observed_rows;
bool hn_observer_add(hn_observer *o, const hn_observed_rows *rows, double average_weight,
                     hn_pool *pool);
/* Greatest magnitudes of channels: x is (outer, channels, inner). */
void hn_observer_add_channels(hn_observer *o, const float *x, uint64_t n_outer, uint64_t n_inner);

/* ---- ranges ---------------------------------------------------------------------------------- */

typedef struct hn_range_options {
    hone_calibration method;
    double percentile;
    const hn_quant_type *type;
} hn_range_options;
/* The range to quantize with, and the name of the method that was taken. */
const char *hn_observer_range(const hn_observer *o, const hn_range_options *options, double *low,
                              double *high);
/* Mean squared error of the numbers that were counted, quantized with this range. */
double hn_observer_error(const hn_observer *o, const hn_quant_type *type, double low, double high);
/* Mean of the squares. */
double hn_observer_power(const hn_observer *o);

#endif /* HN_QUANT_OBSERVER_H */
