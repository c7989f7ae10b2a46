/* Inside ops/: shapes of matrix products, for operators of any domain. */
#ifndef HN_MATMUL_INT_H
#define HN_MATMUL_INT_H

#include "ops/infer/infer_int.h"

/* How the axes of one operand are permuted before the product. */
typedef struct hn_matmul_side {
    uint32_t input;
    bool transpose;       /* the last two axes are swapped; not for vectors */
    bool transpose_batch; /* first axis becomes the last but one: [B0, B1, M, K] is read as [B1, M,
                             B0, K] */
} hn_matmul_side;

/* The shape of NumPy's matmul of two inputs: a 1-D operand gets an outer axis of size 1 that the
 * result drops, leading axes broadcast. *rank = -1 when the rank of an operand is unknown. *depth
 * (may be NULL) is the length of the sums. The result is in scratch memory. */
hone_status hn_matmul_shape(hn_infer *c, hn_matmul_side a, hn_matmul_side b, int32_t *rank,
                            const hn_dim **dims, hn_dim *depth);
/* The same for operands without permutation, written to output 0, whose element type the caller
 * sets. */
hone_status hn_matmul_out(hn_infer *c, uint32_t a, uint32_t b);
/* With transA and transB; checks that the bias, when the node has one, broadcasts to [M, N]; writes
 * output 0. */
hone_status hn_gemm_out(hn_infer *c, uint32_t a, uint32_t b, uint32_t bias);
/* Elements of output 0 times `depth`. */
bool hn_matmul_macs(const hn_infer *c, hn_dim depth, uint64_t *macs);

#endif /* HN_MATMUL_INT_H */
