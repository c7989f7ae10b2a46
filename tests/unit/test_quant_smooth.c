/* How much of the spread of channels moves into weights. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quant/smooth.h"

/* Even channels, or none: the middle stays. */
static void test_even(void **state) {
    (void)state;
    const double ones[4] = {1, 1, 1, 1}, zeros[4] = {0};
    assert_true(hn_smooth_alpha(4, ones, ones, ones) == 0.5);
    assert_true(hn_smooth_alpha(4, zeros, zeros, ones) == 0.5);
    assert_true(hn_smooth_alpha(0, NULL, NULL, NULL) == 0.5);
}

/* The rarer the large numbers of an activation are, the more moves into the weights. */
static void test_outliers(void **state) {
    (void)state;
    const double a[4] = {1, 0.01, 0.02, 0.03}, w[4] = {1, 1, 0.5, 0.8};
    const double rare[4] = {1e-3, 1e-6, 4e-6, 9e-6}, full[4] = {1, 1e-4, 4e-4, 9e-4};
    double of_rare = hn_smooth_alpha(4, a, rare, w), of_full = hn_smooth_alpha(4, a, full, w);
    assert_true(of_rare > 0.5 && of_full < of_rare && of_full < 0.5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_even),
                                       cmocka_unit_test(test_outliers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
