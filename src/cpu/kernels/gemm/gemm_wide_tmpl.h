/* Wide tiles for all that a right side may be made of, and WIDE_TILES, the list of their tables. */
#define WIDE(name) V_NAME(hn_gemm_f32_##name)
#define RIGHT float
#define RIGHT_LOAD(p) V_LOAD(p)
#include "cpu/kernels/gemm/gemm_wide_rows_tmpl.h"

#ifdef V_LOAD_F16
#  define WIDE(name) V_NAME(hn_gemm_f16_##name)
#  define RIGHT uint16_t
#  define RIGHT_LOAD(p) V_LOAD_F16(p)
#  include "cpu/kernels/gemm/gemm_wide_rows_tmpl.h"

#  define WIDE(name) V_NAME(hn_gemm_bf16_##name)
#  define RIGHT uint16_t
#  define RIGHT_LOAD(p) V_LOAD_BF16(p)
#  include "cpu/kernels/gemm/gemm_wide_rows_tmpl.h"

#  define WIDE_TILES                                                                            \
    {                                                                                           \
      [HN_STORED_F32] = V_NAME(hn_gemm_f32_tiles), [HN_STORED_F16] = V_NAME(hn_gemm_f16_tiles), \
      [HN_STORED_BF16] = V_NAME(hn_gemm_bf16_tiles)                                             \
    }
#else
#  define WIDE_TILES \
    { [HN_STORED_F32] = V_NAME(hn_gemm_f32_tiles) }
#endif
