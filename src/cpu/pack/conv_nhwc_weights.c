/* Filters of channels-last convolutions: the method is chosen when the program is made, and the
 * filters are packed for it. */
#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "cpu/lower/conv_nhwc_eval.h"
#include "cpu/pack/node_state.h"

static const hn_blob_kind filters_kinds[] = {[HN_CONV_NHWC_PRODUCT] = HN_BLOB_NHWC_PRODUCT,
                                             [HN_CONV_NHWC_WINOGRAD] = HN_BLOB_NHWC_WINOGRAD,
                                             [HN_CONV_NHWC_DEPTHWISE] = HN_BLOB_NHWC_DEPTHWISE,
                                             [HN_CONV_NHWC_BF16] = HN_BLOB_RIGHT_SIDE_BF16_PAIRS};

typedef struct filters_nhwc {
    hn_conv_nhwc_method method;
    hn_blob *blob;
    const hone_allocator *alloc; /* of this */
} filters_nhwc;

hn_conv_nhwc_method hn_conv_nhwc_unpacked(const hn_conv_nhwc_job *job) {
    hn_conv_nhwc_method method = hn_conv_nhwc_choose(job);
    return method == HN_CONV_NHWC_WINOGRAD ? HN_CONV_NHWC_PRODUCT : method;
}

static hone_status fill_filters_nhwc(void *job, void *out) {
    hn_conv_nhwc_pack(job, out);
    return HONE_OK;
}

/* The packing depends on all sizes but the batch: some methods choose tiles by the size of maps. */
static void name_filters(const hn_eval *c, const hn_conv_nhwc_job *job, uint64_t n_elems,
                         uint32_t arg, hn_blob_key *key) {
    const hn_window *s = job->window;
    int64_t sizes[] = {job->channels, job->filters, job->groups, s->n_axes};
    size_t bytes = (size_t)s->n_axes * sizeof *s->kernel;
    hn_prepared_key(c, key, filters_kinds[job->method], n_elems * sizeof(float));
    hn_blob_key_mix(key, sizes, sizeof sizes);
    hn_blob_key_mix(key, s->kernel, bytes);
    if (job->method == HN_CONV_NHWC_WINOGRAD)
        hn_blob_key_mix(key, s->out, bytes);
    hn_prepared_key_arg(c, key, arg);
}

hone_status hn_filters_nhwc_blob(hn_eval *c, hn_conv_nhwc_job *job, uint32_t arg, hn_blob **out) {
    int64_t n_elems = hn_conv_nhwc_packed_elems(job);
    hn_blob_key key;
    *out = NULL;
    if (n_elems == 0)
        return HONE_OK;
    name_filters(c, job, (uint64_t)n_elems, arg, &key);
    HN_TRY(hn_prepared_blob(c, &key, fill_filters_nhwc, job, out));
    c->packed_args |= UINT64_C(1) << arg;
    return HONE_OK;
}

/* The spatial sizes of a value [N, spatial..., C] when all are numbers; else zeros. */
static void static_sizes(const hn_shape *shape, int32_t n_axes, int64_t *sizes) {
    bool is_known = shape && shape->rank == n_axes + 2;
    for (int32_t i = 0; i < n_axes; i++)
        is_known = is_known && hn_dim_is_known(shape->dims[i + 1]);
    for (int32_t i = 0; i < n_axes; i++)
        sizes[i] = is_known ? shape->dims[i + 1] : 0;
}

static const hn_shape *output_shape(const hn_eval *c) {
    const hn_type *t = hn_value_at(c->node.scope->g, c->node.node->outputs[0])->type;
    return t && t->kind == HN_TYPE_TENSOR && t->shape.rank >= 0 ? &t->shape : NULL;
}

/* Whether the session computes this one in bfloat16. Padding that a map of unknown size will have
 * is looked for in the attribute. */
static bool is_bf16_wanted(const hn_eval *c, const hn_conv_nhwc_job *job) {
    const int64_t *pads;
    uint32_t n = 0;
    if (!c->consts || c->consts->stored != HN_STORED_BF16_PAIRS || !hn_bf16_nhwc_can(job))
        return false;
    if (hn_attr_ints(&c->node, "pads", &n, &pads))
        for (uint32_t i = 0; i < n; i++)
            if (pads[i] != 0)
                return false;
    return true;
}

