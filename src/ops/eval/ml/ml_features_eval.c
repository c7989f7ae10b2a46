/* Evaluation of the operators of ai.onnx.ml that prepare features. */
#include "ops/eval/ml/ml_eval.h"
#include "ops/eval/copy.h"

#include <math.h>

/* Loads, changes and stores tiles of floats, widened to double so that integers stay exact. */
typedef void (*feature_fn)(const void *ctx, uint64_t begin, uint64_t n, double *v);
static hone_status map_features(hn_eval *c, feature_fn fn, const void *ctx) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    double tile[HN_TILE];
    for (uint64_t begin = 0; y && begin < x->n_elems && !hn_spent(HN_TILE); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, x->n_elems - begin);
        hn_load_f64(x, begin, n, tile);
        fn(ctx, begin, n, tile);
        hn_store_f64(y, begin, n, tile);
    }
    return HONE_OK;
}

/* ---- Binarizer, Scaler ----------------------------------------------------------------------- */

static void binarize(const void *ctx, uint64_t begin, uint64_t n, double *v) {
    const float *threshold = ctx;
    (void)begin;
    for (uint64_t i = 0; i < n; i++)
        v[i] = v[i] > (double)*threshold;
}

static hone_status eval_binarizer(hn_eval *c) {
    float threshold = hn_attr_f(hn_eval_node(c), "threshold", 0);
    return map_features(c, binarize, &threshold);
}
const hn_impl hn_impl_binarizer[1] = {{.eval = eval_binarizer}};

typedef struct feature_scale {
    const float *offset, *scale;
    uint64_t n_offsets, n_scales, width;
} feature_scale;

/* One entry serves all features. */
static void scale_features(const void *ctx, uint64_t begin, uint64_t n, double *v) {
    const feature_scale *s = ctx;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = (begin + i) % s->width;
        float x = (float)v[i];
        x -= s->n_offsets ? s->offset[s->n_offsets == 1 ? 0 : k] : 0;
        v[i] = (double)(x * (s->n_scales ? s->scale[s->n_scales == 1 ? 0 : k] : 1));
    }
}

static hone_status expect_features(hn_eval *c, const char *name, uint64_t n, uint64_t width) {
    if (n <= 1 || n == width)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE, "%s has %llu entries, but there are %llu features", name,
                        (unsigned long long)n, (unsigned long long)width);
}

static hone_status eval_scaler(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    feature_scale s = {.width = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1]};
    s.offset = hn_ml_floats(node, "offset", &s.n_offsets);
    s.scale = hn_ml_floats(node, "scale", &s.n_scales);
    HN_TRY(expect_features(c, "offset", s.n_offsets, s.width));
    HN_TRY(expect_features(c, "scale", s.n_scales, s.width));
    return map_features(c, scale_features, &s);
}
const hn_impl hn_impl_scaler[1] = {{.eval = eval_scaler}};

/* ---- Imputer --------------------------------------------------------------------------------- */

typedef struct imputer {
    bool is_int;
    const float *floats;
    const int64_t *ints;
    uint64_t n, width;
    float replaced_float;
    int64_t replaced_int;
} imputer;

static void impute(const imputer *m, const hn_array *x, hn_array *y, uint64_t i) {
    uint64_t k = m->n == 1 ? 0 : i % m->width;
    if (m->is_int) {
        int64_t v;
        hn_load_i64(x, i, 1, &v);
        v = v == m->replaced_int ? m->ints[k] : v;
        hn_store_i64(y, i, 1, &v);
        return;
    }
    double v;
    hn_load_f64(x, i, 1, &v);
    bool is_replaced =
        m->replaced_float != m->replaced_float ? v != v : v == (double)m->replaced_float;
    v = is_replaced ? (double)m->floats[k] : v;
    hn_store_f64(y, i, 1, &v);
}

static hone_status eval_imputer(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    imputer m = {.is_int = hn_dtype_is_int(x->dtype),
                 .width = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1]};
    m.replaced_float = hn_attr_f(node, "replaced_value_float", 0);
    m.replaced_int = hn_attr_i(node, "replaced_value_int64", 0);
    if (m.is_int)
        m.ints = hn_ml_ints(node, "imputed_value_int64s", &m.n);
    else
        m.floats = hn_ml_floats(node, "imputed_value_floats", &m.n);
    if (m.n == 0)
        return hn_eval_fail(c, HONE_E_INVALID, "%s is empty",
                            m.is_int ? "imputed_value_int64s" : "imputed_value_floats");
    HN_TRY(expect_features(c, "the list of imputed values", m.n, m.width));
    for (uint64_t i = 0; y && i < x->n_elems && !hn_spent(16); i++)
        impute(&m, x, y, i);
    return HONE_OK;
}
const hn_impl hn_impl_imputer[1] = {{.eval = eval_imputer}};

/* ---- Normalizer ------------------------------------------------------------------------------ */

typedef enum norm_kind { NORM_MAX, NORM_L1, NORM_L2 } norm_kind;

