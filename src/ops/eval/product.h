/* Inside ops/: products of arrays at run time, for evaluations of any domain that multiply. */
#ifndef HN_PRODUCT_H
#define HN_PRODUCT_H

#include "cpu/kernels/kernel.h"
#include "ops/eval/widen.h"
#include "cpu/pack/node_state.h"

/* Numpy's matmul of a and b, whose last two axes may have changed places; vectors have one place
 * only. */
typedef struct hn_product {
    const hn_array *a, *b;
    bool trans_a, trans_b;
    hn_packed_side packed_b; /* b as hn_prepare_right_side packed it */
    /* Of floats of 32 bits and less; without bias per row and residual. NULL: none. */
    const hn_epilogue_f32 *epilogue;
} hn_product;
hone_status hn_product_eval(hn_eval *c, const hn_product *p, hn_array *y);

/* Gemm of floats of 32 bits with an epilogue that has an activation at most; the bias is added to
 * it. *is_done is false, and nothing was computed, where the bias cannot be part of an epilogue. */
hone_status hn_gemm_with_epilogue(hn_eval *c, hn_epilogue_f32 *epilogue, bool *is_done);

#endif /* HN_PRODUCT_H */
