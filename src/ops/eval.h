/* L2: running one operator on real data. Used by constant folding, by plans as the last resort, and
 * by tests. */
#ifndef HN_EVAL_H
#define HN_EVAL_H

#include "ops/ops.h"

/* A tensor at run time: contiguous, in host order, sub-byte types packed as in files. */
typedef struct hn_array {
    hn_dtype dtype;
    int32_t rank;
    uint64_t n_elems;
    const int64_t *dims;
    void *data; /* strings: hn_bytes[n_elems] */
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

#endif /* HN_EVAL_H */
