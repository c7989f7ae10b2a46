/* Loops over pairs, where the processor has vectors for them. */
#include "cpu/kernels/elementwise/binary.h"

#include "cpu/kernels/elementwise/binary_loops_int.h"

hn_pair_fn hn_pair_find_f32(const char *op) {
    const hn_vec_pairs *best = hn_vec_pairs_pick();
    for (const hn_vec_pair *p = best ? best->pairs : NULL; p && p->op; p++)
        if (strcmp(p->op, op) == 0)
            return p->fn;
    return NULL;
}

hn_choose_fn hn_choose_find_32(void) {
    const hn_vec_pairs *best = hn_vec_pairs_pick();
    return best ? best->choose_32 : NULL;
}
