/* Channels-last convolutions with NEON: tiles of 8 outputs x 8 filters. 16 registers hold sums, two
 * a row of filters, one an element of x. */
#include "kernels/conv_last_tile.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"

#  define MOST_ROWS 8
#  include "kernels/conv_last_set_tmpl.h"

#  include "kernels/simd_end.h"
#endif
