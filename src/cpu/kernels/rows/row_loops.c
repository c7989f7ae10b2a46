/* Loops over rows, where the processor has vectors for them. */
#include "cpu/kernels/rows/row_loops.h"

bool hn_rows_are_fast_f32(void) {
    return hn_row_loops_pick_f32() != NULL;
}

bool hn_softmax_row_f32(int64_t n, const float *x, float *y) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (loops)
        loops->softmax(n, x, y);
    return loops != NULL;
}

bool hn_sum_row_f32(int64_t n, const float *x, float *sum) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (loops)
        *sum = loops->sum(n, x);
    return loops != NULL;
}

bool hn_rotate_row_f32(int64_t half, const float *cosines, const float *sines, const float *x,
                       float *y) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (loops)
        loops->rotate(half, cosines, sines, x, y);
    return loops != NULL;
}

bool hn_normalize_row_f32(const hn_norm_row_f32 *norm, int64_t n, const float *x, float *y,
                          float *mean, float *inverse) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (loops)
        loops->normalize(norm, n, x, y, mean, inverse);
    return loops != NULL;
}

hn_unary_fn_f32 hn_unary_find_f32(const char *op) {
    hn_count_decision(HN_DECISION_SELECTION);
    const hn_unary_loops_f32 *best = hn_unary_loops_pick_f32();
    for (const hn_unary_loop *m = best ? best->maps : NULL; m && m->op; m++)
        if (strcmp(m->op, op) == 0)
            return m->fn;
    return NULL;
}
