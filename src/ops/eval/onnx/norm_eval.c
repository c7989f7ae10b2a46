/* Evaluation of normalizations. Statistics are gathered in two passes; they are doubles, or for
 * float32 floats that were summed in blocks. */
#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* ---- runs of elements ------------------------------------------------------------------------ */

typedef struct moments {
    double mean, variance;
} moments;

static moments float_moments(const float *x, uint64_t n) {
    const hn_reduce_loops_f32 *folds = hn_reduce_loops_find_f32();
    hn_binary_fn subtract = hn_binary_float_loop(hn_binary_find("Sub"));
    float tile[HN_TILE], mean = folds->run[HN_REDUCE_SUM]((int64_t)n, x) / (float)n;
    double squares = 0;
    for (uint64_t at = 0; at < n; at += HN_TILE) {
        uint64_t n_tile = HN_MIN(n - at, HN_TILE);
        subtract(x + at, 1, &mean, 0, tile, n_tile);
        squares += (double)folds->run[HN_REDUCE_SQUARE]((int64_t)n_tile, tile);
    }
    return (moments){(double)mean, squares / (double)n};
}

static moments run_moments(const hn_array *x, uint64_t begin, uint64_t n) {
    if (x->dtype == HN_F32)
        return float_moments((const float *)x->data + begin, n);
    moments m;
    m.mean = hn_sum_run(x, begin, n, 0, 1) / (double)n;
    m.variance = hn_sum_run(x, begin, n, m.mean, 2) / (double)n;
    return m;
}

/* y = x * scale + shift over a run. */
static void scale_run(const hn_array *x, hn_array *y, uint64_t begin, uint64_t n, double scale,
                      double shift) {
    double tile[HN_TILE];
    hn_unary_fn_f32 affine = hn_unary_find_f32("Affine");
    if (affine && x->dtype == HN_F32) {
        affine((const float *)x->data + begin, (float *)y->data + begin, n, (float)scale,
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

/* All elements of a parameter as doubles. NULL: no memory. */
static double *load_parameter(hn_eval *c, const hn_array *a) {
    double *out = hn_eval_scratch(c, (a->n_elems + 1) * sizeof *out);
    if (out)
        hn_load_f64(a, 0, a->n_elems, out);
    return out;
}

/* Rows that one thread takes at a time. */
static int64_t row_grain(uint64_t row_elems) {
    return (int64_t)HN_MAX(HN_GRAIN / HN_MAX(row_elems, 1), 1);
}

/* ---- batch ----------------------------------------------------------------------------------- */

typedef struct batch_norm {
    const hn_array *x;
    hn_array *y;
    uint64_t n_batch, n_channels, inner;
    double *scale, *bias, *mean, *variance; /* per channel */
} batch_norm;

static void batch_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const batch_norm *b = ctx;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++) {
        uint64_t channel = row % b->n_channels;
        scale_run(b->x, b->y, row * b->inner, b->inner, b->scale[channel], b->bias[channel]);
    }
}

/* Statistics of the batch itself, per channel. */
static void measure_batch(const batch_norm *b, double *mean, double *variance) {
    double n = (double)(b->n_batch * b->inner);
    for (uint64_t channel = 0; channel < b->n_channels; channel++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < b->n_batch; i++)
            sum += hn_sum_run(b->x, (i * b->n_channels + channel) * b->inner, b->inner, 0, 1);
        mean[channel] = sum / n;
        for (uint64_t i = 0; i < b->n_batch; i++)
            squares += hn_sum_run(b->x, (i * b->n_channels + channel) * b->inner, b->inner,
                                  mean[channel], 2);
        variance[channel] = squares / n;
    }
}

/* Outputs 1 and 2: running statistics; 3 and 4, until version 9: those of the batch. */
static void store_statistics(hn_eval *c, const batch_norm *b, const double *mean,
                             const double *variance) {
    double momentum = (double)hn_attr_f(hn_eval_node(c), "momentum", 0.9f);
    const double *running[] = {b->mean, b->variance}, *of_batch[] = {mean, variance};
    for (uint32_t k = 0; k < 2; k++) {
        hn_array *out = hn_ret(c, 1 + k), *saved = hn_ret(c, 3 + k);
        for (uint64_t i = 0; out && i < HN_MIN(out->n_elems, b->n_channels); i++) {
            double v = running[k][i] * momentum + of_batch[k][i] * (1 - momentum);
            hn_store_f64(out, i, 1, &v);
        }
        if (saved)
            hn_store_f64(saved, 0, HN_MIN(saved->n_elems, b->n_channels), of_batch[k]);
    }
}

