/* Winograd's transforms, 16 channels at a time. */
#include "cpu/kernels/winograd/winograd.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512.h"

#  include "cpu/kernels/winograd/winograd_tmpl.h"

#  include "cpu/kernels/simd/simd_end.h"
#endif
