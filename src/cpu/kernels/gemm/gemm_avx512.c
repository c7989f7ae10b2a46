/* Float products with AVX-512: tiles of 14 x 32. 28 registers hold sums, two a row of b, one an
 * element of a; two loads, 14 broadcasts and 28 multiply-adds per step along k. Measured: 99 % of
 * the peak with all in the first cache and k of 256 or more, 74 to 97 % with k of 64. Few rows meet
 * up to 8 panels at once, so that no sum waits for itself. */
#include "cpu/kernels/gemm/gemm_epilogue.h"
#include "cpu/kernels/gemm/gemm_micro.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512.h"

#  define MOST_ROWS 14
#  define FULL(rows) hn_gemm_f32_##rows##x32__avx512
#  define NARROW(rows) hn_gemm_f32_##rows##x16__avx512

#  define V_COLS 2
#  define TILE(rows) FULL(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"
#  define V_COLS 1
#  define TILE(rows) NARROW(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"

#  include "cpu/kernels/gemm/gemm_wide_tmpl.h"

const hn_gemm_set_f32 hn_gemm_set_f32__avx512 = {
    .max_rows = MOST_ROWS,
    .cols = 32,
    .working_set_elems = 64 * 1024,
    .full = {NULL, FULL(1), FULL(2), FULL(3), FULL(4), FULL(5), FULL(6), FULL(7), FULL(8), FULL(9),
             FULL(10), FULL(11), FULL(12), FULL(13), FULL(14)},
    .narrow = {NULL, NARROW(1), NARROW(2), NARROW(3), NARROW(4), NARROW(5), NARROW(6), NARROW(7),
               NARROW(8), NARROW(9), NARROW(10), NARROW(11), NARROW(12), NARROW(13), NARROW(14)},
    .wide = WIDE_TILES};

#  undef WIDE_TILES
#  undef NARROW
#  undef FULL
#  undef MOST_ROWS
#  include "cpu/kernels/simd/simd_end.h"
#endif
