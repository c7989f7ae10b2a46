/* Inside cpu/kernels: matrices whose tiles are transposed in registers. */
#ifndef HN_TRANSPOSE_INT_H
#define HN_TRANSPOSE_INT_H

#include "cpu/kernels/transpose/transpose.h"

typedef void hn_transpose_fn(const hn_transpose_job *job);
hn_transpose_fn *hn_transpose_pick(void); /* the best for this processor */

enum { HN_TRANSPOSE_LEAST_SIDE = 5 }; /* shorter ones gain nothing from tiles */

#endif /* HN_TRANSPOSE_INT_H */
