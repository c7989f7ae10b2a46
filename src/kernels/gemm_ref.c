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

#define PASTE_NAME(a, b) a##_##b
#define T float
#define NAME(x) PASTE_NAME(x, f32)
#include "kernels/gemm_tmpl.h"
#undef T
#undef NAME
#define T double
#define NAME(x) PASTE_NAME(x, f64)
#include "kernels/gemm_tmpl.h"
#undef T
#undef NAME
#define T uint32_t
#define NAME(x) PASTE_NAME(x, u32)
#include "kernels/gemm_tmpl.h"
#undef T
#undef NAME
#define T uint64_t
#define NAME(x) PASTE_NAME(x, u64)
#include "kernels/gemm_tmpl.h"
#undef T
#undef NAME
#undef PASTE_NAME
