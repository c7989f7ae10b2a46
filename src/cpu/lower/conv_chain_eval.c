/* Chains of channels-last convolutions, computed: together where that is faster and the processor
 * has vectors for all stages, else one by one. The bytes are the same. */
#include "cpu/lower/lower.h"
#include "cpu/lower/conv_chain_form.h"
#include "cpu/lower/conv_nhwc_eval.h"
#include "ops/eval/ms/ms_eval.h"
#include "cpu/pack/node_state.h"
#include "cpu/ops_cpu.h"

/* ---- filters --------------------------------------------------------------------------------- */

typedef struct chain_filters {
    hn_blob *blobs[HN_CONV_CHAIN_MOST];
    const hone_allocator *alloc; /* of this */
} chain_filters;

void hn_release_chain(const hn_op *op, void *state) {
    chain_filters *filters = state;
    (void)op;
    for (int i = 0; i < HN_CONV_CHAIN_MOST; i++)
        hn_blob_drop(filters->blobs[i]);
    hn_free(filters->alloc, filters, sizeof *filters);
}

/* `in` may be zeros: the methods that chains use pack filters alike for all sizes of maps. */
static void chain_stage_job(const hn_chain_stage *stage, const hn_array *w, const int64_t *in,
                            hn_window *window, hn_conv_nhwc_job *job) {
    hn_window_attrs attrs = stage->window;
    int64_t out[HN_CHAIN_AXES];
    for (int32_t a = 0; a < HN_CHAIN_AXES; a++) {
        attrs.axes[a].kernel = w->dims[2 + a];
        out[a] = hn_window_attrs_positions(&attrs, a, in[a]);
    }
    hn_window_set(&attrs, in, out, NULL, window);
    *job = (hn_conv_nhwc_job){.window = window,
                              .channels = w->dims[1] * stage->group,
                              .filters = w->dims[0],
                              .groups = stage->group,
                              .w = w->data};
    job->method = hn_conv_nhwc_unpacked(job);
}

/* Channels first: the channels are one more axis of a map with a single channel. */
static void read_stage_nchw(hn_window *window, hn_conv_nhwc_job *job) {
    hn_window flat = *window;
    hn_window_add_channels(&flat, job->channels, window);
    job->channels = 1;
    job->method = HN_CONV_NHWC_PRODUCT;
}

static hone_status prepare_stages(hn_eval *c, chain_filters *filters) {
    static const int64_t unknown[HN_CHAIN_AXES];
    hn_chain_stage stage;
    hn_window window;
    hn_conv_nhwc_job job;
    for (int i = 0, n = hn_chain_n_stages(&c->node); i < n; i++) {
        const hn_array *w = hn_arg(c, hn_chain_filters(i));
        /* Steps are prepared before shapes are inferred: runs refuse what is skipped here. */
        if (!w || w->dtype != HN_F32 || w->rank != HN_CHAIN_AXES + 2 || w->n_elems == 0 ||
            !hn_chain_stage_read(&c->node, i, &stage) || w->dims[0] % stage.group != 0)
            continue;
        chain_stage_job(&stage, w, unknown, &window, &job);
        if (i == 0 && hn_chain_reads_nchw(&c->node))
            read_stage_nchw(&window, &job);
        HN_TRY(hn_filters_nhwc_blob(c, &job, hn_chain_filters(i), &filters->blobs[i]));
    }
    return HONE_OK;
}

hone_status hn_prepare_chain(hn_eval *c, void **state) {
    const hone_allocator *alloc = hn_arena_allocator(c->node.scope->job->model->arena);
    chain_filters *filters = hn_calloc(alloc, 1, sizeof *filters);
    HN_TRY_PTR(filters);
    filters->alloc = alloc;
    hone_status status = prepare_stages(c, filters);
    if (status == HONE_OK)
        *state = filters;
    else
        hn_release_chain(c->node.op, filters);
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct chain_call {
    int n;
    hn_activation activations[HN_CONV_CHAIN_MOST];
    hn_conv_nhwc_job jobs[HN_CONV_CHAIN_MOST];
    hn_window windows[HN_CONV_CHAIN_MOST];
    bool is_fused[HN_CONV_CHAIN_MOST]; /* the activation is part of the epilogue */
    bool all_fused;
} chain_call;

static void read_chain_stage(hn_eval *c, int i, const int64_t *in, chain_call *call) {
    const chain_filters *filters = c->is_prepared ? c->state : NULL;
    const hn_array *bias = hn_arg(c, hn_chain_bias(i));
    hn_chain_stage stage;
    hn_conv_nhwc_job *job = &call->jobs[i];
    hn_chain_stage_read(&c->node, i, &stage); /* inference has checked it */
    chain_stage_job(&stage, hn_arg(c, hn_chain_filters(i)), in, &call->windows[i], job);
    if (i == 0 && hn_chain_reads_nchw(&c->node))
        read_stage_nchw(&call->windows[i], job);
    call->activations[i] = (hn_activation){.name = stage.activation,
                                           .a = stage.n_params > 0 ? &stage.params[0] : NULL,
                                           .b = stage.n_params > 1 ? &stage.params[1] : NULL};
    job->epilogue = (hn_epilogue_f32){.col_bias = bias ? bias->data : NULL};
    call->is_fused[i] = hn_activation_epilogue(&call->activations[i], &job->epilogue);
    call->all_fused = call->all_fused && call->is_fused[i];
    job->batch = hn_arg(c, 0)->dims[0];
    job->packed_w = filters && filters->blobs[i] ? hn_blob_data(filters->blobs[i]) : NULL;
}

static void read_chain(hn_eval *c, chain_call *call) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0), *sum = hn_arg(c, HN_CHAIN_Z);
    call->n = hn_chain_n_stages(&c->node);
    call->all_fused = true;
    const int64_t *in = x->dims + (hn_chain_reads_nchw(&c->node) ? 2 : 1);
    for (int i = 0; i < call->n; i++) {
        read_chain_stage(c, i, in, call);
        in = call->windows[i].out + call->windows[i].n_axes - HN_CHAIN_AXES;
    }
    call->jobs[0].x = x->data;
    call->jobs[0].x_step = x->row_stride;
    call->jobs[call->n - 1].y = y->data;
    call->jobs[call->n - 1].y_step = y->row_stride;
    call->jobs[call->n - 1].epilogue.residual_stride = sum ? sum->row_stride : 0;
    call->jobs[call->n - 1].epilogue.residual = sum ? sum->data : NULL;
}

