/* Local response normalization of channels-last floats: each row of channels by itself. */
#include "cpu/kernels/kernel.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/widen.h"

#include <math.h>

#define LRN_GRAIN 16384 /* elements that one thread takes at a time */

typedef struct lrn_nhwc {
    int64_t channels, before, after; /* channels in the window on each side */
    float alpha, beta, bias;         /* alpha is per channel of the window */
    hn_unary_fn_f32 log, exp;        /* NULL: the C library's powers */
    const float *x;
    float *y, *scratch; /* per lane: the row's squares with zeros around them, then its sums */
    int64_t lane_elems;
} lrn_nhwc;

static void power_row(const lrn_nhwc *l, const float *x, float *sums, float *y) {
    uint64_t n = (uint64_t)l->channels;
    if (!l->log || !l->exp) {
        for (uint64_t i = 0; i < n; i++)
            y[i] = x[i] / powf(sums[i], l->beta);
        return;
    }
    l->log(sums, sums, n, 0, 0);
    for (uint64_t i = 0; i < n; i++)
        sums[i] *= -l->beta;
    l->exp(sums, sums, n, 0, 0);
    for (uint64_t i = 0; i < n; i++)
        y[i] = x[i] * sums[i];
}

static void lrn_rows(void *ctx, int lane, int64_t begin, int64_t end) {
    const lrn_nhwc *l = ctx;
    float *squares = l->scratch + lane * l->lane_elems,
          *sums = squares + l->before + l->channels + l->after;
    memset(squares, 0, (size_t)(l->before + l->channels + l->after) * sizeof *squares);
    for (int64_t row = begin; row < end; row++) {
        const float *x = l->x + row * l->channels;
        for (int64_t i = 0; i < l->channels; i++)
            squares[l->before + i] = x[i] * x[i];
        for (int64_t i = 0; i < l->channels; i++)
            sums[i] = 0;
        for (int64_t k = 0; k <= l->before + l->after; k++)
            for (int64_t i = 0; i < l->channels; i++)
                sums[i] += squares[i + k];
        for (int64_t i = 0; i < l->channels; i++)
            sums[i] = l->bias + l->alpha * sums[i];
        power_row(l, x, sums, l->y + row * l->channels);
    }
}

static hone_status eval_lrn_nhwc(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    int64_t size = hn_attr_i(node, "size", 1), n_lanes = hn_pool_threads(hn_eval_pool(c));
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (x->rank < 2 || size < 1)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "needs channels and a window of 1 or more, not rank %d and size %lld",
                            x->rank, (long long)size);
    int64_t channels = x->dims[x->rank - 1];
    lrn_nhwc l = {.channels = channels,
                  .before = HN_MIN((size - 1) / 2, channels),
                  .after = HN_MIN(size / 2, channels),
                  .alpha = hn_attr_f(node, "alpha", 1e-4f) / (float)size,
                  .beta = hn_attr_f(node, "beta", 0.75f),
                  .bias = hn_attr_f(node, "bias", 1),
                  .log = hn_unary_find_f32("Log"),
                  .exp = hn_unary_find_f32("Exp"),
                  .x = x->data,
                  .y = y->data};
    l.lane_elems = l.before + 2 * channels + l.after;
    l.scratch = hn_eval_scratch_n(c, (uint64_t)(n_lanes * l.lane_elems), sizeof(float));
    HN_TRY_PTR(l.scratch);
    hn_pool_for_lanes(hn_eval_pool(c), (int64_t)y->n_elems / channels,
                      HN_MAX(LRN_GRAIN / channels, 1), lrn_rows, &l);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_lrn_nhwc[1] = {{.eval = eval_lrn_nhwc}};
