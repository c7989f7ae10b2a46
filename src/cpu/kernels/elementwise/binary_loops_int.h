/* Inside kernels/: the tables of loops over two operands, one per instruction set. */
#ifndef HN_VEC_PAIRS_INT_H
#define HN_VEC_PAIRS_INT_H

#include "cpu/kernels/elementwise/binary.h"

typedef struct hn_vec_pair {
    const char *op;
    hn_pair_fn fn;
} hn_vec_pair;

typedef struct hn_vec_pairs {
    const hn_vec_pair *pairs; /* ends with a row without a name */
    hn_choose_fn choose_32;
} hn_vec_pairs;
const hn_vec_pairs *hn_vec_pairs_pick(void); /* NULL: plain C is best */

#endif /* HN_VEC_PAIRS_INT_H */
