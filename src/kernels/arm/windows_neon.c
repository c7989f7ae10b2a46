/* Windows over channels-last floats, 4 channels at a time. */
#include <math.h>

#include "kernels/conv_last_depthwise.h"
#include "kernels/pool_last_int.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"

#  include "kernels/conv_last_depthwise_tmpl.h"
#  include "kernels/pool_last_tmpl.h"

#  include "kernels/simd_end.h"
#endif
