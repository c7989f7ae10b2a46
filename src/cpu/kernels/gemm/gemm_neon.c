/* Float products with NEON: tiles of 8 x 8. 16 registers hold sums, two a row of b, one an element
 * of a. */
#include "cpu/kernels/gemm/gemm_epilogue.h"
#include "cpu/kernels/gemm/gemm_micro.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"

#  define MOST_ROWS 8
#  define FULL(rows) hn_gemm_f32_##rows##x8__neon
#  define NARROW(rows) hn_gemm_f32_##rows##x4__neon

#  define V_COLS 2
#  define TILE(rows) FULL(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"
#  define V_COLS 1
#  define TILE(rows) NARROW(rows)
#  include "cpu/kernels/gemm/gemm_rows_tmpl.h"

#  include "cpu/kernels/gemm/gemm_wide_tmpl.h"

const hn_gemm_set_f32 hn_gemm_set_f32__neon = {
    .max_rows = MOST_ROWS,
    .cols = 8,
    .working_set_elems = 32 * 1024,
    .full = {NULL, FULL(1), FULL(2), FULL(3), FULL(4), FULL(5), FULL(6), FULL(7), FULL(8)},
    .narrow = {NULL, NARROW(1), NARROW(2), NARROW(3), NARROW(4), NARROW(5), NARROW(6), NARROW(7),
               NARROW(8)},
    .wide = WIDE_TILES};

#  undef WIDE_TILES
#  undef NARROW
#  undef FULL
#  undef MOST_ROWS
#  include "cpu/kernels/simd/simd_end.h"
#endif
