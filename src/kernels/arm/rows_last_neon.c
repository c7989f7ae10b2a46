/* Rows of channels, 4 floats at a time. */
#include "kernels/rows_last.h"

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
#  include "kernels/rows_last_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
