/* Resize, settled once for many runs. */
#ifndef HN_RESIZE_EVAL_H
#define HN_RESIZE_EVAL_H

#include "ops/eval/eval_int.h"

/* Interpolation of floats. */
typedef struct hn_resize_plan hn_resize_plan;
/* All arguments but the first are known. Nearest neighbours of any type: *out is NULL, and there
 * are picks and a fill for hn_copy_picked. Made of scratch. */
hone_status hn_resize_plan_new(hn_eval *c, const int64_t **picks, hn_array *fill,
                               hn_resize_plan **out);
size_t hn_resize_scratch(const hn_resize_plan *plan); /* bytes */
void hn_resize_run(const hn_resize_plan *plan, hn_pool *pool, const float *x, float *y,
                   float *scratch);

#endif /* HN_RESIZE_EVAL_H */
