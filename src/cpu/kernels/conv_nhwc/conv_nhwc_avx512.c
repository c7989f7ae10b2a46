/* Channels-last convolutions with AVX-512: tiles of 14 outputs x 32 filters. 28 registers hold
 * sums, two a row of filters, one an element of x; two loads, 14 broadcasts and 28 multiply-adds
 * per step. Tiles that spread hold 14 vectors of x besides 14 of sums, and permute before each
 * multiply-add, which halves the peak. Measured: up to 93 % of the peak, see conv_nhwc_product.c.
 */
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512.h"

#  define MOST_ROWS 14
#  define V_INDEX __m512i
#  define V_INDEX_LOAD(p) _mm512_loadu_si512(p)
#  define V_INDEX_NEXT(i) _mm512_add_epi32(i, _mm512_set1_epi32(1))
#  define V_PICK(v, i) _mm512_permutexvar_ps(i, v)
#  include "cpu/kernels/conv_nhwc/conv_nhwc_set_tmpl.h"
#  undef V_INDEX
#  undef V_INDEX_LOAD
#  undef V_INDEX_NEXT
#  undef V_PICK

#  include "cpu/kernels/simd/simd_end.h"
#endif
