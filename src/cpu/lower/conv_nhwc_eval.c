/* Convolutions of channels-last floats, computed. */
#include "cpu/lower/conv_nhwc_eval.h"

#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "ops/eval/ms/ms_eval.h"
#include "cpu/pack/node_state.h"

hone_status hn_conv_nhwc_run(hn_eval *c, hn_conv_nhwc_job *job) {
    int64_t n_scratch = hn_conv_nhwc_scratch_elems(job, hn_pool_threads(hn_eval_pool(c)));
    job->scratch = hn_eval_scratch_n(c, (uint64_t)n_scratch, sizeof(float));
    HN_TRY_PTR(job->scratch);
    hn_conv_nhwc_f32(hn_eval_pool(c), job);
    return HONE_OK;
}

hone_status hn_conv_nhwc_fill(hn_eval *c, hn_conv_nhwc_call *call) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2), *sum = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0);
    HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    call->job = (hn_conv_nhwc_job){.window = &call->window,
                                   .batch = x->dims[0],
                                   .filters = w->dims[0],
                                   .x = x->data,
                                   .w = w->data,
                                   .y = y->data,
                                   .epilogue = {.col_bias = bias ? bias->data : NULL,
                                                .residual = sum ? sum->data : NULL,
                                                .residual_stride = sum ? sum->row_stride : 0},
                                   .y_step = y->row_stride};
    call->is_fused = hn_fused_epilogue(c, &call->job.epilogue);
    return HONE_OK;
}

hone_status hn_conv_nhwc_call_run(hn_eval *c, hn_conv_nhwc_call *call) {
    if (hn_arg(c, 1)->n_elems == 0) /* no channels: the epilogue remains */
        hn_conv_nhwc_plain_f32(hn_eval_pool(c), &call->job);
    else
        HN_TRY(hn_conv_nhwc_run(c, &call->job));
    HN_TRY(call->is_fused ? HONE_OK : hn_fused_activation(c, hn_ret(c, 0)));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status fill_conv_nhwc(hn_eval *c, hn_conv_nhwc_call *call) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *y = hn_ret(c, 0);
    HN_TRY(hn_conv_nhwc_fill(c, call));
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 1, y->dims + 1, w->dims + 2,
                   &call->window);
    call->job.channels = x->dims[x->rank - 1];
    call->job.groups = hn_attr_i(hn_eval_node(c), "group", 1);
    call->job.x_step = x->row_stride;
    if (w->n_elems > 0)
        hn_conv_nhwc_take(c, &call->job);
    return HONE_OK;
}

hone_status hn_eval_conv_nhwc(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_conv_nhwc_call call;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(fill_conv_nhwc(c, &call));
    return hn_conv_nhwc_call_run(c, &call);
}

static void fill_conv_transpose_nhwc(const hn_eval *c, hn_window *window,
                                     hn_conv_transpose_nhwc_job *job) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_window_read_transposed(hn_eval_node(c), x->rank - 2, y->dims + 1, x->dims + 1, w->dims + 2,
                              window);
    *job = (hn_conv_transpose_nhwc_job){.window = window,
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
}

hone_status hn_eval_conv_transpose_nhwc(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_window window;
    hn_conv_transpose_nhwc_job job;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    fill_conv_transpose_nhwc(c, &window, &job);
    job.scratch =
        hn_eval_scratch_n(c, (uint64_t)hn_conv_transpose_nhwc_scratch_elems(&job), sizeof(float));
    HN_TRY_PTR(job.scratch);
    hn_conv_transpose_nhwc_f32(hn_eval_pool(c), &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
