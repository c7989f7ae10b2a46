/* Batch normalization of channels-last floats, with an activation. */
#include <math.h>

#include "ops/ms_eval.h"

#define NORM_LAST_GRAIN 16384 /* elements that one thread takes at a time */

typedef struct norm_last {
    int64_t channels;
    const float *x, *scale, *shift;
    float *y;
    hn_finish_f32 finish;
} norm_last;

static void norm_last_rows(void *ctx, int64_t begin, int64_t end) {
    const norm_last *n = ctx;
    for (int64_t row = begin; row < end; row++) {
        const float *x = n->x + row * n->channels;
        float *y = n->y + row * n->channels;
        for (int64_t i = 0; i < n->channels; i++)
            y[i] = x[i] * n->scale[i] + n->shift[i];
        if (n->finish.map)
            n->finish.map(y, y, (uint64_t)n->channels, n->finish.a, n->finish.b);
    }
}

/* Scale and shift of each channel from the four parameters. */
static hone_status read_norm_last(hn_eval *c, norm_last *n) {
    const float *given[4];
    float *scale = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *scale),
          *shift = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *shift);
    HN_TRY_PTR(scale && shift);
    for (uint32_t i = 0; i < HN_COUNT(given); i++) {
        HN_TRY(hn_want_elems(c, i + 1, (uint64_t)n->channels));
        given[i] = hn_arg(c, i + 1)->data;
    }
    double epsilon = (double)hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f);
    for (int64_t i = 0; i < n->channels; i++) {
        double by = (double)given[0][i] / sqrt((double)given[3][i] + epsilon);
        scale[i] = (float)by;
        shift[i] = (float)((double)given[1][i] - (double)given[2][i] * by);
    }
    n->scale = scale;
    n->shift = shift;
    return HONE_OK;
}

hone_status hn_eval_batch_norm_last(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    norm_last n = {.channels = x->rank > 0 ? x->dims[x->rank - 1] : 1,
                   .x = x->data,
                   .y = y->data};
    bool has_map = hn_fused_map(c, &n.finish);
    HN_TRY(read_norm_last(c, &n));
    hn_pool_for(hn_eval_pool(c), (int64_t)y->n_elems / n.channels,
                HN_MAX(NORM_LAST_GRAIN / n.channels, 1), norm_last_rows, &n);
    HN_TRY(has_map ? HONE_OK : hn_fused_activation(c, y));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
