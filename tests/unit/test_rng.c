/* Random number generators and their distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

/* Values computed once from the published algorithms: a change of them changes every recorded
 * experiment. */
static void test_known_sequence(void **state) {
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(0x99EC5F36CB75F2B4), UINT64_C(0xBF6E1F784956452A), UINT64_C(0x1A5F849D4933E6E0),
        UINT64_C(0x6AA594F1262D2D2C), UINT64_C(0xBBA5AD4A1F842E59), UINT64_C(0xFFEF8375D9EBCACA),
    };
    hn_rng r;
    hn_rng_seed(&r, 0);
    for (size_t i = 0; i < HN_COUNT(expected); i++) {
        assert_true(hn_rng_u64(&r) == expected[i]);
    }
}

static void test_known_normals(void **state) {
    (void)state;
    static const float expected[] = {-0x1.5c2ea6p-1f, -0x1.42fa6p-1f,  0x1.983d96p-1f,
                                     0x1.985c1cp-2f,  -0x1.0230bcp-1f, -0x1.922b08p-2f};
    hn_rng r;
    hn_rng_seed(&r, 42);
    for (size_t i = 0; i < HN_COUNT(expected); i++) {
        assert_true(hn_rng_normal(&r) == expected[i]);
    }
}

static void test_below_is_uniform(void **state) {
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    int counts[N] = {0};
    hn_rng r;
    hn_rng_seed(&r, 3);
    for (int i = 0; i < DRAWS; i++) {
        counts[hn_rng_below(&r, N)]++;
    }
    for (int i = 0; i < N; i++) {
        assert_in_range(counts[i], DRAWS / N - 500, DRAWS / N + 500);
    }
    assert_true(hn_rng_below(&r, 1) == 0);
    /* Just above 2^63 almost half of the draws are rejected. */
    uint64_t n = (UINT64_C(1) << 63) + 1;
    for (int i = 0; i < 1000; i++) {
        assert_true(hn_rng_below(&r, n) < n);
    }
}

static void test_unit_interval(void **state) {
    (void)state;
    enum { DRAWS = 100000 };
    double sum = 0;
    hn_rng r;
    hn_rng_seed(&r, 4);
    for (int i = 0; i < DRAWS; i++) {
        double d = hn_rng_f64(&r);
        assert_true(d >= 0 && d < 1);
        sum += d;
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 0.005);
}

/* The share of deviates in each half-unit interval against the error function; four sigma of
 * counting noise. */
static void test_normal_distribution(void **state) {
    (void)state;
    enum { DRAWS = 1000000, N_BINS = 20 };
    static int counts[N_BINS];
    double sum = 0, sum_squares = 0;
    hn_rng r;
    hn_rng_seed(&r, 5);
    for (int i = 0; i < DRAWS; i++) {
        double v = (double)hn_rng_normal(&r);
        int bin = (int)floor(2 * v) + N_BINS / 2;
        if (bin >= 0 && bin < N_BINS) {
            counts[bin]++;
        }
        sum += v;
        sum_squares += v * v;
    }
    assert_true(fabs(sum / DRAWS) < 0.004);
    assert_true(fabs(sum_squares / DRAWS - 1) < 0.006);
    for (int bin = 0; bin < N_BINS; bin++) {
        double low = (bin - N_BINS / 2) / 2.0;
        double share = 0.5 * (erf((low + 0.5) / sqrt(2)) - erf(low / sqrt(2)));
        double expected = DRAWS * share;
        assert_true(fabs(counts[bin] - expected) < 4 * sqrt(expected) + 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sequence),      cmocka_unit_test(test_known_normals),
        cmocka_unit_test(test_below_is_uniform),    cmocka_unit_test(test_unit_interval),
        cmocka_unit_test(test_normal_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
