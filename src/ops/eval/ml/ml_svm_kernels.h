/* Inside ops/: support vectors rearranged so that one sample meets many of them at a time. */
#ifndef HN_ML_SVM_KERNELS_H
#define HN_ML_SVM_KERNELS_H

#include "ops/eval/ml/ml_eval.h"

/* Vectors of a node as its state: hn_impl.prepare and release. There is none where lengths do not
 * fit each other. */
hone_status hn_svm_prepare(hn_eval *c, void **state);
void hn_svm_release(const hn_op *op, void *state);

/* Tiles of vectors, in each of them feature by feature. */
typedef struct hn_svm_tiles {
    uint64_t n_vectors, width;
    const float *columns;
    hn_arena *room;
} hn_svm_tiles;
/* The state of the node, where it has vectors of this many features; else NULL. */
const hn_svm_tiles *hn_svm_tiles_of(const hn_eval *c, uint64_t n_vectors, uint64_t width);
/* Of one sample with each vector: the squared distance, or the product. */
void hn_svm_distances(const hn_svm_tiles *t, const float *sample, float *out);
void hn_svm_products(const hn_svm_tiles *t, const float *sample, float *out);

#endif /* HN_ML_SVM_KERNELS_H */
