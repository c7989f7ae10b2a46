/* L2: running one operator on real data. Used by constant folding, by plans as the last resort, and
 * by tests. */
#ifndef HN_EVAL_H
#define HN_EVAL_H

#include "ops/ops.h"

/* A tensor at run time: contiguous but for row_stride, in host order, sub-byte types packed as in
 * files. */
typedef struct hn_array {
    hn_dtype dtype;
    int32_t rank;
    uint64_t n_elems;
    const int64_t *dims;
    void *data; /* strings: hn_bytes[n_elems] */
    /* Elements from one row of the last axis to the next, in memory that a plan lets several values
     * share; 0: side by side, as all see them but the evaluations of hn_eval_row_strides. */
    int64_t row_stride;
} hn_array;

typedef enum hn_object_kind {
    HN_OBJECT_NONE, /* an optional without content; one with content is its content */
    HN_OBJECT_TENSOR,
    HN_OBJECT_SEQUENCE,
    HN_OBJECT_MAP /* items[0]: keys, items[1]: values, both tensors of rank 1 */
} hn_object_kind;

/* Anything that flows along an edge. */
typedef struct hn_object {
    hn_object_kind kind;
    uint32_t n_refs;
    hn_array array; /* TENSOR */
    struct hn_object **items;
    uint32_t n_items;
} hn_object;

/* ---- elements -------------------------------------------------------------------------------- */

/* Elements begin .. begin+n of an array, widened: the way to serve float16, bfloat16, float8, ...
 * with one float loop over tiles. Integers and bool convert, too. */
void hn_load_f32(const hn_array *a, uint64_t begin, uint64_t n, float *out);
void hn_load_f64(const hn_array *a, uint64_t begin, uint64_t n, double *out);
void hn_load_i64(const hn_array *a, uint64_t begin, uint64_t n, int64_t *out); /* uint64 wraps */
/* The way back: rounds to nearest even; integers truncate toward zero and wrap, float8 saturates.
 */
void hn_store_f32(hn_array *a, uint64_t begin, uint64_t n, const float *in);
void hn_store_f64(hn_array *a, uint64_t begin, uint64_t n, const double *in);
void hn_store_i64(hn_array *a, uint64_t begin, uint64_t n, const int64_t *in);

#endif /* HN_EVAL_H */
