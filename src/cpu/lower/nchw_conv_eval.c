/* Convolutions that read channels first and write channels last: the first of a network, whose
 * image has three channels or so. Its channels are one more axis of the image, which windows cover
 * from one end to the other: a convolution of one channel over [C, spatial...], whose filters lie
 * as the file has them. */
#include "cpu/lower/conv_nhwc_eval.h"
#include "ops/eval/ms/ms_eval.h"
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

hone_status hn_eval_nchw_conv(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *bias = hn_arg(c, 2), *sum = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0);
    hn_window flat, window;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (x->rank - 1 > HN_MAX_SPATIAL)
        return hn_eval_fail(c, HONE_E_LIMIT, "input 0 has rank %d; at most %d is possible here",
                            x->rank, HN_MAX_SPATIAL + 1);
    HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    hn_finish_f32 finish = {.residual = sum ? sum->data : NULL};
    bool has_map = hn_fused_map(c, &finish);
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 2, y->dims + 1, w->dims + 2, &flat);
    hn_window_add_channels(&flat, x->dims[1], &window);
    hn_conv_nhwc_job job = {.window = &window,
                            .batch = x->dims[0],
                            .channels = 1,
                            .filters = w->dims[0],
                            .groups = 1,
                            .x = x->data,
                            .w = w->data,
                            .bias = bias ? bias->data : NULL,
                            .method = HN_CONV_LAST_PRODUCT,
                            .packed_w = hn_packed_weights(c),
                            .y = y->data,
                            .finish = sum || finish.map ? &finish : NULL,
                            .y_step = y->row_stride,
                            .residual_step = sum ? sum->row_stride : 0};
    if (w->n_elems == 0) { /* no channels: bias and what follows */
        hn_conv_nhwc_plain_f32(hn_eval_pool(c), &job);
        return has_map ? HONE_OK : hn_fused_activation(c, y);
    }
    HN_TRY(hn_conv_nhwc_run(c, &job));
    HN_TRY(has_map ? HONE_OK : hn_fused_activation(c, y));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

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
                            .method = HN_CONV_LAST_PRODUCT};
    hn_weights_form form = {.kind = HN_BLOB_NCHW_FILTERS,
                            .n_args = 1,
                            .n_elems = hn_conv_nhwc_packed_elems(&job),
                            .sizes = {job.filters, window.kernel_elems, w->dims[w->rank - 1]},
                            .fill = fill_nchw_filters,
                            .job = &job};
    return form.n_elems ? hn_take_weights(c, &form, state) : HONE_OK;
}