static bool is_batch_training(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    int version = hn_infer_version(node);
    if (version >= 14)
        return hn_attr_i(node, "training_mode", 0) != 0;
    return hn_n_rets(c) > 1 && (version >= 7 || hn_attr_i(node, "is_test", 0) == 0);
}

static hone_status train_batch(hn_eval *c, batch_norm *b) {
    double *mean = hn_eval_scratch(c, b->n_channels * sizeof *mean);
    double *variance = hn_eval_scratch(c, b->n_channels * sizeof *variance);
    HN_TRY_PTR(mean);
    HN_TRY_PTR(variance);
    measure_batch(b, mean, variance);
    store_statistics(c, b, mean, variance);
    b->mean = mean;
    b->variance = variance;
    return HONE_OK;
}

static hone_status read_batch_norm(hn_eval *c, batch_norm *b) {
    double **const parameters[] = {&b->scale, &b->bias, &b->mean, &b->variance};
    const hn_array *x = hn_arg(c, 0);
    bool is_spatial = hn_attr_i(hn_eval_node(c), "spatial", 1) != 0;
    b->x = x;
    b->y = hn_ret(c, 0);
    b->n_batch = x->rank ? (uint64_t)x->dims[0] : 1;
    b->n_channels = x->rank < 2  ? 1
                    : is_spatial ? (uint64_t)x->dims[1]
                                 : hn_count(x->rank - 1, x->dims + 1);
    b->inner = x->rank < 2 || !is_spatial ? 1 : hn_count(x->rank - 2, x->dims + 2);
    for (uint32_t i = 0; i < HN_COUNT(parameters); i++) {
        const hn_array *given = hn_arg(c, i + 1);
        if (given->n_elems != b->n_channels)
            return hn_eval_fail(c, HONE_E_SHAPE, "input %u has %llu elements, but needs %llu",
                                i + 1, (unsigned long long)given->n_elems,
                                (unsigned long long)b->n_channels);
        *parameters[i] = load_parameter(c, given);
        HN_TRY_PTR(*parameters[i]);
    }
    return HONE_OK;
}

static hone_status eval_batch_norm(hn_eval *c) {
    batch_norm b = {0};
    double epsilon = (double)hn_attr_f(hn_eval_node(c), "epsilon", 1e-5f);
    HN_TRY(read_batch_norm(c, &b));
    if (is_batch_training(c))
        HN_TRY(train_batch(c, &b));
    if (!b.y || b.x->n_elems == 0)
        return HONE_OK;
    for (uint64_t i = 0; i < b.n_channels; i++) {
        b.scale[i] /= sqrt(b.variance[i] + epsilon);
        b.bias[i] -= b.mean[i] * b.scale[i];
    }
    hn_pool_for(hn_eval_pool(c), (int64_t)(b.n_batch * b.n_channels), row_grain(b.inner),
                batch_norm_rows, &b);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_batch_norm[1] = {{.eval = eval_batch_norm, .memory = HN_MEMORY_IN_PLACE}};

/* ---- instance and group ---------------------------------------------------------------------- */

typedef struct channel_groups {
    const hn_array *x;
    hn_array *y;
    uint64_t n_groups, per_group, inner; /* channels per group, elements per channel */
    bool is_scaled_by_group;             /* GroupNormalization-18 */
    const double *scale, *bias;
    double epsilon;
} channel_groups;

static void group_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const channel_groups *g = ctx;
    uint64_t n = g->per_group * g->inner;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++) {
        moments m = run_moments(g->x, row * n, n);
        double inverse = 1 / sqrt(m.variance + g->epsilon);
        uint64_t group = row % g->n_groups;
        for (uint64_t i = 0; i < g->per_group; i++) {
            uint64_t at = g->is_scaled_by_group ? group : group * g->per_group + i;
            double scale = g->scale[at] * inverse;
            scale_run(g->x, g->y, row * n + i * g->inner, g->inner, scale,
                      g->bias[at] - m.mean * scale);
        }
    }
}

