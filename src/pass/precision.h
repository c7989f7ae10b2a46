/* Inside pass/: tensors in fewer bits. */
#ifndef HN_PRECISION_H
#define HN_PRECISION_H

#include "pass/pass_int.h"

double hn_narrow_limit(hn_dtype to); /* largest finite number of float16 or bfloat16 */
bool hn_narrow_fits(const hn_tensor *t, hn_dtype to); /* does no finite element become infinite? */
/* A copy in the model's arena: rounds to nearest, but what is not 0 does not become 0 (it may be a
 * divisor): it becomes the smallest number of the type. NULL: no memory. */
const hn_tensor *hn_narrow_tensor(hn_model *m, const hn_tensor *t, hn_dtype to);

#endif /* HN_PRECISION_H */
