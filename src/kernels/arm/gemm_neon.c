/* Float products with NEON: tiles of 8 x 8. 16 registers hold sums, two a row of b, one an element of
 * a. */
#include "kernels/gemm_micro.h"

#if defined(__aarch64__)
#  include <arm_neon.h>

#  define V float32x4_t
#  define V_ELEMS 4
#  define V_COLS 2
#  define V_TARGET 
#  define V_ZERO() vdupq_n_f32(0)
#  define V_LOAD(p) vld1q_f32(p)
#  define V_STORE(p, v) vst1q_f32(p, v)
#  define V_SET1(p) vld1q_dup_f32(p)
#  define V_ADD(a, b) vaddq_f32(a, b)
#  define V_FMA(a, b, c) vfmaq_f32(c, a, b)
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
    .micro = {NULL, MICRO(1), MICRO(2), MICRO(3), MICRO(4), MICRO(5), MICRO(6), MICRO(7), MICRO(8)}};

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
