/* What the evaluations of ai.onnx.ml share: samples, scores, labels. */
#include "ops/eval/ml/ml_eval.h"

#include <math.h>

/* ---- scores ---------------------------------------------------------------------------------- */

hn_ml_post hn_ml_read_post(const hn_infer *node) {
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(node, "post_transform", names[i]))
            return (hn_ml_post)i;
    return HN_POST_NONE;
}

/* Of the absolute value first: exp of a large number would be infinite. */
float hn_ml_logistic(float x) {
    float v = 1.0f / (1.0f + expf(-fabsf(x)));
    return x < 0 ? 1.0f - v : v;
}

/* Scores of 0 stay 0 when `keeps_zero`, and do not count; where all are 0, the results are NaN. */
static void ml_softmax(uint64_t n, float *s, bool keeps_zero) {
    float largest = -INFINITY, sum = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = HN_MAX(largest, s[i]);
    for (uint64_t i = 0; i < n; i++) {
        bool is_zero = keeps_zero && fabsf(s[i]) <= 1e-7f;
        s[i] = is_zero ? s[i] * expf(-largest) : expf(s[i] - largest);
        sum += is_zero ? 0 : s[i];
    }
    for (uint64_t i = 0; i < n; i++)
        s[i] /= sum;
}

/* Winitzki's approximation of the inverse error function, as runtimes use it. */
static float ml_erf_inverse(float x) {
    float sign = x < 0 ? -1.0f : 1.0f, log_part = logf((1 - x) * (1 + x));
    float a = 2.0f / (3.14159f * 0.147f) + 0.5f * log_part;
    return sign * sqrtf(-a + sqrtf(a * a - log_part / 0.147f));
}

/* Runtimes agree that a single score is no distribution: all but PROBIT leave it alone, and models
 * count on that. */
void hn_ml_transform(hn_ml_post post, uint64_t n, float *scores) {
    if (n == 1 && post != HN_POST_PROBIT)
        return;
    if (post == HN_POST_SOFTMAX || post == HN_POST_SOFTMAX_ZERO) {
        ml_softmax(n, scores, post == HN_POST_SOFTMAX_ZERO);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (post == HN_POST_LOGISTIC)
            scores[i] = hn_ml_logistic(scores[i]);
        else if (post == HN_POST_PROBIT)
            scores[i] = 1.41421356f * ml_erf_inverse(2 * scores[i] - 1);
    }
}

void hn_ml_two_scores(hn_ml_post post, bool is_probability, float score, float out[2]) {
    if (post == HN_POST_PROBIT)
        hn_ml_transform(post, 1, &score);
    out[1] = score;
    out[0] = is_probability ? 1.0f - score : -score;
    if (post == HN_POST_LOGISTIC) {
        out[0] = hn_ml_logistic(-score);
        out[1] = hn_ml_logistic(score);
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

hone_status hn_ml_read_samples(hn_eval *c, hn_ml_samples_in *out) {
    const hn_array *x = hn_arg(c, 0);
    out->n = x->rank < 2 ? 1 : (uint64_t)x->dims[0];
    out->width = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1];
    out->rows = x->data;
    if (x->dtype == HN_F32)
        return HONE_OK;
    float *rows = hn_eval_scratch(c, x->n_elems * sizeof *rows);
    HN_TRY_PTR(rows);
    hn_load_f32(x, 0, x->n_elems, rows);
    out->rows = rows;
    return HONE_OK;
}

const float *hn_ml_floats(const hn_infer *node, const char *name, uint64_t *n) {
    const hn_attr *a = hn_attr_raw(node, name);
    bool is_list = a && a->kind == HN_ATTR_FLOATS;
    *n = is_list ? a->n : 0;
    return is_list ? a->v.floats : NULL;
}

const int64_t *hn_ml_ints(const hn_infer *node, const char *name, uint64_t *n) {
    const hn_attr *a = hn_attr_raw(node, name);
    bool is_list = a && a->kind == HN_ATTR_INTS;
    *n = is_list ? a->n : 0;
    return is_list ? a->v.ints : NULL;
}

/* ---- labels ---------------------------------------------------------------------------------- */

hn_ml_labels hn_ml_read_labels(const hn_infer *node, const char *strings, const char *ints) {
    const hn_attr *texts = hn_attr_raw(node, strings);
    hn_ml_labels labels = {0};
    if (texts && texts->kind == HN_ATTR_STRINGS && texts->n > 0) {
        labels.strings = texts->v.strings;
        labels.n = texts->n;
    } else {
        labels.ints = hn_ml_ints(node, ints, &labels.n);
    }
    return labels;
}

hone_status hn_ml_put_label(hn_eval *c, hn_array *y, uint64_t i, const hn_ml_labels *labels,
                            uint64_t which) {
    if (labels->strings) {
        hn_bytes text = which < labels->n ? labels->strings[which] : (hn_bytes){NULL, 0};
        return hn_array_set_string(c, y, i, text.at, text.n);
    }
    ((int64_t *)y->data)[i] = which < labels->n ? labels->ints[which] : (int64_t)which;
    return HONE_OK;
}
