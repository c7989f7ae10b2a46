/* Matrix products of given sizes, measured. */
#ifndef HONE_CLI_PRODUCT_TIME_H
#define HONE_CLI_PRODUCT_TIME_H

#include "profile/profile.h"

/* Seconds of the fastest run of [m,k] x [k,n] with constant right side: floats, or 8-bit integers
 * with 32-bit sums. At least five runs, and as many as fit into the time. 0: it could not be
 * measured. */
double product_seconds(int64_t m, int64_t k, int64_t n, bool is_integer, int n_threads,
                       double spent_seconds);

#endif /* HONE_CLI_PRODUCT_TIME_H */
