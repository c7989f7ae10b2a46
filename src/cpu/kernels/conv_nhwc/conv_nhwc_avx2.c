/* Channels-last convolutions with AVX2 and FMA: tiles of 6 outputs x 16 filters. 12 registers hold
 * sums, two a row of filters, one an element of x. Measured: 80 to 89 % of the peak for 1x1 and
 * 3x3. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx2.h"

#  define MOST_ROWS 6
#  define V_INDEX __m256i
#  define V_INDEX_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#  define V_INDEX_NEXT(i) _mm256_add_epi32(i, _mm256_set1_epi32(1))
#  define V_PICK(v, i) _mm256_permutevar8x32_ps(v, i)
#  include "cpu/kernels/conv_nhwc/conv_nhwc_set_tmpl.h"
#  undef V_INDEX
#  undef V_INDEX_LOAD
#  undef V_INDEX_NEXT
#  undef V_PICK

#  include "cpu/kernels/simd/simd_end.h"
#endif
