/* Folds of floats, 4 at a time. */
#include "cpu/kernels/reduce/reduce_loops.h"

#include <math.h>

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_neon.h"
#  include "cpu/kernels/reduce/reduce_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
