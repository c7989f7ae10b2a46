/* Float products with NEON: tiles of 8 x 8. 16 registers hold sums, two a row of b, one an element
 * of a. */
#include "kernels/gemm_end.h"
#include "kernels/gemm_micro.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"

#  define MOST_ROWS 8
#  define FULL(rows) hn_gemm_f32_##rows##x8__neon
#  define NARROW(rows) hn_gemm_f32_##rows##x4__neon

#  define V_COLS 2
#  define TILE(rows) FULL(rows)
#  include "kernels/gemm_rows_tmpl.h"
#  define V_COLS 1
#  define TILE(rows) NARROW(rows)
#  include "kernels/gemm_rows_tmpl.h"

#  define ROWS 1
#  define V_COLS 16
#  define TILE(rows) hn_gemm_f32_1x64__neon
#  include "kernels/gemm_micro_tmpl.h"
#  undef TILE
#  undef V_COLS
#  define ROWS 1
#  define V_COLS 4
#  define TILE(rows) hn_gemm_f32_1x16__neon
#  include "kernels/gemm_micro_tmpl.h"
#  undef TILE
#  undef V_COLS
#  define ROWS 2
#  define V_COLS 8
#  define TILE(rows) hn_gemm_f32_2x32__neon
#  include "kernels/gemm_micro_tmpl.h"
#  undef TILE
#  undef V_COLS
#  define ROWS 3
#  define V_COLS 6
#  define TILE(rows) hn_gemm_f32_3x24__neon
#  include "kernels/gemm_micro_tmpl.h"
#  undef TILE
#  undef V_COLS

const hn_gemm_set_f32 hn_gemm_set_f32__neon = {
    .max_rows = MOST_ROWS,
    .cols = 8,
    .full = {NULL, FULL(1), FULL(2), FULL(3), FULL(4), FULL(5), FULL(6), FULL(7), FULL(8)},
    .narrow = {NULL, NARROW(1), NARROW(2), NARROW(3), NARROW(4), NARROW(5), NARROW(6), NARROW(7),
               NARROW(8)},
    .wide = {{1, 64, hn_gemm_f32_1x64__neon},
             {1, 16, hn_gemm_f32_1x16__neon},
             {2, 32, hn_gemm_f32_2x32__neon},
             {3, 24, hn_gemm_f32_3x24__neon},
             {0, 0, NULL}}};

#  undef NARROW
#  undef FULL
#  undef MOST_ROWS
#  include "kernels/simd_end.h"
#endif
