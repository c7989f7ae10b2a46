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
    hn_packed_side packed_b; /* b as hn_prepare_right_side laid it out */
    /* What floats of 32 bits and less go through at the end; no bias per row, no residual. NULL:
     * nothing. */
    const hn_epilogue_f32 *end;
} hn_product;
hone_status hn_product_eval(hn_eval *c, const hn_product *p, hn_array *y);

/* Gemm of floats of 32 bits with limits and map of `end`, which is filled in. *is_done says whether
 * it could be; nothing was computed otherwise. */
hone_status hn_gemm_finished(hn_eval *c, hn_epilogue_f32 *end, bool *is_done);

#endif /* HN_PRODUCT_H */
