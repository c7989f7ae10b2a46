/* Winograd's transforms, 8 channels at a time. */
#include "kernels/conv_winograd.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx2.h"

#  include "kernels/conv_winograd_tmpl.h"

#  include "kernels/simd_end.h"
#endif
