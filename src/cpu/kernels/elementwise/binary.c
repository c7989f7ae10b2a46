/* Elementwise functions of two operands, where the processor has vectors for them. */
#include "cpu/kernels/elementwise/binary.h"

#include "cpu/kernels/elementwise/binary_loops_int.h"

hn_binary_fn hn_binary_find_f32(const char *op) {
    hn_count_decision(HN_DECISION_SELECTION);
    const hn_binary_loops *best = hn_binary_loops_pick();
    for (const hn_binary_loop *p = best ? best->pairs : NULL; p && p->op; p++)
        if (strcmp(p->op, op) == 0)
            return p->fn;
    return NULL;
}

hn_select_fn hn_select_find_32(void) {
    const hn_binary_loops *best = hn_binary_loops_pick();
    return best ? best->choose_32 : NULL;
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/elementwise/binary_loops_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
