/* Inside ops/: how an inference rule sees its node. A rule reads inputs and attributes, and says
 * what its outputs are.
 *
 *   hone_status hn_infer_flatten(hn_infer *c) {
 *       const hn_shape *x = hn_in_shape(c, 0);
 *       hn_out_elem(c, 0, hn_in_elem(c, 0));
 *       if (!x) return HONE_OK;              // nothing known: the output stays unknown
 *       ...
 *       return hn_out_shape(c, 0, 2, dims);
 *   }
 *
 * Rules run after the schema check, so arity, element types and attribute kinds are right. What a
 * rule does not know it leaves; what contradicts itself it reports with hn_infer_fail, whose
 * message the engine prefixes with node and operator. */
#ifndef HN_INFER_INT_H
#define HN_INFER_INT_H

#include "ops/ops.h"

#define HN_MAX_RANK 64       /* higher ranks are rejected */
#define HN_MAX_FOLLOWED 1024 /* longest integer tensor followed through shape computations */

/* The node. */
int hn_infer_version(const hn_infer *c); /* since-version of the schema in force */
hn_syms *hn_infer_syms(const hn_infer *c);
hn_arena *hn_infer_arena(const hn_infer *c); /* results live here */
uint32_t hn_n_inputs(const hn_infer *c);
uint32_t hn_n_outputs(const hn_infer *c);
const char *hn_infer_op(const hn_infer *c); /* operator name, for rules that serve a family */

/* Inputs. Absent optional inputs are not present and have no type. */
bool hn_has_input(const hn_infer *c, uint32_t i);
bool hn_has_output(const hn_infer *c, uint32_t i);
const hn_type *hn_in_type(const hn_infer *c, uint32_t i); /* NULL when unknown */
hn_dtype hn_in_elem(const hn_infer *c, uint32_t i); /* HN_UNDEFINED when unknown or no tensor */
const hn_shape *hn_in_shape(const hn_infer *c, uint32_t i); /* NULL when the rank is unknown */
int32_t hn_in_rank(const hn_infer *c, uint32_t i);          /* -1 when unknown */
hn_dim hn_in_dim(
    const hn_infer *c, uint32_t i,
    int32_t axis); /* HN_DIM_UNKNOWN when unknown or out of range; axis may be negative */
const hn_tensor *hn_in_const(
    const hn_infer *c,
    uint32_t i); /* a constant: initializer that is no overridable input, Constant's output */
/* Elements of a small integer tensor of rank 0 or 1, as far as they are known (constants, Shape
 * chains). False when even the count is unknown. *n is the number of elements; *is_scalar (may be
 * NULL) tells rank 0. Float inputs are not followed. */
bool hn_in_ints(const hn_infer *c, uint32_t i, uint32_t *n, const hn_sint **elems, bool *is_scalar);
/* The same for a matrix: exporters reorder pairs of paddings by Reshape, Slice and Transpose. Only
 * the elements of matrices that one of those has made, or that are constant. */
typedef struct hn_int_matrix {
    uint32_t n_rows, n_cols;
    const hn_sint *elems; /* row by row */
} hn_int_matrix;
bool hn_in_int_matrix(const hn_infer *c, uint32_t i, hn_int_matrix *out);
hone_status hn_out_int_matrix(hn_infer *c, uint32_t i, const hn_int_matrix *m); /* copied */
/* All elements known numbers? Then copies them into the arena. */
bool hn_in_i64s(const hn_infer *c, uint32_t i, uint32_t *n, const int64_t **out);
/* The single number of a scalar or one-element input. */
bool hn_in_i64(const hn_infer *c, uint32_t i, int64_t *out);

/* Attributes; references to a function's parameters are already resolved. Absent: the schema's
 * default, else `def`. */
bool hn_has_attr(const hn_infer *c, const char *name); /* written on the node */
int64_t hn_attr_i(const hn_infer *c, const char *name, int64_t def);
float hn_attr_f(const hn_infer *c, const char *name, float def);
bool hn_attr_is(const hn_infer *c, const char *name,
                const char *text); /* string attribute (or its schema default) equals text */
hn_bytes hn_attr_s(const hn_infer *c, const char *name); /* empty when absent and no default */
bool hn_attr_ints(const hn_infer *c, const char *name, uint32_t *n,
                  const int64_t **out); /* false when absent and no default */
const hn_attr *hn_attr_raw(const hn_infer *c,
                           const char *name); /* NULL when not written on the node */

/* Outputs. Calling for an output that the node does not have is fine and does nothing. Each output
 * starts as a tensor of the element type that the schema implies (its type variable is bound by an
 * input, or allows one type only) and unknown rank, so most rules only add shapes. */
hone_status hn_out_elem(hn_infer *c, uint32_t i,
                        hn_dtype elem); /* tensor of unknown shape so far */
