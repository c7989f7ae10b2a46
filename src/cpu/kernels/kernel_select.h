/* Inside and above kernels/: the table of kernels, and which of their versions this processor gets:
 * the best that it has, that the operating system saves, and that HONE_CPU admits. */
#ifndef HN_KERNEL_SELECT_H
#define HN_KERNEL_SELECT_H

#include "base/base.h"

typedef enum hn_kernel_tier {
    HN_TIER_SCALAR, /* plain C */
    HN_TIER_NEON,
    HN_TIER_AVX2,
    HN_TIER_AVX512
} hn_kernel_tier;
hn_kernel_tier hn_kernel_tier_of_cpu(void);
const char *hn_kernel_tier_name(hn_kernel_tier tier); /* as HONE_CPU spells it */

/* A row of kernels.def. */
typedef struct hn_kernel {
    const char *name;
    const char *tiles; /* with AVX-512, AVX2, NEON */
    const char *summary;
} hn_kernel;
const hn_kernel *hn_kernel_row(uint32_t row); /* NULL past the last */

#endif /* HN_KERNEL_SELECT_H */
