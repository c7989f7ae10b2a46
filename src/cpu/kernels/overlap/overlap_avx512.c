/* Boxes that overlap, 16 at a time. */
#include "cpu/kernels/overlap/overlap.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_avx512.h"
#  include "cpu/kernels/overlap/overlap_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
