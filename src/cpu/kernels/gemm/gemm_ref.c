/* The matrix product in plain C, written so that compilers turn the strips into vectors of whatever
 * width the machine has. */
#include "cpu/kernels/kernel.h"

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

#define HN_TEMPLATE "cpu/kernels/gemm/gemm_tmpl.h"
#define HN_TEMPLATE_INTS
#include "base/each_type_tmpl.h"

/* Types that have no faster tiers. */
#define GEMM_IS_PLAIN(name, T)                                        \
  void hn_gemm_##name(hn_pool *pool, const hn_gemm_job_##name *job) { \
    hn_gemm_plain_##name(pool, job);                                  \
  }
GEMM_IS_PLAIN(f64, double)
GEMM_IS_PLAIN(u32, uint32_t)
GEMM_IS_PLAIN(u64, uint64_t)
#undef GEMM_IS_PLAIN
