/* Convolutions that read channels first and write channels last: the first of a network, whose
 * image has about three channels. Its channels are one more axis of the image, which windows cover
 * completely: a convolution of one channel over [C, spatial...], whose filters have the order of
 * the file. */
#include "cpu/lower/lower.h"
#include "cpu/lower/conv_nhwc_eval.h"
#include "cpu/pack/node_state.h"
#include "cpu/ops_cpu.h"

void hn_window_add_channels(const hn_window *flat, int64_t channels, hn_window *s) {
    size_t bytes = (size_t)flat->n_axes * sizeof *flat->in;
    *s = (hn_window){.n_axes = flat->n_axes + 1,
                     .in = {channels},
                     .out = {1},
                     .kernel = {channels},
                     .stride = {1},
                     .dilation = {1},
                     .in_elems = flat->in_elems * channels,
                     .out_elems = flat->out_elems,
                     .kernel_elems = flat->kernel_elems * channels};
    memcpy(s->in + 1, flat->in, bytes);
    memcpy(s->out + 1, flat->out, bytes);
    memcpy(s->kernel + 1, flat->kernel, bytes);
    memcpy(s->stride + 1, flat->stride, bytes);
    memcpy(s->dilation + 1, flat->dilation, bytes);
    memcpy(s->pad + 1, flat->pad, bytes);
}

static hone_status fill_nchw_conv(hn_eval *c, hn_conv_nhwc_call *call) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *y = hn_ret(c, 0);
    hn_window flat;
    if (x->rank - 1 > HN_MAX_SPATIAL)
        return hn_eval_fail(c, HONE_E_LIMIT, "input 0 has rank %d; at most %d is possible here",
                            x->rank, HN_MAX_SPATIAL + 1);
    HN_TRY(hn_conv_nhwc_fill(c, call));
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 2, y->dims + 1, w->dims + 2, &flat);
    hn_window_add_channels(&flat, x->dims[1], &call->window);
    call->job.channels = call->job.groups = 1;
    call->job.method = HN_CONV_NHWC_PRODUCT;
    call->job.packed_w = hn_packed_weights(c);
    return HONE_OK;
}

static hone_status eval_nchw_conv(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_conv_nhwc_call call;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(fill_nchw_conv(c, &call));
    return hn_conv_nhwc_call_run(c, &call);
}
const hn_impl hn_impl_nchw_conv[1] = {{.eval = eval_nchw_conv}};

static hone_status lower_nchw_conv(hn_eval *c, hn_lowered *out) {
    return hn_conv_nhwc_lower(c, fill_nchw_conv, out);
}
const hn_lowering hn_lower_nchw_conv[1] = {{.lower = lower_nchw_conv,
                                            .prepare = hn_prepare_nchw_filters,
                                            .release = hn_release_weights,
                                            .row_strides = {.args = 1 << 3, .rets = true}}};

static hone_status fill_nchw_filters(void *job, void *out) {
    hn_conv_nhwc_pack(job, out);
    return HONE_OK;
}

hone_status hn_prepare_nchw_filters(hn_eval *c, void **state) {
    static const int64_t unknown[HN_MAX_SPATIAL];
    const hn_array *w = hn_arg(c, 1);
    *state = NULL;
    if (!w || w->dtype != HN_F32 || w->rank < 3 || w->n_elems == 0 || w->rank - 1 > HN_MAX_SPATIAL)
        return HONE_OK;
    hn_window flat, window;
    hn_window_read(&c->node, w->rank - 2, unknown, unknown, w->dims + 2, &flat);
    hn_window_add_channels(&flat, w->dims[1], &window);
    hn_conv_nhwc_job job = {.window = &window,
                            .channels = 1,
                            .filters = w->dims[0],
                            .groups = 1,
                            .w = w->data,
                            .method = HN_CONV_NHWC_PRODUCT};
    hn_weights_form form = {.kind = HN_BLOB_NCHW_FILTERS,
                            .n_args = 1,
                            .n_elems = hn_conv_nhwc_packed_elems(&job),
                            .sizes = {job.filters, window.kernel_elems, w->dims[w->rank - 1]},
                            .fill = fill_nchw_filters,
                            .job = &job};
    return form.n_elems ? hn_take_weights(c, &form, state) : HONE_OK;
}
