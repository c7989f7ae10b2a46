/* Winograd's transforms, 4 channels at a time. */
#include "cpu/kernels/winograd/winograd.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"

#  include "cpu/kernels/winograd/winograd_tmpl.h"

#  include "cpu/kernels/simd/simd_end.h"
#endif
