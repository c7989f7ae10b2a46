/* Inside ops/: what the evaluations of ai.onnx.ml share. */
#ifndef HN_ML_EVAL_H
#define HN_ML_EVAL_H

#include "ops/eval/eval_int.h"

/* ---- scores ---------------------------------------------------------------------------------- */

typedef enum hn_ml_post {
    HN_POST_NONE,
    HN_POST_SOFTMAX,
    HN_POST_LOGISTIC,
    HN_POST_SOFTMAX_ZERO,
    HN_POST_PROBIT
} hn_ml_post;
/* Of the string attribute post_transform. */
hn_ml_post hn_ml_read_post(const hn_infer *node);
/* Changes the n scores of one sample. */
void hn_ml_transform(hn_ml_post post, uint64_t n, float *scores);
float hn_ml_logistic(float x);
/* One score decides between two classes: the scores of both. A probability's rest goes to the other
 * class. */
void hn_ml_two_scores(hn_ml_post post, bool is_probability, float score, float out[2]);

/* ---- samples --------------------------------------------------------------------------------- */

/* The input of a model as rows of floats: [n, width]; a vector is one row. */
typedef struct hn_ml_samples_in {
    uint64_t n, width;
    const float *rows;
} hn_ml_samples_in;
hone_status hn_ml_read_samples(hn_eval *c, hn_ml_samples_in *out);

/* A list attribute of floats; *n is 0 when it is absent. */
const float *hn_ml_floats(const hn_infer *node, const char *name, uint64_t *n);
const int64_t *hn_ml_ints(const hn_infer *node, const char *name, uint64_t *n);

/* ---- labels ---------------------------------------------------------------------------------- */

/* Class labels: strings when there are any, else integers. */
typedef struct hn_ml_labels {
    uint64_t n;
    const hn_bytes *strings;
    const int64_t *ints;
} hn_ml_labels;
hn_ml_labels hn_ml_read_labels(const hn_infer *node, const char *strings, const char *ints);
/* Output `i` of an array of labels. `which` beyond the labels stands for itself, as do all without
 * labels. */
hone_status hn_ml_put_label(hn_eval *c, hn_array *y, uint64_t i, const hn_ml_labels *labels,
                            uint64_t which);

#endif /* HN_ML_EVAL_H */
