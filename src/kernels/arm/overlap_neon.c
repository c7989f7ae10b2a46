/* Boxes that overlap, 4 at a time. */
#include "kernels/overlap.h"

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
#  include "kernels/overlap_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
