/* Inside lower/: what lowerings of moving operators share. */
#ifndef HN_COPY_STEP_H
#define HN_COPY_STEP_H

#include "ops/eval/copy.h"
#include "plan/plan.h"

/* Plans the move; what the copy refers to lives as long as the record. */
hone_status hn_keep_grid(hn_eval *c, hn_dtype t, const hn_box_move *m, hn_grid_copy *out);

/* Elements picked from the first argument. */
typedef struct hn_pick_step {
    hn_pick_copy copy;
    hn_array fill;    /* without data: zeros */
    int32_t fill_arg; /* the argument that holds it; -1: none does */
} hn_pick_step;
/* Dims of y must live as long as the record. */
hone_status hn_keep_picks(hn_eval *c, const hn_array *y, const hn_array *x,
                          const int64_t *const *picks, hn_pick_step *s);
hone_status hn_run_picks(const void *record, const hn_step_io *io);

/* Whether the data of an argument are known; also when it is left out, or empty. */
static inline bool hn_arg_is_known(const hn_eval *c, uint32_t i) {
    const hn_array *a = hn_arg(c, i);
    return !a || a->n_elems == 0 || a->data;
}
static inline bool hn_args_are_known(const hn_eval *c, uint32_t first) {
    for (uint32_t i = first; i < hn_n_args(c); i++)
        if (!hn_arg_is_known(c, i))
            return false;
    return true;
}

#endif /* HN_COPY_STEP_H */
