/* Forgets the vectors of simd_dot_*.h, and those of floats. No guard. */
#undef D
#undef D_NAME
#undef D_LOAD
#undef D_SET1
#undef D_BROADCAST
#undef D_AND
#undef D_SHIFT
#undef D_MUL
#undef D_WIDEN_U8
#undef D_TO_FLOAT
#undef D_SLOW_ROWS
#undef D_DOT
#undef D_DOT_LOW
#include "cpu/kernels/simd/simd_end.h"
