/* Normalizations of channels-last floats, with an activation: batch, instance, group. */
#include <math.h>

#include "cpu/lower/lower.h"
#include "cpu/kernels/rows/rows_nhwc.h"
#include "cpu/ops_cpu.h"
#include "ops/eval/ms/ms_eval.h"

/* Floats [N, spatial..., C]: what attributes and shapes decide. */
typedef struct norm_nhwc {
    int64_t n_images, n_rows, channels; /* rows of one image */
    int64_t per_group;                  /* channels that share statistics; 0: those are given */
    bool is_by_group[2];                /* gamma and beta: one element per group */
    int64_t x_step, y_step;             /* from one row to the next */
    double epsilon;
    hn_epilogue_f32 epilogue; /* an activation */
    bool is_fused;            /* the activation is part of it; else it follows */
} norm_nhwc;

/* One at work. */
typedef struct norm_nhwc_run {
    const norm_nhwc *form;
    hn_pool *pool;
    const float *x, *gamma, *beta;
    float *y, *center, *scale; /* per channel; beta is the shift */
    float *spread;             /* room for gamma and beta */
    double *mean, *variance;
    float *scratch;
} norm_nhwc_run;

static uint64_t norm_nhwc_bytes(const norm_nhwc *n) {
    uint64_t channels = (uint64_t)n->channels;
    uint64_t moments =
        n->per_group ? (uint64_t)hn_moments_rows_scratch_elems(n->n_rows, n->channels) : 0;
    return 2 * channels * sizeof(double) + (4 * channels + moments) * sizeof(float);
}

/* y = (x - mean) / deviation * gamma + beta. */
static void set_channel(const norm_nhwc_run *r, int64_t i, double mean, double variance) {
    r->center[i] = (float)mean;
    r->scale[i] = (float)((double)r->gamma[i] / sqrt(variance + r->form->epsilon));
}

static void scale_images(const norm_nhwc_run *r, int64_t first, int64_t n_images) {
    const norm_nhwc *n = r->form;
    int64_t row = first * n->n_rows;
    hn_scale_rows_f32(r->pool, &(hn_scale_rows_job){.n_rows = n_images * n->n_rows,
                                                    .channels = n->channels,
                                                    .x = r->x + row * n->x_step,
                                                    .center = r->center,
                                                    .scale = r->scale,
                                                    .shift = r->beta,
                                                    .y = r->y + row * n->y_step,
                                                    .epilogue = n->epilogue,
                                                    .x_step = n->x_step,
                                                    .y_step = n->y_step});
}

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

static void normalize_images(const norm_nhwc_run *r) {
    const norm_nhwc *n = r->form;
    hn_moments_rows_job job = {.n_rows = n->n_rows,
                               .channels = n->channels,
                               .x_step = n->x_step,
                               .mean = r->mean,
                               .variance = r->variance,
                               .scratch = r->scratch};
    for (int64_t image = 0; image < n->n_images && !hn_pool_is_stopped(r->pool); image++) {
        job.x = r->x + image * n->n_rows * n->x_step;
        hn_moments_rows_f32(r->pool, &job);
        for (int64_t i = 0; n->per_group > 1 && i < n->channels; i += n->per_group)
            join_group(job.mean + i, job.variance + i, n->per_group);
        for (int64_t i = 0; i < n->channels; i++)
            set_channel(r, i, job.mean[i], job.variance[i]);
        scale_images(r, image, 1);
    }
}

/* One element per group, as GroupNormalization-18 has it, becomes one per channel. */
static const float *spread_over_groups(const norm_nhwc *n, const float *given, float *room) {
    for (int64_t i = 0; i < n->channels; i++)
        room[i] = given[i / n->per_group];
    return room;
}

/* Arguments as the operators have them; room: norm_nhwc_bytes. */
static void run_norm_nhwc(hn_pool *pool, const norm_nhwc *n, const void *const *in, void *y,
                          void *room) {
    const float *mean = n->per_group ? NULL : in[3], *variance = n->per_group ? NULL : in[4];
    norm_nhwc_run r = {.form = n, .pool = pool, .x = in[0], .y = y};
    r.mean = room;
    r.variance = r.mean + n->channels;
    r.center = (float *)(r.variance + n->channels);
    r.scale = r.center + n->channels;
    r.spread = r.scale + n->channels;
    r.scratch = r.spread + 2 * n->channels;
    r.gamma = n->is_by_group[0] ? spread_over_groups(n, in[1], r.spread) : in[1];
    r.beta = n->is_by_group[1] ? spread_over_groups(n, in[2], r.spread + n->channels) : in[2];
    if (n->per_group) {
        normalize_images(&r);
        return;
    }
    for (int64_t i = 0; i < n->channels; i++)
        set_channel(&r, i, (double)mean[i], (double)variance[i]);
    scale_images(&r, 0, n->n_images);
}

