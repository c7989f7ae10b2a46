/* Fourier transforms against sums over all numbers. */
#include "kern/kern.h"

#include <float.h>
#include <math.h>

#include "cpu/kernels/fourier/fourier.h"

static double *kern_doubles(int64_t n) {
    double *x = (double *)(void *)kern_bytes(n * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)kern_between(-1000, 1000) / 500;
    return x;
}

static void check_number(int64_t n, int64_t k, const double *re, const double *im, double got_re,
                         double got_im) {
    double sum_re = 0, sum_im = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        double angle = -6.28318530717958647692 * (double)(i * k % n) / (double)n;
        sum_re += re[i] * cos(angle) - im[i] * sin(angle);
        sum_im += re[i] * sin(angle) + im[i] * cos(angle);
        size += fabs(re[i]) + fabs(im[i]);
    }
    double most = 32 * DBL_EPSILON * size;
    KERN_CHECK(fabs(got_re - sum_re) <= most && fabs(got_im - sum_im) <= most,
               "transform of %d numbers: %d is %g, %g, not %g, %g", (int)n, (int)k, got_re, got_im,
               sum_re, sum_im);
}

static void check_fourier(int64_t n) {
    if (kern_leaves_out())
        return;
    double *re = kern_doubles(n), *im = kern_doubles(n), *out_re = kern_doubles(n),
           *out_im = kern_doubles(n), *roots = kern_doubles(2 * n);
    int32_t *places = (int32_t *)(void *)kern_bytes(n * (int64_t)sizeof *places);
    hn_fourier_roots(n, roots);
    hn_fourier_reversed(n, places);
    for (int64_t i = 0; i < n; i++) {
        out_re[i] = re[places[i]];
        out_im[i] = im[places[i]];
    }
    hn_fourier_pick()(n, roots, out_re, out_im);
    for (int64_t k = 0; k < n; k++)
        check_number(n, k, re, im, out_re[k], out_im[k]);
    kern_release();
}

void kern_test_fourier(void) {
    for (int64_t n = 1; n <= 1024; n *= 2)
        check_fourier(n);
}
