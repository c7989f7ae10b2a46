/* Inside cpu/kernels: the tables of loops over two operands, one per instruction set. */
#ifndef HN_VEC_PAIRS_INT_H
#define HN_VEC_PAIRS_INT_H

#include "cpu/kernels/elementwise/binary.h"

typedef struct hn_binary_loop {
    const char *op;
    hn_binary_fn fn;
} hn_binary_loop;

typedef struct hn_binary_loops {
    const hn_binary_loop *pairs; /* ends with a row without a name */
    hn_select_fn choose_32;
} hn_binary_loops;
const hn_binary_loops *hn_binary_loops_pick(void); /* NULL: plain C is best */

#endif /* HN_VEC_PAIRS_INT_H */
