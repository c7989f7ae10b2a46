/* Windows over channels-last floats, 8 channels at a time. */
#include <math.h>

#include "cpu/kernels/depthwise/depthwise_nhwc.h"
#include "cpu/kernels/pool/pool_nhwc_int.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx2.h"

#  include "cpu/kernels/depthwise/depthwise_nhwc_tmpl.h"
#  include "cpu/kernels/pool/pool_nhwc_tmpl.h"

#  include "cpu/kernels/simd/simd_end.h"
#endif
