/* All tiles of float products for the vectors of a simd_*.h, and their table. */
#define FULL_NAME(rows, cols) V_NAME(hn_gemm_f32_##rows##x##cols)
#define FULL_OF(rows, cols) FULL_NAME(rows, cols)
#define FULL(rows) FULL_OF(rows, V_TILE_COLS)
#define NARROW(rows) FULL_OF(rows, V_ELEMS)

#define V_COLS 2
#define TILE(rows) FULL(rows)
#include "cpu/kernels/gemm/gemm_rows_tmpl.h"
#define V_COLS 1
#define TILE(rows) NARROW(rows)
#include "cpu/kernels/gemm/gemm_rows_tmpl.h"

#include "cpu/kernels/gemm/gemm_wide_tmpl.h"

const hn_gemm_set_f32 V_NAME(hn_gemm_set_f32) = {.max_rows = V_TILE_ROWS,
                                                 .cols = V_TILE_COLS,
                                                 .working_set_elems = V_WORKING_SET_ELEMS,
#define SIX(tile) NULL, tile(1), tile(2), tile(3), tile(4), tile(5), tile(6)
#define EIGHT(tile) SIX(tile), tile(7), tile(8)
#define FOURTEEN(tile) EIGHT(tile), tile(9), tile(10), tile(11), tile(12), tile(13), tile(14)
#if V_TILE_ROWS == 14
                                                 .full = {FOURTEEN(FULL)},
                                                 .narrow = {FOURTEEN(NARROW)},
#elif V_TILE_ROWS == 8
                                                  .full = {EIGHT(FULL)},
                                                  .narrow = {EIGHT(NARROW)},
#else
                                                  .full = {SIX(FULL)},
                                                  .narrow = {SIX(NARROW)},
#endif
                                                 .wide = WIDE_TILES};

#undef SIX
#undef EIGHT
#undef FOURTEEN
#undef WIDE_TILES
#undef NARROW
#undef FULL
#undef FULL_OF
#undef FULL_NAME
