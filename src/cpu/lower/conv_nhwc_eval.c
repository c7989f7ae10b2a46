/* Convolutions of channels-last floats, computed. */
#include "cpu/lower/conv_nhwc_eval.h"

#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "ops/eval/ms/ms_eval.h"
#include "cpu/pack/node_state.h"
#include "cpu/ops_cpu.h"

hone_status hn_conv_nhwc_run(hn_eval *c, hn_conv_nhwc_job *job) {
    int64_t n_scratch = hn_conv_nhwc_scratch_elems(job, hn_pool_threads(hn_eval_pool(c)));
    job->scratch = hn_eval_scratch_n(c, (uint64_t)n_scratch, sizeof(float));
    HN_TRY_PTR(job->scratch);
    hn_conv_nhwc_f32(hn_eval_pool(c), job);
    return HONE_OK;
}

hone_status hn_eval_conv_nhwc(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2), *sum = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0);
    hn_window window;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    hn_finish_f32 finish = {.residual = sum ? sum->data : NULL};
    bool has_map = hn_fused_map(c, &finish);
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 1, y->dims + 1, w->dims + 2, &window);
    hn_conv_nhwc_job job = {.window = &window,
                            .batch = x->dims[0],
                            .channels = x->dims[x->rank - 1],
                            .filters = w->dims[0],
                            .groups = hn_attr_i(hn_eval_node(c), "group", 1),
                            .x = x->data,
                            .w = w->data,
                            .bias = bias ? bias->data : NULL,
                            .y = y->data,
                            .finish = sum || finish.map ? &finish : NULL,
                            .x_step = x->row_stride,
                            .y_step = y->row_stride,
                            .residual_step = sum ? sum->row_stride : 0};
    if (w->n_elems == 0) { /* no channels: bias and what follows */
        hn_conv_nhwc_plain_f32(hn_eval_pool(c), &job);
        return has_map ? HONE_OK : hn_fused_activation(c, y);
    }
    hn_conv_nhwc_take(c, &job);
    HN_TRY(hn_conv_nhwc_run(c, &job));
    HN_TRY(has_map ? HONE_OK : hn_fused_activation(c, y));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

hone_status hn_eval_conv_transpose_nhwc(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_window window;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_window_read_transposed(hn_eval_node(c), x->rank - 2, y->dims + 1, x->dims + 1, w->dims + 2,
                              &window);
    hn_conv_transpose_nhwc_job job = {.window = &window,
                                      .batch = x->dims[0],
                                      .channels = w->dims[0],
                                      .filters = w->dims[1],
                                      .x = x->data,
                                      .w = w->data,
                                      .packed_w = hn_packed_weights(c),
                                      .bias = bias ? bias->data : NULL,
                                      .y = y->data,
                                      .x_step = x->row_stride,
                                      .y_step = y->row_stride};
    job.scratch =
        hn_eval_scratch_n(c, (uint64_t)hn_conv_transpose_nhwc_scratch_elems(&job), sizeof(float));
    HN_TRY_PTR(job.scratch);
    hn_conv_transpose_nhwc_f32(hn_eval_pool(c), &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
