/* Inside ops/: queries about body graphs for the rules of control flow, in addition to
 * hn_infer_body. */
#ifndef HN_BODY_H
#define HN_BODY_H

#include "ops/infer/infer_int.h"

/* hn_infer_body without reporting problems, to infer a body again with less exact types. */
hone_status hn_infer_body_quietly(hn_infer *c, const char *attr, uint32_t n_in,
                                  const hn_type *const *in, uint32_t *n_out,
                                  const hn_type *const **out);
/* False when the attribute is not a graph that is visible from here. */
bool hn_body_n_inputs(const hn_infer *c, const char *attr, uint32_t *n);
/* The type that the file declares for an input of the body; NULL when there is none. */
const hn_type *hn_body_in_declared(const hn_infer *c, const char *attr, uint32_t input);
/* The type that the file declares for an output of the body; NULL when there is none. */
const hn_type *hn_body_out_declared(const hn_infer *c, const char *attr, uint32_t output);
/* After hn_infer_body: true when this output has the same boolean value in every run of the
 * body. */
bool hn_body_out_is_const(const hn_infer *c, const char *attr, uint32_t output, bool *value);
/* True when this output is an input of the body, unchanged. */
bool hn_body_out_is_input(const hn_infer *c, const char *attr, uint32_t output, uint32_t input);

/* True when kinds and element types agree, as far as both are known. */
bool hn_types_agree(const hn_type *a, const hn_type *b);
/* Like hn_type_join, but *out is NULL only when nothing is known of a or b, and a failed allocation
 * is an error. Types that disagree fail; `what` and `i` name the value. */
hone_status hn_types_join(hn_infer *c, const char *what, uint32_t i, const hn_type *a,
                          const hn_type *b, const hn_type **out);
/* The same type with unknown shapes; NULL stays NULL. */
hone_status hn_type_forget_shape(hn_infer *c, const hn_type *t, const hn_type **out);
const char *hn_type_str(const hn_infer *c, const hn_type *t); /* for messages */

#endif /* HN_BODY_H */
