/* Pools of channels-last floats, computed. */
#include "cpu/kernels/pool/pool_nhwc.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/onnx/window_eval.h"

#define MOST_TAPS_LAST 1e8

static hone_status run_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind, bool count_padding) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    hn_window window;
    int64_t pad_end[HN_MAX_SPATIAL];
    double taps = 1; /* no memory stands behind a window: what counts is the time */
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 1, y->dims + 1, NULL, &window);
    hn_window_pad_end(hn_eval_node(c), &window, pad_end);
    for (int32_t i = 0; i < window.n_axes; i++)
        taps *= (double)window.kernel[i];
    if (taps > MOST_TAPS_LAST)
        return hn_eval_fail(c, HONE_E_LIMIT, "a window of %g elements is too large", taps);
    hn_pool_nhwc_f32(hn_eval_pool(c), &(hn_pool_nhwc_job){.kind = kind,
                                                          .window = &window,
                                                          .batch = x->dims[0],
                                                          .channels = x->dims[x->rank - 1],
                                                          .x = x->data,
                                                          .y = y->data,
                                                          .pad_end = count_padding ? pad_end : NULL,
                                                          .x_step = x->row_stride,
                                                          .y_step = y->row_stride});
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

hone_status hn_eval_max_pool_nhwc(hn_eval *c) {
    return run_pool_nhwc(c, HN_POOL_LAST_MAX, false);
}

hone_status hn_eval_average_pool_nhwc(hn_eval *c) {
    return run_pool_nhwc(c, HN_POOL_LAST_AVERAGE,
                         hn_attr_i(hn_eval_node(c), "count_include_pad", 0) != 0);
}

static hone_status run_global_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_pool_global_nhwc_job job = {.kind = kind,
                                   .batch = x->dims[0],
                                   .elems = (int64_t)hn_count(x->rank - 2, x->dims + 1),
                                   .channels = x->dims[x->rank - 1],
                                   .x = x->data,
                                   .y = y->data};
    job.scratch =
        hn_eval_scratch(c, (uint64_t)hn_pool_global_nhwc_scratch_elems(&job) * sizeof *job.scratch);
    HN_TRY_PTR(job.scratch);
    hn_pool_global_nhwc_f32(hn_eval_pool(c), &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

hone_status hn_eval_global_max_pool_nhwc(hn_eval *c) {
    return run_global_pool_nhwc(c, HN_POOL_LAST_MAX);
}

hone_status hn_eval_global_average_pool_nhwc(hn_eval *c) {
    return run_global_pool_nhwc(c, HN_POOL_LAST_AVERAGE);
}
