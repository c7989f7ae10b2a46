/* Windows over channels-last floats, 8 channels at a time. */
#include <math.h>

#include "kernels/conv_last_depthwise.h"
#include "kernels/pool_last_int.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx2.h"

#  include "kernels/conv_last_depthwise_tmpl.h"
#  include "kernels/pool_last_tmpl.h"

#  include "kernels/simd_end.h"
#endif