/* An instance is a group of one channel. */
static hone_status eval_group_norm(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    channel_groups g = {.x = x, .y = hn_ret(c, 0)};
    if (!g.y || x->n_elems == 0)
        return HONE_OK;
    if (x->rank < 2)
        return hn_eval_fail(c, HONE_E_SHAPE, "the input has rank %d, but needs batch and channels",
                            x->rank);
    bool is_group = strcmp(hn_infer_op(node), "GroupNormalization") == 0;
    g.n_groups = (uint64_t)(is_group ? hn_attr_i(node, "num_groups", 1) : x->dims[1]);
    g.per_group = (uint64_t)x->dims[1] / g.n_groups;
    g.inner = hn_count(x->rank - 2, x->dims + 2);
    g.is_scaled_by_group = is_group && hn_infer_version(node) < 21;
    g.epsilon = (double)hn_attr_f(node, "epsilon", 1e-5f);
    g.scale = load_parameter(c, hn_arg(c, 1));
    g.bias = load_parameter(c, hn_arg(c, 2));
    HN_TRY_PTR(g.scale);
    HN_TRY_PTR(g.bias);
    hn_pool_for(hn_eval_pool(c), x->dims[0] * (int64_t)g.n_groups, row_grain(g.per_group * g.inner),
                group_norm_rows, &g);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_group_norm[1] = {{.eval = eval_group_norm}};

/* ---- local response -------------------------------------------------------------------------- */

typedef struct response_norm {
    const hn_array *x;
    hn_array *y;
    uint64_t n_channels, inner, before, after; /* channels in the window on each side */
    double alpha, beta, bias;                  /* alpha is per channel of the window */
} response_norm;

static void response_norm_tile(const response_norm *r, uint64_t batch, uint64_t channel,
                               uint64_t at, uint64_t n) {
    double tile[HN_TILE], squares[HN_TILE] = {0};
    uint64_t first = channel > r->before ? channel - r->before : 0;
    uint64_t last = HN_MIN(r->n_channels - 1, channel + r->after);
    for (uint64_t k = first; k <= last; k++) {
        hn_load_f64(r->x, (batch * r->n_channels + k) * r->inner + at, n, tile);
        for (uint64_t i = 0; i < n; i++)
            squares[i] += tile[i] * tile[i];
    }
    uint64_t begin = (batch * r->n_channels + channel) * r->inner + at;
    hn_load_f64(r->x, begin, n, tile);
    for (uint64_t i = 0; i < n; i++)
        tile[i] /= pow(r->bias + r->alpha * squares[i], r->beta);
    hn_store_f64(r->y, begin, n, tile);
}

static void response_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const response_norm *r = ctx;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++)
        for (uint64_t at = 0; at < r->inner; at += HN_TILE)
            response_norm_tile(r, row / r->n_channels, row % r->n_channels, at,
                               HN_MIN(r->inner - at, HN_TILE));
}

static hone_status eval_lrn(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    response_norm r = {.x = x, .y = hn_ret(c, 0)};
    int64_t size = hn_attr_i(node, "size", 1);
    if (!r.y || x->n_elems == 0)
        return HONE_OK;
    if (x->rank < 2 || size < 1)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "needs channels and a window of 1 or more, not rank %d and size %lld",
                            x->rank, (long long)size);
    r.n_channels = (uint64_t)x->dims[1];
    r.inner = hn_count(x->rank - 2, x->dims + 2);
    r.before = (uint64_t)(size - 1) / 2;
    r.after = (uint64_t)size / 2;
    r.alpha = (double)hn_attr_f(node, "alpha", 1e-4f) / (double)size;
    r.beta = (double)hn_attr_f(node, "beta", 0.75f);
    r.bias = (double)hn_attr_f(node, "bias", 1);
    hn_pool_for(hn_eval_pool(c), x->dims[0] * x->dims[1], row_grain(r.inner), response_norm_rows,
                &r);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_lrn[1] = {{.eval = eval_lrn}};
