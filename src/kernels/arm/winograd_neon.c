/* Winograd's transforms, 4 channels at a time. */
#include "kernels/conv_winograd.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"

#  include "kernels/conv_winograd_tmpl.h"

#  include "kernels/simd_end.h"
#endif
