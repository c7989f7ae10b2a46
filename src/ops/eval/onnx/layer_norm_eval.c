/* Evaluation of normalizations over the last axes, and over any axes. */
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct layer_norm {
    const hn_eval *eval;
    const hn_array *x;
    hn_array *y;                      /* may be NULL: only statistics are wanted */
    hn_array *mean_out, *inverse_out; /* may be NULL */
    uint64_t n;                       /* elements that are normalized together */
    bool is_centered;                 /* not for root mean squares */
    double epsilon;
    const double *scale, *bias; /* n of each, or NULL */
} layer_norm;

static void layer_norm_row(const layer_norm *l, uint64_t row) {
    double tile[HN_TILE];
    double mean = l->is_centered ? hn_sum_run(l->x, row * l->n, l->n, 0, 1) / (double)l->n : 0;
    double variance = hn_sum_run(l->x, row * l->n, l->n, mean, 2) / (double)l->n;
    double inverse = 1 / sqrt(variance + l->epsilon);
    if (l->mean_out)
        hn_store_f64(l->mean_out, row, 1, &mean);
    if (l->inverse_out)
        hn_store_f64(l->inverse_out, row, 1, &inverse);
    for (uint64_t at = 0; l->y && at < l->n; at += HN_TILE) {
        uint64_t n = HN_MIN(l->n - at, HN_TILE);
        hn_load_f64(l->x, row * l->n + at, n, tile);
        for (uint64_t i = 0; i < n; i++)
            tile[i] = (tile[i] - mean) * inverse;
        for (uint64_t i = 0; l->scale && i < n; i++)
            tile[i] *= l->scale[at + i];
        for (uint64_t i = 0; l->bias && i < n; i++)
            tile[i] += l->bias[at + i];
        hn_store_f64(l->y, row * l->n + at, n, tile);
    }
}

static void layer_norm_rows(void *ctx, int64_t begin, int64_t end) {
    const layer_norm *l = ctx;
    for (int64_t row = begin; row < end; row++)
        layer_norm_row(l, (uint64_t)row);
}

/* Rows of floats whose scale and bias are rows, too. False: this is something else. */
static bool layer_norm_is_fast(const hn_eval *c, const layer_norm *l) {
    const hn_array *scale = hn_arg(c, 1), *bias = hn_arg(c, 2);
    return l->y && l->x->dtype == HN_F32 && l->y->dtype == HN_F32 && scale->dtype == HN_F32 &&
           scale->n_elems == l->n && (!bias || (bias->dtype == HN_F32 && bias->n_elems == l->n)) &&
           hn_rows_are_fast_f32();
}

static void layer_norm_fast_rows(void *ctx, int64_t begin, int64_t end) {
    const layer_norm *l = ctx;
    const hn_array *scale = hn_arg(l->eval, 1), *bias = hn_arg(l->eval, 2);
    hn_norm_row_f32 norm = {.epsilon = (float)l->epsilon,
                            .simplified = !l->is_centered,
                            .gamma = scale->data,
                            .beta = bias ? bias->data : NULL};
    const float *x = l->x->data;
    float *y = l->y->data, mean, inverse;
    for (uint64_t row = (uint64_t)begin; row < (uint64_t)end; row++) {
        hn_normalize_row_f32(&norm, (int64_t)l->n, x + row * l->n, y + row * l->n, &mean, &inverse);
        if (l->mean_out)
            hn_store_f32(l->mean_out, row, 1, &mean);
        if (l->inverse_out)
            hn_store_f32(l->inverse_out, row, 1, &inverse);
    }
}

typedef struct widen_job {
    const hn_array *from;
    double *to;
} widen_job;

static void widen_row(void *ctx, const hn_row *row) {
    const widen_job *j = ctx;
    if (row->step[0]) {
        hn_load_f64(j->from, row->in[0], row->n, j->to + row->out);
        return;
    }
    double v;
    hn_load_f64(j->from, row->in[0], 1, &v);
    for (uint64_t i = 0; i < row->n; i++)
        j->to[row->out + i] = v;
}

/* A scale or bias stretched over the axes that are normalized. *out stays NULL when it differs from
 * row to row. */
static hone_status stretch_parameter(hn_eval *c, const hn_array *a, const hn_array *x, int32_t axis,
                                     const double **out) {
    hn_array row = {.dtype = HN_F64, .rank = x->rank - axis, .dims = x->dims + axis};
    hn_array inner = *a;
    row.n_elems = hn_count(row.rank, row.dims);
    while (inner.rank > row.rank && inner.dims[0] == 1) {
        inner.rank--;
        inner.dims++;
    }
    if (inner.rank > row.rank)
        return HONE_OK;
    row.data = hn_eval_scratch(c, row.n_elems * sizeof(double));
    HN_TRY_PTR(row.data);
    const hn_array *in[] = {&inner};
    widen_job job = {&inner, row.data};
    *out = row.data;
    return hn_broadcast_rows(c, &row, 1, in, widen_row, &job);
}