/* ---- forms ----------------------------------------------------------------------------------- */

typedef hone_status (*norm_form_fn)(hn_eval *c, norm_nhwc *n);

static hone_status read_norm_nhwc(hn_eval *c, norm_nhwc *n) {
    const hn_array *x = hn_arg(c, 0);
    if (x->rank < 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "channels last need rank 2 or more, input 0 has %d",
                            x->rank);
    *n = (norm_nhwc){.n_images = x->dims[0],
                     .n_rows = (int64_t)hn_count(x->rank - 2, x->dims + 1),
                     .channels = x->dims[x->rank - 1],
                     .x_step = hn_row_stride(x),
                     .y_step = hn_row_stride(hn_ret(c, 0)),
                     .epsilon = (double)hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f)};
    n->is_fused = hn_fused_epilogue(c, &n->epilogue);
    return HONE_OK;
}

static hone_status read_batch_norm_nhwc(hn_eval *c, norm_nhwc *n) {
    HN_TRY(read_norm_nhwc(c, n));
    for (uint32_t i = 1; i < 5; i++)
        HN_TRY(hn_want_elems(c, i, (uint64_t)n->channels));
    return HONE_OK;
}

static hone_status read_instance_norm_nhwc(hn_eval *c, norm_nhwc *n) {
    HN_TRY(read_norm_nhwc(c, n));
    n->per_group = 1;
    HN_TRY(hn_want_elems(c, 1, (uint64_t)n->channels));
    return hn_want_elems(c, 2, (uint64_t)n->channels);
}

static hone_status read_group_norm_nhwc(hn_eval *c, norm_nhwc *n) {
    int64_t groups = hn_attr_i(hn_eval_node(c), "num_groups", 1);
    HN_TRY(read_norm_nhwc(c, n));
    if (groups < 1 || n->channels % groups != 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "%lld channels cannot be divided into %lld groups",
                            (long long)n->channels, (long long)groups);
    n->per_group = n->channels / groups;
    for (uint32_t i = 0; i < 2; i++) {
        n->is_by_group[i] = hn_arg(c, i + 1)->n_elems != (uint64_t)n->channels;
        if (n->is_by_group[i])
            HN_TRY(hn_want_elems(c, i + 1, (uint64_t)groups));
    }
    return HONE_OK;
}

/* ---- evaluations and lowerings --------------------------------------------------------------- */

static hone_status eval_norm_nhwc(hn_eval *c, norm_form_fn read) {
    const void *in[5];
    hn_array *y = hn_ret(c, 0);
    norm_nhwc n;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(read(c, &n));
    void *room = hn_eval_scratch(c, norm_nhwc_bytes(&n));
    HN_TRY_PTR(room);
    for (uint32_t i = 0; i < HN_COUNT(in); i++)
        in[i] = i < hn_n_args(c) && hn_arg(c, i) ? hn_arg(c, i)->data : NULL;
    run_norm_nhwc(hn_eval_pool(c), &n, in, y->data, room);
    HN_TRY(n.is_fused ? HONE_OK : hn_fused_activation(c, y));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status run_norm_nhwc_step(const void *record, const hn_step_io *io) {
    run_norm_nhwc(io->pool, record, io->in, io->out[0], io->scratch);
    return HONE_OK;
}

static hone_status lower_norm_nhwc(hn_eval *c, norm_form_fn read, hn_lowered *out) {
    for (uint32_t i = 0; i < hn_n_args(c); i++)
        if (!hn_arg(c, i))
            return HONE_OK;
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    norm_nhwc *n = hn_lower_alloc(c, sizeof *n);
    HN_TRY_PTR(n);
    HN_TRY(read(c, n));
    if (n->is_fused)
        *out = (hn_lowered){
            .run = run_norm_nhwc_step, .record = n, .scratch_bytes = (size_t)norm_nhwc_bytes(n)};
    return HONE_OK;
}

#define NORM_NHWC(name)                                                                    \
  static hone_status eval_##name(hn_eval *c) {                                             \
    return eval_norm_nhwc(c, read_##name);                                                 \
  }                                                                                        \
  const hn_impl hn_impl_##name[1] = {{.eval = eval_##name, .memory = HN_MEMORY_IN_PLACE}}; \
  static hone_status lower_##name(hn_eval *c, hn_lowered *out) {                           \
    return lower_norm_nhwc(c, read_##name, out);                                           \
  }                                                                                        \
  const hn_lowering hn_lower_##name[1] = {                                                 \
      {.lower = lower_##name, .row_strides = {.args = 1, .rets = true}}};
NORM_NHWC(batch_norm_nhwc)
NORM_NHWC(instance_norm_nhwc)
NORM_NHWC(group_norm_nhwc)
