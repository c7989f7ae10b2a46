/* Functions of floats, 4 at a time. */
#include "kernels/vec.h"

#if defined(__aarch64__)
#  include "kernels/arm/simd_neon.h"
#  include "kernels/vec_maps_tmpl.h"
#  include "kernels/simd_end.h"
#endif
