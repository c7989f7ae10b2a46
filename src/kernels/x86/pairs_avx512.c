/* Pairs of floats, 16 at a time. */
#include "kernels/vec_pairs_int.h"

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx512.h"
#  include "kernels/vec_pairs_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
