/* Winograd's transforms, 8 channels at a time. */
#include "cpu/kernels/winograd/winograd.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx2.h"

#  include "cpu/kernels/winograd/winograd_tmpl.h"

#  include "cpu/kernels/simd/simd_end.h"
#endif
