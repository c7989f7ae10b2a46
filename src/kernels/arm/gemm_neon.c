/* Float products with NEON: tiles of 8 x 8. 16 registers hold sums, two a row of b, one an element
 * of a. */
#include "kernels/gemm_end.h"
#include "kernels/gemm_micro.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"

#  define V_COLS 2
#  define MICRO_NAME(rows) hn_gemm_f32_##rows##x8__neon
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

const hn_gemm_set_f32 hn_gemm_set_f32__neon = {.isa = "neon",
                                               .max_rows = 8,
                                               .cols = 8,
                                               .micro = {NULL, MICRO(1), MICRO(2), MICRO(3),
                                                         MICRO(4), MICRO(5), MICRO(6), MICRO(7),
                                                         MICRO(8)}};

#  undef V_COLS
#  undef MICRO_NAME
#  undef MICRO
#  include "kernels/simd_end.h"
#endif
