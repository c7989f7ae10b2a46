/* Float products with AVX2 and FMA: tiles of 6 x 16. 12 registers hold sums, two a row of b, one an
 * element of a. */
#include "kernels/gemm_micro.h"

#if defined(__x86_64__)
#  include <immintrin.h>

#  define V __m256
#  define V_ELEMS 8
#  define V_COLS 2
#  define V_TARGET __attribute__((target("avx2,fma")))
#  define V_ZERO() _mm256_setzero_ps()
#  define V_LOAD(p) _mm256_loadu_ps(p)
#  define V_STORE(p, v) _mm256_storeu_ps(p, v)
#  define V_SET1(p) _mm256_broadcast_ss(p)
#  define V_ADD(a, b) _mm256_add_ps(a, b)
#  define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#  define MICRO_NAME(rows) hn_gemm_f32_##rows##x16__avx2
#  define MICRO(rows) MICRO_NAME(rows)

#  define ROWS 1
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 2
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 3
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 4
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 5
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 6
#  include "kernels/gemm_micro_tmpl.h"

const hn_gemm_set_f32 hn_gemm_set_f32__avx2 = {.isa = "avx2",
    .max_rows = 6,
    .cols = 16,
    .micro = {NULL, MICRO(1), MICRO(2), MICRO(3), MICRO(4), MICRO(5), MICRO(6)}};

#  undef V
#  undef V_ELEMS
#  undef V_COLS
#  undef V_TARGET
#  undef V_ZERO
#  undef V_LOAD
#  undef V_STORE
#  undef V_SET1
#  undef V_ADD
#  undef V_FMA
#  undef MICRO_NAME
#  undef MICRO
#endif
