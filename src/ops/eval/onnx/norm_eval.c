/* Evaluation of normalizations. Statistics are gathered in two passes; they are doubles, or for
 * float32 floats that were summed in blocks. */
#include "ops/eval/onnx/norm_eval.h"
#include "cpu/kernels/rows/rows_nhwc.h"

#include <math.h>

enum { SHORT_CHANNEL = 32 }; /* elements: a loop over fewer takes as long to call as to run */

typedef struct moments {
    double mean, variance;
} moments;

/* ---- runs of elements ------------------------------------------------------------------------ */

static void read_norm_loops(hn_dtype t, hn_norm_loops *loops) {
    const hn_reduce_loops_f32 *folds = hn_reduce_loops_find_f32();
    *loops = (hn_norm_loops){.affine = t == HN_F32 ? hn_unary_find_f32("Affine") : NULL,
                             .sum = folds->run[HN_REDUCE_SUM],
                             .sum_of_squares = folds->run[HN_REDUCE_SQUARE],
                             .subtract = hn_binary_float_loop(hn_binary_find("Sub"))};
}

static moments float_moments(const hn_norm_loops *loops, const float *x, uint64_t n) {
    float tile[HN_TILE], mean = loops->sum((int64_t)n, x) / (float)n;
    double squares = 0;
    for (uint64_t at = 0; at < n; at += HN_TILE) {
        uint64_t n_tile = HN_MIN(n - at, HN_TILE);
        loops->subtract(x + at, 1, &mean, 0, tile, n_tile);
        squares += (double)loops->sum_of_squares((int64_t)n_tile, tile);
    }
    return (moments){(double)mean, squares / (double)n};
}

static moments run_moments(const hn_norm_loops *loops, const hn_array *x, uint64_t begin,
                           uint64_t n) {
    if (x->dtype == HN_F32)
        return float_moments(loops, (const float *)x->data + begin, n);
    moments m;
    m.mean = hn_sum_run(x, begin, n, 0, 1) / (double)n;
    m.variance = hn_sum_run(x, begin, n, m.mean, 2) / (double)n;
    return m;
}

/* y = x * scale + shift over a run. */
static void scale_run(const hn_norm_loops *loops, const hn_array *x, hn_array *y, uint64_t begin,
                      uint64_t n, double scale, double shift) {
    double tile[HN_TILE];
    if (loops->affine) {
        loops->affine((const float *)x->data + begin, (float *)y->data + begin, n, (float)scale,
                      (float)shift);
        return;
    }
    for (uint64_t at = 0; at < n; at += HN_TILE) {
        uint64_t n_tile = HN_MIN(n - at, HN_TILE);
        hn_load_f64(x, begin + at, n_tile, tile);
        for (uint64_t i = 0; i < n_tile; i++)
            tile[i] = tile[i] * scale + shift;
        hn_store_f64(y, begin + at, n_tile, tile);
    }
}

/* Rows that one thread takes at a time. */
static int64_t norm_grain(uint64_t row_elems) {
    return (int64_t)HN_MAX(HN_GRAIN / HN_MAX(row_elems, 1), 1);
}

/* ---- batch ----------------------------------------------------------------------------------- */

typedef struct batch_norm_job {
    const hn_batch_norm *form;
    const hn_array *x;
    hn_array *y;
    const double *factor, *shift; /* per channel */
} batch_norm_job;

static void batch_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const batch_norm_job *b = ctx;
    uint64_t inner = b->form->inner;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++) {
        uint64_t channel = row % b->form->n_channels;
        scale_run(&b->form->loops, b->x, b->y, row * inner, inner, b->factor[channel],
                  b->shift[channel]);
    }
}

/* Statistics of the batch itself, per channel. */
static void measure_batch(const hn_batch_norm *b, const hn_array *x, double *mean,
                          double *variance) {
    double n = (double)(b->n_batch * b->inner);
    for (uint64_t channel = 0; channel < b->n_channels; channel++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < b->n_batch; i++)
            sum += hn_sum_run(x, (i * b->n_channels + channel) * b->inner, b->inner, 0, 1);
        mean[channel] = sum / n;
        for (uint64_t i = 0; i < b->n_batch; i++)
            squares +=
                hn_sum_run(x, (i * b->n_channels + channel) * b->inner, b->inner, mean[channel], 2);
        variance[channel] = squares / n;
    }
}

