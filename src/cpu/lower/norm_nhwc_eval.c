/* Normalizations of channels-last floats, with an activation: batch, instance, group. */
#include <math.h>

#include "cpu/lower/lower.h"
#include "cpu/kernels/rows/rows_nhwc.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/ms/ms_eval.h"

/* Floats [N, spatial..., C], and what becomes of each channel. */
typedef struct norm_nhwc {
    int64_t n_images, n_rows, channels; /* rows of one image */
    const float *x, *gamma, *beta;
    float *y, *center, *scale; /* per channel; beta is the shift */
    int64_t x_step, y_step;    /* from one row to the next */
    double epsilon;
    hn_epilogue_f32 epilogue; /* an activation */
    bool is_fused;
} norm_nhwc;

/* gamma and beta are arguments 1 and 2. False: there is nothing to do. */
static hone_status open_norm(hn_eval *c, norm_nhwc *n, bool *is_empty) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    *is_empty = !y || y->n_elems == 0;
    if (*is_empty)
        return HONE_OK;
    if (x->rank < 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "channels last need rank 2 or more, input 0 has %d",
                            x->rank);
    *n = (norm_nhwc){.n_images = x->dims[0],
                     .n_rows = (int64_t)hn_count(x->rank - 2, x->dims + 1),
                     .channels = x->dims[x->rank - 1],
                     .x = x->data,
                     .gamma = hn_arg(c, 1)->data,
                     .beta = hn_arg(c, 2)->data,
                     .y = y->data,
                     .x_step = hn_row_stride(x),
                     .y_step = hn_row_stride(y),
                     .epsilon = (double)hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f)};
    n->center = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *n->center);
    n->scale = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *n->scale);
    n->is_fused = hn_fused_epilogue(c, &n->epilogue);
    HN_TRY_PTR(n->center && n->scale);
    return HONE_OK;
}

/* y = (x - mean) / deviation * gamma + beta. */
static void set_channel(norm_nhwc *n, int64_t i, float gamma, double mean, double variance) {
    n->center[i] = (float)mean;
    n->scale[i] = (float)((double)gamma / sqrt(variance + n->epsilon));
}

static void scale_images(hn_eval *c, const norm_nhwc *n, int64_t first, int64_t n_images) {
    int64_t row = first * n->n_rows;
    hn_scale_rows_f32(hn_eval_pool(c), &(hn_scale_rows_job){.n_rows = n_images * n->n_rows,
                                                            .channels = n->channels,
                                                            .x = n->x + row * n->x_step,
                                                            .center = n->center,
                                                            .scale = n->scale,
                                                            .shift = n->beta,
                                                            .y = n->y + row * n->y_step,
                                                            .epilogue = n->epilogue,
                                                            .x_step = n->x_step,
                                                            .y_step = n->y_step});
}

