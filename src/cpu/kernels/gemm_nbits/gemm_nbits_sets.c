/* Products with weights of few bits, for each instruction set. */
#include "cpu/kernels/gemm_nbits/gemm_nbits_tile.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_dot_avx512vnni.h"
#  include "cpu/kernels/gemm_nbits/gemm_nbits_tmpl.h"
#  include "cpu/kernels/simd/simd_dot_end.h"

#  include "cpu/kernels/simd/simd_dot_avx2.h"
#  include "cpu/kernels/gemm_nbits/gemm_nbits_tmpl.h"
#  include "cpu/kernels/simd/simd_dot_end.h"
#elif defined(__aarch64__)
#  include "cpu/kernels/simd/simd_dot_neon.h"
#  include "cpu/kernels/gemm_nbits/gemm_nbits_tmpl.h"
#  include "cpu/kernels/simd/simd_dot_end.h"
#endif