/* By the sizes alone, or as it was measured where the map's sizes are known. */
static hone_status choose_method(const hn_eval *c, hn_conv_nhwc_job *job) {
    hn_kernel_choices *measured = c->consts ? c->consts->choices : NULL;
    job->method = is_bf16_wanted(c, job) ? HN_CONV_NHWC_BF16 : hn_conv_nhwc_choose(job);
    if (job->method == HN_CONV_NHWC_BF16 || !measured || job->window->in_elems <= 0 ||
        job->window->out_elems <= 0)
        return HONE_OK;
    return hn_kernel_choices_ask(measured, c->node.id, hn_s(c->node.node->name), job);
}

/* 1 where it is not known. */
static int64_t static_batch(const hn_shape *shape) {
    bool is_known = shape && shape->rank > 0 && hn_dim_is_known(shape->dims[0]);
    return is_known ? HN_MAX(shape->dims[0], 1) : 1;
}

hone_status hn_prepare_filters_nhwc(hn_eval *c, void **state) {
    const hn_array *w = hn_arg(c, 1);
    int64_t groups = hn_attr_i(&c->node, "group", 1), in[HN_MAX_SPATIAL], out[HN_MAX_SPATIAL];
    *state = NULL;
    if (!w || w->dtype != HN_F32 || w->rank < 3 || w->n_elems == 0 || groups < 1 ||
        w->dims[0] % groups != 0 || c->node.node->n_outputs == 0)
        return HONE_OK;
    hn_window window;
    static_sizes(hn_in_shape(&c->node, 0), w->rank - 2, in);
    static_sizes(output_shape(c), w->rank - 2, out);
    hn_window_read(&c->node, w->rank - 2, in, out, w->dims + 2, &window);
    hn_conv_nhwc_job job = {.window = &window,
                            .batch = static_batch(hn_in_shape(&c->node, 0)),
                            .channels = w->dims[1] * groups,
                            .filters = w->dims[0],
                            .groups = groups,
                            .w = w->data};
    HN_TRY(choose_method(c, &job));
    const hone_allocator *alloc = hn_arena_allocator(c->node.scope->job->model->arena);
    filters_nhwc *filters = hn_calloc(alloc, 1, sizeof *filters);
    HN_TRY_PTR(filters);
    *filters = (filters_nhwc){.method = job.method, .alloc = alloc};
    hone_status status = hn_filters_nhwc_blob(c, &job, 1, &filters->blob);
    if (filters->blob)
        *state = filters;
    else
        hn_free(alloc, filters, sizeof *filters);
    return status;
}

void hn_release_filters_nhwc(const hn_op *op, void *state) {
    filters_nhwc *filters = state;
    (void)op;
    hn_blob_drop(filters->blob);
    hn_free(filters->alloc, filters, sizeof *filters);
}

void hn_conv_nhwc_take(const hn_eval *c, hn_conv_nhwc_job *job) {
    const filters_nhwc *filters = c->is_prepared ? c->state : NULL;
    job->packed_w = filters ? hn_blob_data(filters->blob) : NULL;
    job->method = filters ? filters->method : hn_conv_nhwc_unpacked(job);
}

/* ---- transposed ------------------------------------------------------------------------------ */

static hone_status fill_transposed(void *job, void *out) {
    hn_conv_transpose_nhwc_pack(job, out);
    return HONE_OK;
}

hone_status hn_prepare_transposed_nhwc(hn_eval *c, void **state) {
    const hn_array *w = hn_arg(c, 1);
    *state = NULL;
    if (!w || w->dtype != HN_F32 || w->rank < 3 || w->n_elems == 0)
        return HONE_OK;
    static const int64_t unknown[HN_MAX_SPATIAL];
    int32_t n_axes = w->rank - 2;
    size_t bytes = (size_t)n_axes * sizeof *w->dims;
    hn_window window;
    hn_window_read(&c->node, n_axes, unknown, unknown, w->dims + 2, &window);
    hn_conv_transpose_nhwc_job job = {
        .window = &window, .channels = w->dims[0], .filters = w->dims[1], .w = w->data};
    int64_t n_elems = hn_conv_transpose_nhwc_packed_elems(&job);
    if (n_elems == 0)
        return HONE_OK;
    hn_blob_key key;
    hn_blob *blob;
    hn_prepared_key(c, &key, HN_BLOB_NHWC_TRANSPOSED, (uint64_t)n_elems * sizeof(float));
    hn_blob_key_mix(&key, w->dims, bytes + 2 * sizeof *w->dims);
    hn_blob_key_mix(&key, window.stride, bytes);
    hn_blob_key_mix(&key, window.dilation, bytes);
    hn_prepared_key_arg(c, &key, 1);
    HN_TRY(hn_prepared_blob(c, &key, fill_transposed, &job, &blob));
    *state = blob;
    c->packed_args |= UINT64_C(1) << 1;
    return HONE_OK;
}
