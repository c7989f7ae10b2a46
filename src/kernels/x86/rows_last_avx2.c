/* Rows of channels, 8 floats at a time. */
#include "kernels/rows_last.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx2.h"
#  include "kernels/rows_last_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
