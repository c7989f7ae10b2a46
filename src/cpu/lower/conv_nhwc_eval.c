/* Convolutions of channels-last floats, computed. */
#include "cpu/lower/lower.h"
#include "cpu/lower/conv_nhwc_eval.h"

#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "cpu/kernels/kernel_select.h"
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

/* ---- lowered ---------------------------------------------------------------------------------- */

static hone_status run_conv_nhwc(const void *record, const hn_step_io *io) {
    const hn_conv_nhwc_call *call = record;
    hn_conv_nhwc_job job = call->job;
    job.x = io->in[0];
    job.w = io->in[1];
    job.y = io->out[0];
    job.epilogue.col_bias = call->has_bias ? io->in[2] : NULL;
    job.epilogue.residual = call->has_residual ? io->in[3] : NULL;
    job.scratch = io->scratch;
    hn_conv_nhwc_f32(io->pool, &job);
    return HONE_OK;
}

static const char *family_of_method(hn_conv_nhwc_method method) {
    static const hn_kernel_family families[] = {[HN_CONV_NHWC_PRODUCT] = HN_FAMILY_conv_nhwc,
                                                [HN_CONV_NHWC_WINOGRAD] = HN_FAMILY_winograd,
                                                [HN_CONV_NHWC_DEPTHWISE] = HN_FAMILY_depthwise_nhwc,
                                                [HN_CONV_NHWC_BF16] = HN_FAMILY_gemm_bf16};
    return hn_kernel_family_name(families[method]);
}

hone_status hn_conv_nhwc_lower(hn_eval *c, hn_conv_nhwc_fill_fn fill, hn_lowered *out) {
    const hn_array *w = hn_arg(c, 1), *y = hn_ret(c, 0);
    if (!w || !y || w->n_elems == 0 || y->n_elems == 0)
        return HONE_OK;
    hn_conv_nhwc_call *call = hn_lower_alloc(c, sizeof *call);
    HN_TRY_PTR(call);
    HN_TRY(fill(c, call));
    if (!call->is_fused)
        return HONE_OK;
    call->has_bias = hn_arg(c, 2) != NULL;
    call->has_residual = hn_arg(c, 3) != NULL;
    int64_t n_scratch = hn_conv_nhwc_scratch_elems(&call->job, hn_lower_threads(c));
    *out = (hn_lowered){.run = run_conv_nhwc,
                        .record = call,
                        .scratch_bytes = (size_t)n_scratch * sizeof(float),
                        .kernel = family_of_method(call->job.method)};
    return HONE_OK;
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

static hone_status eval_conv_nhwc(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_conv_nhwc_call call;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(fill_conv_nhwc(c, &call));
    return hn_conv_nhwc_call_run(c, &call);
}
const hn_impl hn_impl_conv_nhwc[1] = {{.eval = eval_conv_nhwc}};

static hone_status lower_conv_nhwc(hn_eval *c, hn_lowered *out) {
    return hn_conv_nhwc_lower(c, fill_conv_nhwc, out);
}
const hn_lowering hn_lower_conv_nhwc[1] = {{.lower = lower_conv_nhwc,
                                            .prepare = hn_prepare_filters_nhwc,
                                            .release = hn_release_filters_nhwc,
                                            .row_strides = {.args = 1 | 1 << 3, .rets = true}}};

/* ---- transposed ------------------------------------------------------------------------------- */

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

static hone_status eval_conv_transpose_nhwc(hn_eval *c) {
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
const hn_impl hn_impl_conv_transpose_nhwc[1] = {{.eval = eval_conv_transpose_nhwc}};

/* The job points at the window. */
typedef struct transpose_nhwc_step {
    hn_window window;
    hn_conv_transpose_nhwc_job job;
    bool has_bias;
} transpose_nhwc_step;

static hone_status run_conv_transpose_nhwc(const void *record, const hn_step_io *io) {
    const transpose_nhwc_step *s = record;
    hn_conv_transpose_nhwc_job job = s->job;
    job.x = io->in[0];
    job.w = io->in[1];
    job.bias = s->has_bias ? io->in[2] : NULL;
    job.y = io->out[0];
    job.scratch = io->scratch;
    hn_conv_transpose_nhwc_f32(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_conv_transpose_nhwc(hn_eval *c, hn_lowered *out) {
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    transpose_nhwc_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    fill_conv_transpose_nhwc(c, &s->window, &s->job);
    s->has_bias = hn_arg(c, 2) != NULL;
    size_t n_scratch = (size_t)hn_conv_transpose_nhwc_scratch_elems(&s->job);
    *out = (hn_lowered){
        .run = run_conv_transpose_nhwc, .record = s, .scratch_bytes = n_scratch * sizeof(float)};
    return HONE_OK;
}
const hn_lowering hn_lower_conv_transpose_nhwc[1] = {{.lower = lower_conv_transpose_nhwc,
                                                      .prepare = hn_prepare_transposed_nhwc,
                                                      .release = hn_release_weights,
                                                      .row_strides = {.args = 1, .rets = true}}};
