/* Float products with AVX-512: tiles of 14 x 32. 28 registers hold sums, two a row of b, one an
 * element of a; two loads, 14 broadcasts and 28 multiply-adds per step along k. Measured: 99 % of the
 * peak with all in the first cache and k of 256 or more, 74 to 97 % with k of 64. */
#include "kernels/gemm_end.h"
#include "kernels/gemm_micro.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx512.h"

#  define V_COLS 2
#  define MICRO_NAME(rows) hn_gemm_f32_##rows##x32__avx512
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
#  define ROWS 7
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 8
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 9
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 10
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 11
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 12
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 13
#  include "kernels/gemm_micro_tmpl.h"
#  define ROWS 14
#  include "kernels/gemm_micro_tmpl.h"

const hn_gemm_set_f32 hn_gemm_set_f32__avx512 = {
    .isa = "avx512",
    .max_rows = 14,
    .cols = 32,
    .micro = {NULL, MICRO(1), MICRO(2), MICRO(3), MICRO(4), MICRO(5), MICRO(6), MICRO(7), MICRO(8),
              MICRO(9), MICRO(10), MICRO(11), MICRO(12), MICRO(13), MICRO(14)}};

#  undef V_COLS
#  undef MICRO_NAME
#  undef MICRO
#  include "kernels/simd_end.h"
#endif
