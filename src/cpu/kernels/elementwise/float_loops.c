/* Loops over floats that are made of the functions of simd_math_tmpl.h: elementwise functions,
 * rows, the softmax of attention, cells of recurrent layers. One file, because a compilation may
 * have those functions only once. */
#include <float.h>
#include <math.h>

#include "cpu/kernels/attention/attention_int.h"
#include "cpu/kernels/rnn/rnn_cells.h"

#define SIMD_TEMPLATE "cpu/kernels/elementwise/float_loops_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
