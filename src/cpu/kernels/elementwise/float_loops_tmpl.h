/* The families of float_loops.c for the vectors of a simd_*.h. */
/* clang-format off: the functions come before what is made of them */
#include "cpu/kernels/simd/simd_math_tmpl.h"
#include "cpu/kernels/elementwise/unary_loops_tmpl.h"
#include "cpu/kernels/rows/row_loops_tmpl.h"
#include "cpu/kernels/attention/attention_soften_tmpl.h"
#include "cpu/kernels/rnn/rnn_cells_tmpl.h"
/* clang-format on */
