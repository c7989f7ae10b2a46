/* Inside cpu/lower/: lowered functions of one and two operands, for operators made of them.
 * out->run is NULL where there is no loop for the type. */
#ifndef HN_ELEMENTWISE_LOWER_H
#define HN_ELEMENTWISE_LOWER_H

#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

/* unary_lower.c: y = op(x) of floats, which are not empty. */
hone_status hn_lower_map(hn_eval *c, const hn_unary_op *op, float a, float b, const hn_array *x,
                         const hn_array *y, hn_lowered *out);
/* binary_lower.c: z = name(x, y), broadcast. */
hone_status hn_lower_join(hn_eval *c, const char *name, const hn_array *x, const hn_array *y,
                          const hn_array *z, hn_lowered *out);

#endif /* HN_ELEMENTWISE_LOWER_H */
