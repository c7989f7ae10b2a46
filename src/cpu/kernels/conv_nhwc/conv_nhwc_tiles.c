/* Tiles of channels-last convolutions, for each instruction set. Sums of all outputs stay in
 * registers, beside a row of filters (two registers) and an element of x (one).
 *
 *             outputs x filters  registers for sums
 *   AVX-512   14 x 32            28 of 32
 *   AVX2      6 x 16             12 of 16
 *   NEON      8 x 8              16 of 32
 *
 * Per step: two loads, a broadcast for each output, two multiply-adds for each. Tiles that spread
 * hold as many vectors of x as of sums, and permute before each multiply-add, for half of
 * the peak; NEON has none.
 *
 * Measured with AVX-512: up to 93 % of the peak, see conv_nhwc_product.c; with AVX2 80 to 89 % for
 * 1x1 and 3x3. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

#define SIMD_TEMPLATE "cpu/kernels/conv_nhwc/conv_nhwc_set_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
