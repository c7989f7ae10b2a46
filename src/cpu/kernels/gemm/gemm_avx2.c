/* Float products with AVX2 and FMA: tiles of 6 x 16. 12 registers hold sums, two a row of b, one an
 * element of a. Measured: 87 % of the peak within products of 768 steps along k. */
#include "cpu/kernels/gemm/gemm_epilogue.h"
#include "cpu/kernels/gemm/gemm_micro.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx2.h"

#  define MOST_ROWS 6
#  define FULL(rows) hn_gemm_f32_##rows##x16__avx2
#  define NARROW(rows) hn_gemm_f32_##rows##x8__avx2

#  define V_COLS 2
#  define TILE(rows) FULL(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"
#  define V_COLS 1
#  define TILE(rows) NARROW(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"

#  include "cpu/kernels/gemm/gemm_wide_tmpl.h"

const hn_gemm_set_f32 hn_gemm_set_f32__avx2 = {
    .max_rows = MOST_ROWS,
    .cols = 16,
    .working_set_elems = 32 * 1024,
    .full = {NULL, FULL(1), FULL(2), FULL(3), FULL(4), FULL(5), FULL(6)},
    .narrow = {NULL, NARROW(1), NARROW(2), NARROW(3), NARROW(4), NARROW(5), NARROW(6)},
    .wide = WIDE_TILES};

#  undef WIDE_TILES
#  undef NARROW
#  undef FULL
#  undef MOST_ROWS
#  include "cpu/kernels/simd/simd_end.h"
#endif
