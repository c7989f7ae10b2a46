/* Inside cpu/kernels: everything that kernels.def names. */
#ifndef HN_KERNEL_SETS_H
#define HN_KERNEL_SETS_H

#include "cpu/kernels/attention/attention_int.h"
#include "cpu/kernels/conv/conv_small.h"
#include "cpu/kernels/conv_int8/depthwise_int8.h"
#include "cpu/kernels/depthwise/depthwise_nhwc.h"
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/reduce/reduce_loops.h"
#include "cpu/kernels/fourier/fourier.h"
#include "cpu/kernels/gemm/gemm_micro.h"
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"
#include "cpu/kernels/gemm_int8/int8_result.h"
#include "cpu/kernels/gemm_nbits/gemm_nbits_tile.h"
#include "cpu/kernels/overlap/overlap.h"
#include "cpu/kernels/pool/pool_nhwc_int.h"
#include "cpu/kernels/quantize/byte_lookup.h"
#include "cpu/kernels/quantize/byte_pairs.h"
#include "cpu/kernels/quantize/quantize.h"
#include "cpu/kernels/rnn/rnn_cells.h"
#include "cpu/kernels/rows/rows_nhwc.h"
#include "cpu/kernels/transpose/transpose_int.h"
#include "cpu/kernels/elementwise/binary_loops_int.h"
#include "cpu/kernels/elementwise/typed_pairs.h"

#endif /* HN_KERNEL_SETS_H */
