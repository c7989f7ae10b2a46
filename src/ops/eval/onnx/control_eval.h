/* Inside ops/: running bodies, shared by the evaluations of Loop, Scan and the others. */
#ifndef HN_CONTROL_EVAL_H
#define HN_CONTROL_EVAL_H

#include "ops/eval/copy.h"

/* Drops references and leaves NULL in their places. */
void hn_unref_all(hn_eval *c, uint32_t n, hn_object **objects);
/* hn_eval_body that looks for a cancelled run first, and leaves either all outputs or none. */
hone_status hn_run_body(hn_eval *c, hn_body_role role, uint32_t n_in, hn_object *const *in,
                        uint32_t n_out, hn_object **out);

/* The tensor that elements are stacked to, with a new axis of `length`. */
typedef struct hn_stack_shape {
    hn_dtype dtype;
    int32_t rank, axis;
    int64_t dims[HN_MAX_RANK];
} hn_stack_shape;
/* `item` is the first element; NULL: there is none, so that its type is `unrun`. */
hone_status hn_stacked_dims(hn_eval *c, uint32_t body_output, const hn_array *item,
                            const hn_type *unrun, int64_t axis, int64_t length,
                            hn_stack_shape *out);
/* What a body that never runs would have returned for inputs of these types: what inference finds,
 * completed by what the body declares. Later steps were planned with what inference finds. */
hone_status hn_unrun_body_types(hn_eval *c, uint32_t n_in, const hn_type *const *in, uint32_t n_out,
                                const hn_type **out);
bool hn_fits_stack(const hn_array *stack, int32_t axis, const hn_array *item);

#endif /* HN_CONTROL_EVAL_H */
