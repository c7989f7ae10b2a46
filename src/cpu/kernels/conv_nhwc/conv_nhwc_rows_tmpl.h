/* Tiles of a channels-last convolution of 1 to V_TILE_ROWS (6, 8 or 14) rows, for the V_COLS and
 * TILE(rows) of conv_nhwc_tile_tmpl.h; TILES lists them. */
#define ROWS 1
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#define ROWS 2
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#define ROWS 3
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#define ROWS 4
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#define ROWS 5
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#define ROWS 6
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#if V_TILE_ROWS >= 8
#  define ROWS 7
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 8
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#endif
#if V_TILE_ROWS >= 14
#  define ROWS 9
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 10
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 11
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 12
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 13
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#  define ROWS 14
#  include "cpu/kernels/conv_nhwc/conv_nhwc_tile_tmpl.h"
#endif

#define SIX_TILES NULL, TILE(1), TILE(2), TILE(3), TILE(4), TILE(5), TILE(6)
static const hn_conv_tile_fn TILES[HN_CONV_TILE_MOST_ROWS + 1] = {
#if V_TILE_ROWS == 14
    SIX_TILES, TILE(7),  TILE(8),  TILE(9), TILE(10),
    TILE(11),  TILE(12), TILE(13), TILE(14)
#elif V_TILE_ROWS == 8
    SIX_TILES, TILE(7), TILE(8)
#else
    SIX_TILES
#endif
};
#undef SIX_TILES