/* What a row is divided by; 1 where that would be 0. */
static float row_norm(norm_kind kind, uint64_t n, const float *row) {
    float norm = kind == NORM_MAX ? -INFINITY : 0;
    for (uint64_t i = 0; i < n; i++) {
        if (kind == NORM_MAX)
            norm = HN_MAX(norm, row[i]);
        else
            norm += kind == NORM_L1 ? fabsf(row[i]) : row[i] * row[i];
    }
    norm = kind == NORM_L2 ? sqrtf(norm) : norm;
    return norm == 0 ? 1 : norm;
}

static hone_status eval_normalizer(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_array *y = hn_ret(c, 0);
    hn_ml_samples_in in;
    norm_kind kind = hn_attr_is(node, "norm", "L1")   ? NORM_L1
                     : hn_attr_is(node, "norm", "L2") ? NORM_L2
                                                      : NORM_MAX;
    HN_TRY(hn_ml_read_samples(c, &in));
    for (uint64_t r = 0; y && in.width > 0 && r < y->n_elems / in.width && !hn_spent(in.width);
         r++) {
        const float *row = in.rows + r * in.width;
        float norm = row_norm(kind, in.width, row);
        for (uint64_t i = 0; i < in.width; i++)
            ((float *)y->data)[r * in.width + i] = row[i] / norm;
    }
    return HONE_OK;
}
const hn_impl hn_impl_normalizer[1] = {{.eval = eval_normalizer}};

/* ---- ArrayFeatureExtractor, FeatureVectorizer ------------------------------------------------ */

static hone_status eval_array_feature_extractor(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *picked = hn_arg(c, 1);
    hn_array *y;
    int64_t dims[HN_MAX_RANK];
    int64_t n = (int64_t)picked->n_elems;
    bool is_vector = x->rank == 1; /* becomes one row */
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    if (is_vector)
        dims[0] = 1;
    dims[is_vector ? 1 : x->rank - 1] = n;
    HN_TRY(hn_ret_alloc(c, 0, x->dtype, is_vector ? 2 : x->rank, dims, &y));
    int64_t *at = hn_eval_scratch(c, picked->n_elems * sizeof *at);
    HN_TRY_PTR(at);
    hn_load_i64(picked, 0, picked->n_elems, at);
    for (int64_t i = 0; i < n; i++)
        if (at[i] < 0 || at[i] >= x->dims[x->rank - 1])
            return hn_eval_fail(c, HONE_E_INVALID, "feature %lld does not exist: there are %lld",
                                (long long)at[i], (long long)x->dims[x->rank - 1]);
    if (!y)
        return HONE_OK;
    int64_t width = x->dims[x->rank - 1], rows = width ? (int64_t)x->n_elems / width : 0;
    hn_array from = hn_array_as(x, 2, (int64_t[]){rows, width}),
             to = hn_array_as(y, 2, (int64_t[]){rows, n});
    return hn_copy_picked(c, &to, &from, (const int64_t *const[]){NULL, at}, NULL);
}
const hn_impl hn_impl_array_feature_extractor[1] = {{.eval = eval_array_feature_extractor}};

/* Takes the first `want` features of each row; what an input does not have is 0. */
static hone_status copy_features(hn_eval *c, const hn_array *x, hn_array *y, uint64_t at,
                                 uint64_t want) {
    uint64_t rows = (uint64_t)y->dims[0], stride = (uint64_t)y->dims[1];
    uint64_t x_rows = x->rank < 2 ? 1 : (uint64_t)x->dims[0],
             width = x_rows ? x->n_elems / x_rows : 0;
    if (x_rows != rows)
        return hn_eval_fail(c, HONE_E_SHAPE, "an input has %llu rows, but others have %llu",
                            (unsigned long long)x_rows, (unsigned long long)rows);
    for (uint64_t r = 0; r < rows && !hn_spent(16); r++) {
        float *row = (float *)y->data + r * stride + at;
        memset(row, 0, (size_t)want * sizeof *row);
        hn_load_f32(x, r * width, HN_MIN(width, want), row);
    }
    return HONE_OK;
}

static hone_status eval_feature_vectorizer(hn_eval *c) {
    const hn_array *first = hn_arg(c, 0);
    uint64_t n_sizes, at = 0, total = 0;
    const int64_t *sizes = hn_ml_ints(hn_eval_node(c), "inputdimensions", &n_sizes);
    hn_array *y;
    if (n_sizes != hn_n_args(c))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "inputdimensions has %llu entries, but there are %u inputs",
                            (unsigned long long)n_sizes, hn_n_args(c));
    for (uint64_t i = 0; i < n_sizes; i++)
        if (sizes[i] < 0 || !hn_add_u64(total, (uint64_t)sizes[i], &total) || total > INT64_MAX)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "inputdimensions has an entry that is negative or too large");
    int64_t dims[2] = {first->rank < 2 ? 1 : first->dims[0], (int64_t)total};
    HN_TRY(hn_ret_alloc(c, 0, HN_F32, 2, dims, &y));
    for (uint32_t i = 0; y && i < hn_n_args(c); i++) {
        HN_TRY(copy_features(c, hn_arg(c, i), y, at, (uint64_t)sizes[i]));
        at += (uint64_t)sizes[i];
    }
    return HONE_OK;
}
const hn_impl hn_impl_feature_vectorizer[1] = {{.eval = eval_feature_vectorizer}};
