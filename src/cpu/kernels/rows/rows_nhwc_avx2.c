/* Rows of channels, 8 floats at a time. */
#include "cpu/kernels/rows/rows_nhwc.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx2.h"
#  include "cpu/kernels/rows/rows_nhwc_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
