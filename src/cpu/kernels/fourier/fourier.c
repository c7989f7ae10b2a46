/* Fourier transforms of a power of two numbers. */
#include "cpu/kernels/fourier/fourier.h"

#include <math.h>

#define FULL_TURN 6.28318530717958647692 /* 2 pi */

void hn_fourier_roots(int64_t n, double *roots) {
    for (int64_t half = 4; half < n; roots += 2 * half, half *= 2)
        for (int64_t k = 0; k < half && !hn_spent(32); k++) {
            double angle = FULL_TURN * (double)k / (double)(2 * half);
            roots[k] = cos(angle);
            roots[half + k] = -sin(angle);
        }
}

void hn_fourier_reversed(int64_t n, int32_t *places) {
    places[0] = 0;
    for (int64_t width = 1, step = n / 2; width < n; width *= 2, step /= 2)
        for (int64_t i = 0; i < width; i++)
            places[width + i] = places[i] + (int32_t)step;
}

/* ---- plain C, and with vectors --------------------------------------------------------------- */

#define V_TARGET
#define V_INLINE static inline
#define V_NAME(name) name##__scalar
#include "cpu/kernels/fourier/fourier_tmpl.h"
#undef V_TARGET
#undef V_INLINE
#undef V_NAME

#define SIMD_TEMPLATE "cpu/kernels/fourier/fourier_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
