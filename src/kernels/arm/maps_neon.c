/* Loops over floats, 4 at a time. */
#include "kernels/attention_int.h"
#include "kernels/rnn_cells.h"

#include <float.h>
#include <math.h>

#if defined(__aarch64__)
/* clang-format off: the vectors come first, and are forgotten last */
#  include "kernels/arm/simd_neon.h"
#  include "kernels/vec_maps_tmpl.h"
#  include "kernels/vec_loops_tmpl.h"
#  include "kernels/attention_soften_tmpl.h"
#  include "kernels/rnn_cells_tmpl.h"
#  include "kernels/simd_end.h"
/* clang-format on */
#endif
