/* Pairs of floats, 8 at a time. */
#include "cpu/kernels/elementwise/binary_loops_int.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx2.h"
#  include "cpu/kernels/elementwise/binary_loops_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
