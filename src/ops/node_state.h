/* Inside ops/: work that is done once per node. Each pair makes a state and ends it. */
#ifndef HN_NODE_STATE_H
#define HN_NODE_STATE_H

#include "ops/eval_engine.h"

hone_status hn_prepare_custom(hn_eval *c, void **state);
void hn_release_custom(const hn_op *op, void *state);

/* The constant right side of a float product (attribute transB is looked at), laid out for the
 * tiles of this processor. */
hone_status hn_prepare_right_side(hn_eval *c, void **state);
/* The constant filters of a float convolution (attribute group is looked at). */
hone_status hn_prepare_filters(hn_eval *c, void **state);
void hn_release_weights(const hn_op *op, void *state);
/* What was laid out; NULL: nothing was. */
const float *hn_packed_weights(const hn_eval *c);

/* The same for channels last, in the layout that the chosen way to convolve wants. */
hone_status hn_prepare_filters_last(hn_eval *c, void **state);
void hn_release_filters_last(const hn_op *op, void *state);
/* And for transposed convolutions; released by hn_release_weights. */
hone_status hn_prepare_transposed_last(hn_eval *c, void **state);

#endif /* HN_NODE_STATE_H */
