/* Channels-last convolutions with AVX2 and FMA: tiles of 6 outputs x 16 filters. 12 registers hold
 * sums, two a row of filters, one an element of x. */
#include "kernels/conv_last_tile.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx2.h"

#  define MOST_ROWS 6
#  include "kernels/conv_last_set_tmpl.h"

#  include "kernels/simd_end.h"
#endif