/* Outputs 1 and 2: running statistics; 3 and 4, until version 9: those of the batch. */
static void store_statistics(hn_eval *c, uint64_t n_channels, const double *const *of_batch) {
    double momentum = (double)hn_attr_f(hn_eval_node(c), "momentum", 0.9f);
    for (uint32_t k = 0; k < 2; k++) {
        hn_array *out = hn_ret(c, 1 + k), *saved = hn_ret(c, 3 + k);
        for (uint64_t i = 0; out && i < HN_MIN(out->n_elems, n_channels); i++) {
            double v;
            hn_load_f64(hn_arg(c, 3 + k), i, 1, &v);
            v = v * momentum + of_batch[k][i] * (1 - momentum);
            hn_store_f64(out, i, 1, &v);
        }
        if (saved)
            hn_store_f64(saved, 0, HN_MIN(saved->n_elems, n_channels), of_batch[k]);
    }
}

bool hn_batch_norm_trains(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    int version = hn_infer_version(node);
    if (version >= 14)
        return hn_attr_i(node, "training_mode", 0) != 0;
    return hn_n_rets(c) > 1 && (version >= 7 || hn_attr_i(node, "is_test", 0) == 0);
}

/* The statistics become those of the batch. */
static hone_status train_batch(hn_eval *c, const hn_batch_norm *b, hn_array *mean,
                               hn_array *variance) {
    uint64_t n = b->n_channels;
    *mean = *variance = (hn_array){.dtype = HN_F64, .n_elems = n};
    mean->data = hn_eval_scratch(c, n * sizeof(double));
    variance->data = hn_eval_scratch(c, n * sizeof(double));
    HN_TRY_PTR(mean->data && variance->data);
    measure_batch(b, hn_arg(c, 0), mean->data, variance->data);
    store_statistics(c, n, (const double *[]){mean->data, variance->data});
    return HONE_OK;
}

hone_status hn_batch_norm_read(hn_eval *c, hn_batch_norm *b) {
    const hn_array *x = hn_arg(c, 0);
    bool is_spatial = hn_attr_i(hn_eval_node(c), "spatial", 1) != 0;
    b->n_batch = x->rank ? (uint64_t)x->dims[0] : 1;
    b->n_channels = x->rank < 2  ? 1
                    : is_spatial ? (uint64_t)x->dims[1]
                                 : hn_count(x->rank - 1, x->dims + 1);
    b->inner = x->rank < 2 || !is_spatial ? 1 : hn_count(x->rank - 2, x->dims + 2);
    b->epsilon = (double)hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f);
    read_norm_loops(x->dtype, &b->loops);
    b->is_by_image = b->loops.affine && b->inner < SHORT_CHANNEL;
    for (uint32_t i = 1; i < 5; i++)
        if (hn_arg(c, i)->n_elems != b->n_channels)
            return hn_eval_fail(c, HONE_E_SHAPE, "input %u has %llu elements, but needs %llu", i,
                                (unsigned long long)hn_arg(c, i)->n_elems,
                                (unsigned long long)b->n_channels);
    return HONE_OK;
}

void hn_batch_norm_join(const hn_batch_norm *b, const hn_array *scale, const hn_array *bias,
                        const hn_array *mean, const hn_array *variance, double *factor,
                        double *shift) {
    double means[HN_TILE], variances[HN_TILE];
    hn_load_f64(scale, 0, b->n_channels, factor);
    hn_load_f64(bias, 0, b->n_channels, shift);
    for (uint64_t at = 0; at < b->n_channels; at += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, b->n_channels - at);
        hn_load_f64(mean, at, n, means);
        hn_load_f64(variance, at, n, variances);
        for (uint64_t i = 0; i < n; i++) {
            factor[at + i] /= sqrt(variances[i] + b->epsilon);
            shift[at + i] -= means[i] * factor[at + i];
        }
    }
}

uint64_t hn_batch_norm_image_elems(const hn_batch_norm *b) {
    return b->is_by_image ? 3 * b->n_channels * b->inner : 0;
}