static hone_status close_norm(hn_eval *c, const norm_nhwc *n) {
    HN_TRY(n->is_fused ? HONE_OK : hn_fused_activation(c, hn_ret(c, 0)));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status eval_batch_norm_nhwc(hn_eval *c) {
    norm_nhwc n;
    bool is_empty;
    HN_TRY(open_norm(c, &n, &is_empty));
    if (is_empty)
        return HONE_OK;
    for (uint32_t i = 1; i < 5; i++)
        HN_TRY(hn_want_elems(c, i, (uint64_t)n.channels));
    const float *mean = hn_arg(c, 3)->data, *variance = hn_arg(c, 4)->data;
    for (int64_t i = 0; i < n.channels; i++)
        set_channel(&n, i, n.gamma[i], (double)mean[i], (double)variance[i]);
    scale_images(c, &n, 0, n.n_images);
    return close_norm(c, &n);
}
const hn_impl hn_impl_batch_norm_nhwc[1] = {
    {.eval = eval_batch_norm_nhwc, .memory = HN_MEMORY_IN_PLACE}};
const hn_lowering hn_lower_batch_norm_nhwc[1] = {{.row_strides = {.args = 1, .rets = true}}};

/* ---- statistics of each image ---------------------------------------------------------------- */

/* Channels of a group share the moments of all their elements. */
static void join_group(double *mean, double *variance, int64_t n) {
    double all = 0, spread = 0;
    for (int64_t i = 0; i < n; i++)
        all += mean[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        spread += (variance[i] + (mean[i] - all) * (mean[i] - all)) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        mean[i] = all;
        variance[i] = spread;
    }
}

/* Groups of so many channels each. */
static hone_status normalize_images(hn_eval *c, norm_nhwc *n, int64_t per_group) {
    hn_moments_rows_job job = {.n_rows = n->n_rows, .channels = n->channels, .x_step = n->x_step};
    job.mean = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *job.mean);
    job.variance = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *job.variance);
    job.scratch = hn_eval_scratch_n(
        c, (uint64_t)hn_moments_rows_scratch_elems(n->n_rows, n->channels), sizeof(float));
    HN_TRY_PTR(job.mean && job.variance && job.scratch);
    for (int64_t image = 0; image < n->n_images && !hn_eval_stopped(c); image++) {
        job.x = n->x + image * n->n_rows * n->x_step;
        hn_moments_rows_f32(hn_eval_pool(c), &job);
        for (int64_t i = 0; per_group > 1 && i < n->channels; i += per_group)
            join_group(job.mean + i, job.variance + i, per_group);
        for (int64_t i = 0; i < n->channels; i++)
            set_channel(n, i, n->gamma[i], job.mean[i], job.variance[i]);
        scale_images(c, n, image, 1);
    }
    return close_norm(c, n);
}

static hone_status eval_instance_norm_nhwc(hn_eval *c) {
    norm_nhwc n;
    bool is_empty;
    HN_TRY(open_norm(c, &n, &is_empty));
    if (is_empty)
        return HONE_OK;
    HN_TRY(hn_want_elems(c, 1, (uint64_t)n.channels));
    HN_TRY(hn_want_elems(c, 2, (uint64_t)n.channels));
    return normalize_images(c, &n, 1);
}
const hn_impl hn_impl_instance_norm_nhwc[1] = {
    {.eval = eval_instance_norm_nhwc, .memory = HN_MEMORY_IN_PLACE}};
const hn_lowering hn_lower_instance_norm_nhwc[1] = {{.row_strides = {.args = 1, .rets = true}}};

/* One element per group, as GroupNormalization-18 has it, becomes one per channel. */
static hone_status spread_over_groups(hn_eval *c, const norm_nhwc *n, int64_t groups, uint32_t arg,
                                      const float **out) {
    const hn_array *given = hn_arg(c, arg);
    *out = given->data;
    if (given->n_elems == (uint64_t)n->channels)
        return HONE_OK;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)groups));
    float *spread = hn_eval_scratch_n(c, (uint64_t)n->channels, sizeof *spread);
    HN_TRY_PTR(spread);
    for (int64_t i = 0; i < n->channels; i++)
        spread[i] = ((const float *)given->data)[i / (n->channels / groups)];
    *out = spread;
    return HONE_OK;
}

static hone_status eval_group_norm_nhwc(hn_eval *c) {
    norm_nhwc n;
    bool is_empty;
    int64_t groups = hn_attr_i(hn_eval_node(c), "num_groups", 1);
    HN_TRY(open_norm(c, &n, &is_empty));
    if (is_empty)
        return HONE_OK;
    if (groups < 1 || n.channels % groups != 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "%lld channels cannot be divided into %lld groups",
                            (long long)n.channels, (long long)groups);
    HN_TRY(spread_over_groups(c, &n, groups, 1, &n.gamma));
    HN_TRY(spread_over_groups(c, &n, groups, 2, &n.beta));
    return normalize_images(c, &n, n.channels / groups);
}
const hn_impl hn_impl_group_norm_nhwc[1] = {
    {.eval = eval_group_norm_nhwc, .memory = HN_MEMORY_IN_PLACE}};
const hn_lowering hn_lower_group_norm_nhwc[1] = {{.row_strides = {.args = 1, .rets = true}}};
