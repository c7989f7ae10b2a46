/* The statistics of `hone bench`. */
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/bench_stats.h"

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}
#define NEAR(a, b) assert_true(is_near(a, b))

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53;
}

static void percentiles_are_interpolated(void **state) {
    (void)state;
    double values[101];
    for (int i = 0; i < 101; i++)
        values[i] = (double)((i * 37) % 101);
    bench_stats s;
    assert_true(bench_stats_make(values, 101, &s));
    assert_int_equal(s.n, 101);
    NEAR(s.mean, 50);
    NEAR(s.min, 0);
    NEAR(s.max, 100);
    NEAR(s.deviation, sqrt(101.0 * 102 / 12)); /* of 0 to n - 1: n (n + 1) / 12 */
    NEAR(s.p50, 50);
    NEAR(s.p90, 90);
    NEAR(s.p95, 95);
    NEAR(s.p99, 99);
    NEAR(s.p999, 99.9);
    NEAR(bench_percentile((double[]){1, 2}, 2, 0.25), 1.25);
    NEAR(bench_median((double[]){4, 1, 3, 2}, 4), 2.5);
}

static void few_values_have_statistics(void **state) {
    (void)state;
    bench_stats s;
    assert_true(bench_stats_make(NULL, 0, &s));
    assert_int_equal(s.n, 0);
    NEAR(s.p50, 0);
    assert_true(isnan(bench_median(NULL, 0)));
    assert_true(bench_stats_make((double[]){7}, 1, &s));
    NEAR(s.p50, 7);
    NEAR(s.p999, 7);
    NEAR(s.deviation, 0);
    NEAR(s.median.low, 7);
    NEAR(s.median.high, 7);
}

static void intervals_contain_the_median(void **state) {
    (void)state;
    enum { N = 200, TRIALS = 200 };
    uint64_t random = 1;
    int n_inside = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double values[N];
        bench_interval in;
        for (int i = 0; i < N; i++)
            values[i] = uniform(&random);
        assert_true(bench_median_interval(values, N, &in));
        assert_true(in.low < in.high);
        n_inside += in.low <= 0.5 && 0.5 <= in.high;
    }
    assert_in_range(n_inside, TRIALS * 88 / 100, TRIALS); /* 95 % of them, give or take chance */
}

static void intervals_are_the_same_each_time(void **state) {
    (void)state;
    double values[50];
    uint64_t random = 3;
    bench_interval a, b;
    for (int i = 0; i < 50; i++)
        values[i] = uniform(&random);
    assert_true(bench_median_interval(values, 50, &a) && bench_median_interval(values, 50, &b));
    assert_memory_equal(&a, &b, sizeof a);
}

/* The interval of a long series is that of evenly spaced order statistics, made narrower. */
static void long_series_have_narrow_intervals(void **state) {
    (void)state;
    enum { MANY = 100000 };
    double *values = malloc(MANY * sizeof *values);
    uint64_t random = 5;
    bench_interval in;
    assert_non_null(values);
    for (int i = 0; i < MANY; i++)
        values[i] = uniform(&random);
    double median = bench_median(values, MANY);
    assert_true(bench_median_interval(values, MANY, &in));
    double expected = 2 * 1.96 * 0.5 / sqrt((double)MANY); /* of a uniform distribution */
    assert_true(in.low < median && median < in.high);
    assert_true(in.high - in.low > 0.7 * expected && in.high - in.low < 1.4 * expected);
    free(values);
}

/* Both are slowed down together for a while: the pairs still show a difference of 2 %. */
static void pairs_see_through_drift(void **state) {
    (void)state;
    double a[40], b[40];
    uint64_t random = 7;
    bench_change c;
    for (int i = 0; i < 40; i++) {
        double load = i < 20 ? 1 : 1.5;
        a[i] = load * (1 + 0.01 * uniform(&random));
        b[i] = load * 1.02 * (1 + 0.01 * uniform(&random));
    }
    assert_true(bench_compare_pairs(a, b, 40, &c));
    assert_true(c.is_larger_than_noise);
    assert_true(c.ratio > 1.01 && c.ratio < 1.03);
    assert_true(c.interval.low <= c.ratio && c.ratio <= c.interval.high);
    assert_true(bench_compare_pairs(a, a, 40, &c));
    assert_false(c.is_larger_than_noise);
    NEAR(c.ratio, 1);
}

static void noise_is_no_difference(void **state) {
    (void)state;
    double a[40], b[40];
    uint64_t random = 11;
    bench_change c;
    int n_found = 0;
    for (int trial = 0; trial < 100; trial++) {
        for (int i = 0; i < 40; i++) {
            a[i] = 1 + uniform(&random);
            b[i] = 1 + uniform(&random);
        }
        assert_true(bench_compare_pairs(a, b, 40, &c));
        n_found += c.is_larger_than_noise;
    }
    assert_in_range(n_found, 0, 12);
    assert_true(bench_compare_pairs((double[]){1, 1, 1}, (double[]){2, 2, 2}, 3, &c));
    assert_false(c.is_larger_than_noise); /* three pairs prove nothing */
    NEAR(c.ratio, 2);
    assert_true(bench_compare_pairs(NULL, NULL, 0, &c));
    NEAR(c.ratio, 1);
    assert_true(bench_compare_pairs((double[]){0}, (double[]){1}, 1, &c));
    NEAR(c.ratio, 1);
}

static void medians_differ_when_intervals_are_apart(void **state) {
    (void)state;
    bench_interval a = {0.9, 1.1}, near = {1.0, 1.3}, apart = {1.2, 1.6}, none = {0, 0};
    bench_change c;
    bench_compare_medians(1, &a, 1.15, &near, &c);
    assert_false(c.is_larger_than_noise);
    NEAR(c.ratio, 1.15);
    bench_compare_medians(1, &a, 1.4, &apart, &c);
    assert_true(c.is_larger_than_noise);
    bench_compare_medians(0, &none, 1, &a, &c);
    assert_false(c.is_larger_than_noise);
    NEAR(c.ratio, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_interpolated),
        cmocka_unit_test(few_values_have_statistics),
        cmocka_unit_test(intervals_contain_the_median),
        cmocka_unit_test(intervals_are_the_same_each_time),
        cmocka_unit_test(long_series_have_narrow_intervals),
        cmocka_unit_test(pairs_see_through_drift),
        cmocka_unit_test(noise_is_no_difference),
        cmocka_unit_test(medians_differ_when_intervals_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
