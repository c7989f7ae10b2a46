/* Inside ops/: how an evaluation sees its node. The plain, readable meaning of an operator: any
 * shape, every allowed type.
 *
 *   hone_status hn_eval_relu(hn_eval *c) {
 *       const hn_array *x = hn_arg(c, 0);
 *       hn_array *y = hn_ret(c, 0);
 *       ...
 *       return HONE_OK;
 *   }
 *
 * Inference has run before with the real shapes and values, so arguments fit together, and every
 * output whose shape it knows stands ready. Only outputs whose shape depends on data (NonZero,
 * Loop, strings) are made by the evaluation, with hn_ret_alloc. Data is contiguous and aligned for
 * its type; an output never overlaps an input unless the table marks the operator as in place. */
#ifndef HN_EVAL_INT_H
#define HN_EVAL_INT_H

#include "ops/eval.h"
#include "ops/infer/infer_int.h"

/* The node: attributes and version are read as in inference, hn_attr_i(hn_eval_node(c), "axis", 0).
 */
const hn_infer *hn_eval_node(const hn_eval *c);
uint32_t hn_n_args(const hn_eval *c);
uint32_t hn_n_rets(const hn_eval *c);

/* Arguments: NULL when left out, or when it is no tensor. */
const hn_array *hn_arg(const hn_eval *c, uint32_t i);
const hn_object *hn_arg_object(const hn_eval *c, uint32_t i); /* any kind; NULL when left out */
/* Outputs: NULL when nobody asked for it, or when its shape is not known yet. */
hn_array *hn_ret(const hn_eval *c, uint32_t i);
bool hn_wants_ret(const hn_eval *c, uint32_t i);
/* Makes output i with this shape; *out is NULL when nobody asked for it. */
hone_status hn_ret_alloc(hn_eval *c, uint32_t i, hn_dtype dtype, int32_t rank, const int64_t *dims,
                         hn_array **out);
/* Output i is this object (a sequence, an optional, a map, or an argument passed on). Takes over
 * one reference. */
hone_status hn_ret_object(hn_eval *c, uint32_t i, hn_object *o);

/* Objects made during the run; reference counted. NULL: out of memory. */
hn_object *hn_object_tensor(hn_eval *c, hn_dtype dtype, int32_t rank,
                            const int64_t *dims);            /* data uninitialized */
hn_object *hn_object_sequence(hn_eval *c, uint32_t n_items); /* items NULL: fill with references */
hn_object *hn_object_map(hn_eval *c);                        /* items[0]: keys, items[1]: values */
hn_object *hn_object_none(hn_eval *c);                       /* an empty optional */
hn_object *hn_object_ref(
    hn_eval *c, const hn_object *o); /* one more reference; what lies in planned memory is copied */
void hn_object_unref(hn_eval *c, hn_object *o); /* NULL is fine */
/* Text for string tensors, kept as long as the object: copies n bytes. */
hone_status hn_array_set_string(hn_eval *c, hn_array *a, uint64_t i, const void *text, uint64_t n);

/* Scratch that lives until the evaluation returns, or, of a node that is lowered, as long as the
 * plan; 64-byte aligned; NULL: out of memory. */
void *hn_eval_scratch(hn_eval *c, uint64_t bytes);
hn_pool *hn_eval_pool(const hn_eval *c); /* may be NULL */
hn_rng *hn_eval_rng(hn_eval *c);         /* of the run: reproducible, in node order */
/* The program's image decoder, see hone.h. */
typedef struct hn_image_hook {
    hone_decode_image_fn decode; /* NULL: there is none */
    void *ctx;
} hn_image_hook;
hn_image_hook hn_eval_image_hook(const hn_eval *c);
hone_status hn_eval_fail(hn_eval *c, hone_status code, const char *fmt, ...) HN_PRINTF(3, 4);
/* Looked at by long loops: cancelled or past the deadline? */
bool hn_eval_stopped(const hn_eval *c);

