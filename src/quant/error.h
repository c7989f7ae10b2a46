/* How far numbers are from what they were before quantization. */
#ifndef HN_QUANT_ERROR_H
#define HN_QUANT_ERROR_H

#include "quant/scheme.h"

/* Sums over pairs of numbers; zero-initialized. */
typedef struct hn_quant_error {
    uint64_t n;
    double signal, noise; /* sums of squares: of the numbers, and of the differences */
    double sum;           /* of the differences */
    double sum_abs, max_abs;
} hn_quant_error;
void hn_quant_error_add(hn_quant_error *e, uint64_t n, const float *exact, const float *got);
/* Signal to noise in decibels; infinite without an error, NAN without a signal. */
double hn_quant_sqnr(const hn_quant_error *e);
/* A tensor and what hn_quant_tensor made of it, by the same axis and block. */
hone_status hn_quant_error_of(const hn_tensor *w, const hn_quant_result *q, int32_t axis,
                              int64_t block, hn_quant_error *out);

#endif /* HN_QUANT_ERROR_H */
