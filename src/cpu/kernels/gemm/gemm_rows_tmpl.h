/* Tiles of gemm_micro_tmpl.h with floats, of one row up to V_TILE_ROWS: 6, 8 or 14. */
#define RIGHT float
#define RIGHT_LOAD(p) V_LOAD(p)
#define ROWS 1
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#define ROWS 2
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#define ROWS 3
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#define ROWS 4
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#define ROWS 5
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#define ROWS 6
#include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#if V_TILE_ROWS > 6
#  define ROWS 7
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 8
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#endif
#if V_TILE_ROWS > 8
#  define ROWS 9
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 10
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 11
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 12
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 13
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#  define ROWS 14
#  include "cpu/kernels/gemm/gemm_micro_tmpl.h"
#endif
#undef TILE
#undef V_COLS
#undef RIGHT
#undef RIGHT_LOAD
