/* Tiles of float products, for each instruction set. Two vectors make a panel; sums of all rows
 * stay in registers along k, beside a row of b (two registers) and an element of a (one).
 *
 *             tile     registers for sums   per step along k
 *   AVX-512   14 x 32  28 of 32             2 loads, 14 broadcasts, 28 multiply-adds
 *   AVX2      6 x 16   12 of 16             2 loads, 6 broadcasts, 12 multiply-adds
 *   NEON      8 x 8    16 of 32             2 loads, 8 broadcasts, 16 multiply-adds
 *
 * Pairs of bfloat16 take the place of floats with AVX-512 BF16: 28 instructions per step, each of
 * 32 products.
 *
 * Few rows meet several panels at once, up to 8 with AVX-512, so that no sum waits for itself.
 *
 * Measured with AVX-512: 99 % of the peak with all in the first cache and k of 256 or more, 74 to
 * 97 % with k of 64; with AVX2 87 % within products of 768 steps along k. */
#include "cpu/kernels/gemm/gemm_epilogue.h"
#include "cpu/kernels/gemm/gemm_micro.h"

#define SIMD_TEMPLATE "cpu/kernels/gemm/gemm_set_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512bf16.h"
#  include "cpu/kernels/gemm/gemm_set_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
#endif
