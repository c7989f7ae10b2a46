/* The matrix product in plain C, written so that compilers turn the strips into vectors of whatever
 * width the machine has. */
#include "kernels/kernel.h"

enum {
    GEMM_ROWS = 4, /* of a strip: 4 x 8 sums fit the registers of the smallest machine */
    GEMM_COLS = 8,
    GEMM_DEPTH = 128, /* of a slice */
    GEMM_WIDTH = 64,  /* of a block of columns: a slice stays in the first cache */
    GEMM_STRIDE =
        GEMM_WIDTH + 16, /* an odd number of cache lines: rows of a slice do not evict each other */
    GEMM_HEIGHT = 64,    /* rows of a task when there are few columns */
    GEMV_WIDTH = 1024    /* columns of a task when there are few rows */
};

#define HN_TEMPLATE "kernels/gemm_tmpl.h"
#define HN_TEMPLATE_INTS
#include "base/each_type_tmpl.h"
