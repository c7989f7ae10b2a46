/* Folds of floats, 4 at a time. */
#include "kernels/folds.h"

#include <math.h>

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
#  include "kernels/folds_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