void hn_batch_norm_spread(const hn_batch_norm *b, const double *factor, const double *shift,
                          float *image) {
    if (!b->is_by_image)
        return;
    uint64_t n = b->n_channels * b->inner;
    memset(image, 0, (size_t)n * sizeof *image);
    for (uint64_t channel = 0; channel < b->n_channels; channel++)
        for (uint64_t i = channel * b->inner; i < (channel + 1) * b->inner; i++) {
            image[n + i] = (float)factor[channel];
            image[2 * n + i] = (float)shift[channel];
        }
}

static void scale_images_at_once(hn_pool *pool, const hn_batch_norm *b, const hn_array *x,
                                 hn_array *y, const float *image) {
    int64_t n = (int64_t)(b->n_channels * b->inner);
    hn_scale_rows_f32(pool, &(hn_scale_rows_job){.n_rows = (int64_t)b->n_batch,
                                                 .channels = n,
                                                 .x = x->data,
                                                 .center = image,
                                                 .scale = image + n,
                                                 .shift = image + 2 * n,
                                                 .y = y->data,
                                                 .x_step = n,
                                                 .y_step = n});
}

void hn_batch_norm_run(hn_pool *pool, const hn_batch_norm *b, const hn_array *x, hn_array *y,
                       const double *factor, const double *shift, const float *image) {
    batch_norm_job job = {b, x, y, factor, shift};
    if (b->is_by_image) {
        scale_images_at_once(pool, b, x, y, image);
        return;
    }
    hn_pool_for(pool, (int64_t)(b->n_batch * b->n_channels), norm_grain(b->inner), batch_norm_rows,
                &job);
}

static hone_status eval_batch_norm(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array mean = *hn_arg(c, 3), variance = *hn_arg(c, 4);
    hn_batch_norm b;
    HN_TRY(hn_batch_norm_read(c, &b));
    if (hn_batch_norm_trains(c))
        HN_TRY(train_batch(c, &b, &mean, &variance));
    if (!hn_ret(c, 0) || x->n_elems == 0)
        return HONE_OK;
    double *factor = hn_eval_scratch(c, b.n_channels * sizeof *factor);
    double *shift = hn_eval_scratch(c, b.n_channels * sizeof *shift);
    float *image = hn_eval_scratch(c, hn_batch_norm_image_elems(&b) * sizeof *image);
    HN_TRY_PTR(factor && shift && image);
    hn_batch_norm_join(&b, hn_arg(c, 1), hn_arg(c, 2), &mean, &variance, factor, shift);
    hn_batch_norm_spread(&b, factor, shift, image);
    hn_batch_norm_run(hn_eval_pool(c), &b, x, hn_ret(c, 0), factor, shift, image);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_batch_norm[1] = {{.eval = eval_batch_norm, .memory = HN_MEMORY_IN_PLACE}};

/* ---- instance and group ---------------------------------------------------------------------- */

typedef struct group_norm_job {
    const hn_group_norm *form;
    const hn_array *x, *scale, *bias;
    hn_array *y;
} group_norm_job;

/* One group of an image. */
static void group_norm_row(const group_norm_job *job, uint64_t row) {
    const hn_group_norm *g = job->form;
    uint64_t group = row % g->n_groups, n = g->per_group * g->inner;
    moments m = run_moments(&g->loops, job->x, row * n, n);
    double inverse = 1 / sqrt(m.variance + g->epsilon);
    for (uint64_t i = 0; i < g->per_group; i++) {
        uint64_t at = g->is_scaled_by_group ? group : group * g->per_group + i;
        double factor, shift;
        hn_load_f64(job->scale, at, 1, &factor);
        hn_load_f64(job->bias, at, 1, &shift);
        factor *= inverse;
        scale_run(&g->loops, job->x, job->y, row * n + i * g->inner, g->inner, factor,
                  shift - m.mean * factor);
    }
}

static void group_norm_rows(void *ctx, int64_t begin, int64_t end) {
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++)
        group_norm_row(ctx, row);
}

void hn_group_norm_run(hn_pool *pool, const hn_group_norm *g, const hn_array *x,
                       const hn_array *scale, const hn_array *bias, hn_array *y) {
    group_norm_job job = {g, x, scale, bias, y};
    hn_pool_for(pool, (int64_t)g->n_rows, norm_grain(g->per_group * g->inner), group_norm_rows,
                &job);
}

