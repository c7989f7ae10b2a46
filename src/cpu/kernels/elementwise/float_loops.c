/* Loops over floats that are made of the functions of simd_math_tmpl.h: elementwise functions,
 * rows, the softmax of attention, cells of recurrent layers. One file, because a compilation may
 * have those functions only once. */
#include <float.h>
#include <math.h>

#include "cpu/kernels/attention/attention_int.h"
#include "cpu/kernels/rnn/rnn_cells.h"

/* To tell the elements of a vector that is not full. */
static const float lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define SIMD_TEMPLATE "cpu/kernels/elementwise/float_loops_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
