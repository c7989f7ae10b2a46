/* Inside and above cpu/kernels: every element of a run several times, as in pictures that grow. */
#ifndef HN_REPEAT_H
#define HN_REPEAT_H

#include "base/base.h"

/* to[i] = from[i / times], for n * times elements of 1, 2, 4 or 8 bytes. False: of others. */
bool hn_repeat_each(size_t elem_bytes, int64_t n, int64_t times, const void *from, void *to);

#endif /* HN_REPEAT_H */