hone_status hn_out_shape(hn_infer *c, uint32_t i, int32_t rank,
                         const hn_dim *dims); /* adds the shape; dims are copied */
hone_status hn_out_tensor(hn_infer *c, uint32_t i, hn_dtype elem, int32_t rank,
                          const hn_dim *dims);                      /* both */
hone_status hn_out_type(hn_infer *c, uint32_t i, const hn_type *t); /* any type; NULL is ignored */
hone_status hn_out_same(hn_infer *c, uint32_t i, uint32_t input); /* type and shape of that input */
hone_status hn_out_ints(hn_infer *c, uint32_t i, uint32_t n, const hn_sint *elems,
                        bool is_scalar); /* known elements; copied */

const hn_shape *hn_out_shape_known(
    const hn_infer *c, uint32_t i); /* for macs: shape of an output, NULL when unknown */
hone_status hn_out_const(hn_infer *c, uint32_t i,
                         const hn_tensor *t); /* the output is this constant; sets its type too */

/* Errors. */
hone_status hn_infer_fail(hn_infer *c, hone_status code, const char *fmt, ...) HN_PRINTF(3, 4);
/* "float[batch,3,224,224]" of an input, "[?,3]" of a shape, for messages; memory is the engine's
 * scratch. */
const char *hn_in_text(const hn_infer *c, uint32_t i);
const char *hn_shape_str(const hn_infer *c, int32_t rank, const hn_dim *dims);
/* Moves a finished text for a message there; frees the strbuf. "?" when there is no memory, which
 * the engine tells at its end. */
const char *hn_infer_keep_text(const hn_infer *c, hn_strbuf *b);

/* Helpers. */
hn_dim *hn_infer_dims(hn_infer *c,
                      int32_t n); /* n dims, all unknown, in scratch; NULL: no memory. n may be 0 */
/* Normalizes a possibly negative axis into [0, rank); fails with a message that names the attribute
 * and the range. */
hone_status hn_infer_axis(hn_infer *c, const char *what, int64_t axis, int32_t rank, int32_t *out);
/* Merges two statements about one dimension into the more exact one; fails when both are numbers
 * and differ. `what` names the dimension in the message. */
hone_status hn_merge_dim(hn_infer *c, const char *what, hn_dim a, hn_dim b, hn_dim *out);
/* NumPy broadcast of n shapes (NULL: unknown rank, gives *rank = -1). The result is in scratch
 * memory. */
hone_status hn_broadcast(hn_infer *c, uint32_t n, const hn_shape *const *shapes, int32_t *rank,
                         const hn_dim **dims);
/* Fails unless the input's rank, when known, is within [lo, hi]. */
hone_status hn_expect_rank(hn_infer *c, uint32_t input, int32_t lo, int32_t hi);
/* Body graphs (If, Loop, Scan, SequenceMap): infers block `attr` with the given types for its
 * inputs (NULL entries: as declared) and returns the types of its outputs in scratch. */
hone_status hn_infer_body(hn_infer *c, const char *attr, uint32_t n_in, const hn_type *const *in,
                          uint32_t *n_out, const hn_type *const **out);
/* The most exact type that both a and b are instances of (If branches, loop-carried values); NULL
 * when kinds or element types differ. */
const hn_type *hn_type_join(hn_infer *c, const hn_type *a, const hn_type *b);

/* The input must have these dimensions: unknown ones are set from it, and two numbers that differ
 * fail. Inputs that are absent or of unknown rank change nothing. */
hone_status hn_meet_dims(hn_infer *c, uint32_t input, int32_t rank, hn_dim *const *dims);

/* What a row of a table of operators stands for: #define HN_OP as one of them and include the
 * table. First: declarations of all that it names. */
#define HN_OP_DECLARED(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, \
                       lower)                                                                  \
  hone_status hn_infer_##infer(hn_infer *c);                                                   \
  bool hn_macs_##macs(const hn_infer *c, uint64_t *n);
/* An hn_op; where this is used hn_macs_none and hn_impl_none are defined as NULL, which needs no
 * relocation in a table. */
#define HN_OP_ROW(dom, op, versions, inputs, outputs, types, attrs, infer, macs, impl, lower) \
  {HN_DOMAIN_##dom, #op "\0" versions "\0" inputs "\0" outputs "\0" types "\0" attrs,         \
   hn_infer_##infer, hn_macs_##macs, hn_impl_##impl},

#define HN_OP HN_OP_DECLARED
#include "ops/ops.def"
#undef HN_OP
/* With channels last: for the tables of providers. */
hone_status hn_infer_depth_to_space_nhwc(hn_infer *c);
hone_status hn_infer_space_to_depth_nhwc(hn_infer *c);

#endif /* HN_INFER_INT_H */
