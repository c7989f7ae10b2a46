/* Channels-last convolutions with AVX-512: tiles of 14 outputs x 32 filters. 28 registers hold
 * sums, two a row of filters, one an element of x. */
#include "kernels/conv_last_tile.h"

#if defined(__x86_64__)
#  include "kernels/x86/simd_avx512.h"

#  define MOST_ROWS 14
#  include "kernels/conv_last_set_tmpl.h"

#  include "kernels/simd_end.h"
#endif
