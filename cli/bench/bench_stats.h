/* Statistics of measured times: percentiles, the interval of a median, comparing two series. */
#ifndef HONE_BENCH_STATS_H
#define HONE_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_interval {
    double low, high; /* 95 % of the resampled medians are between them */
} bench_interval;

typedef struct bench_stats {
    size_t n;
    double mean, min, max, deviation; /* standard deviation of a sample; 0 for fewer than two */
    double p50, p90, p95, p99, p999;
    bench_interval median;
} bench_stats;
/* All fields are 0 for no values. NaN is not allowed. False: out of memory. */
bool bench_stats_make(const double *values, size_t n, bench_stats *stats);

/* The value below which a share (0 to 1) of the sorted ones lies, interpolated between two. */
double bench_percentile(const double *sorted, size_t n, double share);
void bench_sort(double *values, size_t n);
/* Sorts a copy. NaN: no values, or out of memory. */
double bench_median(const double *values, size_t n);
/* By the bootstrap: medians of series drawn from this one with replacement, from a fixed seed, so
 * that equal values give equal intervals. False: out of memory. */
bool bench_median_interval(const double *values, size_t n, bench_interval *interval);

/* Two series that were measured alternately, so that what slows the machine down for a while meets
 * both: number i of one is compared with number i of the other. */
typedef struct bench_change {
    double ratio; /* median of b[i] / a[i]; above 1: b takes longer */
    bench_interval interval;
    bool is_larger_than_noise; /* the interval does not contain 1, and there are pairs enough */
} bench_change;
bool bench_compare_pairs(const double *a, const double *b, size_t n, bench_change *change);
/* The same for medians of two measurements that have nothing to do with each other. */
void bench_compare_medians(double a, const bench_interval *of_a, double b,
                           const bench_interval *of_b, bench_change *change);

#endif /* HONE_BENCH_STATS_H */
