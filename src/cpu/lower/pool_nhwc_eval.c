/* Pools of channels-last floats, and the maximum of bytes, computed. */
#include "cpu/lower/lower.h"
#include "cpu/kernels/pool/pool_bytes.h"
#include "cpu/kernels/pool/pool_nhwc.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/onnx/window_eval.h"

#define MOST_POOL_NHWC_TAPS 1e8

/* A pooling node as a job, which points at the other fields: not to be copied. */
typedef struct pool_nhwc_call {
    hn_window window;
    int64_t pad_end[HN_MAX_SPATIAL];
    hn_pool_nhwc_job job;
    bool is_of_bytes; /* then this job is run */
    hn_pool_bytes_job bytes;
} pool_nhwc_call;

static hone_status fill_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind, bool count_padding,
                                  pool_nhwc_call *call) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    double taps = 1; /* windows take no memory, so only the time limits them */
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 1, y->dims + 1, NULL, &call->window);
    hn_window_pad_end(hn_eval_node(c), &call->window, call->pad_end);
    for (int32_t i = 0; i < call->window.n_axes; i++)
        taps *= (double)call->window.kernel[i];
    if (taps > MOST_POOL_NHWC_TAPS)
        return hn_eval_fail(c, HONE_E_LIMIT, "a window of %g elements is too large", taps);
    call->job = (hn_pool_nhwc_job){.kind = kind,
                                   .window = &call->window,
                                   .batch = x->dims[0],
                                   .channels = x->dims[x->rank - 1],
                                   .pad_end = count_padding ? call->pad_end : NULL,
                                   .x_step = x->row_stride,
                                   .y_step = y->row_stride};
    call->is_of_bytes = x->dtype != HN_F32;
    call->bytes = (hn_pool_bytes_job){.window = &call->window,
                                      .batch = x->dims[0],
                                      .channels = x->dims[x->rank - 1],
                                      .is_signed = x->dtype == HN_I8,
                                      .x_step = x->row_stride,
                                      .y_step = y->row_stride};
    return HONE_OK;
}

static void run_pool_call(hn_pool *pool, const pool_nhwc_call *call, const void *x, void *y) {
    hn_pool_nhwc_job job = call->job;
    hn_pool_bytes_job bytes = call->bytes;
    job.x = x;
    job.y = y;
    bytes.x = x;
    bytes.y = y;
    if (call->is_of_bytes)
        hn_pool_bytes(pool, &bytes);
    else
        hn_pool_nhwc_f32(pool, &job);
}

static hone_status run_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind, bool count_padding) {
    hn_array *y = hn_ret(c, 0);
    pool_nhwc_call call;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(fill_pool_nhwc(c, kind, count_padding, &call));
    run_pool_call(hn_eval_pool(c), &call, hn_arg(c, 0)->data, y->data);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status run_lowered_pool_nhwc(const void *record, const hn_step_io *io) {
    run_pool_call(io->pool, record, io->in[0], io->out[0]);
    return HONE_OK;
}

static hone_status lower_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind, bool count_padding,
                                   hn_lowered *out) {
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    pool_nhwc_call *call = hn_lower_alloc(c, sizeof *call);
    HN_TRY_PTR(call);
    HN_TRY(fill_pool_nhwc(c, kind, count_padding, call));
    *out = (hn_lowered){.run = run_lowered_pool_nhwc, .record = call};
    return HONE_OK;
}

static hone_status eval_max_pool_nhwc(hn_eval *c) {
    return run_pool_nhwc(c, HN_POOL_NHWC_MAX, false);
}
const hn_impl hn_impl_max_pool_nhwc[1] = {{.eval = eval_max_pool_nhwc}};
static hone_status lower_max_pool_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_pool_nhwc(c, HN_POOL_NHWC_MAX, false, out);
}
const hn_lowering hn_lower_max_pool_nhwc[1] = {
    {.lower = lower_max_pool_nhwc, .row_strides = {.args = 1, .rets = true}}};

static bool counts_padding(const hn_eval *c) {
    return hn_attr_i(hn_eval_node(c), "count_include_pad", 0) != 0;
}

static hone_status eval_average_pool_nhwc(hn_eval *c) {
    return run_pool_nhwc(c, HN_POOL_NHWC_AVERAGE, counts_padding(c));
}
const hn_impl hn_impl_average_pool_nhwc[1] = {{.eval = eval_average_pool_nhwc}};
static hone_status lower_average_pool_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_pool_nhwc(c, HN_POOL_NHWC_AVERAGE, counts_padding(c), out);
}
const hn_lowering hn_lower_average_pool_nhwc[1] = {
    {.lower = lower_average_pool_nhwc, .row_strides = {.args = 1, .rets = true}}};

/* ---- of whole maps ---------------------------------------------------------------------------- */

static hn_pool_global_nhwc_job global_job(const hn_eval *c, hn_pool_nhwc_kind kind) {
    const hn_array *x = hn_arg(c, 0);
    return (hn_pool_global_nhwc_job){.kind = kind,
                                     .batch = x->dims[0],
                                     .elems = (int64_t)hn_count(x->rank - 2, x->dims + 1),
                                     .channels = x->dims[x->rank - 1],
                                     .x = x->data,
                                     .y = hn_ret(c, 0)->data};
}

static hone_status run_lowered_global(const void *record, const hn_step_io *io) {
    hn_pool_global_nhwc_job job = *(const hn_pool_global_nhwc_job *)record;
    job.x = io->in[0];
    job.y = io->out[0];
    job.scratch = io->scratch;
    hn_pool_global_nhwc_f32(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_global(hn_eval *c, hn_pool_nhwc_kind kind, hn_lowered *out) {
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    hn_pool_global_nhwc_job *job = hn_lower_alloc(c, sizeof *job);
    HN_TRY_PTR(job);
    *job = global_job(c, kind);
    *out = (hn_lowered){.run = run_lowered_global,
                        .record = job,
                        .scratch_bytes =
                            (size_t)hn_pool_global_nhwc_scratch_elems(job) * sizeof *job->scratch};
    return HONE_OK;
}

static hone_status run_global_pool_nhwc(hn_eval *c, hn_pool_nhwc_kind kind) {
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_pool_global_nhwc_job job = global_job(c, kind);
    job.scratch =
        hn_eval_scratch(c, (uint64_t)hn_pool_global_nhwc_scratch_elems(&job) * sizeof *job.scratch);
    HN_TRY_PTR(job.scratch);
    hn_pool_global_nhwc_f32(hn_eval_pool(c), &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status eval_global_max_pool_nhwc(hn_eval *c) {
    return run_global_pool_nhwc(c, HN_POOL_NHWC_MAX);
}
const hn_impl hn_impl_global_max_pool_nhwc[1] = {{.eval = eval_global_max_pool_nhwc}};
static hone_status lower_global_max_pool_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_global(c, HN_POOL_NHWC_MAX, out);
}
const hn_lowering hn_lower_global_max_pool_nhwc[1] = {{.lower = lower_global_max_pool_nhwc}};

static hone_status eval_global_average_pool_nhwc(hn_eval *c) {
    return run_global_pool_nhwc(c, HN_POOL_NHWC_AVERAGE);
}
const hn_impl hn_impl_global_average_pool_nhwc[1] = {{.eval = eval_global_average_pool_nhwc}};
static hone_status lower_global_average_pool_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_global(c, HN_POOL_NHWC_AVERAGE, out);
}
const hn_lowering hn_lower_global_average_pool_nhwc[1] = {
    {.lower = lower_global_average_pool_nhwc}};
