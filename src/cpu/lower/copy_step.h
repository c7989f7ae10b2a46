/* Inside lower/: what lowerings of moving operators share. */
#ifndef HN_COPY_STEP_H
#define HN_COPY_STEP_H

#include "ops/eval/copy.h"

/* Plans the move; what the copy refers to lives as long as the record. */
hone_status hn_keep_grid(hn_eval *c, hn_dtype t, const hn_box_move *m, hn_grid_copy *out);
/* The data of the arguments from `first` on, those that are left out aside. */
bool hn_args_are_known(const hn_eval *c, uint32_t first);

#endif /* HN_COPY_STEP_H */
