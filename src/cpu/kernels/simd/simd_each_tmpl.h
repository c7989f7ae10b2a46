/* Includes the file that SIMD_TEMPLATE names once for each instruction set of this architecture
 * that has vectors of floats, with the words of its simd_*.h. No guard: it is meant to be included
 * again. */
#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512.h"
#  include SIMD_TEMPLATE
#  include "cpu/kernels/simd/simd_end.h"

#  include "cpu/kernels/simd/simd_avx2.h"
#  include SIMD_TEMPLATE
#  include "cpu/kernels/simd/simd_end.h"
#elif defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"
#  include SIMD_TEMPLATE
#  include "cpu/kernels/simd/simd_end.h"
#endif
#undef SIMD_TEMPLATE