/* Which of the bodies of a node: If has then_branch and else_branch, FlexAttention score_mod and
 * prob_mod, GreedySearch and its kin decoder and init_decoder (or encoder). */
typedef enum hn_body_role { HN_BODY_MAIN, HN_BODY_SECOND, HN_N_BODIES } hn_body_role;
bool hn_eval_has_body(const hn_eval *c, hn_body_role role);
/* Runs a body that was resolved when the program was made. Gives n_in objects to its inputs
 * (borrowed) and returns its outputs (references that the caller drops). */
hone_status hn_eval_body(hn_eval *c, hn_body_role role, uint32_t n_in, hn_object *const *in,
                         uint32_t n_out, hn_object **out);
/* What inference knows of its outputs for inputs of these types (NULL: unknown), without running
 * it; NULL for those of which it knows nothing. */
hone_status hn_eval_body_types(hn_eval *c, hn_body_role role, uint32_t n_in,
                               const hn_type *const *in, uint32_t n_out, const hn_type **out);

/* Evaluations that those of other domains are made of. */
hone_status hn_eval_average_pool(hn_eval *c);
hone_status hn_eval_conv(hn_eval *c);
hone_status hn_eval_gemm(hn_eval *c);
hone_status hn_eval_global_average_pool(hn_eval *c);
hone_status hn_eval_global_max_pool(hn_eval *c);
hone_status hn_eval_gru(hn_eval *c);
hone_status hn_eval_lstm(hn_eval *c);
hone_status hn_eval_matmul(hn_eval *c);
hone_status hn_eval_matmul_integer(hn_eval *c);
hone_status hn_eval_max_pool(hn_eval *c);
hone_status hn_eval_qlinear_conv(hn_eval *c);
hone_status hn_eval_softmax(hn_eval *c);
hone_status hn_eval_where(hn_eval *c);

/* ---- elements -------------------------------------------------------------------------------- */

#define HN_TILE 256 /* elements that loops over hn_load_* take at a time, on the stack */
/* Bytes of one element; 0 for sub-byte types. Strings: sizeof(hn_bytes). */
size_t hn_elem_bytes(hn_dtype t);

/* X(dtype, C type) for the types that C has. */
/* clang-format off */
#define HN_C_INTS(X)                                                                              \
    X(HN_I8, int8_t) X(HN_I16, int16_t) X(HN_I32, int32_t) X(HN_I64, int64_t)                     \
    X(HN_U8, uint8_t) X(HN_U16, uint16_t) X(HN_U32, uint32_t) X(HN_U64, uint64_t)
/* clang-format on */
#define HN_C_FLOATS(X) X(HN_F32, float) X(HN_F64, double)

/* ---- rows of the last axis, which need not lie side by side ---- */

/* From one to the next, in elements. */
static inline int64_t hn_row_stride(const hn_array *a) {
    return a->row_stride ? a->row_stride : a->rank > 0 ? a->dims[a->rank - 1] : 1;
}
/* Row-major strides in elements, row_stride included. */
void hn_array_strides(const hn_array *a, int64_t *strides);
int64_t hn_n_rows(const hn_array *a);
hn_array hn_array_row(const hn_array *a, int64_t row); /* of rank 1; whole bytes only */
void hn_copy_rows(hn_array *to, const hn_array *from); /* of one shape; whole bytes only */

/* The same array with other data. */
static inline hn_array hn_array_at(const hn_array *a, const void *data) {
    hn_array at = *a;
    at.data = (void *)(uintptr_t)data;
    return at;
}

/* Row-major strides in elements. */
void hn_strides(int32_t rank, const int64_t *dims, int64_t *strides);
/* Strides of `a` as seen from a broadcast result of `rank` dims: 0 where it is repeated. */
void hn_broadcast_strides(const hn_array *a, int32_t rank, int64_t *strides);
/* Counts through `dims` with up to N sets of strides at once. */
uint64_t hn_count(int32_t rank, const int64_t *dims); /* product */

#endif /* HN_EVAL_INT_H */
