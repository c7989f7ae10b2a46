/* Loops over floats, 8 at a time. */
#include "kernels/attention_int.h"
#include "kernels/rnn_cells.h"

#include <float.h>
#include <math.h>

#if defined(__x86_64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/x86/simd_avx2.h"
#  include "kernels/vec_maps_tmpl.h"
#  include "kernels/vec_loops_tmpl.h"
#  include "kernels/attention_soften_tmpl.h"
#  include "kernels/rnn_cells_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