hone_status hn_group_norm_read(hn_eval *c, hn_group_norm *g) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    if (x->rank < 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "the input has rank %d, but needs batch and channels",
                            x->rank);
    bool is_group = strcmp(hn_infer_op(node), "GroupNormalization") == 0;
    g->n_groups = (uint64_t)(is_group ? hn_attr_i(node, "num_groups", 1) : x->dims[1]);
    g->n_rows = (uint64_t)x->dims[0] * g->n_groups;
    g->per_group = (uint64_t)x->dims[1] / g->n_groups;
    g->inner = hn_count(x->rank - 2, x->dims + 2);
    g->is_scaled_by_group = is_group && hn_infer_version(node) < 21;
    g->epsilon = (double)hn_attr_f(node, "epsilon", 1e-5f);
    read_norm_loops(x->dtype, &g->loops);
    return HONE_OK;
}

static hone_status eval_group_norm(hn_eval *c) {
    hn_group_norm g;
    if (!hn_ret(c, 0) || hn_arg(c, 0)->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_group_norm_read(c, &g));
    hn_group_norm_run(hn_eval_pool(c), &g, hn_arg(c, 0), hn_arg(c, 1), hn_arg(c, 2), hn_ret(c, 0));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_group_norm[1] = {{.eval = eval_group_norm}};

/* ---- local response -------------------------------------------------------------------------- */

typedef struct response_norm_job {
    const hn_response_norm *form;
    const hn_array *x;
    hn_array *y;
} response_norm_job;

static void response_norm_tile(const response_norm_job *job, uint64_t batch, uint64_t channel,
                               uint64_t at, uint64_t n) {
    const hn_response_norm *r = job->form;
    double tile[HN_TILE], squares[HN_TILE] = {0};
    uint64_t first = channel > r->before ? channel - r->before : 0;
    uint64_t last = HN_MIN(r->n_channels - 1, channel + r->after);
    for (uint64_t k = first; k <= last; k++) {
        hn_load_f64(job->x, (batch * r->n_channels + k) * r->inner + at, n, tile);
        for (uint64_t i = 0; i < n; i++)
            squares[i] += tile[i] * tile[i];
    }
    uint64_t begin = (batch * r->n_channels + channel) * r->inner + at;
    hn_load_f64(job->x, begin, n, tile);
    for (uint64_t i = 0; i < n; i++)
        tile[i] /= pow(r->bias + r->alpha * squares[i], r->beta);
    hn_store_f64(job->y, begin, n, tile);
}

static void response_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const response_norm_job *job = ctx;
    uint64_t n_channels = job->form->n_channels, inner = job->form->inner;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++)
        for (uint64_t at = 0; at < inner; at += HN_TILE)
            response_norm_tile(job, row / n_channels, row % n_channels, at,
                               HN_MIN(inner - at, HN_TILE));
}

hone_status hn_response_norm_read(hn_eval *c, hn_response_norm *r) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    int64_t size = hn_attr_i(node, "size", 1);
    if (x->rank < 2 || size < 1)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "needs channels and a window of 1 or more, not rank %d and size %lld",
                            x->rank, (long long)size);
    r->n_channels = (uint64_t)x->dims[1];
    r->n_rows = (uint64_t)x->dims[0] * r->n_channels;
    r->inner = hn_count(x->rank - 2, x->dims + 2);
    r->before = (uint64_t)(size - 1) / 2;
    r->after = (uint64_t)size / 2;
    r->alpha = (double)hn_attr_f(node, "alpha", 1e-4f) / (double)size;
    r->beta = (double)hn_attr_f(node, "beta", 0.75f);
    r->bias = (double)hn_attr_f(node, "bias", 1);
    return HONE_OK;
}

void hn_response_norm_run(hn_pool *pool, const hn_response_norm *r, const hn_array *x,
                          hn_array *y) {
    response_norm_job job = {r, x, y};
    hn_pool_for(pool, (int64_t)r->n_rows, norm_grain(r->inner), response_norm_rows, &job);
}

static hone_status eval_lrn(hn_eval *c) {
    hn_response_norm r;
    if (!hn_ret(c, 0) || hn_arg(c, 0)->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_response_norm_read(c, &r));
    hn_response_norm_run(hn_eval_pool(c), &r, hn_arg(c, 0), hn_ret(c, 0));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_lrn[1] = {{.eval = eval_lrn}};