static hone_status stages_one_by_one(hn_eval *c, chain_call *call) {
    for (int i = 0; i < call->n; i++) {
        hn_conv_nhwc_job *job = &call->jobs[i];
        const int64_t *out = job->window->out + job->window->n_axes - HN_CHAIN_AXES;
        int64_t dims[] = {job->batch, out[0], out[1], job->filters};
        hn_array made = *hn_ret(c, 0);
        if (i + 1 < call->n) {
            HN_TRY(hn_scratch_array(c, HN_F32, HN_CHAIN_AXES + 2, dims, &made));
            call->jobs[i + 1].x = job->y = made.data;
        }
        HN_TRY(hn_conv_nhwc_run(c, job));
        HN_TRY(call->is_fused[i] ? HONE_OK : hn_activate(c, &call->activations[i], &made));
    }
    return HONE_OK;
}

/* ---- lowered ---------------------------------------------------------------------------------- */

/* A chain in bands: its jobs point at the windows beside them. */
typedef struct chain_step {
    chain_call call;
    uint8_t i_bias[HN_CONV_CHAIN_MOST]; /* inputs; 0: none */
    bool has_residual;
} chain_step;

static hone_status run_conv_chain(const void *record, const hn_step_io *io) {
    const chain_step *s = record;
    int n = s->call.n;
    hn_conv_nhwc_job jobs[HN_CONV_CHAIN_MOST];
    for (int i = 0; i < n; i++) {
        jobs[i] = s->call.jobs[i];
        jobs[i].w = io->in[hn_chain_filters(i)];
        jobs[i].epilogue.col_bias = s->i_bias[i] ? io->in[s->i_bias[i]] : NULL;
    }
    jobs[0].x = io->in[0];
    jobs[n - 1].y = io->out[0];
    jobs[n - 1].epilogue.residual = s->has_residual ? io->in[HN_CHAIN_Z] : NULL;
    hn_conv_chain chain = {.n_stages = n, .stages = jobs, .scratch = io->scratch};
    hn_conv_chain_f32(io->pool, &chain);
    return HONE_OK;
}

/* Chains that do not pay are evaluated stage by stage. */
static hone_status lower_conv_chain(hn_eval *c, hn_lowered *out) {
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, HN_CHAIN_Z, hn_ret(c, 0)->rank, hn_ret(c, 0)->dims));
    chain_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    read_chain(c, &s->call);
    hn_conv_chain chain = {.n_stages = s->call.n, .stages = s->call.jobs};
    int n_threads = hn_lower_threads(c);
    if (!s->call.all_fused || !hn_conv_chain_can(&chain) || !hn_conv_chain_pays(&chain, n_threads))
        return HONE_OK;
    for (int i = 0; i < s->call.n; i++)
        s->i_bias[i] = hn_arg(c, hn_chain_bias(i)) ? (uint8_t)hn_chain_bias(i) : 0;
    s->has_residual = hn_arg(c, HN_CHAIN_Z) != NULL;
    int64_t n_scratch = hn_conv_chain_scratch_elems(&chain, n_threads);
    *out = (hn_lowered){
        .run = run_conv_chain, .record = s, .scratch_bytes = (size_t)n_scratch * sizeof(float)};
    return HONE_OK;
}

static hone_status eval_conv_chain(hn_eval *c) {
    chain_call call;
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, HN_CHAIN_Z, y->rank, y->dims));
    read_chain(c, &call);
    hn_conv_chain chain = {.n_stages = call.n, .stages = call.jobs};
    int n_threads = hn_pool_threads(hn_eval_pool(c));
    if (!call.all_fused || !hn_conv_chain_can(&chain) || !hn_conv_chain_pays(&chain, n_threads)) {
        HN_TRY(stages_one_by_one(c, &call));
    } else {
        int64_t n = hn_conv_chain_scratch_elems(&chain, n_threads);
        chain.scratch = hn_eval_scratch_n(c, (uint64_t)n, sizeof(float));
        HN_TRY_PTR(chain.scratch);
        hn_conv_chain_f32(hn_eval_pool(c), &chain);
    }
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_conv_chain[1] = {{.eval = eval_conv_chain}};
const hn_lowering hn_lower_conv_chain[1] = {{.lower = lower_conv_chain,
                                             .prepare = hn_prepare_chain,
                                             .release = hn_release_chain,
                                             .row_strides = {.args = 1 | 1 << 7, .rets = true}}};

/* Its first argument is not made of rows of pixels: rows of it are never strided. */
static hone_status eval_nchw_conv_chain(hn_eval *c) {
    return eval_conv_chain(c);
}
const hn_impl hn_impl_nchw_conv_chain[1] = {{.eval = eval_nchw_conv_chain}};
const hn_lowering hn_lower_nchw_conv_chain[1] = {{.lower = lower_conv_chain,
                                                  .prepare = hn_prepare_chain,
                                                  .release = hn_release_chain,
                                                  .row_strides = {.args = 1 << 7, .rets = true}}};
