/* What the processor can do at most: the arithmetic of sums that stay in registers, and the speed
 * of reading. */
#ifndef HN_PEAKS_H
#define HN_PEAKS_H

#include "base/base.h"

/* Best seen on all threads of the pool together (NULL: one thread), per second: a peak measured
 * while others run would flatter the kernels. */
double hn_peak_flops(hn_pool *pool);
/* From a buffer of n_bytes, which the threads share out. 0: no memory. */
double hn_peak_read_bytes(hn_pool *pool, size_t n_bytes, int n_times);

#endif /* HN_PEAKS_H */
