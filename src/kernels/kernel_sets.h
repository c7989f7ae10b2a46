/* Inside kernels/: everything that kernels.def names. */
#ifndef HN_KERNEL_SETS_H
#define HN_KERNEL_SETS_H

#include "kernels/attention_int.h"
#include "kernels/conv_last_depthwise.h"
#include "kernels/conv_last_tile.h"
#include "kernels/conv_winograd.h"
#include "kernels/convert.h"
#include "kernels/folds.h"
#include "kernels/gemm_micro.h"
#include "kernels/overlap.h"
#include "kernels/pool_last_int.h"
#include "kernels/rnn_cells.h"
#include "kernels/rows_last.h"
#include "kernels/transpose_int.h"
#include "kernels/vec_pairs_int.h"

#endif /* HN_KERNEL_SETS_H */
