/* Filters of channels-last convolutions of 8-bit integers, packed before all runs. Zero points are
 * not in them: they stay arguments. */
#include "cpu/kernels/conv_int8/conv_int8.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/onnx/window_eval.h"

typedef struct int8_filters {
    const hn_conv_int8_job *job;
    const hn_array *w;
} int8_filters;

static hone_status fill_int8_filters(void *ctx, void *out) {
    const int8_filters *filters = ctx;
    hn_conv_int8_pack(filters->job, filters->w->data, filters->w->dtype == HN_I8, out);
    return HONE_OK;
}

/* Packing does not depend on the sizes of maps. */
static hone_status prepare_int8_filters(hn_eval *c, uint32_t arg, void **state) {
    static const int64_t unknown[HN_MAX_SPATIAL];
    const hn_array *w = hn_arg(c, arg);
    int64_t groups = hn_attr_i(&c->node, "group", 1);
    hn_window window;
    *state = NULL;
    if (!w || !hn_dtype_is_byte(w->dtype) || w->rank < 3 || w->n_elems == 0 || groups < 1 ||
        w->dims[0] % groups != 0 || hn_attr_i(&c->node, "channels_first", 0) != 0)
        return HONE_OK;
    hn_window_read(&c->node, w->rank - 2, unknown, unknown, w->dims + 2, &window);
    if (!hn_conv_int8_is_fast(&window, groups))
        return HONE_OK;
    hn_conv_int8_job job = {.window = &window,
                            .batch = 1,
                            .channels = w->dims[1] * groups,
                            .filters = w->dims[0],
                            .groups = groups,
                            .x_step = w->dims[1] * groups};
    int8_filters filters = {&job, w};
    size_t bytes = (size_t)window.n_axes * sizeof *window.kernel;
    const int64_t form[] = {job.channels, job.filters, groups, window.n_axes, w->dtype};
    hn_blob_key key;
    hn_blob *blob;
    hn_prepared_key(c, &key, HN_BLOB_NHWC_INT8, hn_conv_int8_packed_bytes(&job));
    hn_blob_key_mix(&key, form, sizeof form);
    hn_blob_key_mix(&key, window.kernel, bytes);
    hn_blob_key_mix(&key, window.dilation, bytes);
    hn_prepared_key_arg(c, &key, arg);
    HN_TRY(hn_prepared_blob(c, &key, fill_int8_filters, &filters, &blob));
    *state = blob;
    c->packed_args |= UINT64_C(1) << arg;
    return HONE_OK;
}

hone_status hn_prepare_int8_filters_arg3(hn_eval *c, void **state) {
    return prepare_int8_filters(c, 3, state);
}

hone_status hn_prepare_int8_filters_arg1(hn_eval *c, void **state) {
    return prepare_int8_filters(c, 1, state);
}
