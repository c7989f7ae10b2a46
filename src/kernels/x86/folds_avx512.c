/* Folds of floats, 16 at a time. */
#include "kernels/folds.h"

#include <math.h>

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx512.h"
#  include "kernels/folds_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
