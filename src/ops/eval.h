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
     * share; 0: side by side, as all see them but the evaluations of hn_lowering.row_strides. */
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

/* ---- implementations ------------------------------------------------------------------------- */

/* Where the first output of an evaluation may lie. */
typedef enum hn_memory_kind {
    HN_MEMORY_SEPARATE, /* apart from all arguments */
    HN_MEMORY_ALIAS,    /* the first argument's bytes under another shape: nothing has to be done
                           when they are shared */
    HN_MEMORY_IN_PLACE, /* over an argument of the same type and shape */
    HN_MEMORY_CONCAT,   /* apart, but arguments may be computed in place along `axis` */
    HN_MEMORY_SPLIT     /* all outputs: parts of the first argument along `axis`, in order, which
                           may be read in place */
} hn_memory_kind;

/* Which arguments (bit i: argument i; the last bit: all from there on), and whether the first
 * output (of Split all) may have rows that are not contiguous: hn_array.row_stride. */
typedef struct hn_row_strides {
    uint64_t args;
    bool rets;
    bool want_one_type; /* only where all arguments have the type and shape of the result */
} hn_row_strides;
static inline bool hn_row_strides_arg(hn_row_strides s, uint32_t arg) {
    return s.args >> HN_MIN(arg, 63u) & 1;
}

/* How an operator is evaluated, and what planners may do with the evaluation. Named by the `impl`
 * column of ops.def as hn_impl_<impl>, defined beside the evaluation. */
struct hn_impl {
    hn_eval_fn eval; /* the plain meaning: any shape, every type */
    hn_memory_kind memory;
    bool runs_alone;      /* never while other threads run other nodes: it calls code of others, or
                             passes references to objects on, whose counts belong to one thread */
    bool reads_part;      /* of its first argument it reads no more than it makes */
    uint64_t copied_args; /* bit i: elements of argument i are only copied, so that they need not be
                             aligned */
    /* Work that need not be done in every run. Sees attributes, and those arguments that are
     * constant; there are no results, and no host. *state is NULL when there is nothing to do. */
    hone_status (*prepare)(hn_eval *c, void **state);
    void (*release)(const hn_op *op, void *state);
    bool prepares_alone; /* reads constants as it likes; else by hn_prepared_blob alone, several
                            nodes at once */
};

/* Every implementation that the table names; see HN_OP_DECLARED. */
#define HN_OP_IMPLEMENTED(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, \
                          lower)                                                                  \
  extern const hn_impl hn_impl_##impl[1];
#define HN_OP HN_OP_IMPLEMENTED
#include "ops/ops.def"
#undef HN_OP

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