static hone_status eval_layer_norm(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *bias = hn_arg(c, 2);
    layer_norm l = {.eval = c, .x = x, .y = hn_ret(c, 0)};
    int64_t given = hn_attr_i(node, "axis", -1);
    int32_t axis = (int32_t)(given < 0 ? given + x->rank : given);
    l.is_centered = strcmp(hn_infer_op(node), "LayerNormalization") == 0;
    l.mean_out = l.is_centered ? hn_ret(c, 1) : NULL;
    l.inverse_out = hn_ret(c, l.is_centered ? 2 : 1);
    l.n = hn_count(x->rank - axis, x->dims + axis);
    l.epsilon = (double)hn_attr_f(node, "epsilon", 1e-5f);
    if (l.n == 0 || x->n_elems == 0)
        return HONE_OK;
    bool is_fast = layer_norm_is_fast(c, &l);
    if (!is_fast)
        HN_TRY(stretch_parameter(c, scale, x, axis, &l.scale));
    if (bias && l.scale)
        HN_TRY(stretch_parameter(c, bias, x, axis, &l.bias));
    hn_pool_for(hn_eval_pool(c), (int64_t)(x->n_elems / l.n), (int64_t)HN_MAX(HN_GRAIN / l.n, 1),
                is_fast ? layer_norm_fast_rows : layer_norm_rows, &l);
    if (is_fast)
        return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
    if (l.y && !l.scale)
        HN_TRY(hn_binary_eval(c, hn_binary_find("Mul"), l.y, scale, l.y));
    if (l.y && bias && !l.bias)
        HN_TRY(hn_binary_eval(c, hn_binary_find("Add"), l.y, bias, l.y));
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_layer_norm[1] = {{.eval = eval_layer_norm}};

/* ---- mean and variance over any axes --------------------------------------------------------- */

typedef struct mean_variance {
    const hn_array *x;
    hn_array *y;
    const double *mean, *factor; /* of each lane */
} mean_variance;

static void mean_variance_row(void *ctx, const hn_row *row) {
    const mean_variance *j = ctx;
    double tile[HN_TILE];
    for (uint64_t at = 0; at < row->n; at += HN_TILE) {
        uint64_t n = HN_MIN(row->n - at, HN_TILE);
        hn_load_f64(j->x, row->out + at, n, tile);
        const double *mean = j->mean + row->in[0] + (row->step[0] ? at : 0);
        const double *factor = j->factor + (mean - j->mean);
        if (row->step[0]) {
            for (uint64_t i = 0; i < n; i++)
                tile[i] = (tile[i] - mean[i]) * factor[i];
        } else {
            double from = mean[0], by = factor[0];
            for (uint64_t i = 0; i < n; i++)
                tile[i] = (tile[i] - from) * by;
        }
        hn_store_f64(j->y, row->out + at, n, tile);
    }
}

/* Version 1 said whether channels count as data; later ones list the axes. */
static hone_status mean_variance_axes(hn_eval *c, int32_t rank, uint64_t *bits) {
    const hn_infer *node = hn_eval_node(c);
    const int64_t *axes;
    uint32_t n;
    *bits = 0;
    if (hn_infer_version(node) < 9) {
        for (int32_t i = hn_attr_i(node, "across_channels", 0) ? 1 : 2; i < rank; i++)
            *bits |= (uint64_t)1 << i;
        return HONE_OK;
    }
    for (uint32_t i = 0; hn_attr_ints(node, "axes", &n, &axes) && i < n; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
        if (axis < 0 || axis >= rank)
            return hn_eval_fail(c, HONE_E_SHAPE, "axis %lld does not exist in data of rank %d",
                                (long long)axes[i], rank);
        *bits |= (uint64_t)1 << axis;
    }
    return HONE_OK;
}

static hone_status eval_mean_variance_norm(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    mean_variance job = {.x = x, .y = hn_ret(c, 0)};
    int64_t dims[HN_MAX_RANK];
    uint64_t bits;
    if (!job.y || x->n_elems == 0)
        return HONE_OK;
    HN_TRY(mean_variance_axes(c, x->rank, &bits));
    for (int32_t i = 0; i < x->rank; i++)
        dims[i] = (bits >> i) & 1 ? 1 : x->dims[i];
    hn_array mean = {
        .dtype = HN_F64, .rank = x->rank, .dims = dims, .n_elems = hn_count(x->rank, dims)};
    hn_array squares = mean;
    double n = (double)(x->n_elems / mean.n_elems);
    mean.data = hn_eval_scratch(c, mean.n_elems * sizeof(double));
    squares.data = hn_eval_scratch(c, mean.n_elems * sizeof(double));
    HN_TRY_PTR(mean.data);
    HN_TRY_PTR(squares.data);
    HN_TRY(hn_reduce(c, "ReduceMean", x, bits, &mean));
    HN_TRY(hn_reduce(c, "ReduceSumSquare", x, bits, &squares));
    double *means = mean.data, *factors = squares.data;
    bool is_scaled = hn_attr_i(hn_eval_node(c), "normalize_variance", 1) != 0;
    for (uint64_t i = 0; i < mean.n_elems; i++) {
        double variance = factors[i] / n - means[i] * means[i];
        factors[i] = is_scaled ? 1 / (sqrt(HN_MAX(variance, 0)) + 1e-9) : 1;
    }
    const hn_array *in[] = {&mean};
    job.mean = means;
    job.factor = factors;
    return hn_broadcast_rows(c, x, 1, in, mean_variance_row, &job);
}
const hn_impl hn_impl_mean_variance_norm[1] = {{.eval = eval_mean_variance_norm}};
