/* Inside and above cpu/kernels: Fourier transforms of a power of two numbers. Real and imaginary
 * parts lie apart. */
#ifndef HN_FOURIER_H
#define HN_FOURIER_H

#include "base/base.h"

/* In place; re and im come in the order of reversed bits: what stands at i belongs to
 * hn_fourier_reversed. roots: those of hn_fourier_roots. */
typedef void hn_fourier_fn(int64_t n, const double *roots, double *re, double *im);
hn_fourier_fn *hn_fourier_pick(void); /* the best for this processor */

/* 2 * n numbers: for groups of 8, 16, ... n the first half of their roots of 1, exp(-2 pi i k / n),
 * real parts then imaginary ones. */
void hn_fourier_roots(int64_t n, double *roots);
/* places[i] is i with its bits reversed. */
void hn_fourier_reversed(int64_t n, int32_t *places);

#endif /* HN_FOURIER_H */
