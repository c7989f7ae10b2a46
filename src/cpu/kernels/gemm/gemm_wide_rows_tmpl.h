/* Tiles of gemm_micro_tmpl.h over several panels, as many as registers have room for: functions
 * WIDE(one), ... and their table, WIDE(tiles). RIGHT and RIGHT_LOAD say what b is made of. All
 * three are forgotten. */
#define TILE(rows) WIDE(one)
#define ROWS 1
#define V_COLS (V_REGISTERS / 2)
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#undef V_COLS
#undef TILE
#define TILE(rows) WIDE(one_short)
#define ROWS 1
#define V_COLS 4
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#undef V_COLS
#undef TILE
#define TILE(rows) WIDE(two)
#define ROWS 2
#define V_COLS (V_REGISTERS / 4)
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#undef V_COLS
#undef TILE
#if V_REGISTERS > 16
#  define TILE(rows) WIDE(three)
#  define ROWS 3
#  define V_COLS 6
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  undef V_COLS
#  undef TILE
#endif

static const hn_gemm_wide_f32 WIDE(tiles)[] = {{1, V_REGISTERS / 2 * V_ELEMS, WIDE(one)},
                                               {1, 4 * V_ELEMS, WIDE(one_short)},
                                               {2, V_REGISTERS / 4 * V_ELEMS, WIDE(two)},
#if V_REGISTERS > 16
                                               {3, 6 * V_ELEMS, WIDE(three)},
#endif
                                               {0, 0, NULL}};
#undef WIDE
#undef RIGHT
#undef RIGHT_LOAD
