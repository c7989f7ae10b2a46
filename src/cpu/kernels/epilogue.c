/* Epilogues of kernels: what no register tile applies by itself. */
#include "cpu/kernels/kernel.h"

#include <math.h>

hn_epilogue_f32 hn_epilogue_limited_f32(const hn_epilogue_f32 *e) {
    hn_epilogue_f32 limited = *e;
    if (!e->is_limited) {
        limited.is_limited = true;
        limited.least = -HUGE_VALF;
        limited.most = HUGE_VALF;
    }
    return limited;
}

static void limit_plainly(const float *xs, float *ys, uint64_t n, float least, float most) {
    for (uint64_t i = 0; i < n; i++)
        ys[i] = xs[i] < least ? least : xs[i] > most ? most : xs[i];
}

/* Dense rows are one long row. */
static void apply_to_rows(hn_unary_fn_f32 fn, float a, float b, int64_t n_rows, int64_t n,
                          int64_t stride, float *y) {
    if (n == stride) {
        n *= n_rows;
        n_rows = 1;
    }
    for (int64_t i = 0; i < n_rows; i++, y += stride)
        fn(y, y, (uint64_t)n, a, b);
}

void hn_epilogue_unary_f32(const hn_epilogue_f32 *e, int64_t n_rows, int64_t n, int64_t stride,
                           float *y) {
    if (e->unary)
        apply_to_rows(e->unary, e->a, e->b, n_rows, n, stride, y);
}

void hn_epilogue_activate_f32(const hn_epilogue_f32 *e, int64_t n_rows, int64_t n, int64_t stride,
                              float *y) {
    hn_unary_fn_f32 clip = e->is_limited ? hn_unary_find_f32("Clip") : NULL;
    if (e->is_limited)
        apply_to_rows(clip ? clip : limit_plainly, e->least, e->most, n_rows, n, stride, y);
    hn_epilogue_unary_f32(e, n_rows, n, stride, y);
}
