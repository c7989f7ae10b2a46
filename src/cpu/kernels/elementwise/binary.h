/* Inside and above cpu/kernels: functions of two floats, and select. */
#ifndef HN_PAIRS_H
#define HN_PAIRS_H

#include "base/base.h"

/* z[i] = x[i * step_x] op y[i * step_y]; steps are 0 or 1. z may be x or y where their step is 1.
 */
typedef void (*hn_binary_fn)(const void *x, int step_x, const void *y, int step_y, void *z,
                             uint64_t n);
/* A fast loop over floats for an operator of vec_pairs.def: z holds floats, or bytes 0 and 1 after
 * a comparison. NULL: there is none on this processor. */
hn_binary_fn hn_binary_find_f32(const char *op);

/* z[i] = condition[i * steps[0]] ? x[i * steps[1]] : y[i * steps[2]], of elements of 4 bytes. */
typedef void (*hn_select_fn)(const uint8_t *condition, const void *x, const void *y,
                             const int steps[3], void *z, uint64_t n);
hn_select_fn hn_select_find_32(void); /* NULL: none on this processor */

#endif /* HN_PAIRS_H */
