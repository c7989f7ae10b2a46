/* Loops over floats, 4 at a time. */
#include "cpu/kernels/attention/attention_int.h"
#include "cpu/kernels/rnn/rnn_cells.h"

#include <float.h>
#include <math.h>

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "cpu/kernels/simd/simd_neon.h"
#  include "cpu/kernels/elementwise/unary_loops_tmpl.h"
#  include "cpu/kernels/rows/row_loops_tmpl.h"
#  include "cpu/kernels/attention/attention_soften_tmpl.h"
#  include "cpu/kernels/rnn/rnn_cells_tmpl.h"
#  include "cpu/kernels/simd/simd_end.h"
/* clang-format on */
#endif
