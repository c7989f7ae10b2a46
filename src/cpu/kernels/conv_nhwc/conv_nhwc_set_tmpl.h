/* All tiles of a channels-last convolution for the vectors of a simd_*.h. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_store_tmpl.h"

#define V_COLS 1
#define TILE_NAME(rows) V_NAME(narrow_conv_tile_##rows)
#define TILE(rows) TILE_NAME(rows)
#define TILES V_NAME(narrow_conv_tiles)
#include "cpu/kernels/conv_nhwc/conv_nhwc_rows_tmpl.h"
#undef V_COLS
#undef TILE_NAME
#undef TILES

#define V_COLS 2
#define TILE_NAME(rows) V_NAME(wide_conv_tile_##rows)
#define TILES V_NAME(wide_conv_tiles)
#include "cpu/kernels/conv_nhwc/conv_nhwc_rows_tmpl.h"
#undef V_COLS
#undef TILE_NAME
#undef TILES

#ifdef V_INDEX
#  define SPREADS
#  define V_COLS 1
#  define TILE_NAME(rows) V_NAME(spread_conv_tile_##rows)
#  define TILES V_NAME(spread_conv_tiles)
#  include "cpu/kernels/conv_nhwc/conv_nhwc_rows_tmpl.h"
#  undef SPREADS
#  undef V_COLS
#  undef TILE_NAME
#  undef TILES
#endif
#undef TILE

const hn_conv_tiles V_NAME(hn_conv_tiles) = {.most_rows = V_TILE_ROWS,
                                             .vector_elems = V_ELEMS,
                                             .narrow = V_NAME(narrow_conv_tiles),
                                             .wide = V_NAME(wide_conv_tiles),
#ifdef V_INDEX
                                             .spread = V_NAME(spread_conv_tiles)
#endif
};
