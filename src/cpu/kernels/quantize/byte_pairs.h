/* Sums and products of bytes, element by element, with scales and zero points. */
#ifndef HN_BYTE_PAIRS_H
#define HN_BYTE_PAIRS_H

#include "base/base.h"

/* Sums: y = (a - a_zero) * by_a + (b - b_zero) * by_b; products: (a - a_zero) * (b - b_zero) *
 * by_a; rounded to the nearest (ties to even), plus y_zero, within the type. Every operation is
 * rounded to float32 by itself, so that all processors compute the same. */
typedef struct hn_byte_pair {
    float a_zero, b_zero, by_a, by_b, y_zero;
} hn_byte_pair;

/* Steps of 0 or 1: one element of an operand for all, or one for each. All of one type. */
typedef void (*hn_byte_pair_fn)(uint64_t n, const void *a, int a_step, const void *b, int b_step,
                                const hn_byte_pair *by, void *y);
typedef struct hn_byte_pair_loops {
    hn_byte_pair_fn add_u8, add_s8, mul_u8, mul_s8;
} hn_byte_pair_loops;
const hn_byte_pair_loops *hn_byte_pair_loops_find(void); /* the best for this processor */
extern const hn_byte_pair_loops hn_byte_pair_loops__scalar;

#endif /* HN_BYTE_PAIRS_H */
