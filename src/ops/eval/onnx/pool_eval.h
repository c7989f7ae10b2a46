/* Pooling in two steps: what attributes and shapes decide, and the work itself. */
#ifndef HN_POOL_EVAL_H
#define HN_POOL_EVAL_H

#include "ops/eval/onnx/window_eval.h"

typedef enum hn_pooling_kind { HN_POOL_MAX, HN_POOL_AVERAGE, HN_POOL_LP } hn_pooling_kind;

typedef struct hn_pooling {
    hn_pooling_kind kind;
    hn_window window;
    double p;           /* HN_POOL_LP */
    double lowest;      /* HN_POOL_MAX: of a window without elements */
    bool count_padding; /* HN_POOL_AVERAGE */
    bool column_major;  /* of indices */
    bool has_vectors;   /* HN_POOL_MAX of float32 */
    int64_t pad_end[HN_MAX_SPATIAL];
} hn_pooling;

/* For outputs of these spatial sizes. Fails where windows are too large to go through. */
hone_status hn_pooling_read(hn_eval *c, hn_pooling_kind kind, const int64_t *out, hn_pooling *f);
/* Of whole planes. indices: of maxima, counted in all of x; may be NULL. */
void hn_pooling_run_floats(hn_pool *pool, const hn_pooling *f, int64_t n_planes, const float *x,
                           float *y, int64_t *indices);
void hn_pooling_run_f64(hn_pool *pool, const hn_pooling *f, int64_t n_planes, const double *x,
                        double *y, int64_t *indices);

/* Of all elements of a plane. */
typedef struct hn_global_pooling {
    hn_pooling_kind kind;
    double p;
    uint64_t plane;
    hn_range_fn range; /* over planes */
} hn_global_pooling;
void hn_global_pooling_read(const hn_eval *c, hn_pooling_kind kind, hn_global_pooling *g);
void hn_global_pooling_run(hn_pool *pool, const hn_global_pooling *g, const hn_array *x,
                           hn_array *y);

#endif /* HN_POOL_EVAL_H */
