/* Inside cpu/kernels: temporary memory of a task that is too large for its stack; some systems give
 * threads 128 KB. Each thread has one block, made at the first use and kept until it ends. */
#ifndef HN_WORKSPACE_H
#define HN_WORKSPACE_H

#include "base/base.h"

/* All that a thread holds at a time. Largest today: the panels of a float product, the left side of
 * its tiles, and the band that is made into panels of a convolution: 246 KB. */
#define HN_WORKSPACE_BYTES ((size_t)384 * 1024)

/* Last in, first out, within one task: nobody starts a parallel loop in between. Never fails, is
 * aligned to 64 bytes, and holds anything. */
void *hn_workspace_push(size_t bytes);
void hn_workspace_pop(void *at);

#endif /* HN_WORKSPACE_H */
