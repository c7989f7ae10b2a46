/* Inside ops/: rotary embeddings at run time. */
#ifndef HN_ROTARY_EVAL_H
#define HN_ROTARY_EVAL_H

#include "base/base.h"

/* Fails at a position that is none of the tables' rows. */
hone_status hn_rotary_check(hone_error *err, int64_t n, const int64_t *positions,
                            int64_t n_positions);

#endif /* HN_ROTARY_EVAL_H */
