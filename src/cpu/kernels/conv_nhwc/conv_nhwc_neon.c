/* Channels-last convolutions with NEON: tiles of 8 outputs x 8 filters. 16 registers hold sums, two
 * a row of filters, one an element of x. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_neon.h"

#  define MOST_ROWS 8
#  include "cpu/kernels/conv_nhwc/conv_nhwc_set_tmpl.h"

#  include "cpu/kernels/simd/simd_end.h"
#endif
