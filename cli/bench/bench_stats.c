#include "bench/bench_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_RESAMPLED = 1000,
    MOST_RESAMPLED_VALUES = 4000, /* of a longer series evenly spaced order statistics are drawn */
    LEAST_PAIRS = 6 /* chance puts all of five on one side of 1 in 2 of 32 cases, which is > 5 % */
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_sort(double *values, size_t n) {
    qsort(values, n, sizeof *values, by_value);
}

double bench_percentile(const double *sorted, size_t n, double share) {
    if (n == 0)
        return (double)NAN;
    double position = share * (double)(n - 1);
    size_t below = (size_t)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double *sorted_copy(const double *values, size_t n) {
    double *copy = malloc((n + 1) * sizeof *copy);
    if (copy && n > 0) {
        memcpy(copy, values, n * sizeof *copy);
        bench_sort(copy, n);
    }
    return copy;
}

double bench_median(const double *values, size_t n) {
    double *sorted = sorted_copy(values, n);
    double median = sorted ? bench_percentile(sorted, n, 0.5) : (double)NAN;
    free(sorted);
    return median;
}

/* ---- bootstrap ------------------------------------------------------------------------------- */

/* xorshift64* */
static uint64_t next_draw(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* The median of n values drawn from the sorted ones: their ranks are counted, not sorted. */
static double drawn_median(const double *sorted, size_t n, uint32_t *counts, uint64_t *state) {
    memset(counts, 0, n * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[(next_draw(state) >> 32) * n >> 32]++;
    size_t lower = (n - 1) / 2, upper = n / 2, seen = 0, at = 0;
    while (seen + counts[at] <= lower)
        seen += counts[at++];
    size_t first = at;
    while (seen + counts[at] <= upper)
        seen += counts[at++];
    return 0.5 * (sorted[first] + sorted[at]);
}

static bool resample(const double *sorted, size_t n, bench_interval *interval) {
    uint32_t *counts = malloc(n * sizeof *counts);
    double medians[N_RESAMPLED];
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; counts && i < N_RESAMPLED; i++)
        medians[i] = drawn_median(sorted, n, counts, &state);
    bool ok = counts != NULL;
    free(counts);
    if (!ok)
        return false;
    bench_sort(medians, N_RESAMPLED);
    *interval = (bench_interval){bench_percentile(medians, N_RESAMPLED, 0.025),
                                 bench_percentile(medians, N_RESAMPLED, 0.975)};
    return true;
}

/* The interval becomes narrower with the square root of the number of values: one of fewer values
 * is brought to the width that it has for all of them. */
static bool interval_of_sorted(double *sorted, size_t n, bench_interval *interval) {
    *interval = (bench_interval){0, 0};
    if (n == 0)
        return true;
    double median = bench_percentile(sorted, n, 0.5), narrower = 1;
    if (n > MOST_RESAMPLED_VALUES) {
        for (size_t i = 0; i < MOST_RESAMPLED_VALUES; i++)
            sorted[i] =
                bench_percentile(sorted, n, ((double)i + 0.5) / (double)MOST_RESAMPLED_VALUES);
        narrower = sqrt((double)MOST_RESAMPLED_VALUES / (double)n);
        n = MOST_RESAMPLED_VALUES;
    }
    if (!resample(sorted, n, interval))
        return false;
    interval->low = median - narrower * (median - interval->low);
    interval->high = median + narrower * (interval->high - median);
    return true;
}

bool bench_median_interval(const double *values, size_t n, bench_interval *interval) {
    double *sorted = sorted_copy(values, n);
    bool ok = sorted && interval_of_sorted(sorted, n, interval);
    free(sorted);
    return ok;
}

/* ---- one series ------------------------------------------------------------------------------ */

bool bench_stats_make(const double *values, size_t n, bench_stats *s) {
    *s = (bench_stats){.n = n};
    double *sorted = sorted_copy(values, n), sum = 0, squares = 0;
    if (!sorted || n == 0) {
        free(sorted);
        return n == 0;
    }
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    s->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - s->mean) * (values[i] - s->mean);
    s->deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    s->min = sorted[0];
    s->max = sorted[n - 1];
    s->p50 = bench_percentile(sorted, n, 0.5);
    s->p90 = bench_percentile(sorted, n, 0.9);
    s->p95 = bench_percentile(sorted, n, 0.95);
    s->p99 = bench_percentile(sorted, n, 0.99);
    s->p999 = bench_percentile(sorted, n, 0.999);
    bool ok = interval_of_sorted(sorted, n, &s->median);
    free(sorted);
    return ok;
}

/* ---- two series ------------------------------------------------------------------------------ */

bool bench_compare_pairs(const double *a, const double *b, size_t n, bench_change *change) {
    double *ratios = malloc((n + 1) * sizeof *ratios);
    size_t n_ratios = 0;
    *change = (bench_change){.ratio = 1, .interval = {1, 1}};
    for (size_t i = 0; ratios && i < n; i++)
        if (a[i] > 0)
            ratios[n_ratios++] = b[i] / a[i];
    bool ok = ratios && bench_median_interval(ratios, n_ratios, &change->interval);
    if (ok && n_ratios) {
        change->ratio = bench_median(ratios, n_ratios);
        change->is_larger_than_noise =
            n_ratios >= LEAST_PAIRS && (change->interval.low > 1 || change->interval.high < 1);
    }
    free(ratios);
    return ok;
}

void bench_compare_medians(double a, const bench_interval *of_a, double b,
                           const bench_interval *of_b, bench_change *change) {
    *change = (bench_change){.ratio = 1, .interval = {1, 1}};
    if (!(a > 0 && of_a->low > 0 && of_a->high > 0))
        return;
    change->ratio = b / a;
    change->interval = (bench_interval){of_b->low / of_a->high, of_b->high / of_a->low};
    change->is_larger_than_noise = of_b->low > of_a->high || of_b->high < of_a->low;
}
