/* Observers of activations and the ranges that follow from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "quant/observer.h"

static hn_arena *arena;

static int open_arena(void **state) {
    (void)state;
    arena = hn_arena_new(NULL);
    return arena ? 0 : -1;
}

static int close_arena(void **state) {
    (void)state;
    hn_arena_free(arena);
    return 0;
}

static void observe(hn_observer *o, const float *x, uint64_t n) {
    hn_observed_rows rows = {x, 1, n, n};
    assert_true(hn_observer_add(o, &rows, 0.5, NULL));
}

/* n numbers of a normal distribution, the last of them an outlier. */
static float *normal_numbers(uint64_t n, float deviation, float outlier) {
    float *x = hn_arena_alloc(arena, n * sizeof *x);
    hn_rng rng;
    hn_rng_seed(&rng, 7);
    for (uint64_t i = 0; i < n; i++)
        x[i] = deviation * hn_rng_normal(&rng);
    if (outlier != 0)
        x[n - 1] = outlier;
    return x;
}

static void test_order_does_not_matter(void **state) {
    (void)state;
    float *small = normal_numbers(70000, 0.01f, 0), *large = normal_numbers(5000, 50, 0);
    hn_observer *a = hn_observer_new(arena, true), *b = hn_observer_new(arena, true);
    observe(a, small, 70000);
    observe(a, large, 5000);
    observe(b, large, 5000);
    observe(b, small, 70000);
    assert_true(a->limit == b->limit && a->limit >= a->max && a->limit >= -a->min);
    assert_true(a->min == b->min && a->max == b->max && a->n == 75000);
    uint64_t n = 0;
    for (int sign = 0; sign < 2; sign++)
        for (int k = 0; k < HN_OBSERVER_BINS; k++) {
            assert_int_equal(a->counts[sign][k], b->counts[sign][k]);
            n += a->counts[sign][k];
        }
    assert_int_equal(n, 75000);
}

/* Every number in the bin of its magnitude and sign. */
static void test_bins(void **state) {
    (void)state;
    enum { N = 1003 };
    uint64_t expected[2][HN_OBSERVER_BINS] = {{0}};
    float *x = normal_numbers(N, 5, -31.9f);
    hn_observer *o = hn_observer_new(arena, true);
    x[0] = -0.0f;
    x[1] = 0;
    observe(o, x, N);
    assert_true(o->limit == 32);
    for (int i = 0; i < N; i++)
        expected[x[i] < 0][(int)(fabsf(x[i]) * HN_OBSERVER_BINS / 32)]++;
    for (int k = 0; k < HN_OBSERVER_BINS; k++) {
        assert_int_equal(o->counts[0][k], expected[0][k]);
        assert_int_equal(o->counts[1][k], expected[1][k]);
    }
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    enum { N = 300000 };
    float *x = normal_numbers(N, 3, 100);
    hn_pool *pool = hn_pool_new(3, NULL);
    hn_observer *a = hn_observer_new(arena, true), *b = hn_observer_new(arena, true);
    hn_observed_rows rows = {x, N / 100, 100, 100};
    observe(a, x, N);
    assert_true(hn_observer_add(b, &rows, 0.5, pool));
    hn_pool_free(pool);
    assert_memory_equal(a->counts[0], b->counts[0], HN_OBSERVER_BINS * sizeof(uint64_t));
    assert_memory_equal(a->counts[1], b->counts[1], HN_OBSERVER_BINS * sizeof(uint64_t));
    assert_true(a->min == b->min && a->max == b->max);
}

static void test_rows_with_gaps(void **state) {
    (void)state;
    float x[] = {1, 2, 1000, -3, 4, 1000, 5, 6, 1000};
    hn_observer *o = hn_observer_new(arena, true);
    hn_observed_rows rows = {x, 3, 2, 3};
    assert_true(hn_observer_add(o, &rows, 0.5, NULL));
    assert_true(o->min == -3 && o->max == 6 && o->n == 6);
}

static void test_not_finite(void **state) {
    (void)state;
    float x[40] = {0};
    x[3] = NAN;
    x[20] = INFINITY;
    x[39] = -INFINITY;
    x[5] = 2;
    hn_observer *o = hn_observer_new(arena, true);
    observe(o, x, 40);
    assert_int_equal(o->n_not_finite, 3);
    assert_true(o->max == 2 && o->min == 0);
}

static void test_moving_average(void **state) {
    (void)state;
    hn_observer *o = hn_observer_new(arena, false);
    observe(o, (const float[]){-1, 4}, 2);
    observe(o, (const float[]){-3, 2}, 2);
    hn_quant_type type = {HN_U8, false, false, false};
    hn_range_options options = {HONE_CALIBRATION_MOVING_AVERAGE, 100, &type};
    double low, high;
    assert_string_equal(hn_observer_range(o, &options, &low, &high), "moving-average");
    assert_true(low == -2 && high == 3);
}

/* A single outlier: all methods but minmax leave it out; the last has the least error. */
static void test_outlier(void **state) {
    (void)state;
    enum { N = 1000000 };
    hn_observer *o = hn_observer_new(arena, true);
    observe(o, normal_numbers(N, 1, 25), N);
    hn_quant_type type = {HN_U8, false, false, false};
    static const hone_calibration methods[] = {HONE_CALIBRATION_PERCENTILE,
                                               HONE_CALIBRATION_ENTROPY, HONE_CALIBRATION_MSE};
    double all = hn_observer_error(o, &type, o->min, o->max), low, high;
    for (size_t i = 0; i < HN_COUNT(methods); i++) {
        hn_range_options options = {methods[i], 99.99, &type};
        hn_observer_range(o, &options, &low, &high);
        assert_true(high < 20 && high > 2 && low < -2 && low >= o->min);
    }
    assert_true(hn_observer_error(o, &type, low, high) < 0.5 * all);
    hn_range_options options = {HONE_CALIBRATION_AUTO, 99.99, &type};
    hn_observer_range(o, &options, &low, &high);
    assert_true(hn_observer_error(o, &type, low, high) < 0.5 * all);
}

/* The histogram knows the error of rounding and clamping. */
static void test_error_estimate(void **state) {
    (void)state;
    enum { N = 100000 };
    float *x = normal_numbers(N, 2, 0);
    hn_observer *o = hn_observer_new(arena, true);
    observe(o, x, N);
    hn_quant_type type = {HN_I8, true, false, false};
    hn_quant_params p = hn_quant_params_of(&type, -4, 4);
    hn_quant_limits limits = hn_quant_limits_of(&type);
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        double e = x[i] - (double)hn_quant_number(x[i], p, limits) * p.scale;
        sum += e * e;
    }
    assert_true(fabs(hn_observer_error(o, &type, -4, 4) / (sum / N) - 1) < 0.02);
}

static void test_all_zero(void **state) {
    (void)state;
    float x[100] = {0};
    hn_observer *o = hn_observer_new(arena, true);
    observe(o, x, 100);
    hn_quant_type type = {HN_U8, false, false, false};
    hn_range_options options = {HONE_CALIBRATION_AUTO, 99.99, &type};
    double low, high;
    hn_observer_range(o, &options, &low, &high);
    assert_true(low == 0 && high == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_rows_with_gaps),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_moving_average),
        cmocka_unit_test(test_outlier),
        cmocka_unit_test(test_error_estimate),
        cmocka_unit_test(test_all_zero),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
